//! The two queues of DualPI2, and their line.
//!
//! The controller in `dualpi2` selects the queue and judges each packet when it is taken out. The packets that
//! it marks or drops are kept for the port, which counts them. Leaves out: the buffer.

use std::collections::VecDeque;

use incastle_units::{Packets, Serializer, Time};

use crate::{
    Dequeued, DualHeads, DualLane, DualPi2, DualPi2Config, EcnQueued, Transmitter, Verdict,
};

/// A packet that waits since an instant.
#[derive(Debug, Clone, Copy)]
struct Waiting<T> {
    since: Time,
    packet: T,
}

/// A packet that was marked or dropped when it was taken out of its queue.
#[derive(Debug, Clone, Copy)]
pub struct JudgedLate<T> {
    /// `Mark` or `Drop`.
    pub verdict: Verdict,
    /// The packet.
    pub packet: T,
}

/// The occupancy of the queues.
#[derive(Debug, Clone, Copy)]
pub struct DualBacklog<'a, T> {
    /// Packets that wait.
    pub waiting_packets: u32,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// The packet being sent.
    pub sending: Option<&'a T>,
}

/// The queues.
pub struct DualQueue<T> {
    control: DualPi2,
    classic: VecDeque<Waiting<T>>,
    l4s: VecDeque<Waiting<T>>,
    waiting_bytes: u64,
    transmitter: Transmitter<T>,
    /// Packets marked or dropped since the port took the last one.
    judged: VecDeque<JudgedLate<T>>,
}

impl<T: EcnQueued + Copy> DualQueue<T> {
    /// Empty queues at an idle line.
    pub fn new(config: DualPi2Config) -> Self {
        Self {
            control: DualPi2::new(config),
            classic: VecDeque::new(),
            l4s: VecDeque::new(),
            waiting_bytes: 0,
            transmitter: Transmitter::default(),
            judged: VecDeque::new(),
        }
    }

    /// The instant since which the line is idle.
    pub const fn idle_since(&self) -> Time {
        self.transmitter.idle_since()
    }

    /// The occupancy.
    pub fn backlog(&self) -> DualBacklog<'_, T> {
        DualBacklog {
            waiting_packets: (self.classic.len() + self.l4s.len()) as u32,
            waiting_bytes: self.waiting_bytes,
            sending: self.transmitter.packet(),
        }
    }

    /// Appends an admitted packet to its queue; returns its departure if it is sent immediately.
    pub fn push(&mut self, now: Time, packet: T, line: &mut Serializer) -> Option<Time> {
        self.control.advance(now, self.heads());
        let lane = DualLane::of(packet.ecn());
        self.waiting_bytes += packet.size().count();
        self.queue(lane).push_back(Waiting { since: now, packet });
        if self.transmitter.packet().is_some() {
            return None;
        }
        self.begin(now, line)
    }

    /// The packet being sent has left; returns it with the departure of the next. Nothing where the event is
    /// outdated.
    pub fn depart(&mut self, now: Time, line: &mut Serializer) -> Option<(T, Option<Time>)> {
        let packet = self.transmitter.finish(now)?;
        self.control.advance(now, self.heads());
        Some((packet, self.begin(now, line)))
    }

    /// Begins to send the next packet that is not dropped; returns its departure.
    fn begin(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        let next = self.next(now)?;
        Some(self.transmitter.begin(now, next, line))
    }

    /// RFC 9332, figures 4 and 7: takes out packets until one is not dropped.
    fn next(&mut self, now: Time) -> Option<T> {
        loop {
            let lane = self.control.select(self.heads())?;
            let queue = self.queue(lane);
            let Waiting { since, mut packet } = queue.pop_front()?;
            let behind = Packets::new(queue.len() as u64);
            self.waiting_bytes -= packet.size().count();
            let verdict = self.control.judge(&Dequeued {
                lane,
                ecn: packet.ecn(),
                waited: now.saturating_since(since),
                behind,
            });
            if verdict == Verdict::Mark {
                packet.mark();
            }
            if verdict != Verdict::Admit {
                self.judged.push_back(JudgedLate { verdict, packet });
            }
            if !matches!(verdict, Verdict::Drop(_)) {
                let DualHeads { classic, l4s } = self.heads();
                let other_waits = match lane {
                    DualLane::Classic => l4s.is_some(),
                    DualLane::L4s => classic.is_some(),
                };
                self.control.charge(lane, packet.size(), other_waits);
                return Some(packet);
            }
        }
    }

    fn heads(&self) -> DualHeads {
        let head = |queue: &VecDeque<Waiting<T>>| queue.front().map(|first| first.since);
        DualHeads {
            classic: head(&self.classic),
            l4s: head(&self.l4s),
        }
    }

    fn queue(&mut self, lane: DualLane) -> &mut VecDeque<Waiting<T>> {
        match lane {
            DualLane::Classic => &mut self.classic,
            DualLane::L4s => &mut self.l4s,
        }
    }

    /// Takes the next packet that was marked or dropped.
    pub fn take_judged(&mut self) -> Option<JudgedLate<T>> {
        self.judged.pop_front()
    }

    /// Whether packets were marked or dropped since the last was taken.
    pub fn has_judged(&self) -> bool {
        !self.judged.is_empty()
    }

    /// `line` has another rate from now on. At a switch every packet that is being sent has begun.
    pub fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        self.transmitter.change_rate(now, line)
    }

    /// The line fails: returns all packets of the queues, which are empty now.
    pub fn cut(&mut self, now: Time) -> Vec<T> {
        self.control.advance(now, self.heads());
        let sending = self.transmitter.cut(now);
        let waiting = self.classic.drain(..).chain(self.l4s.drain(..));
        self.waiting_bytes = 0;
        sending
            .into_iter()
            .chain(waiting.map(|waiting| waiting.packet))
            .collect()
    }

    /// Packets waiting or being sent.
    pub fn stored(&self) -> impl Iterator<Item = &T> {
        let waiting = self.classic.iter().chain(&self.l4s);
        waiting
            .map(|waiting| &waiting.packet)
            .chain(self.transmitter.packet())
    }
}
