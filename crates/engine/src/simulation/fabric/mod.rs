//! The fabric: packets on their path through ports, links and switches.
//!
//! It owns the network, the clock, the probe and the counters, and calls nothing above it. A packet that has
//! reached its host is returned; a dropped datagram is kept until the stack takes it.

mod crossing;
mod failures;
mod notification;
mod tracing;

use incastle_queueing::{DropCause, Verdict};
use incastle_units::Bytes;

use self::crossing::update_arrival;
use super::totals::Totals;
use crate::core::{Clock, Event, HostIndex, Kind, Node, PortIndex, SwitchIndex};
use crate::flow::{FlowAccount, LostDatagram};
use crate::layout::Slot;
use crate::network::{
    Arenas, Body, Departed, FastPath, Judged, Network, Offer, Onward, Packet, enter,
};
use crate::parallel::LogicalProcess;
use crate::probe::Probe;

/// The verdict on a packet that a fair queue pushes out.
const PUSHED_OUT: Verdict = Verdict::Drop(DropCause::BufferFull);

/// Network, clock and probe, with the counters of packets.
pub(crate) struct Fabric<P: Probe> {
    pub(crate) network: Network,
    pub(super) clock: Clock,
    pub(crate) probe: P,
    pub(super) totals: Totals,
    /// By flow.
    pub(super) accounts: Vec<FlowAccount>,
    /// Dropped datagrams that the endpoints' side has not taken yet.
    pub(super) lost_datagrams: Vec<LostDatagram>,
    /// Whether any flow is recorded.
    recording: bool,
    /// The state of one partition, if it simulates only that part of the network.
    pub(super) process: Option<Box<LogicalProcess>>,
}

/// A packet that has left its link.
pub(super) struct Arrival {
    pub(super) slot: Slot,
    pub(super) to: Node,
    pub(super) cached_next_hop: PortIndex,
}

/// The path by which a packet took its egress port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// Admitted on the fast path.
    Fast,
    /// On the slow path, where packets may be dropped.
    Slow,
}

impl<P: Probe> Fabric<P> {
    /// A network at rest at time zero.
    pub(super) fn new(network: Network, probe: P) -> Self {
        let mut clock = Clock::default();
        clock.set_order(network.order);
        network.enter_changes(&mut clock.events);
        Self {
            network,
            clock,
            probe,
            totals: Totals::default(),
            accounts: Vec::new(),
            lost_datagrams: Vec::new(),
            recording: false,
            process: None,
        }
    }

    /// The first packet on a link arrives.
    #[inline(always)]
    pub(super) fn arrive(&mut self, at: PortIndex) -> Arrival {
        let network = &mut self.network;
        let port = &mut network.ports[at.index()];
        let (pool, extras) = (&mut network.pool, &mut network.extras);
        let arrived = port.arrive(self.clock.now(), Arenas { pool, extras }, &mut self.probe);
        let to = port.to;
        let cached_next_hop = std::mem::replace(&mut port.cached_next_hop, PortIndex::NONE);
        if let Some(next) = arrived.next {
            self.clock
                .events
                .push(Event::new(next, Kind::Arrival, at.0));
        }
        self.totals.events += 1;
        self.totals.packet_hops += 1;
        Arrival {
            slot: arrived.slot,
            to,
            cached_next_hop,
        }
    }

    /// As [`Self::arrive`], where departures have no events: the packet has left its port, and the next one may be on the
    /// link.
    pub(super) fn arrive_late(&mut self, at: PortIndex) -> Arrival {
        self.network.settle(at, self.clock.now(), &mut self.probe);
        if let Some(arrival) = self.network.ports[at.index()].announce_behind() {
            let arrival = Event::new(arrival, Kind::Arrival, at.0);
            self.clock.events.push(arrival);
        }
        self.count_judged(at);
        self.arrive(at)
    }

    /// Lets packets gather telemetry at all switches from now on.
    pub(super) fn gather_telemetry(&mut self) {
        if self.network.telemetry {
            return;
        }
        // Other partitions may not have the flow.
        assert!(
            self.process.is_none(),
            "a network in partitions gathers telemetry from the beginning"
        );
        self.network.gather_telemetry();
    }

    /// A port with departure events has sent a packet.
    pub(super) fn depart(&mut self, at: PortIndex) {
        let now = self.clock.now();
        let added = self.network.ports[at.index()].adds_departures();
        self.network.added_departures += u64::from(added);
        let departed = self.network.depart(at, now, &mut self.probe);
        let (events, probe) = (&mut self.clock.events, &mut self.probe);
        self.network.send_pauses(at, now, events, probe);
        let Some(Departed { onward, mut wakes }) = departed else {
            return;
        };
        self.count_judged(at);
        let (slot, arrives, overtaken) = match onward {
            Onward::OnLink {
                slot,
                arrives,
                overtaken,
            } => (slot, arrives, overtaken),
            Onward::Lost(slot, cause) => {
                enter(&mut self.clock.events, at, wakes);
                let packet = self.network.pool.take(slot);
                return self.lose_on_wire(at, cause, &packet);
            }
        };
        if self.network.ports[at.index()].is_cut() {
            self.post(at, slot, arrives);
            wakes.arrival = None;
            // A port may send nothing but pause frames, which are not offered to it.
            self.remove_arrived(at);
        } else if overtaken.is_some() {
            update_arrival(&mut self.clock.events, at, overtaken, None);
        }
        enter(&mut self.clock.events, at, wakes);
    }

    /// A switch forwards a packet.
    #[inline(always)]
    pub(super) fn forward(
        &mut self,
        from: PortIndex,
        switch: SwitchIndex,
        slot: Slot,
        cached_next_hop: PortIndex,
    ) -> Passage {
        let network = &mut self.network;
        let out = if cached_next_hop == PortIndex::NONE {
            let to = network.pool.at(slot).packet.destination();
            network.routes.port(switch, to, self.clock.now())
        } else {
            cached_next_hop
        };
        let Some(port) = network.ports.get_mut(out.index()) else {
            self.leave_routes(from, out, slot);
            return Passage::Slow;
        };
        let (pool, extras) = (&mut network.pool, &mut network.extras);
        let (arenas, now) = (Arenas { pool, extras }, self.clock.now());
        match port.pass(now, slot, arenas, &mut self.probe) {
            FastPath::First(at) => self.clock.events.push(Event::new(at, Kind::Arrival, out.0)),
            FastPath::Behind => {}
            FastPath::Closed => {
                self.forward_slowly(from, switch, out, slot);
                return Passage::Slow;
            }
        }
        Passage::Fast
    }

    /// A packet goes no further: there is no path, or it is a pause frame for the switch that it has reached.
    #[cold]
    fn leave_routes(&mut self, from: PortIndex, out: PortIndex, slot: Slot) {
        let packet = self.network.pool.take(slot);
        let Body::Pause(frame) = packet.body else {
            return self.drop_unreachable(out, &packet);
        };
        let now = self.clock.now();
        let (events, probe) = (&mut self.clock.events, &mut self.probe);
        self.network.paused_by(from, frame, now, events, probe);
    }

    /// A switch forwards a packet by a port that has no fast path for it.
    #[inline(never)]
    fn forward_slowly(&mut self, from: PortIndex, switch: SwitchIndex, out: PortIndex, slot: Slot) {
        let (network, now) = (&mut self.network, self.clock.now());
        let port = &mut network.ports[out.index()];
        if let Some(wakes) = port.pass_marked(now, slot, &mut network.pool, &mut self.probe) {
            let flow = network.pool.at(slot).packet.to.flow();
            self.totals.count(Verdict::Mark);
            self.accounts[flow.index()].marked += 1;
            return enter(&mut self.clock.events, out, wakes);
        }
        if port.is_special() {
            let mut packet = network.pool.take(slot);
            packet.set_ingress(Network::reverse(from));
            return self.enter_special(out, &packet);
        }
        if network.ports[out.index()].has_priorities() {
            let packet = &mut network.pool.at_mut(slot).packet;
            packet.set_ingress(Network::reverse(from));
        }
        let probe = &mut self.probe;
        let offer = Offer::at(now, slot);
        let verdict = if let Some(passed) = network.pass_late(switch, out, offer, probe) {
            enter(&mut self.clock.events, out, passed.wakes);
            passed.verdict
        } else {
            network.offer(out, offer, &mut self.clock.events, probe)
        };
        if verdict != Verdict::Admit {
            let packet = match verdict {
                Verdict::Drop(_) => network.discard(slot),
                Verdict::Admit | Verdict::Mark => network.pool.at(slot).packet,
            };
            self.judged(verdict, out, &packet);
        }
        self.count_judged(out);
    }

    /// A packet enters a special port: one with a congestion point, with departure events, with a fair queue, one that
    /// leads into another partition, or any while flows are recorded.
    #[inline(never)]
    fn enter_special(&mut self, at: PortIndex, packet: &Packet) {
        let now = self.clock.now();
        self.sample(at, packet);
        self.network.ports[at.index()].make_room(now, packet);
        while let Some(packet) = self.network.take_pushed_out(at) {
            self.trace_dropped(PUSHED_OUT, at, &packet);
            self.judged(PUSHED_OUT, at, &packet);
        }
        let arriving = self.trace_arriving(at, packet);
        let verdict = if self.network.ports[at.index()].is_cut() {
            self.offer_across(at, packet)
        } else {
            let offer = Offer::at(now, self.network.pool.put(*packet));
            let probe = &mut self.probe;
            self.network
                .offer_or_discard(at, offer, &mut self.clock.events, probe)
        };
        self.trace_judged(arriving.as_ref(), verdict, at, packet);
        self.judged(verdict, at, packet);
        self.count_judged(at);
    }

    /// Counts the packets that a port has judged when they were taken out of their queue.
    #[inline(always)]
    fn count_judged(&mut self, at: PortIndex) {
        if self.network.ports[at.index()].has_judged() {
            self.count_all_judged(at);
        }
    }

    #[inline(never)]
    fn count_all_judged(&mut self, at: PortIndex) {
        while let Some(Judged { verdict, packet }) = self.network.take_judged(at, self.clock.now())
        {
            if matches!(verdict, Verdict::Drop(_)) {
                self.trace_dropped(verdict, at, &packet);
            }
            self.judged(verdict, at, &packet);
        }
    }

    /// Sends a host's packet on the slow path and counts its verdict.
    pub(super) fn send(&mut self, host: HostIndex, slot: Slot) {
        let now = self.clock.now();
        let (events, probe) = (&mut self.clock.events, &mut self.probe);
        let sent = self.network.send(host, Offer::at(now, slot), events, probe);
        if let Some(Judged { verdict, packet }) = sent {
            let at = self.network.hosts[host.index()].port;
            self.trace_dropped(verdict, at, &packet);
            self.judged(verdict, at, &packet);
        }
    }

    /// Counts the verdict of a port on a packet.
    #[inline(always)]
    fn judged(&mut self, verdict: Verdict, at: PortIndex, packet: &Packet) {
        if packet.is_pause() {
            return;
        }
        if packet.is_cnm() {
            self.totals.cnms_dropped += u64::from(matches!(verdict, Verdict::Drop(_)));
            return;
        }
        self.totals.count(verdict);
        let account = &mut self.accounts[packet.to.flow().index()];
        match verdict {
            Verdict::Admit => {}
            Verdict::Mark => account.marked += 1,
            Verdict::Drop(_) => {
                account.dropped += 1;
                if let Some(lost) = packet.lost() {
                    self.probe.dropped(at, self.clock.now(), &lost);
                }
                self.keep_lost(packet);
            }
        }
    }

    /// Keeps a dropped datagram for the endpoints' side: it will not be sent again.
    #[cold]
    fn keep_lost(&mut self, packet: &Packet) {
        if matches!(packet.body, Body::Datagram(_)) {
            self.lost_datagrams.push(LostDatagram {
                to: packet.to,
                payload: u64::from(packet.payload()),
            });
        }
    }

    /// Counts a packet that has reached a host, and reports it to the probe.
    #[inline(always)]
    pub(super) fn received(&mut self, host: HostIndex, ip_bytes: u16, payload: u16) {
        self.totals.data_packets += u64::from(payload > 0);
        let bytes = |count| Bytes::new(u64::from(count));
        self.probe
            .received(host, self.clock.now(), bytes(ip_bytes), bytes(payload));
    }

    /// Counts a packet for a released flow.
    pub(super) fn stray(&mut self, packet: &Packet) {
        self.accounts[packet.to.flow().index()].stray += 1;
        packet.forget_extra(&mut self.network.extras);
    }

    /// Lets every port report its departures until now to the probe.
    pub(super) fn settle(&mut self) {
        for port in self.network.ports() {
            self.network
                .backlog(port, self.clock.now(), &mut self.probe);
            self.count_judged(port);
        }
    }
}
