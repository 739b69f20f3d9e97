//! Packets in switches with priorities: admission, the begin and the end of their sending, and the pause frames that
//! follow.
//!
//! A pause frame is a packet for the node at the other end of a link, which no route has. Source: IEEE 802.1Qbb; the order
//! of steps is that of HPCC's simulator (switch-node.cc). Leaves out: the accounting (incastle-queueing).

use incastle_queueing::{Passage, PauseDue, PauseTransition, PrioritySet};
use incastle_units::{Ecn, Time};

use super::port::{Offer, Offered, Sent};
use super::{Body, Marks, Network, Packet, PauseFrame, enter};
use crate::core::{EndpointIndex, EventQueue, HostIndex, Node, PortIndex, SwitchIndex};
use crate::probe::Probe;

/// The quanta of a pause until further notice.
const MAX_QUANTA: u16 = u16::MAX;

impl Network {
    /// The port of the other direction of a link.
    pub(crate) const fn reverse(port: PortIndex) -> PortIndex {
        // Both are added together.
        PortIndex(port.0 ^ 1)
    }

    fn passage(&self, at: PortIndex, packet: &Packet) -> Passage {
        Passage {
            ingress: self.numbers[packet.ingress().index()] as usize,
            egress: self.numbers[at.index()] as usize,
            priority: packet.priority(),
            size: packet.size(),
        }
    }

    /// Offers a packet to a port of a switch with priorities.
    #[cold]
    pub(super) fn take_in_by_priority<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        offer: Offer,
        probe: &mut P,
    ) -> Offered {
        let packet = self.pool.at(offer.slot).packet;
        let passage = self.passage(at, &packet);
        let lossless = self.switches[switch.index()].lossless.as_mut();
        let admission = lossless.map_or(Ok(()), |lossless| lossless.admit(&passage));
        let port = &mut self.ports[at.index()];
        let mut offered = port.offer_by_priority(offer, admission, &mut self.pool, probe);
        self.begin_by_priority(switch, at, offer.now, &mut offered.wakes.departure);
        offered
    }

    /// After the sending of a packet may have begun, which then has a departure.
    fn begin_by_priority(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        now: Time,
        departure: &mut Option<Time>,
    ) {
        let port = &mut self.ports[at.index()];
        let Some(begun) = port.begin_by_priority(now, &mut self.extras) else {
            return;
        };
        let departs = departure.as_mut().expect("a packet being sent departs");
        port.set_arrival(*departs, &mut self.turns);
        *departs = self.turns.next(*departs);
        if begun.packet.is_pause() {
            return;
        }
        let passage = self.passage(at, &begun.packet);
        if let Some(lossless) = &mut self.switches[switch.index()].lossless {
            lossless.begin(&passage);
        }
    }

    /// A packet has left a port of a switch, and the sending of the next may have begun.
    pub(super) fn end_by_priority(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        now: Time,
        sent: &mut Sent,
    ) {
        if self.switches[switch.index()].lossless.is_none() {
            return;
        }
        if !sent.packet.is_pause() {
            let passage = self.passage(at, &sent.packet);
            if let Some(lossless) = &mut self.switches[switch.index()].lossless {
                lossless.end(&passage);
            }
        }
        self.begin_by_priority(switch, at, now, &mut sent.next);
    }

    /// Sends the pause frames that are due at the switch of a port.
    #[inline]
    pub(crate) fn send_pauses<P: Probe>(
        &mut self,
        at: PortIndex,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        if let Node::Switch(switch) = self.owners[at.index()]
            && let Some(lossless) = &self.switches[switch.index()].lossless
            && lossless.has_due()
        {
            self.send_pauses_of(switch, now, events, probe);
        }
    }

    #[cold]
    fn send_pauses_of<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        // Frames that begin at once release nothing, and make no others due.
        let Some(lossless) = &mut self.switches[switch.index()].lossless else {
            return;
        };
        let size = lossless.frame();
        for due in lossless.take_due() {
            self.send_pause(switch, due, size, now, events, probe);
        }
    }

    fn send_pause<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        due: PauseDue,
        size: u16,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        let at = self.ports_of[switch.index()][due.port];
        let quanta = match due.transition {
            PauseTransition::Pause => MAX_QUANTA,
            PauseTransition::Resume => 0,
        };
        let frame = PauseFrame {
            priority: due.priority,
            quanta,
        };
        let slot = self.pool.put(Packet {
            body: Body::Pause(frame),
            to: EndpointIndex(u32::MAX),
            host: HostIndex(u32::MAX),
            size,
            marks: Marks::of(Ecn::NotEct),
            ..Packet::EMPTY
        });
        let port = &mut self.ports[at.index()];
        let offer = Offer::at(now, slot);
        let Offered { mut wakes, .. } =
            port.offer_by_priority(offer, Ok(()), &mut self.pool, probe);
        self.begin_by_priority(switch, at, now, &mut wakes.departure);
        enter(events, at, wakes);
    }

    /// A pause frame has reached a switch over a link: the port of the other direction pauses, or goes on.
    pub(crate) fn paused_by<P: Probe>(
        &mut self,
        from: PortIndex,
        frame: PauseFrame,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        let at = Self::reverse(from);
        let Node::Switch(switch) = self.owners[at.index()] else {
            unreachable!("the frame has reached a switch")
        };
        let port = &mut self.ports[at.index()];
        if !port.has_priorities() {
            return;
        }
        let priorities = PrioritySet::only(frame.priority);
        let mut wakes = port.set_paused(priorities, frame.quanta > 0, now, probe);
        self.begin_by_priority(switch, at, now, &mut wakes.departure);
        enter(events, at, wakes);
        self.send_pauses(at, now, events, probe);
    }
}
