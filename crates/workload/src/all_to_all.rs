//! All to all: every client sends requests to all servers at once, in rounds that all clients begin together.
//!
//! The first round begins at each client at its own start. A later one begins `think_time` after the last
//! response has reached the last client, shifted by the same differences of starts.
//!
//! Leaves out: barriers that themselves take messages and time, as in real programs.

use incastle_engine::core::FlowIndex;
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Span, Time};

use crate::barrier::Client;

/// The clients of a group.
pub(super) struct AllToAll {
    clients: Vec<Client>,
    /// By client: its start relative to the first one's.
    offsets: Vec<Span>,
    think: Span,
    /// The first flow of each client that has opened its flows, in order.
    first_flows: Vec<(FlowIndex, usize)>,
    /// The earliest instant of a client's next action.
    next: Option<Time>,
    /// Clients that are not idle.
    busy: usize,
}

impl AllToAll {
    pub(super) fn new(clients: Vec<Client>, think: Span) -> Self {
        let starts = || clients.iter().filter_map(Client::next_round);
        let first = starts().min().unwrap_or(Time::ZERO);
        Self {
            offsets: starts().map(|start| start - first).collect(),
            think,
            first_flows: Vec::new(),
            next: (!clients.is_empty()).then_some(first),
            busy: clients.len(),
            clients,
        }
    }

    /// The client of a flow: each has opened all of its flows at once.
    fn client_of(&mut self, flow: FlowIndex) -> &mut Client {
        let after = self
            .first_flows
            .partition_point(|(first, _)| *first <= flow);
        let (_, client) = self.first_flows[after - 1];
        &mut self.clients[client]
    }

    fn begin_round(&mut self, now: Time) {
        let base = now.saturating_add(self.think);
        for (client, offset) in self.clients.iter_mut().zip(&self.offsets) {
            client.begin_next_at(base.saturating_add(*offset));
        }
        self.busy = self.clients.iter().filter(|one| !one.is_idle()).count();
        self.arm();
    }

    fn arm(&mut self) {
        self.next = self.clients.iter().filter_map(Client::poll_timeout).min();
    }
}

impl Application for AllToAll {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        let Notice::Delivered(end) = notice else {
            return;
        };
        let client = self.client_of(end.flow());
        client.handle(now, notice, actions);
        if client.is_idle() {
            self.busy -= 1;
            if self.busy == 0 {
                self.begin_round(now);
            }
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        for (number, client) in self.clients.iter_mut().enumerate() {
            if client.poll_timeout().is_none_or(|at| at > now) {
                continue;
            }
            let was_open = client.first_flow().is_some();
            client.handle_timeout(now, actions);
            if let (false, Some(flow)) = (was_open, client.first_flow()) {
                self.first_flows.push((flow, number));
            }
        }
        self.arm();
    }

    fn is_over(&self) -> bool {
        self.next.is_none() && self.clients.iter().all(Client::is_over)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next
    }
}
