//! The queues of a port with priorities, and their line: a FIFO for each of eight priorities, any of which can
//! be paused.
//!
//! Source: IEEE 802.1Q, clause 8.6.6 to 8.6.8. A pause takes effect at the boundary of frames: a packet whose sending
//! has begun is finished (802.3, annex 31B.3). Leaves out: the buffer, the timing of pauses, marking.

use std::collections::VecDeque;

use incastle_units::{Bytes, Packets, Serializer, Time};

use crate::{Priority, PrioritySet, Queued, Scheduler, SchedulerConfig, Transmitter};

/// A packet that waits, and the instant before which its sending must not begin (a host's jitter).
#[derive(Debug, Clone, Copy)]
struct Waiting<T> {
    ready: Time,
    packet: T,
}

/// The queue of one priority.
struct Lane<T> {
    packets: VecDeque<Waiting<T>>,
    bytes: Bytes,
}

impl<T: Queued> Lane<T> {
    const EMPTY: Self = Self {
        packets: VecDeque::new(),
        bytes: Bytes::ZERO,
    };

    fn push(&mut self, waiting: Waiting<T>) {
        self.bytes += waiting.packet.size();
        self.packets.push_back(waiting);
    }

    fn pop(&mut self) -> Option<Waiting<T>> {
        let waiting = self.packets.pop_front()?;
        self.bytes -= waiting.packet.size();
        Some(waiting)
    }

    fn take_all(&mut self) -> impl Iterator<Item = T> {
        self.bytes = Bytes::ZERO;
        self.packets.drain(..).map(|waiting| waiting.packet)
    }

    fn backlog(&self) -> LaneBacklog {
        LaneBacklog {
            packets: Packets::new(self.packets.len() as u64),
            bytes: self.bytes,
        }
    }
}

/// Packets that wait, the one being sent excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneBacklog {
    /// Their number.
    pub packets: Packets,
    /// Their bytes.
    pub bytes: Bytes,
}

/// A packet whose sending has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Began {
    /// Its priority; the highest for a frame of MAC control.
    pub priority: Priority,
    /// Its size.
    pub size: Bytes,
}

/// The queues. Fields that every packet reads come first.
#[repr(C)]
pub struct PriorityQueue<T> {
    transmitter: Transmitter<T>,
    total: LaneBacklog,
    began: Option<Began>,
    /// The priorities with packets that wait.
    waiting: PrioritySet,
    paused: PrioritySet,
    /// Frames of MAC control (pauses), which go before all priorities and are never paused.
    frames: VecDeque<T>,
    scheduler: Scheduler,
    lanes: [Lane<T>; Priority::COUNT],
}

impl<T: Queued> PriorityQueue<T> {
    /// Empty queues at an idle line, none paused. The configuration must pass [`SchedulerConfig::check`].
    pub fn new(config: &SchedulerConfig) -> Self {
        Self {
            frames: VecDeque::new(),
            lanes: [const { Lane::EMPTY }; Priority::COUNT],
            waiting: PrioritySet::EMPTY,
            total: LaneBacklog::default(),
            paused: PrioritySet::EMPTY,
            scheduler: Scheduler::new(config),
            transmitter: Transmitter::default(),
            began: None,
        }
    }

    /// The instant since which the line is idle, packets of paused priorities or not.
    pub const fn idle_since(&self) -> Time {
        self.transmitter.idle_since()
    }

    /// The packets of all priorities that wait.
    pub const fn waiting(&self) -> LaneBacklog {
        self.total
    }

    /// The packets of one priority that wait.
    pub fn backlog(&self, priority: Priority) -> LaneBacklog {
        self.lanes[priority.index()].backlog()
    }

    /// The packet being sent.
    pub fn sending(&self) -> Option<&T> {
        self.transmitter.packet()
    }

    /// Its departure.
    pub fn departs(&self) -> Option<Time> {
        self.transmitter.departs()
    }

    /// The priorities that are paused.
    pub const fn paused(&self) -> PrioritySet {
        self.paused
    }

    /// The packet whose sending began last, unless it was taken already. To be called after `push`, `depart` and
    /// `resume` where they return a departure.
    pub const fn take_began(&mut self) -> Option<Began> {
        self.began.take()
    }

    /// Appends an admitted packet to the queue of its priority; returns its departure if it is sent immediately. Its
    /// sending begins not before `ready`, which is the present instant at a switch.
    #[inline]
    pub fn push(
        &mut self,
        ready: Time,
        priority: Priority,
        packet: T,
        line: &mut Serializer,
    ) -> Option<Time> {
        if self.is_next(priority) {
            let size = packet.size();
            self.began = Some(Began { priority, size });
            return Some(self.transmitter.begin(ready, packet, line));
        }
        self.total.packets += Packets::new(1);
        self.total.bytes += packet.size();
        self.lanes[priority.index()].push(Waiting { ready, packet });
        self.waiting.insert(priority);
        self.begin(ready, line)
    }

    /// Whether a packet of this priority is sent as soon as it comes, whatever the rounds of others: the line is idle, and
    /// nothing waits.
    fn is_next(&self, priority: Priority) -> bool {
        self.transmitter.packet().is_none()
            && self.total.packets == Packets::ZERO
            && !self.paused.contains(priority)
            && self.scheduler.is_strict(priority)
    }

    /// Appends a frame of MAC control; returns its departure if it is sent immediately.
    pub fn push_frame(&mut self, now: Time, frame: T, line: &mut Serializer) -> Option<Time> {
        self.total.packets += Packets::new(1);
        self.total.bytes += frame.size();
        self.frames.push_back(frame);
        self.begin(now, line)
    }

    /// The packet being sent has left; returns it with the departure of the next. Nothing where the event is
    /// outdated.
    #[inline]
    pub fn depart(&mut self, now: Time, line: &mut Serializer) -> Option<(T, Option<Time>)> {
        let packet = self.transmitter.finish(now)?;
        Some((packet, self.begin(now, line)))
    }

    /// No further packet of these priorities begins.
    pub const fn pause(&mut self, priorities: PrioritySet) {
        self.paused = self.paused.union(priorities);
    }

    /// These priorities may send again; returns the departure of a packet that begins on the idle line.
    pub fn resume(
        &mut self,
        priorities: PrioritySet,
        now: Time,
        line: &mut Serializer,
    ) -> Option<Time> {
        self.paused = self.paused.without(priorities);
        self.begin(now, line)
    }

    /// Begins to send the next packet if the line is idle and one may; returns its departure.
    fn begin(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        if self.transmitter.packet().is_some() {
            return None;
        }
        if let Some(frame) = self.frames.pop_front() {
            return Some(self.begin_frame(now, frame, line));
        }
        let priority = self.next_priority()?;
        let lane = &mut self.lanes[priority.index()];
        let Waiting { ready, packet } = lane.pop().expect("the scheduler chose a first packet");
        if lane.packets.is_empty() {
            self.waiting.remove(priority);
        }
        let size = packet.size();
        self.total.packets -= Packets::new(1);
        self.total.bytes -= size;
        self.began = Some(Began { priority, size });
        Some(self.transmitter.begin(now.max(ready), packet, line))
    }

    fn begin_frame(&mut self, now: Time, frame: T, line: &mut Serializer) -> Time {
        let size = frame.size();
        self.total.packets -= Packets::new(1);
        self.total.bytes -= size;
        self.began = Some(Began {
            priority: Priority::ALL[Priority::COUNT - 1],
            size,
        });
        self.transmitter.begin(now, frame, line)
    }

    /// The priority that sends next.
    fn next_priority(&mut self) -> Option<Priority> {
        let stopped = self.paused.without(self.scheduler.never_paused());
        let ready = self.waiting.without(stopped);
        if ready.is_empty() {
            return None;
        }
        if let Some(priority) = self.scheduler.first_strict(ready) {
            return Some(priority);
        }
        let heads = Priority::ALL.map(|priority| {
            let lane = &self.lanes[priority.index()];
            let first = lane.packets.front().filter(|_| ready.contains(priority))?;
            Some(first.packet.size())
        });
        self.scheduler.next(&heads)
    }

    /// `line` has another rate from now on. At a switch every packet that is being sent has begun.
    pub fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        self.transmitter.change_rate(now, line)
    }

    /// Takes out the packets of these priorities that wait (a watchdog that drops).
    pub fn flush(&mut self, priorities: PrioritySet) -> Vec<T> {
        let mut packets = Vec::new();
        for priority in priorities.iter() {
            let lane = &mut self.lanes[priority.index()];
            let LaneBacklog {
                packets: count,
                bytes,
            } = lane.backlog();
            self.total.packets -= count;
            self.total.bytes -= bytes;
            packets.extend(lane.take_all());
            self.waiting.remove(priority);
        }
        packets
    }

    /// The line fails: returns all packets of the queues, which are empty now. Nothing is paused any more, since the
    /// peer has lost its state as well.
    pub fn cut(&mut self, now: Time) -> Vec<T> {
        let mut packets: Vec<T> = self.transmitter.cut(now).into_iter().collect();
        packets.extend(self.flush(PrioritySet::ALL));
        for frame in self.frames.drain(..) {
            self.total.packets -= Packets::new(1);
            self.total.bytes -= frame.size();
            packets.push(frame);
        }
        self.paused = PrioritySet::EMPTY;
        self.began = None;
        packets
    }

    /// Packets of one priority that wait.
    pub fn waiting_packets(&self, priority: Priority) -> impl Iterator<Item = &T> {
        let lane = &self.lanes[priority.index()];
        lane.packets.iter().map(|waiting| &waiting.packet)
    }

    /// Packets waiting or being sent.
    pub fn stored(&self) -> impl Iterator<Item = &T> {
        let waiting = self.lanes.iter().flat_map(|lane| &lane.packets);
        waiting
            .map(|waiting| &waiting.packet)
            .chain(&self.frames)
            .chain(self.transmitter.packet())
    }
}
