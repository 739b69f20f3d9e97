//! Round-trip times (draft-gg-udt-03, section 5.2; Ye, Mhamdi and Hamdi, section IV): smoothed, their
//! variance, the latest sample and the smallest.
//!
//! Leaves out: Karn's rule, which ACK and ACK2 do not need: every ACK has its number.

use incastle_units::Span;

/// The unit of round-trip times on the wire, and the shortest of them: intervals are made of it.
const UNIT: Span = Span::from_us(1);
/// Longer ones are a clock's that jumped.
const LONGEST: Span = Span::from_secs(60);

/// The estimate of one connection.
#[derive(Debug, Clone)]
pub(super) struct Rtt {
    smoothed: Span,
    variance: Span,
    /// Our latest sample.
    latest: Option<Span>,
    /// RTT_idle: the smallest sample of the connection.
    least: Option<Span>,
    /// Whether the handshake's round trip, or one in its place, was taken.
    measured: bool,
}

impl Rtt {
    /// An estimate before the first sample. Its variance is half of it, as in the library.
    pub(super) const fn new(first: Span) -> Self {
        Self {
            smoothed: first,
            variance: Span::from_ps(first.as_ps() / 2),
            latest: None,
            least: None,
            measured: false,
        }
    }

    /// The handshake's round trip replaces the assumed one.
    pub(super) fn begin(&mut self, sample: Span) {
        let sample = sample.clamp(UNIT, LONGEST);
        *self = Self {
            latest: Some(sample),
            least: Some(sample),
            measured: true,
            ..Self::new(sample)
        };
    }

    /// Our sample: from ACK to ACK2.
    pub(super) fn sample(&mut self, sample: Span) {
        let sample = sample.clamp(UNIT, LONGEST);
        self.smooth(sample);
        self.latest = Some(sample);
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        assert!(self.idle() <= self.latest(), "no sample is below RTT_idle");
    }

    /// RTT = (7 RTT + r) / 8 and RTTVar = (3 RTTVar + |RTT - r|) / 4, the variance with the old mean.
    /// Also for the peer's reports in its ACKs.
    pub(super) fn smooth(&mut self, sample: Span) {
        let error = self.smoothed.saturating_sub(sample) + sample.saturating_sub(self.smoothed);
        self.variance = self.variance - self.variance / 4 + error / 4;
        self.smoothed = self.smoothed - self.smoothed / 8 + sample / 8;
        assert!(
            self.smoothed > Span::ZERO,
            "intervals are made of round trips"
        );
    }

    pub(super) const fn is_measured(&self) -> bool {
        self.measured
    }

    pub(super) const fn smoothed(&self) -> Span {
        self.smoothed
    }

    pub(super) const fn variance(&self) -> Span {
        self.variance
    }

    /// Our latest sample, or the assumed value.
    pub(super) fn latest(&self) -> Span {
        self.latest.unwrap_or(self.smoothed)
    }

    /// RTT_idle, or the assumed value.
    pub(super) fn idle(&self) -> Span {
        self.least.unwrap_or(self.smoothed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_formula() {
        let mut rtt = Rtt::new(Span::from_ms(100));
        assert_eq!(rtt.variance(), Span::from_ms(50));
        assert_eq!((rtt.latest(), rtt.idle()), (rtt.smoothed(), rtt.smoothed()));
        // RTTVar = (3 x 50 + |100 - 20|) / 4 = 57.5; RTT = (7 x 100 + 20) / 8 = 90.
        rtt.sample(Span::from_ms(20));
        assert_eq!(rtt.smoothed(), Span::from_ms(90));
        assert_eq!(rtt.variance(), Span::from_us(57_500));
        // A longer sample moves the latest, not the least.
        rtt.sample(Span::from_ms(30));
        assert_eq!(rtt.latest(), Span::from_ms(30));
        assert_eq!(rtt.idle(), Span::from_ms(20));
        // The peer's report is no sample of ours.
        rtt.smooth(Span::from_ms(1));
        assert_eq!(rtt.latest(), Span::from_ms(30));
    }

    #[test]
    fn the_handshake_replaces_the_assumption() {
        let mut rtt = Rtt::new(Span::from_ms(100));
        rtt.begin(Span::from_us(120));
        assert_eq!(rtt.smoothed(), Span::from_us(120));
        assert_eq!(rtt.variance(), Span::from_us(60));
        assert_eq!(rtt.idle(), Span::from_us(120));
    }
}
