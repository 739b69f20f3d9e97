//! HyStart as Linux's CUBIC has it: slow start ends when the ACKs of a round span about a round-trip
//! time, or when the delay of a round has grown (`hystart_update` of net/ipv4/tcp_cubic.c, Linux 6.18;
//! Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011).
//!
//! Differences: times are exact, not in microseconds; samples during the first second of congestion
//! avoidance count, too. Leaves out: the module's parameters, whose defaults are the constants here.

use incastle_units::{Bytes, Span, Time};

use crate::Context;
use crate::pacing::{Paced, PacingRatio};
use crate::slow_start::SlowStartAck;

/// `hystart_low_window`: no exit below this many segments.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`: ACKs that follow each other within this time are a train.
const ACK_DELTA: Span = Span::from_ms(2);
/// `HYSTART_MIN_SAMPLES`: samples of a round before its delay counts.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`: the limits of a significant increase of the delay.
const DELAY_MIN: Span = Span::from_ms(4);
const DELAY_MAX: Span = Span::from_ms(16);
/// `sk_gso_max_size` of a NIC with segmentation offload, which Linux has less by the headers.
const GSO_MAX_SIZE: u64 = 65_536;
/// The most that `hystart_ack_delay` adds for offloaded bursts.
const MAX_ACK_DELAY: Span = Span::from_ms(1);

/// The state of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Hystart {
    paced: bool,
    /// Slow start has ended by it.
    found: bool,
    delay_min: Span,
    round_start: Time,
    last_ack: Time,
    /// The round ends when an ACK passes this.
    end_seq: u64,
    curr_rtt: Span,
    samples: u32,
}

impl Hystart {
    pub(crate) const fn new(paced: bool) -> Self {
        Self {
            paced,
            found: false,
            delay_min: Span::MAX,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            end_seq: 0,
            curr_rtt: Span::MAX,
            samples: 0,
        }
    }

    /// `bictcp_state`: a timeout forgets everything.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.paced);
    }

    /// `cubictcp_acked`: an ACK in slow start; whether slow start ends with it.
    pub(crate) fn on_ack(&mut self, cx: &Context<'_>, at: SlowStartAck<'_>) -> bool {
        let Some(delay) = at.ack.rtt else {
            return false;
        };
        self.delay_min = self.delay_min.min(delay);
        if self.found {
            return false;
        }
        if cx.snd_una > self.end_seq {
            self.begin_round(cx);
        }
        if at.cwnd < LOW_WINDOW * at.mss {
            return false;
        }
        // Both detections take note of every ACK.
        let train = self.ends_with_train(cx, at.cwnd);
        self.found = self.ends_with_delay(delay) || train;
        self.found
    }

    /// `bictcp_hystart_reset`.
    fn begin_round(&mut self, cx: &Context<'_>) {
        self.round_start = cx.now;
        self.last_ack = cx.now;
        self.end_seq = cx.snd_nxt;
        self.curr_rtt = Span::MAX;
        self.samples = 0;
    }

    /// `HYSTART_ACK_TRAIN`: the train of a round is as long as half a round-trip time; as long as a
    /// whole one where pacing delays packets by up to half of it.
    fn ends_with_train(&mut self, cx: &Context<'_>, cwnd: u64) -> bool {
        if cx.now.saturating_since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = cx.now;
        let whole = self.delay_min.as_ps() + ack_delay(cx, cwnd).as_ps();
        let threshold = if self.paced { whole } else { whole / 2 };
        cx.now.saturating_since(self.round_start).as_ps() > threshold
    }

    /// `HYSTART_DELAY`: the least of more than eight samples is an eighth above the least ever, and 4
    /// to 16 ms.
    fn ends_with_delay(&mut self, delay: Span) -> bool {
        self.curr_rtt = self.curr_rtt.min(delay);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let eighth = Span::from_ps(self.delay_min.as_ps() / 8);
        self.curr_rtt > self.delay_min + eighth.clamp(DELAY_MIN, DELAY_MAX)
    }
}

/// `hystart_ack_delay`: four of the largest offloaded bursts at the pacing rate, which slow start
/// doubles.
fn ack_delay(cx: &Context<'_>, cwnd: u64) -> Span {
    let Some(rtt) = cx.smoothed_rtt else {
        return Span::ZERO;
    };
    let paced = Paced {
        outstanding: Bytes::ZERO,
        rtt,
    };
    let rate = PacingRatio::LINUX.rate(Bytes::new(cwnd), None, paced);
    rate.span_of(Bytes::new(4 * GSO_MAX_SIZE))
        .min(MAX_ACK_DELAY)
}
