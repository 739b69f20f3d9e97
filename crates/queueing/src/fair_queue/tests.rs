//! Deficit round robin by hand, and against a simpler model.

use incastle_units::Rate;
use proptest::prelude::*;

use super::*;

const SIZE: u16 = 1_000;

#[derive(Debug, Clone, Copy)]
struct Packet {
    flow: u32,
    class: u32,
    size: u16,
}

impl Queued for Packet {
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }
}

impl Classified for Packet {
    fn flow(&self) -> u32 {
        self.flow
    }

    fn class(&self) -> u32 {
        self.class
    }
}

fn packet(flow: u32, size: u16) -> Packet {
    Packet {
        flow,
        class: 0,
        size,
    }
}

/// Bytes waiting or being sent.
fn stored(queue: &FairQueue<Packet>) -> u64 {
    let sending = queue.sending().map_or(Bytes::ZERO, Queued::size);
    (queue.waiting().bytes + sending).count()
}

/// A queue that sends one packet and has these (flow, size) waiting behind it.
fn queue_of(quantum: u64, waiting: &[(u32, u16)]) -> (FairQueue<Packet>, Serializer) {
    let mut queue = FairQueue::new(FairConfig {
        quantum: Bytes::new(quantum),
        drop: FairDrop::Longest,
        per: ClassifyBy::Flow,
    });
    let mut line = Serializer::new(Rate::from_bits_per_second(8_000_000_000));
    assert!(
        queue
            .push(Time::ZERO, packet(99, SIZE), &mut line)
            .is_some()
    );
    for &(flow, size) in waiting {
        let departure = queue.push(Time::ZERO, packet(flow, size), &mut line);
        assert_eq!(departure, None);
    }
    (queue, line)
}

/// Everything that is sent, in order, but for the first packet.
fn served((mut queue, mut line): (FairQueue<Packet>, Serializer)) -> Vec<(u32, u16)> {
    let mut sent = vec![];
    while let Some(at) = queue.transmitter.departs() {
        let departed = queue.depart(at, &mut line).expect("the event is due");
        sent.push((departed.0.flow, departed.0.size));
    }
    assert_eq!(stored(&queue), 0);
    assert!(queue.flows.is_empty() && queue.active.is_empty() && queue.lengths.is_empty());
    assert!(
        queue
            .spare
            .iter()
            .all(|flow| flow.deficit == 0 && flow.bytes == 0)
    );
    sent.split_off(1)
}

fn pushed_out(queue: &mut FairQueue<Packet>, flow: u32, limit: u64, size: u16) -> Vec<(u32, u16)> {
    let arriving = packet(flow, size);
    let sending = queue.sending().map_or(Bytes::ZERO, Queued::size);
    let fits = |waiting: LaneBacklog| (waiting.bytes + sending).count() + u64::from(size) <= limit;
    let gone = queue.make_room(&arriving, fits).to_vec();
    while queue.take_pushed_out().is_some() {}
    gone.iter()
        .map(|packet| (packet.flow, packet.size))
        .collect()
}

#[test]
fn the_deficit_is_carried_from_round_to_round() {
    // Quantum 500. Round 1: flow 1 may send 500, sends 200, keeps 300 (750 is too much). Flow 2 may
    // send 500 and does. Flow 3 may send 500, sends nothing, keeps 500.
    // Round 2: flow 1 may send 800, sends 750, keeps 50 (60 is too much). Flow 2 sends 500 and is
    // done. Flow 3 may send 1000, sends 600, keeps 400.
    // Round 3: flow 1 may send 550, sends 60 and is done. Flow 3 may send 900 and does.
    let waiting = [
        (1, 200),
        (1, 750),
        (1, 60),
        (2, 500),
        (2, 500),
        (3, 600),
        (3, 900),
    ];
    let order = served(queue_of(500, &waiting));
    let expected = [
        (1, 200),
        (2, 500),
        (1, 750),
        (2, 500),
        (3, 600),
        (1, 60),
        (3, 900),
    ];
    assert_eq!(order, expected);
}

#[test]
fn an_idle_flow_loses_its_deficit() {
    // Flow 1 sends 100 of 1000 and is silent: the 900 left are gone. When it comes again it is
    // behind flow 2. It has 1000, not 1900, for its three packets of 600: one in the first turn,
    // two in the next, with the 400 left.
    let (mut queue, mut line) = queue_of(1_000, &[(1, 100), (2, 1_000), (2, 1_000), (2, 1_000)]);
    for _ in 0..2 {
        let at = queue.transmitter.departs().expect("it sends");
        queue.depart(at, &mut line);
    }
    // Flow 2's first is being sent.
    for _ in 0..3 {
        queue.push(Time::ZERO, packet(1, 600), &mut line);
    }
    let rest = served((queue, line));
    assert_eq!(rest, [(1, 600), (2, 1_000), (1, 600), (1, 600), (2, 1_000)]);
}

#[test]
fn flows_of_a_class_share_a_queue() {
    // Class 1 has flows 1 and 2, class 5 flow 3: turns of one packet each.
    let mut queue = FairQueue::new(FairConfig {
        quantum: Bytes::new(1_000),
        drop: FairDrop::Longest,
        per: ClassifyBy::Class,
    });
    let mut line = Serializer::new(Rate::from_bits_per_second(8_000_000_000));
    let of = |flow, class| Packet {
        class,
        ..packet(flow, SIZE)
    };
    for (flow, class) in [(9, 1), (1, 1), (2, 1), (1, 1), (3, 5), (3, 5)] {
        queue.push(Time::ZERO, of(flow, class), &mut line);
    }
    // The first is being sent: three of class 1 wait, two of class 5, none of class 0; six are stored.
    for (flow, class, waiting) in [(7, 1, 3), (1, 5, 2), (1, 0, 0)] {
        let seen = queue.in_front_of(&of(flow, class));
        assert_eq!(seen.packets, Packets::new(waiting));
        assert_eq!(seen.bytes, Bytes::new(waiting * 1_000));
        assert_eq!(stored(&queue), 6_000);
    }
    let order = served((queue, line));
    let expected = [(1, SIZE), (3, SIZE), (2, SIZE), (3, SIZE), (1, SIZE)];
    assert_eq!(order, expected);
}

#[test]
fn the_longest_queue_in_bytes_loses_its_tail() {
    // Flow 2 has more packets, flow 1 more bytes: 3000 against 1200.
    let (mut queue, line) = queue_of(
        1_500,
        &[(1, 1_400), (1, 1_600), (2, 400), (2, 400), (2, 400)],
    );
    // 1000 are being sent, 4200 wait; of 5200 bytes room nothing is left.
    assert_eq!(pushed_out(&mut queue, 3, 5_200, 500), [(1, 1_600)]);
    // Flow 1 has 1400 now and is the longest still; then flow 2 would be.
    assert_eq!(
        pushed_out(&mut queue, 3, 3_600, 1_500),
        [(1, 1_400), (2, 400)]
    );
    assert_eq!(served((queue, line)), [(2, 400), (2, 400)]);
}

#[test]
fn of_equal_queues_the_first_flows_is_the_longest() {
    let (mut queue, _) = queue_of(1_500, &[(7, 500), (4, 500), (5, 500)]);
    assert_eq!(pushed_out(&mut queue, 9, 2_500, 400), [(4, 500)]);
    // For flow 5 the next one would be its own.
    assert_eq!(pushed_out(&mut queue, 5, 2_000, 400), []);
}

#[test]
fn a_packet_that_is_refused_in_the_end_displaces_nothing() {
    // For 900 bytes flow 1's 600 would go, and then flow 2's own 500 be the longest.
    let (mut queue, _) = queue_of(1_500, &[(1, 600), (2, 500)]);
    assert_eq!(pushed_out(&mut queue, 2, 2_100, 900), []);
    // Nor does one that fits into no buffer, or one that finds nothing waiting.
    assert_eq!(pushed_out(&mut queue, 3, 2_100, 3_000), []);
    let (mut queue, _) = queue_of(1_500, &[]);
    assert_eq!(pushed_out(&mut queue, 3, 1_000, 500), []);
}

/// The same queue in its simplest form: linear searches for the longest queue and for the place of a flow.
#[derive(Default)]
struct Plain {
    flows: BTreeMap<u32, (u64, Vec<u16>)>,
    active: VecDeque<u32>,
    granted: bool,
}

impl Plain {
    fn bytes(&self) -> u64 {
        let sizes = self.flows.values().flat_map(|(_, sizes)| sizes);
        sizes.map(|size| u64::from(*size)).sum()
    }

    fn push(&mut self, flow: u32, size: u16) {
        if !self.flows.contains_key(&flow) {
            self.active.push_back(flow);
        }
        self.flows.entry(flow).or_default().1.push(size);
    }

    fn forget_if_empty(&mut self, flow: u32) {
        if self.flows[&flow].1.is_empty() {
            self.granted &= self.active.front() != Some(&flow);
            self.active.retain(|active| *active != flow);
            self.flows.remove(&flow);
        }
    }

    fn next(&mut self, quantum: u64) -> Option<(u32, u16)> {
        loop {
            let flow = *self.active.front()?;
            let (deficit, sizes) = self.flows.get_mut(&flow).expect("it waits");
            *deficit += if self.granted { 0 } else { quantum };
            self.granted = true;
            if u64::from(sizes[0]) <= *deficit {
                let size = sizes.remove(0);
                *deficit -= u64::from(size);
                self.forget_if_empty(flow);
                return Some((flow, size));
            }
            self.active.rotate_left(1);
            self.granted = false;
        }
    }

    /// The tails to drop until `most` bytes are left; none if `own` would be next.
    fn push_out(&mut self, own: u32, most: u64) -> Vec<(u32, u16)> {
        let mut left = self.flows.clone();
        let mut gone = Vec::new();
        let mut stored = self.bytes();
        while stored > most {
            let length = |(flow, (_, sizes)): (&u32, &(u64, Vec<u16>))| {
                let bytes: u64 = sizes.iter().map(|size| u64::from(*size)).sum();
                (bytes, Reverse(*flow))
            };
            let Some((_, Reverse(flow))) = left.iter().map(length).max() else {
                return Vec::new();
            };
            let tail = left.get_mut(&flow).and_then(|(_, sizes)| sizes.pop());
            let Some(size) = tail.filter(|_| flow != own) else {
                return Vec::new();
            };
            stored -= u64::from(size);
            gone.push((flow, size));
        }
        for (flow, _) in &gone {
            let queue = self.flows.get_mut(flow);
            queue.expect("it loses its tail").1.pop();
            self.forget_if_empty(*flow);
        }
        gone
    }
}

proptest! {
    #[test]
    fn every_choice_is_that_of_the_simple_model(
        quantum in 1_u64..2_000,
        limit in 1_000_u64..40_000,
        steps in prop::collection::vec((0_u32..30, 1_u16..1_600, 0_u8..4), 1..300),
    ) {
        let (mut queue, mut line) = queue_of(quantum, &[]);
        let (mut plain, mut now) = (Plain::default(), Time::ZERO);
        for (flow, size, what) in steps {
            if what == 0 {
                let Some(at) = queue.transmitter.departs() else { continue };
                now = at;
                queue.depart(now, &mut line);
                let next = queue.transmitter.packet().map(|packet| (packet.flow, packet.size));
                prop_assert_eq!(next, plain.next(quantum));
                continue;
            }
            let sending = queue.transmitter.packet().map_or(0, |packet| u64::from(packet.size));
            let room = limit.saturating_sub(sending + u64::from(size));
            prop_assert_eq!(
                pushed_out(&mut queue, flow, limit, size),
                if limit >= sending + u64::from(size) { plain.push_out(flow, room) } else { Vec::new() }
            );
            if stored(&queue) + u64::from(size) <= limit {
                let idle = queue.transmitter.packet().is_none();
                queue.push(now, packet(flow, size), &mut line);
                if !idle {
                    plain.push(flow, size);
                }
            }
            prop_assert_eq!(queue.waiting().bytes.count(), plain.bytes());
        }
    }
}
