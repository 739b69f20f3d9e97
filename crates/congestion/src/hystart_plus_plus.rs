//! HyStart++ (RFC 9406): slow start that grows more slowly once the delay of a round has increased, and
//! ends some rounds later unless the delay has fallen again.
//!
//! An ACK's sample is taken in before the window grows, which section 4.2 names first. Leaves out: L, the
//! limit of one ACK's growth, which is the window rule's.

use incastle_units::Span;

use crate::{AckSample, Context};

// RFC 9406, section 4.3: the recommended values.
const MIN_RTT_THRESH: Span = Span::from_ms(4);
const MAX_RTT_THRESH: Span = Span::from_ms(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

/// Conservative Slow Start.
#[derive(Debug, Clone, Copy)]
struct Conservative {
    baseline_min_rtt: Span,
    /// Rounds that have ended, the one in which it began included.
    rounds: u32,
}

/// The state of the first slow start of a connection. A round-trip time of `Span::MAX` is infinity.
#[derive(Debug, Clone)]
pub(crate) struct HystartPlusPlus {
    window_end: u64,
    last_round_min_rtt: Span,
    current_round_min_rtt: Span,
    rtt_sample_count: u32,
    conservative: Option<Conservative>,
}

impl HystartPlusPlus {
    /// Section 4.2: all values before the first round.
    pub(crate) const fn new() -> Self {
        Self {
            window_end: 0,
            last_round_min_rtt: Span::MAX,
            current_round_min_rtt: Span::MAX,
            rtt_sample_count: 0,
            conservative: None,
        }
    }

    /// Section 4.2: the growth in CSS is divided.
    pub(crate) const fn growth_divisor(&self) -> u64 {
        match self.conservative {
            None => 1,
            Some(_) => CSS_GROWTH_DIVISOR,
        }
    }

    /// Section 4.2: an ACK in slow start or CSS; whether they end with it.
    pub(crate) fn on_ack(&mut self, cx: &Context<'_>, ack: &AckSample<'_>) -> bool {
        if cx.snd_una > self.window_end && self.end_round(cx) {
            return true;
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_sample_count += 1;
        }
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            self.compare();
        }
        false
    }

    /// A round ends and the next begins; whether it was the last of CSS.
    fn end_round(&mut self, cx: &Context<'_>) -> bool {
        self.window_end = cx.snd_nxt;
        self.last_round_min_rtt = self.current_round_min_rtt;
        self.current_round_min_rtt = Span::MAX;
        self.rtt_sample_count = 0;
        let Some(conservative) = &mut self.conservative else {
            return false;
        };
        conservative.rounds += 1;
        conservative.rounds >= CSS_ROUNDS
    }

    /// The round has enough samples: enters CSS where its delay has increased, and resumes slow start
    /// where it has fallen below that with which CSS began.
    fn compare(&mut self) {
        let current = self.current_round_min_rtt;
        if let Some(conservative) = self.conservative {
            if current < conservative.baseline_min_rtt {
                self.conservative = None;
            }
            return;
        }
        let last = self.last_round_min_rtt;
        if last == Span::MAX {
            return;
        }
        let share = Span::from_ps(last.as_ps() / MIN_RTT_DIVISOR);
        if current >= last + share.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH) {
            self.conservative = Some(Conservative {
                baseline_min_rtt: current,
                rounds: 0,
            });
        }
    }
}
