//! Requests: a client sends requests to all its servers at once and waits for the last response.
//!
//! A barrier-synchronised incast and a query in closed loop begin the next round after that response. A query
//! in open loop begins it at a random instant, `all_to_all` after the last response of the group.
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

/// The requests of a client: sizes and instants.
pub(super) struct Requests {
    request: u64,
    response_size: ResponseSize,
    pace: Pace,
    request_jitter: Span,
    deadline: Option<Span>,
    rounds: Rounds,
}

/// Bytes of the responses of a round.
enum ResponseSize {
    PerServer(u64),
    PerRound(u64),
}

/// The instants at which rounds begin.
enum Pace {
    /// This long after the last response of the previous one.
    After(Span),
    /// At random instants.
    Open(Interarrival),
    /// When the group's application begins it.
    ByGroup,
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
    request_jitter: Span,
    rng: Xoshiro256PlusPlus,
    /// Pending requests, the next one last.
    pending: Vec<PendingRequest>,
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

/// A request that is not sent yet, in order of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PendingRequest {
    at: Time,
    round: u64,
    server: usize,
}

struct Server {
    plan: Plan,
    /// Bytes of its responses.
    response_bytes: u64,
    flow: Option<FlowIndex>,
    /// Requests sent to it.
    requests: u64,
    /// Requests that it has responded to.
    responses: u64,
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
    fn pass_deadline(&self, flow: FlowIndex, actions: &mut Actions) {
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
        requests: Requests,
        mut rng: Xoshiro256PlusPlus,
    ) -> Self {
        let count = plans.len() as u64;
        let response_bytes = |index: u64| match requests.response_size {
            ResponseSize::PerServer(unit) => unit,
            ResponseSize::PerRound(total) => total / count + u64::from(index < total % count),
        };
        let start = plans.first().map(|plan| plan.start);
        let stop = plans.first().map_or(Time::NEVER, |plan| plan.stop);
        let servers = plans.into_iter().enumerate().map(|(index, plan)| Server {
            plan,
            response_bytes: response_bytes(index as u64).max(1),
            flow: None,
            requests: 0,
            responses: 0,
            due: VecDeque::new(),
        });
        let servers = servers.collect();
        let next = match &requests.pace {
            Pace::After(_) | Pace::ByGroup => start,
            Pace::Open(interarrival) => start
                .map(|start| start.saturating_add(interarrival.draw(&mut rng)))
                .filter(|first| *first < stop),
        };
        Self {
            number,
            servers,
            request: requests.request,
            pace: requests.pace,
            deadline: requests.deadline,
            request_jitter: requests.request_jitter,
            rng,
            pending: Vec::new(),
            begun: 0,
            rounds_left: match requests.rounds {
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
        if self.request_jitter > Span::ZERO {
            self.schedule_requests(now, number, actions);
        } else {
            for server in 0..self.servers.len() {
                self.open(server, now, actions);
                self.send_request(server, number, now, actions);
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
            bytes: self
                .servers
                .iter()
                .map(|server| server.response_bytes)
                .sum(),
        });
        let missing = self.servers.len();
        self.rounds.insert(number, Round { transfer, missing });
        if let Pace::Open(interarrival) = &self.pace {
            let next = now.saturating_add(interarrival.draw(&mut self.rng));
            self.begin_next_at(next);
        }
    }

    /// The next round begins then, if there is one.
    pub(super) fn begin_next_at(&mut self, at: Time) {
        let more = self.rounds_left > 0 && at < self.servers[0].plan.stop;
        self.next = more.then_some(at);
    }

    /// Draws the instant of each request. All connections are open from the first round on.
    fn schedule_requests(&mut self, now: Time, round: u64, actions: &mut Actions) {
        for server in 0..self.servers.len() {
            self.open(server, now, actions);
        }
        for server in 0..self.servers.len() {
            let late = self
                .request_jitter
                .scale_lossy(random::uniform(&mut self.rng));
            self.pending.push(PendingRequest {
                at: now.saturating_add(late),
                round,
                server,
            });
        }
        self.pending.sort_unstable_by(|a, b| b.cmp(a));
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

    fn send_request(&mut self, server: usize, round: u64, now: Time, actions: &mut Actions) {
        let server = &mut self.servers[server];
        let flow = server.flow.expect("the connections of a round are open");
        server.requests += 1;
        let deadline = self.deadline.map(|deadline| now.saturating_add(deadline));
        // Otherwise the server still waits for an earlier request, and `respond` continues with this one.
        if server.requests == server.responses + 1 {
            actions.expect(
                flow.endpoint(Side::Responder),
                server.requests * self.request,
            );
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
            bytes: server.response_bytes,
        });
        server.due.push_back(Due {
            round,
            transfer,
            deadline,
        });
        if server.due.len() == 1 {
            server.pass_deadline(flow, actions);
        }
    }

    /// Sends the requests that are due.
    fn send_due_requests(&mut self, now: Time, actions: &mut Actions) {
        while let Some(request) = self.pending.pop_if(|request| request.at <= now) {
            self.send_request(request.server, request.round, now, actions);
        }
    }

    /// The request is complete at a server: it responds.
    fn respond(&mut self, end: EndpointIndex, actions: &mut Actions) {
        let request = self.request;
        let server = self.server_of(end.flow());
        server.responses += 1;
        // Otherwise the client still waits for an earlier response, and `arrived` continues with this one.
        let arrived = server.requests - server.due.len() as u64;
        if server.responses == arrived + 1 {
            actions.expect(end.peer(), server.responses * server.response_bytes);
        }
        actions.write(end, server.response_bytes);
        if server.responses < server.requests {
            actions.expect(end, (server.responses + 1) * request);
        }
    }

    /// A response is complete at the client.
    fn arrived(&mut self, now: Time, end: EndpointIndex, actions: &mut Actions) {
        let server = self.server_of(end.flow());
        let due = server.due.pop_front().expect("a response is outstanding");
        server.plan.journal.completed(due.transfer, now);
        server.pass_deadline(end.flow(), actions);
        let arrived = server.requests - server.due.len() as u64;
        if arrived < server.responses {
            actions.expect(end, (arrived + 1) * server.response_bytes);
        }
        let round = self.rounds.get_mut(&due.round);
        let round = round.expect("a response belongs to an active round");
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
            Side::Responder => self.respond(end, actions),
            Side::Initiator => self.arrived(now, end, actions),
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if self.next.take_if(|at| *at <= now).is_some() {
            self.begin_round(now, actions);
        }
        self.send_due_requests(now, actions);
    }

    fn is_over(&self) -> bool {
        self.is_idle() && self.pending.is_empty()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let request = self.pending.last().map(|request| request.at);
        request.into_iter().chain(self.next).min()
    }
}

impl Requests {
    /// One request to each server.
    pub(super) fn once(request: Bytes, unit: Bytes) -> Self {
        Self {
            request: request.count(),
            response_size: ResponseSize::PerServer(unit.count()),
            pace: Pace::ByGroup,
            request_jitter: Span::ZERO,
            deadline: None,
            rounds: Rounds::Number(1),
        }
    }
}

impl ResponseSize {
    /// The value of a checked group, which has one of both or a default.
    fn of(unit: Option<Bytes>, total: Option<Bytes>) -> Self {
        match (unit, total) {
            (Some(unit), _) => Self::PerServer(unit.count()),
            (None, Some(total)) => Self::PerRound(total.count()),
            (None, None) => unreachable!("a checked group has a unit or a total"),
        }
    }
}

impl From<&flows::BarrierIncast> for Requests {
    fn from(barrier: &flows::BarrierIncast) -> Self {
        Self {
            request: barrier.request.count(),
            response_size: ResponseSize::of(barrier.sru, barrier.total_size),
            pace: Pace::After(barrier.think_time),
            request_jitter: barrier.request_jitter,
            deadline: barrier.deadline,
            rounds: barrier.rounds,
        }
    }
}

impl From<&flows::Query> for Requests {
    fn from(query: &flows::Query) -> Self {
        let unit = query
            .response_size
            .or(query.total_size.is_none().then_some(flows::Query::UNIT));
        Self {
            request: query.request.count(),
            response_size: ResponseSize::of(unit, query.total_size),
            pace: match query.rate {
                Some(rate) => Pace::Open(Interarrival::new(rate, &query.interarrival)),
                None => Pace::After(query.think_time),
            },
            request_jitter: query.request_jitter,
            deadline: query.deadline,
            rounds: query.rounds,
        }
    }
}

impl From<&flows::AllToAll> for Requests {
    fn from(all: &flows::AllToAll) -> Self {
        Self {
            request: all.request.count(),
            response_size: ResponseSize::of(all.response_size, all.total_size),
            pace: Pace::ByGroup,
            request_jitter: all.request_jitter,
            deadline: all.deadline,
            rounds: all.rounds,
        }
    }
}
