//! A simulation as one logical process: its windows, its messages, and what it must wait for.

use std::sync::Arc;

use incastle_queueing::Verdict;
use incastle_units::Time;

use super::{RunError, Simulation, Stop};
use crate::core::{EndpointIndex, Event, FlowIndex, HostIndex, Kind, Node, PortIndex, Side};
use crate::flow::Endpoint;
use crate::network::{Offer, Packet, enter};
use crate::parallel::{LogicalProcess, Messages, Partitioning, Progress, TICK, Window};
use crate::probe::Probe;

impl<P: Probe> Simulation<P> {
    /// Makes a simulation in which nothing has happened yet the logical process of one partition. From
    /// now on it is driven by [`Self::hand_over`], [`Self::receive`] and [`Self::run_window`] in turn.
    pub fn become_partition(&mut self, partitioning: &Arc<Partitioning>, partition: usize) {
        assert!(
            partition < partitioning.count() && self.now() == Time::ZERO && self.flow_count() == 0,
            "a new simulation becomes one of the partitions"
        );
        for port in self.network.ports() {
            let (from, _) = self.network.ends(port);
            if partitioning.of(from) == partition && partitioning.is_cut(&self.network, port) {
                self.network.ports[port.index()].cut();
            }
        }
        let process = LogicalProcess::new(partitioning, partition);
        self.process = Some(Box::new(process));
    }

    /// Whether what happens at a node happens here.
    pub(crate) fn has(&self, node: Node) -> bool {
        let process = self.process.as_ref();
        process.is_none_or(|process| process.has(node))
    }

    /// Whether a flow's endpoints at these hosts are here.
    pub(crate) fn has_hosts(&self, hosts: [HostIndex; 2]) -> [bool; 2] {
        hosts.map(|host| self.has(Node::Host(host)))
    }

    fn process(&mut self) -> &mut LogicalProcess {
        let process = self.process.as_mut();
        process.expect("only a logical process has others")
    }

    // In turn with the other partitions.

    /// Hands over the messages for each other partition, and returns how far this one has come. What is
    /// handed back in their place must be empty.
    pub fn hand_over(&mut self, take: impl FnMut(usize, &mut Messages)) -> Progress {
        let first = self.clock.events.next_at();
        self.process().hand_over(first, take)
    }

    /// Takes the messages of another partition.
    pub fn receive(&mut self, messages: &mut Messages) {
        let extras = &mut messages.extras;
        let process = self.process.as_mut();
        let process = process.expect("only a logical process receives messages");
        for (port, mut flight) in messages.packets.drain(..) {
            // The sender has not come to the failure yet, and will count the loss.
            let left = flight.arrives - self.network.link(port).1;
            if process.has_failed_since(port, left) {
                flight.packet.forget_extra(extras);
                continue;
            }
            flight.packet.move_extra(extras, &mut self.network.extras);
            let pool = &mut self.network.pool;
            if self.network.ports[port.index()].take_over(&flight, pool) {
                self.clock
                    .events
                    .push(Event::new(flight.arrives, Kind::Arrival, port.0));
            }
        }
        process.learn_releases(messages.released.drain(..));
    }

    /// Releases the flows that were released elsewhere before an instant.
    fn release_before(&mut self, before: Time) {
        for flow in self.process().released_before(before) {
            self.release_as_elsewhere(flow);
        }
    }

    /// Releases a flow that was released elsewhere, as of then.
    fn release_as_elsewhere(&mut self, flow: FlowIndex) {
        let at = self.process().take_release(flow);
        let ends = [Side::Near, Side::Far].map(|side| self.flows.peek(flow.endpoint(side)));
        assert!(
            ends.into_iter().flatten().all(Endpoint::may_have_told),
            "a flow is over when an endpoint has acknowledged everything"
        );
        self.release_at(flow, at);
    }

    /// Lets everything happen until `until` that no other partition can change any more, at most
    /// `budget` events of it; `all` is what [`Self::hand_over`] returned in each partition the last
    /// time, whose messages have been received. Returns whether anything is left to happen until then,
    /// in any partition.
    pub fn run_window(
        &mut self,
        all: &[Progress],
        until: Time,
        budget: u64,
    ) -> Result<bool, RunError> {
        let process = self.process();
        let Window { known, before } = process.window(all);
        let beyond = until.saturating_add(TICK);
        if all.iter().all(|process| process.next >= beyond) {
            process.clock = beyond;
            self.release_before(beyond);
            self.rest(until);
            return Ok(false);
        }
        process.known = known;
        let clock = process.clock;
        self.release_before(clock);
        let clock = self.run_before(before.min(beyond), budget)?;
        self.process().clock = clock;
        Ok(true)
    }

    /// Lets everything happen before an instant, unless it has to wait for others; returns how far it
    /// came.
    fn run_before(&mut self, before: Time, budget: u64) -> Result<Time, RunError> {
        let until = Time::ZERO + (before - Time::ZERO).saturating_sub(TICK);
        Ok(match self.go_on(until, budget)? {
            Stop::NothingLeft => before,
            Stop::Waits(at) => at,
            Stop::Budget => self.now(),
        })
    }

    /// Whether an event concerns an endpoint that may have been released elsewhere before it.
    #[inline(never)]
    pub(crate) fn must_wait(&mut self, event: Event) -> bool {
        let end = match event.kind() {
            Kind::Arrival => {
                let port = &self.network.ports[event.source() as usize];
                match port.to {
                    Node::Switch(_) => return false,
                    Node::Host(_) => self.network.pool.at(port.first()).packet.to,
                }
            }
            Kind::Timer | Kind::Batch => EndpointIndex(event.source()),
            Kind::Dequeue => {
                let host = &self.network.hosts[event.source() as usize];
                let Some(first) = host.waiting.front() else {
                    return false;
                };
                *first
            }
            Kind::Departure | Kind::Control | Kind::Application | Kind::Probe => return false,
        };
        let told = self.flows.peek(end).is_some_and(Endpoint::may_have_told);
        told && self.may_be_released(end, event.at)
    }

    /// Whether an endpoint whose peer knows that everything is here may have been released by that
    /// before an instant. If it has been, it is released.
    #[cold]
    fn may_be_released(&mut self, index: EndpointIndex, at: Time) -> bool {
        let (Some(process), Some(endpoint)) = (&self.process, self.flows.peek(index)) else {
            return false;
        };
        if process.has(Node::Host(endpoint.peer_host())) {
            return false;
        }
        if let Some(released) = process.released_at(index.flow()) {
            // Of one instant applications come last.
            if released < at {
                self.release_as_elsewhere(index.flow());
            }
            return false;
        }
        at > process.known
    }

    // What concerns other partitions while this one goes on.

    /// Notes for the partition of the other endpoint that a flow was released.
    pub(crate) fn tell_of_release(&mut self, flow: FlowIndex) {
        let now = self.now();
        let record = &self.flows.accounts[flow.index()];
        if let Some(process) = &mut self.process {
            process.note_release(flow, [record.from, record.to], now);
        }
    }

    /// Offers a packet to a port whose link leads into another partition.
    #[cold]
    pub(crate) fn offer_across(&mut self, at: PortIndex, packet: &Packet) -> Verdict {
        let now = self.now();
        self.let_arrive(at);
        let network = &mut self.network;
        let slot = network.pool.put(*packet);
        let offer = Offer::at(now, slot);
        let (verdict, mut wakes) = network.take_in(at, offer, &mut self.observer.probe);
        if matches!(verdict, Verdict::Drop(_)) {
            network.discard(slot);
            return verdict;
        }
        // The arrival is an event of the other partition.
        wakes.arrival = None;
        enter(&mut self.clock.events, at, wakes);
        if self.network.ports[at.index()].is_fast() {
            self.post(at);
        }
        verdict
    }

    /// Hands the packet that came last onto a link to the partition that it leads into.
    pub(crate) fn post(&mut self, at: PortIndex) {
        let port = &self.network.ports[at.index()];
        let flight = *self.network.pool.at(port.last());
        let to = port.to;
        let extras = &self.network.extras;
        let process = self.process.as_mut();
        let process = process.expect("only logical processes have cut links");
        process.post(to, at, flight, extras);
    }

    /// Takes off a link into another partition what has arrived there.
    fn let_arrive(&mut self, at: PortIndex) {
        let now = self.now();
        let network = &mut self.network;
        let port = &mut network.ports[at.index()];
        while let Some(packet) = port.let_arrive(now, &mut network.pool, &mut self.observer.probe) {
            packet.forget_extra(&mut network.extras);
        }
    }

    /// A link goes down. Returns whether its sending node is here; where only the receiving one is, what would have
    /// arrived is forgotten: its loss is counted where it was sent.
    pub(crate) fn cut_off(&mut self, at: PortIndex) -> bool {
        let now = self.now();
        if self.process.is_none() {
            return true;
        }
        if self.has(self.network.ends(at).0) {
            self.let_arrive(at);
            self.process().take_back(at, now);
            return true;
        }
        self.process().note_failure(at, now);
        let network = &mut self.network;
        let port = &mut network.ports[at.index()];
        let before = port.first_arrival();
        while let Some(packet) = port.forget_arrival(now, &mut network.pool) {
            packet.forget_extra(&mut network.extras);
        }
        let after = port.first_arrival();
        if before != after {
            let arrival = |first| Event::new(first, Kind::Arrival, at.0);
            if let Some(first) = before {
                self.clock.events.remove(arrival(first));
            }
            if let Some(first) = after {
                self.clock.events.push(arrival(first));
            }
        }
        false
    }
}
