//! The limits that all four share: the window's rule, and the arithmetic of rates.

use incastle_congestion::{
    Algorithm, Dcqcn, DcqcnConfig, Hpcc, HpccConfig, RateDctcp, RateDctcpConfig, RateLimits,
    RateWindow, Timely, TimelyConfig,
};
use incastle_units::{Bytes, Span};

use super::{GBIT, MBIT, acknowledge, bits, cnp, rate, window};
use crate::support::Sender;

/// All four at a window.
fn all(window: RateWindow) -> [Algorithm; 4] {
    let line = bits(10 * GBIT);
    let mut dcqcn = DcqcnConfig::sigcomm15(line);
    let mut timely = TimelyConfig::sigcomm15(line);
    let mut hpcc = HpccConfig::sigcomm19(line, Span::from_us(10));
    let mut dctcp = RateDctcpConfig::hpcc_ns3(line);
    for limits in [
        &mut dcqcn.limits,
        &mut timely.limits,
        &mut hpcc.limits,
        &mut dctcp.limits,
    ] {
        limits.window = window;
    }
    [
        Algorithm::from(Dcqcn::new(dcqcn)),
        Algorithm::from(Timely::new(timely)),
        Algorithm::from(Hpcc::new(hpcc)),
        Algorithm::from(RateDctcp::new(dctcp)),
    ]
}

#[test]
fn all_start_at_the_greatest_rate_with_the_whole_window() {
    for (choice, expected) in [
        (RateWindow::Unlimited, 0),
        (RateWindow::Fixed(Bytes::new(18_000)), 18_000),
        (RateWindow::Scaled(Bytes::new(18_000)), 18_000),
    ] {
        for control in all(choice) {
            assert_eq!((rate(&control), window(&control)), (10 * GBIT, expected));
        }
    }
}

#[test]
fn a_scaled_window_follows_the_rate_and_rounds_down() {
    let halved = |choice| {
        let mut config = DcqcnConfig::sigcomm15(bits(10 * GBIT));
        config.limits.window = choice;
        let mut control = Dcqcn::new(config);
        // alpha = 1: half the rate.
        cnp(&mut Sender::default(), &mut control);
        (rate(&control), window(&control))
    };
    let bytes = Bytes::new(18_001);
    // 18,001 x 5 / 10 = 9,000.5.
    assert_eq!(halved(RateWindow::Scaled(bytes)), (5 * GBIT, 9_000));
    assert_eq!(halved(RateWindow::Fixed(bytes)), (5 * GBIT, 18_001));
    // Never below one byte: HPCC-ns3 takes 0 for no window at all.
    let one = Bytes::new(1);
    assert_eq!(halved(RateWindow::Scaled(one)), (5 * GBIT, 1));
    // A product beyond 64 bits: HPCC-ns3's wraps around.
    let huge = Bytes::new(1 << 40);
    assert_eq!(halved(RateWindow::Scaled(huge)), (5 * GBIT, 1 << 39));
}

#[test]
fn losses_and_timeouts_change_nothing() {
    for mut control in all(RateWindow::Unlimited) {
        let mut sender = Sender::default();
        sender.send(&mut control, 10_000);
        sender.lose(&mut control);
        sender.time_out(&mut control, 0);
        // An acknowledgement without a sample or telemetry.
        acknowledge(&mut sender, &mut control, 1_000, super::Feedback::default());
        assert_eq!(rate(&control), 10 * GBIT);
    }
}

#[test]
fn only_a_byte_counter_needs_to_see_what_is_sent() {
    let uses = |config| Algorithm::from(Dcqcn::new(config)).uses_on_sent();
    let line = bits(100 * GBIT);
    assert!(uses(DcqcnConfig::sigcomm15(line)));
    assert!(uses(DcqcnConfig::nvidia(line)));
    assert!(!uses(DcqcnConfig::mellanox(line)));
    let [_, others @ ..] = all(RateWindow::Unlimited);
    assert!(others.iter().all(|control| !control.uses_on_sent()));
}

#[test]
fn limits_fit_slow_ports_too() {
    let limits = RateLimits::new(bits(10 * MBIT));
    assert_eq!(limits.min_rate, bits(10 * MBIT));
    let slow = bits(10 * MBIT);
    for control in [
        Algorithm::from(Dcqcn::new(DcqcnConfig::mellanox(slow))),
        Algorithm::from(Timely::new(TimelyConfig::hpcc_ns3(slow))),
        Algorithm::from(Hpcc::new(HpccConfig::hpcc_ns3(slow, Span::from_ms(1)))),
        Algorithm::from(RateDctcp::new(RateDctcpConfig::hpcc_ns3(slow))),
    ] {
        assert_eq!(rate(&control), 10 * MBIT);
    }
}

#[test]
#[should_panic(expected = "max_rate is at most the line rate")]
fn a_queue_pair_faster_than_its_port_is_refused() {
    let mut config = TimelyConfig::sigcomm15(bits(10 * GBIT));
    config.limits.max_rate = bits(25 * GBIT);
    let _ = Timely::new(config);
}
