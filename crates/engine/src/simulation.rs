//! The event loop: takes the first event, lets it happen, enters what follows from it.

mod applications;
mod coalescing;
mod conservation;
mod failures;
mod notification;
mod unattended;

use applications::AppSlot;
use incastle_queueing::{DropCause, Verdict};
use incastle_transport::tcp::Batch;
use incastle_units::{Bytes, Span, Time};

use crate::application::Action;
use crate::endpoint::ip_bytes;
use crate::event::{Event, Kind};
use crate::event_count::EventCounts;
use crate::event_queue::EventQueue;
use crate::flows::{FlowRecord, Flows, control_state};
use crate::network::Occupancy;
use crate::packet::{Body, Packet};
use crate::{
    AppIndex, Application, Digest, EndpointIndex, FlowIndex, HostIndex, Lost, Network, Node,
    Notice, PortIndex, Probe, SwitchIndex,
};

/// More events than this at one instant are a loop without delay.
const MOST_EVENTS_AT_ONE_INSTANT: u32 = 10_000_000;

/// How a call of [`Simulation::run`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing is left to happen until the given instant.
    Done,
    /// The budget of events is used up.
    Paused,
}

/// Why a simulation cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A loop without delay.
    #[error(
        "more than {MOST_EVENTS_AT_ONE_INSTANT} events at one instant ({} ps): \
         something answers itself without delay",
        at.as_ps()
    )]
    Standstill {
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
    /// Events taken from the queue.
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

/// Queue samples at an interval.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sampling {
    every: Span,
    ports: Vec<PortIndex>,
}

/// Samples of the memories of switches, each with its ports, at an interval.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemorySampling {
    every: Span,
    switches: Vec<(SwitchIndex, Vec<PortIndex>)>,
}

/// What becomes of a packet that a fair queue pushes out.
const PUSHED_OUT: Verdict = Verdict::Drop(DropCause::BufferFull);

/// What a probe event is for.
const SAMPLE: u32 = 0;
const MEASURE_FROM: u32 = 1;
const MEASURE_TO: u32 = 2;
const MEMORY: u32 = 3;

/// A network with flows, applications and a clock.
pub struct Simulation<P: Probe> {
    network: Network,
    flows: Flows,
    apps: Vec<AppSlot>,
    counts: EventCounts,
    /// The list of an application's actions while none is called; kept for its memory alone.
    actions: Vec<Action>,
    events: EventQueue,
    probe: P,
    sampling: Sampling,
    memory_sampling: MemorySampling,
    now: Time,
    at_this_instant: u32,
    totals: Totals,
}

impl<P: Probe> Simulation<P> {
    /// A network at rest at time zero, with a probe looking on.
    pub fn new(network: Network, probe: P) -> Self {
        let mut events = EventQueue::default();
        network.enter_changes(&mut events);
        Self {
            network,
            flows: Flows::default(),
            apps: Vec::new(),
            counts: EventCounts::default(),
            actions: Vec::new(),
            events,
            probe,
            sampling: Sampling::default(),
            memory_sampling: MemorySampling::default(),
            now: Time::ZERO,
            at_this_instant: 0,
            totals: Totals::default(),
        }
    }

    /// Adds an application, which is called first at its `poll_timeout`.
    pub fn add_application(&mut self, app: Box<dyn Application>) -> AppIndex {
        let index = AppIndex::from_index(self.apps.len());
        self.apps.push(AppSlot::new(app));
        self.arm_application(index);
        index
    }

    /// Samples the queues of `ports` every `every`, from the first multiple of it on.
    pub fn sample_queues(&mut self, ports: Vec<PortIndex>, every: Span) {
        assert!(
            every > Span::ZERO,
            "a sampling interval is longer than nothing"
        );
        self.sampling = Sampling { every, ports };
        self.enter(Event::new(self.now + every, Kind::Probe, SAMPLE));
    }

    /// Samples what `switches` store every `every`, from the first multiple of it on.
    pub fn sample_memories(&mut self, switches: &[SwitchIndex], every: Span) {
        assert!(
            every > Span::ZERO,
            "a sampling interval is longer than nothing"
        );
        let ports_of = |switch: SwitchIndex| {
            let own = |port: &PortIndex| self.network.ends(*port).0 == Node::Switch(switch);
            (switch, self.network.ports().filter(own).collect())
        };
        let switches = switches.iter().map(|&switch| ports_of(switch)).collect();
        self.memory_sampling = MemorySampling { every, switches };
        self.enter(Event::new(self.now + every, Kind::Probe, MEMORY));
    }

    /// Tells the probe when the measured interval begins and ends.
    pub fn measure_between(&mut self, from: Time, to: Time) {
        self.enter(Event::new(from, Kind::Probe, MEASURE_FROM));
        self.enter(Event::new(to, Kind::Probe, MEASURE_TO));
    }

    /// Lets everything happen until `until`, at most `budget` events of it.
    pub fn run(&mut self, until: Time, budget: u64) -> Result<Status, RunError> {
        for _ in 0..budget {
            let Some(event) = self.events.take(until) else {
                self.now = self.now.max(until);
                self.catch_up_all(self.now);
                return Ok(Status::Done);
            };
            self.count(event.at)?;
            self.happen(event);
        }
        Ok(Status::Paused)
    }

    fn count(&mut self, at: Time) -> Result<(), RunError> {
        assert!(at >= self.now, "time never runs back");
        self.totals.events += 1;
        if at > self.now {
            self.now = at;
            self.at_this_instant = 0;
            return Ok(());
        }
        self.at_this_instant += 1;
        if self.at_this_instant > MOST_EVENTS_AT_ONE_INSTANT {
            return Err(RunError::Standstill { at });
        }
        Ok(())
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
        match event.kind() {
            Kind::Arrival => unreachable!("arrivals are dealt with"),
            Kind::Departure => {
                let context = (&mut self.events, &mut self.probe);
                self.network
                    .depart(PortIndex(event.source()), self.now, context);
            }
            Kind::Control => self.control(event.source()),
            Kind::Pull => self.pull(HostIndex(event.source())),
            Kind::Timer => self.timer(EndpointIndex(event.source())),
            Kind::Batch => self.batch_is_due(EndpointIndex(event.source())),
            Kind::Application => self.application(AppIndex(event.source())),
            Kind::Probe => self.look(event.source()),
        }
    }

    fn enter(&mut self, event: Event) {
        self.events.push(event);
    }

    // A packet's life, rooms 4 to 7.

    fn arrive(&mut self, at: PortIndex) {
        let port = &mut self.network.ports[at.index()];
        let (packet, next) = port.arrive(self.now, &mut self.probe);
        let to = port.to;
        if let Some(next) = next {
            self.events.push(Event::new(next, Kind::Arrival, at.0));
        }
        self.totals.packet_hops += 1;
        match to {
            Node::Switch(switch) => {
                let out = self.network.routes.port(switch, &packet, self.now);
                let Some(port) = self.network.ports.get(out.index()) else {
                    return self.no_way(out, &packet);
                };
                if port.is_special() {
                    self.enter_special(out, &packet);
                    return;
                }
                let context = (&mut self.events, &mut self.probe);
                let times = (self.now, self.now);
                let verdict = self.network.offer(out, times, &packet, context);
                if verdict != Verdict::Admit {
                    self.judged(verdict, out, &packet);
                }
            }
            Node::Host(host) => self.deliver(host, &packet),
        }
    }

    /// A packet enters a port that a congestion point watches, or where a fair queue makes room.
    #[inline(never)]
    fn enter_special(&mut self, at: PortIndex, packet: &Packet) {
        let now = self.now;
        self.sample(at, packet);
        self.network.ports[at.index()].make_room(now, packet);
        while let Some(packet) = self.network.take_pushed_out(at) {
            self.judged(PUSHED_OUT, at, &packet);
        }
        let context = (&mut self.events, &mut self.probe);
        let verdict = self.network.offer(at, (now, now), packet, context);
        self.judged(verdict, at, packet);
    }

    fn deliver(&mut self, host: HostIndex, packet: &Packet) {
        if let Body::Cnm { psi } = packet.body {
            self.notified(host, packet, psi);
            return;
        }
        let payload = packet.payload();
        self.totals.data_packets += u64::from(payload > 0);
        let ip_bytes = Bytes::new(u64::from(ip_bytes(packet)));
        let payload = Bytes::new(u64::from(payload));
        self.probe.received(host, self.now, ip_bytes, payload);
        if self.network.hosts[host.index()].coalescing.is_some() {
            self.coalesce(host, packet);
            return;
        }
        let Some(endpoint) = self.flows.get(packet.to) else {
            self.stray(packet);
            return;
        };
        if endpoint.unattended {
            self.deliver_unattended(packet);
            return;
        }
        let before = endpoint.delivered();
        endpoint.receive(self.now, packet, &mut self.network.extras, Batch::Last);
        self.after_receive(packet.to, before);
    }

    /// A packet for a flow that is over.
    fn stray(&mut self, packet: &Packet) {
        self.flows.records[packet.to.flow().index()].stray += 1;
        packet.forget_extra(&mut self.network.extras);
    }

    /// Tells probe and application what an endpoint has received, and lets it send.
    #[inline]
    fn after_receive(&mut self, index: EndpointIndex, before: u64) {
        let endpoint = self
            .flows
            .get(index)
            .expect("the endpoint has just received");
        let delivered = endpoint.delivered();
        if delivered > before {
            let (host, app) = (endpoint.host, endpoint.app);
            let bytes = Bytes::new(delivered - before);
            self.probe.delivered(index.flow(), host, self.now, bytes);
            if delivered >= endpoint.expect {
                endpoint.expect = u64::MAX;
                self.notify(app, Notice::Delivered(index));
            }
        }
        self.pump(index);
    }

    /// Lets an endpoint send what it may, straight onto the wire where the adapter lets it, and enters
    /// its next deadline.
    #[inline]
    fn pump(&mut self, index: EndpointIndex) {
        let now = self.now;
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.is_limited() {
            self.pump_limited(index);
            return;
        }
        let mut open = true;
        while open && endpoint.staged.is_none() && !endpoint.is_quiet(now) {
            let host = endpoint.host;
            let sent = self
                .network
                .send_in_place(host, now, &mut self.events, |packet, extras| {
                    endpoint.poll_transmit(now, extras, packet)
                });
            match sent {
                Some(true) => {}
                Some(false) => break,
                None => open = false,
            }
        }
        if !open {
            self.send_by_turns(index);
        }
        self.look_after(index);
    }

    /// Offers an endpoint's packets to the adapter until there are none, or one has to wait.
    #[cold]
    fn send_by_turns(&mut self, index: EndpointIndex) {
        let now = self.now;
        let Some((endpoint, record)) = self.flows.get_with_record(index) else {
            return;
        };
        let host = endpoint.host;
        let mut packet = Packet::EMPTY;
        while endpoint.poll_transmit(now, &mut self.network.extras, &mut packet) {
            if let Some(at) = self.network.adapter_busy(host, now) {
                endpoint.stage(packet);
                self.network.wait(host, index, at, &mut self.events);
                return;
            }
            let context = (&mut self.events, &mut self.probe);
            let verdict = self.network.send(host, now, &packet, context);
            if verdict != Verdict::Admit {
                let place = (self.network.hosts[host.index()].port, now);
                let books = (&mut *record, &mut self.totals, &mut self.probe);
                account(verdict, &packet, place, books);
            }
        }
    }

    /// What follows when an endpoint has sent: the probe's look, its deadline, its news.
    #[inline(always)]
    fn look_after(&mut self, index: EndpointIndex) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.watched
            && let Some((state, rtt)) = control_state(endpoint)
        {
            self.probe.control(index.flow(), self.now, &state, rtt);
        }
        if let Some(deadline) = endpoint.poll_timeout()
            && deadline < endpoint.wake
        {
            endpoint.wake = deadline;
            let at = deadline.max(self.now);
            self.events.push(Event::new(at, Kind::Timer, index.0));
        }
        let unattended = endpoint.unattended;
        if endpoint.poll_finished() {
            let app = endpoint.app;
            self.notify(app, Notice::Finished(index));
        }
        if unattended {
            self.look_for_application(index);
        }
    }

    /// An adapter takes the packet of the endpoint whose turn it is.
    fn pull(&mut self, host: HostIndex) {
        let Some(index) = self.network.next_turn(host, self.now) else {
            return;
        };
        self.catch_up_if_unattended(index);
        if let Some((endpoint, record)) = self.flows.get_with_record(index)
            && let Some(packet) = endpoint.staged.take()
        {
            let context = (&mut self.events, &mut self.probe);
            let verdict = self.network.send(host, self.now, &packet, context);
            if verdict != Verdict::Admit {
                let place = (self.network.hosts[host.index()].port, self.now);
                let books = (record, &mut self.totals, &mut self.probe);
                account(verdict, &packet, place, books);
            }
            self.pump(index);
        }
        self.network.pull_again(host, self.now, &mut self.events);
    }

    fn timer(&mut self, index: EndpointIndex) {
        let now = self.now;
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        // An outdated event, or a deadline that has moved: `pump` enters the right one.
        if endpoint.wake > now {
            return;
        }
        endpoint.wake = Time::NEVER;
        if endpoint.unattended {
            self.catch_up(index, now);
        }
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            endpoint.handle_timeout(now);
            if let Some(report) = endpoint.poll_timeout_report() {
                self.probe
                    .timed_out(index.flow(), index.side(), now, &report);
            }
        }
        self.pump(index);
    }

    // Probes.

    fn look(&mut self, what: u32) {
        let now = self.now;
        if what == SAMPLE {
            for &port in &self.sampling.ports {
                let backlog = self.network.backlog(port, now, &mut self.probe);
                let bytes = Bytes::new(backlog.waiting_bytes);
                self.probe
                    .sampled(port, now, backlog.waiting_packets, bytes);
            }
            let at = now + self.sampling.every;
            self.enter(Event::new(at, Kind::Probe, SAMPLE));
            return;
        }
        if what == MEMORY {
            self.look_at_memories();
            let at = now + self.memory_sampling.every;
            self.enter(Event::new(at, Kind::Probe, MEMORY));
            return;
        }
        self.settle();
        self.probe.measuring(now, what == MEASURE_FROM);
    }

    fn look_at_memories(&mut self) {
        let now = self.now;
        for (switch, ports) in &self.memory_sampling.switches {
            let (network, probe) = (&mut self.network, &mut self.probe);
            let Occupancy { all, of_ports } = network.occupancy(*switch, ports, now, probe);
            probe.memory_sampled(now, (*switch, None), all.0, all.1);
            for (port, stored, limit) in of_ports {
                probe.memory_sampled(now, (*switch, Some(port)), stored, limit);
            }
        }
    }

    /// Lets every port tell the probe of its departures until now.
    fn settle(&mut self) {
        for port in self.network.ports() {
            self.network.backlog(port, self.now, &mut self.probe);
        }
    }

    // What came of it.

    /// The current instant.
    pub fn now(&self) -> Time {
        self.now
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
        &self.probe
    }

    /// The number of flows opened so far.
    pub fn flow_count(&self) -> usize {
        self.flows.records.len()
    }

    /// The books of a flow as they stand.
    pub fn flow(&self, flow: FlowIndex) -> FlowRecord {
        self.flows.record(flow, self.now)
    }

    /// The hash of everything that happened at ports and endpoints, in the order of their indices.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        self.network.digest(&mut digest);
        for flow in (0..self.flow_count()).map(FlowIndex::from_index) {
            let [near, far] = self.flows.record(flow, self.now).digest;
            digest.mix(near, far);
        }
        digest.value()
    }

    /// Ends the run: the probe is told what the ports still owe it, and handed back with the network
    /// and the books of all flows.
    pub fn finish(mut self) -> (Network, P, Vec<FlowRecord>) {
        self.settle();
        self.check_conservation();
        (self.network, self.probe, self.flows.into_records(self.now))
    }
}

/// Enters a drop or a mark at a port into the books, and tells the probe of a drop.
#[inline]
fn account<P: Probe>(
    verdict: Verdict,
    packet: &Packet,
    (port, at): (PortIndex, Time),
    (record, totals, probe): (&mut FlowRecord, &mut Totals, &mut P),
) {
    match verdict {
        Verdict::Admit => {}
        Verdict::Mark => {
            totals.marks += 1;
            record.marked += 1;
        }
        Verdict::Drop(cause) => {
            totals.drops += 1;
            totals.failure_drops += u64::from(cause == DropCause::LinkDown);
            record.dropped += 1;
            if let Some(lost) = Lost::of(packet) {
                probe.dropped(port, at, &lost);
            }
        }
    }
}
