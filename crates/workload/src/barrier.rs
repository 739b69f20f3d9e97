//! Requests: a client sends requests to all its servers at once and waits for the last response.
//!
//! Its next round follows that response (barrier-synchronised, or a query in closed loop), begins at random
//! instants (a query in open loop), or follows the last response of its group (`all_to_all`).
//! Request and response use one connection, which the client opens at the beginning of its first round. Where
//! rounds overlap, each server responds in the order of its requests. The response leaves the
//! server the moment the request is complete there: servers have no disks. With `request_jitter` each request
//! is sent a random time after the beginning of the round, independently in each round.

use std::collections::{BTreeMap, VecDeque};

use incastle_engine::core::{EndpointIndex, FlowIndex, Side};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Bytes, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::interarrival::Interarrival;
use crate::journal::TransferKind;
use crate::journal::{Transfer, TransferNote};
use crate::plan::Plan;
use incastle_scenario::language::flows;
use incastle_scenario::language::limits::Rounds;

/// The requests of a client, and their instants.
pub(super) struct Asking {
    request: u64,
    answers: Answers,
    pace: Pace,
    stagger: Span,
    deadline: Option<Span>,
    rounds: Rounds,
}

/// Bytes of the responses of a round.
enum Answers {
    Each(u64),
    Together(u64),
}

/// The instants at which rounds begin.
enum Pace {
    /// This long after the last response of the previous one.
    After(Span),
    /// At random instants.
    Open(Interarrival),
    /// When the group's application begins it.
    Told,
}

/// One client with its connections.
pub(super) struct Client {
    /// The client's number in its group.
    number: u64,
    servers: Vec<Server>,
    request: u64,
    pace: Pace,
    deadline: Option<Span>,
    /// The time over which the requests of a round are spread; zero for all at once.
    stagger: Span,
    rng: Xoshiro256PlusPlus,
    /// Pending requests, with their rounds; the next one last.
    to_ask: Vec<(Time, u64, usize)>,
    /// Rounds begun.
    begun: u64,
    /// Rounds left to begin.
    rounds_left: u64,
    /// Active rounds, by their number.
    rounds: BTreeMap<u64, Round>,
    /// When the next round begins.
    next: Option<Time>,
    /// The flow of the first server; those of the others follow in order.
    first_flow: Option<FlowIndex>,
}

struct Server {
    plan: Plan,
    /// Bytes of its responses.
    answer: u64,
    flow: Option<FlowIndex>,
    /// Requests sent to it.
    asked: u64,
    /// Requests that it has responded to.
    answered: u64,
    /// Outstanding responses, the next one first.
    due: VecDeque<Due>,
}

/// An outstanding response.
struct Due {
    /// The number of its round.
    round: u64,
    transfer: Transfer,
    deadline: Option<Time>,
}

impl Server {
    /// Passes the deadline of the next response to the server's controller.
    fn hurry(&self, flow: FlowIndex, actions: &mut Actions) {
        if let Some(at) = self.due.front().and_then(|due| due.deadline) {
            actions.deadline(flow.endpoint(Side::Responder), at);
        }
    }
}

/// An active round.
struct Round {
    transfer: Transfer,
    /// Outstanding responses.
    missing: usize,
}

impl Client {
    /// `rng` draws the instants of rounds, and the jitter of requests.
    pub(super) fn new(
        number: u64,
        plans: Vec<Plan>,
        asking: Asking,
        mut rng: Xoshiro256PlusPlus,
    ) -> Self {
        let count = plans.len() as u64;
        let answer = |index: u64| match asking.answers {
            Answers::Each(unit) => unit,
            Answers::Together(total) => total / count + u64::from(index < total % count),
        };
        let start = plans.first().map(|plan| plan.start);
        let stop = plans.first().map_or(Time::NEVER, |plan| plan.stop);
        let servers = plans.into_iter().enumerate().map(|(index, plan)| Server {
            plan,
            answer: answer(index as u64).max(1),
            flow: None,
            asked: 0,
            answered: 0,
            due: VecDeque::new(),
        });
        let servers = servers.collect();
        let next = match &asking.pace {
            Pace::After(_) | Pace::Told => start,
            Pace::Open(gaps) => start
                .map(|start| start.saturating_add(gaps.draw(&mut rng)))
                .filter(|first| *first < stop),
        };
        Self {
            number,
            servers,
            request: asking.request,
            pace: asking.pace,
            deadline: asking.deadline,
            stagger: asking.stagger,
            rng,
            to_ask: Vec::new(),
            begun: 0,
            rounds_left: match asking.rounds {
                Rounds::Unlimited => u64::MAX,
                Rounds::Number(rounds) => rounds,
            },
            rounds: BTreeMap::new(),
            next,
            first_flow: None,
        }
    }

    fn begin_round(&mut self, now: Time, actions: &mut Actions) {
        self.rounds_left -= 1;
        let number = self.begun;
        self.begun += 1;
        if self.stagger > Span::ZERO {
            self.ask_later(now, number, actions);
        } else {
            for server in 0..self.servers.len() {
                self.open(server, now, actions);
                self.ask(server, number, now, actions);
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
        let missing = self.servers.len();
        self.rounds.insert(number, Round { transfer, missing });
        if let Pace::Open(gaps) = &self.pace {
            let next = now.saturating_add(gaps.draw(&mut self.rng));
            self.begin_next_at(next);
        }
    }

    /// The next round begins then, if there is one.
    pub(super) fn begin_next_at(&mut self, at: Time) {
        let goes_on = self.rounds_left > 0 && at < self.servers[0].plan.stop;
        self.next = goes_on.then_some(at);
    }

    /// Draws the instant of each request. All connections are open from the first round on.
    fn ask_later(&mut self, now: Time, round: u64, actions: &mut Actions) {
        for server in 0..self.servers.len() {
            self.open(server, now, actions);
        }
        for server in 0..self.servers.len() {
            let late = self.stagger.scale_lossy(random::uniform(&mut self.rng));
            self.to_ask.push((now.saturating_add(late), round, server));
        }
        self.to_ask.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Opens a connection, in the first round.
    fn open(&mut self, server: usize, now: Time, actions: &mut Actions) {
        let server = &mut self.servers[server];
        if server.flow.is_none() {
            let flow = server.plan.open_from(Side::Responder, now, actions);
            server.flow = Some(flow);
            self.first_flow.get_or_insert(flow);
        }
    }

    fn ask(&mut self, server: usize, round: u64, now: Time, actions: &mut Actions) {
        let server = &mut self.servers[server];
        let flow = server.flow.expect("the connections of a round are open");
        server.asked += 1;
        let deadline = self.deadline.map(|deadline| now.saturating_add(deadline));
        // Otherwise the server still waits for an earlier request, and `answer` continues with this one.
        if server.asked == server.answered + 1 {
            actions.expect(flow.endpoint(Side::Responder), server.asked * self.request);
        }
        actions.write(flow.endpoint(Side::Initiator), self.request);
        let transfer = server.plan.journal.begun(TransferNote {
            group: server.plan.group,
            index: server.plan.index,
            kind: TransferKind::Response,
            flow,
            started: now,
            deadline,
            completed: None,
            bytes: server.answer,
        });
        server.due.push_back(Due {
            round,
            transfer,
            deadline,
        });
        if server.due.len() == 1 {
            server.hurry(flow, actions);
        }
    }

    /// Sends the requests that are due.
    fn ask_next(&mut self, now: Time, actions: &mut Actions) {
        while let Some((_, round, server)) = self.to_ask.pop_if(|(at, ..)| *at <= now) {
            self.ask(server, round, now, actions);
        }
    }

    /// The request is complete at a server: it responds.
    fn answer(&mut self, end: EndpointIndex, actions: &mut Actions) {
        let request = self.request;
        let server = self.server_of(end.flow());
        server.answered += 1;
        // Otherwise the client still waits for an earlier response, and `arrived` continues with this one.
        let arrived = server.asked - server.due.len() as u64;
        if server.answered == arrived + 1 {
            actions.expect(end.peer(), server.answered * server.answer);
        }
        actions.write(end, server.answer);
        if server.answered < server.asked {
            actions.expect(end, (server.answered + 1) * request);
        }
    }

    /// A response is complete at the client.
    fn arrived(&mut self, now: Time, end: EndpointIndex, actions: &mut Actions) {
        let server = self.server_of(end.flow());
        let due = server.due.pop_front().expect("an answer was asked for");
        server.plan.journal.completed(due.transfer, now);
        server.hurry(end.flow(), actions);
        let arrived = server.asked - server.due.len() as u64;
        if arrived < server.answered {
            actions.expect(end, (arrived + 1) * server.answer);
        }
        let round = self.rounds.get_mut(&due.round);
        let round = round.expect("answers come within their round");
        round.missing -= 1;
        if round.missing > 0 {
            return;
        }
        let transfer = round.transfer;
        self.rounds.remove(&due.round);
        self.servers[0].plan.journal.completed(transfer, now);
        if let Pace::After(think) = self.pace {
            self.begin_next_at(now.saturating_add(think));
        }
    }

    fn server_of(&mut self, flow: FlowIndex) -> &mut Server {
        let first = self.first_flow.expect("the flows are open").index();
        // The flows were opened one after the other.
        &mut self.servers[flow.index() - first]
    }

    /// The first of its flows, once they are open.
    pub(super) fn first_flow(&self) -> Option<FlowIndex> {
        self.first_flow
    }

    /// When its next round begins, or its first.
    pub(super) fn next_round(&self) -> Option<Time> {
        self.next
    }

    /// Whether it waits neither for an instant nor for a response.
    pub(super) fn is_idle(&self) -> bool {
        self.rounds.is_empty() && self.next.is_none()
    }
}

impl Application for Client {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        let Notice::Delivered(end) = notice else {
            return;
        };
        match end.side() {
            Side::Responder => self.answer(end, actions),
            Side::Initiator => self.arrived(now, end, actions),
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if self.next.take_if(|at| *at <= now).is_some() {
            self.begin_round(now, actions);
        }
        self.ask_next(now, actions);
    }

    fn is_over(&self) -> bool {
        self.is_idle() && self.to_ask.is_empty()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let ask = self.to_ask.last().map(|(at, ..)| *at);
        ask.into_iter().chain(self.next).min()
    }
}

impl Asking {
    /// One request to each server.
    pub(super) fn once(request: Bytes, unit: Bytes) -> Self {
        Self {
            request: request.count(),
            answers: Answers::Each(unit.count()),
            pace: Pace::Told,
            stagger: Span::ZERO,
            deadline: None,
            rounds: Rounds::Number(1),
        }
    }
}

impl Answers {
    /// The value of a checked group, which has one of both or a default.
    fn of(unit: Option<Bytes>, total: Option<Bytes>) -> Self {
        match (unit, total) {
            (Some(unit), _) => Self::Each(unit.count()),
            (None, Some(total)) => Self::Together(total.count()),
            (None, None) => unreachable!("a checked group has a unit or a total"),
        }
    }
}

impl From<&flows::BarrierIncast> for Asking {
    fn from(barrier: &flows::BarrierIncast) -> Self {
        Self {
            request: barrier.request.count(),
            answers: Answers::of(barrier.sru, barrier.total_size),
            pace: Pace::After(barrier.think_time),
            stagger: barrier.request_jitter,
            deadline: barrier.deadline,
            rounds: barrier.rounds,
        }
    }
}

impl From<&flows::Query> for Asking {
    fn from(query: &flows::Query) -> Self {
        let unit = query
            .response_size
            .or(query.total_size.is_none().then_some(flows::Query::UNIT));
        Self {
            request: query.request.count(),
            answers: Answers::of(unit, query.total_size),
            pace: match query.rate {
                Some(rate) => Pace::Open(Interarrival::new(rate, &query.interarrival)),
                None => Pace::After(query.think_time),
            },
            stagger: query.request_jitter,
            deadline: query.deadline,
            rounds: query.rounds,
        }
    }
}

impl From<&flows::AllToAll> for Asking {
    fn from(all: &flows::AllToAll) -> Self {
        Self {
            request: all.request.count(),
            answers: Answers::of(all.response_size, all.total_size),
            pace: Pace::Told,
            stagger: all.request_jitter,
            deadline: all.deadline,
            rounds: all.rounds,
        }
    }
}
