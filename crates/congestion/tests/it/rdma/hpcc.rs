//! HPCC by hand: algorithm 1 of its paper, in rates.

use incastle_cases::cases;
use incastle_congestion::{Controller, HopTelemetry, Hpcc, HpccConfig};
use incastle_units::{Bytes, Span};
use proptest::prelude::*;

use super::{Feedback, GBIT, MBIT, acknowledge, at_ns, bits, rate, telemetry, window};
use crate::support::Sender;

const LINE: u64 = 100 * GBIT;
/// T = 10 us: the window is 125,000 bytes.
const T: Span = Span::from_us(10);

struct Flow {
    sender: Sender,
    control: Hpcc,
}

impl Flow {
    /// A flow with 100 packets outstanding.
    fn new(config: HpccConfig) -> Self {
        let mut flow = Self {
            sender: Sender::default(),
            control: Hpcc::new(config),
        };
        flow.sender.send(&mut flow.control, 100_000);
        flow
    }

    /// The acknowledgement of one packet.
    fn ack(&mut self, hops: &[HopTelemetry]) -> u64 {
        let feedback = Feedback {
            hops,
            ..Feedback::default()
        };
        acknowledge(&mut self.sender, &mut self.control, 1_000, feedback);
        rate(&self.control)
    }

    /// The same with all data sent before it acknowledged too, and as many sent: the end of a round trip.
    fn round(&mut self, hops: &[HopTelemetry]) -> u64 {
        self.sender.snd_una = self.sender.snd_nxt;
        self.sender.snd_nxt += 100_000;
        self.ack(hops)
    }
}

/// A port of 100 Gbit/s.
fn hop(ns: u64, sent: u64, queue: u64) -> HopTelemetry {
    telemetry(bits(LINE), at_ns(ns), sent, queue)
}

fn paper() -> HpccConfig {
    HpccConfig::sigcomm19(bits(LINE), T)
}

#[test]
fn the_paper_s_values() {
    let config = paper();
    // 80 bytes in 10 us; the bandwidth-delay product.
    assert_eq!(config.ai_rate, bits(64 * MBIT));
    assert_eq!(window(&Hpcc::new(config)), 125_000);
    let simulator = HpccConfig::hpcc_ns3(bits(LINE), T);
    assert_eq!(simulator.ai_rate, bits(40 * MBIT));
    assert_eq!(simulator.limits.min_rate, bits(GBIT));
    assert_eq!(simulator.max_stage, 0);
}

#[test]
fn a_full_port_is_divided_by_its_excess() {
    let mut flow = Flow::new(paper());
    // The first only records.
    assert_eq!(flow.ack(&[hop(1_000, 0, 0)]), LINE);
    // 125,000 bytes in 10 us: u = 1, over all of T: U = 1. W = Wc / (1 / 0.95) + W_AI.
    let after = flow.ack(&[hop(11_000, 125_000, 0)]);
    assert!(after.abs_diff(95_064 * MBIT) <= 1, "{after}");
    // And the window with it: 125,000 x 0.95064.
    assert!(window(&flow.control).abs_diff(118_830) <= 1);
    // A queue of 12,500 bytes both times adds 12,500 / 125,000: u = 1.1. The reference is still 100 Gbit/s.
    flow.ack(&[hop(21_000, 250_000, 12_500)]);
    let after = flow.ack(&[hop(31_000, 375_000, 20_000)]);
    assert!(after.abs_diff((100e9 * 0.95 / 1.1) as u64 + 64 * MBIT) <= 1);
    // The lesser of two queues counts.
    let after = flow.ack(&[hop(41_000, 500_000, 0)]);
    assert!(after.abs_diff(95_064 * MBIT) <= 1, "{after}");
}

#[test]
fn a_part_of_the_round_trip_weighs_as_much_of_the_utilisation() {
    let mut flow = Flow::new(paper());
    flow.ack(&[hop(1_000, 0, 0)]);
    // 6,250 bytes in 2.5 us: u = 0.2; U = 0.75 x 1 + 0.25 x 0.2 = 0.8 < 0.95: additive increase, to the line rate.
    assert_eq!(flow.ack(&[hop(3_500, 6_250, 0)]), LINE);
    // Then u = 2 for 5 us: U = 0.5 x 0.8 + 0.5 x 2 = 1.4.
    let after = flow.ack(&[hop(8_500, 6_250 + 125_000, 0)]);
    assert!(after.abs_diff((100e9 * 0.95 / 1.4) as u64 + 64 * MBIT) <= 1);
}

#[test]
fn the_reference_moves_once_a_round_trip_and_five_additive_steps_precede_a_multiplicative_one() {
    let mut flow = Flow::new(paper());
    flow.ack(&[hop(1_000, 0, 0)]);
    // u = 2: half, at the end of a round trip.
    let (mut ns, mut sent) = (11_000, 250_000);
    let half = flow.round(&[hop(ns, sent, 0)]);
    assert!(half.abs_diff(47_564 * MBIT) <= 1);
    // At u = 0.475 the reference grows by W_AI five times; then W = Wc / (0.475 / 0.95) + W_AI.
    let mut last = half;
    for _ in 0..5 {
        ns += 10_000;
        sent += 59_375;
        let after = flow.round(&[hop(ns, sent, 0)]);
        assert_eq!(after, last + 64 * MBIT);
        last = after;
        // Acknowledgements within the round trip show the same step from the new reference, and do not move it.
        for _ in 0..3 {
            ns += 10_000;
            sent += 59_375;
            let within = flow.ack(&[hop(ns, sent, 0)]);
            assert!(within == last + 64 * MBIT || within.abs_diff(2 * last + 64 * MBIT) <= 2);
        }
    }
    ns += 10_000;
    sent += 59_375;
    let after = flow.round(&[hop(ns, sent, 0)]);
    assert!(after.abs_diff(2 * last + 64 * MBIT) <= 2, "{after} {last}");
}

#[test]
fn without_fast_reaction_only_the_end_of_a_round_trip_counts() {
    let mut flow = Flow::new(HpccConfig {
        fast_react: false,
        ..paper()
    });
    flow.ack(&[hop(1_000, 0, 0)]);
    assert_eq!(flow.ack(&[hop(6_000, 125_000, 0)]), LINE);
    // Against the first telemetry, not against that one.
    let after = flow.round(&[hop(11_000, 125_000, 0)]);
    assert!(after.abs_diff(95_064 * MBIT) <= 1, "{after}");
}

#[test]
fn with_feedback_by_queues_an_empty_hop_is_read_at_the_end_of_a_round_trip_alone() {
    let mut flow = Flow::new(HpccConfig {
        sample_feedback: true,
        ..paper()
    });
    flow.ack(&[hop(1_000, 0, 0)]);
    assert_eq!(flow.ack(&[hop(6_000, 125_000, 0)]), LINE);
    // Against the first telemetry, as above; then a queue is read within the round trip.
    let after = flow.round(&[hop(11_000, 125_000, 0)]);
    assert!(after.abs_diff(95_064 * MBIT) <= 1, "{after}");
    assert!(flow.ack(&[hop(16_000, 250_000, 1_000)]) < 95_000 * MBIT);
}

#[test]
fn the_busiest_hop_counts_with_its_own_time() {
    let mut flow = Flow::new(paper());
    let first = [hop(1_000, 0, 0), hop(2_000, 0, 0)];
    flow.ack(&first);
    // u = 0.5 for 10 us, and u = 1 for 5 us: U = 0.5 x 1 + 0.5 x 1 = 1.
    let after = flow.ack(&[hop(11_000, 62_500, 0), hop(7_000, 62_500, 0)]);
    assert!(after.abs_diff(95_064 * MBIT) <= 1, "{after}");
}

#[test]
fn with_a_rate_for_each_hop_the_least_counts_and_each_keeps_its_own() {
    let mut flow = Flow::new(HpccConfig {
        multi_rate: true,
        ..paper()
    });
    flow.ack(&[hop(1_000, 0, 0), hop(1_000, 0, 0)]);
    // u = 1 and u = 2: 95.064 and 47.564 Gbit/s.
    let after = flow.round(&[hop(11_000, 125_000, 0), hop(11_000, 250_000, 0)]);
    assert!(after.abs_diff(47_564 * MBIT) <= 1, "{after}");
    // Then the first is twice as busy as it should be, the second half as much: 47.532 + 0.064 Gbit/s; stage 1 of the
    // second adds W_AI: 47.628.
    let after = flow.round(&[hop(21_000, 375_000, 0), hop(21_000, 309_375, 0)]);
    let first = (95_064e6 * 0.95 / 2.0) as u64 + 64 * MBIT;
    assert!(after.abs_diff(first) <= 2, "{after} {first}");
    let after = flow.round(&[hop(31_000, 434_375, 0), hop(31_000, 368_750, 0)]);
    assert!(after.abs_diff(first + 64 * MBIT) <= 2, "{after}");
}

#[test]
fn another_path_is_only_recorded() {
    let mut flow = Flow::new(paper());
    flow.ack(&[hop(1_000, 0, 0)]);
    flow.round(&[hop(11_000, 250_000, 0)]);
    let before = rate(&flow.control);
    let slower = telemetry(bits(25 * GBIT), at_ns(12_000), 7, 0);
    assert_eq!(flow.round(&[slower]), before);
    assert_eq!(flow.round(&[slower, hop(13_000, 0, 0)]), before);
    // No time has passed: nothing is known.
    flow.round(&[hop(14_000, 0, 0)]);
    assert_eq!(flow.round(&[hop(14_000, 10_000, 0)]), before);
}

#[test]
fn as_in_ns3_the_hops_of_another_path_are_compared() {
    let mut flow = Flow::new(HpccConfig {
        as_in_ns3: true,
        ..paper()
    });
    flow.ack(&[hop(1_000, 0, 0)]);
    // Another port, of 25 Gbit/s, in its place: 62,500 bytes in 10 us are u = 2.
    let slower = telemetry(bits(25 * GBIT), at_ns(11_000), 62_500, 0);
    let after = flow.round(&[slower]);
    assert!(after.abs_diff(47_564 * MBIT) <= 1, "{after}");
    // A hop that was not there is compared with zeros: 100,000 bytes in 20 us, and u = 0.4 is not the largest.
    let same = |ns, sent| telemetry(bits(25 * GBIT), at_ns(ns), sent, 0);
    let after = flow.round(&[same(21_000, 93_750), hop(20_000, 100_000, 0)]);
    let expected = (47_564e6 * 0.95) as u64 + 64 * MBIT;
    assert!(after.abs_diff(expected) <= 1, "{after} {expected}");
    // 200,000 bytes of it in 10 us are u = 1.6.
    let after = flow.round(&[same(31_000, 125_000), hop(30_000, 300_000, 0)]);
    let next = (expected as f64 * 0.95 / 1.6) as u64 + 64 * MBIT;
    assert!(after.abs_diff(next) <= 1, "{after} {next}");
}

#[test]
fn as_in_ns3_more_than_five_hops_change_nothing() {
    let base = HpccConfig {
        as_in_ns3: true,
        ..paper()
    };
    for (hops, changes) in [(5, true), (6, false)] {
        let mut flow = Flow::new(base);
        let before = flow.ack(&vec![hop(1_000, 0, 0); hops]);
        // 250,000 bytes in 10 us at 100 Gbit/s are u = 2.
        let after = flow.round(&vec![hop(11_000, 250_000, 0); hops]);
        assert_eq!(after != before, changes, "{hops} hops");
    }
}

#[test]
fn as_in_ns3_a_rate_without_a_code_is_25_gbit() {
    let after = |gbit: u64, as_in_ns3| {
        let mut flow = Flow::new(HpccConfig {
            as_in_ns3,
            ..paper()
        });
        let reading = |ns, sent| telemetry(bits(gbit * GBIT), at_ns(ns), sent, 0);
        flow.ack(&[reading(1_000, 0)]);
        flow.round(&[reading(11_000, 31_250)])
    };
    assert_eq!(after(800, true), after(25, true));
    assert_ne!(after(800, false), after(25, false));
    assert_ne!(after(400, true), after(25, true));
}

#[test]
fn an_acknowledgement_without_telemetry_changes_nothing() {
    let mut flow = Flow::new(paper());
    flow.ack(&[hop(1_000, 0, 0)]);
    assert_eq!(flow.round(&[]), LINE);
    // The comparison is with the reading before it, and the round trip ends with this one.
    let after = flow.ack(&[hop(11_000, 125_000, 0)]);
    assert!(after.abs_diff(95_064 * MBIT) <= 1, "{after}");
    let after = flow.round(&[hop(21_000, 250_000, 0)]);
    assert!(after < 91_000 * MBIT, "{after}");
}

#[test]
fn the_reference_of_hpcc_ns3_begins_at_the_port() {
    let mut config = HpccConfig::hpcc_ns3(bits(LINE), T);
    config.limits.max_rate = bits(10 * GBIT);
    config.limits.window = incastle_congestion::RateWindow::Scaled(Bytes::new(12_500));
    let after = |config| {
        let mut flow = Flow::new(config);
        flow.ack(&[telemetry(bits(10 * GBIT), at_ns(0), 0, 0)]);
        // u = 2: half of 10 Gbit/s, or of 100 Gbit/s, which max_rate bounds.
        flow.ack(&[telemetry(bits(10 * GBIT), at_ns(10_000), 25_600, 0)])
    };
    // 25,600 bytes are 200 units of 128 x 4 bytes less a part: 25,600 = 50 x 512. u = 2.048.
    assert!(after(config).abs_diff((10e9 * 0.95 / 2.048) as u64 + 40 * MBIT) <= 1);
    config.limits.reference_at_line_rate = true;
    assert_eq!(after(config), 10 * GBIT);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    /// Any telemetry keeps rate and window within their limits, and the reference unmoved within a round trip.
    #[test]
    fn any_telemetry_keeps_the_invariants(
        multi_rate in any::<bool>(),
        fast_react in any::<bool>(),
        packed in any::<bool>(),
        as_in_ns3 in any::<bool>(),
        acks in prop::collection::vec((any::<bool>(), prop::collection::vec((0_u64..30_000_000, 0_u64..200_000_000, 0_u64..20_000_000), 0..4)), 1..200),
    ) {
        let base = if packed { HpccConfig::hpcc_ns3(bits(LINE), T) } else { paper() };
        let config = HpccConfig { multi_rate, fast_react, as_in_ns3, ..base };
        let mut flow = Flow::new(config);
        let mut over = false;
        for (ends, hops) in acks {
            let hops: Vec<_> = hops.iter().map(|(ns, sent, queue)| hop(*ns, *sent, *queue)).collect();
            let before = rate(&flow.control);
            let after = if ends { flow.round(&hops) } else { flow.ack(&hops) };
            let least = config.limits.min_rate.bits_per_second();
            prop_assert!((least..=LINE).contains(&after), "{after}");
            let scaled = u128::from(after) * 125_000 / u128::from(LINE);
            prop_assert_eq!(u128::from(window(&flow.control)), scaled.max(1));
            // A round trip also ends with the first telemetry after its end.
            over |= ends;
            prop_assert!(fast_react || over || after == before);
            over &= hops.is_empty();
            prop_assert!(flow.control.next_timer().is_none());
        }
    }
}
