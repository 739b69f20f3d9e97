//! The modes and the listing, number by number.

use incastle_congestion::{
    AckSample, CongestionEvent, Controller, Dcudp, DcudpConfig, DcudpEntry, DcudpFloor,
    DcudpGrowth, DcudpLaw, DcudpRtt, Echo, LossInUdpMode, Reaction, Window,
};
use incastle_units::{Bytes, Rate, Span};

use super::{Connection, NAK, PS, config, packets};
use crate::support::sample;

#[test]
fn the_defaults_are_the_default_readings() {
    let config = DcudpConfig::new(Bytes::new(PS), packets(1));
    assert_eq!(config.law, DcudpLaw::Default);
    assert_eq!(config.growth, DcudpGrowth::PerSecond);
    assert_eq!(config.floor, DcudpFloor::Latest);
    assert_eq!(config.rtt, DcudpRtt::Latest);
    assert_eq!(config.entry, DcudpEntry::Measured);
    assert_eq!(config.loss_in_udp_mode, LossInUdpMode::Ignore);
}

#[test]
fn udp_mode_sends_at_the_interfaces_rate_whatever_happens_but_a_mark() {
    let mut connection = Connection::new(config());
    for _ in 0..3 {
        assert_eq!(connection.ack(Echo::Clear), Reaction::Ignored);
        for event in [
            NAK,
            CongestionEvent::Timeout { backoff: 0 },
            CongestionEvent::IdleRestart,
            CongestionEvent::Over,
        ] {
            assert_eq!(connection.report(event), Reaction::Ignored);
            assert!(connection.is_in_udp_mode());
        }
        assert_eq!(connection.control.pacing(), Some(packets(100_000)));
        assert_eq!(connection.control.window(), Window::Unlimited);
    }
}

#[test]
fn a_mark_enters_congestion_mode_and_divides_once_per_packet_sent() {
    let mut connection = Connection::new(config());
    // p = 1/1, d = 1 + 1/10: 100,000 / 1.1 = 90,909.
    assert_eq!(connection.ack(Echo::Congestion), Reaction::Reduced);
    assert_eq!(connection.rates(), (90_909, 90_909));
    assert!(!connection.is_in_udp_mode());
    // 90,909.09 x 12,000 bits.
    let pacing = Rate::from_bits_per_second(1_090_909_090);
    assert_eq!(connection.control.pacing(), Some(pacing));
    assert_eq!(connection.control.window(), Window::Unlimited);
    // Frozen until a packet leaves, but the echoes are counted.
    assert_eq!(connection.frozen_ack(Echo::Congestion), Reaction::Ignored);
    assert_eq!(connection.rates(), (90_909, 90_909));
    // A frozen rate still grows: one packet per second.
    connection.frozen_ack(Echo::Clear);
    assert_eq!(connection.rates(), (90_910, 90_910));
    // Sending thaws. 3 of 4 ACKs were marked: W = 9.0910, d = 1 + 0.75 / 9.0910: 83,982.
    assert_eq!(connection.ack(Echo::Congestion), Reaction::Reduced);
    assert_eq!(connection.rates(), (83_982, 83_982));
}

#[test]
fn a_nak_starts_over_at_one_packet_per_round_trip() {
    let mut connection = Connection::new(config());
    connection.ack(Echo::Congestion);
    // Frozen: only counted.
    assert_eq!(connection.report(NAK), Reaction::Ignored);
    assert_eq!(connection.rates(), (90_909, 90_909));
    connection.send();
    // 10,000, and half the maximum.
    assert_eq!(connection.report(NAK), Reaction::Reduced);
    assert_eq!(connection.rates(), (10_000, 45_455));
    // Clear ACKs double, up to the maximum, then add: 20,000, 40,000, 45,454.5, 45,455.5.
    for expected in [
        (20_000, 45_455),
        (40_000, 45_455),
        (45_455, 45_455),
        (45_456, 45_456),
    ] {
        connection.ack(Echo::Clear);
        assert_eq!(connection.rates(), expected);
    }
    // Both NAKs counted as ACKs with ECE: (1 + 2 + 1) of (1 + 2 + 4 + 1) ACKs. p = 1/2, W = 4.5456,
    // 45,455.5 / (1 + 0.5 / 4.54555) = 40,951.0.
    connection.ack(Echo::Congestion);
    assert_eq!(connection.rates(), (40_951, 40_951));
}

#[test]
fn probes_see_the_maximum_in_congestion_mode_alone() {
    let mut connection = Connection::new(config());
    let seen = |connection: &Connection| connection.control.state().max_rate;
    assert_eq!(seen(&connection), None);
    connection.ack(Echo::Congestion);
    connection.send();
    let _ = connection.report(NAK);
    // Half of 90,909.09 packets of 12,000 bits, while 10,000 per second are sent.
    assert_eq!(connection.rates(), (10_000, 45_455));
    let half = Rate::from_bits_per_second(545_454_545);
    assert_eq!(seen(&connection), Some(half));
    let _ = connection.report(CongestionEvent::Over);
    assert_eq!(seen(&connection), None);
}

#[test]
fn half_the_maximum_is_at_least_one_packet_per_round_trip() {
    let mut connection = Connection::new(config());
    connection.ack(Echo::Congestion);
    for expected in [45_455, 22_727, 11_364, 10_000, 10_000] {
        connection.send();
        assert_eq!(connection.report(NAK), Reaction::Reduced);
        assert_eq!(connection.rates(), (10_000, expected));
    }
}

#[test]
fn exp_and_idleness_leave_the_rates() {
    let mut connection = Connection::new(config());
    connection.ack(Echo::Congestion);
    connection.send();
    for event in [
        CongestionEvent::Timeout { backoff: 0 },
        CongestionEvent::IdleRestart,
    ] {
        assert_eq!(connection.report(event), Reaction::Ignored);
        assert_eq!(connection.rates(), (90_909, 90_909));
    }
}

#[test]
fn the_end_of_congestion_forgets_it() {
    let mut connection = Connection::new(config());
    for echo in [Echo::Congestion, Echo::Clear, Echo::Clear, Echo::Congestion] {
        connection.ack(echo);
    }
    assert_eq!(connection.report(CongestionEvent::Over), Reaction::Ignored);
    assert!(connection.is_in_udp_mode());
    assert_eq!(connection.control.pacing(), Some(packets(100_000)));
    // As at the first time: p = 1/1, and no freeze.
    assert_eq!(connection.frozen_ack(Echo::Congestion), Reaction::Reduced);
    assert_eq!(connection.rates(), (90_909, 90_909));
}

#[test]
fn growth_per_rtt_adds_a_packet_to_the_window() {
    for (growth, expected) in [
        (DcudpGrowth::PerSecond, 81_901),
        (DcudpGrowth::PerRtt, 91_900),
    ] {
        let mut connection = Connection::new(DcudpConfig { growth, ..config() });
        // In windows W^2 / (W + 1): 10, 9.09091, 8.19001. Then 81,900.1 + 1, or 81,900.1 + 10,000.
        connection.ack(Echo::Congestion);
        connection.ack(Echo::Congestion);
        assert_eq!(connection.rates(), (81_900, 81_900));
        connection.ack(Echo::Clear);
        assert_eq!(connection.rates(), (expected, expected));
    }
}

#[test]
fn no_rate_grows_beyond_the_interface() {
    for law in [DcudpLaw::Default, DcudpLaw::Printed] {
        for growth in [DcudpGrowth::PerSecond, DcudpGrowth::PerRtt] {
            let mut connection = Connection::new(DcudpConfig {
                law,
                growth,
                ..config()
            });
            connection.ack(Echo::Congestion);
            for _ in 0..10_000 {
                connection.ack(Echo::Clear);
            }
            assert_eq!(connection.rates(), (100_000, 100_000));
            assert_eq!(connection.control.pacing(), Some(packets(100_000)));
        }
    }
}

#[test]
fn as_printed_the_rates_part_and_double_without_a_bound_but_c() {
    let law = DcudpLaw::Printed;
    let mut connection = Connection::new(DcudpConfig { law, ..config() });
    // (1) 100,000 / 1.1 = 90,909.1; (2) then sees W = 9.0909: 100,000 / 1.11 = 90,090.1.
    assert_eq!(connection.ack(Echo::Congestion), Reaction::Reduced);
    assert_eq!(connection.rates(), (90_909, 90_090));
    // Above the maximum: the maximum follows, Rate_max++ is overwritten. Not above: doubling.
    connection.ack(Echo::Clear);
    assert_eq!(connection.rates(), (90_909, 90_909));
    connection.ack(Echo::Clear);
    assert_eq!(connection.rates(), (100_000, 90_909));
    connection.ack(Echo::Clear);
    assert_eq!(connection.rates(), (100_000, 100_000));
    connection.send();
    // A NAK is the default's: 10,000 and half. Doubling does not stop at the maximum.
    assert_eq!(connection.report(NAK), Reaction::Reduced);
    assert_eq!(connection.rates(), (10_000, 50_000));
    for expected in [
        (20_000, 50_000),
        (40_000, 50_000),
        (80_000, 50_000),
        (80_000, 80_000),
        (100_000, 80_000),
    ] {
        connection.ack(Echo::Clear);
        assert_eq!(connection.rates(), expected);
    }
}

#[test]
fn the_floor_is_one_packet_per_latest_or_idle_round_trip() {
    for (floor, expected) in [
        (DcudpFloor::Latest, (2500, 50_000)),
        (DcudpFloor::Idle, (10_000, 50_000)),
    ] {
        let mut connection = Connection::new(DcudpConfig { floor, ..config() });
        // W = 40 at 400 us: d = 1 + 1/40, 97,561. The NAK: 1 / 400 us, or 1 / 100 us.
        connection.ack_after(400, Echo::Congestion);
        assert_eq!(connection.rates(), (97_561, 97_561));
        connection.send();
        let _ = connection.report(NAK);
        assert_eq!(connection.rates(), (expected.0, 48_780));
        // Marks do not go below it.
        for _ in 0..200 {
            connection.ack_after(400, Echo::Congestion);
        }
        assert_eq!(connection.rates().0, expected.0);
    }
}

#[test]
fn the_idle_round_trip_is_the_least_of_the_connection() {
    let floor = DcudpFloor::Idle;
    let mut connection = Connection::new(DcudpConfig { floor, ..config() });
    // The handshake's 100 us, then 80 us, 300 us; 12,500 packets per second.
    for us in [80, 300] {
        connection.ack_after(us, Echo::Clear);
    }
    connection.sender.smoothed_rtt = Some(Span::from_us(50));
    connection.ack_after(300, Echo::Congestion);
    connection.send();
    let _ = connection.report(NAK);
    assert_eq!(connection.rates().0, 12_500);
}

#[test]
fn the_first_handshake_counts_for_a_nak_that_comes_before_any_ack() {
    let mut connection = Connection::new(DcudpConfig {
        floor: DcudpFloor::Idle,
        loss_in_udp_mode: LossInUdpMode::CongestionMode,
        ..config()
    });
    assert_eq!(connection.report(NAK), Reaction::Reduced);
    assert_eq!(connection.rates().0, 10_000);
    // The handshake's 100 us stay the least, though the smoothed value has left them.
    connection.sender.smoothed_rtt = Some(Span::from_us(200));
    for _ in 0..2 {
        connection.ack_after(200, Echo::Congestion);
        connection.send();
        let _ = connection.report(NAK);
    }
    assert_eq!(connection.rates().0, 10_000);
}

#[test]
fn the_law_takes_the_latest_or_the_smoothed_round_trip() {
    // The latest sample, 200 us: W = 20, 100,000 / 1.05 = 95,238. Smoothed, 100 us: 90,909.
    for (rtt, expected) in [(DcudpRtt::Latest, 95_238), (DcudpRtt::Smoothed, 90_909)] {
        let mut connection = Connection::new(DcudpConfig { rtt, ..config() });
        connection.ack_after(200, Echo::Clear);
        connection.ack(Echo::Congestion);
        assert_eq!(connection.rates().0, expected);
        // One sample or the other: a NAK's 1 / RTT.
        connection.send();
        let _ = connection.report(NAK);
        let one = if rtt == DcudpRtt::Latest {
            5000
        } else {
            10_000
        };
        assert_eq!(connection.rates().0, one);
    }
}

#[test]
fn a_floor_that_was_set_at_a_long_round_trip_holds_until_the_next_cut() {
    let mut connection = Connection::new(config());
    connection.ack_after(1000, Echo::Congestion);
    connection.send();
    let _ = connection.report(NAK);
    assert_eq!(connection.rates().0, 1000);
    // The listing looks at the floor where it cuts: 2000 by doubling; then the cut's 1 / 100 us.
    connection.ack_after(100, Echo::Clear);
    assert_eq!(connection.rates().0, 2000);
    connection.ack_after(100, Echo::Congestion);
    assert_eq!(connection.rates().0, 10_000);
}

#[test]
fn what_is_unknown_or_impossible_is_bounded() {
    let enter = |interface, smoothed_rtt: Option<Span>, latest| {
        let config = DcudpConfig {
            interface: packets(interface),
            ..config()
        };
        let mut connection = Connection::new(config);
        connection.sender.smoothed_rtt = smoothed_rtt;
        let ack = AckSample {
            rtt: latest,
            ..sample(0, Echo::Congestion)
        };
        let _ = connection.sender.ack_with(&mut connection.control, ack);
        connection.rates()
    };
    // No round-trip time at all: UDT's first 100 ms. W = 1000 of 10,000 packets/s: / 1.001.
    assert_eq!(enter(10_000, None, None), (9990, 9990));
    // 0 counts as 1 us: W = 0.01 packets; one packet per microsecond is more than the interface sends.
    assert_eq!(enter(10_000, None, Some(Span::ZERO)), (10_000, 10_000));
    // A round trip of 213 days: W = 1.8e11; the pacing rate is never zero.
    assert_eq!(enter(10_000, None, Some(Span::MAX)), (10_000, 10_000));
    let mut connection = Connection::new(config());
    connection.sender.smoothed_rtt = None;
    let ack = AckSample {
        rtt: Some(Span::MAX),
        ..sample(0, Echo::Congestion)
    };
    let _ = connection.sender.ack_with(&mut connection.control, ack);
    connection.send();
    let _ = connection.report(NAK);
    assert_eq!(
        connection.control.pacing(),
        Some(Rate::from_bits_per_second(1))
    );
}

#[test]
fn a_nak_in_udp_mode_enters_congestion_mode_if_so_configured() {
    let mut connection = Connection::new(DcudpConfig {
        loss_in_udp_mode: LossInUdpMode::CongestionMode,
        ..config()
    });
    assert_eq!(connection.report(NAK), Reaction::Reduced);
    assert_eq!(connection.rates(), (10_000, 50_000));
    // n_ack = n_ecn = 1: a mark makes p = 2/2: 20,000 / (1 + 1/2) = 13,333.
    connection.ack(Echo::Clear);
    assert_eq!(connection.rates(), (20_000, 50_000));
    // p = 2/3: 20,000 / (1 + (2/3) / 2) = 15,000; 50,000 / (4/3) = 37,500.
    connection.ack(Echo::Congestion);
    assert_eq!(connection.rates(), (15_000, 37_500));
}

#[test]
#[should_panic(expected = "C > 0")]
fn an_interface_has_a_rate() {
    let _ = Dcudp::new(DcudpConfig::new(Bytes::new(PS), packets(0)));
}

#[test]
#[should_panic(expected = "a packet holds at least one byte")]
fn packets_have_a_size() {
    let _ = Dcudp::new(DcudpConfig::new(Bytes::ZERO, packets(1)));
}
