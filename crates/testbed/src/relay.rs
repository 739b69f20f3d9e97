//! A path that spoils what crosses it: loss, duplication, delay and reordering, each packet by itself,
//! from a seed. Time comes in as an argument.
//!
//! Leaves out: a rate and a queue (the bottleneck has them), bursts of losses, damage to contents.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incastle_units::{Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::Serialize;

/// The impairments of one direction.
#[derive(Debug, Clone, Copy)]
pub struct PathConfig {
    /// The probability that a packet is lost.
    pub loss: f64,
    /// The probability that it arrives twice.
    pub duplicate: f64,
    /// The probability that it is held back.
    pub reorder: f64,
    /// For how long, beyond the delay of all.
    pub held_back: Span,
    /// The delay of all.
    pub delay: Span,
}

/// Counts of packets in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets that came.
    pub arrived: u64,
    /// Lost packets among them.
    pub lost: u64,
    /// Duplicated packets among the others.
    pub duplicated: u64,
    /// Delayed packets, copies included.
    pub held_back: u64,
    /// Packets that left, copies included.
    pub left: u64,
}

/// One direction.
pub struct Path {
    config: PathConfig,
    rng: Xoshiro256PlusPlus,
    /// By time of departure, then in the order of arrival.
    under_way: BinaryHeap<Reverse<(Time, u64, Vec<u8>)>>,
    numbered: u64,
    counts: Counts,
}

impl Path {
    /// A direction without packets. Equal seeds spoil the same packets of a sequence.
    pub fn new(config: PathConfig, seed: u64) -> Self {
        Self {
            config,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            under_way: BinaryHeap::new(),
            numbered: 0,
            counts: Counts::default(),
        }
    }

    /// A packet came.
    pub fn arrive(&mut self, now: Time, packet: &[u8]) {
        self.counts.arrived += 1;
        // Every packet takes the same number of draws, so that one probability does not move another's
        // victims.
        let draws: [f64; 4] = std::array::from_fn(|_| random::uniform(&mut self.rng));
        if draws[0] < self.config.loss {
            self.counts.lost += 1;
            return;
        }
        self.send_on(now, packet, draws[2]);
        if draws[1] < self.config.duplicate {
            self.counts.duplicated += 1;
            self.send_on(now, packet, draws[3]);
        }
    }

    fn send_on(&mut self, now: Time, packet: &[u8], draw: f64) {
        let mut at = now.saturating_add(self.config.delay);
        if draw < self.config.reorder {
            self.counts.held_back += 1;
            at = at.saturating_add(self.config.held_back);
        }
        self.under_way
            .push(Reverse((at, self.numbered, packet.into())));
        self.numbered += 1;
    }

    /// When the next packet leaves.
    pub fn next_departure(&self) -> Option<Time> {
        self.under_way.peek().map(|Reverse((at, ..))| *at)
    }

    /// The next packet that leaves by now.
    pub fn depart(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.next_departure()? > now {
            return None;
        }
        self.counts.left += 1;
        self.under_way.pop().map(|Reverse((.., packet))| packet)
    }

    /// The counts so far.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CLEAN: PathConfig = PathConfig {
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        held_back: Span::ZERO,
        delay: Span::ZERO,
    };

    fn through(config: PathConfig, packets: u64) -> (Vec<u64>, Counts) {
        let mut path = Path::new(config, 1);
        for number in 0..packets {
            path.arrive(Time::from_ps(number), &number.to_le_bytes());
        }
        let mut left = Vec::new();
        while let Some(at) = path.next_departure() {
            let before = at.as_ps().checked_sub(1).map(Time::from_ps);
            assert_eq!(before.and_then(|before| path.depart(before)), None);
            left.extend(path.depart(at));
        }
        let numbers = left
            .iter()
            .map(|packet| u64::from_le_bytes(packet[..].try_into().unwrap()));
        (numbers.collect(), *path.counts())
    }

    #[test]
    fn a_clean_path_keeps_everything_in_order() {
        let delayed = PathConfig {
            delay: Span::from_ms(1),
            ..CLEAN
        };
        let (numbers, counts) = through(delayed, 1_000);
        assert_eq!(numbers, (0..1_000).collect::<Vec<_>>());
        assert_eq!(
            (counts.arrived, counts.left, counts.lost),
            (1_000, 1_000, 0)
        );
    }

    #[test]
    fn each_probability_is_met() {
        let config = PathConfig {
            loss: 0.1,
            duplicate: 0.2,
            reorder: 0.3,
            held_back: Span::from_ps(50),
            delay: Span::from_ms(1),
        };
        let (_, counts) = through(config, 100_000);
        // Five standard errors of a share p of n: 5 sqrt(p (1 - p) / n), 0.0047 to 0.0070.
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        assert!((share(counts.lost, counts.arrived) - 0.1).abs() < 0.0047);
        let kept = counts.arrived - counts.lost;
        assert!((share(counts.duplicated, kept) - 0.2).abs() < 0.0067);
        assert!((share(counts.held_back, counts.left) - 0.3).abs() < 0.0070);
    }

    proptest! {
        #[test]
        fn what_comes_leaves_or_is_counted(
            loss in 0.0..1.0_f64, duplicate in 0.0..1.0_f64, reorder in 0.0..1.0_f64, held in 0..100_u64,
        ) {
            let config = PathConfig {
                loss, duplicate, reorder,
                held_back: Span::from_ps(held),
                delay: Span::from_ps(1),
            };
            let (numbers, counts) = through(config, 200);
            prop_assert_eq!(counts.arrived - counts.lost + counts.duplicated, counts.left);
            prop_assert_eq!(numbers.len() as u64, counts.left);
        }
    }
}
