//! The fair queue: one FIFO per flow or per traffic class, served by deficit round robin.
//!
//! Source: Shreedhar and Varghese, "Efficient Fair Queueing using Deficit Round Robin", SIGCOMM 1995, section 3. The
//! push-out from the longest queue is from McKenney, "Stochastic Fairness Queueing", Internetworking: Research and
//! Experience 2, 1991. A flow is one direction of a transport connection, classified exactly, where the papers hash.
//! With a queue per class the flows of a class share one, as in class-based queueing. A marker judges by the packet's
//! own queue. Leaves out: weights (all quanta are equal), a shared memory.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use incastle_units::{Bytes, Packets, Serializer, Time};

use crate::{LaneBacklog, Queued, Transmitter};

/// The packet that a full port drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FairDrop {
    /// The tail of the longest queue, until the arriving packet fits; the arriving packet where its own queue is the
    /// longest.
    #[default]
    Longest,
    /// The arriving packet.
    Arriving,
}

/// The unit that has a separate queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClassifyBy {
    /// Each flow.
    #[default]
    Flow,
    /// Each traffic class.
    Class,
}

/// Parameters of a fair queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairConfig {
    /// Bytes added to each flow's deficit per round. From the size of the largest packet on, the work per packet does
    /// not depend on the number of flows.
    pub quantum: Bytes,
    /// The packet that a full port drops.
    pub drop: FairDrop,
    /// The unit that has a separate queue. Comments of this file name flows and mean classes, too.
    pub per: ClassifyBy,
}

/// A flow or a class, whichever has a separate queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Lane(u32);

impl Length {
    const fn new(bytes: u64, lane: Lane) -> Self {
        Self {
            bytes,
            lane: Reverse(lane),
        }
    }
}

/// A queue without its tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rest {
    length: Length,
    packets: usize,
}

/// A packet that has a queue by its flow or its class.
pub trait Classified: Queued {
    /// The number of its flow.
    fn flow(&self) -> u32;

    /// The number of its traffic class.
    fn class(&self) -> u32;
}

impl ClassifyBy {
    fn lane(self, packet: &impl Classified) -> Lane {
        match self {
            Self::Flow => Lane(packet.flow()),
            Self::Class => Lane(packet.class()),
        }
    }
}

/// The length of a flow's queue. The greatest is the longest queue, on a tie that of the first flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Length {
    bytes: u64,
    lane: Reverse<Lane>,
}

/// The packets of one flow that wait.
#[derive(Debug)]
struct FlowQueue<T> {
    /// Its place in the round robin.
    place: u64,
    packets: VecDeque<T>,
    bytes: u64,
    /// Bytes that the flow may still send in this round, carried into the next.
    deficit: u64,
}

impl<T> Default for FlowQueue<T> {
    fn default() -> Self {
        Self {
            place: 0,
            packets: VecDeque::new(),
            bytes: 0,
            deficit: 0,
        }
    }
}

/// The queue.
pub struct FairQueue<T> {
    config: FairConfig,
    transmitter: Transmitter<T>,
    /// Flows with packets that wait, and no others.
    flows: BTreeMap<Lane, FlowQueue<T>>,
    /// The same flows by their places in the round robin.
    active: BTreeMap<u64, Lane>,
    /// The next place at the end.
    next_place: u64,
    /// The lengths of the same flows, where the longest queue drops.
    lengths: BTreeSet<Length>,
    /// Whether the first active flow has had its quantum of this round.
    granted: bool,
    waiting_packets: u64,
    waiting_bytes: u64,
    /// Packets pushed out and not taken yet.
    pushed_out: Vec<T>,
    /// Memory of former queues, for new ones.
    spare: Vec<FlowQueue<T>>,
}

impl<T: Classified> FairQueue<T> {
    /// An empty queue at an idle line.
    pub fn new(config: FairConfig) -> Self {
        assert!(config.quantum > Bytes::ZERO, "a quantum is positive");
        Self {
            config,
            transmitter: Transmitter::default(),
            flows: BTreeMap::new(),
            active: BTreeMap::new(),
            next_place: 0,
            lengths: BTreeSet::new(),
            granted: false,
            waiting_packets: 0,
            waiting_bytes: 0,
            pushed_out: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// The instant since which the line is idle; meaningless while it is busy.
    pub const fn idle_since(&self) -> Time {
        self.transmitter.idle_since()
    }

    /// The packets that wait.
    pub const fn waiting(&self) -> LaneBacklog {
        LaneBacklog {
            packets: Packets::new(self.waiting_packets),
            bytes: Bytes::new(self.waiting_bytes),
        }
    }

    /// Those in the own queue of a packet.
    pub fn in_front_of(&self, packet: &T) -> LaneBacklog {
        let own = self.flows.get(&self.config.per.lane(packet));
        own.map_or_else(LaneBacklog::default, |queue| LaneBacklog {
            packets: Packets::new(queue.packets.len() as u64),
            bytes: Bytes::new(queue.bytes),
        })
    }

    /// The packet being sent.
    pub fn sending(&self) -> Option<&T> {
        self.transmitter.packet()
    }

    /// Appends an admitted packet to its flow; returns its departure if it is sent immediately.
    pub fn push(&mut self, now: Time, packet: T, line: &mut Serializer) -> Option<Time> {
        if self.transmitter.packet().is_none() {
            return Some(self.transmitter.begin(now, packet, line));
        }
        let lane = self.config.per.lane(&packet);
        let size = packet.size().count();
        if !self.flows.contains_key(&lane) {
            // Figure 3, "Enqueuing module": a flow that joins is last and has no credit.
            let queue = self.spare.pop().unwrap_or_default();
            self.flows.insert(lane, queue);
            self.append(lane);
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

    /// The packet being sent has left. Nothing where the event is outdated.
    pub fn depart(&mut self, now: Time, line: &mut Serializer) -> Option<(T, Option<Time>)> {
        let packet = self.transmitter.finish(now)?;
        let next = self.next();
        let next = next.map(|next| self.transmitter.begin(now, next, line));
        Some((packet, next))
    }

    /// `line` has another rate from now on. At a switch every packet that is being sent has begun.
    pub fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        self.transmitter.change_rate(now, line)
    }

    /// The line fails: returns all packets of the queue, which is empty now.
    pub fn cut(&mut self, now: Time) -> Vec<T> {
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

    /// Takes the next packet by deficit round robin.
    fn next(&mut self) -> Option<T> {
        // Figure 3, "Dequeuing module", one packet per call.
        loop {
            let first = self.active.first_entry()?;
            let flow = *first.get();
            let queue = self
                .flows
                .get_mut(&flow)
                .expect("an active flow has a queue");
            if !self.granted {
                queue.deficit += self.config.quantum.count();
                self.granted = true;
            }
            let size = queue.packets.front().map(|packet| packet.size().count());
            let size = size.expect("an active flow has packets");
            if size <= queue.deficit {
                queue.deficit -= size;
                let packet = queue.packets.pop_front();
                return packet.inspect(|packet| self.taken(packet));
            }
            first.remove();
            self.append(flow);
            self.granted = false;
        }
    }

    /// Appends a flow to the round robin.
    fn append(&mut self, flow: Lane) {
        let queue = self.flows.get_mut(&flow);
        queue.expect("an active flow has a queue").place = self.next_place;
        self.active.insert(self.next_place, flow);
        self.next_place += 1;
    }

    /// Enters a queue's new length; an empty queue has none.
    fn change_length(&mut self, flow: Lane, before: u64, after: u64) {
        if self.config.drop != FairDrop::Longest {
            return;
        }
        if before > 0 {
            let entered = self.lengths.remove(&Length::new(before, flow));
            assert!(entered, "the length of every queue is entered");
        }
        if after > 0 {
            self.lengths.insert(Length::new(after, flow));
        }
    }

    /// Counts a packet that has left its queue, at its head or its tail.
    fn taken(&mut self, packet: &T) {
        let flow = self.config.per.lane(packet);
        let size = packet.size().count();
        self.waiting_packets -= 1;
        self.waiting_bytes -= size;
        let queue = self.flows.get_mut(&flow).expect("the packet had a queue");
        let before = queue.bytes;
        queue.bytes -= size;
        let (place, is_empty) = (queue.place, queue.packets.is_empty());
        self.change_length(flow, before, before - size);
        if !is_empty {
            return;
        }
        let first = self.active.first_key_value().map(|(place, _)| *place);
        self.active.remove(&place);
        if first == Some(place) {
            self.granted = false;
        }
        // A flow without packets loses its deficit.
        let emptied = self.flows.remove(&flow).map(|queue| FlowQueue {
            deficit: 0,
            ..queue
        });
        self.spare.extend(emptied);
    }

    /// Pushes packets out until those that wait leave room (`fits`) for the arriving packet; none at all if its own queue
    /// would be next.
    pub fn make_room(&mut self, arriving: &T, fits: impl Fn(LaneBacklog) -> bool) -> &[T] {
        assert!(self.pushed_out.is_empty(), "packets pushed out are taken");
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

    /// The flows that lose a packet at the tail, one after the other.
    fn victims(&self, own: Lane, fits: impl Fn(LaneBacklog) -> bool) -> Option<Vec<Lane>> {
        let mut victims = Vec::new();
        let mut backlog = self.waiting();
        // The longest queues with the rest of each. All others are shorter than the last of them was.
        let mut left: Vec<Rest> = Vec::new();
        let mut longest = self.lengths.iter().rev();
        while !fits(backlog) {
            if let Some(&length) = longest.next() {
                let packets = self.flows[&length.lane.0].packets.len();
                left.push(Rest { length, packets });
            }
            let Rest { length, packets } = left.iter_mut().max()?;
            let Reverse(flow) = length.lane;
            if flow == own {
                return None;
            }
            *packets = packets.checked_sub(1)?;
            let size = self.flows[&flow].packets[*packets].size().count();
            length.bytes -= size;
            backlog.packets -= Packets::new(1);
            backlog.bytes -= Bytes::new(size);
            victims.push(flow);
        }
        Some(victims)
    }

    /// Takes a packet that was pushed out.
    pub fn take_pushed_out(&mut self) -> Option<T> {
        self.pushed_out.pop()
    }

    /// Packets waiting or being sent.
    pub fn stored(&self) -> impl Iterator<Item = &T> {
        let waiting = self.flows.values().flat_map(|queue| &queue.packets);
        waiting.chain(self.transmitter.packet())
    }
}

#[cfg(test)]
mod tests;
