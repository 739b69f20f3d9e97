//! The retransmission timeout (RFC 6298), with granularity, limits, back-off and, optionally, the
//! random lengthening of Vasudevan et al. 2009. Leaves out: the timer itself, which the sender arms.

use incastle_units::{Span, random};
use rand_core::Rng;

use super::config::RtoConfig;

/// RFC 6298, section 5.7: the timeout after a SYN had to be sent again and gave no sample.
const AFTER_LOST_SYN: Span = Span::from_secs(3);

/// The estimate.
#[derive(Debug, Clone)]
pub(super) struct Rto {
    /// The smoothed round-trip time; meaningless without a sample.
    srtt: Span,
    rttvar: Span,
    /// The timeout without back-off.
    base: Span,
    /// The minimum timeout, a multiple of the granularity.
    floor: Span,
    /// The number of doublings of the timeout.
    backoff: u8,
    /// Whether there was a sample.
    sampled: bool,
    /// The span that was drawn last, where timeouts are lengthened at random.
    drawn: Span,
}

impl Rto {
    pub(super) fn new(config: &RtoConfig) -> Self {
        Self {
            srtt: Span::ZERO,
            rttvar: Span::ZERO,
            base: config.initial,
            floor: round_up(config.min, config.granularity),
            backoff: 0,
            sampled: false,
            drawn: Span::ZERO,
        }
    }

    pub(super) fn smoothed(&self) -> Option<Span> {
        self.sampled.then_some(self.srtt)
    }

    /// RFC 6298, section 2: a new measurement, which also ends the back-off.
    #[inline(always)]
    pub(super) fn sample(&mut self, rtt: Span, config: &RtoConfig) {
        self.backoff = 0;
        if self.sampled {
            let srtt = self.srtt;
            let error = srtt.saturating_sub(rtt) + rtt.saturating_sub(srtt);
            // beta = 1/4 and alpha = 1/8, the variance with the old mean.
            self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
            self.srtt = srtt - srtt / 8 + rtt / 8;
        } else {
            self.rttvar = rtt / 2;
            self.srtt = rtt;
            self.sampled = true;
        }
        let timeout = self.srtt + (self.rttvar * 4).max(config.granularity);
        self.base = if timeout <= config.min {
            self.floor
        } else {
            round_up(timeout, config.granularity).min(config.max.max(self.floor))
        };
        assert!(self.base >= self.floor, "no timeout is below the minimum");
    }

    /// RFC 6298, section 5.5.
    pub(super) fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// The handshake is over after a SYN was sent more than once.
    pub(super) fn syn_was_lost(&mut self, config: &RtoConfig) {
        self.backoff = 0;
        if !self.sampled {
            self.base = self.base.max(AFTER_LOST_SYN).min(config.max);
        }
    }

    /// The timeout without back-off and draw.
    pub(super) fn base(&self) -> Span {
        self.base
    }

    /// The span to arm the timer with.
    #[inline]
    pub(super) fn timeout(&mut self, config: &RtoConfig, rng: &mut dyn Rng) -> Span {
        if !config.randomized {
            return self.backed_off(config);
        }
        // (RTO + U(0, 0.5) RTO) 2^backoff.
        let lengthened = self.base + self.base.scale_lossy(0.5 * random::uniform(rng));
        self.drawn = doubled(lengthened, self.backoff, config.max);
        self.drawn
    }

    /// The timeout with back-off, without draw.
    #[inline]
    pub(super) fn backed_off(&self, config: &RtoConfig) -> Span {
        if self.backoff == 0 {
            return self.base;
        }
        doubled(self.base, self.backoff, config.max)
    }

    /// The span that the timer was armed with last, if there was no sample since.
    pub(super) fn armed(&self, config: &RtoConfig) -> Span {
        if config.randomized {
            self.drawn
        } else {
            self.backed_off(config)
        }
    }
}

/// `span * 2^times`, at most `max`.
pub(super) fn doubled(span: Span, times: u8, max: Span) -> Span {
    let factor = 1_u64.checked_shl(u32::from(times)).unwrap_or(u64::MAX);
    span.saturating_mul(factor).min(max)
}

/// The next whole multiple of the granularity.
fn round_up(span: Span, granularity: Span) -> Span {
    Span::from_ps(span.as_ps().div_ceil(granularity.as_ps()) * granularity.as_ps())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(min: u64, granularity: u64) -> RtoConfig {
        RtoConfig {
            min: Span::from_us(min),
            granularity: Span::from_us(granularity),
            ..RtoConfig::default()
        }
    }

    #[test]
    fn follows_the_formula() {
        let config = config(1, 1);
        let mut rto = Rto::new(&config);
        assert_eq!(rto.base(), Span::from_secs(1));
        // First: SRTT = 800, RTTVAR = 400, RTO = 800 + 4 * 400.
        rto.sample(Span::from_us(800), &config);
        assert_eq!(rto.smoothed(), Some(Span::from_us(800)));
        assert_eq!(rto.base(), Span::from_us(2400));
        // Then: RTTVAR = 3/4 * 400 + 1/4 * |800 - 1600| = 500, SRTT = 7/8 * 800 + 1600 / 8 = 900.
        rto.sample(Span::from_us(1600), &config);
        assert_eq!(rto.smoothed(), Some(Span::from_us(900)));
        assert_eq!(rto.base(), Span::from_us(2900));
        // And a shorter one: RTTVAR = 375 + 1/4 * 800 = 575, SRTT = 787.5 + 12.5 = 800.
        rto.sample(Span::from_us(100), &config);
        assert_eq!(rto.smoothed(), Some(Span::from_us(800)));
        assert_eq!(rto.base(), Span::from_us(3100));
    }

    #[test]
    fn papers_minimums_with_a_fine_tick() {
        for min in [300_000, 200_000, 10_000, 1_000, 200] {
            let config = config(min, 100);
            let mut rto = Rto::new(&config);
            for _ in 0..100 {
                rto.sample(Span::from_us(50), &config);
            }
            assert_eq!(rto.base(), Span::from_us(min));
        }
        // With a tick of 1 ms a minimum of 200 us means 1 ms. With the granularity it means 2 ms:
        // 50 us + max(G, 4 RTTVAR) exceeds one tick.
        let coarse = config(200, 1000);
        let mut rto = Rto::new(&coarse);
        rto.sample(Span::from_us(50), &coarse);
        assert_eq!(rto.base(), Span::from_ms(2));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum() {
        assert_eq!(
            doubled(Span::from_secs(1), 5, Span::from_secs(60)),
            Span::from_secs(32)
        );
        assert_eq!(
            doubled(Span::from_secs(1), 6, Span::from_secs(60)),
            Span::from_secs(60)
        );
        assert_eq!(
            doubled(Span::from_secs(1), 255, Span::from_secs(60)),
            Span::from_secs(60)
        );
    }
}
