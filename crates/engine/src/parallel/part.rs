//! A simulation as a part of a network: how far it may go, what it gives away, what it is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use incastle_queueing::Verdict;
use incastle_units::{Span, Time};

use super::{Mail, Partition};
use crate::core::{EndpointIndex, FlowIndex, HostIndex, Node, PortIndex, Side};
use crate::core::{Event, Kind};
use crate::flow::Endpoint;
use crate::network::Packet;
use crate::network::enter;
use crate::probe::Probe;
use crate::simulation::Stop;
use crate::{RunError, Simulation};

/// A picosecond.
const TICK: Span = Span::from_ps(1);

/// What a simulation knows of being a part.
pub(crate) struct Part {
    partition: Arc<Partition>,
    index: usize,
    /// By part: what is to be handed over to it.
    mails: Vec<Mail>,
    /// Everything before this instant has happened here.
    clock: Time,
    /// Everything before this instant has happened elsewhere, and is known here.
    known: Time,
    /// Flows that are freed from elsewhere, and when; not yet done here.
    freed: BTreeMap<FlowIndex, Time>,
    /// By port that leads here from elsewhere: when its link failed last.
    failed: BTreeMap<PortIndex, Time>,
}

impl Part {
    pub(super) fn has(&self, node: Node) -> bool {
        self.partition.of(node) == self.index
    }
}

/// How far a part has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Everything before this instant has happened there.
    pub clock: Time,
    /// Nothing happens before this instant there, nor where its mail goes because of that mail.
    pub next: Time,
}

/// For as long as one part may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    /// Everything before this instant has happened in the other parts.
    known: Time,
    /// What happens before this instant here, nobody else can change.
    before: Time,
}

impl Window {
    /// The window of part `own`.
    fn new(all: &[Progress], own: usize, lookahead: Span) -> Self {
        let next = all.iter().map(|part| part.next).min();
        let others = all.iter().enumerate().filter(|(part, _)| *part != own);
        let clock = others.map(|(_, part)| part.clock).min();
        // Where nothing is left to happen before an instant, everybody has come that far.
        let known = next.max(clock).expect("there are several parts");
        Self {
            known,
            before: known.saturating_add(lookahead),
        }
    }
}

impl<P: Probe> Simulation<P> {
    /// Makes a simulation in which nothing has happened yet a part of those of one network. From now
    /// on it is driven by [`Self::hand_over`], [`Self::receive`] and [`Self::run_window`] in turns.
    pub fn become_part(&mut self, partition: &Arc<Partition>, index: usize) {
        assert!(
            index < partition.parts() && self.now() == Time::ZERO && self.flow_count() == 0,
            "a new simulation becomes one of the parts"
        );
        for port in self.network.ports() {
            let (from, _) = self.network.ends(port);
            if partition.of(from) == index && partition.is_cut(&self.network, port) {
                self.network.ports[port.index()].cut();
            }
        }
        self.part = Some(Box::new(Part {
            partition: Arc::clone(partition),
            index,
            mails: (0..partition.parts()).map(|_| Mail::default()).collect(),
            clock: Time::ZERO,
            known: Time::ZERO,
            freed: BTreeMap::new(),
            failed: BTreeMap::new(),
        }));
    }

    /// Whether what happens at a node happens here.
    pub(crate) fn has(&self, node: Node) -> bool {
        self.part.as_ref().is_none_or(|part| part.has(node))
    }

    /// Whether a flow's ends at these hosts are here.
    pub(crate) fn has_hosts(&self, hosts: [HostIndex; 2]) -> [bool; 2] {
        hosts.map(|host| self.has(Node::Host(host)))
    }

    fn as_part(&mut self) -> &mut Part {
        self.part
            .as_mut()
            .expect("only a part has others beside it")
    }

    // In turns with the other parts.

    /// Hands over the mail for each other part, and says how far this one has come. What is handed back
    /// in its place must be empty.
    pub fn hand_over(&mut self, mut mail: impl FnMut(usize, &mut Mail)) -> Progress {
        let first = self.events.next_at();
        let part = self.as_part();
        let clock = part.clock;
        let mut next = first.max(clock);
        for to in (0..part.mails.len()).filter(|to| *to != part.index) {
            next = next.min(part.mails[to].first_arrival());
            mail(to, &mut part.mails[to]);
            assert!(part.mails[to].is_empty(), "mail is handed over once");
        }
        Progress { clock, next }
    }

    /// Takes the mail of another part.
    pub fn receive(&mut self, mail: &mut Mail) {
        let extras = &mut mail.extras;
        let part = self.part.as_ref().expect("only a part has mail");
        for (port, mut flight) in mail.packets.drain(..) {
            // The sender has not come to the failure yet, and will enter the loss.
            let left = flight.arrives - self.network.link(port).1;
            if part.failed.get(&port).is_some_and(|failed| left <= *failed) {
                flight.packet.forget_extra(extras);
                continue;
            }
            flight.packet.move_extra(extras, &mut self.network.extras);
            let pool = &mut self.network.pool;
            if self.network.ports[port.index()].take_over(&flight, pool) {
                self.events
                    .push(Event::new(flight.arrives, Kind::Arrival, port.0));
            }
        }
        self.as_part().freed.extend(mail.released.drain(..));
    }

    /// Frees the ends of flows that were released elsewhere before an instant.
    fn free_before(&mut self, before: Time) {
        let freed = self.as_part().freed.iter();
        let due: Vec<FlowIndex> = freed
            .filter(|(_, at)| **at < before)
            .map(|(flow, _)| *flow)
            .collect();
        for flow in due {
            self.free(flow);
        }
    }

    /// Frees the ends of a flow that was released elsewhere, as of then.
    fn free(&mut self, flow: FlowIndex) {
        let part = self.as_part();
        let at = part.freed.remove(&flow);
        let at = at.expect("a flow is freed when that is known");
        let ends = [Side::Near, Side::Far].map(|side| self.flows.peek(flow.end(side)));
        assert!(
            ends.into_iter().flatten().all(Endpoint::may_have_told),
            "a flow is over when an end has said that everything is there"
        );
        self.release_at(flow, at);
    }

    /// Lets everything happen until `until` that nobody else can change any more, at most `budget`
    /// events of it; `all` is what [`Self::hand_over`] gave in each part the last time, whose mail has been
    /// received. Gives whether anything is left to happen until then, in any part.
    pub fn run_window(
        &mut self,
        all: &[Progress],
        until: Time,
        budget: u64,
    ) -> Result<bool, RunError> {
        let part = self.as_part();
        let Window { known, before } = Window::new(all, part.index, part.partition.lookahead());
        let beyond = until.saturating_add(TICK);
        if all.iter().all(|part| part.next >= beyond) {
            part.clock = beyond;
            self.free_before(beyond);
            self.rest(until);
            return Ok(false);
        }
        part.known = known;
        let clock = part.clock;
        self.free_before(clock);
        let clock = self.run_before(before.min(beyond), budget)?;
        self.as_part().clock = clock;
        Ok(true)
    }

    /// Lets everything happen before an instant, unless it has to wait for others; gives how far it came.
    fn run_before(&mut self, before: Time, budget: u64) -> Result<Time, RunError> {
        let until = Time::ZERO + (before - Time::ZERO).saturating_sub(TICK);
        Ok(match self.go_on(until, budget)? {
            Stop::NothingLeft => before,
            Stop::Waits(at) => at,
            Stop::Budget => self.now(),
        })
    }

    /// Whether an event concerns an end that may have been freed from elsewhere before it.
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
            Kind::Pull => {
                let host = &self.network.hosts[event.source() as usize];
                let Some(first) = host.waiting.front() else {
                    return false;
                };
                *first
            }
            Kind::Departure | Kind::Control | Kind::Application | Kind::Probe => return false,
        };
        let told = self.flows.peek(end).is_some_and(Endpoint::may_have_told);
        told && self.may_be_freed(end, event.at)
    }

    /// Whether an end whose other end knows that everything is here may have been freed by that before
    /// an instant. If it has been, it is freed.
    #[cold]
    fn may_be_freed(&mut self, index: EndpointIndex, at: Time) -> bool {
        let (Some(part), Some(end)) = (&self.part, self.flows.peek(index)) else {
            return false;
        };
        if part.has(Node::Host(end.peer_host())) {
            return false;
        }
        if let Some(freed) = part.freed.get(&index.flow()) {
            // Of one instant applications come last.
            if *freed < at {
                self.free(index.flow());
            }
            return false;
        }
        at > part.known
    }

    // What concerns other parts while this one goes on.

    /// Tells the part of the other end that a flow was released.
    pub(crate) fn tell_of_release(&mut self, flow: FlowIndex) {
        let now = self.now();
        let books = &self.flows.books[flow.index()];
        let hosts = [books.from, books.to];
        let Some(part) = &mut self.part else {
            return;
        };
        let [near, far] = hosts.map(|host| part.partition.of(Node::Host(host)));
        if near != far {
            let other = if near == part.index { far } else { near };
            part.mails[other].released.push((flow, now));
        }
    }

    /// Offers a packet to a port whose link leads into another part.
    #[cold]
    pub(crate) fn offer_across(&mut self, at: PortIndex, packet: &Packet) -> Verdict {
        let now = self.now();
        self.let_arrive(at);
        let network = &mut self.network;
        let slot = network.pool.put(*packet);
        let (verdict, mut wakes) = network.take_in(at, (now, now), slot, &mut self.probe);
        if matches!(verdict, Verdict::Drop(_)) {
            network.discard(slot);
            return verdict;
        }
        // The arrival is an event of the other part.
        wakes.arrival = None;
        enter(&mut self.events, at, wakes);
        if self.network.ports[at.index()].is_fast() {
            self.post(at);
        }
        verdict
    }

    /// Hands the packet that came last onto a link to the part that it leads into.
    pub(crate) fn post(&mut self, at: PortIndex) {
        let port = &self.network.ports[at.index()];
        let flight = *self.network.pool.at(port.last());
        let to = port.to;
        let extras = &self.network.extras;
        let part = self.part.as_mut().expect("only parts have cut links");
        let to = part.partition.of(to);
        part.mails[to].post(at, flight, extras);
    }

    /// Takes off a link into another part what has arrived there.
    fn let_arrive(&mut self, at: PortIndex) {
        let now = self.now();
        let network = &mut self.network;
        let port = &mut network.ports[at.index()];
        while let Some(packet) = port.let_arrive(now, &mut network.pool, &mut self.probe) {
            packet.forget_extra(&mut network.extras);
        }
    }

    /// A link goes down. Gives whether its near end is here; where only the far end is, what would have
    /// arrived is forgotten: its loss is entered where it was sent.
    pub(crate) fn cut_off(&mut self, at: PortIndex) -> bool {
        let now = self.now();
        if self.part.is_none() {
            return true;
        }
        if self.has(self.network.ends(at).0) {
            self.let_arrive(at);
            for mail in &mut self.as_part().mails {
                mail.take_back(at, now);
            }
            return true;
        }
        self.as_part().failed.insert(at, now);
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
                self.events.remove(arrival(first));
            }
            if let Some(first) = after {
                self.events.push(arrival(first));
            }
        }
        false
    }
}
