//! DCQCN's fixed point: Zhu, Ghobadi, Misra and Padhye, "ECN or Delay: Lessons Learnt from Analysis of DCQCN and
//! TIMELY", CoNEXT 2016, the fluid model of section 3. Packets are marked with a fixed probability p there;
//! the rate R at which increases and cuts balance solves
//!
//!     a^2 alpha / ((b + d) (c + e)) = tau^2 R_AI R,   a = 1 - (1-p)^(tau R),   alpha = 1 - (1-p)^(tau' R),
//!     b = p / ((1-p)^-B - 1),   c = (1-p)^(F B) b,   d = p / ((1-p)^-(T R) - 1),   e = (1-p)^(F T R) d
//!
//! with rates in packets per second, tau the interval of CNPs, tau' the timer of alpha, and B in packets.

use incastle_congestion::{Dcqcn, DcqcnConfig};
use incastle_units::{Bytes, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::{GBIT, MBIT, bits, cnp, rate, run_timers};
use crate::support::Sender;

const PACKET: u64 = 1_000;
const PACKETS: u64 = 6_000_000;
const CNP_INTERVAL: Span = Span::from_us(50);

/// (1-p)^n for any n.
fn unmarked(p: f64, n: f64) -> f64 {
    libm::exp(n * libm::log1p(-p))
}

/// The left side over the right side; it rises with the rate.
fn balance(config: &DcqcnConfig, marking: f64, rate: f64) -> f64 {
    let tau = CNP_INTERVAL.as_secs_lossy();
    let per_timer = config.rpg_time_reset.as_secs_lossy() * rate;
    let cycle = config.rpg_byte_reset.expect("the paper counts bytes");
    let per_cycle = (cycle.count() / PACKET) as f64;
    let threshold = f64::from(config.rpg_threshold);
    let ai = config.rpg_ai_rate.bits_per_second() as f64 / (8 * PACKET) as f64;
    let cut = 1.0 - unmarked(marking, tau * rate);
    let alpha = 1.0 - unmarked(marking, config.alpha_timer.as_secs_lossy() * rate);
    // The increases of one kind, b or d, and those of them beyond F.
    let increases = |packets: f64| marking / (unmarked(marking, -packets) - 1.0);
    let (by_bytes, by_time) = (increases(per_cycle), increases(per_timer));
    let gain_by_bytes = unmarked(marking, threshold * per_cycle) * by_bytes;
    let gain_by_time = unmarked(marking, threshold * per_timer) * by_time;
    let left = cut * cut * alpha / ((by_bytes + by_time) * (gain_by_bytes + gain_by_time));
    left / (tau * tau * ai * rate)
}

/// The fixed point in bits per second, by bisection.
fn fixed_point(config: &DcqcnConfig, p: f64) -> f64 {
    let (mut low, mut high) = (1e3, 1e8);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if balance(config, p, middle) < 1.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    low * (8 * PACKET) as f64
}

/// The mean rate of the controller itself, without its first tenth.
fn simulated(config: &DcqcnConfig, p: f64) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut sender, mut control) = (Sender::default(), Dcqcn::new(*config));
    let mut last_cnp: Option<Time> = None;
    let mut from = Time::ZERO;
    for packet in 0..PACKETS {
        if packet == PACKETS / 10 {
            from = sender.now;
        }
        let next = sender.now + bits(rate(&control)).span_of(Bytes::new(PACKET));
        sender.send(&mut control, PACKET);
        run_timers(&mut sender, &mut control, next);
        let marked = random::uniform(&mut rng) < p;
        if marked && last_cnp.is_none_or(|at| next - at >= CNP_INTERVAL) {
            last_cnp = Some(next);
            cnp(&mut sender, &mut control);
        }
    }
    let counted = (PACKETS - PACKETS / 10) * PACKET * 8;
    counted as f64 / (sender.now - from).as_secs_lossy()
}

/// The model takes rates for their means and CNPs for a stream without memory; it lies below the controller by a
/// factor that the loss of memory explains. The exponent of p has no such excuse.
#[test]
fn the_rate_under_a_fixed_marking_probability_is_that_of_the_fluid_model() {
    // Far above what p allows, so that the bound plays no part.
    let mut config = DcqcnConfig::sigcomm15(bits(400 * GBIT));
    config.limits.min_rate = bits(MBIT);
    let probabilities = [1e-3, 3e-3, 1e-2];
    let pairs = probabilities.map(|p| (fixed_point(&config, p), simulated(&config, p)));
    for (p, (theory, measured)) in probabilities.iter().zip(pairs) {
        let ratio = measured / theory;
        println!("p {p}: {theory:.4e} {measured:.4e} {ratio:.4}");
        assert!((0.75..1.25).contains(&ratio), "p = {p}: {ratio}");
    }
    let exponent = |first: f64, last: f64| libm::log(first / last) / libm::log(10.0);
    let theory = exponent(pairs[0].0, pairs[2].0);
    let measured = exponent(pairs[0].1, pairs[2].1);
    println!("exponents {theory} {measured}");
    // 6,000 marks at least: 1 % of the rate, a half of that in the exponent.
    assert!((measured / theory - 1.0).abs() < 0.02);
}
