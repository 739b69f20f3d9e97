//! An egress port and the link behind it.
//!
//! An offered packet passes the *gate* (buffer, then queue discipline) and waits in the queue. It is sent at the
//! line's rate and propagates for the link's delay. Two kinds of FIFO queue give the same results where both
//! apply. The fast one computes each departure on arrival and needs no event for it. The general one has an event
//! for each departure and allows a rate that changes. The fair queue has departure events too, and selects a flow
//! at each. Leaves out: preemption.

mod changes;
mod cut;
mod degraded;
mod exchange;
mod gate;
mod passing;
mod prefetch;
mod priority;
mod scheduled;
mod take_back;
mod telemetry;

use std::mem::offset_of;

use incastle_queueing::{
    DualPi2Config, DualQueue, FairConfig, FairQueue, FifoQueue, GuardedReceiver, JudgedLate,
    PauseMode, QcnSampler, SharedBuffer, Verdict,
};
use incastle_units::{Bytes, Ecn, Rate, Serializer, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::core::{Node, PortIndex};
use crate::layout::{FastQueue, Row, Slot};
use crate::network::{Arenas, Packet, Pool};
use crate::probe::{Probe, Transit};

pub(crate) use degraded::Wire;
pub(crate) use exchange::{
    Arrived, Backlog, Departed, FastPath, Freed, Offer, Offered, Onward, Sent, Wakes,
};
pub(crate) use gate::Gate;
pub use gate::PortCounters;
use gate::QueueView;
pub use priority::PriorityConfig;
pub(crate) use priority::{NO_ACCOUNT, PauseEvent, STORM};
pub(crate) use take_back::TakenBack;

use priority::PriorityLanes;
use scheduled::ScheduledQueue;

/// QCN's congestion point.
pub(crate) type Sampler = QcnSampler<Xoshiro256PlusPlus>;

/// A port, four cache lines: an arrival over its link reads the first one, a packet that passes the gate the first
/// two.
///
/// The queue is one of three: unwatched, fast or scheduled. An unwatched one (unlimited, unmarked and not observed: a
/// host's NIC) keeps only the instant at which the line becomes idle.
#[repr(C, align(64))]
pub(crate) struct Port {
    /// The packets on the link, behind them those stored in a queue without departure events.
    row: Row,
    /// The node that the link leads to.
    pub(crate) to: Node,
    delivered: u64,
    /// The cached next hop of the first packet on the link; else beyond all ports.
    pub(crate) cached_next_hop: PortIndex,
    unwatched: bool,
    /// Whether probes observe this queue.
    pub(crate) observed: bool,
    /// Whether packets leave the shortest way: they gather telemetry or are sampled here, or departures have events.
    detours: bool,
    /// Whether departures from a queue for each priority have no events at present (`network::late`).
    pub(crate) late: bool,
    /// Empty where the queue is of another kind.
    fast: FastQueue,
    delay: Span,
    /// Picoseconds per byte, if that is a whole number; else zero, and the serializer computes each span.
    pace: u32,
    pub(crate) index: PortIndex,
    pub(crate) gate: Gate,
    /// Behind a pointer: rarely read.
    line: Box<Serializer>,
    scheduled: Option<Box<ScheduledQueue>>,
    pub(crate) sampler: Option<Box<Sampler>>,
    /// Bytes that have departed and that the shared memory has released.
    freed: u64,
    /// Whether the shared memory has its next departure.
    pub(crate) listed: bool,
    /// Whether packets that gather telemetry get a record of this port.
    telemetry: bool,
    special: bool,
    /// Whether its link leads into another partition.
    cut: bool,
    /// Whether departures are events only because of that.
    adds_departures: bool,
}

const _: () = assert!(size_of::<Port>() <= 256);
const _: () = assert!(offset_of!(Port, fast) <= 64 - FastQueue::FIRST);
const _: () = assert!(offset_of!(Port, gate) <= 128 - Gate::FIRST);

impl Port {
    pub(crate) fn new(index: PortIndex, to: Node, rate: Rate, delay: Span, gate: Gate) -> Self {
        let line = Box::new(Serializer::new(rate));
        Self {
            row: Row::default(),
            to,
            delivered: 0,
            cached_next_hop: PortIndex::NONE,
            index,
            fast: FastQueue::default(),
            delay,
            pace: pace(&line),
            unwatched: false,
            observed: false,
            listed: false,
            special: false,
            detours: false,
            telemetry: false,
            late: false,
            gate,
            line,
            scheduled: None,
            sampler: None,
            freed: 0,
            cut: false,
            adds_departures: false,
        }
    }

    /// The same port with transmission times as in ns-3.
    pub(crate) fn with_ns3_times(mut self) -> Self {
        *self.line = Serializer::ns3(self.line.rate());
        self.pace = pace(&self.line);
        self
    }

    /// The same port with explicit departures.
    pub(crate) fn general(mut self) -> Self {
        self.set_queue(ScheduledQueue::General(FifoQueue::default()));
        self
    }

    /// The same port with a queue for each flow or class.
    pub(crate) fn fair(mut self, config: FairConfig) -> Self {
        self.set_queue(ScheduledQueue::Fair(FairQueue::new(config)));
        self
    }

    /// The same port with the two queues of DualPI2.
    pub(crate) fn dual(mut self, config: DualPi2Config) -> Self {
        self.set_queue(ScheduledQueue::Dual(DualQueue::new(config)));
        self
    }

    /// The same port with a queue for each priority.
    pub(crate) fn with_priorities(
        mut self,
        config: &PriorityConfig,
        rng: Xoshiro256PlusPlus,
        mode: PauseMode,
    ) -> Self {
        let receiver = GuardedReceiver::new(mode, self.rate());
        let lanes = PriorityLanes::new(config, rng, receiver);
        self.set_queue(ScheduledQueue::Priority(lanes));
        self
    }

    fn set_queue(&mut self, queue: ScheduledQueue) {
        // A packet stays in its slot in a queue with priorities, as in a fast one.
        self.special = !matches!(queue, ScheduledQueue::Priority(_));
        self.scheduled = Some(Box::new(queue));
        self.detours = true;
        self.unwatched = false;
        // A packet must not take the fast path of a fast queue.
        self.gate.judge_all();
    }

    /// Gives a port at rest departure events, for any kind of queue.
    pub(crate) fn schedule(&mut self) {
        assert!(
            self.gate.counters().offered == 0,
            "a port has departure events from the beginning"
        );
        if self.scheduled.is_none() {
            self.set_queue(ScheduledQueue::General(FifoQueue::default()));
        }
    }

    /// The same port without a backlog, if nothing reads that.
    pub(crate) fn unwatched_if_open(mut self) -> Self {
        self.unwatched = self.gate.is_open() && !self.observed && self.scheduled.is_none();
        self
    }

    /// The present rate.
    pub(crate) fn rate(&self) -> Rate {
        self.line.rate()
    }

    pub(crate) fn delay(&self) -> Span {
        self.delay
    }

    pub(crate) fn counters(&self) -> PortCounters {
        self.gate.counters()
    }

    /// When the line of an unlimited, unmarked port will have sent everything; absent for other ports.
    #[inline(always)]
    pub(crate) fn busy_until(&self) -> Option<Time> {
        if self.unwatched {
            return Some(self.fast.busy_until());
        }
        let queue = self.scheduled.as_ref()?;
        self.gate.is_open().then(|| queue.busy_until()).flatten()
    }

    /// The serialization time of a packet.
    #[inline(always)]
    fn span(&mut self, size: u16) -> Span {
        if self.pace == 0 {
            return self.line.span(Bytes::new(u64::from(size)));
        }
        Span::from_ps(u64::from(self.pace) * u64::from(size))
    }

    /// The fast path of NICs; returns the packet's arrival if it is the first on the link.
    #[inline(always)]
    pub(crate) fn send(&mut self, offer: Offer, pool: &mut Pool) -> Option<Time> {
        self.send_late(offer, Span::ZERO, pool)
    }

    /// As [`Self::send`], for a packet whose arrival has a turn ([`crate::core::Turns`]).
    #[inline(always)]
    pub(crate) fn send_late(
        &mut self,
        Offer { now, ready, slot }: Offer,
        late: Span,
        pool: &mut Pool,
    ) -> Option<Time> {
        assert!(self.unwatched, "only an unwatched queue has a fast path");
        let packet = &pool.at(slot).packet;
        self.gate.pass(now, packet);
        let span = self.span(packet.size);
        let arrives = self.fast.occupy(ready, span) + self.delay + late;
        self.row.push(slot, arrives, pool).then_some(arrives)
    }

    /// The arrival of a packet that a NIC would send.
    pub(crate) fn would_arrive(&mut self, ready: Time, size: u16) -> Time {
        self.fast.busy_until().max(ready) + self.span(size) + self.delay
    }

    /// Whether the port has the fast path of NICs.
    #[inline(always)]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.unwatched
    }

    /// Offers a packet. A dropped one stays in its slot.
    #[inline(always)]
    pub(crate) fn offer<P: Probe>(
        &mut self,
        Offer { now, ready, slot }: Offer,
        memory: Option<&mut SharedBuffer>,
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) -> Offered {
        let backlog = self.advance(now, Arenas { pool, extras }, probe);
        let idle_since = self.idle_since(backlog);
        let packet = &pool.at(slot).packet;
        let queue = QueueView {
            now,
            idle_since,
            backlog: self.in_front_of(packet, backlog),
        };
        let verdict = self.gate.judge(queue, packet, memory);
        if matches!(verdict, Verdict::Drop(_)) {
            let wakes = Wakes::default();
            return Offered { verdict, wakes };
        }
        if self.observed && backlog.stored_packets > 0 {
            probe.queue_changed(self.index, now, backlog.waiting_packets + 1);
        }
        if verdict == Verdict::Mark {
            pool.at_mut(slot).packet.marks.set_ecn(Ecn::Ce);
        }
        let wakes = self.store(ready, slot, pool);
        if self.telemetry && backlog.stored_packets == 0 {
            self.stamp_begun(now, pool, extras);
        }
        Offered { verdict, wakes }
    }

    /// The backlog for the gate: a marker at a fair queue judges by the packet's own queue.
    #[inline(always)]
    fn in_front_of(&self, packet: &Packet, backlog: Backlog) -> Backlog {
        let queue = self.scheduled.as_ref();
        queue.map_or(backlog, |queue| queue.in_front_of(packet))
    }

    /// Whether an arriving packet concerns more than the gate and a queue that leaves it in its slot: a congestion point,
    /// or another queue with departure events.
    #[inline(always)]
    pub(crate) fn is_special(&self) -> bool {
        self.special
    }

    /// Sends every arriving packet by the slow path, where it is observed.
    pub(crate) fn attend(&mut self) {
        self.special = true;
        self.gate.judge_all();
    }

    /// The time of a packet from here to the next hop without queueing.
    pub(crate) fn transit(&self, packet: &Packet) -> Transit {
        Transit {
            serialisation: self.line.clone().span(packet.size()),
            propagation: self.delay,
        }
    }

    /// Adds QCN's congestion point.
    pub(crate) fn sampled(mut self, sampler: Sampler) -> Self {
        self.sampler = Some(Box::new(sampler));
        self.special = true;
        self.detours = true;
        self.gate.judge_marks();
        self
    }

    /// Makes a fair queue push out packets until the next packet to be offered fits. Packets pushed out before must
    /// have been taken.
    pub(crate) fn make_room(&mut self, now: Time, arriving: &Packet) {
        let Some(queue) = fair(&mut self.scheduled) else {
            return;
        };
        let gate = &self.gate;
        let sending = queue.sending().map(|packet| packet.size);
        let pushed_out = queue.make_room(arriving, |waiting| {
            let backlog = Backlog::of_lanes(waiting, sending);
            gate.admits(&backlog, arriving)
        });
        for packet in pushed_out {
            self.gate.push_out(now, packet);
        }
    }

    /// Takes the next packet that was pushed out.
    pub(crate) fn take_pushed_out(&mut self) -> Option<Packet> {
        fair(&mut self.scheduled)?.take_pushed_out()
    }

    /// Whether there is a packet that was judged when it was taken out of its queue.
    #[inline(always)]
    pub(crate) fn has_judged(&self) -> bool {
        matches!(&self.scheduled, Some(queue) if queue.has_judged())
    }

    /// Takes and counts the next packet that was judged when it was taken out of its queue.
    pub(crate) fn take_judged(&mut self, now: Time) -> Option<JudgedLate<Packet>> {
        let queue = self.scheduled.as_mut()?;
        let judged = queue.take_judged()?;
        // One with priorities has counted it when its sending began.
        if !matches!(**queue, ScheduledQueue::Priority(_)) {
            self.gate.judge_late(now, judged.verdict, &judged.packet);
        }
        Some(judged)
    }

    /// Stores an admitted packet. Queues with departure events take it out of its slot.
    #[inline(always)]
    fn store(&mut self, ready: Time, slot: Slot, pool: &mut Pool) -> Wakes {
        assert!(!self.unwatched, "an unwatched queue stores nothing");
        let packet = &mut pool.at_mut(slot).packet;
        packet.marks.pass();
        let size = packet.size;
        if let Some(queue) = &mut self.scheduled {
            return Wakes {
                arrival: None,
                departure: queue.push(ready, slot, pool, &mut self.line),
            };
        }
        let span = self.span(size);
        let departs = self.fast.occupy(ready, span);
        self.fast.push(departs, slot, size);
        let arrives = departs + self.delay;
        Wakes {
            arrival: self.row.push(slot, arrives, pool).then_some(arrives),
            departure: None,
        }
    }

    /// The first packet on the link.
    #[inline(always)]
    pub(crate) fn first(&self) -> Slot {
        self.row.first()
    }

    /// Takes the first packet off the link.
    #[inline(always)]
    pub(crate) fn arrive<P: Probe>(
        &mut self,
        now: Time,
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) -> Arrived {
        // A queue must not count a packet that leaves its slot.
        if self.fast.holds_up(self.row.first()) {
            self.let_depart(now, Arenas { pool, extras }, probe);
        }
        self.fast.advance_last(now);
        let first = self.row.pop(pool);
        let first = first.expect("an arrival event has a packet on its link");
        assert!(
            first.arrives == now || first.arrives.whole_ns() == now,
            "a packet arrives at its event"
        );
        self.delivered += 1;
        Arrived {
            slot: first.slot,
            next: self.row.first_arrival(),
        }
    }

    /// A queue with departure events has sent its packet. Nothing where the event is outdated.
    #[inline(always)]
    pub(crate) fn depart<P: Probe>(
        &mut self,
        now: Time,
        pool: &mut Pool,
        probe: &mut P,
    ) -> Option<Sent> {
        let Some(queue) = &mut self.scheduled else {
            unreachable!("only scheduled queues have departure events")
        };
        let sent = queue.depart(now, pool, &mut self.line)?;
        if self.observed && (sent.next.is_some() || queue.has_dropped()) {
            probe.queue_changed(self.index, now, queue.backlog().waiting_packets);
        }
        Some(sent)
    }

    /// A packet that has left the port is on the link now.
    #[inline(always)]
    pub(crate) fn carry(&mut self, sent: &Sent, now: Time, pool: &mut Pool) -> Departed {
        let arrives = sent.arrives.unwrap_or(now + self.delay);
        let slot = sent.slot;
        let first = self.row.push(slot, arrives, pool) && !sent.announced;
        Departed {
            onward: Onward::OnLink {
                slot,
                arrives,
                overtaken: None,
            },
            wakes: Wakes {
                arrival: first.then_some(arrives),
                departure: sent.next,
            },
        }
    }

    /// For a shared memory: the bytes that have departed until `now` since the last call, and the next departure.
    /// Other queues than the fast one have departure events instead.
    pub(crate) fn free<P: Probe>(&mut self, now: Time, arenas: Arenas<'_>, probe: &mut P) -> Freed {
        if self.scheduled.is_some() || self.unwatched {
            return Freed {
                bytes: Bytes::ZERO,
                next_departure: None,
            };
        }
        self.let_depart(now, arenas, probe);
        let departed = self.gate.accepted_bytes() - self.fast.stored().bytes;
        let before = std::mem::replace(&mut self.freed, departed);
        Freed {
            bytes: Bytes::new(departed - before),
            next_departure: self.fast.next_departure(),
        }
    }

    /// The backlog at `now`, after all departures until then were reported to the probe.
    #[inline(always)]
    pub(crate) fn advance<P: Probe>(
        &mut self,
        now: Time,
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) -> Backlog {
        if let Some(queue) = &self.scheduled {
            return queue.backlog();
        }
        self.let_depart(now, Arenas { pool, extras }, probe);
        self.fast_backlog(pool)
    }

    /// Advances a fast queue to `now`.
    #[inline(always)]
    fn let_depart<P: Probe>(&mut self, now: Time, arenas: Arenas<'_>, probe: &mut P) {
        if self.detours && self.telemetry {
            return self.let_depart_stamped(now, arenas, probe);
        }
        self.let_depart_unstamped(now, arenas.pool, probe);
    }

    #[inline(always)]
    fn let_depart_unstamped<P: Probe>(&mut self, now: Time, pool: &Pool, probe: &mut P) {
        let (index, observed) = (self.index, self.observed);
        self.fast.advance(now, self.delay, pool, |next| {
            if observed {
                probe.queue_changed(index, next.at, next.stored.packets - 1);
            }
        });
    }

    fn idle_since(&self, backlog: Backlog) -> Option<Time> {
        if backlog.stored_packets > 0 {
            return None;
        }
        let queue = self.scheduled.as_ref();
        Some(queue.map_or(self.fast.busy_until(), |queue| queue.idle_since()))
    }

    /// All packets inside: waiting, being sent, on the wire.
    pub(crate) fn inside<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Packet> {
        self.stored(pool)
            .chain(self.row.iter(pool).map(|flight| &flight.packet))
    }

    /// Conservation: offered = dropped + delivered + inside.
    pub(crate) fn check_conservation(&self, pool: &Pool) {
        let PortCounters {
            offered, dropped, ..
        } = self.gate.counters();
        let inside = self.inside(pool).count() as u64;
        assert!(
            offered == dropped + self.delivered + inside,
            "port {}: {offered} packets offered, {dropped} dropped, {} delivered, {inside} inside",
            self.index.index(),
            self.delivered,
        );
    }
}

/// Picoseconds per byte, if that is a whole number.
fn pace(line: &Serializer) -> u32 {
    let exact = line.exact().map(Span::as_ps);
    exact.and_then(|ps| u32::try_from(ps).ok()).unwrap_or(0)
}

/// The fair queue, where it is one.
fn fair(queue: &mut Option<Box<ScheduledQueue>>) -> Option<&mut FairQueue<Packet>> {
    match queue.as_deref_mut()? {
        ScheduledQueue::Fair(queue) => Some(queue),
        ScheduledQueue::General(_) | ScheduledQueue::Dual(_) | ScheduledQueue::Priority(_) => None,
    }
}
