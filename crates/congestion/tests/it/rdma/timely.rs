//! TIMELY and Patched TIMELY, by hand and against a second computation.

use incastle_cases::cases;
use incastle_congestion::{Controller, Timely, TimelyConfig, TimelyForm};
use incastle_units::Span;
use proptest::prelude::*;

use super::{Feedback, GBIT, MBIT, acknowledge, bits, rate};
use crate::support::Sender;

const LINE: u64 = 10 * GBIT;

/// A flow whose every acknowledgement ends a round trip, after its first sample of `us`.
struct Trips {
    sender: Sender,
    control: Timely,
}

impl Trips {
    fn new(config: TimelyConfig, us: u64) -> Self {
        let mut trips = Self {
            sender: Sender::default(),
            control: Timely::new(config),
        };
        trips.sender.send(&mut trips.control, 1_000);
        trips.sample(us);
        trips
    }

    /// All outstanding data are acknowledged, and as many sent again.
    fn sample(&mut self, us: u64) -> u64 {
        self.sample_span(Span::from_us(us))
    }

    fn sample_span(&mut self, rtt: Span) -> u64 {
        let feedback = Feedback {
            rtt: Some(rtt),
            ..Feedback::default()
        };
        acknowledge(&mut self.sender, &mut self.control, 1_000, feedback);
        self.sender.send(&mut self.control, 1_000);
        rate(&self.control)
    }
}

#[test]
fn the_first_sample_only_begins_the_comparison() {
    let mut trips = Trips::new(TimelyConfig::sigcomm15(bits(LINE)), 5_000);
    assert_eq!(rate(&trips.control), LINE);
    // diff = 0.875 x (100 - 5,000) < 0: between the thresholds the rate grows, at most to the line rate.
    assert_eq!(trips.sample(100), LINE);
}

#[test]
fn each_zone_has_its_rule() {
    let mut trips = Trips::new(TimelyConfig::sigcomm15(bits(LINE)), 100);
    // 1,000 us > T_high: 1 - 0.8 (1 - 500 / 1,000) = 0.6.
    assert_eq!(trips.sample(1_000), 6 * GBIT);
    // 20 us < T_low: + 10 Mbit/s.
    assert_eq!(trips.sample(20), 6_010 * MBIT);
    // diff: 0.875 x 900 = 787.5; 0.125 x 787.5 + 0.875 x -980 = -759.0625; then 0.125 x -759.0625 + 0.875 x 80
    // = -24.8828: a gradient below zero raises the rate.
    assert_eq!(trips.sample(100), 6_020 * MBIT);
    // 0.125 x -24.8828 + 0.875 x 8 = 3.889648 us; gradient 0.1944824; 1 - 0.8 x 0.1944824 = 0.84441406.
    let cut = 6_020.0 * 0.844_414_062_5;
    assert!((trips.sample(108) as f64 / 1e6 - cut).abs() < 1e-3);
    // A steep gradient takes all, down to the least rate.
    assert_eq!(trips.sample(400), 100 * MBIT);
}

#[test]
fn one_change_for_a_window_of_data() {
    let mut control = Timely::new(TimelyConfig::sigcomm15(bits(LINE)));
    let mut sender = Sender::default();
    sender.send(&mut control, 10_000);
    let mut sample = |sender: &mut Sender, rtt| {
        let rtt = Some(Span::from_us(rtt));
        let feedback = Feedback {
            rtt,
            ..Feedback::default()
        };
        acknowledge(sender, &mut control, 1_000, feedback);
        rate(&control)
    };
    // The first begins; what was sent until then, 10,000 bytes, changes nothing.
    for _ in 0..10 {
        assert_eq!(sample(&mut sender, 1_000), LINE);
    }
    sender.snd_nxt += 3_000;
    // The difference is against the first sample, not the last.
    assert_eq!(sample(&mut sender, 1_000), 6 * GBIT);
    assert_eq!(sample(&mut sender, 1_000), 6 * GBIT);
}

#[test]
fn the_fifth_gradient_in_a_row_is_hyper_active() {
    let mut config = TimelyConfig::sigcomm15(bits(LINE));
    config.limits.min_rate = bits(GBIT);
    let mut trips = Trips::new(config, 100);
    trips.sample(400);
    let mut before = GBIT;
    let mut gains = Vec::new();
    // Falling by 2 us, then 1 us a time. The step up by 300 us fades: 0.125 x 262.5 - 0.875 x 2 = 31.1, then 3.0 us,
    // two cuts that the least rate stops; then -0.5.
    for us in (390..399).rev() {
        let after = trips.sample(us);
        gains.push((after - before) / MBIT);
        before = after;
    }
    assert_eq!(gains, [0, 0, 10, 10, 10, 10, 50, 50, 50]);
    // Below T_low the step is R_AI; the row goes on.
    assert_eq!(trips.sample(49), before + 10 * MBIT);
}

#[test]
fn in_hpcc_ns3_any_five_increases_lead_to_it_and_the_sixth_uses_it() {
    let mut trips = Trips::new(TimelyConfig::hpcc_ns3(bits(LINE)), 100);
    // 1 - 0.8 (1 - 500 / 10,000) = 0.24.
    assert_eq!(trips.sample(10_000), 2_400 * MBIT);
    let mut before = rate(&trips.control);
    let mut gains = Vec::new();
    for _ in 0..7 {
        let after = trips.sample(20);
        gains.push((after - before) / MBIT);
        before = after;
    }
    assert_eq!(gains, [10, 10, 10, 10, 10, 50, 50]);
}

#[test]
fn the_reference_of_hpcc_ns3_begins_at_the_port_and_its_cut_has_no_bound() {
    let mut config = TimelyConfig::hpcc_ns3(bits(100_000 * GBIT));
    config.limits.max_rate = bits(LINE);
    // 0.6 of 10 Gbit/s, or of 100 Tbit/s.
    assert_eq!(Trips::new(config, 100).sample(1_000), 6 * GBIT);
    config.limits.reference_at_line_rate = true;
    let mut trips = Trips::new(config, 100);
    assert_eq!(rate(&trips.control), LINE);
    assert_eq!(trips.sample(1_000), 60_000 * GBIT);
    // The first increase ends it.
    assert_eq!(trips.sample(20), LINE);
}

#[test]
fn patched_timely_weighs_increase_and_decrease_by_the_gradient() {
    let config = TimelyConfig::patched(bits(LINE));
    // Gradient 0: weight 1/2. Error at 100 us: (100 - 50) / 50 = 1. 5 Mbit/s + 10 Gbit/s x (1 - 0.008 x 0.5).
    let mut trips = Trips::new(config, 100);
    assert_eq!(trips.sample(100), 9_965 * MBIT);
    // Gradient 0.875 x 2 / 20 = 0.0875: weight 0.675, error 1.04:
    // 3.25 Mbit/s + 9,965 x (1 - 0.008 x 0.675 x 1.04) = 9,912.28656 Mbit/s.
    assert!(trips.sample(102).abs_diff(9_912_286_560) <= 2);
    // From 1/4 on the weight is 1, below -1/4 it is 0.
    let mut steep = Trips::new(config, 100);
    assert_eq!(steep.sample(200), 10 * GBIT - 240 * MBIT);
    let fallen = steep.sample(60);
    assert_eq!(fallen, 9_770 * MBIT);
}

#[test]
fn patched_timely_rests_where_theory_says() {
    // Zhu et al. (2016): at gradient 0 increase and decrease balance where beta x error x rate = delta: with
    // R = 2.5 Gbit/s the error is 10 / (0.008 x 2,500) = 1/2, the round trip 75 us.
    let mut config = TimelyConfig::patched(bits(LINE));
    config.limits.max_rate = bits(2_500 * MBIT);
    let mut trips = Trips::new(config, 75);
    for _ in 0..100 {
        assert!(trips.sample(75).abs_diff(2_500 * MBIT) <= 1);
    }
    // 1 ns more makes it fall, 1 ns less would make it rise beyond its bound.
    let more = trips.sample_span(Span::from_ns(75_001));
    assert!(more < 2_500 * MBIT - 1);
}

/// One rate of TIMELY from the samples before it: algorithm 1 of the paper in differences of nanoseconds.
fn second_opinion(config: &TimelyConfig, rtts: &[u64]) -> f64 {
    let max = config.limits.max_rate.bits_per_second() as f64;
    let min = config.limits.min_rate.bits_per_second() as f64;
    let ns = |span: Span| (span.as_ps() / 1_000) as f64;
    let (low, high) = (ns(config.t_low), ns(config.t_high));
    let (mut rate, mut run, mut smooth) = (max, 0, 0.0);
    for pair in rtts.windows(2) {
        let (old, new) = (pair[0] as f64, pair[1] as f64);
        smooth = config.alpha * (new - old) + (1.0 - config.alpha) * smooth;
        let slope = smooth / ns(config.min_rtt);
        let ai = config.ai_rate.bits_per_second() as f64;
        let hai = config.hai_rate.bits_per_second() as f64;
        let counted = if config.hai_after_any_increase {
            run
        } else if slope <= 0.0 && new >= low {
            run + 1
        } else {
            0
        };
        let step = if counted >= 5 { hai } else { ai };
        let patched = config.form == TimelyForm::Patched;
        let factor = if new > high {
            Some(1.0 - config.beta + config.beta * high / new)
        } else if new < low || (slope <= 0.0 && !patched) {
            None
        } else {
            Some((1.0 - config.beta * slope).max(0.0))
        };
        rate = match factor {
            _ if patched && new >= low && new <= high => {
                let weight = if slope >= 0.25 {
                    1.0
                } else if slope <= -0.25 {
                    0.0
                } else {
                    2.0 * slope + 0.5
                };
                ai - weight * ai + rate - rate * config.beta * weight * (new / low - 1.0)
            }
            Some(factor) => rate * factor,
            None => rate + step,
        };
        rate = rate.clamp(min, max);
        let continues = if config.hai_after_any_increase {
            factor.is_none()
        } else {
            slope <= 0.0
        };
        run = if continues { run + 1 } else { 0 };
    }
    rate
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1024)))]

    /// The same as a computation in floating point with other operations, but for the rounding of each step.
    #[test]
    fn any_samples_give_what_a_second_computation_gives(
        which in 0_usize..3,
        rtts in prop::collection::vec(prop_oneof![10_000_u64..60_000, 40_000_u64..600_000, 100_000_u64..101_000], 2..80),
    ) {
        let line = bits(LINE);
        let config = [
            TimelyConfig::sigcomm15(line),
            TimelyConfig::hpcc_ns3(line),
            TimelyConfig::patched(line),
        ][which];
        let mut control = Timely::new(config);
        let mut sender = Sender::default();
        sender.send(&mut control, 1_000);
        for (index, ns) in rtts.iter().enumerate() {
            let rtt = Some(Span::from_ns(*ns));
            acknowledge(&mut sender, &mut control, 1_000, Feedback { rtt, ..Feedback::default() });
            sender.send(&mut control, 1_000);
            let expected = second_opinion(&config, &rtts[..=index]);
            let got = rate(&control) as f64;
            prop_assert!((got - expected).abs() <= 2.0 * (index as f64 + 1.0), "{got} {expected}");
            let limits = config.limits;
            prop_assert!(control.pacing() >= Some(limits.min_rate) && control.pacing() <= Some(limits.max_rate));
        }
    }
}
