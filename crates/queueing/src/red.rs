//! RED: random early detection, by an exponentially weighted average of the queue.
//!
//! Source: Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM
//! Transactions on Networking 1(4), 1993, section IV and figure 2. `gentle` is from Floyd,
//! "Recommendation on using the gentle variant of RED", 2000. Leaves out: adaptive RED, the wait
//! between marks of ns-2, several averages in one queue (RIO, WRED).

use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time, random};
use rand_core::Rng;

use crate::{Arrival, Discipline, DropCause, QueueState, Verdict};

/// RED's action on the packets that it selects. Those that are not ECN-capable are always dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedAction {
    /// Marked (the 1993 paper).
    Mark,
    /// Marked while the average is below `max_th`, dropped from there on (RFC 3168, section 7; ns-2 where
    /// its `mark_p_` is not raised).
    MarkBelowMax,
    /// Dropped.
    Drop,
}

/// The parameters of [`Red`]. Thresholds in bytes mean byte mode: the queue is measured in bytes,
/// and the probability of a mark is proportional to the packet's size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RedConfig {
    /// Below this average nothing is marked.
    pub min_th: Amount,
    /// The average from which on everything is marked. In the unit of `min_th`.
    pub max_th: Amount,
    /// The probability of a mark just below `max_th`.
    pub max_p: f64,
    /// The weight of the newest sample in the average.
    pub w_q: f64,
    /// Between `max_th` and twice `max_th` the probability rises from `max_p` to 1 instead of jumping.
    pub gentle: bool,
    /// The action on the packets selected.
    pub action: RedAction,
    /// The packet whose sending time counts idle time, and the unit of size in byte mode.
    pub mean_packet_size: Bytes,
}

/// The values of the 1993 paper's simulations, with full-size Ethernet packets and marks.
impl Default for RedConfig {
    fn default() -> Self {
        Self {
            min_th: Amount::Packets(Packets::new(5)),
            max_th: Amount::Packets(Packets::new(15)),
            max_p: 0.02,
            w_q: 0.002,
            gentle: false,
            action: RedAction::Mark,
            mean_packet_size: Bytes::new(1_500),
        }
    }
}

/// An error in a [`RedConfig`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum RedError {
    /// One threshold counts packets, the other bytes.
    #[error("RED's `min_th` and `max_th` must have the same unit: both packets or both bytes")]
    MixedUnits,
    /// The thresholds are in the wrong order.
    #[error("RED's `min_th` must not be above its `max_th`")]
    MinAboveMax,
    /// `max_th` is zero.
    #[error("RED's `max_th` must be above zero: at zero every packet is marked")]
    MaxIsZero,
    /// Not a probability.
    #[error("RED's `max_p` must be above 0 and at most 1, not {0}")]
    MaxP(f64),
    /// Not a weight.
    #[error("RED's `w_q` must be above 0 and at most 1, not {0}")]
    Weight(f64),
    /// A packet without size.
    #[error("RED's `mean_packet_size` must be above zero")]
    MeanPacketIsZero,
}

impl RedConfig {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), RedError> {
        let (min, max) = match (self.min_th, self.max_th) {
            (Amount::Packets(min), Amount::Packets(max)) => (min.count(), max.count()),
            (Amount::Bytes(min), Amount::Bytes(max)) => (min.count(), max.count()),
            _ => return Err(RedError::MixedUnits),
        };
        if min > max {
            return Err(RedError::MinAboveMax);
        }
        if max == 0 {
            return Err(RedError::MaxIsZero);
        }
        if !(self.max_p > 0.0 && self.max_p <= 1.0) {
            return Err(RedError::MaxP(self.max_p));
        }
        if !(self.w_q > 0.0 && self.w_q <= 1.0) {
            return Err(RedError::Weight(self.w_q));
        }
        if self.mean_packet_size == Bytes::ZERO {
            return Err(RedError::MeanPacketIsZero);
        }
        Ok(())
    }
}

/// The unit of queue and packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Packets,
    Bytes,
}

/// The position of the average relative to the thresholds.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Zone {
    /// Nothing is marked.
    Low,
    /// Marked with this probability p_b, before the spacing by the count.
    Random(f64),
    /// Everything is marked.
    High,
}

/// The RED gateway of one port.
#[derive(Debug, Clone)]
pub struct Red {
    mode: Mode,
    min: f64,
    max: f64,
    max_p: f64,
    w_q: f64,
    gentle: bool,
    action: RedAction,
    mean_packet_size: f64,
    /// s: the sending time of a mean packet.
    packet_time: Span,
    /// avg.
    average: f64,
    /// count: packets since the last mark; absent (-1 in the paper) while the average is low.
    since_mark: Option<u64>,
}

impl Red {
    /// RED at a port that sends at `rate`. The configuration must pass [`RedConfig::check`].
    pub fn new(config: &RedConfig, rate: Rate) -> Self {
        assert_eq!(config.check(), Ok(()), "RED's parameters were checked");
        let (mode, min, max) = match (config.min_th, config.max_th) {
            (Amount::Bytes(min), Amount::Bytes(max)) => (Mode::Bytes, min.count(), max.count()),
            (Amount::Packets(min), Amount::Packets(max)) => {
                (Mode::Packets, min.count(), max.count())
            }
            _ => unreachable!("checked above: one unit"),
        };
        Self {
            mode,
            min: min as f64,
            max: max as f64,
            max_p: config.max_p,
            w_q: config.w_q,
            gentle: config.gentle,
            action: config.action,
            mean_packet_size: config.mean_packet_size.count() as f64,
            packet_time: rate.span_of(config.mean_packet_size),
            average: 0.0,
            since_mark: None,
        }
    }

    /// The average queue, in packets or bytes as the thresholds are.
    pub const fn average(&self) -> f64 {
        self.average
    }

    /// Section IV, figure 2: avg <- (1 - w) avg + w q; after idle time first avg <- (1 - w)^m avg.
    /// The paper takes the second step alone when the queue is empty. Like ns-2 we take the first
    /// as well, so that a weight of 1 keeps no history even after an idle time of zero.
    fn update_average(&mut self, queue: &QueueState) {
        if let Some(since) = queue.idle_since {
            self.average *= self.decay_while_idle(since, queue.now);
        }
        let length = match self.mode {
            Mode::Packets => queue.waiting_packets.count(),
            Mode::Bytes => queue.waiting_bytes.count(),
        };
        self.average = (1.0 - self.w_q) * self.average + self.w_q * length as f64;
    }

    /// (1 - w)^m for the m packets that could have been sent since `since`.
    fn decay_while_idle(&self, since: Time, now: Time) -> f64 {
        let idle = now.saturating_since(since).as_ps() as f64;
        let packets = idle / self.packet_time.as_ps().max(1) as f64;
        libm::pow(1.0 - self.w_q, packets)
    }

    /// Section IV: p_b = max_p (avg - min) / (max - min), in byte mode times the packet's size.
    fn zone(&self, size: Bytes) -> Zone {
        let probability = if self.average < self.min {
            return Zone::Low;
        } else if self.average < self.max {
            self.max_p * (self.average - self.min) / (self.max - self.min)
        } else if self.gentle && self.average < 2.0 * self.max {
            self.max_p + (1.0 - self.max_p) * (self.average - self.max) / self.max
        } else {
            return Zone::High;
        };
        Zone::Random(match self.mode {
            Mode::Packets => probability,
            Mode::Bytes => probability * size.count() as f64 / self.mean_packet_size,
        })
    }

    /// Whether a chosen packet that is ECN-capable is marked.
    fn marks(&self) -> bool {
        match self.action {
            RedAction::Mark => true,
            RedAction::MarkBelowMax => self.average < self.max,
            RedAction::Drop => false,
        }
    }

    /// Whether this packet is the one to mark; keeps the count.
    fn chooses(&mut self, size: Bytes, rng: &mut dyn Rng) -> bool {
        let chosen = match self.zone(size) {
            Zone::Low => {
                self.since_mark = None;
                return false;
            }
            Zone::Random(base) => {
                let count = self.since_mark.map_or(0, |count| count + 1);
                self.since_mark = Some(count);
                random::uniform(rng) < spaced(base, count)
            }
            Zone::High => true,
        };
        if chosen {
            self.since_mark = Some(0);
        }
        chosen
    }
}

/// Section VII: p_a = p_b / (1 - count p_b) makes the gaps between marks uniform rather than
/// geometric; certain once count p_b reaches 1.
fn spaced(base: f64, count: u64) -> f64 {
    let remaining = 1.0 - count as f64 * base;
    if remaining > base {
        base / remaining
    } else {
        1.0
    }
}

impl Discipline for Red {
    fn on_arrival(&mut self, queue: &QueueState, packet: &Arrival, rng: &mut dyn Rng) -> Verdict {
        self.update_average(queue);
        if !self.chooses(packet.size, rng) {
            Verdict::Admit
        } else if packet.ecn.is_capable() && self.marks() {
            Verdict::Mark
        } else {
            Verdict::Drop(DropCause::Early)
        }
    }

    /// The average follows every arrival (figure 2), those that the buffer refuses too.
    fn on_refused(&mut self, queue: &QueueState, _: &Arrival) {
        self.update_average(queue);
    }
}
