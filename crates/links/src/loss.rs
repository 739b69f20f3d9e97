//! Packets that a link loses or corrupts at random.
//!
//! Losses are independent, or come in bursts: Gilbert, "Capacity of a burst-noise channel", Bell System Technical
//! Journal 39(5), 1960; Elliott, "Estimates of error rates for codes on burst-noise channels", Bell System Technical
//! Journal 42(5), 1963. Corruption has a bit error rate. Leaves out: errors that a checksum misses, forward error
//! correction, bit errors in bursts.

use incastle_units::random;
use rand_core::Rng;

/// The law by which a link loses packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Each packet with this probability, independently.
    Independent(f64),
    /// In bursts.
    Bursts(GilbertElliott),
}

/// Gilbert and Elliott's channel: a Markov chain of two states, with one step per packet, each with a probability of
/// loss. `tc-netem(8)` has the same parameters: `loss gemodel p r 1-h 1-k`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// The probability of a step from the good to the bad state, after each packet: p.
    pub good_to_bad: f64,
    /// The probability of a step back: r. The bad state lasts 1/r packets on average.
    pub bad_to_good: f64,
    /// The probability of loss in the bad state: 1 - h.
    pub loss_in_bad: f64,
    /// The probability of loss in the good state: 1 - k. Gilbert's own channel has none.
    pub loss_in_good: f64,
}

impl Loss {
    /// The share of lost packets in the long run.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Independent(probability) => probability,
            Self::Bursts(channel) => channel.mean(),
        }
    }
}

impl GilbertElliott {
    /// The share of lost packets in the long run. The stationary probability of the bad state is p / (p + r).
    pub fn mean(&self) -> f64 {
        let steps = self.good_to_bad + self.bad_to_good;
        if steps == 0.0 {
            return self.loss_in_good;
        }
        (self.good_to_bad * self.loss_in_bad + self.bad_to_good * self.loss_in_good) / steps
    }
}

/// The state of a link's losses; it begins good.
#[derive(Debug, Default)]
pub(crate) struct LossProcess {
    bad: bool,
}

impl LossProcess {
    /// Whether the next packet is lost.
    pub(crate) fn loses(&mut self, loss: &Loss, rng: &mut dyn Rng) -> bool {
        let channel = match loss {
            Loss::Independent(probability) => return random::uniform(rng) < *probability,
            Loss::Bursts(channel) => channel,
        };
        let (lost, left) = if self.bad {
            (channel.loss_in_bad, channel.bad_to_good)
        } else {
            (channel.loss_in_good, channel.good_to_bad)
        };
        let lost = random::uniform(rng) < lost;
        self.bad ^= random::uniform(rng) < left;
        lost
    }
}

/// The probability that at least one of a packet's bits is wrong: 1 - (1 - b)^n.
pub(crate) fn corruption(bit_error_rate: f64, bytes: u16) -> f64 {
    -libm::expm1(8.0 * f64::from(bytes) * libm::log1p(-bit_error_rate))
}

#[cfg(test)]
mod tests {
    use incastle_units::random::{Purpose, Source, substream};

    use super::*;

    const PACKETS: u32 = 1_000_000;

    /// Whether each of a million packets is lost.
    fn losses(loss: &Loss) -> Vec<bool> {
        let mut rng = substream(1, Source::Port, 0, Purpose::Loss);
        let mut process = LossProcess::default();
        (0..PACKETS)
            .map(|_| process.loses(loss, &mut rng))
            .collect()
    }

    fn share(losses: &[bool]) -> f64 {
        losses.iter().filter(|lost| **lost).count() as f64 / f64::from(PACKETS)
    }

    #[test]
    fn independent_losses_are_binomial() {
        for probability in [0.0001, 0.01, 0.3] {
            let losses = losses(&Loss::Independent(probability));
            let deviation = (probability * (1.0 - probability) / f64::from(PACKETS)).sqrt();
            let share = share(&losses);
            assert!((share - probability).abs() < 4.0 * deviation, "{share}");
            // Independent: a loss follows a loss as often as any packet.
            let pairs = losses.windows(2).filter(|pair| pair[0] && pair[1]).count();
            let expected = probability * probability * f64::from(PACKETS);
            assert!((pairs as f64 - expected).abs() < 5.0 * expected.sqrt().max(1.0));
        }
        assert!(!losses(&Loss::Independent(0.0)).contains(&true));
    }

    #[test]
    fn bursts_have_their_share_and_their_length() {
        // Gilbert's channel that loses all in the bad state: p / (p + r) = 0.001 / 0.201, bursts of 1/r = 5 packets.
        let channel = GilbertElliott {
            good_to_bad: 0.001,
            bad_to_good: 0.2,
            loss_in_bad: 1.0,
            loss_in_good: 0.0,
        };
        assert!((channel.mean() - 0.001 / 0.201).abs() < 1e-12);
        let lost = losses(&Loss::Bursts(channel));
        let bursts: Vec<&[bool]> = lost.split(|lost| !lost).filter(|b| !b.is_empty()).collect();
        let count = bursts.len() as f64;
        let mean = bursts.iter().map(|burst| burst.len() as f64).sum::<f64>() / count;
        // Geometric: a standard deviation of sqrt(1 - r) / r = 4.47 packets.
        assert!((mean - 5.0).abs() < 4.0 * 4.47 / count.sqrt(), "{mean}");
        // About 1000 bursts, each of a random length: a relative deviation of sqrt((1 + 0.8) / count).
        let share = share(&lost);
        let deviation = channel.mean() * (1.8 / count).sqrt();
        assert!((share - channel.mean()).abs() < 4.0 * deviation, "{share}");
    }

    #[test]
    fn elliott_s_channel_loses_in_both_states() {
        // (0.05 x 0.5 + 0.15 x 0.02) / 0.2 = 0.14.
        let channel = GilbertElliott {
            good_to_bad: 0.05,
            bad_to_good: 0.15,
            loss_in_bad: 0.5,
            loss_in_good: 0.02,
        };
        let loss = Loss::Bursts(channel);
        assert!((loss.mean() - 0.14).abs() < 1e-12);
        let share = share(&losses(&loss));
        assert!((share - 0.14).abs() < 0.003, "{share}");
        let never = GilbertElliott {
            good_to_bad: 0.0,
            bad_to_good: 0.0,
            ..channel
        };
        assert!((Loss::Bursts(never).mean() - 0.02).abs() < 1e-12);
    }

    #[test]
    fn corruption_grows_with_the_packet() {
        // 1500 B are 12 000 bits.
        assert!((corruption(1e-9, 1_500) / 1.2e-5 - 1.0).abs() < 1e-5);
        let intact = (0..800).fold(1.0, |intact, _| intact * 0.9999);
        assert!((corruption(1e-4, 100) - (1.0 - intact)).abs() < 1e-9);
        assert!(corruption(0.0, 1_500).abs() < 1e-300);
    }
}
