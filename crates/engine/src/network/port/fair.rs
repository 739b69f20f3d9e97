//! The fair queue: one FIFO per flow or per traffic class, served by deficit round robin.
//!
//! Source: Shreedhar and Varghese, "Efficient Fair Queueing using Deficit Round Robin", SIGCOMM 1995,
//! section 3; the push-out from the longest queue from McKenney, "Stochastic Fairness Queueing",
//! Internetworking: Research and Experience 2, 1991. A flow is one direction of a transport
//! connection, told exactly, where the papers hash. With a queue per class the flows of a class share one,
//! as in class-based queueing. A marker judges by the packet's own queue. Leaves out: weights (all
//! quanta are equal), a shared memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use incastle_units::{Bytes, Serializer, Time};

use super::Backlog;
use super::transmitter::Transmitter;
use crate::network::Packet;

/// What a full port drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FairDrop {
    /// The tail of the longest queue, as often as the arriving packet needs to fit; the arriving
    /// packet itself where its own queue is the longest.
    #[default]
    Longest,
    /// The arriving packet.
    Arriving,
}

/// What has a queue of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClassifyBy {
    /// Each flow.
    #[default]
    Flow,
    /// Each traffic class: all packets with the same [`Framing::class`](crate::flow::Framing::class).
    Class,
}

/// Parameters of a fair queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairConfig {
    /// Bytes that each flow may send more per round; from the largest packet on the work per packet
    /// does not depend on the number of flows.
    pub quantum: Bytes,
    /// What a full port drops.
    pub drop: FairDrop,
    /// What has a queue of its own. What is said of flows in this file goes for classes, too.
    pub per: ClassifyBy,
}

/// A flow or a class, whichever has a queue of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lane(u32);

impl ClassifyBy {
    fn lane(self, packet: &Packet) -> Lane {
        match self {
            Self::Flow => Lane(packet.to.0),
            Self::Class => Lane(u32::from(packet.class)),
        }
    }
}

/// How long a flow's queue is, in bytes: the greatest is the longest, of several the one of the first
/// flow.
type Length = (u64, Reverse<Lane>);

/// The packets of one flow that wait.
#[derive(Debug, Default)]
struct FlowQueue {
    /// The number of its turn.
    turn: u64,
    packets: VecDeque<Packet>,
    bytes: u64,
    /// What the flow may still send in its turn, and takes over into its next.
    deficit: u64,
}

/// The queue.
pub(super) struct FairQueue {
    config: FairConfig,
    transmitter: Transmitter,
    /// Flows with packets that wait, and no others.
    flows: BTreeMap<Lane, FlowQueue>,
    /// The same flows by the numbers of their turns, which come in this order.
    active: BTreeMap<u64, Lane>,
    /// The number of the next turn that is given out.
    next_waiting: u64,
    /// The lengths of the same flows, where the longest queue is what drops.
    lengths: BTreeSet<Length>,
    /// Whether the first of them has had the quantum of its turn.
    granted: bool,
    waiting_packets: u32,
    waiting_bytes: u64,
    /// Packets pushed out that nobody has been told of.
    pushed_out: Vec<Packet>,
    /// Memory of flows that wait no more: as many as ever waited at once.
    spare: Vec<FlowQueue>,
}

impl FairQueue {
    pub(super) fn new(config: FairConfig) -> Self {
        assert!(config.quantum > Bytes::ZERO, "a turn grants something");
        Self {
            config,
            transmitter: Transmitter::default(),
            flows: BTreeMap::new(),
            active: BTreeMap::new(),
            next_waiting: 0,
            lengths: BTreeSet::new(),
            granted: false,
            waiting_packets: 0,
            waiting_bytes: 0,
            pushed_out: Vec::new(),
            spare: Vec::new(),
        }
    }

    pub(super) const fn idle_since(&self) -> Time {
        self.transmitter.idle_since()
    }

    pub(super) fn backlog(&self) -> Backlog {
        Backlog::of(
            self.waiting_packets,
            self.waiting_bytes,
            self.transmitter.packet(),
        )
    }

    /// The backlog as a marker is to see it: waiting is what waits in the packet's own queue.
    pub(super) fn in_front_of(&self, packet: &Packet) -> Backlog {
        let own = self.flows.get(&self.config.per.lane(packet));
        Backlog {
            waiting_packets: own.map_or(0, |queue| queue.packets.len() as u32),
            waiting_bytes: own.map_or(0, |queue| queue.bytes),
            ..self.backlog()
        }
    }

    /// Appends an admitted packet to its flow; returns its departure if it is sent at once.
    pub(super) fn push(
        &mut self,
        now: Time,
        packet: Packet,
        line: &mut Serializer,
    ) -> Option<Time> {
        if self.transmitter.packet().is_none() {
            return Some(self.transmitter.begin(now, packet, line));
        }
        let lane = self.config.per.lane(&packet);
        let size = u64::from(packet.size);
        if !self.flows.contains_key(&lane) {
            // Figure 3, "Enqueuing module": a flow that joins is last and has no credit.
            let queue = self.spare.pop().unwrap_or_default();
            self.flows.insert(lane, queue);
            self.give_turn(lane);
        }
        let queue = self.flows.get_mut(&lane).expect("it has joined");
        let before = queue.bytes;
        queue.bytes += size;
        queue.packets.push_back(packet);
        self.waiting_packets += 1;
        self.waiting_bytes += size;
        self.change_length(lane, before, before + size);
        None
    }

    /// The packet being sent has left; returns it, and the departure of the next. Nothing where the
    /// event is outdated.
    pub(super) fn depart(
        &mut self,
        now: Time,
        line: &mut Serializer,
    ) -> Option<(Packet, Option<Time>)> {
        let sent = self.transmitter.finish(now)?;
        let next = self.next();
        Some((
            sent,
            next.map(|next| self.transmitter.begin(now, next, line)),
        ))
    }

    /// `line` has another rate from now on. At a switch every packet that is being sent has begun.
    pub(super) fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        self.transmitter.change_rate(now, line)
    }

    /// The line is cut: everything that was in the queue, which is empty now.
    pub(super) fn cut(&mut self, now: Time) -> Vec<Packet> {
        let sending = self.transmitter.cut(now);
        let flows = std::mem::take(&mut self.flows).into_values();
        let waiting = flows.flat_map(|queue| queue.packets);
        self.active.clear();
        self.lengths.clear();
        self.granted = false;
        self.waiting_packets = 0;
        self.waiting_bytes = 0;
        sending.into_iter().chain(waiting).collect()
    }

    /// The packet whose turn it is.
    fn next(&mut self) -> Option<Packet> {
        // Figure 3, "Dequeuing module", one packet per call.
        loop {
            let turn = self.active.first_entry()?;
            let flow = *turn.get();
            let queue = self
                .flows
                .get_mut(&flow)
                .expect("an active flow has a queue");
            if !self.granted {
                queue.deficit += self.config.quantum.count();
                self.granted = true;
            }
            let size = queue.packets.front().map(|packet| u64::from(packet.size));
            let size = size.expect("an active flow has packets");
            if size <= queue.deficit {
                queue.deficit -= size;
                let packet = queue.packets.pop_front();
                return packet.inspect(|packet| self.taken(packet));
            }
            turn.remove();
            self.give_turn(flow);
            self.granted = false;
        }
    }

    /// Puts a flow behind all others.
    fn give_turn(&mut self, flow: Lane) {
        let queue = self.flows.get_mut(&flow).expect("who has a turn waits");
        queue.turn = self.next_waiting;
        self.active.insert(self.next_waiting, flow);
        self.next_waiting += 1;
    }

    /// Enters a queue's new length. A queue of no bytes is none.
    fn change_length(&mut self, flow: Lane, before: u64, after: u64) {
        if self.config.drop != FairDrop::Longest {
            return;
        }
        if before > 0 {
            let known = self.lengths.remove(&(before, Reverse(flow)));
            assert!(known, "the length of every queue is known");
        }
        if after > 0 {
            self.lengths.insert((after, Reverse(flow)));
        }
    }

    /// Enters a packet that has left its queue at either endpoint into the counters.
    fn taken(&mut self, packet: &Packet) {
        let flow = self.config.per.lane(packet);
        let size = u64::from(packet.size);
        self.waiting_packets -= 1;
        self.waiting_bytes -= size;
        let queue = self.flows.get_mut(&flow).expect("the packet had a queue");
        let before = queue.bytes;
        queue.bytes -= size;
        let (turn, is_empty) = (queue.turn, queue.packets.is_empty());
        self.change_length(flow, before, before - size);
        if !is_empty {
            return;
        }
        let first = self.active.first_key_value().map(|(turn, _)| *turn);
        self.active.remove(&turn);
        if first == Some(turn) {
            self.granted = false;
        }
        // Whoever has nothing to send loses what it was granted.
        let emptied = self.flows.remove(&flow).map(|queue| FlowQueue {
            deficit: 0,
            ..queue
        });
        self.spare.extend(emptied);
    }

    /// Pushes packets out until the backlog `fits` with the arriving packet; none at all if that
    /// endpoints at the arriving packet's own flow.
    pub(super) fn make_room(
        &mut self,
        arriving: &Packet,
        fits: impl Fn(&Backlog) -> bool,
    ) -> &[Packet] {
        assert!(self.pushed_out.is_empty(), "every push-out is told of");
        if self.config.drop == FairDrop::Longest {
            let own = self.config.per.lane(arriving);
            for flow in self.victims(own, fits).unwrap_or_default() {
                let queue = self.flows.get_mut(&flow);
                let packet = queue.and_then(|queue| queue.packets.pop_back());
                let packet = packet.expect("a victim has packets");
                self.taken(&packet);
                self.pushed_out.push(packet);
            }
        }
        &self.pushed_out
    }

    /// Whose tails have to go, one after the other.
    fn victims(&self, own: Lane, fits: impl Fn(&Backlog) -> bool) -> Option<Vec<Lane>> {
        let mut victims = Vec::new();
        let mut backlog = self.backlog();
        // The longest queues, with what would be left of each: its length and its packets. All others
        // are shorter than the last of them was.
        let mut left: Vec<(Length, usize)> = Vec::new();
        let mut longest = self.lengths.iter().rev();
        while !fits(&backlog) {
            if let Some(&length @ (_, Reverse(flow))) = longest.next() {
                left.push((length, self.flows[&flow].packets.len()));
            }
            let ((bytes, Reverse(flow)), packets) = left.iter_mut().max()?;
            if *flow == own {
                return None;
            }
            *packets = packets.checked_sub(1)?;
            let size = u64::from(self.flows[flow].packets[*packets].size);
            *bytes -= size;
            backlog.remove_waiting(size);
            victims.push(*flow);
        }
        Some(victims)
    }

    /// A packet that was pushed out since the last call.
    pub(super) fn take_pushed_out(&mut self) -> Option<Packet> {
        self.pushed_out.pop()
    }

    /// Packets waiting or being sent.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Packet> {
        let waiting = self.flows.values().flat_map(|queue| &queue.packets);
        waiting.chain(self.transmitter.packet())
    }
}

#[cfg(test)]
mod tests {
    use incastle_units::Rate;
    use proptest::prelude::*;

    use super::*;
    use crate::core::EndpointIndex;

    const SIZE: u16 = 1_000;

    fn packet(flow: u32, size: u16) -> Packet {
        Packet {
            to: EndpointIndex(flow),
            size,
            ..Packet::EMPTY
        }
    }

    /// A queue that sends one packet and has these (flow, size) waiting behind it.
    fn queue_of(quantum: u64, waiting: &[(u32, u16)]) -> (FairQueue, Serializer) {
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
    fn served((mut queue, mut line): (FairQueue, Serializer)) -> Vec<(u32, u16)> {
        let mut sent = vec![];
        while let Some(at) = queue.transmitter.departs() {
            let (packet, _) = queue.depart(at, &mut line).expect("the event is due");
            sent.push((packet.to.0, packet.size));
        }
        assert_eq!(queue.backlog(), Backlog::default());
        assert!(queue.flows.is_empty() && queue.active.is_empty() && queue.lengths.is_empty());
        assert!(
            queue
                .spare
                .iter()
                .all(|flow| flow.deficit == 0 && flow.bytes == 0)
        );
        sent.split_off(1)
    }

    fn pushed_out(queue: &mut FairQueue, flow: u32, limit: u64, size: u16) -> Vec<(u32, u16)> {
        let arriving = packet(flow, size);
        let fits = |backlog: &Backlog| backlog.stored_bytes + u64::from(size) <= limit;
        let gone = queue.make_room(&arriving, fits).to_vec();
        while queue.take_pushed_out().is_some() {}
        gone.iter()
            .map(|packet| (packet.to.0, packet.size))
            .collect()
    }

    #[test]
    fn the_deficit_is_carried_from_turn_to_turn() {
        // Quantum 500. EndpointHandling 1: flow 1 may 500, sends 200, keeps 300 (750 is too much); flow 2 may
        // 500, sends 500; flow 3 may 500, sends nothing, keeps 500. EndpointHandling 2: flow 1 may 800, sends
        // 750, keeps 50 (60 is too much); flow 2 sends 500 and is done; flow 3 may 1000, sends 600,
        // keeps 400. EndpointHandling 3: flow 1 may 550, sends 60 and is done; flow 3 may 900, sends 900.
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
    fn who_falls_silent_loses_its_deficit() {
        // Flow 1 sends 100 of 1000 and is silent: the 900 left are gone. When it comes again it is
        // behind flow 2, and has 1000, not 1900, for its three packets of 600: one in the first turn,
        // two in the next, with the 400 that were left.
        let (mut queue, mut line) =
            queue_of(1_000, &[(1, 100), (2, 1_000), (2, 1_000), (2, 1_000)]);
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
    fn flows_of_a_class_share_its_queue_and_its_turn() {
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
        // The first is being sent: three of class 1 wait, two of class 5, none of class 0, whoever
        // asks; six are stored in all.
        for (flow, class, waiting) in [(7, 1, 3), (1, 5, 2), (1, 0, 0)] {
            let seen = queue.in_front_of(&of(flow, class));
            assert_eq!(seen.waiting_packets, waiting);
            assert_eq!(seen.waiting_bytes, u64::from(waiting) * 1_000);
            assert_eq!((seen.stored_packets, seen.stored_bytes), (6, 6_000));
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

    /// The same queue as plainly as can be: the longest is looked for among all that wait, a place in the
    /// order of turns by going through it.
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

        /// Whose tails go so that `most` bytes are left; none if that endpoints at `own`.
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
        fn every_choice_is_that_of_a_look_at_all_queues(
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
                    let next = queue.transmitter.packet().map(|packet| (packet.to.0, packet.size));
                    prop_assert_eq!(next, plain.next(quantum));
                    continue;
                }
                let sending = queue.transmitter.packet().map_or(0, |packet| u64::from(packet.size));
                let room = limit.saturating_sub(sending + u64::from(size));
                prop_assert_eq!(
                    pushed_out(&mut queue, flow, limit, size),
                    if limit >= sending + u64::from(size) { plain.push_out(flow, room) } else { Vec::new() }
                );
                if queue.backlog().stored_bytes + u64::from(size) <= limit {
                    let idle = queue.transmitter.packet().is_none();
                    queue.push(now, packet(flow, size), &mut line);
                    if !idle {
                        plain.push(flow, size);
                    }
                }
                prop_assert_eq!(queue.backlog().waiting_bytes, plain.bytes());
            }
        }
    }
}
