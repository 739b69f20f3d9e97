//! Loss detection by RACK-TLP as RFC 8985 has it, or Linux 6.18: how much longer the probe and reordering
//! timers run than the round trips that they wait for, and which acknowledgements of retransmissions count.
//!
//! Leaves out: Linux's rounding to ticks.

use incastle_units::{Span, Time};

use super::config::Config;

/// TCP_TIMEOUT_MIN_US of Linux, whose timers of a tick could fire at once.
const LINUX_SLACK: Span = Span::from_ms(2);

/// Whose loss detection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LossDetection {
    /// RFC 8985.
    #[default]
    Rfc,
    /// Linux 6.18.
    Linux,
}

impl LossDetection {
    /// The part of PTO beyond two round trips, while this number of segments is outstanding.
    pub(super) fn beyond_round_trips(config: &Config, outstanding: usize) -> Span {
        match config.loss_detection {
            // Section 7.2, TLP.max_ack_delay: both endpoints have one configuration. A single segment in
            // the RFC, which takes two for an ACK; here as many as the receiver waits for.
            Self::Rfc if outstanding < config.delayed_ack_count as usize => {
                config.delayed_ack_timeout
            }
            Self::Rfc => Span::ZERO,
            // tcp_schedule_loss_probe(): the ACK of a single segment may be delayed.
            Self::Linux if outstanding == 1 => config.rto.min,
            Self::Linux => LINUX_SLACK,
        }
    }

    /// The timestamp that an acknowledgement returns, as far as it decides which transmission was delivered
    /// (section 6.2, step 2); else NEVER. tcp_rack_advance() of Linux has no such condition.
    #[inline]
    pub(super) fn echo(self, timestamp: Time) -> Time {
        match self {
            Self::Rfc => timestamp,
            Self::Linux => Time::NEVER,
        }
    }

    /// When the reordering timer fires that would find the last of its segments lost at `lost_at`. The
    /// retransmission timer, if it began now, would fire at `rto_at`.
    pub(super) fn reordering(self, lost_at: Time, rto_at: Time) -> Time {
        match self {
            Self::Rfc => lost_at,
            // tcp_rack_mark_lost().
            Self::Linux => lost_at.saturating_add(LINUX_SLACK).min(rto_at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Recovery, RtoConfig};

    /// The rules for an endpoint that acknowledges every third segment, or the last after 40 ms.
    fn beyond(loss_detection: LossDetection) -> [Span; 4] {
        let config = Config {
            recovery: Recovery::RackTlp,
            loss_detection,
            delayed_ack_count: 3,
            delayed_ack_timeout: Span::from_ms(40),
            rto: RtoConfig {
                min: Span::from_ms(70),
                ..RtoConfig::default()
            },
            ..Config::default()
        };
        [1, 2, 3, 4].map(|outstanding| LossDetection::beyond_round_trips(&config, outstanding))
    }

    #[test]
    fn the_rfc_waits_for_delayed_acks_and_linux_for_min_rto() {
        let [delayed, none] = [Span::from_ms(40), Span::ZERO];
        assert_eq!(beyond(LossDetection::Rfc), [delayed, delayed, none, none]);
        let [single, slack] = [Span::from_ms(70), Span::from_ms(2)];
        assert_eq!(beyond(LossDetection::Linux), [single, slack, slack, slack]);
    }

    #[test]
    fn linux_reads_no_timestamps() {
        let echo = Time::ZERO + Span::from_ms(7);
        assert_eq!(LossDetection::Rfc.echo(echo), echo);
        assert_eq!(LossDetection::Linux.echo(echo), Time::NEVER);
    }

    #[test]
    fn linux_waits_two_milliseconds_for_reordering_but_not_beyond_the_timeout() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let fires = |detection: LossDetection, lost_at| detection.reordering(lost_at, at(30));
        assert_eq!(fires(LossDetection::Rfc, at(25)), at(25));
        assert_eq!(fires(LossDetection::Linux, at(25)), at(27));
        // 29 + 2 ms would be after the timeout.
        assert_eq!(fires(LossDetection::Linux, at(29)), at(30));
    }
}
