//! The sampler of the delivery rate (draft-ietf-ccwg-bbr-06, section 4.1): the data that arrived between the
//! transmission of a segment and its acknowledgement, over the longer of the times in which they were sent
//! and acknowledged.
//!
//! Leaves out: data that wait in the host below the transport (C.pending_transmissions).

use std::collections::VecDeque;

use incastle_congestion::{LostPacket, RateSample};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::flight::Record;

/// The state of the connection when a segment left last: P of the draft, section 4.1.2.1.2.
#[derive(Debug, Clone, Copy)]
struct Snapshot {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    /// In the network, the segment included.
    in_flight: u64,
    is_app_limited: bool,
}

/// The segment of an acknowledgement that was sent last.
#[derive(Debug, Clone, Copy)]
struct Newest {
    record: Record,
    at: Snapshot,
}

/// The samples of one sender. Snapshots have the order of the records of the flight.
#[derive(Debug, Clone)]
pub(crate) struct RateSampler {
    snapshots: VecDeque<Snapshot>,
    /// C.delivered, and when it last grew.
    delivered: u64,
    delivered_at: Time,
    /// C.first_send_time.
    first_sent: Time,
    /// C.lost.
    lost: u64,
    /// C.app_limited: segments are limited by the application until more than this is delivered.
    app_limited: Option<u64>,
    /// The window was full within a round trip until more than this is delivered.
    cwnd_limited: Option<u64>,
    /// C.min_rtt.
    min_rtt: Span,
    /// Since the last sample.
    newly_acked: u64,
    newest: Option<Newest>,
    losses: Vec<LostPacket>,
}

impl RateSampler {
    pub(crate) fn new() -> Self {
        Self {
            snapshots: VecDeque::new(),
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            lost: 0,
            // Section 4.1.2.4: the first write finds nothing unsent and nothing in the network, and max(C.delivered
            // + C.inflight, 1) is 1. It comes before the first segment, with which samples begin here.
            app_limited: Some(1),
            cwnd_limited: None,
            min_rtt: Span::MAX,
            newly_acked: 0,
            newest: None,
            losses: Vec::new(),
        }
    }

    /// OnPacketSent (section 4.1.2.2), for the segment at `index` of the flight. `before` was in the network.
    pub(crate) fn sent(&mut self, index: usize, now: Time, before: u64, in_flight: u64) {
        if before == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let snapshot = Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight,
            is_app_limited: self.app_limited.is_some(),
        };
        if let Some(slot) = self.snapshots.get_mut(index) {
            *slot = snapshot;
        } else {
            assert_eq!(
                index,
                self.snapshots.len(),
                "a new segment follows the others"
            );
            self.snapshots.push_back(snapshot);
        }
    }

    /// UpdateRateSample (section 4.1.2.3).
    pub(crate) fn delivered(&mut self, index: usize, record: &Record) {
        self.delivered += record.octets();
        self.newly_acked += record.octets();
        let newer = |newest: &Newest| record.order > newest.record.order;
        if self.newest.as_ref().is_none_or(newer) {
            self.newest = Some(Newest {
                record: *record,
                at: self.snapshots[index],
            });
        }
    }

    /// The first segment is cumulatively acknowledged.
    pub(crate) fn leave_first(&mut self) {
        self.snapshots.pop_front();
    }

    /// The segment at `index` was lost; `in_flight` is left in the network.
    pub(crate) fn lost(&mut self, index: usize, record: &Record, in_flight: u64) {
        self.lost += record.octets();
        let at = &self.snapshots[index];
        self.losses.push(LostPacket {
            seq: record.seq,
            size: Bytes::new(record.octets()),
            tx_in_flight: Bytes::new(at.in_flight),
            lost: Bytes::new(self.lost - at.lost),
            total_delivered: self.delivered,
            in_flight: Bytes::new(in_flight),
            is_app_limited: at.is_app_limited,
        });
    }

    /// The losses since the last call.
    pub(crate) fn take_losses(&mut self) -> Vec<LostPacket> {
        std::mem::take(&mut self.losses)
    }

    /// MarkConnectionAppLimited (section 4.1.2.4).
    pub(crate) fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = Some((self.delivered + in_flight).max(1));
    }

    /// The window is full, with this in the network.
    pub(crate) fn mark_cwnd_limited(&mut self, in_flight: u64) {
        self.cwnd_limited = Some(self.delivered + in_flight);
    }

    /// GenerateRateSample (section 4.1.2.3), where something was delivered since the last call.
    pub(crate) fn sample(&mut self, now: Time, in_flight: u64) -> Option<RateSample> {
        let Newest { record, at } = self.newest.take()?;
        let newly_acked = std::mem::take(&mut self.newly_acked);
        let passed = |until: &Option<u64>| until.is_some_and(|until| self.delivered > until);
        if passed(&self.app_limited) {
            self.app_limited = None;
        }
        let is_cwnd_limited = self.cwnd_limited.is_some();
        if passed(&self.cwnd_limited) {
            self.cwnd_limited = None;
        }
        self.delivered_at = now;
        self.first_sent = record.sent_at;
        let rtt = (!record.repeated).then(|| now.saturating_since(record.sent_at));
        self.min_rtt = self.min_rtt.min(rtt.unwrap_or(Span::MAX));
        let sent = record.sent_at.saturating_since(at.first_sent);
        let acked = now.saturating_since(at.delivered_at);
        let interval = sent.max(acked);
        let delivered = Bytes::new(self.delivered - at.delivered);
        let reliable = interval >= self.min_rtt && interval > Span::ZERO;
        Some(RateSample {
            total_delivered: self.delivered,
            prior_delivered: at.delivered,
            rate: reliable.then(|| Rate::of(delivered, interval)),
            rtt,
            newly_acked: Bytes::new(newly_acked),
            lost: Bytes::new(self.lost - at.lost),
            tx_in_flight: Bytes::new(at.in_flight),
            in_flight: Bytes::new(in_flight),
            is_app_limited: at.is_app_limited,
            is_cwnd_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flight::{Flight, Transmission};
    use crate::ranges::Interval;

    const OCTETS: u64 = 1000;

    fn ms(count: u64) -> Time {
        Time::ZERO + Span::from_ms(count)
    }

    /// A flight whose delivery rate is sampled.
    fn flight() -> Flight {
        Flight::new(true)
    }

    fn send(flight: &mut Flight, number: u64, now: Time) {
        let segment = Transmission {
            seq: number * OCTETS,
            octets: OCTETS as u32,
            fin: false,
        };
        flight.sent(segment, now);
    }

    fn acknowledge(flight: &mut Flight, below: u64, now: Time) -> Option<RateSample> {
        flight.acknowledge(below * OCTETS, std::iter::empty(), |_| {});
        flight.rate_sample(now)
    }

    fn kbit(sample: RateSample) -> Option<u64> {
        sample.rate.map(|rate| rate.bits_per_second() / 1000)
    }

    /// Two segments at 0 and 2 ms, acknowledged at 10 and 12 ms; the next one leaves at 10 ms.
    #[test]
    fn the_rate_is_that_of_the_longer_interval() {
        let mut flight = flight();
        send(&mut flight, 0, ms(0));
        send(&mut flight, 1, ms(2));
        // 1000 bytes since 0: 10 ms of acknowledgements.
        let first = acknowledge(&mut flight, 1, ms(10)).expect("a delivery");
        assert_eq!(kbit(first), Some(800));
        assert_eq!(
            (first.rtt, first.prior_delivered),
            (Some(Span::from_ms(10)), 0)
        );
        send(&mut flight, 2, ms(10));
        // 2000 bytes in 12 ms, from the instant before which nothing was in flight.
        let second = acknowledge(&mut flight, 2, ms(12)).expect("a delivery");
        assert_eq!((kbit(second), second.delivered()), (Some(1333), 2000));
        // Left at 10 ms with 1000 delivered then: 2000 more until 20 ms; sent from 2 to 10 ms, since the
        // segment that was delivered last then had left at 0.
        let third = acknowledge(&mut flight, 3, ms(20)).expect("a delivery");
        assert_eq!((kbit(third), third.delivered()), (Some(1600), 2000));
        assert_eq!(acknowledge(&mut flight, 3, ms(21)), None);
    }

    /// Acknowledgements that arrive together do not raise the rate above that of sending.
    #[test]
    fn compressed_acknowledgements_are_bounded_by_the_sending_rate() {
        let mut flight = flight();
        for number in 0..10 {
            send(&mut flight, number, ms(number));
        }
        acknowledge(&mut flight, 1, ms(10));
        for number in 10..20 {
            send(&mut flight, number, ms(number));
        }
        // All at 30 ms, the last of which left at 19 ms, 19 ms after the first: 19,000 bytes in 20 ms.
        let all = acknowledge(&mut flight, 20, ms(30)).expect("a delivery");
        assert_eq!((kbit(all), all.delivered()), (Some(7600), 19_000));
        assert_eq!(all.newly_acked, Bytes::new(19_000));
        assert_eq!(all.tx_in_flight, Bytes::new(19_000));
    }

    /// Section 4.1.2.4: the data of the first write leave into an empty network.
    #[test]
    fn the_first_flight_is_limited_by_the_application() {
        let mut flight = flight();
        send(&mut flight, 0, ms(0));
        send(&mut flight, 1, ms(1));
        let first = acknowledge(&mut flight, 1, ms(10)).expect("a delivery");
        send(&mut flight, 2, ms(10));
        let second = acknowledge(&mut flight, 2, ms(11)).expect("a delivery");
        let next = acknowledge(&mut flight, 3, ms(20)).expect("a delivery");
        let limited = [first, second, next].map(|sample| sample.is_app_limited);
        assert_eq!(limited, [true, true, false]);
    }

    #[test]
    fn a_bubble_marks_what_leaves_until_it_is_delivered() {
        let mut flight = flight();
        send(&mut flight, 0, ms(0));
        acknowledge(&mut flight, 1, ms(10)).expect("a delivery");
        send(&mut flight, 1, ms(10));
        flight.mark_app_limited();
        send(&mut flight, 2, ms(11));
        let before = acknowledge(&mut flight, 2, ms(20)).expect("a delivery");
        send(&mut flight, 3, ms(20));
        let within = acknowledge(&mut flight, 3, ms(21)).expect("a delivery");
        send(&mut flight, 4, ms(21));
        let last = acknowledge(&mut flight, 4, ms(30)).expect("a delivery");
        let after = acknowledge(&mut flight, 5, ms(31)).expect("a delivery");
        // The bubble ends once more than the second segment is delivered, at 21 ms.
        let limited = [before, within, last, after].map(|sample| sample.is_app_limited);
        assert_eq!(limited, [false, true, true, false]);
    }

    #[test]
    fn losses_count_since_each_segment_left() {
        let mut flight = flight();
        for number in 0..4 {
            send(&mut flight, number, ms(number));
        }
        flight.mark_lost(|record| Some(record.seq < 2 * OCTETS));
        let losses = flight.take_losses();
        let seen: Vec<(u64, u64, u64)> = losses
            .iter()
            .map(|it| {
                (
                    it.tx_in_flight.count(),
                    it.lost.count(),
                    it.in_flight.count(),
                )
            })
            .collect();
        assert_eq!(seen, [(1000, 1000, 3000), (2000, 2000, 2000)]);
        assert!(flight.take_losses().is_empty());
        // Sent again after both: the sample of it has no loss, that of the last segment has two.
        let block = Interval {
            start: 3 * OCTETS,
            end: 4 * OCTETS,
        };
        flight.acknowledge(0, [block].into_iter(), |_| {});
        let reported = flight.rate_sample(ms(10)).expect("a delivery");
        assert_eq!(
            (reported.lost.count(), reported.newly_acked.count()),
            (2000, 1000)
        );
        send(&mut flight, 0, ms(10));
        let repeated = acknowledge(&mut flight, 1, ms(20)).expect("a delivery");
        assert_eq!((repeated.lost.count(), repeated.rtt), (0, None));
    }

    #[test]
    fn an_interval_below_the_least_round_trip_gives_no_rate() {
        let mut flight = flight();
        send(&mut flight, 0, ms(0));
        acknowledge(&mut flight, 1, ms(10));
        send(&mut flight, 1, ms(20));
        flight.mark_lost(|_| Some(true));
        send(&mut flight, 1, ms(30));
        // The original arrives 1 ms after it was sent again.
        let early = acknowledge(&mut flight, 2, ms(31)).expect("a delivery");
        assert_eq!((early.rate, early.rtt), (None, None));
    }

    #[test]
    fn a_full_window_counts_for_a_round_trip() {
        let mut flight = flight();
        send(&mut flight, 0, ms(0));
        send(&mut flight, 1, ms(0));
        flight.mark_cwnd_limited();
        send(&mut flight, 2, ms(1));
        let limited = [1, 2, 3].map(|below| {
            let sample = acknowledge(&mut flight, below, ms(9 + below));
            sample.expect("a delivery").is_cwnd_limited
        });
        assert_eq!(limited, [true, true, true]);
        send(&mut flight, 3, ms(13));
        let later = acknowledge(&mut flight, 4, ms(23)).expect("a delivery");
        assert!(!later.is_cwnd_limited);
    }
}
