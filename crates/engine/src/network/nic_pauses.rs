//! The pauses of a NIC, for every transport.
//!
//! A NIC takes packets ahead of its line: two full frames, and its jitter. A pause stops the next frame, so that those
//! whose sending has not begun are taken back. While a priority is paused the NIC is *closed*: when its line is free it
//! takes one packet of another priority, first of those taken back, then of the endpoints that wait, by round robin.
//! Queue pairs and these alternate. A NIC that was never paused does nothing of this. Sources: IEEE 802.1Qbb; 802.3,
//! annex 31B.3. Leaves out: the jitter of a packet that was taken back from behind another.

use std::collections::VecDeque;

use incastle_queueing::{PauseFrame, PauseReceiver, PauseStatistics, Priority, PrioritySet};
use incastle_units::{Rate, Time};

use super::{Network, Packet, QueuePairs, TakenBack, enter};
use crate::core::{Event, EventQueue, HostIndex, Kind};
use crate::layout::Slot;

/// The pauses, and the packets that they hold.
#[derive(Debug)]
pub(crate) struct NicPauses {
    receiver: PauseReceiver,
    paused: PrioritySet,
    /// Packets that were taken back, in the order of their sending.
    held: VecDeque<TakenBack>,
    /// Whether a queue pair has sent last.
    pub(crate) pair_was_last: bool,
}

impl NicPauses {
    fn new(receiver: PauseReceiver) -> Self {
        Self {
            receiver,
            paused: PrioritySet::EMPTY,
            held: VecDeque::new(),
            pair_was_last: false,
        }
    }

    /// The priorities that the switch has paused.
    pub(crate) const fn paused(&self) -> PrioritySet {
        self.paused
    }

    /// The pauses of a priority.
    pub(crate) fn statistics(&self, priority: Priority, now: Time) -> PauseStatistics {
        self.receiver.statistics(priority, now)
    }

    /// The packets that it holds.
    pub(crate) fn held(&self) -> impl Iterator<Item = Slot> {
        self.held.iter().map(|taken| taken.slot)
    }

    /// A frame has arrived; returns whether it has paused a priority.
    fn on_frame(&mut self, now: Time, frame: PauseFrame) -> bool {
        self.end(now);
        let change = self.receiver.on_frame(now, &frame);
        self.paused = self.receiver.paused();
        !change.paused.is_empty()
    }

    /// Ends the pauses that have expired; returns whether there were some.
    pub(crate) fn end(&mut self, now: Time) -> bool {
        let change = self.receiver.on_timeout(now);
        self.paused = self.receiver.paused();
        !change.resumed.is_empty()
    }
}

impl Network {
    pub(crate) fn nic_pauses(&mut self, host: HostIndex) -> &mut NicPauses {
        self.pauses_of(host).expect("the NIC has been paused")
    }

    /// The pauses of a host, once it has been paused.
    fn pauses_of(&mut self, host: HostIndex) -> Option<&mut NicPauses> {
        let nic = self.hosts[host.index()].queue_pairs.as_deref_mut()?;
        nic.pauses.as_deref_mut()
    }

    /// The pauses of a host's priority.
    pub(super) fn pauses_of_host(
        &self,
        host: HostIndex,
        priority: Priority,
        now: Time,
    ) -> Option<PauseStatistics> {
        let nic = self.hosts[host.index()].queue_pairs.as_deref()?;
        Some(nic.pauses.as_ref()?.statistics(priority, now))
    }

    /// The priorities that are paused at a host without a capacity.
    pub(super) fn paused_at(&self, host: HostIndex) -> PrioritySet {
        let nic = self.hosts[host.index()].queue_pairs.as_deref();
        nic.map_or(PrioritySet::EMPTY, QueuePairs::paused)
    }

    /// The beginning of a pause there.
    pub(super) fn paused_since(&self, host: HostIndex, priority: Priority) -> Option<Time> {
        let nic = self.hosts[host.index()].queue_pairs.as_deref()?;
        nic.pauses.as_ref()?.receiver.paused_since(priority)
    }

    /// A pause frame has reached a host.
    pub(crate) fn pause_nic(
        &mut self,
        host: HostIndex,
        frame: PauseFrame,
        now: Time,
        events: &mut EventQueue,
    ) {
        let at = self.hosts[host.index()].port;
        let (mode, rate) = (self.pause_mode, self.rate(at));
        let nic = self.hosts[host.index()].queue_pairs.get_or_insert_default();
        let new = || Box::new(NicPauses::new(PauseReceiver::new(mode, rate)));
        let pauses = nic.pauses.get_or_insert_with(new);
        let began = pauses.on_frame(now, frame);
        if let Some(expiry) = pauses.receiver.poll_timeout() {
            self.enter_line_free(host, expiry, events);
        }
        if began {
            self.take_back(host, now, events);
        }
        self.follow_pauses(host, now, events);
    }

    /// Takes back the packets that the NIC has taken ahead of its line.
    fn take_back(&mut self, host: HostIndex, now: Time, events: &mut EventQueue) {
        if self.turns.are_taken() {
            // Events in turn: queue pairs alone, whose packets begin when they are taken.
            return;
        }
        let at = self.hosts[host.index()].port;
        let (taken, arrival) = self.ports[at.index()].take_back(now, &mut self.pool);
        if let Some(first) = arrival {
            events.remove(Event::new(first, Kind::Arrival, at.0));
        }
        // Those that are held already would have left later.
        let held = &mut self.nic_pauses(host).held;
        for taken in taken.into_iter().rev() {
            held.push_front(taken);
        }
    }

    /// After a change of the pauses: the NIC is closed while there are some.
    pub(crate) fn follow_pauses(&mut self, host: HostIndex, now: Time, events: &mut EventQueue) {
        let paused = !self.nic(host).paused().is_empty();
        let at = self.hosts[host.index()].port;
        self.record_pauses(at, now, events);
        let rate = self.rate(at);
        let nic = &mut self.hosts[host.index()];
        let closed = nic.is_closed();
        if paused || closed {
            // The line may be free earlier than before, or later.
            nic.dequeues_at = Time::NEVER;
        }
        if paused && !closed {
            nic.close();
        }
        if paused {
            return self.enter_next_packet(host, now, events);
        }
        if closed {
            nic.open(rate);
            for taken in std::mem::take(&mut self.nic_pauses(host).held) {
                self.send_again(host, taken, now, events);
            }
            self.enter_next_dequeue(host, now, events);
        }
    }

    fn send_again(
        &mut self,
        host: HostIndex,
        taken: TakenBack,
        now: Time,
        events: &mut EventQueue,
    ) {
        let at = self.hosts[host.index()].port;
        let wakes = self.ports[at.index()].send_again(taken, now, &mut self.pool);
        enter(events, at, wakes);
    }

    /// Sends the first packet that was taken back and whose priority is not paused; returns whether there is one.
    pub(crate) fn send_held(
        &mut self,
        host: HostIndex,
        now: Time,
        events: &mut EventQueue,
    ) -> bool {
        let Some(pauses) = self.hosts[host.index()]
            .queue_pairs
            .as_deref_mut()
            .and_then(|nic| nic.pauses.as_deref_mut())
        else {
            return false;
        };
        let (pool, paused) = (&self.pool, pauses.paused);
        let may_leave = |taken: &TakenBack| {
            let packet = &pool.at(taken.slot).packet;
            packet.is_pause() || !paused.contains(packet.priority())
        };
        let Some(place) = pauses.held.iter().position(may_leave) else {
            return false;
        };
        let taken = pauses.held.remove(place).expect("it was found there");
        self.send_again(host, taken, now, events);
        true
    }

    /// Enters the instant at which a closed NIC looks for its next packet, if any waits.
    pub(crate) fn enter_next_packet(
        &mut self,
        host: HostIndex,
        now: Time,
        events: &mut EventQueue,
    ) {
        let waits = !self.hosts[host.index()].waiting().is_empty()
            || !self.nic_pauses(host).held.is_empty();
        let at = self.line_free_at(host).max(now);
        if waits && at < Time::NEVER {
            self.enter_dequeue(host, at, events);
        }
    }

    /// The link of a host has failed: its pauses are forgotten.
    pub(super) fn reset_nic(&mut self, host: HostIndex, now: Time, events: &mut EventQueue) {
        if let Some(pauses) = self.pauses_of(host) {
            let _ = pauses.receiver.reset(now);
            pauses.paused = PrioritySet::EMPTY;
            self.follow_pauses(host, now, events);
        }
    }

    /// The link of a host has failed: takes out the packets that pauses hold.
    pub(crate) fn take_held(&mut self, host: HostIndex, now: Time) -> Vec<Packet> {
        let held = self
            .pauses_of(host)
            .map(|pauses| std::mem::take(&mut pauses.held));
        let held = held.unwrap_or_default().into_iter();
        let packets: Vec<Packet> = held.map(|taken| self.pool.take(taken.slot)).collect();
        let at = self.hosts[host.index()].port;
        for packet in &packets {
            self.ports[at.index()].gate.refuse(now, packet);
        }
        packets
    }

    /// The link of a host has recovered: its queue pairs and a closed NIC send again.
    pub(crate) fn wake_nic(&mut self, host: HostIndex, now: Time, events: &mut EventQueue) {
        if let Some(nic) = self.hosts[host.index()].queue_pairs.as_deref_mut() {
            nic.line_free_at = Some(now);
            self.enter_line_free(host, now, events);
        }
        if self.hosts[host.index()].is_closed() {
            self.enter_next_packet(host, now, events);
        }
    }

    /// The line of a NIC has another rate: that of the quanta of later frames.
    pub(super) fn change_rate_of_pauses(&mut self, host: HostIndex, rate: Rate) {
        if let Some(pauses) = self.pauses_of(host) {
            pauses.receiver.change_rate(rate);
        }
    }
}
