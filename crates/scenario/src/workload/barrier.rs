//! Requests with a barrier: a client asks all its servers at once, waits for the last answer, and
//! asks again.
//!
//! Request and answer travel on one connection, which the client opens. The answer leaves the server
//! the moment the request is complete there: servers have no disks. With a stagger each server is
//! asked a random time later than the first could be, independently in each round: the start jitter
//! that operators of storage clusters try.

use incastle_engine::{Actions, Application, EndpointIndex, FlowIndex, Notice, Side};
use incastle_units::{Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::journal::{Transfer, TransferNote};
use super::{Plan, TransferKind, wanted};
use crate::language::flows::{self, Rounds};

/// One client with its connections.
pub(super) struct Client {
    /// The client's number in its group.
    number: u64,
    servers: Vec<Server>,
    request: u64,
    think: Span,
    deadline: Option<Span>,
    /// Over which time the servers of a round are asked; absent to ask all at once.
    stagger: Option<(Span, Xoshiro256PlusPlus)>,
    /// Servers that are yet to be asked in this round, the next one last.
    to_ask: Vec<(Time, usize)>,
    /// Rounds left to begin.
    rounds_left: u64,
    round: Option<Round>,
    /// When the next round begins.
    next: Option<Time>,
    /// The servers are asked in order of their flows.
    first_flow: Option<FlowIndex>,
}

struct Server {
    plan: Plan,
    /// Bytes of its answers.
    answer: u64,
    flow: Option<FlowIndex>,
    /// Bytes of all requests so far.
    asked: u64,
    /// Bytes of all answers so far.
    answered: u64,
    transfer: Option<Transfer>,
}

/// A round under way.
struct Round {
    transfer: Transfer,
    /// Answers that are still to come.
    missing: usize,
}

impl Client {
    /// `rng` draws when servers are asked.
    pub(super) fn new(
        number: u64,
        plans: Vec<Plan>,
        barrier: &flows::Barrier,
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        let count = plans.len() as u64;
        let answer = |index: u64| match (barrier.unit, barrier.total) {
            (Some(unit), _) => unit.count(),
            (None, Some(total)) => {
                let total = total.count();
                total / count + u64::from(index < total % count)
            }
            (None, None) => unreachable!("a checked barrier has a unit or a total"),
        };
        let start = plans.first().map(|plan| plan.start);
        let servers = plans.into_iter().enumerate().map(|(index, plan)| Server {
            plan,
            answer: answer(index as u64).max(1),
            flow: None,
            asked: 0,
            answered: 0,
            transfer: None,
        });
        Self {
            number,
            servers: servers.collect(),
            request: barrier.request.count(),
            think: barrier.think,
            deadline: barrier.deadline,
            stagger: (barrier.stagger > Span::ZERO).then_some((barrier.stagger, rng)),
            to_ask: Vec::new(),
            rounds_left: match barrier.rounds {
                Rounds::Unlimited => u64::MAX,
                Rounds::Number(rounds) => rounds,
            },
            round: None,
            next: start,
            first_flow: None,
        }
    }

    fn begin_round(&mut self, now: Time, actions: &mut Actions) {
        self.rounds_left -= 1;
        if self.stagger.is_some() {
            self.ask_later(now, actions);
        } else {
            for server in 0..self.servers.len() {
                self.open(server, now, actions);
                self.ask(server, now, actions);
            }
        }
        let first = &self.servers[0].plan;
        let transfer = first.journal.begun(TransferNote {
            group: first.group,
            index: self.number,
            kind: TransferKind::Round,
            flow: self.first_flow.expect("a client has servers"),
            started: now,
            deadline: None,
            completed: None,
            bytes: self.servers.iter().map(|server| server.answer).sum(),
        });
        self.round = Some(Round {
            transfer,
            missing: self.servers.len(),
        });
    }

    /// Draws when each server is asked. All connections are open from the first round on.
    fn ask_later(&mut self, now: Time, actions: &mut Actions) {
        for server in 0..self.servers.len() {
            self.open(server, now, actions);
        }
        let Some((stagger, rng)) = &mut self.stagger else {
            return;
        };
        let servers = 0..self.servers.len();
        self.to_ask = servers
            .map(|server| {
                let late = stagger.scale_lossy(random::uniform(rng));
                (now.saturating_add(late), server)
            })
            .collect();
        self.to_ask.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Opens a connection, before the first round.
    fn open(&mut self, server: usize, now: Time, actions: &mut Actions) {
        let server = &mut self.servers[server];
        if server.flow.is_none() {
            let flow = server.plan.open_from(Side::Far, now, actions);
            server.flow = Some(flow);
            self.first_flow.get_or_insert(flow);
        }
    }

    fn ask(&mut self, server: usize, now: Time, actions: &mut Actions) {
        let server = &mut self.servers[server];
        let flow = server.flow.expect("the connections of a round are open");
        server.asked += self.request;
        let deadline = wanted(now, self.deadline, flow.end(Side::Far), actions);
        actions.expect(flow.end(Side::Far), server.asked);
        actions.write(flow.end(Side::Near), self.request);
        server.transfer = Some(server.plan.journal.begun(TransferNote {
            group: server.plan.group,
            index: server.plan.index,
            kind: TransferKind::Answer,
            flow,
            started: now,
            deadline,
            completed: None,
            bytes: server.answer,
        }));
    }

    /// Asks the servers whose time has come.
    fn ask_next(&mut self, now: Time, actions: &mut Actions) {
        while let Some((_, server)) = self.to_ask.pop_if(|(at, _)| *at <= now) {
            self.ask(server, now, actions);
        }
    }

    /// The request is complete at a server: it answers.
    fn answer(&mut self, end: EndpointIndex, actions: &mut Actions) {
        let server = self.server_of(end.flow());
        server.answered += server.answer;
        actions.expect(end.peer(), server.answered);
        actions.write(end, server.answer);
    }

    /// An answer is complete at the client.
    fn arrived(&mut self, now: Time, end: EndpointIndex) {
        let server = self.server_of(end.flow());
        let transfer = server.transfer.take().expect("an answer was asked for");
        server.plan.journal.completed(transfer, now);
        let Some(round) = &mut self.round else {
            unreachable!("answers come within a round");
        };
        round.missing -= 1;
        if round.missing > 0 {
            return;
        }
        let transfer = round.transfer;
        self.round = None;
        let plan = &self.servers[0].plan;
        plan.journal.completed(transfer, now);
        let next = now.saturating_add(self.think);
        self.next = (self.rounds_left > 0 && next < plan.stop).then_some(next);
    }

    fn server_of(&mut self, flow: FlowIndex) -> &mut Server {
        let first = self.first_flow.expect("the flows are open").index();
        // The flows were opened one after the other.
        &mut self.servers[flow.index() - first]
    }
}

impl Application for Client {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        let Notice::Delivered(end) = notice else {
            return;
        };
        match end.side() {
            Side::Far => self.answer(end, actions),
            Side::Near => self.arrived(now, end),
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if self.next.take_if(|at| *at <= now).is_some() {
            self.begin_round(now, actions);
        }
        self.ask_next(now, actions);
    }

    /// A round begins when nobody is left to be asked in the one before.
    fn poll_timeout(&self) -> Option<Time> {
        let ask = self.to_ask.last().map(|(at, _)| *at);
        ask.or(self.next)
    }
}
