//! Packets in switches with priorities: admission, the begin and the end of their sending, and the pause frames that
//! follow.
//!
//! Source: IEEE 802.1Qbb; the order of steps is that of HPCC's simulator (switch-node.cc). Leaves out: the accounting
//! (incastle-queueing).

use incastle_queueing::{DropCause, Lossless, Passage, PauseDue, PauseFrame, PauseMode};
use incastle_units::{Bytes, Time};

use super::port::{NO_ACCOUNT, Offer, Offered, PauseEvent, Sent};
use super::{Arenas, Network, Packet, enter};
use crate::core::{Event, EventQueue, Kind, Node, PortIndex, SwitchIndex};
use crate::probe::Probe;

/// The memory of a switch with priorities, and its entered refresh of pauses.
pub(crate) struct Pausing {
    pub(super) lossless: Lossless,
    refresh: Option<Time>,
    /// Whether departures from its ports need no events while nothing is paused (`late`).
    pub(super) may_be_late: bool,
    pub(super) late: bool,
}

impl Pausing {
    pub(crate) const fn new(lossless: Lossless) -> Self {
        Self {
            lossless,
            refresh: None,
            may_be_late: false,
            late: false,
        }
    }

    /// Whether departures from its ports need no events at present.
    pub(super) fn wants_lateness(&self) -> bool {
        self.may_be_late && self.lossless.is_calm()
    }

    /// The next refresh, unless an earlier one is entered. At the instant of that one it is entered no more.
    fn next_refresh(&mut self, now: Time) -> Option<Time> {
        self.refresh.take_if(|refresh| *refresh <= now);
        let next = self.lossless.poll_timeout()?;
        if self.refresh.is_some_and(|entered| entered <= next) {
            return None;
        }
        self.refresh = Some(next);
        Some(next)
    }
}

/// The timers of pauses, as sources of control events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PauseTimer {
    /// A switch refreshes pauses.
    Refresh(SwitchIndex),
    /// A pause of a port ends, or a storm begins or ends.
    Expiry(PortIndex),
    /// Deadlocks are looked for.
    Check,
    /// A NIC sends a pause frame without a cause.
    Storm(u32),
}

impl PauseTimer {
    const REFRESH: u32 = 1 << 31;
    const EXPIRY: u32 = 1 << 30;
    const CHECK: u32 = 1 << 29;
    const STORM: u32 = 1 << 28;

    /// The source of its events: above all ports.
    const fn source(self) -> u32 {
        match self {
            Self::Refresh(switch) => Self::REFRESH | switch.0,
            Self::Expiry(port) => Self::EXPIRY | port.0,
            Self::Check => Self::CHECK,
            Self::Storm(storm) => Self::STORM | storm,
        }
    }

    /// Enters its event.
    pub(super) fn enter(self, at: Time, events: &mut EventQueue) {
        events.push(Event::new(at, Kind::Control, self.source()));
    }

    /// The timer of a control event, if it is one.
    pub(crate) const fn of(source: u32) -> Option<Self> {
        if source & Self::REFRESH != 0 {
            Some(Self::Refresh(SwitchIndex(source & !Self::REFRESH)))
        } else if source & Self::EXPIRY != 0 {
            Some(Self::Expiry(PortIndex(source & !Self::EXPIRY)))
        } else if source == Self::CHECK {
            Some(Self::Check)
        } else if source & Self::STORM != 0 {
            Some(Self::Storm(source & !Self::STORM))
        } else {
            None
        }
    }
}

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
    #[inline(never)]
    pub(super) fn take_in_by_priority<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        offer: Offer,
        probe: &mut P,
    ) -> Offered {
        let passage = self.passage(at, &self.pool.at(offer.slot).packet);
        let admission = if self.ports[at.index()].gate.is_shut() {
            Err(DropCause::LinkDown)
        } else if self.ports[at.index()].is_storming(passage.priority) {
            Err(DropCause::PauseWatchdog)
        } else {
            self.admit_exactly(switch, offer.now, &passage, probe)
        };
        let (port, ingress) = (&mut self.ports[at.index()], passage.ingress as u32);
        let Offered { verdict, wakes } =
            port.offer_by_priority(offer, admission, ingress, &mut self.pool, probe);
        let departure = self.begin_by_priority(switch, at, offer.now, wakes.departure);
        let wakes = self.ports[at.index()].wake(departure);
        Offered { verdict, wakes }
    }

    /// Asks the memory of a switch whose departed packets have left its accounts.
    #[inline(never)]
    fn admit_exactly<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        now: Time,
        passage: &Passage,
        probe: &mut P,
    ) -> Result<(), DropCause> {
        self.settle_switch(switch, now, probe);
        let pausing = self.switches[switch.index()].lossless.as_mut();
        pausing.map_or(Ok(()), |pausing| pausing.lossless.admit(now, passage))
    }

    /// After the sending of a packet may have begun, which then has a departure: returns that of its event.
    fn begin_by_priority(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        now: Time,
        departure: Option<Time>,
    ) -> Option<Time> {
        let port = &mut self.ports[at.index()];
        let (pool, extras) = (&mut self.pool, &mut self.extras);
        if !port.begin_by_priority(now, Arenas { pool, extras }) {
            return departure;
        }
        let passage = port.passage();
        let departs = departure.expect("a packet being sent departs");
        port.set_arrival(departs, &mut self.turns);
        let departs = self.turns.next(departs);
        if let Some(pausing) = &self.switches[switch.index()].lossless
            && !pausing.lossless.counts_sending()
        {
            self.release_by_priority(switch, now, passage);
        }
        Some(departs)
    }

    /// A packet has left a port of a switch, and the sending of the next may have begun: returns its departure.
    pub(super) fn end_by_priority(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        now: Time,
        sent: &Sent,
    ) -> Option<Time> {
        let Some(pausing) = &self.switches[switch.index()].lossless else {
            return sent.next;
        };
        if pausing.lossless.counts_sending() {
            self.release_by_priority(switch, now, sent.passage);
        }
        let next = self.begin_by_priority(switch, at, now, sent.next);
        self.ports[at.index()].wake_next(next)
    }

    /// A packet leaves the accounts of its switch.
    fn release_by_priority(&mut self, switch: SwitchIndex, now: Time, passage: Option<Passage>) {
        if let Some(passage) = passage
            && let Some(pausing) = &mut self.switches[switch.index()].lossless
        {
            pausing.lossless.release(now, &passage);
        }
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
            && let Some(pausing) = &self.switches[switch.index()].lossless
            && (pausing.lossless.has_due() || pausing.late != pausing.wants_lateness())
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
        let Some(pausing) = &mut self.switches[switch.index()].lossless else {
            return;
        };
        let size = pausing.lossless.frame();
        let due = pausing.lossless.take_due();
        if let Some(refresh) = pausing.next_refresh(now) {
            PauseTimer::Refresh(switch).enter(refresh, events);
        }
        for due in due {
            self.send_pause(switch, due, size, now, events, probe);
        }
        self.update_lateness(switch, now, events, probe);
    }

    fn send_pause<P: Probe>(
        &mut self,
        switch: SwitchIndex,
        PauseDue { port, frame }: PauseDue,
        size: u16,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        let at = self.ports_of[switch.index()][port];
        if self.records_pauses() && frame.quanta > 0 {
            self.record_cause(switch, at, frame.priorities);
        }
        let slot = self.pool.put(Packet::pause(frame, size));
        let port = &mut self.ports[at.index()];
        let offer = Offer::at(now, slot);
        if port.gate.is_shut() {
            let down = Err(DropCause::LinkDown);
            port.offer_by_priority(offer, down, NO_ACCOUNT, &mut self.pool, probe);
            self.discard(slot);
            return;
        }
        let Offered { wakes, .. } =
            port.offer_by_priority(offer, Ok(()), NO_ACCOUNT, &mut self.pool, probe);
        let departure = self.begin_by_priority(switch, at, now, wakes.departure);
        enter(events, at, self.ports[at.index()].wake(departure));
    }

    /// The link of a port has failed in either direction: both ends forget their pauses.
    pub(crate) fn forget_pauses<P: Probe>(
        &mut self,
        at: PortIndex,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        let number = self.numbers[at.index()] as usize;
        match self.owners[at.index()] {
            Node::Switch(switch) => {
                if let Some(pausing) = &mut self.switches[switch.index()].lossless {
                    pausing.lossless.forget_pauses(number);
                }
            }
            Node::Host(host) => self.reset_nic(host, now, events),
        }
        if self.ports[at.index()].has_priorities() {
            self.change_pauses(at, PauseEvent::LinkDown, now, events, probe);
        }
    }

    /// The link of a switch's port has failed with these packets in its queue.
    pub(crate) fn release_cut(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        stored: &[Packet],
        begun: bool,
        now: Time,
    ) {
        if self.switches[switch.index()].lossless.is_none() {
            return;
        }
        let all = stored.iter().enumerate();
        for (index, packet) in all.filter(|(_, packet)| !packet.is_pause()) {
            let passage = self.passage(at, packet);
            if let Some(pausing) = &mut self.switches[switch.index()].lossless {
                pausing.lossless.cut(now, &passage, begun && index == 0);
            }
        }
    }

    /// Asserts that the accounts of a switch are those of the packets in its ports.
    pub(crate) fn check_accounts(&self, switch: SwitchIndex) {
        let Some(pausing) = &self.switches[switch.index()].lossless else {
            return;
        };
        let memory = pausing.lossless.memory();
        let sending = pausing.lossless.counts_sending();
        let ports = self.ports_of[switch.index()].iter();
        let of_port = |port: &PortIndex| {
            self.ports[port.index()]
                .bytes_of(sending, &self.pool, |priority| memory.counts(priority))
        };
        let stored = ports
            .map(of_port)
            .fold(Bytes::ZERO, |sum, bytes| sum + bytes);
        assert_eq!(
            memory.stored(),
            stored,
            "a memory stores what its ports store"
        );
    }

    /// A timer of pauses has come. Returns the packets that a storm drops, and their port.
    pub(crate) fn pause_timer<P: Probe>(
        &mut self,
        timer: PauseTimer,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) -> Option<(PortIndex, Vec<Packet>)> {
        match timer {
            PauseTimer::Refresh(switch) => {
                if let Some(pausing) = &mut self.switches[switch.index()].lossless {
                    pausing.lossless.on_timeout(now);
                }
                self.send_pauses_of(switch, now, events, probe);
                None
            }
            PauseTimer::Expiry(at) => {
                let timeout = PauseEvent::Timeout;
                Some((at, self.change_pauses(at, timeout, now, events, probe)))
            }
            PauseTimer::Check => {
                self.check_deadlock(now, events, probe);
                None
            }
            PauseTimer::Storm(storm) => {
                self.storm(storm, now, events, probe);
                None
            }
        }
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
        let reads = self.pause_mode != PauseMode::Ignored;
        if reads && self.ports[at.index()].has_priorities() {
            let frame = PauseEvent::Frame(frame);
            let flushed = self.change_pauses(at, frame, now, events, probe);
            assert!(flushed.is_empty(), "a storm begins at a timeout");
        }
    }

    /// The pauses of a port with priorities change. Returns the packets that a storm drops.
    pub(crate) fn change_pauses<P: Probe>(
        &mut self,
        at: PortIndex,
        change: PauseEvent,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) -> Vec<Packet> {
        self.settle(at, now, probe);
        let port = &mut self.ports[at.index()];
        let (flushed, mut wakes) = port.change_pauses(change, now, &mut self.pool, probe);
        let expiry = port.next_expiry(now);
        self.record_pauses(at, now, events);
        if let Some(expiry) = expiry {
            PauseTimer::Expiry(at).enter(expiry, events);
        }
        if let Node::Switch(switch) = self.owners[at.index()] {
            let entered = self.follow_pauses_of(at);
            let departure = self.begin_by_priority(switch, at, now, wakes.departure);
            wakes = self.ports[at.index()].wake(departure);
            wakes.departure = wakes.departure.or(entered);
            for packet in &flushed {
                let passage = self.passage(at, packet);
                if let Some(pausing) = &mut self.switches[switch.index()].lossless {
                    pausing.lossless.release(now, &passage);
                }
            }
        }
        enter(events, at, wakes);
        self.send_pauses(at, now, events, probe);
        flushed
    }
}
