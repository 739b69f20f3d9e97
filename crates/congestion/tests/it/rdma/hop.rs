//! One port that several queue pairs share: the smallest network in which the controls of RDMA show their fixed
//! points. Senders always have data, pace packets at their rates, and keep within their windows. The port is a
//! FIFO queue without limit, marks a packet that leaves more than K bytes behind, and writes telemetry as it
//! dequeues. Every packet is acknowledged; marks are echoed, or become CNPs at most one per interval.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incastle_congestion::{AckSample, Algorithm, CongestionEvent, Controller, Echo, HopTelemetry};
use incastle_units::{Bytes, Rate, Span, Time};

use super::{bits, rate, window};
use crate::support::{Sender, sample};

/// Payload and headers of a packet.
pub(super) const PAYLOAD: u64 = 1_000;
const HEADERS: u64 = 48;
pub(super) const FRAME: u64 = PAYLOAD + HEADERS;

/// The port and the paths through it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Port {
    pub(super) rate: Rate,
    /// From a sender to the port, and from the port over the receiver back to the sender.
    pub(super) one_way: Span,
    pub(super) marking: Option<Bytes>,
    /// The least time between two CNPs of a queue pair; absent: each echo is reported.
    pub(super) cnp_interval: Option<Span>,
}

/// Results of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    /// Payload that each queue pair delivered, in bits per second.
    pub(super) goodput: Vec<f64>,
    /// The mean of each alpha, where there is one.
    pub(super) alpha: Vec<f64>,
    /// The mean of the queue in bytes, as packets leave, and its maximum.
    pub(super) queue: f64,
    pub(super) max_queue: u64,
    /// Round-trip times in microseconds, sorted.
    pub(super) rtts: Vec<f64>,
    /// The share of the time in which the port sent.
    pub(super) busy: f64,
    /// The share of packets that were marked.
    pub(super) marked: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Send { pair: usize },
    Timer { pair: usize },
    Dequeue,
    Ack { pair: usize, packet: usize },
}

struct Packet {
    pair: usize,
    sent: Time,
    marked: bool,
    telemetry: HopTelemetry,
}

struct Pair {
    control: Algorithm,
    sender: Sender,
    /// The pacer's next departure, and whether an event waits for it.
    next_send: Time,
    scheduled: bool,
    timer: Option<Time>,
    last_cnp: Option<Time>,
    delivered: u64,
    alpha: (f64, u64),
}

pub(super) struct Hop {
    port: Port,
    pairs: Vec<Pair>,
    packets: Vec<Packet>,
    waiting: VecDeque<usize>,
    busy: bool,
    sent: u64,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    serial: u64,
    now: Time,
    from: Time,
    measured: Measured,
    samples: (u64, u64, u64),
}

impl Hop {
    pub(super) fn new(port: Port, controls: Vec<Algorithm>) -> Self {
        let pair = |control| Pair {
            control,
            sender: Sender::default(),
            next_send: Time::ZERO,
            scheduled: false,
            timer: None,
            last_cnp: None,
            delivered: 0,
            alpha: (0.0, 0),
        };
        Self {
            port,
            pairs: controls.into_iter().map(pair).collect(),
            packets: Vec::new(),
            waiting: VecDeque::new(),
            busy: false,
            sent: 0,
            events: BinaryHeap::new(),
            serial: 0,
            now: Time::ZERO,
            from: Time::ZERO,
            measured: Measured::default(),
            samples: (0, 0, 0),
        }
    }

    /// Runs for `warmup` and `length`, and measures the latter. Queue pairs begin a microsecond apart.
    pub(super) fn run(mut self, warmup: Span, length: Span) -> Measured {
        self.from = Time::ZERO + warmup;
        let end = self.from + length;
        for pair in 0..self.pairs.len() {
            self.pairs[pair].next_send = Time::ZERO + Span::from_us(pair as u64);
            self.schedule(pair);
        }
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            if now > end {
                break;
            }
            self.now = now;
            self.handle(event);
        }
        self.finish(length)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Send { pair } => {
                self.pairs[pair].scheduled = false;
                self.send(pair);
            }
            Event::Timer { pair } => {
                let Pair {
                    control,
                    sender,
                    timer,
                    ..
                } = &mut self.pairs[pair];
                *timer = None;
                sender.now = self.now;
                if control.next_timer().is_some_and(|at| at <= self.now) {
                    control.on_timer(&mut sender.cx());
                }
                self.settle(pair);
            }
            Event::Dequeue => {
                self.busy = false;
                self.dequeue();
            }
            Event::Ack { pair, packet } => self.ack(pair, packet),
        }
    }

    fn push(&mut self, at: Time, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((at, self.serial, event)));
    }

    /// Arms what a call may have changed.
    fn settle(&mut self, pair: usize) {
        let next = self.pairs[pair].control.next_timer();
        if let Some(at) = next
            && self.pairs[pair].timer.is_none_or(|armed| at < armed)
        {
            self.pairs[pair].timer = Some(at);
            self.push(at, Event::Timer { pair });
        }
        self.schedule(pair);
    }

    /// The next departure, where the window has room.
    fn schedule(&mut self, pair: usize) {
        let one = &self.pairs[pair];
        let limit = window(&one.control);
        let flight = one.sender.snd_nxt - one.sender.snd_una;
        if one.scheduled || (limit > 0 && flight >= limit) {
            return;
        }
        let at = one.next_send.max(self.now);
        self.pairs[pair].scheduled = true;
        self.push(at, Event::Send { pair });
    }

    fn send(&mut self, pair: usize) {
        let one = &mut self.pairs[pair];
        one.sender.now = self.now;
        one.sender.send(&mut one.control, PAYLOAD);
        one.next_send = self.now + bits(rate(&one.control)).span_of(Bytes::new(FRAME));
        self.packets.push(Packet {
            pair,
            sent: self.now,
            marked: false,
            telemetry: HopTelemetry {
                rate: self.port.rate,
                at: self.now,
                sent: Bytes::ZERO,
                queue: Bytes::ZERO,
            },
        });
        self.waiting.push_back(self.packets.len() - 1);
        // The delay to the port counts in the reverse path: all paths have the same length.
        self.dequeue();
        self.settle(pair);
    }

    fn dequeue(&mut self) {
        if self.busy {
            return;
        }
        let Some(number) = self.waiting.pop_front() else {
            return;
        };
        let queue = self.waiting.len() as u64 * FRAME;
        let packet = &mut self.packets[number];
        packet.telemetry.at = self.now;
        packet.telemetry.sent = Bytes::new(self.sent);
        packet.telemetry.queue = Bytes::new(queue);
        packet.marked = self.port.marking.is_some_and(|k| queue > k.count());
        let (pair, marked) = (packet.pair, packet.marked);
        self.sent += FRAME;
        self.busy = true;
        if self.now >= self.from {
            self.samples.0 += 1;
            self.samples.1 += queue;
            self.samples.2 += u64::from(marked);
            self.measured.max_queue = self.measured.max_queue.max(queue);
        }
        let done = self.now + self.port.rate.span_of(Bytes::new(FRAME));
        self.push(done, Event::Dequeue);
        let back = done + self.port.one_way * 2;
        self.push(
            back,
            Event::Ack {
                pair,
                packet: number,
            },
        );
    }

    fn ack(&mut self, pair: usize, number: usize) {
        let Packet {
            sent,
            marked,
            telemetry,
            ..
        } = self.packets[number];
        let rtt = self.now - sent;
        let one = &mut self.pairs[pair];
        one.sender.now = self.now;
        one.sender.snd_una += PAYLOAD;
        let hops = [telemetry];
        let ack = AckSample {
            echo: if marked {
                Echo::Congestion
            } else {
                Echo::Clear
            },
            rtt: Some(rtt),
            hops: &hops,
            ..sample(PAYLOAD, Echo::Clear)
        };
        one.control.on_ack(&mut one.sender.cx(), &ack);
        let due = self
            .port
            .cnp_interval
            .is_none_or(|interval| one.last_cnp.is_none_or(|last| self.now - last >= interval));
        if marked && due {
            one.last_cnp = Some(self.now);
            one.control
                .on_congestion(&mut one.sender.cx(), CongestionEvent::Ecn);
        }
        if self.now >= self.from {
            one.delivered += PAYLOAD;
            if let Some(alpha) = one.control.state().alpha {
                one.alpha = (one.alpha.0 + alpha, one.alpha.1 + 1);
            }
            self.measured.rtts.push(rtt.as_ps() as f64 / 1e6);
        }
        self.settle(pair);
    }

    fn finish(mut self, length: Span) -> Measured {
        let seconds = length.as_secs_lossy();
        let (packets, queued, marked) = self.samples;
        let measured = &mut self.measured;
        measured.rtts.sort_by(f64::total_cmp);
        measured.queue = queued as f64 / packets as f64;
        measured.marked = marked as f64 / packets as f64;
        let line = self.port.rate.bits_per_second() as f64;
        measured.busy = (packets * FRAME * 8) as f64 / line / seconds;
        for pair in &self.pairs {
            measured.goodput.push((pair.delivered * 8) as f64 / seconds);
            measured
                .alpha
                .push(pair.alpha.0 / pair.alpha.1.max(1) as f64);
        }
        self.measured
    }
}

impl Measured {
    /// A quantile of the round-trip times.
    pub(super) fn rtt(&self, quantile: f64) -> f64 {
        self.rtts[((self.rtts.len() - 1) as f64 * quantile) as usize]
    }

    /// Jain's index of the goodput.
    pub(super) fn fairness(&self) -> f64 {
        let sum: f64 = self.goodput.iter().sum();
        let squares: f64 = self.goodput.iter().map(|one| one * one).sum();
        sum * sum / squares / self.goodput.len() as f64
    }
}
