//! The pacing rate of Linux's TCP, number by number.

use incastle_congestion::{Paced, PacingRatio};
use incastle_units::{Bytes, Rate, Span};

fn rate(cwnd: u64, ssthresh: Option<u64>, outstanding: u64, rtt: Span) -> Rate {
    let paced = Paced {
        outstanding: Bytes::new(outstanding),
        rtt,
    };
    PacingRatio::LINUX.rate(Bytes::new(cwnd), ssthresh.map(Bytes::new), paced)
}

#[test]
fn the_rate_is_twice_the_window_per_round_trip_in_slow_start_and_six_fifths_after() {
    let rtt = Span::from_us(100);
    // 2 x 10,000 B x 8 / 100 us = 1.6 Gbit/s; 1.2 x 10,000 B x 8 / 100 us = 0.96 Gbit/s.
    let fast = Rate::from_bits_per_second(1_600_000_000);
    let slow = Rate::from_bits_per_second(960_000_000);
    assert_eq!(rate(10_000, None, 0, rtt), fast);
    // Below half of ssthresh only.
    assert_eq!(rate(10_000, Some(20_002), 0, rtt), fast);
    assert_eq!(rate(10_000, Some(20_000), 0, rtt), slow);
    assert_eq!(rate(10_000, Some(5_000), 0, rtt), slow);
    // More outstanding than the window: 1.2 x 30,000 B x 8 / 100 us = 2.88 Gbit/s.
    let more = Rate::from_bits_per_second(2_880_000_000);
    assert_eq!(rate(10_000, Some(5_000), 30_000, rtt), more);
}

#[test]
fn a_rate_is_never_zero_nor_beyond_its_range() {
    assert_eq!(
        rate(1, Some(1), 0, Span::MAX),
        Rate::from_bits_per_second(1)
    );
    let most = Rate::from_bits_per_second(u64::MAX);
    assert_eq!(rate(u64::MAX, None, 0, Span::ZERO), most);
}
