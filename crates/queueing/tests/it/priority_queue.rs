//! The queues of eight priorities at one line: order, pauses at the boundary of frames, accounting.

use incastle_cases::cases;
use incastle_queueing::{
    Began, LaneBacklog, Priority, PriorityQueue, PrioritySet, Queued, SchedulerConfig,
};
use incastle_units::{Bytes, Packets, Rate, Serializer, Time};
use proptest::prelude::*;

/// 8 Gbit/s: a byte per nanosecond.
const FAST: Rate = Rate::from_bits_per_second(8_000_000_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packet {
    number: u64,
    size: u64,
    priority: Priority,
}

impl Queued for Packet {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
}

fn ns(count: u64) -> Time {
    Time::from_ps(count * 1_000)
}

fn priority(number: u8) -> Priority {
    Priority::new(number).expect("it is below 8")
}

fn only(number: u8) -> PrioritySet {
    PrioritySet::only(priority(number))
}

fn packet(number: u64, size: u64, of: u8) -> Packet {
    Packet {
        number,
        size,
        priority: priority(of),
    }
}

const fn backlog(packets: u64, bytes: u64) -> LaneBacklog {
    LaneBacklog {
        packets: Packets::new(packets),
        bytes: Bytes::new(bytes),
    }
}

struct Port {
    queue: PriorityQueue<Packet>,
    line: Serializer,
}

impl Port {
    fn new(config: &SchedulerConfig) -> Self {
        Self {
            queue: PriorityQueue::new(config),
            line: Serializer::new(FAST),
        }
    }

    fn push(&mut self, now: u64, packet: Packet) -> Option<Time> {
        self.queue
            .push(ns(now), packet.priority, packet, &mut self.line)
    }

    /// The number of the packet that leaves, and the next departure.
    fn depart(&mut self, now: u64) -> Option<(u64, Option<Time>)> {
        let (packet, next) = self.queue.depart(ns(now), &mut self.line)?;
        Some((packet.number, next))
    }

    fn resume(&mut self, now: u64, priorities: PrioritySet) -> Option<Time> {
        self.queue.resume(priorities, ns(now), &mut self.line)
    }
}

#[test]
fn a_pause_takes_effect_at_the_boundary_of_frames() {
    let mut port = Port::new(&SchedulerConfig::Strict);
    assert_eq!(port.push(0, packet(1, 1_000, 3)), Some(ns(1_000)));
    assert_eq!(port.push(10, packet(2, 500, 3)), None);
    assert_eq!(port.push(20, packet(3, 100, 1)), None);
    // The packet being sent is finished; of the others 2 would be first.
    port.queue.pause(only(3));
    assert_eq!(port.queue.paused(), only(3));
    assert_eq!(port.depart(1_000), Some((1, Some(ns(1_100)))));
    assert_eq!(port.depart(1_100), Some((3, None)));
    // The line is idle, with a packet that waits; one more of its priority does not begin either.
    assert_eq!(port.push(1_200, packet(4, 300, 3)), None);
    assert_eq!(port.queue.idle_since(), ns(1_100));
    assert_eq!(port.queue.waiting(), backlog(2, 800));
    assert_eq!(port.resume(2_000, only(5)), None);
    assert_eq!(port.resume(3_000, only(3)), Some(ns(3_500)));
    assert_eq!(port.resume(3_100, only(3)), None);
    assert_eq!(port.depart(3_500), Some((2, Some(ns(3_800)))));
}

#[test]
fn queue_0_of_round_robin_is_never_paused() {
    let mut port = Port::new(&SchedulerConfig::RoundRobin);
    port.queue.pause(PrioritySet::ALL);
    assert_eq!(port.push(0, packet(1, 100, 2)), None);
    assert_eq!(port.push(0, packet(2, 64, 0)), Some(ns(64)));
    assert_eq!(port.depart(64), Some((2, None)));
    let mut port = Port::new(&SchedulerConfig::Strict);
    port.queue.pause(PrioritySet::ALL);
    assert_eq!(port.push(0, packet(2, 64, 0)), None);
}

#[test]
fn frames_of_control_go_first_and_are_never_paused() {
    let mut line = Serializer::new(FAST);
    let mut queue = PriorityQueue::new(&SchedulerConfig::Strict);
    queue.pause(PrioritySet::ALL);
    assert_eq!(
        queue.push(ns(0), priority(7), packet(1, 100, 7), &mut line),
        None
    );
    assert_eq!(
        queue.push_frame(ns(0), packet(2, 64, 0), &mut line),
        Some(ns(64))
    );
    queue.resume(PrioritySet::ALL, ns(10), &mut line);
    assert_eq!(queue.push_frame(ns(20), packet(3, 64, 0), &mut line), None);
    assert_eq!(queue.waiting(), backlog(2, 164));
    let mut left = Vec::new();
    for departs in [64, 128, 228] {
        let (packet, _) = queue.depart(ns(departs), &mut line).expect("it is due");
        left.push(packet.number);
    }
    assert_eq!(left, [2, 3, 1]);
    assert_eq!(queue.waiting(), LaneBacklog::default());
    // A line that fails loses them as well.
    queue.push_frame(ns(300), packet(4, 64, 0), &mut line);
    queue.push_frame(ns(300), packet(5, 64, 0), &mut line);
    assert_eq!(queue.cut(ns(310)).len(), 2);
    assert_eq!(
        (queue.stored().count(), queue.waiting()),
        (0, LaneBacklog::default())
    );
}

#[test]
fn the_caller_learns_which_packet_began_and_may_mark_it() {
    let mut port = Port::new(&SchedulerConfig::Strict);
    let began = |of, size| {
        Some(Began {
            priority: priority(of),
            size: Bytes::new(size),
        })
    };
    assert_eq!(port.queue.take_began(), None);
    port.push(0, packet(1, 1_000, 3));
    assert_eq!(port.queue.take_began(), began(3, 1_000));
    assert_eq!(port.queue.backlog(priority(3)), backlog(0, 0));
    assert_eq!(port.queue.take_began(), None);
    port.push(1, packet(2, 200, 5));
    port.push(2, packet(3, 300, 5));
    port.push(3, packet(4, 400, 5));
    port.push(4, packet(5, 500, 6));
    assert_eq!(port.queue.take_began(), None);
    assert_eq!(port.queue.backlog(priority(5)), backlog(3, 900));
    assert_eq!(port.depart(1_000), Some((1, Some(ns(1_500)))));
    assert_eq!(port.queue.take_began(), began(6, 500));
    assert_eq!(port.queue.backlog(priority(6)), backlog(0, 0));
    // Behind packet 2 its own priority alone counts, without itself: 300 + 400.
    port.depart(1_500);
    assert_eq!(port.queue.take_began(), began(5, 200));
    assert_eq!(port.queue.backlog(priority(5)), backlog(2, 700));
    assert_eq!(port.queue.sending().map(|packet| packet.number), Some(2));
}

#[test]
fn a_packet_begins_when_it_is_ready() {
    let mut port = Port::new(&SchedulerConfig::Strict);
    assert_eq!(port.push(500, packet(1, 100, 0)), Some(ns(600)));
    assert_eq!(port.push(900, packet(2, 100, 0)), None);
    assert_eq!(port.depart(600), Some((1, Some(ns(1_000)))));
    // A change of rate before then moves its departure, and the event of the former is outdated.
    port.line = Serializer::new(Rate::from_bits_per_second(4_000_000_000));
    assert_eq!(
        port.queue.change_rate(ns(700), &mut port.line),
        Some(ns(1_100))
    );
    assert_eq!(port.depart(1_000), None);
    assert_eq!(port.depart(1_100), Some((2, None)));
}

#[test]
fn a_cut_line_is_empty_idle_and_not_paused() {
    let mut port = Port::new(&SchedulerConfig::Strict);
    for number in 0..4 {
        port.push(0, packet(number, 100, number as u8));
    }
    port.queue.pause(only(2));
    let flushed = port.queue.flush(only(1).union(only(2)));
    assert_eq!(flushed, [packet(1, 100, 1), packet(2, 100, 2)]);
    assert_eq!(port.queue.waiting(), backlog(1, 100));
    let cut = port.queue.cut(ns(50));
    assert_eq!(cut, [packet(0, 100, 0), packet(3, 100, 3)]);
    assert_eq!(port.queue.waiting(), backlog(0, 0));
    assert!(port.queue.paused().is_empty());
    assert_eq!(port.queue.idle_since(), ns(50));
    assert_eq!(port.queue.take_began(), None);
    assert_eq!(port.push(60, packet(9, 40, 2)), Some(ns(100)));
    // Two events at 100 ns: one of them is outdated.
    assert_eq!(port.depart(100), Some((9, None)));
    assert_eq!(port.depart(100), None);
}

#[derive(Debug, Clone)]
enum Step {
    Push { of: u8, size: u64 },
    Depart,
    Pause(u8),
    Resume(u8),
    Flush(u8),
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..8_u8, 1..3_000_u64).prop_map(|(of, size)| Step::Push { of, size }),
        8 => Just(Step::Depart),
        2 => any::<u8>().prop_map(Step::Pause),
        2 => any::<u8>().prop_map(Step::Resume),
        1 => any::<u8>().prop_map(Step::Flush),
        1 => Just(Step::Cut),
    ]
}

fn scheduler() -> impl Strategy<Value = SchedulerConfig> {
    let quanta = prop::array::uniform8(500..4_000_u64).prop_map(|quanta| quanta.map(Bytes::new));
    prop_oneof![
        Just(SchedulerConfig::Strict),
        Just(SchedulerConfig::RoundRobin),
        (any::<u8>(), quanta).prop_map(|(bits, quanta)| SchedulerConfig::Mixed {
            strict: PrioritySet::from_bits(bits),
            quanta,
        }),
    ]
}

/// The queues as lists, and the packet being sent.
#[derive(Default)]
struct Model {
    waiting: Vec<Packet>,
    sending: Option<(Packet, Time)>,
    paused: PrioritySet,
    never_paused: PrioritySet,
}

impl Model {
    fn may_send(&self, one: Priority) -> bool {
        self.never_paused.contains(one) || !self.paused.contains(one)
    }

    /// A packet has begun: it is the first of a priority that may send.
    fn begin(&mut self, began: Began, now: Time, departs: Time) {
        assert!(self.sending.is_none() && self.may_send(began.priority));
        let first = self
            .waiting
            .iter()
            .position(|packet| packet.priority == began.priority);
        let packet = self.waiting.remove(first.expect("it waited"));
        assert_eq!(began.size, packet.size());
        assert_eq!(departs, now + FAST.span_of(packet.size()));
        self.sending = Some((packet, departs));
    }

    fn backlog(&self, of: impl Fn(Priority) -> bool) -> LaneBacklog {
        let packets = self.waiting.iter().filter(|packet| of(packet.priority));
        let sizes: Vec<u64> = packets.map(|packet| packet.size).collect();
        backlog(sizes.len() as u64, sizes.iter().sum())
    }

    fn take(&mut self, of: PrioritySet) -> Vec<u64> {
        let (out, kept) = self
            .waiting
            .iter()
            .partition(|packet| of.contains(packet.priority));
        self.waiting = kept;
        let mut out: Vec<Packet> = out;
        out.sort_by_key(|packet| packet.priority);
        out.iter().map(|packet| packet.number).collect()
    }
}

fn numbers(packets: &[Packet]) -> Vec<u64> {
    packets.iter().map(|packet| packet.number).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1_024)))]

    /// Over any sequence of operations: each priority is a FIFO, a paused priority begins nothing, an idle line has
    /// nothing that may begin, and no packet or byte is lost or made.
    #[test]
    fn queues_keep_order_pauses_and_packets(
        config in scheduler(),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let mut port = Port::new(&config);
        let mut model = Model::default();
        if config == SchedulerConfig::RoundRobin {
            model.never_paused = only(0);
        }
        // Departure events of packets that were cut find nothing to send, or another packet.
        let mut outdated: Vec<Time> = Vec::new();
        let mut now = Time::ZERO;
        for (number, step) in steps.into_iter().enumerate() {
            let mut departs = None;
            match step {
                Step::Push { of, size } => {
                    let packet = packet(number as u64, size, of);
                    model.waiting.push(packet);
                    departs = port.queue.push(now, packet.priority, packet, &mut port.line);
                }
                Step::Depart => {
                    let Some((packet, at)) = model.sending.take() else { continue };
                    // Events of the past and, at the same instant, of cut packets: the queue reports one departure.
                    for _ in outdated.extract_if(.., |due| *due < at) {
                        prop_assert!(port.queue.depart(now, &mut port.line).is_none());
                    }
                    now = at;
                    let (left, next) = port.queue.depart(now, &mut port.line).expect("it is due");
                    prop_assert_eq!(left, packet);
                    departs = next;
                }
                Step::Pause(bits) => {
                    let bits = PrioritySet::from_bits(bits);
                    model.paused = model.paused.union(bits);
                    port.queue.pause(bits);
                }
                Step::Resume(bits) => {
                    let bits = PrioritySet::from_bits(bits);
                    model.paused = model.paused.without(bits);
                    departs = port.queue.resume(bits, now, &mut port.line);
                }
                Step::Flush(bits) => {
                    let bits = PrioritySet::from_bits(bits);
                    prop_assert_eq!(numbers(&port.queue.flush(bits)), model.take(bits));
                }
                Step::Cut => {
                    let sending = model.sending.take();
                    outdated.extend(sending.map(|(_, at)| at));
                    let mut all: Vec<u64> = sending.iter().map(|(packet, _)| packet.number).collect();
                    all.extend(model.take(PrioritySet::ALL));
                    model.paused = PrioritySet::EMPTY;
                    prop_assert_eq!(numbers(&port.queue.cut(now)), all);
                }
            }
            let began = port.queue.take_began();
            prop_assert_eq!(began.is_some(), departs.is_some());
            if let Some((began, departs)) = began.zip(departs) {
                model.begin(began, now, departs);
            }
            let idle = model.sending.is_none();
            let may_begin = model.waiting.iter().any(|packet| model.may_send(packet.priority));
            prop_assert!(!(idle && may_begin), "the line is idle");
            prop_assert_eq!(port.queue.sending().copied(), model.sending.map(|(packet, _)| packet));
            prop_assert_eq!(port.queue.waiting(), model.backlog(|_| true));
            for one in Priority::ALL {
                prop_assert_eq!(port.queue.backlog(one), model.backlog(|other| other == one));
            }
            prop_assert_eq!(
                port.queue.stored().count(),
                model.waiting.len() + usize::from(!idle)
            );
        }
    }
}
