//! Departures without events, at switches with priorities in which nothing is paused.
//!
//! A departure changes its port and the accounts of its switch. While no account has a pause to end, nothing else depends
//! on its instant: it is processed late, when the port takes a packet, when its packet arrives at the other end of the
//! link, or when accounts have to be exact. An account with packets that have left is too full; a packet that it takes
//! calmly all the same (`PriorityMemory::admit_calmly`) is taken by the exact one. Results are those of departures with
//! events (tests/it/random_fabrics.rs). Leaves out: ports whose departures others follow at once: captured ones, those
//! that lead into another partition, and networks whose links fail, lose packets or change their rates.

use incastle_queueing::Passage;
use incastle_units::Time;

use super::{Arenas, Network, Offer, Offered};
use crate::core::{Event, EventQueue, Kind, Node, Order, PortIndex, SwitchIndex};
use crate::probe::Probe;

impl Network {
    /// Begins as late as the network allows.
    pub(super) fn begin_late(&mut self) {
        let allowed = self.order == Order::ByKind
            && self.failures.is_empty()
            && self.wires.is_empty()
            && self.schedules.is_empty();
        for switch in (0..self.switches.len()).map(SwitchIndex::from_index) {
            if let Some(pausing) = &mut self.switches[switch.index()].lossless {
                pausing.may_be_late = allowed && pausing.lossless.may_release_late();
                pausing.late = pausing.wants_lateness();
                if pausing.late {
                    self.begin_lateness(switch);
                }
            }
        }
    }

    /// Offers a packet to a port whose departures have no events. Nothing where its switch has to be exact.
    #[inline(always)]
    pub(crate) fn pass_late<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        offer: Offer,
        probe: &mut P,
    ) -> Option<Offered> {
        let Self {
            ports,
            switches,
            numbers,
            late_departures,
            pool,
            extras,
            ..
        } = self;
        let port = &mut ports[at.index()];
        if !port.late {
            return None;
        }
        let lossless = &mut switches[switch.index()].lossless.as_deref_mut()?.lossless;
        *late_departures += port.settle(offer.now, lossless, Arenas { pool, extras }, probe);
        let packet = &pool.at(offer.slot).packet;
        let passage = Passage {
            ingress: numbers[packet.ingress().index()] as usize,
            egress: numbers[at.index()] as usize,
            priority: packet.priority(),
            size: packet.size(),
        };
        if !lossless.admit_calmly(&passage) {
            return None;
        }
        let Offered { verdict, wakes } =
            port.offer_by_priority(offer, Ok(()), passage.ingress as u32, pool, probe);
        if wakes.departure.is_some() {
            port.begin_by_priority(offer.now, Arenas { pool, extras });
        }
        Some(Offered {
            verdict,
            wakes: port.wake(wakes.departure),
        })
    }

    /// Processes the departures from a port until `now`, where they have no events.
    #[inline(never)]
    pub(crate) fn settle<P: Probe>(&mut self, at: PortIndex, now: Time, probe: &mut P) {
        let port = &self.ports[at.index()];
        if port.late
            && port.departs_by(now).is_some()
            && let Node::Switch(switch) = self.owners[at.index()]
            && let Some(pausing) = &mut self.switches[switch.index()].lossless
        {
            let (pool, extras) = (&mut self.pool, &mut self.extras);
            let arenas = Arenas { pool, extras };
            let port = &mut self.ports[at.index()];
            self.late_departures += port.settle(now, &mut pausing.lossless, arenas, probe);
        }
    }

    /// Processes the departures from all ports of a switch.
    #[inline(never)]
    pub(super) fn settle_switch<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        now: Time,
        probe: &mut P,
    ) {
        for number in 0..self.ports_of[switch.index()].len() {
            let at = self.ports_of[switch.index()][number];
            self.settle(at, now, probe);
        }
    }

    /// Processes the departures from all ports, so that all accounts are exact.
    pub(super) fn settle_all<P: Probe>(&mut self, now: Time, probe: &mut P) {
        for at in self.ports() {
            self.settle(at, now, probe);
        }
    }

    /// Departures from the ports of a switch have events from now on where it has paused a peer, and none where it pauses
    /// nobody.
    pub(super) fn update_lateness<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        let Some(pausing) = &mut self.switches[switch.index()].lossless else {
            return;
        };
        let late = pausing.wants_lateness();
        if std::mem::replace(&mut pausing.late, late) == late {
            return;
        }
        if late {
            return self.begin_lateness(switch);
        }
        self.settle_switch(switch, now, probe);
        for at in &self.ports_of[switch.index()] {
            let port = &mut self.ports[at.index()];
            if port.late
                && let Some(departs) = port.end_lateness()
            {
                events.push(Event::new(departs, Kind::Departure, at.0));
            }
        }
    }

    fn begin_lateness(&mut self, switch: SwitchIndex) {
        for at in &self.ports_of[switch.index()] {
            let port = &mut self.ports[at.index()];
            port.late = port.may_be_late();
        }
    }

    /// The same for one port whose peer has paused or resumed it; returns the departure that has to be entered.
    pub(super) fn follow_pauses_of(&mut self, at: PortIndex) -> Option<Time> {
        let Node::Switch(switch) = self.owners[at.index()] else {
            return None;
        };
        let pausing = self.switches[switch.index()].lossless.as_ref();
        let port = &mut self.ports[at.index()];
        let late = pausing.is_some_and(|pausing| pausing.late) && port.may_be_late();
        if port.late && !late {
            return port.end_lateness();
        }
        port.late = late;
        None
    }
}
