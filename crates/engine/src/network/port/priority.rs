//! A port with a queue for each priority, with departure events.
//!
//! The switch admits packets (`network::pausing`); here they are marked, queued, paused, and stamped with telemetry when
//! their sending begins. The priority of a packet is its traffic class. Source of the telemetry: HPCC (SIGCOMM 2019),
//! section 3.1. Leaves out: the accounting of memory.

mod late;

use std::collections::VecDeque;

use incastle_congestion::HopTelemetry;
use incastle_queueing::{
    Began, DropCause, GuardedReceiver, JudgedLate, MarkAt, Passage, PauseEffect, PauseFrame,
    Priority, PriorityEcn, PriorityEcnConfig, PriorityQueue, Queued, SchedulerConfig, Verdict,
    WatchdogConfig,
};
use incastle_units::{Bytes, Ecn, Serializer, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::exchange::{Offer, Offered, Sent, Wakes};
use super::scheduled::ScheduledQueue;
use super::{Backlog, Gate, Port};
use crate::core::PortIndex;
use crate::layout::Slot;
use crate::network::{Arenas, Packet, Pool, Turns};
use crate::probe::Probe;

/// The parameters of a port with priorities.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorityConfig {
    /// The choice of the next priority.
    pub scheduler: SchedulerConfig,
    /// The markers.
    pub ecn: PriorityEcnConfig,
}

/// Strict priorities, and no markers.
impl Default for PriorityConfig {
    fn default() -> Self {
        Self {
            scheduler: SchedulerConfig::Strict,
            ecn: PriorityEcnConfig::default(),
        }
    }
}

/// The number of the ingress port of a packet without an account.
pub(crate) const NO_ACCOUNT: u32 = u32::MAX;

/// A packet in its slot.
#[derive(Debug, Clone, Copy)]
struct InSlot {
    slot: Slot,
    size: u16,
    /// The number of its ingress port.
    ingress: u32,
}

impl Queued for InSlot {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }
}

/// The queues. Fields that every packet reads come first.
#[repr(C)]
pub(super) struct PriorityLanes {
    /// The number of the port at its node.
    number: usize,
    /// Bytes whose sending has begun.
    sent: Bytes,
    /// The arrival of the packet being sent, where that has a turn.
    arrives: Option<Time>,
    /// The priority of that packet.
    priority: Priority,
    /// Whether the event of its departure is entered.
    entered: bool,
    /// Whether the event of its arrival is entered.
    announced: bool,
    /// Whether the port may do without departure events.
    may_be_late: bool,
    /// Whether pause frames go before all priorities. HPCC's simulator has them in queue 0, behind ACKs.
    frames_first: bool,
    ecn: PriorityEcn,
    /// Packets that were marked when their sending began, and are not counted yet.
    judged: VecDeque<JudgedLate<Packet>>,
    queue: PriorityQueue<InSlot>,
    rng: Xoshiro256PlusPlus,
    receiver: GuardedReceiver,
    /// The entered end of a pause, if any.
    expiry: Option<Time>,
}

impl PriorityLanes {
    pub(super) fn new(
        config: &PriorityConfig,
        rng: Xoshiro256PlusPlus,
        receiver: GuardedReceiver,
    ) -> Self {
        Self {
            number: 0,
            queue: PriorityQueue::new(&config.scheduler),
            ecn: PriorityEcn::new(&config.ecn),
            rng,
            sent: Bytes::ZERO,
            arrives: None,
            priority: Priority::ALL[0],
            entered: false,
            announced: false,
            may_be_late: true,
            judged: VecDeque::new(),
            frames_first: config.scheduler != SchedulerConfig::RoundRobin,
            receiver,
            expiry: None,
        }
    }

    pub(super) const fn idle_since(&self) -> Time {
        self.queue.idle_since()
    }

    pub(super) fn backlog(&self) -> Backlog {
        let sending = self.queue.sending().map(|sending| sending.size);
        Backlog::of_lanes(self.queue.waiting(), sending)
    }

    /// The verdict of the markers on an admitted packet.
    pub(super) fn judge(&mut self, packet: &Packet) -> Verdict {
        let priority = packet.priority();
        let queue = self.queue.backlog(priority).bytes;
        let Some(marker) = self.ecn.marker(MarkAt::Enqueue, priority) else {
            return Verdict::Admit;
        };
        marker.judge(queue, packet.marks.ecn(), &mut self.rng)
    }

    #[inline]
    pub(super) fn push(
        &mut self,
        ready: Time,
        slot: Slot,
        packet: &Packet,
        ingress: u32,
        line: &mut Serializer,
    ) -> Option<Time> {
        let in_slot = InSlot {
            slot,
            size: packet.size,
            ingress,
        };
        if packet.is_pause() && self.frames_first {
            return self.queue.push_frame(ready, in_slot, line);
        }
        self.queue.push(ready, packet.priority(), in_slot, line)
    }

    #[inline(always)]
    pub(super) fn depart(&mut self, now: Time, line: &mut Serializer) -> Option<Sent> {
        let passage = self.passage();
        let (InSlot { slot, .. }, next) = self.queue.depart(now, line)?;
        self.entered = false;
        Some(Sent {
            slot,
            next,
            arrives: self.arrives.take(),
            announced: std::mem::replace(&mut self.announced, false),
            passage,
        })
    }

    /// The accounts of the packet being sent.
    fn passage(&self) -> Option<Passage> {
        let InSlot { size, ingress, .. } = *self.queue.sending()?;
        (ingress != NO_ACCOUNT).then_some(Passage {
            ingress: ingress as usize,
            egress: self.number,
            priority: self.priority,
            size: Bytes::new(u64::from(size)),
        })
    }

    /// Returns the packets that a storm drops, and the departure of a packet that begins.
    fn change_pauses(
        &mut self,
        change: PauseEvent,
        now: Time,
        line: &mut Serializer,
    ) -> (Vec<InSlot>, Option<Time>) {
        let effect = match change {
            PauseEvent::Frame(frame) => self.receiver.on_frame(now, &frame),
            PauseEvent::Timeout => self.receiver.on_timeout(now),
            PauseEvent::LinkDown => self.receiver.reset(now),
        };
        let PauseEffect {
            stopped,
            released,
            flushed,
        } = effect;
        self.queue.pause(stopped);
        let flushed = self.queue.flush(flushed);
        (flushed, self.queue.resume(released, now, line))
    }

    /// The next end of a pause, unless an earlier one is entered. At the instant of that one it is entered no more.
    pub(super) fn next_expiry(&mut self, now: Time) -> Option<Time> {
        self.expiry.take_if(|expiry| *expiry <= now);
        let next = self.receiver.poll_timeout()?;
        if self.expiry.is_some_and(|entered| entered <= next) {
            return None;
        }
        self.expiry = Some(next);
        Some(next)
    }

    /// Counts a packet that is dropped in a storm.
    fn count_stormed(&mut self, packet: &Packet) {
        self.receiver.count_dropped(packet.priority());
    }

    /// If the sending of a packet has begun: telemetry is stamped on it, and it is judged by the markers. Returns whether one
    /// has.
    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        now: Time,
        line: &Serializer,
        gate: &mut Gate,
        Arenas { pool, extras }: Arenas<'_>,
    ) -> bool {
        let Some(Began { priority, size }) = self.queue.take_began() else {
            return false;
        };
        self.priority = priority;
        let InSlot { slot, .. } = *self.queue.sending().expect("it is being sent");
        let packet = &mut pool.at_mut(slot).packet;
        if let Some(place) = packet.telemetry() {
            extras.telemetry.push(
                place,
                HopTelemetry {
                    rate: line.rate(),
                    at: now,
                    sent: self.sent,
                    queue: self.queue.waiting().bytes,
                },
            );
        }
        self.sent += size;
        let verdict = match self.ecn.marker(MarkAt::Dequeue, priority) {
            Some(marker) => {
                let behind = self.queue.backlog(priority).bytes;
                marker.judge(behind, packet.marks.ecn(), &mut self.rng)
            }
            None => Verdict::Admit,
        };
        if verdict == Verdict::Mark {
            packet.marks.set_ecn(Ecn::Ce);
        }
        if verdict != Verdict::Admit {
            let packet = *packet;
            gate.judge_late(now, verdict, &packet);
            self.judged.push_back(JudgedLate { verdict, packet });
        }
        true
    }

    /// Whether packets were marked when their sending began, and are not counted yet.
    pub(super) fn has_judged(&self) -> bool {
        !self.judged.is_empty()
    }

    /// Takes the next packet that was marked when its sending began.
    pub(super) fn take_judged(&mut self) -> Option<JudgedLate<Packet>> {
        self.judged.pop_front()
    }

    pub(super) fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        self.receiver.change_rate(line.rate());
        self.queue.change_rate(now, line)
    }

    pub(super) fn cut(&mut self, now: Time, pool: &mut Pool) -> Vec<Packet> {
        let stored = self.queue.cut(now).into_iter();
        stored.map(|stored| pool.take(stored.slot)).collect()
    }

    pub(super) fn stored<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Packet> {
        let slots = self.queue.stored().map(|stored| stored.slot);
        slots.map(|slot| &pool.at(slot).packet)
    }
}

impl Port {
    /// Offers a packet that the memory of the switch has admitted, or not, to a port with priorities. A dropped one stays
    /// in its slot.
    #[inline(always)]
    pub(crate) fn offer_by_priority<P: Probe>(
        &mut self,
        Offer { now, ready, slot }: Offer,
        admission: Result<(), DropCause>,
        ingress: u32,
        pool: &mut Pool,
        probe: &mut P,
    ) -> Offered {
        let lanes = lanes(&mut self.scheduled);
        let backlog = lanes.backlog();
        let packet = &pool.at(slot).packet;
        let verdict = match admission {
            Ok(()) => lanes.judge(packet),
            Err(cause) => {
                if cause == DropCause::PauseWatchdog {
                    lanes.count_stormed(packet);
                }
                Verdict::Drop(cause)
            }
        };
        self.gate.note(now, verdict, backlog, packet);
        if matches!(verdict, Verdict::Drop(_)) {
            let wakes = Wakes::default();
            return Offered { verdict, wakes };
        }
        if self.observed && backlog.stored_packets > 0 {
            probe.queue_changed(self.index, now, backlog.waiting_packets + 1);
        }
        let packet = &mut pool.at_mut(slot).packet;
        if verdict == Verdict::Mark {
            packet.marks.set_ecn(Ecn::Ce);
        }
        packet.marks.pass();
        let wakes = Wakes {
            arrival: None,
            departure: lanes.push(ready, slot, packet, ingress, &mut self.line),
        };
        Offered { verdict, wakes }
    }

    /// Whether the sending of a packet has begun since the last call.
    #[inline(always)]
    pub(crate) fn begin_by_priority(&mut self, now: Time, arenas: Arenas<'_>) -> bool {
        let lanes = lanes(&mut self.scheduled);
        lanes.begin(now, &self.line, &mut self.gate, arenas)
    }

    /// The accounts of the packet being sent.
    pub(crate) fn passage(&mut self) -> Option<Passage> {
        lanes(&mut self.scheduled).passage()
    }

    /// Sets its number at its node, if it has priorities.
    pub(crate) fn set_number(&mut self, number: u32) {
        if let Some(ScheduledQueue::Priority(lanes)) = self.scheduled.as_deref_mut() {
            lanes.number = number as usize;
        }
    }

    /// Decides the arrival of the packet being sent, which departs at that instant.
    pub(crate) fn set_arrival(&mut self, departs: Time, turns: &mut Turns) {
        if turns.are_taken() {
            let arrives = turns.next(departs + self.delay);
            lanes(&mut self.scheduled).arrives = Some(arrives);
        }
    }

    /// Returns the packets that a storm drops, and the next departure.
    pub(crate) fn change_pauses<P: Probe>(
        &mut self,
        change: PauseEvent,
        now: Time,
        pool: &mut Pool,
        probe: &mut P,
    ) -> (Vec<Packet>, Wakes) {
        let lanes = lanes(&mut self.scheduled);
        let (flushed, departure) = lanes.change_pauses(change, now, &mut self.line);
        if (departure.is_some() || !flushed.is_empty()) && self.observed {
            probe.queue_changed(self.index, now, lanes.backlog().waiting_packets);
        }
        let flushed = flushed.into_iter();
        let flushed: Vec<Packet> = flushed.map(|stored| pool.take(stored.slot)).collect();
        for packet in &flushed {
            lanes.count_stormed(packet);
            self.gate.judge_late(now, STORM, packet);
        }
        let wakes = Wakes {
            arrival: None,
            departure,
        };
        (flushed, wakes)
    }

    /// Adds a watchdog, if it has priorities.
    pub(crate) fn watch(&mut self, config: WatchdogConfig) {
        if let Some(ScheduledQueue::Priority(lanes)) = self.scheduled.as_deref_mut() {
            lanes.receiver.watch(config);
        }
    }

    /// Whether a storm drops packets of the priority.
    pub(crate) fn is_storming(&self, priority: Priority) -> bool {
        let receiver = self.receiver();
        receiver.is_some_and(|receiver| receiver.dropping().contains(priority))
    }

    /// The next end of a pause, where its event is to be entered.
    pub(crate) fn next_expiry(&mut self, now: Time) -> Option<Time> {
        lanes(&mut self.scheduled).next_expiry(now)
    }

    /// The receiver of pauses, if it has priorities.
    pub(crate) fn receiver(&self) -> Option<&GuardedReceiver> {
        match self.scheduled.as_deref()? {
            ScheduledQueue::Priority(lanes) => Some(&lanes.receiver),
            _ => None,
        }
    }

    /// Bytes of packets for which this holds, in a port with priorities: waiting, and being sent or not.
    pub(crate) fn bytes_of(
        &self,
        sending: bool,
        pool: &Pool,
        counts: impl Fn(Priority) -> bool,
    ) -> Bytes {
        let Some(ScheduledQueue::Priority(lanes)) = self.scheduled.as_deref() else {
            return Bytes::ZERO;
        };
        let counted = |packet: &&Packet| !packet.is_pause() && counts(packet.priority());
        let sum = |sum: Bytes, packet: &Packet| sum + packet.size();
        let all = lanes.stored(pool).filter(counted).fold(Bytes::ZERO, sum);
        let being_sent = lanes.queue.sending().filter(|_| !sending);
        let being_sent = being_sent.map(|stored| &pool.at(stored.slot).packet);
        all - being_sent.filter(counted).map_or(Bytes::ZERO, Packet::size)
    }

    /// Whether a packet is being sent by a port with priorities.
    pub(crate) fn sends_by_priority(&self) -> bool {
        match self.scheduled.as_deref() {
            Some(ScheduledQueue::Priority(lanes)) => lanes.queue.sending().is_some(),
            _ => false,
        }
    }

    /// Bytes of a priority that wait here and came in by another port of the switch.
    pub(crate) fn waiting_from(
        &self,
        ingress: PortIndex,
        priority: Priority,
        pool: &Pool,
    ) -> Bytes {
        let Some(ScheduledQueue::Priority(lanes)) = self.scheduled.as_deref() else {
            return Bytes::ZERO;
        };
        let waiting = lanes.queue.waiting_packets(priority);
        let waiting = waiting.map(|stored| &pool.at(stored.slot).packet);
        let from = waiting.filter(|packet| !packet.is_pause() && packet.ingress() == ingress);
        from.fold(Bytes::ZERO, |sum, packet| sum + packet.size())
    }

    /// Whether it has priorities.
    pub(crate) fn has_priorities(&self) -> bool {
        matches!(self.scheduled.as_deref(), Some(ScheduledQueue::Priority(_)))
    }
}

/// A change of the pauses of a port.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PauseEvent {
    /// A pause frame has arrived.
    Frame(PauseFrame),
    /// A pause may have expired, a storm begun or ended.
    Timeout,
    /// The link has failed.
    LinkDown,
}

/// The verdict on the packets that a storm drops.
pub(crate) const STORM: Verdict = Verdict::Drop(DropCause::PauseWatchdog);

/// The queues of a port that has priorities.
fn lanes(queue: &mut Option<Box<ScheduledQueue>>) -> &mut PriorityLanes {
    match queue.as_deref_mut() {
        Some(ScheduledQueue::Priority(lanes)) => lanes,
        _ => unreachable!("the ports of a switch with priorities have a queue for each"),
    }
}
