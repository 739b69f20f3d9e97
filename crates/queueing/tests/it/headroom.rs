//! Headroom by hand: the formula, the response times of 802.3, and the rule of HPCC's simulator.

use incastle_queueing::{LosslessLink, hpcc_ns3_alpha, hpcc_ns3_headroom, response_quanta};
use incastle_units::{Bytes, Rate, Span};

const fn mbit(count: u64) -> Rate {
    Rate::from_bits_per_second(count * 1_000_000)
}

const fn gbit(count: u64) -> Rate {
    mbit(count * 1_000)
}

#[test]
fn headroom_is_the_sum_of_its_parts() {
    // 100 Gbit/s, 100 m of cable (500 ns), 600 ns of interfaces: 2 x 12.5 B/ns x 1100 ns = 27,500 B. Two frames of
    // 4200 B: 8,400. A pause frame: 64. Response: 394 x 64 = 25,216. Together 61,180.
    let link = LosslessLink {
        rate: gbit(100),
        cable_delay: Span::from_ns(500),
        interface_delay: Span::from_ns(600),
        mtu: Bytes::new(4_200),
    };
    assert_eq!(link.headroom(), Bytes::new(61_180));
    // 10 Gbit/s, 1 us: 2,500 B; 2 x 1,518 = 3,036; 64; 60 x 64 = 3,840. Together 9,440.
    let link = LosslessLink {
        rate: gbit(10),
        cable_delay: Span::from_us(1),
        interface_delay: Span::ZERO,
        mtu: Bytes::new(1_518),
    };
    assert_eq!(link.headroom(), Bytes::new(9_440));
    // Another picosecond in each direction is another begun byte.
    let longer = LosslessLink {
        cable_delay: Span::from_ps(1_000_001),
        ..link
    };
    assert_eq!(longer.headroom(), Bytes::new(9_441));
}

#[test]
fn response_times_follow_the_rate() {
    let quanta = [10, 25, 40, 50, 100, 200, 400].map(|rate| response_quanta(gbit(rate)));
    assert_eq!(quanta, [60, 80, 118, 147, 394, 453, 905]);
    assert_eq!([100, 1_000].map(|rate| response_quanta(mbit(rate))), [1, 2]);
    // A rate in between has those of the next higher one.
    assert_eq!(response_quanta(gbit(5)), 60);
    assert_eq!(
        response_quanta(Rate::from_bits_per_second(10_000_000_001)),
        80
    );
    // Above the highest the time stays: 800 Gbit/s have twice as many quanta, 600 have 1357.5.
    assert_eq!(response_quanta(gbit(800)), 1_810);
    assert_eq!(response_quanta(gbit(600)), 1_358);
}

#[test]
fn hpcc_ns3_has_three_times_the_content_of_the_link() {
    // 3 x 25e9 x 1000 / 8e9 = 9,375; 100 Tbit/s: 37.5 MB.
    assert_eq!(
        hpcc_ns3_headroom(gbit(25), Span::from_us(1)),
        Bytes::new(9_375)
    );
    assert_eq!(
        hpcc_ns3_headroom(gbit(100_000), Span::from_us(1)),
        Bytes::new(37_500_000)
    );
    // Each division cuts: 1 Gbit/s x 11 ns = 11 bits are 1 B, times 3; 7 bits are none.
    assert_eq!(hpcc_ns3_headroom(gbit(1), Span::from_ns(11)), Bytes::new(3));
    assert_eq!(hpcc_ns3_headroom(gbit(1), Span::from_ns(7)), Bytes::ZERO);
}

#[test]
fn hpcc_ns3_shifts_less_at_faster_ports() {
    let alpha = |rate| (1.0 / hpcc_ns3_alpha(2, gbit(rate), gbit(25))) as u64;
    // As fast as the NICs or slower: 1/4; up to twice: 1/2; beyond: 1.
    assert_eq!(
        [10, 25, 26, 50, 51, 100, 400].map(alpha),
        [4, 4, 2, 2, 1, 1, 1]
    );
    assert!((hpcc_ns3_alpha(3, gbit(25), gbit(25)) - 0.125).abs() < f64::EPSILON);
}
