//! Several senders over one link, each with its own round-trip time, start and end: the smallest network in which
//! shares show.
//!
//! All propagation is behind the link. A packet that finds `capacity` waiting is lost, others that find more than
//! `marking_threshold` waiting are marked. Each packet has its own ACK, late by up to a service time at random, in
//! order. A lost packet is reported at the time of its ACK, and its data count as repaired. Interfaces are as fast as
//! the link. ACKs are never lost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incastle_congestion::{
    Algorithm, CongestionEvent, Controller, DcudpR, DcudpRConfig, Echo, Window,
};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::support::{Sender, sample};

/// Payload of a packet, and its size on the wire.
pub(crate) const PAYLOAD: u64 = 1456;
const WIRE: u64 = 1500;

#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) rate: Rate,
    pub(crate) marking_threshold: u64,
    pub(crate) capacity: u64,
    /// Packets lost at random, in parts of a thousand.
    pub(crate) loss: u64,
}

/// A sender that always has something to send, from `start` to `stop`.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rtt: Span,
    pub(crate) start: Time,
    pub(crate) stop: Time,
}

impl Plan {
    pub(crate) fn lasting(rtt: Span) -> Self {
        Self {
            rtt,
            start: Time::ZERO,
            stop: Time::NEVER,
        }
    }
}

/// The link during one interval of the record.
#[derive(Clone, Default)]
pub(crate) struct Bin {
    /// Packets served, per flow.
    pub(crate) served: Vec<u64>,
    pub(crate) marked: u64,
    pub(crate) lost: u64,
    /// The packets waiting at each sample.
    pub(crate) queue_sum: u64,
    pub(crate) samples: u64,
    pub(crate) queue_max: u64,
    pub(crate) queue_min: u64,
}

/// The sum of some bins.
pub(crate) struct Totals {
    pub(crate) rates: Vec<f64>,
    pub(crate) utilisation: f64,
    pub(crate) mean_queue: f64,
    pub(crate) longest_queue: u64,
    pub(crate) shortest_queue: u64,
    pub(crate) marked: f64,
    pub(crate) lost: f64,
}

impl Totals {
    /// Jain's index of the rates.
    pub(crate) fn index(&self) -> f64 {
        let sum: f64 = self.rates.iter().sum();
        let squares: f64 = self.rates.iter().map(|rate| rate * rate).sum();
        sum * sum / (self.rates.len() as f64 * squares)
    }
}

/// The measures of a run, in bins of equal length.
pub(crate) struct Record {
    pub(crate) every: Span,
    pub(crate) bins: Vec<Bin>,
    service: Span,
}

impl Record {
    /// The bins from one instant to another.
    pub(crate) fn between(&self, from: Span, to: Span) -> Totals {
        let index = |span: Span| (span.as_ps() / self.every.as_ps()) as usize;
        let bins = &self.bins[index(from)..index(to)];
        let flows = bins[0].served.len();
        let seconds = (to - from).as_ps() as f64 / 1e12;
        let served: Vec<u64> = (0..flows)
            .map(|flow| bins.iter().map(|bin| bin.served[flow]).sum())
            .collect();
        let all: u64 = served.iter().sum();
        let sum = |of: fn(&Bin) -> u64| bins.iter().map(of).sum::<u64>() as f64;
        let lost = sum(|bin| bin.lost);
        Totals {
            rates: served.iter().map(|it| *it as f64 / seconds).collect(),
            utilisation: all as f64 * self.service.as_ps() as f64 / (to - from).as_ps() as f64,
            mean_queue: sum(|bin| bin.queue_sum) / sum(|bin| bin.samples),
            longest_queue: bins.iter().map(|bin| bin.queue_max).max().unwrap_or(0),
            shortest_queue: bins.iter().map(|bin| bin.queue_min).min().unwrap_or(0),
            marked: sum(|bin| bin.marked) / all as f64,
            lost: lost / (lost + all as f64),
        }
    }
}

/// The shares of two flows of the revised DCUDP at 10 Gbit/s, per millisecond: the second joins after 20 ms and stops
/// after 60 ms. The snapshot of the tests.
pub(crate) fn csv() -> String {
    let ms = Span::from_ms(1);
    let link = Link {
        rate: Rate::from_bits_per_second(10_000_000_000),
        marking_threshold: 65,
        capacity: 1000,
        loss: 0,
    };
    let first = Plan::lasting(Span::from_us(100));
    let second = Plan {
        start: Time::ZERO + ms * 20,
        stop: Time::ZERO + ms * 60,
        ..first
    };
    let control = || Algorithm::from(DcudpR::new(DcudpRConfig::new(Bytes::new(PAYLOAD))));
    let record = Shared::new(link, &[first, second], control).run(ms * 80, ms);
    let mut text = String::from("time_ms,first_packets,second_packets,marked,longest_queue\n");
    for (time, bin) in record.bins.iter().enumerate() {
        let (served, marked, longest) = (&bin.served, bin.marked, bin.queue_max);
        let line = format!("{time},{},{},{marked},{longest}\n", served[0], served[1]);
        text.push_str(&line);
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Send(usize),
    Feedback(usize),
    Sample,
}

/// A packet's feedback.
struct Packet {
    number: u64,
    sent: Time,
    at: Time,
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passed,
    Marked,
    Lost,
}

struct Flow {
    plan: Plan,
    sender: Sender,
    control: Algorithm,
    packets: VecDeque<Packet>,
    next_send: Time,
    /// A `Send` is in the heap.
    waits: bool,
}

impl Flow {
    fn may_send(&self, now: Time) -> bool {
        let window = match self.control.window() {
            Window::Limited(bytes) => (bytes.count() / PAYLOAD).max(1),
            Window::Unlimited => u64::MAX,
        };
        let outstanding = self.sender.snd_nxt - self.sender.snd_una;
        now >= self.plan.start && now < self.plan.stop && outstanding < window
    }
}

/// The link, its senders and the events to come.
pub(crate) struct Shared {
    link: Link,
    service: Span,
    flows: Vec<Flow>,
    heap: BinaryHeap<Reverse<(Time, u64, Happening)>>,
    count: u64,
    busy_until: Time,
    random: u64,
}

impl Shared {
    pub(crate) fn new(link: Link, plans: &[Plan], control: impl Fn() -> Algorithm) -> Self {
        let flows = plans.iter().map(|plan| Flow {
            plan: *plan,
            sender: Sender {
                capacity: Some(link.rate),
                ..Sender::default()
            },
            control: control(),
            packets: VecDeque::new(),
            next_send: plan.start,
            waits: false,
        });
        Self {
            link,
            service: link.rate.span_of(Bytes::new(WIRE)),
            flows: flows.collect(),
            heap: BinaryHeap::new(),
            count: 0,
            busy_until: Time::ZERO,
            random: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// Runs to `end` and records bins of `every`.
    pub(crate) fn run(mut self, end: Span, every: Span) -> Record {
        let mut record = Record {
            every,
            bins: vec![],
            service: self.service,
        };
        let bins = end.as_ps() / every.as_ps();
        let empty = Bin {
            served: vec![0; self.flows.len()],
            queue_min: u64::MAX,
            ..Bin::default()
        };
        record.bins = vec![empty; bins as usize];
        for flow in 0..self.flows.len() {
            self.wake(flow, self.flows[flow].plan.start);
        }
        self.push(Time::ZERO, Happening::Sample);
        while let Some(Reverse((now, _, happening))) = self.heap.pop() {
            if now >= Time::ZERO + end {
                break;
            }
            let since = now.saturating_since(Time::ZERO);
            let bin = &mut record.bins[(since.as_ps() / every.as_ps()) as usize];
            match happening {
                Happening::Send(flow) => self.send(flow, now, bin),
                Happening::Feedback(flow) => self.feed_back(flow, now),
                Happening::Sample => self.sample(now, bin),
            }
        }
        record
    }

    fn push(&mut self, at: Time, happening: Happening) {
        self.count += 1;
        self.heap.push(Reverse((at, self.count, happening)));
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }

    fn queue(&self, now: Time) -> u64 {
        let backlog = self.busy_until.saturating_since(now).as_ps();
        backlog.div_ceil(self.service.as_ps()).saturating_sub(1)
    }

    fn sample(&mut self, now: Time, bin: &mut Bin) {
        let queue = self.queue(now);
        bin.queue_sum += queue;
        bin.samples += 1;
        bin.queue_max = bin.queue_max.max(queue);
        bin.queue_min = bin.queue_min.min(queue);
        self.push(now + self.service * 2, Happening::Sample);
    }

    /// Lets a flow send as soon as its pacer allows.
    fn wake(&mut self, flow: usize, now: Time) {
        let it = &mut self.flows[flow];
        if !it.waits && it.may_send(now) {
            it.waits = true;
            let at = it.next_send.max(now);
            self.push(at, Happening::Send(flow));
        }
    }

    fn send(&mut self, flow: usize, now: Time, bin: &mut Bin) {
        self.flows[flow].waits = false;
        if !self.flows[flow].may_send(now) {
            return;
        }
        let fate = self.fate(now);
        match fate {
            Fate::Lost => bin.lost += 1,
            Fate::Passed | Fate::Marked => {
                self.busy_until = self.busy_until.max(now) + self.service;
                bin.served[flow] += 1;
                bin.marked += u64::from(fate == Fate::Marked);
            }
        }
        let late = Span::from_ps(self.draw() % self.service.as_ps());
        let it = &mut self.flows[flow];
        let arrival = self.busy_until.max(now) + it.plan.rtt + late;
        let at = it
            .packets
            .back()
            .map_or(arrival, |last| last.at.max(arrival));
        it.packets.push_back(Packet {
            number: it.sender.snd_nxt,
            sent: now,
            at,
            fate,
        });
        it.sender.now = now;
        it.sender.snd_nxt += 1;
        it.sender.in_flight = Bytes::new((it.sender.snd_nxt - it.sender.snd_una) * PAYLOAD);
        it.control.on_sent(&mut it.sender.cx(), Bytes::new(PAYLOAD));
        let paced = it
            .control
            .pacing()
            .map(|rate| rate.span_of(Bytes::new(PAYLOAD)));
        it.next_send = now + paced.unwrap_or(Span::ZERO).max(self.service);
        self.push(at, Happening::Feedback(flow));
        self.wake(flow, now);
    }

    fn fate(&mut self, now: Time) -> Fate {
        let queue = self.queue(now);
        let unlucky = self.draw() % 1000 < self.link.loss;
        match queue {
            _ if unlucky => Fate::Lost,
            queue if queue >= self.link.capacity => Fate::Lost,
            queue if queue > self.link.marking_threshold => Fate::Marked,
            _ => Fate::Passed,
        }
    }

    fn feed_back(&mut self, flow: usize, now: Time) {
        let it = &mut self.flows[flow];
        let packet = it.packets.pop_front().expect("feedback is of a packet");
        let sender = &mut it.sender;
        sender.now = now;
        sender.snd_una = packet.number + 1;
        sender.in_flight = Bytes::new((sender.snd_nxt - sender.snd_una) * PAYLOAD);
        let echo = match packet.fate {
            Fate::Marked => Echo::Congestion,
            Fate::Passed | Fate::Lost => Echo::Clear,
        };
        if packet.fate == Fate::Lost {
            let largest = packet.number;
            let loss = CongestionEvent::Loss { count: 1, largest };
            let _ = it.control.on_congestion(&mut sender.cx(), loss);
        } else {
            let mut ack = sample(PAYLOAD, echo);
            ack.rtt = Some(now.saturating_since(packet.sent));
            it.control.on_ack(&mut sender.cx(), &ack);
            if echo == Echo::Congestion {
                let _ = it
                    .control
                    .on_congestion(&mut sender.cx(), CongestionEvent::Ecn);
            }
        }
        self.wake(flow, now);
    }
}
