//! A FIFO queue and its line, with an explicit event for each departure.
//!
//! It is the reference for the engine's fast queue, and allows a rate that changes.

use std::collections::VecDeque;

use incastle_units::{Bytes, Packets, Serializer, Time};

use crate::{LaneBacklog, Queued, Transmitter};

/// A packet that waits, and the instant before which it must not leave (a host's jitter).
#[derive(Debug, Clone, Copy)]
struct Waiting<T> {
    ready: Time,
    packet: T,
}

/// The queue.
pub struct FifoQueue<T> {
    waiting: VecDeque<Waiting<T>>,
    waiting_bytes: Bytes,
    transmitter: Transmitter<T>,
    /// The departure of the last packet taken so far, at the present rate. A second serializer with the same packets in
    /// the same order forecasts it.
    busy_until: Time,
    forecast: Option<Serializer>,
}

impl<T> Default for FifoQueue<T> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            waiting_bytes: Bytes::ZERO,
            transmitter: Transmitter::default(),
            busy_until: Time::ZERO,
            forecast: None,
        }
    }
}

impl<T: Queued> FifoQueue<T> {
    /// The instant since which the line is idle; meaningless while it is busy.
    pub const fn idle_since(&self) -> Time {
        self.transmitter.idle_since()
    }

    /// The departure of the last packet taken so far.
    pub const fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// The packets that wait.
    pub fn waiting(&self) -> LaneBacklog {
        LaneBacklog {
            packets: Packets::new(self.waiting.len() as u64),
            bytes: self.waiting_bytes,
        }
    }

    /// The packet being sent.
    pub fn sending(&self) -> Option<&T> {
        self.transmitter.packet()
    }

    /// Appends an admitted packet; returns its departure if it is sent immediately.
    pub fn push(&mut self, ready: Time, packet: T, line: &mut Serializer) -> Option<Time> {
        let forecast = self.forecast.get_or_insert_with(|| line.clone());
        self.busy_until = self.busy_until.max(ready) + forecast.span(packet.size());
        if self.transmitter.packet().is_some() {
            self.waiting_bytes += packet.size();
            self.waiting.push_back(Waiting { ready, packet });
            return None;
        }
        Some(self.transmitter.begin(ready, packet, line))
    }

    /// The packet being sent has left. Nothing where the event is outdated.
    pub fn depart(&mut self, now: Time, line: &mut Serializer) -> Option<(T, Option<Time>)> {
        let packet = self.transmitter.finish(now)?;
        let next = self.waiting.pop_front().map(|Waiting { ready, packet }| {
            self.waiting_bytes -= packet.size();
            self.transmitter.begin(now.max(ready), packet, line)
        });
        Some((packet, next))
    }

    /// `line` has another rate from now on: the forecast is renewed. Returns the departure of the packet being sent, if
    /// that has moved.
    pub fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        let moved = self.transmitter.change_rate(now, line);
        let mut forecast = line.clone();
        let begins = self.transmitter.departs().unwrap_or(self.busy_until);
        self.busy_until = self.waiting.iter().fold(begins, |busy_until, waiting| {
            busy_until.max(waiting.ready) + forecast.span(waiting.packet.size())
        });
        self.forecast = Some(forecast);
        moved
    }

    /// Takes out the packets whose sending has not begun, each with the instant before which it must not begin.
    pub fn take_back(&mut self, now: Time) -> Vec<(Time, T)> {
        let mut taken: Vec<_> = self.transmitter.take_back(now).into_iter().collect();
        let waiting = self.waiting.drain(..);
        taken.extend(waiting.map(|waiting| (waiting.ready, waiting.packet)));
        self.waiting_bytes = Bytes::ZERO;
        self.busy_until = self.transmitter.departs().unwrap_or(now);
        self.forecast = None;
        taken
    }

    /// The line fails: returns all packets of the queue, which is empty now.
    pub fn cut(&mut self, now: Time) -> Vec<T> {
        let mut packets: Vec<T> = self.transmitter.cut(now).into_iter().collect();
        packets.extend(self.waiting.drain(..).map(|waiting| waiting.packet));
        self.waiting_bytes = Bytes::ZERO;
        self.busy_until = now;
        self.forecast = None;
        packets
    }

    /// Packets waiting or being sent.
    pub fn stored(&self) -> impl Iterator<Item = &T> {
        self.waiting
            .iter()
            .map(|waiting| &waiting.packet)
            .chain(self.transmitter.packet())
    }
}

#[cfg(test)]
mod tests {
    use incastle_units::Rate;

    use super::*;

    /// A packet of some bytes.
    #[derive(Debug)]
    struct Packet(u64);

    impl Queued for Packet {
        fn size(&self) -> Bytes {
            Bytes::new(self.0)
        }
    }

    /// 8 Gbit/s: a byte per nanosecond.
    const FAST: Rate = Rate::from_bits_per_second(8_000_000_000);
    const SLOW: Rate = Rate::from_bits_per_second(2_000_000_000);

    fn ns(count: u64) -> Time {
        Time::from_ps(count * 1_000)
    }

    #[test]
    fn a_change_of_rate_renews_the_forecast() {
        let mut line = Serializer::new(FAST);
        let mut queue = FifoQueue::<Packet>::default();
        // Sent from 0 to 1000 ns; the next is ready then, the third not before 1900 ns.
        assert_eq!(queue.push(ns(0), Packet(1_000), &mut line), Some(ns(1_000)));
        assert_eq!(queue.push(ns(10), Packet(500), &mut line), None);
        assert_eq!(queue.push(ns(1_900), Packet(100), &mut line), None);
        assert_eq!(queue.busy_until(), ns(2_000));
        // From 400 ns on four times slower: 1000, then 2000 ns to 3000, then 400 ns to 3400.
        line = Serializer::new(SLOW);
        assert_eq!(queue.change_rate(ns(400), &mut line), None);
        assert_eq!(queue.busy_until(), ns(3_400));
        for departs in [1_000, 3_000, 3_400] {
            let sent = queue.depart(ns(departs), &mut line).expect("it is due");
            assert_eq!(sent.1.is_none(), departs == 3_400);
        }
        // And back on the idle line.
        line = Serializer::new(FAST);
        assert_eq!(queue.change_rate(ns(5_000), &mut line), None);
        assert_eq!(queue.busy_until(), ns(3_400));
        assert_eq!(
            queue.push(ns(6_000), Packet(100), &mut line),
            Some(ns(6_100))
        );
        assert_eq!(queue.busy_until(), ns(6_100));
    }

    #[test]
    fn a_packet_that_is_not_ready_goes_at_the_new_rate() {
        let mut line = Serializer::new(SLOW);
        let mut queue = FifoQueue::<Packet>::default();
        // Ready at 100 ns, 250 B: 1000 ns.
        assert_eq!(queue.push(ns(100), Packet(250), &mut line), Some(ns(1_100)));
        assert_eq!(queue.push(ns(200), Packet(850), &mut line), None);
        line = Serializer::new(FAST);
        assert_eq!(queue.change_rate(ns(99), &mut line), Some(ns(350)));
        assert_eq!(queue.busy_until(), ns(1_200));
        let sent = queue.depart(ns(350), &mut line).expect("it is due");
        assert_eq!(sent.1, Some(ns(1_200)));
        // The event of the old departure finds another packet being sent.
        assert!(queue.depart(ns(1_100), &mut line).is_none());
        assert!(queue.depart(ns(1_200), &mut line).is_some());
        // At the instant at which it is ready it has begun.
        assert_eq!(
            queue.push(ns(2_000), Packet(100), &mut line),
            Some(ns(2_100))
        );
        line = Serializer::new(SLOW);
        assert_eq!(queue.change_rate(ns(2_000), &mut line), None);
    }

    #[test]
    fn a_cut_line_is_empty_and_idle() {
        let mut line = Serializer::new(FAST);
        let mut queue = FifoQueue::<Packet>::default();
        // 100 B: 100 ns each.
        assert_eq!(queue.push(ns(0), Packet(100), &mut line), Some(ns(100)));
        assert_eq!(queue.push(ns(10), Packet(100), &mut line), None);
        assert_eq!(queue.busy_until(), ns(200));
        assert_eq!(queue.cut(ns(50)).len(), 2);
        assert_eq!((queue.busy_until(), queue.idle_since()), (ns(50), ns(50)));
        assert_eq!(queue.waiting(), LaneBacklog::default());
        assert!(queue.sending().is_none());
        // The next packet departs at the instant of the outdated event: one of both counts.
        let next = queue.push(ns(60), Packet(40), &mut line);
        assert_eq!(next, Some(ns(100)));
        assert!(queue.depart(ns(100), &mut line).is_some());
        assert!(queue.depart(ns(100), &mut line).is_none());
        assert!(queue.cut(ns(200)).is_empty());
    }

    #[test]
    #[should_panic(expected = "a departure event has a packet being sent")]
    fn a_departure_without_a_packet_is_a_defect() {
        let _ = FifoQueue::<Packet>::default().depart(ns(1), &mut Serializer::new(FAST));
    }
}
