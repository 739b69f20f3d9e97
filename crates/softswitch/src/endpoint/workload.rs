//! The loop that opens connections, sends, and samples, until the end of the experiment, whatever carries the data.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

use incastle_units::{Bytes, Span, Time};

use crate::clock::Clock;
use crate::endpoint::connections::{Endpoints, Happened};
use crate::endpoint::plan::{Data, ExperimentPlan};
use crate::endpoint::rows::{FlowRow, RoundRow, Rows, TransferRow, WindowRow};
use crate::endpoint::transfers::Transfers;
use crate::samples::Lateness;

/// The interval of goodput by host.
const GOODPUT_EVERY: Span = Span::from_ms(1);

/// The scenario's time in real time.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    /// The clock.
    pub clock: Clock,
    /// When the scenario begins.
    pub base: Time,
    /// The factor by which real time is slower.
    pub dilation: u64,
}

impl Timeline {
    /// The real instant of a scenario's.
    pub fn real(&self, at: Span) -> Time {
        self.base + at.saturating_mul(self.dilation)
    }

    /// The scenario's time of a real instant.
    pub fn own(&self, at: Time) -> Span {
        at.saturating_since(self.base) / self.dilation
    }

    fn own_s(&self, at: Time) -> f64 {
        self.own(at).as_secs_lossy()
    }
}

/// An event whose instant is known, whatever the network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Open(usize),
    Stop(usize),
    Round(usize),
    Message(usize),
    Sample,
}

/// A round that is not complete.
#[derive(Debug, Clone, Copy)]
struct Round {
    started: Time,
    /// Responses that are not complete.
    missing: usize,
}

/// The state of one client's requests.
#[derive(Debug, Clone, Default)]
struct Rounds {
    begun: u64,
    /// The last of those that have begun. A server responds in the order of requests: the first is complete first.
    open: VecDeque<Round>,
    /// Connections that are not open yet.
    closed: usize,
}

impl Rounds {
    /// The number of the first that is not complete.
    fn first(&self) -> u64 {
        self.begun - self.open.len() as u64
    }
}

/// The workloads of an experiment over its connections.
pub struct Workload<'a, E> {
    plan: &'a ExperimentPlan,
    time: Timeline,
    /// When the experiment ends; nothing from then on is counted.
    end: Time,
    endpoints: E,
    /// By flow.
    transfers: Vec<Transfers>,
    /// By flow: its hosts.
    hosts: Vec<(usize, usize)>,
    /// By flow: its requests, and its place among them.
    requests_of: Vec<Option<(usize, usize)>>,
    rounds: Vec<Rounds>,
    agenda: BinaryHeap<Reverse<(Time, Event)>>,
    rows: Rows,
    completed: Vec<Option<Time>>,
    /// By flow: the time that a request takes in an idle network, where it is known.
    request_times: Vec<Option<Span>>,
    lateness: Lateness,
}

impl<'a, E: Endpoints> Workload<'a, E> {
    /// A workload that has not begun. The plan must have passed its check. `request_times`, by flow: the time
    /// that a request takes in an idle network.
    pub fn new(
        plan: &'a ExperimentPlan,
        endpoints: E,
        time: Timeline,
        request_times: Vec<Option<Span>>,
    ) -> Self {
        let count = plan.flows.len();
        let mut requests_of = vec![None; count];
        for (number, requests) in plan.requests.iter().enumerate() {
            for (place, &flow) in requests.flows.iter().enumerate() {
                requests_of[flow] = Some((number, place));
            }
        }
        let closed = |requests: &[usize]| Rounds {
            closed: requests.len(),
            ..Rounds::default()
        };
        Self {
            time,
            end: time.real(plan.duration.0),
            completed: vec![None; count],
            rounds: plan.requests.iter().map(|one| closed(&one.flows)).collect(),
            transfers: std::iter::repeat_with(Transfers::default)
                .take(count)
                .collect(),
            hosts: plan.ends(),
            plan,
            endpoints,
            requests_of,
            agenda: BinaryHeap::new(),
            rows: Rows::default(),
            request_times,
            lateness: Lateness::default(),
        }
    }

    /// Runs to the end of the experiment; gives what was measured.
    pub fn run(mut self) -> io::Result<Rows> {
        for (number, flow) in self.plan.flows.iter().enumerate() {
            self.schedule(flow.start.0, Event::Open(number));
            if let Some(stop) = flow.stop {
                self.schedule(stop.0, Event::Stop(number));
            }
        }
        if let Some(every) = self.plan.window_every {
            self.schedule(every.0, Event::Sample);
        }
        let mut happened = Vec::new();
        while self.time.clock.now() < self.end {
            let next = self
                .agenda
                .peek()
                .map_or(self.end, |Reverse((at, _))| self.end.min(*at));
            self.endpoints.wait(&self.time.clock, next, &mut happened)?;
            for one in happened.drain(..) {
                self.follow(one)?;
            }
            while let Some(Reverse((at, event))) = self.agenda.peek().copied() {
                if at > self.time.clock.now() {
                    break;
                }
                self.agenda.pop();
                self.happen(at, event)?;
            }
        }
        self.finish()?;
        self.rows.lateness = self.lateness.summary();
        Ok(self.rows)
    }

    fn schedule(&mut self, at: Span, event: Event) {
        self.agenda.push(Reverse((self.time.real(at), event)));
    }

    fn happen(&mut self, at: Time, event: Event) -> io::Result<()> {
        match event {
            Event::Open(flow) => self.open(at, flow)?,
            Event::Stop(flow) => self.endpoints.stop(flow)?,
            Event::Round(requests) => self.begin_round(at, requests)?,
            Event::Message(flow) => self.send_message(at, flow)?,
            Event::Sample => {
                self.sample()?;
                let every = self.plan.window_every.map_or(Span::ZERO, |every| every.0);
                let every = every.saturating_mul(self.time.dilation);
                // A sample that is late moves none after it, but is not made up for.
                let behind = self.time.clock.now().saturating_since(at).as_ps() / every.as_ps();
                self.agenda
                    .push(Reverse((at + every * (behind + 1), Event::Sample)));
            }
        }
        Ok(())
    }

    fn open(&mut self, at: Time, number: usize) -> io::Result<()> {
        match self.plan.flows[number].data {
            Data::Size(bytes) => {
                let bytes = bytes.0.count();
                self.transfers[number].begin(at, bytes, None);
                self.endpoints.send(number, bytes)?;
            }
            Data::Unlimited => self.endpoints.send(number, u64::MAX)?,
            Data::Responses => {}
            Data::Messages(_) => self.agenda.push(Reverse((at, Event::Message(number)))),
        }
        self.endpoints.open(number)?;
        self.note_lateness(at);
        Ok(())
    }

    /// Writes the next message of a flow, and plans the one after it.
    fn send_message(&mut self, at: Time, number: usize) -> io::Result<()> {
        let plan = &self.plan.flows[number];
        let Data::Messages(messages) = plan.data else {
            return Ok(());
        };
        if plan.stop.is_some_and(|stop| at >= self.time.real(stop.0)) {
            return Ok(());
        }
        self.endpoints.send(number, messages.message.0.count())?;
        self.note_lateness(at);
        let start = self.time.real(plan.start.0);
        let next = messages.next(at.saturating_since(start) / self.time.dilation);
        let next = start + next.saturating_mul(self.time.dilation);
        self.agenda.push(Reverse((next, Event::Message(number))));
        Ok(())
    }

    fn follow(&mut self, happened: Happened) -> io::Result<()> {
        match happened {
            Happened::Opened(flow) => self.opened(flow),
            Happened::Requested(flow, bytes) => self.requested(flow, bytes)?,
            Happened::Received(flow, bytes) => self.received(flow, bytes),
        }
        Ok(())
    }

    /// With the last of its connections, a client begins.
    fn opened(&mut self, flow: usize) {
        let Some((requests, _)) = self.requests_of[flow] else {
            return;
        };
        self.rounds[requests].closed -= 1;
        if self.rounds[requests].closed == 0 {
            let plan = &self.plan.requests[requests];
            if plan.instants.is_some() {
                return self.schedule_round(requests);
            }
            let at = self.time.real(plan.start.0).max(self.time.clock.now());
            self.agenda.push(Reverse((at, Event::Round(requests))));
        }
    }

    /// The next round begins at its instant, where those are given.
    fn schedule_round(&mut self, requests: usize) {
        let begun = self.rounds[requests].begun as usize;
        let instants = self.plan.requests[requests].instants.as_ref();
        if let Some(at) = instants.and_then(|instants| instants.get(begun)) {
            self.schedule(at.0, Event::Round(requests));
        }
    }

    /// A server responds to each request that is complete.
    fn requested(&mut self, flow: usize, bytes: u64) -> io::Result<()> {
        let Some((requests, place)) = self.requests_of[flow] else {
            return Ok(());
        };
        let plan = &self.plan.requests[requests];
        let complete = self.transfers[flow].requested(bytes, plan.request.0.count());
        if complete == 0 {
            return Ok(());
        }
        let response = plan.responses[place].0.count();
        self.endpoints.send(flow, complete * response)?;
        let asked = self.transfers[flow].asked_at(plan.request.0.count());
        if let Some((at, takes)) = asked.zip(self.request_times[flow]) {
            self.note_lateness(at + takes);
        }
        Ok(())
    }

    /// Data that were due at an instant have just been written: how late, in the measured interval.
    fn note_lateness(&mut self, due: Time) {
        let interval = self.time.real(self.plan.warmup.0)..self.time.real(self.plan.until.0);
        if interval.contains(&due) {
            self.lateness
                .add(self.time.clock.now().saturating_since(due));
        }
    }

    fn received(&mut self, number: usize, count: u64) {
        let now = self.time.clock.now();
        if now >= self.end {
            return;
        }
        let at = self.time.own(now).as_ps();
        let bin = at / self.plan.throughput_every.0.as_ps();
        *self.rows.throughput.entry((bin, number)).or_default() += count;
        let millisecond = (at / GOODPUT_EVERY.as_ps(), self.hosts[number].1);
        *self.rows.goodput.entry(millisecond).or_default() += count;
        self.transfers[number].received += count;
        while let Some(done) = self.transfers[number].completed() {
            self.rows.transfers.push(TransferRow {
                flow: number,
                round: done.round,
                started_s: self.time.own_s(done.started),
                completed_s: Some(self.time.own_s(now)),
                bytes: done.bytes,
            });
            match self.requests_of[number].zip(done.round) {
                Some(((requests, _), round)) => self.responded(requests, round, now),
                None => self.completed[number] = Some(now),
            }
        }
    }

    fn begin_round(&mut self, at: Time, number: usize) -> io::Result<()> {
        let plan = &self.plan.requests[number];
        let is_over = plan
            .rounds
            .is_some_and(|most| self.rounds[number].begun >= most)
            || plan.stop.is_some_and(|stop| at >= self.time.real(stop.0));
        if is_over {
            return Ok(());
        }
        let request = plan.request.0.count();
        for (&flow, bytes) in plan.flows.iter().zip(&plan.responses) {
            let round = Some(self.rounds[number].begun);
            self.transfers[flow].begin(at, bytes.0.count(), round);
            self.endpoints.request(flow, request)?;
            self.note_lateness(at);
        }
        let rounds = &mut self.rounds[number];
        rounds.open.push_back(Round {
            started: at,
            missing: plan.flows.len(),
        });
        rounds.begun += 1;
        self.schedule_round(number);
        Ok(())
    }

    /// A response is complete; with the last, so is the round.
    fn responded(&mut self, number: usize, round: u64, now: Time) {
        let rounds = &mut self.rounds[number];
        let place = (round - rounds.first()) as usize;
        rounds.open[place].missing -= 1;
        if rounds.open[place].missing > 0 {
            return;
        }
        self.end_round(number, Some(now));
        let plan = &self.plan.requests[number];
        if plan.instants.is_none() {
            let next = now + plan.think_time.0.saturating_mul(self.time.dilation);
            self.agenda.push(Reverse((next, Event::Round(number))));
        }
    }

    /// The first round that is not complete ends.
    fn end_round(&mut self, number: usize, completed: Option<Time>) {
        let round = self.rounds[number].first();
        let Some(Round { started, .. }) = self.rounds[number].open.pop_front() else {
            return;
        };
        let sizes = self.plan.requests[number].responses.iter();
        self.rows.rounds.push(RoundRow {
            requests: number,
            round,
            started_s: self.time.own_s(started),
            completed_s: completed.map(|at| self.time.own_s(at)),
            bytes: sizes.map(|bytes| bytes.0.count()).sum(),
        });
    }

    fn sample(&mut self) -> io::Result<()> {
        let now = self.time.clock.now();
        if now >= self.end {
            return Ok(());
        }
        let time_s = self.time.own_s(now);
        let rows = &mut self.rows.windows;
        self.endpoints.states(&mut |flow, state| {
            rows.push(WindowRow {
                time_s,
                flow,
                cwnd_bytes: state.cwnd.map(Bytes::count),
                ssthresh_bytes: state.ssthresh.map(Bytes::count),
                alpha: state.alpha,
                rtt_s: state.rtt.map(Span::as_secs_lossy),
            });
        })
    }

    /// At the end: what is not complete, and the counters of every connection.
    fn finish(&mut self) -> io::Result<()> {
        for (number, totals) in self.endpoints.totals()?.into_iter().enumerate() {
            for open in self.transfers[number].open() {
                self.rows.transfers.push(TransferRow {
                    flow: number,
                    round: open.round,
                    started_s: self.time.own_s(open.started),
                    completed_s: None,
                    bytes: open.bytes,
                });
            }
            self.rows.flows.push(FlowRow {
                flow: number,
                started_s: self.plan.flows[number].start.0.as_secs_lossy(),
                completed_s: self.completed[number].map(|at| self.time.own_s(at)),
                delivered_bytes: self.transfers[number].received,
                totals,
                marks: 0,
                drops: 0,
            });
        }
        for number in 0..self.rounds.len() {
            while !self.rounds[number].open.is_empty() {
                self.end_round(number, None);
            }
        }
        Ok(())
    }
}
