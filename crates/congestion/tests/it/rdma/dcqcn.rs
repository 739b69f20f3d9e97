//! DCQCN: both forms by hand, and against a simulation with all of their timers as events.

use std::collections::BTreeSet;

use incastle_cases::cases;
use incastle_congestion::{Controller, Dcqcn, DcqcnConfig, DcqcnForm, Reaction};
use incastle_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::{GBIT, MBIT, alpha, at_ns, bits, cnp, rate, run_timers, target};
use crate::support::Sender;

fn start(config: DcqcnConfig) -> (Sender, Dcqcn) {
    let sender = Sender {
        now: at_ns(1_000),
        ..Sender::default()
    };
    (sender, Dcqcn::new(config))
}

#[test]
fn each_cnp_of_the_paper_cuts_at_once_with_alpha_as_it_was() {
    let (mut sender, mut control) = start(DcqcnConfig::sigcomm15(bits(40 * GBIT)));
    assert_eq!(control.next_timer(), None);
    // alpha = 1: 40 x 1/2; alpha <- 255/256 + 1/256.
    cnp(&mut sender, &mut control);
    assert_eq!((rate(&control), target(&control)), (20 * GBIT, 40 * GBIT));
    assert_eq!(control.state().alpha, Some(1.0));
    // Two decays of 55 us: alpha = (255/256)^2 = 0.9922028; 20 (1 - alpha/2) = 10.077972 Gbit/s.
    let now = at_ns(1_000 + 2 * 55_000);
    sender.now = now - Span::from_ps(1);
    sender.ack(&mut control, 0, incastle_congestion::Echo::Clear);
    assert_eq!(control.state().alpha, Some(255.0 / 256.0));
    sender.now = now;
    cnp(&mut sender, &mut control);
    assert_eq!(target(&control), 20 * GBIT);
    assert_eq!(rate(&control), 10_077_972_412);
    // 255/256 x (255/256)^2 + 1/256.
    assert!((alpha(&control) - 0.992_233_217).abs() < 1e-9);
}

#[test]
fn five_steps_of_fast_recovery_then_additive_increase() {
    let (mut sender, mut control) = start(DcqcnConfig::sigcomm15(bits(40 * GBIT)));
    cnp(&mut sender, &mut control);
    // The distance to the target of 40 Gbit/s halves: 20, 10, 5, 2.5, 1.25, 0.625 Gbit/s.
    for (step, mbit) in [30_000, 35_000, 37_500, 38_750, 39_375].iter().enumerate() {
        let now = at_ns(1_000 + 55_000 * (step as u64 + 1));
        assert_eq!(control.next_timer(), Some(now));
        run_timers(&mut sender, &mut control, now);
        assert_eq!((rate(&control), target(&control)), (mbit * MBIT, 40 * GBIT));
    }
    // The target is the line rate; the sixth step leaves it there.
    run_timers(&mut sender, &mut control, at_ns(1_000 + 55_000 * 6));
    assert_eq!(
        (rate(&control), target(&control)),
        (39_687_500_000, 40 * GBIT)
    );
    // Another cut makes 39.6875 the target, which grows by 40 Mbit/s at the sixth step.
    let now = sender.now;
    cnp(&mut sender, &mut control);
    run_timers(&mut sender, &mut control, now + Span::from_us(55 * 5));
    assert_eq!(target(&control), 39_687_500_000);
    run_timers(&mut sender, &mut control, now + Span::from_us(55 * 6));
    assert_eq!(target(&control), 39_727_500_000);
}

#[test]
fn bytes_count_as_well_and_both_together_are_hyper_increase() {
    let mut config = DcqcnConfig::sigcomm15(bits(40 * GBIT));
    config.rpg_byte_reset = Some(Bytes::new(10_000));
    let (mut sender, mut control) = start(config);
    sender.send(&mut control, 1_000_000);
    assert_eq!(
        rate(&control),
        40 * GBIT,
        "before the first CNP nothing counts"
    );
    cnp(&mut sender, &mut control);
    let now = sender.now;
    cnp(&mut sender, &mut control);
    // 20 and then 10 Gbit/s. Bytes: 9,999 are no cycle, one more is.
    assert_eq!((rate(&control), target(&control)), (10 * GBIT, 20 * GBIT));
    sender.send(&mut control, 9_999);
    assert_eq!(rate(&control), 10 * GBIT);
    sender.send(&mut control, 1);
    assert_eq!(rate(&control), 15 * GBIT);
    // Six cycles at once, of which the last two (numbers 6 and 7) exceed F: additive increase.
    sender.send(&mut control, 60_000);
    assert_eq!(target(&control), 20 * GBIT + 2 * 40 * MBIT);
    // With the timer's sixth, the lesser count is one beyond F: R_HAI; with its seventh and the bytes' eighth 2 R_HAI.
    run_timers(&mut sender, &mut control, now + Span::from_us(5 * 55));
    assert_eq!(target(&control), 20 * GBIT + 7 * 40 * MBIT);
    run_timers(&mut sender, &mut control, now + Span::from_us(6 * 55));
    assert_eq!(target(&control), 20 * GBIT + 7 * 40 * MBIT + 200 * MBIT);
    run_timers(&mut sender, &mut control, now + Span::from_us(7 * 55));
    assert_eq!(target(&control), 20 * GBIT + 7 * 40 * MBIT + 3 * 200 * MBIT);
}

#[test]
fn mellanox_cuts_at_the_next_check_and_alpha_has_been_updated_by_then() {
    let (mut sender, mut control) = start(DcqcnConfig::mellanox(bits(100 * GBIT)));
    cnp(&mut sender, &mut control);
    assert_eq!(rate(&control), 100 * GBIT);
    // The check of 4 us, 1 ns after the fourth update of alpha: (255/256)^4 = 0.9844663; 100 (1 - 0.4922332) Gbit/s.
    let check = at_ns(1_000 + 4_001);
    assert_eq!(control.next_timer(), Some(check));
    run_timers(&mut sender, &mut control, check);
    let decayed = (255.0_f64 / 256.0) * (255.0 / 256.0) * (255.0 / 256.0) * (255.0 / 256.0);
    assert_eq!(rate(&control), (100e9 * (1.0 - decayed / 2.0)) as u64);
    assert_eq!(rate(&control), 50_776_684_272);
    assert_eq!(target(&control), 100 * GBIT);
    // The increase comes 300 us after the cut: the first half way (stage 0 < F = 1), the second with R_AI = 20 Mbit/s,
    // for which there is no room below the line rate.
    let increase = check + Span::from_us(300);
    assert_eq!(control.next_timer(), Some(increase));
    run_timers(&mut sender, &mut control, increase);
    assert_eq!(rate(&control), 25_388_342_136 + 50 * GBIT);
    // A CNP during stage 1: the check makes the current rate the target.
    sender.now += Span::from_us(2);
    cnp(&mut sender, &mut control);
    let before = rate(&control);
    let cut = control.next_timer().expect("a CNP waits");
    run_timers(&mut sender, &mut control, cut);
    assert_eq!(target(&control), before);
    // Without an increase between two cuts the target stays.
    cnp(&mut sender, &mut control);
    let cut = control.next_timer().expect("a CNP waits");
    run_timers(&mut sender, &mut control, cut);
    assert_eq!(target(&control), before);
    assert!(rate(&control) < before / 2 + before / 4);
}

#[test]
fn mellanox_increases_by_r_ai_once_and_by_r_hai_from_then_on() {
    let (mut sender, mut control) = start(DcqcnConfig::mellanox(bits(100 * GBIT)));
    cnp(&mut sender, &mut control);
    let cut = control.next_timer().expect("a CNP waits");
    run_timers(&mut sender, &mut control, cut);
    // To stage 1, so that the next cut lowers the target.
    run_timers(&mut sender, &mut control, cut + Span::from_us(300));
    cnp(&mut sender, &mut control);
    let cut = control.next_timer().expect("a CNP waits");
    run_timers(&mut sender, &mut control, cut);
    let low = target(&control);
    assert!(low < 80 * GBIT);
    let mut targets = Vec::new();
    for step in 1..=4 {
        run_timers(&mut sender, &mut control, cut + Span::from_us(300 * step));
        targets.push(target(&control) - low);
    }
    // R_AI = 5, R_HAI = 50 Mbit/s per 25 Gbit/s.
    assert_eq!(targets, [0, 20 * MBIT, 220 * MBIT, 420 * MBIT]);
}

#[test]
fn only_the_first_cnp_is_reported_as_a_reaction_of_mellanox() {
    let (mut sender, mut control) = start(DcqcnConfig::mellanox(bits(100 * GBIT)));
    let ecn = incastle_congestion::CongestionEvent::Ecn;
    assert_eq!(
        control.on_congestion(&mut sender.cx(), ecn),
        Reaction::Reduced
    );
    assert_eq!(
        control.on_congestion(&mut sender.cx(), ecn),
        Reaction::Ignored
    );
}

#[test]
fn a_flow_at_full_rate_has_no_timer() {
    for config in [
        DcqcnConfig::sigcomm15(bits(40 * GBIT)),
        DcqcnConfig::mellanox_paper(bits(40 * GBIT)),
    ] {
        let (mut sender, mut control) = start(config);
        cnp(&mut sender, &mut control);
        run_timers(&mut sender, &mut control, at_ns(1_000_000_000));
        // Both halves of the midpoint round down: the rate stays one bit/s short.
        assert_eq!(
            (rate(&control), control.next_timer()),
            (40 * GBIT - 1, None)
        );
    }
}

#[test]
fn after_a_long_silence_alpha_is_nothing_and_the_next_cnp_is_as_ever() {
    for (config, ticks) in [
        (DcqcnConfig::sigcomm15(bits(40 * GBIT)), 55),
        (DcqcnConfig::mellanox(bits(40 * GBIT)), 1),
    ] {
        let (mut sender, mut control) = start(config);
        cnp(&mut sender, &mut control);
        // (255/256)^11,100 = 1.4e-19, less than g 2^-54 = 2.2e-19.
        let silence = Span::from_us(11_100 * ticks);
        let later = sender.now + silence;
        run_timers(&mut sender, &mut control, later);
        sender.ack(&mut control, 0, incastle_congestion::Echo::Clear);
        assert_eq!(control.state().alpha, Some(0.0));
        let before = rate(&control);
        cnp(&mut sender, &mut control);
        let soon = sender.now + Span::from_us(5);
        run_timers(&mut sender, &mut control, soon);
        sender.ack(&mut control, 0, incastle_congestion::Echo::Clear);
        // One update later: g in both forms. The cut was by nothing (paper), or by at most g / 2.
        assert!(rate(&control) >= before - before / 512 - 1);
        assert!(alpha(&control) > 0.95 / 256.0 && alpha(&control) <= 1.0 / 256.0);
    }
}

/// HPCC's simulator without EWMA_GAIN. An hour is 3.6 billion periods, which take no time.
#[test]
fn a_weight_of_zero_keeps_alpha() {
    let mut config = DcqcnConfig::mellanox(bits(100 * GBIT));
    config.g = 0.0;
    let (mut sender, mut control) = start(config);
    cnp(&mut sender, &mut control);
    sender.now += Span::from_secs(3_600);
    cnp(&mut sender, &mut control);
    assert_eq!(control.state().alpha, Some(1.0));
}

#[test]
fn the_target_of_hpcc_ns3_is_bounded_by_the_port() {
    // A port of 100 Tbit/s under MAX_RATE = 10 Gbit/s, and R_HAI of 5 Gbit/s so that it shows soon.
    let mut config = DcqcnConfig::mellanox_paper(bits(100_000 * GBIT));
    config.limits.max_rate = bits(10 * GBIT);
    config.rpg_hai_rate = bits(5 * GBIT);
    let after = |config| {
        let (mut sender, mut control) = start(config);
        cnp(&mut sender, &mut control);
        run_timers(&mut sender, &mut control, at_ns(2_000_000));
        rate(&control)
    };
    assert_eq!(after(config), 10 * GBIT - 1);
    config.limits.reference_at_line_rate = true;
    assert!(after(config) > 100 * GBIT);
}

/// The same control with an event for each timer, in whole nanoseconds, after the description of HPCC-ns3 and of
/// the paper. At one instant: increase, alpha, cut, then CNPs.
struct Eager {
    config: DcqcnConfig,
    rate: u64,
    target: u64,
    alpha: f64,
    stage: u64,
    seen: bool,
    for_alpha: bool,
    for_cut: bool,
    events: BTreeSet<(u64, u8)>,
    increase_at: u64,
}

const INCREASE: u8 = 0;
const ALPHA: u8 = 1;
const CUT: u8 = 2;

impl Eager {
    fn new(config: DcqcnConfig) -> Self {
        Self {
            rate: config.limits.max_rate.bits_per_second(),
            target: config.limits.max_rate.bits_per_second(),
            alpha: config.initial_alpha,
            config,
            stage: 0,
            seen: false,
            for_alpha: false,
            for_cut: false,
            events: BTreeSet::new(),
            increase_at: u64::MAX,
        }
    }

    fn ns(span: Span) -> u64 {
        span.as_ps() / 1_000
    }

    fn at(&mut self, when: u64, what: u8) {
        self.events.insert((when, what));
    }

    fn cut(&mut self, now: u64) {
        let least = self.config.limits.min_rate.bits_per_second();
        let cut = (self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64;
        self.rate = cut.max(least);
        self.stage = 0;
        self.events.remove(&(self.increase_at, INCREASE));
        self.increase_at = now + Self::ns(self.config.rpg_time_reset);
        self.at(self.increase_at, INCREASE);
    }

    fn cnp(&mut self, now: u64) {
        let g = self.config.g;
        match self.config.form {
            DcqcnForm::Sigcomm15 => {
                self.target = self.rate;
                self.cut(now);
                self.alpha = (1.0 - g) * self.alpha + g;
                self.events.retain(|(_, what)| *what != ALPHA);
                self.at(now + Self::ns(self.config.alpha_timer), ALPHA);
            }
            DcqcnForm::Mellanox(form) => {
                self.for_alpha = self.seen;
                self.for_cut = true;
                if !self.seen {
                    self.seen = true;
                    self.target = self.rate;
                    self.at(now + Self::ns(self.config.alpha_timer), ALPHA);
                    self.at(now + Self::ns(form.rate_reduce_monitor_period) + 1, CUT);
                }
            }
        }
    }

    fn increase(&mut self, now: u64) {
        let f = u64::from(self.config.rpg_threshold);
        let ai = self.config.rpg_ai_rate.bits_per_second();
        let hai = self.config.rpg_hai_rate.bits_per_second();
        let gain = match self.config.form {
            _ if self.stage < f => 0,
            DcqcnForm::Sigcomm15 => hai * (self.stage + 1 - f),
            DcqcnForm::Mellanox(_) if self.stage == f => ai,
            DcqcnForm::Mellanox(_) => hai,
        };
        let most = self.config.limits.max_rate.bits_per_second();
        self.target = (self.target + gain).min(most);
        self.rate = self.rate / 2 + self.target / 2;
        self.stage += 1;
        self.increase_at = now + Self::ns(self.config.rpg_time_reset);
        self.at(self.increase_at, INCREASE);
    }

    fn run(&mut self, until: u64) {
        while let Some(&(now, what)) = self.events.first() {
            if now > until {
                return;
            }
            self.events.pop_first();
            let g = self.config.g;
            match (what, self.config.form) {
                (INCREASE, _) => self.increase(now),
                (ALPHA, _) => {
                    self.alpha *= 1.0 - g;
                    if self.for_alpha {
                        self.alpha += g;
                    }
                    self.for_alpha = false;
                    self.at(now + Self::ns(self.config.alpha_timer), ALPHA);
                }
                (_, DcqcnForm::Mellanox(form)) => {
                    if self.for_cut {
                        if form.clamp_tgt_rate || self.stage > 0 {
                            self.target = self.rate;
                        }
                        self.cut(now);
                        self.for_cut = false;
                    }
                    self.at(now + Self::ns(form.rate_reduce_monitor_period), CUT);
                }
                (_, DcqcnForm::Sigcomm15) => unreachable!("the paper has no periodic cut"),
            }
        }
    }
}

fn configs() -> [DcqcnConfig; 4] {
    let line = bits(25 * GBIT);
    // Without the byte counter: what is sent is no part of this comparison.
    let timed = |config| DcqcnConfig {
        rpg_byte_reset: None,
        ..config
    };
    [
        timed(DcqcnConfig::sigcomm15(line)),
        DcqcnConfig::mellanox(line),
        DcqcnConfig::mellanox_paper(line),
        timed(DcqcnConfig::nvidia(line)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1024)))]

    /// Rates, target and alpha, bit for bit, with timers only where something changes and with a timer for all.
    #[test]
    fn timers_that_are_made_up_for_give_the_same_as_events(
        which in 0_usize..4,
        gaps in prop::collection::vec(prop_oneof![0_u64..3_000, 0_u64..120_000, 0_u64..3_000_000], 1..120),
    ) {
        let config = configs()[which];
        let mut eager = Eager::new(config);
        let (mut sender, mut control) = start(config);
        let mut now = 1_000;
        for gap in gaps {
            now += gap;
            eager.run(now);
            run_timers(&mut sender, &mut control, at_ns(now));
            sender.ack(&mut control, 0, incastle_congestion::Echo::Clear);
            prop_assert_eq!(
                (rate(&control), target(&control), alpha(&control)),
                (eager.rate, eager.target, eager.alpha)
            );
            eager.cnp(now);
            cnp(&mut sender, &mut control);
        }
    }

    /// Under CNPs, packets and time in any order the rate stays within its limits and moves towards the target.
    #[test]
    fn any_operations_keep_the_invariants(
        which in 0_usize..5,
        steps in prop::collection::vec((0_u8..4, 0_u64..200_000), 1..300),
    ) {
        let line = bits(40 * GBIT);
        let config = [
            DcqcnConfig::sigcomm15(line),
            DcqcnConfig::ns3_rdma(line),
            DcqcnConfig::mellanox(line),
            DcqcnConfig::mellanox_paper(line),
            DcqcnConfig::nvidia(line),
        ][which];
        let (mut sender, mut control) = start(config);
        let least = config.limits.min_rate.bits_per_second();
        for (kind, number) in steps {
            let before = rate(&control);
            match kind {
                0 => cnp(&mut sender, &mut control),
                1 => sender.send(&mut control, number * 100),
                _ => {
                    let until = sender.now + Span::from_ns(number);
                    run_timers(&mut sender, &mut control, until);
                }
            }
            let after = rate(&control);
            prop_assert!((least..=40 * GBIT).contains(&after));
            prop_assert!(target(&control) <= 40 * GBIT);
            prop_assert!((0.0..=1.0).contains(&alpha(&control)));
            prop_assert!(kind != 0 || after + 1 >= before / 2, "a cut takes at most half");
            prop_assert!(control.next_timer().is_none_or(|at: Time| at > sender.now));
        }
    }
}
