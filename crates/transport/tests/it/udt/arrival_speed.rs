//! A receiver's measurements of arrivals: the receiving rate, the capacity, and their smoothing at
//! the sender.

use incastle_transport::udt::{ArrivalSpeed, MAX_SEQUENCE, Number, Smoothed};
use incastle_units::{Span, Time};
use proptest::prelude::*;

/// Arrivals with these microseconds between them, none of which is a pair.
fn after(intervals: &[u64]) -> ArrivalSpeed {
    let mut speed = ArrivalSpeed::default();
    let mut now = Time::ZERO;
    speed.on_arrival(now, Number::from_word(5));
    for &us in intervals {
        now += Span::from_us(us);
        speed.on_arrival(now, Number::from_word(5));
    }
    speed
}

fn rate(intervals: &[u64]) -> Option<u32> {
    after(intervals).receiving_rate()
}

#[test]
fn sixteen_even_intervals_give_the_rate_and_fewer_none() {
    // 12 us each: 83,333.3 packets per second.
    assert_eq!(rate(&[12; 15]), None);
    assert_eq!(rate(&[12; 16]), Some(83_333));
    // Only the last 16 count, wherever the window begins.
    for before in 1..40 {
        let intervals = [vec![500; before], vec![12; 16]].concat();
        assert_eq!(rate(&intervals), Some(83_333), "{before}");
    }
    assert_eq!(after(&[12; 40]).capacity(), None);
}

#[test]
fn the_median_is_that_of_the_two_in_the_middle() {
    // Sorted 7 x 2, 4, 10, 7 x 60: the median is 7. 56 = 8 x 7 is not left out, 57 is:
    // 2 lies above 7/8. (7 x 2 + 4 + 10) / 9 = 28/9 us: 321,428.6 per second.
    let intervals = |most| [vec![2; 7], vec![4, 10], vec![most; 7]].concat();
    assert_eq!(rate(&intervals(57)), Some(321_429));
    // 16 in (28 + 7 x 56) = 420 us: 38,095.2.
    assert_eq!(rate(&intervals(56)), Some(38_095));
}

#[test]
fn what_is_too_short_for_the_median_is_left_out() {
    // The median is 16 us: 2 = 16/8 counts, 1 does not.
    // (9 x 16 + 7 x 2) = 158 us for 16: 101,265.8. Without the seven: 9 in 144: 62,500.
    let intervals = |least| [vec![16; 9], vec![least; 7]].concat();
    assert_eq!(rate(&intervals(2)), Some(101_266));
    assert_eq!(rate(&intervals(1)), Some(62_500));
}

#[test]
fn eight_that_are_left_give_no_rate() {
    // Sorted 8 x 1, 8 x 20: the median is 10.5; 1 < 10.5 / 8 = 1.31 is left out, 8 are left.
    assert_eq!(rate(&[vec![1; 8], vec![20; 8]].concat()), None);
    // 9 x 20: the median is 20: (9 x 20) / 9.
    assert_eq!(rate(&[vec![1; 7], vec![20; 9]].concat()), Some(50_000));
}

#[test]
fn packets_of_one_instant_share_the_time_around_them() {
    assert_eq!(rate(&[0; 16]), None);
    // Four together every 48 us: 12 us each, as if they had come one by one. The first four have a
    // rate with the fifth.
    let batches = |count| [0, 0, 0, 48].repeat(count);
    assert_eq!(rate(&batches(3)), None);
    assert_eq!(rate(&batches(4)), Some(83_333));
    assert_eq!(rate(&[batches(9), vec![0; 3]].concat()), Some(83_333));
    // More than the window holds: 440 us for 44.
    assert_eq!(rate(&[vec![0; 43], vec![440]].concat()), Some(100_000));
}

#[test]
fn packets_that_gathered_are_no_faster_for_one_right_behind_them() {
    // One after 120 us, then 32 that gathered for 3840 us, and 10 us later the next read.
    let gathered = [vec![120, 3840], vec![0; 31], vec![10]].concat();
    assert_eq!(rate(&gathered), Some(8333));
    // 32 that a NIC joined as they came, stamped with the first, 10 us after another.
    let joined = [vec![120, 10], vec![0; 31], vec![3840]].concat();
    assert_eq!(rate(&joined), Some(8333));
}

#[test]
fn a_pair_that_shares_an_instant_with_another_packet_does_not_count() {
    // 16 n - 1, 16 n and 16 n + 1: each at a separate instant, or with its neighbour.
    let pairs = |before: u64, within: u64| {
        let mut speed = ArrivalSpeed::default();
        let mut now = Time::ZERO;
        for round in 1..40 {
            for (offset, us) in [(15, 100), (16, before), (17, within)] {
                now += Span::from_us(us);
                speed.on_arrival(now, Number::from_word(16 * round + offset));
            }
        }
        speed.capacity()
    };
    assert_eq!(pairs(5, 3), Some(333_333));
    assert_eq!(pairs(5, 0), None);
    // When the first of the pair came is not known: with the packet before it.
    assert_eq!(pairs(0, 3), None);
}

#[test]
fn a_clock_that_runs_back_adds_no_interval() {
    // Each instant before the last one counts as the last: two packets every 20 us, 10 us each.
    let mut speed = ArrivalSpeed::default();
    for round in 0..9 {
        for us in [10, 5] {
            speed.on_arrival(
                Time::ZERO + Span::from_us(20 * round + us),
                Number::default(),
            );
        }
    }
    assert_eq!(speed.receiving_rate(), Some(100_000));
}

#[test]
fn a_rate_beyond_the_wire_is_the_wires_greatest() {
    let mut speed = ArrivalSpeed::default();
    for ps in 0..17 {
        speed.on_arrival(Time::from_ps(ps), Number::from_word(0));
    }
    assert_eq!(speed.receiving_rate(), Some(MAX_SEQUENCE));
}

/// Arrivals of consecutive numbers from `first` on, 3 us within a pair that begins at a multiple
/// of 16 and 100 us otherwise.
fn in_pairs(first: u32, count: u32) -> ArrivalSpeed {
    let mut speed = ArrivalSpeed::default();
    let mut now = Time::ZERO;
    for index in 0..count {
        let number = Number::from_word(first).plus(u64::from(index));
        let second = number.word() % 16 == 1;
        now += Span::from_us(if second { 3 } else { 100 });
        speed.on_arrival(now, number);
    }
    speed
}

#[test]
fn sixteen_pairs_give_the_capacity() {
    // 3 us: 333,333.3 per second. The 16th pair ends with packet 15 x 16 + 1, the 242nd.
    assert_eq!(in_pairs(0, 241).capacity(), None);
    assert_eq!(in_pairs(0, 242).capacity(), Some(333_333));
    // Across the wrap: 2^31 - 32 is a multiple of 16.
    assert_eq!(in_pairs(MAX_SEQUENCE - 31, 242).capacity(), Some(333_333));
    assert_eq!(in_pairs(MAX_SEQUENCE - 31, 241).capacity(), None);
}

#[test]
fn a_torn_pair_does_not_count() {
    let mut speed = ArrivalSpeed::default();
    let mut now = Time::ZERO;
    for round in 0..40 {
        // 16 n, then 16 n + 2: one was lost. 16 n + 1 after 16 n + 5: it came late.
        for offset in [0, 2, 5, 1] {
            now += Span::from_us(1);
            speed.on_arrival(now, Number::from_word(16 * round + offset));
        }
    }
    assert_eq!(speed.capacity(), None);
}

#[test]
fn the_median_of_pairs_forgives_some() {
    let mut speed = ArrivalSpeed::default();
    let mut now = Time::ZERO;
    // Nine pairs of 12 us and seven of 1 us: 83,333.3 per second. With eight and eight the
    // median is 6.5 us: 153,846.2.
    for (round, us) in [vec![12; 9], vec![1; 7], vec![1]]
        .concat()
        .into_iter()
        .enumerate()
    {
        if round == 16 {
            assert_eq!(speed.capacity(), Some(83_333));
        }
        let number = Number::from_word(16 * round as u32);
        speed.on_arrival(now, number);
        now += Span::from_us(us);
        speed.on_arrival(now, number.plus(1));
        now += Span::from_us(50);
    }
    assert_eq!(speed.capacity(), Some(153_846));
}

#[test]
fn reports_are_smoothed_by_an_eighth() {
    let mut smoothed = Smoothed::default();
    smoothed.report(0);
    assert_eq!(smoothed.packets_per_second(), None);
    let mut seen = Vec::new();
    // 800; 700 + 200 = 900; 787.5 + 0 is no report; 787.5 + 12.5 = 800; 700 + 0.125.
    for report in [800, 1600, 0, 100, 1] {
        smoothed.report(report);
        seen.push(smoothed.packets_per_second());
    }
    assert_eq!(seen, [800, 900, 900, 800, 700].map(Some));
}

#[test]
fn a_smoothed_estimate_arrives_where_the_reports_are() {
    for (first, then) in [(1, 1000), (1000, 1), (1, MAX_SEQUENCE), (MAX_SEQUENCE, 7)] {
        let mut smoothed = Smoothed::default();
        smoothed.report(first);
        for _ in 0..400 {
            smoothed.report(then);
        }
        assert_eq!(smoothed.packets_per_second(), Some(then));
    }
}

proptest! {
    /// For any arrivals an estimate lies between the inverses of the least and the greatest
    /// interval, and depends on the last 16 only.
    #[test]
    fn estimates_stay_within_what_arrived(
        steps in prop::collection::vec((1_u64..1_000_000_000, 0_u32..40), 0..200)
    ) {
        let mut speed = ArrivalSpeed::default();
        let mut now = Time::ZERO;
        let mut intervals = Vec::new();
        for (index, (ps, number)) in steps.into_iter().enumerate() {
            now += Span::from_ps(ps);
            speed.on_arrival(now, Number::from_word(number));
            if index > 0 {
                intervals.push(ps);
            }
            let last = &intervals[intervals.len().saturating_sub(16)..];
            let Some(rate) = speed.receiving_rate() else { continue };
            prop_assert_eq!(last.len(), 16);
            let inverse = |ps: u64| 1e12 / ps as f64;
            let least = inverse(*last.iter().max().expect("16"));
            let most = inverse(*last.iter().min().expect("16"));
            let rate = f64::from(rate);
            prop_assert!(rate >= (least - 1.0).min(2e9) && rate <= most + 1.0);
        }
    }
}
