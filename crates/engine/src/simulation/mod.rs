//! The event loop: takes the first event, lets it happen, enters what follows from it.

mod all_partitions;
mod applications;
mod coalescing;
mod conservation;
mod failures;
mod handling;
mod logical_process;
mod notification;
mod prefetch;
mod recording;
mod sampling;

use incastle_queueing::{DropCause, Verdict};
use incastle_units::{Bytes, Time};

use prefetch::Prefetcher;
use sampling::Observer;

pub use all_partitions::{AllPartitions, finish};
pub use prefetch::Prefetch;

use crate::core::{
    AppIndex, Clock, EndpointIndex, Event, EventQueue, FlowIndex, HostIndex, Kind, Livelock,
    MAX_EVENTS_PER_INSTANT, Node, PortIndex, SwitchIndex,
};
use crate::flow::{Application, Applications, FlowRecord, Flows, ip_bytes};
use crate::layout::Slot;
use crate::network::{Body, FastPath, Network, Offer, Packet, enter};
use crate::parallel::LogicalProcess;
use crate::probe::Probe;

/// How a call of [`Simulation::run`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing is left to happen until the given instant.
    Done,
    /// The budget of events is used up.
    Paused,
}

/// Why the loop has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing is left until the given instant.
    NothingLeft,
    /// The budget of events is used up.
    Budget,
    /// What happens next, and when, has to wait for another partition.
    Waits(Time),
}

/// Why a simulation cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A loop without delay.
    #[error(
        "more than {MAX_EVENTS_PER_INSTANT} events at one instant ({} ps): \
         something answers itself without delay",
        at.as_ps()
    )]
    Livelock {
        /// The instant.
        at: Time,
    },
}

/// What a run has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Packets of any kind fully received at the far end of a link.
    pub packet_hops: u64,
    /// Packets with application data received by hosts.
    pub data_packets: u64,
    /// Events of ports, hosts and endpoints. Those of applications, changes of links and samples do
    /// not count: in a network in partitions every partition has some of them.
    pub events: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Those of the drops that failed links caused.
    pub failure_drops: u64,
    /// Congestion notifications sent by switches.
    pub cnms_sent: u64,
    /// Those of them that reached a host.
    pub cnms_received: u64,
    /// Those of them that were dropped.
    pub cnms_dropped: u64,
}

/// What becomes of a packet that a fair queue pushes out.
const PUSHED_OUT: Verdict = Verdict::Drop(DropCause::BufferFull);

/// A network with flows, applications and a clock.
pub struct Simulation<P: Probe> {
    pub(crate) network: Network,
    pub(crate) flows: Flows,
    apps: Applications,
    clock: Clock,
    observer: Observer<P>,
    totals: Totals,
    prefetcher: Prefetcher,
    /// Where it simulates one partition of the network alone.
    process: Option<Box<LogicalProcess>>,
}

impl<P: Probe> Simulation<P> {
    /// A network at rest at time zero, with a probe looking on.
    pub fn new(network: Network, probe: P) -> Self {
        let mut clock = Clock::default();
        network.enter_changes(&mut clock.events);
        let prefetch = Prefetch::for_ports(network.ports.len());
        clock.events.keep_sorted(prefetch.events());
        Self {
            network,
            flows: Flows::default(),
            apps: Applications::default(),
            clock,
            observer: Observer::new(probe),
            totals: Totals::default(),
            prefetcher: Prefetcher::new(prefetch),
            process: None,
        }
    }

    /// Adds an application, which is called first at its `poll_timeout`.
    pub fn add_application(&mut self, app: Box<dyn Application>) -> AppIndex {
        self.apps.add(app, &mut self.clock)
    }

    /// Lets everything happen until `until`, at most `budget` events of it, or until what it ends with
    /// is over ([`Self::end_with`]).
    pub fn run(&mut self, until: Time, budget: u64) -> Result<Status, RunError> {
        match self.go_on(until, budget)? {
            Stop::NothingLeft => {
                self.rest(until);
                Ok(Status::Done)
            }
            Stop::Budget | Stop::Waits(_) => Ok(Status::Paused),
        }
    }

    /// The loop. The one copy of it: whatever an arrival does is expanded here.
    pub(crate) fn go_on(&mut self, until: Time, budget: u64) -> Result<Stop, RunError> {
        for _ in 0..budget {
            if self.clock.events.needs_refill() {
                self.clock.events.refill(until);
            }
            self.prefetch();
            let Some(event) = self.clock.events.take(until) else {
                return Ok(Stop::NothingLeft);
            };
            if self.process.is_some() && self.must_wait(event) {
                self.clock.events.push(event);
                return Ok(Stop::Waits(event.at));
            }
            let advanced = self.clock.advance(event.at);
            advanced.map_err(|Livelock| RunError::Livelock { at: event.at })?;
            self.happen(event);
        }
        Ok(Stop::Budget)
    }

    /// Nothing is left to happen until `until`; what has ended stays at its end.
    pub(crate) fn rest(&mut self, until: Time) {
        if !self.apps.is_over() {
            self.clock.rest(until);
        }
    }

    #[inline(always)]
    fn happen(&mut self, event: Event) {
        // Nearly all events: ahead of the table of the others.
        if event.is(Kind::Arrival) {
            self.arrive(PortIndex(event.source()));
        } else {
            self.happen_otherwise(event);
        }
    }

    #[inline(never)]
    fn happen_otherwise(&mut self, event: Event) {
        let kind = event.kind();
        self.totals.events += u64::from(kind.is_of_one_place());
        match kind {
            Kind::Arrival => unreachable!("arrivals are dealt with"),
            Kind::Departure => self.depart(PortIndex(event.source())),
            Kind::Control => self.control(event.source()),
            Kind::Dequeue => self.dequeue(HostIndex(event.source())),
            Kind::Timer => self.timer(EndpointIndex(event.source())),
            Kind::Batch => self.batch_is_due(EndpointIndex(event.source())),
            Kind::Application => self.application(AppIndex(event.source())),
            Kind::Probe => self.look(event.source()),
        }
    }

    fn enter(&mut self, event: Event) {
        self.clock.events.push(event);
    }

    // A packet's life: from its arrival at a port to its host.

    fn arrive(&mut self, at: PortIndex) {
        let network = &mut self.network;
        let port = &mut network.ports[at.index()];
        let (slot, next) = port.arrive(self.clock.now(), &network.pool, &mut self.observer.probe);
        let to = port.to;
        let cached_next_hop = std::mem::replace(&mut port.cached_next_hop, PortIndex::NONE);
        if let Some(next) = next {
            self.clock
                .events
                .push(Event::new(next, Kind::Arrival, at.0));
        }
        self.totals.events += 1;
        self.totals.packet_hops += 1;
        match to {
            Node::Switch(switch) => self.pass_on(switch, slot, cached_next_hop),
            Node::Host(host) => self.deliver(host, slot),
        }
    }

    /// A port with departure events has sent a packet.
    fn depart(&mut self, at: PortIndex) {
        let (size, mut wakes) = self
            .network
            .depart(at, self.clock.now(), &mut self.observer.probe);
        if self.network.ports[at.index()].is_cut() && size > Bytes::ZERO {
            self.post(at);
            wakes.arrival = None;
        }
        enter(&mut self.clock.events, at, wakes);
    }

    /// A switch sends a packet on.
    #[inline(always)]
    fn pass_on(&mut self, switch: SwitchIndex, slot: Slot, cached_next_hop: PortIndex) {
        let network = &mut self.network;
        let out = if cached_next_hop == PortIndex::NONE {
            let packet = &network.pool.at(slot).packet;
            network.routes.port(switch, packet, self.clock.now())
        } else {
            cached_next_hop
        };
        let Some(port) = network.ports.get_mut(out.index()) else {
            let packet = network.pool.take(slot);
            return self.drop_unreachable(out, &packet);
        };
        match port.pass(
            self.clock.now(),
            slot,
            &mut network.pool,
            &mut self.observer.probe,
        ) {
            FastPath::First(at) => self.clock.events.push(Event::new(at, Kind::Arrival, out.0)),
            FastPath::Behind => {}
            FastPath::Closed => self.pass_on_otherwise(out, slot),
        }
    }

    /// A switch sends a packet on by a port that has no fast path for it.
    #[inline(never)]
    fn pass_on_otherwise(&mut self, out: PortIndex, slot: Slot) {
        let network = &mut self.network;
        if network.ports[out.index()].is_special() {
            let packet = network.pool.take(slot);
            return self.enter_special(out, &packet);
        }
        let now = self.clock.now();
        let probe = &mut self.observer.probe;
        let verdict = network.offer(out, Offer::at(now, slot), &mut self.clock.events, probe);
        if verdict != Verdict::Admit {
            let packet = match verdict {
                Verdict::Drop(_) => network.discard(slot),
                Verdict::Admit | Verdict::Mark => network.pool.at(slot).packet,
            };
            self.judged(verdict, out, &packet);
        }
    }

    /// A packet enters a port that a congestion point watches, one with departure events, where a fair
    /// queue makes room, or one that leads into another partition.
    #[inline(never)]
    fn enter_special(&mut self, at: PortIndex, packet: &Packet) {
        let now = self.clock.now();
        self.sample(at, packet);
        self.network.ports[at.index()].make_room(now, packet);
        while let Some(packet) = self.network.take_pushed_out(at) {
            self.note_dropped(PUSHED_OUT, at, &packet);
            self.judged(PUSHED_OUT, at, &packet);
        }
        let arriving = self.note_arriving(at, packet);
        let verdict = if self.network.ports[at.index()].is_cut() {
            self.offer_across(at, packet)
        } else {
            let offer = Offer::at(now, self.network.pool.put(*packet));
            let probe = &mut self.observer.probe;
            self.network
                .offer_or_discard(at, offer, &mut self.clock.events, probe)
        };
        self.note_judged(arriving.as_ref(), verdict, at, packet);
        self.judged(verdict, at, packet);
    }

    /// A packet has reached its host.
    #[inline(always)]
    fn deliver(&mut self, host: HostIndex, slot: Slot) {
        let packet = &self.network.pool.at(slot).packet;
        let payload = packet.payload();
        let to = packet.to;
        if (payload == 0 && packet.is_cnm())
            || self.network.hosts[host.index()].coalescing.is_some()
        {
            return self.deliver_otherwise(host, slot);
        }
        let ip_bytes = ip_bytes(packet);
        self.note(host, ip_bytes, payload);
        let Some(handling) = self.handling(to) else {
            let packet = self.network.pool.take(slot);
            return self.stray(&packet);
        };
        if handling.endpoint.receives_on_slow_path() {
            let packet = self.network.pool.take(slot);
            return self.deliver_slowly(&packet);
        }
        let left = handling.receive(slot);
        self.see_to(to, left);
    }

    /// A notification has reached its host, or a packet one that holds arrivals back.
    #[inline(never)]
    fn deliver_otherwise(&mut self, host: HostIndex, slot: Slot) {
        let packet = self.network.pool.take(slot);
        if let Body::Cnm { psi } = packet.body {
            return self.notified(host, &packet, psi);
        }
        self.note(host, ip_bytes(&packet), packet.payload());
        self.coalesce(host, &packet);
    }

    /// Counts a packet that has reached a host, and tells the probe of it.
    #[inline(always)]
    fn note(&mut self, host: HostIndex, ip_bytes: u16, payload: u16) {
        self.totals.data_packets += u64::from(payload > 0);
        let bytes = |count| Bytes::new(u64::from(count));
        self.observer
            .probe
            .received(host, self.clock.now(), bytes(ip_bytes), bytes(payload));
    }

    /// A packet for a flow that is over.
    fn stray(&mut self, packet: &Packet) {
        self.flows.accounts[packet.to.flow().index()].stray += 1;
        packet.forget_extra(&mut self.network.extras);
    }

    /// Offers an endpoint's packets to the NIC until there are none, or one has to wait. `TOLD`: to be
    /// noted, if it is recorded.
    #[inline(never)]
    fn send_queued<const TOLD: bool>(&mut self, index: EndpointIndex) {
        let now = self.clock.now();
        loop {
            let Some(endpoint) = self.flows.get(index) else {
                return;
            };
            let host = endpoint.host;
            let repeats = if TOLD { endpoint.retransmissions() } else { 0 };
            let slot = self.network.pool.reserve();
            let packet = &mut self.network.pool.at_mut(slot).packet;
            if !endpoint.poll_transmit(now, &mut self.network.extras, packet) {
                self.network.pool.free(slot);
                return;
            }
            if TOLD {
                self.note_sent(index, slot, repeats);
            }
            let Some(endpoint) = self.flows.get(index) else {
                return;
            };
            if let Some(at) = self.network.nic_busy(host, now) {
                endpoint.stage(slot);
                self.network.wait(host, index, at, &mut self.clock.events);
                return;
            }
            self.send(host, slot);
        }
    }

    /// Sends a packet on the slow path and enters what becomes of it into the counters.
    fn send(&mut self, host: HostIndex, slot: Slot) {
        let now = self.clock.now();
        let (events, probe) = (&mut self.clock.events, &mut self.observer.probe);
        let sent = self.network.send(host, Offer::at(now, slot), events, probe);
        if let Some((verdict, packet)) = sent {
            let at = self.network.hosts[host.index()].port;
            self.note_dropped(verdict, at, &packet);
            self.judged(verdict, at, &packet);
        }
    }

    /// A NIC dequeues the packet of the next endpoint that waits.
    fn dequeue(&mut self, host: HostIndex) {
        let Some(index) = self.network.next_waiting(host, self.clock.now()) else {
            return;
        };
        if let Some(endpoint) = self.flows.get(index)
            && let Some(slot) = endpoint.staged.take()
        {
            self.send(host, slot);
            self.pump(index);
        }
        self.network
            .enter_next_dequeue(host, self.clock.now(), &mut self.clock.events);
    }

    fn timer(&mut self, index: EndpointIndex) {
        let now = self.clock.now();
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        // An outdated event, or a deadline that has moved: `pump` enters the right one.
        if endpoint.wake > now {
            return;
        }
        endpoint.wake = Time::NEVER;
        if endpoint
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            endpoint.handle_timeout(now);
            if let Some(report) = endpoint.poll_timeout_report() {
                self.observer
                    .probe
                    .timed_out(index.flow(), index.side(), now, &report);
            }
        }
        self.pump(index);
    }

    // What came of it.

    /// Nothing more will happen: applications and events are freed.
    pub(crate) fn forget_what_is_to_come(&mut self) {
        self.apps.clear();
        self.clock.events = EventQueue::default();
    }

    /// The current instant.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// What has been counted so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The probe.
    pub fn probe(&self) -> &P {
        &self.observer.probe
    }

    /// Bytes that the lists of flows and of their living endpoints have room in, and take again when they grow.
    pub fn flow_room(&self) -> usize {
        self.flows.room()
    }

    /// The number of flows opened so far.
    pub fn flow_count(&self) -> usize {
        self.flows.accounts.len()
    }

    /// The accounts of a flow as they stand.
    pub fn flow(&self, flow: FlowIndex) -> FlowRecord {
        self.flows.record(flow, self.clock.now())
    }

    /// The hash of everything that happened at ports and endpoints, in the order of their indices.
    pub fn digest(&self) -> u64 {
        AllPartitions::new(std::slice::from_ref(self)).digest()
    }

    /// Asserts conservation at this instant.
    pub fn check_conservation(&self) {
        AllPartitions::new(std::slice::from_ref(self)).check_conservation();
    }
}

impl Totals {
    /// Counts a drop or a mark at a port.
    #[inline]
    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Admit => {}
            Verdict::Mark => self.marks += 1,
            Verdict::Drop(cause) => {
                self.drops += 1;
                self.failure_drops += u64::from(cause == DropCause::LinkDown);
            }
        }
    }
}
