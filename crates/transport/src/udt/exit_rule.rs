//! The exit rule of DCUDP's receiver (Ye, Mhamdi, Hamdi, section IV.C): the trends of the last K
//! round-trip times and fractions of marked packets.
//!
//! Leaves out: when ACKs leave, and OBS-change: the connection reads the stage and the interval.
//! The paper gives no K; neither window decides anything before it is full.

use std::cmp::Ordering;
use std::collections::VecDeque;

use incastle_units::Span;

/// beta: the interval of ACKs after condition 1, in idle round-trip times.
const BETA: u64 = 2;

/// The readings of condition 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReading {
    /// P_ecn > 0.5 and P_RTT > 0.2, which condition 2 then completes.
    Default,
    /// P_ecn < 0.5 and P_RTT < 0.2, as printed. Condition 2 contradicts that, so that the two can hold
    /// only one after the other.
    Printed,
}

/// Parameters of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitRuleConfig {
    /// K: the length of both windows, and the packets of which each fraction is taken. At least 2: a
    /// trend needs a value and the one before.
    pub k: usize,
    /// The reading of condition 1.
    pub reading: ExitReading,
}

impl Default for ExitRuleConfig {
    /// K = 8, which is ours.
    fn default() -> Self {
        Self {
            k: 8,
            reading: ExitReading::Default,
        }
    }
}

/// The stage of the end of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStage {
    /// An ACK every RTT.
    Congested,
    /// Condition 1 was met, and no mark came since: an ACK every 2 RTT_idle.
    Easing,
    /// Condition 2 was met too, and no mark came since: ACKs carry OBS = 0.
    Over,
}

/// The last K values of a quantity.
#[derive(Debug, Clone)]
struct Window {
    values: VecDeque<u64>,
    /// How many of them are not greater than the one before, in the window.
    falling: usize,
    k: usize,
}

/// How many values of a full window are not greater than the one before, of how many.
#[derive(Debug, Clone, Copy)]
struct Share {
    falling: usize,
    of: usize,
}

impl Window {
    fn new(k: usize) -> Self {
        Self {
            values: VecDeque::with_capacity(k),
            falling: 0,
            k,
        }
    }

    fn push(&mut self, value: u64) {
        if self.values.len() == self.k {
            let gone = self.values.pop_front();
            // K >= 2: one is left that had it before itself.
            self.falling -= usize::from(self.values.front() <= gone.as_ref());
        }
        let falls = self.values.back().is_some_and(|before| value <= *before);
        self.falling += usize::from(falls);
        self.values.push_back(value);
    }

    /// (3) and (4): of the K values those count that have another before them in the window.
    fn share(&self) -> Option<Share> {
        (self.values.len() == self.k).then_some(Share {
            falling: self.falling,
            of: self.k - 1,
        })
    }
}

impl Share {
    /// Compares the share with one in `parts`.
    fn against_one_in(self, parts: usize) -> Ordering {
        (self.falling * parts).cmp(&self.of)
    }

    fn is_all(self) -> bool {
        self.falling == self.of
    }
}

/// The receiver's memory of one congestion mode.
#[derive(Debug, Clone)]
pub struct ExitRule {
    config: ExitRuleConfig,
    /// Round-trip times in whole microseconds.
    rtts: Window,
    /// p_ecn: marks among K packets.
    marks: Window,
    /// The packets since the last fraction, and those of them with CE.
    packets: usize,
    marked: u64,
    stage: ExitStage,
}

impl ExitRule {
    /// The rule at the beginning of congestion mode.
    pub fn new(config: ExitRuleConfig) -> Self {
        assert!(config.k >= 2, "K >= 2");
        Self {
            config,
            rtts: Window::new(config.k),
            marks: Window::new(config.k),
            packets: 0,
            marked: 0,
            stage: ExitStage::Congested,
        }
    }

    /// A data packet arrived, with CE or without. A mark puts the ACKs back to one every RTT.
    pub fn on_data(&mut self, ce: bool) {
        self.packets += 1;
        if ce {
            self.marked += 1;
            self.stage = ExitStage::Congested;
        }
        if self.packets == self.config.k {
            self.marks.push(self.marked);
            (self.packets, self.marked) = (0, 0);
        }
    }

    /// An ACK2 gave a round-trip time: the conditions are looked at.
    pub fn on_rtt(&mut self, rtt: Span) {
        // In whole microseconds, rounded down: finer differences are noise of a clock.
        self.rtts.push(rtt.as_ps() / Span::from_us(1).as_ps());
        self.judge();
    }

    /// The stage of the end of congestion.
    pub const fn stage(&self) -> ExitStage {
        self.stage
    }
    /// The time from one ACK to the next.
    pub fn ack_interval(&self, rtt: Span, rtt_idle: Span) -> Span {
        match self.stage {
            ExitStage::Congested => rtt,
            ExitStage::Easing | ExitStage::Over => rtt_idle.saturating_mul(BETA),
        }
    }

    fn judge(&mut self) {
        let (Some(rtt), Some(ecn)) = (self.rtts.share(), self.marks.share()) else {
            return;
        };
        if self.marks.values.back() != Some(&0) {
            return;
        }
        if self.stage == ExitStage::Congested && self.is_easing(ecn, rtt) {
            self.stage = ExitStage::Easing;
        }
        // Condition 2, "if condition 1 is satisfied".
        if self.stage == ExitStage::Easing && ecn.is_all() && rtt.is_all() {
            self.stage = ExitStage::Over;
        }
    }

    /// Condition 1, with theta_ecn = 0.5 and theta_RTT = 0.2 (footnote 1).
    fn is_easing(&self, ecn: Share, rtt: Share) -> bool {
        match self.config.reading {
            ExitReading::Default => ecn.against_one_in(2).is_gt() && rtt.against_one_in(5).is_gt(),
            ExitReading::Printed => ecn.against_one_in(2).is_lt() && rtt.against_one_in(5).is_lt(),
        }
    }
}
