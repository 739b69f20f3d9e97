//! All-reduce: each host has a vector and gets the sum of all, again and again.
//!
//! Over persistent connections, one for each direction in which two hosts send. `pattern` defines the messages
//! and their dependences. Each message begins when the messages that it depends on have
//! arrived: their streams advance event counts, and it waits for those. A host joins its first round at its
//! own start, and later ones `think_time` after its last message. Until then it neither
//! sums nor sends. Leaves out: the time of summing, and the setup of connections before the
//! first start.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use incastle_engine::core::{EventCountIndex, FlowIndex, Side};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Span, Time};

use crate::journal::TransferKind;
use crate::journal::{Transfer, TransferNote};
use crate::pattern::{Operation, Pattern, Task};
use crate::plan::Plan;
use incastle_scenario::language::collective;
use incastle_scenario::language::limits::Rounds;

/// All hosts of a group.
pub(super) struct AllReduce {
    pattern: Pattern,
    size: u64,
    think: Span,
    rounds_wanted: u64,
    streams: Vec<Stream>,
    /// By flow: its stream.
    by_flow: BTreeMap<FlowIndex, usize>,
    /// By host: rounds that it has begun.
    begun: Vec<u64>,
    /// When hosts join their next round.
    entries: BTreeSet<(Time, usize)>,
    tasks: Vec<Task>,
    /// The event counts of the pattern, once they are there.
    counts: Vec<EventCountIndex>,
    /// Active rounds, in order.
    rounds: VecDeque<Round>,
    /// Rounds before those.
    over: u64,
}

/// A connection, in the direction of its data.
struct Stream {
    plan: Plan,
    flow: Option<FlowIndex>,
    /// Bytes of all messages so far.
    written: u64,
    /// Active messages: the byte at which each ends, and its note.
    under_way: VecDeque<(u64, Transfer)>,
}

struct Round {
    transfer: Transfer,
    /// Hosts that have not received everything.
    missing: usize,
}

impl AllReduce {
    /// `plans`: one for each of the pattern's streams; `starts`: of each host.
    pub(super) fn new(
        all: &collective::AllReduce,
        pattern: Pattern,
        plans: Vec<Plan>,
        starts: Vec<Time>,
    ) -> Self {
        let stop = plans.first().map_or(Time::NEVER, |plan| plan.stop);
        let streams = plans.into_iter().map(|plan| Stream {
            plan,
            flow: None,
            written: 0,
            under_way: VecDeque::new(),
        });
        Self {
            size: all.size.count(),
            think: all.think_time,
            rounds_wanted: match all.rounds {
                Rounds::Unlimited => u64::MAX,
                Rounds::Number(rounds) => rounds,
            },
            streams: streams.collect(),
            by_flow: BTreeMap::new(),
            begun: vec![0; starts.len()],
            entries: (starts.into_iter().zip(0..))
                .filter(|(start, _)| *start < stop)
                .collect(),
            tasks: pattern.tasks(),
            counts: Vec::new(),
            rounds: VecDeque::new(),
            over: 0,
            pattern,
        }
    }

    /// Opens all connections, makes the counts, and starts the waits of every task.
    fn open(&mut self, now: Time, actions: &mut Actions) {
        for (number, stream) in self.streams.iter_mut().enumerate() {
            let flow = stream.plan.open(now, actions);
            stream.flow = Some(flow);
            self.by_flow.insert(flow, number);
        }
        let counts = 0..self.pattern.counts();
        self.counts = counts.map(|_| actions.event_count()).collect();
        for task in 0..self.tasks.len() {
            self.go_on(task, now, actions);
        }
    }

    /// Waits for what a task needs next, or does it.
    fn go_on(&mut self, number: usize, now: Time, actions: &mut Actions) {
        loop {
            let task = self.tasks[number];
            if let Some(need) = self.pattern.need(&task) {
                actions.wait(self.counts[need.count], need.value, number as u32);
                return;
            }
            match task.operation {
                Operation::Send(stream) => self.send(stream, task.done, now, actions),
                Operation::Reduce(host) => actions.advance(self.counts[self.pattern.reduced(host)]),
                Operation::Finish(host) => self.finish(host, task.done, now),
            }
            self.tasks[number].done += 1;
            self.tasks[number].met = 0;
        }
    }

    fn send(&mut self, number: usize, message: u64, now: Time, actions: &mut Actions) {
        let bytes = self.pattern.bytes(number, message, self.size);
        let stream = &mut self.streams[number];
        let flow = stream.flow.expect("the connections are open");
        stream.written += bytes;
        // Otherwise an earlier message is expected first.
        if stream.under_way.is_empty() {
            actions.expect(flow.endpoint(Side::Responder), stream.written);
        }
        actions.write(flow.endpoint(Side::Initiator), bytes);
        let transfer = stream.plan.journal.begun(TransferNote {
            group: stream.plan.group,
            index: stream.plan.index,
            kind: TransferKind::Step,
            flow,
            started: now,
            deadline: None,
            completed: None,
            bytes,
        });
        stream.under_way.push_back((stream.written, transfer));
    }

    /// The next message of a flow has arrived.
    fn arrived(&mut self, flow: FlowIndex, now: Time, actions: &mut Actions) {
        let number = self.by_flow[&flow];
        let stream = &mut self.streams[number];
        let message = stream.under_way.pop_front();
        let (_, transfer) = message.expect("a message is active");
        stream.plan.journal.completed(transfer, now);
        if let Some(&(written, _)) = stream.under_way.front() {
            actions.expect(flow.endpoint(Side::Responder), written);
        }
        actions.advance(self.counts[self.pattern.arrived(number)]);
    }

    /// A host joins its next round; the first host begins it.
    fn enter(&mut self, host: usize, now: Time, actions: &mut Actions) {
        self.begun[host] += 1;
        if self.begun[host] > self.over + self.rounds.len() as u64 {
            let first = &self.streams[0];
            let transfer = first.plan.journal.begun(TransferNote {
                group: first.plan.group,
                index: 0,
                kind: TransferKind::Round,
                flow: first.flow.expect("the connections are open"),
                started: now,
                deadline: None,
                completed: None,
                bytes: self.size,
            });
            let missing = self.pattern.hosts();
            self.rounds.push_back(Round { transfer, missing });
        }
        actions.advance(self.counts[Pattern::entered(host)]);
    }

    /// A host has received everything of a round; the last one completes it.
    fn finish(&mut self, host: usize, round: u64, now: Time) {
        let plan = &self.streams[0].plan;
        let place = (round - self.over) as usize;
        self.rounds[place].missing -= 1;
        if self.rounds[place].missing == 0 {
            // No host finishes a round before an earlier one.
            let round = self.rounds.pop_front().expect("it is active");
            plan.journal.completed(round.transfer, now);
            self.over += 1;
        }
        let next = now.saturating_add(self.think);
        if self.begun[host] < self.rounds_wanted && next < plan.stop {
            self.entries.insert((next, host));
        }
    }
}

impl Application for AllReduce {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        match notice {
            Notice::Delivered(end) => self.arrived(end.flow(), now, actions),
            Notice::Reached(task) => {
                self.tasks[task as usize].met += 1;
                self.go_on(task as usize, now, actions);
            }
            Notice::Drained(_) | Notice::Finished(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if self.counts.is_empty() {
            self.open(now, actions);
        }
        while let Some(&(at, host)) = self.entries.first().filter(|(at, _)| *at <= now) {
            self.entries.remove(&(at, host));
            self.enter(host, now, actions);
        }
    }

    fn is_over(&self) -> bool {
        self.entries.is_empty() && self.rounds.is_empty()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.entries.first().map(|(at, _)| *at)
    }
}
