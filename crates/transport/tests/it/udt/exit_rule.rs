//! The exit rule's conditions, with the arithmetic of each case, and any history against fractions of all of it.

use incastle_transport::udt::{ExitReading, ExitRule, ExitRuleConfig, ExitStage};
use incastle_units::Span;
use proptest::prelude::*;

fn rule(k: usize, reading: ExitReading) -> ExitRule {
    ExitRule::new(ExitRuleConfig { k, reading })
}

/// K packets, of which `marked` are marked, the last ones unmarked where possible.
fn fraction(rule: &mut ExitRule, k: usize, marked: usize) {
    for packet in 0..k {
        rule.on_data(packet < marked);
    }
}

fn rtts(rule: &mut ExitRule, us: &[u64]) {
    for &us in us {
        rule.on_rtt(Span::from_us(us));
    }
}

/// The stage after such fractions, given as marks among K packets, and such round trips.
fn stage(reading: ExitReading, marks: &[usize], us: &[u64]) -> ExitStage {
    let mut rule = rule(us.len(), reading);
    for &marked in marks {
        fraction(&mut rule, us.len(), marked);
    }
    rtts(&mut rule, us);
    rule.stage()
}

#[test]
fn the_default_k_is_eight() {
    let config = ExitRuleConfig::default();
    assert_eq!((config.k, config.reading), (8, ExitReading::Default));
}

#[test]
fn condition_2_wants_every_value_to_fall_or_stay() {
    // K = 4, three pairs each.
    for (marks, us, expected) in [
        // P_ecn = 3/3, P_RTT = 3/3.
        ([3, 2, 0, 0], [200, 150, 150, 100], ExitStage::Over),
        ([0, 0, 0, 0], [100, 100, 100, 100], ExitStage::Over),
        // One round trip rose: P_RTT = 2/3 > 0.2.
        ([3, 2, 0, 0], [200, 150, 151, 100], ExitStage::Easing),
        // One fraction rose: P_ecn = 2/3 > 0.5.
        ([2, 3, 0, 0], [200, 150, 150, 100], ExitStage::Easing),
        // The latest p_ecn is 1/4.
        ([3, 2, 2, 1], [200, 150, 150, 100], ExitStage::Congested),
    ] {
        assert_eq!(
            stage(ExitReading::Default, &marks, &us),
            expected,
            "{marks:?}"
        );
    }
}

#[test]
fn condition_1_wants_more_than_half_and_more_than_a_fifth() {
    // K = 6, five pairs: 3/5 > 0.5, 2/5 is not. 1/5 is not more than 0.2, 2/5 is.
    let (three, two) = ([0, 1, 1, 2, 1, 0], [0, 1, 2, 2, 3, 0]);
    let (rises, falls_twice) = ([1, 2, 3, 4, 5, 5], [1, 2, 3, 3, 4, 4]);
    let stage = |marks, us| stage(ExitReading::Default, marks, us);
    assert_eq!(stage(&three, &falls_twice), ExitStage::Easing);
    assert_eq!(stage(&three, &rises), ExitStage::Congested);
    assert_eq!(stage(&two, &falls_twice), ExitStage::Congested);
    // K = 3, two pairs: 1/2 is not more than 0.5.
    assert_eq!(stage(&[0, 1, 0], &[3, 2, 1]), ExitStage::Congested);
    assert_eq!(stage(&[1, 1, 0], &[1, 2, 1]), ExitStage::Easing);
}

#[test]
fn as_printed_condition_1_wants_less_and_contradicts_condition_2() {
    let stage = |marks, us| stage(ExitReading::Printed, marks, us);
    // P_ecn = 2/5 < 0.5, P_RTT = 0 < 0.2.
    assert_eq!(
        stage(&[0, 1, 2, 2, 3, 0], &[1, 2, 3, 4, 5, 6]),
        ExitStage::Easing
    );
    // P_RTT = 1/5 is not less than 0.2; P_ecn = 3/5 not less than 0.5; K = 3: nor is 1/2.
    assert_eq!(
        stage(&[0, 1, 2, 2, 3, 0], &[1, 2, 3, 4, 5, 5]),
        ExitStage::Congested
    );
    assert_eq!(
        stage(&[0, 1, 1, 2, 1, 0], &[1, 2, 3, 4, 5, 6]),
        ExitStage::Congested
    );
    assert_eq!(stage(&[0, 1, 0], &[1, 2, 3]), ExitStage::Congested);
    // The condition that ends the default's congestion mode immediately has no effect here.
    assert_eq!(
        stage(&[3, 2, 0, 0], &[200, 150, 150, 100]),
        ExitStage::Congested
    );
}

#[test]
fn as_printed_condition_1_is_remembered_until_condition_2_or_a_mark() {
    let met = || {
        let mut rule = rule(4, ExitReading::Printed);
        for marked in [0, 1, 2, 0] {
            fraction(&mut rule, 4, marked);
        }
        // P_ecn = 1/3, P_RTT = 0.
        rtts(&mut rule, &[10, 20, 30, 40]);
        assert_eq!(rule.stage(), ExitStage::Easing);
        rule
    };
    let mut unmarked = met();
    for _ in 0..3 {
        fraction(&mut unmarked, 4, 0);
    }
    rtts(&mut unmarked, &[40, 30, 20]);
    assert_eq!(unmarked.stage(), ExitStage::Over);
    // A mark forgets it; condition 2 alone is not enough.
    let mut marked = met();
    fraction(&mut marked, 4, 1);
    assert_eq!(marked.stage(), ExitStage::Congested);
    for _ in 0..4 {
        fraction(&mut marked, 4, 0);
    }
    rtts(&mut marked, &[40, 30, 20, 10]);
    assert_eq!(marked.stage(), ExitStage::Congested);
}

#[test]
fn a_window_that_is_not_full_decides_nothing() {
    let mut rule = rule(3, ExitReading::Default);
    rtts(&mut rule, &[3, 2, 1, 1]);
    for _ in 0..8 {
        rule.on_data(false);
        rtts(&mut rule, &[1]);
        assert_eq!(rule.stage(), ExitStage::Congested);
    }
    // The ninth packet completes the third fraction; the next ACK2 sees it.
    rule.on_data(false);
    assert_eq!(rule.stage(), ExitStage::Congested);
    rtts(&mut rule, &[1]);
    assert_eq!(rule.stage(), ExitStage::Over);
    // And in the reverse order.
    let mut rule = self::rule(3, ExitReading::Default);
    for _ in 0..3 {
        fraction(&mut rule, 3, 0);
    }
    rtts(&mut rule, &[3, 2]);
    assert_eq!(rule.stage(), ExitStage::Congested);
    rtts(&mut rule, &[1]);
    assert_eq!(rule.stage(), ExitStage::Over);
}

#[test]
fn the_oldest_values_leave_the_windows() {
    let mut rule = rule(3, ExitReading::Default);
    // The rise from 0 to 3 marks and from 10 to 90 us is the fourth value from the end.
    for marked in [0, 3, 2, 0] {
        fraction(&mut rule, 3, marked);
    }
    rtts(&mut rule, &[10, 90, 80, 70]);
    assert_eq!(rule.stage(), ExitStage::Over);
}

#[test]
fn round_trips_are_compared_in_whole_microseconds() {
    let mut rule = rule(2, ExitReading::Default);
    fraction(&mut rule, 2, 0);
    fraction(&mut rule, 2, 0);
    // 100.001 and 100.999 us are the same, 101 us is not.
    rule.on_rtt(Span::from_ns(100_001));
    rule.on_rtt(Span::from_ns(100_999));
    assert_eq!(rule.stage(), ExitStage::Over);
    rule.on_data(true);
    rule.on_data(false);
    fraction(&mut rule, 2, 0);
    rule.on_rtt(Span::from_ns(101_000));
    assert_eq!(rule.stage(), ExitStage::Congested);
}

#[test]
fn the_interval_of_acks_is_two_idle_round_trips_from_condition_1_to_the_next_mark() {
    let (rtt, idle) = (Span::from_us(300), Span::from_us(100));
    let mut rule = rule(4, ExitReading::Default);
    assert_eq!(rule.ack_interval(rtt, idle), rtt);
    for _ in 0..4 {
        fraction(&mut rule, 4, 0);
    }
    rtts(&mut rule, &[1, 2, 1, 1]);
    assert_eq!(
        (rule.stage(), rule.ack_interval(rtt, idle)),
        (ExitStage::Easing, idle * 2)
    );
    // Neither a rising trend nor unmarked packets take that back.
    rtts(&mut rule, &[2, 3, 4, 5]);
    rule.on_data(false);
    assert_eq!(
        (rule.stage(), rule.ack_interval(rtt, idle)),
        (ExitStage::Easing, idle * 2)
    );
    rtts(&mut rule, &[5, 5, 5]);
    assert_eq!(
        (rule.stage(), rule.ack_interval(rtt, idle)),
        (ExitStage::Over, idle * 2)
    );
    rule.on_data(true);
    assert_eq!(
        (rule.stage(), rule.ack_interval(rtt, idle)),
        (ExitStage::Congested, rtt)
    );
}

#[test]
#[should_panic(expected = "K >= 2")]
fn a_trend_needs_two_values() {
    let _ = rule(1, ExitReading::Default);
}

/// The quantities of the exit conditions.
struct Trends {
    /// P_ecn.
    ecn: f64,
    /// P_RTT.
    rtt: f64,
    /// Whether the latest p_ecn is 0.
    unmarked: bool,
}

/// The whole history, and the conditions as fractions of it.
#[derive(Default)]
struct History {
    rtts: Vec<u64>,
    packets: Vec<bool>,
}

impl History {
    fn share(values: &[usize]) -> f64 {
        let falling = values.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        falling as f64 / (values.len() - 1) as f64
    }

    /// The trends, once both windows are full.
    fn trends(&self, k: usize) -> Option<Trends> {
        let fractions: Vec<usize> = self
            .packets
            .chunks_exact(k)
            .map(|chunk| chunk.iter().filter(|&&ce| ce).count())
            .collect();
        if fractions.len() < k || self.rtts.len() < k {
            return None;
        }
        let ecn = &fractions[fractions.len() - k..];
        let rtts: Vec<usize> = self.rtts[self.rtts.len() - k..]
            .iter()
            .map(|&ns| (ns / 1000) as usize)
            .collect();
        Some(Trends {
            ecn: Self::share(ecn),
            rtt: Self::share(&rtts),
            unmarked: ecn[k - 1] == 0,
        })
    }
}

proptest! {
    /// Any sequence of packets and round trips: the stage follows from the whole history.
    #[test]
    fn the_stage_follows_from_the_history(
        k in 2_usize..6,
        printed in any::<bool>(),
        // A packet, one in 30 with CE, or a round trip in nanoseconds.
        steps in prop::collection::vec((any::<bool>(), 0_u32..30, 99_000_u64..103_000), 0..300)
    ) {
        let reading = if printed { ExitReading::Printed } else { ExitReading::Default };
        let mut rule = rule(k, reading);
        let mut history = History::default();
        let mut expected = ExitStage::Congested;
        for (is_packet, marked, ns) in steps {
            if is_packet {
                let ce = marked == 0;
                rule.on_data(ce);
                history.packets.push(ce);
                if ce {
                    expected = ExitStage::Congested;
                }
            } else {
                rule.on_rtt(Span::from_ns(ns));
                history.rtts.push(ns);
                if let Some(Trends { ecn, rtt, unmarked: true }) = history.trends(k) {
                    let first = if printed {
                        ecn < 0.5 && rtt < 0.2
                    } else {
                        ecn > 0.5 && rtt > 0.2
                    };
                    if expected == ExitStage::Congested && first {
                        expected = ExitStage::Easing;
                    }
                    let all = |share: f64| (share - 1.0).abs() < 1e-12;
                    if expected == ExitStage::Easing && all(ecn) && all(rtt) {
                        expected = ExitStage::Over;
                    }
                }
            }
            prop_assert_eq!(rule.stage(), expected);
        }
    }
}
