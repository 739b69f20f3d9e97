//! QCN's congestion point: samples the frames that arrive at a queue and measures how congested it is.
//!
//! Sources: IEEE 802.1Qau and its pseudocode of version 2.2 (R. Pan, 2008) and of November 2007.
//! Modifications II (congestion memory) and III (detailed sampling) are from Devkota and Reddy,
//! "Performance of Quantized Congestion Notification in TCP Incast Scenarios of Data Centers", 2010,
//! section VII.A. That paper leaves the memory's decay and the detailed table open; each reading is
//! explained where it is used. Leaves out: the notification's frame and its path (engine).

use incastle_units::{Bytes, random};
use rand_core::Rng;

/// The base of the published tables, in their own unit of 1000 bytes.
const TABLE_BASE: f64 = 150.0;
/// The sampling interval by psi >> 3, in 1000 bytes when the base is 150,000 bytes.
const TABLE: [f64; 8] = [150.0, 75.0, 50.0, 37.5, 30.0, 25.0, 21.5, 18.5];
/// Modification III: the heaviest of the eight levels ...
const HEAVIEST: u8 = 7;
/// ... split by psi - 56; 150 / k for k = 8 to 15.
const HARMONIC: [f64; 8] = [
    150.0 / 8.0,
    150.0 / 9.0,
    150.0 / 10.0,
    150.0 / 11.0,
    150.0 / 12.0,
    150.0 / 13.0,
    150.0 / 14.0,
    150.0 / 15.0,
];
/// The same, falling by a constant factor from the table's last entry to one frame.
const GEOMETRIC: [f64; 8] = [18.5, 12.9, 9.0, 6.3, 4.4, 3.1, 2.15, 1.5];
/// The greatest psi: six bits.
const MAX_PSI: u8 = 63;

/// The sampling rule: when the feedback is computed, and which arrivals bring the next sampling
/// nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QcnSampling {
    /// Version 2.2: when a countdown of bytes has run out, which that sampling sets anew.
    #[default]
    V22,
    /// November 2007: the sampling occurs at each frame, and shortens the countdown where its psi
    /// needs a shorter interval. At the countdown's end a notification leaves and the old queue is
    /// replaced.
    Older,
    /// Each frame is a sampling. Intervals have no meaning, nor have modifications II and III.
    EveryPacket,
}

/// Modification II: the interval is divided by 2^c, where c counts congestion events, which are
/// upward crossings of a part of the buffer. The paper leaves open how c falls, and whether it does;
/// by default by 1 at each sampling that finds psi = 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CongestionMemory {
    /// The part of the buffer whose crossing is an event, 0 to 1.
    pub crossing: f64,
    /// The greatest c, at most 63. From 7 on the default interval is below one frame.
    pub cap: u32,
    /// Whether c ever falls.
    pub decays: bool,
}

impl Default for CongestionMemory {
    fn default() -> Self {
        Self {
            crossing: 0.9,
            cap: 7,
            decays: true,
        }
    }
}

/// Modification III: the eight intervals of psi = 56 to 63, which the paper does not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Base / k for k = 8 to 15. The standard's table is nearly base / k for k = 1 to 8, so that this
    /// goes on where it ends, without a free number.
    #[default]
    Harmonic,
    /// From 18.5 to 1.5 KB by a constant factor: every frame at the worst.
    Geometric,
}

/// The parameters of [`CongestionPoint`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CongestionPointConfig {
    /// The limit on the queue; modification II's crossing is a part of it.
    pub buffer: Bytes,
    /// Q_eq: the queue that is aimed at, above zero.
    pub set_point: Bytes,
    /// w: the weight of the queue's change.
    pub w: f64,
    /// Bytes from one sampling to the next without congestion, above zero.
    pub base: Bytes,
    /// j: intervals are drawn from U(1 - j, 1 + j) times their nominal length; 0 draws nothing.
    /// Below 1.
    pub jitter: f64,
    /// The sampling rule.
    pub sampling: QcnSampling,
    /// Modification II.
    pub memory: Option<CongestionMemory>,
    /// Modification III.
    pub detail: Option<Detail>,
}

impl CongestionPointConfig {
    /// The defaults at a buffer: Q_eq a fifth of it, no modification.
    pub const fn new(buffer: Bytes) -> Self {
        Self {
            buffer,
            set_point: Bytes::new(buffer.count() / 5),
            w: 2.0,
            base: Bytes::new(150_000),
            jitter: 0.15,
            sampling: QcnSampling::V22,
            memory: None,
            detail: None,
        }
    }

    fn assert_sensible(&self) {
        assert!(self.set_point > Bytes::ZERO, "set_point > 0");
        assert!(self.set_point <= self.buffer, "set_point <= buffer");
        assert!(self.w >= 0.0 && self.w.is_finite(), "w >= 0");
        assert!(self.base > Bytes::ZERO, "base > 0");
        assert!((0.0..1.0).contains(&self.jitter), "0 <= jitter < 1");
        if let Some(memory) = self.memory {
            assert!(memory.cap < u64::BITS, "cap <= 63");
            let crossing = memory.crossing;
            assert!((0.0..=1.0).contains(&crossing), "0 <= crossing <= 1");
        }
    }

    /// Q_eq (2 w + 1): the greatest |F_b|.
    fn greatest(&self) -> f64 {
        self.set_point.count() as f64 * (2.0 * self.w + 1.0)
    }

    /// -F_b = Q_off + w Q_delta, between 0 (no congestion) and Q_eq (2 w + 1).
    fn pressure(&self, queue: Bytes, old: Bytes) -> f64 {
        let queue = queue.count() as f64;
        let offset = queue - self.set_point.count() as f64;
        let delta = queue - old.count() as f64;
        (offset + self.w * delta).clamp(0.0, self.greatest())
    }

    /// psi: |F_b| in 64 steps, the last of which is its greatest value alone.
    fn quantise(&self, pressure: f64) -> u8 {
        let levels = f64::from(MAX_PSI);
        // Rounding must not make 62 of the greatest value, where Q_eq (2 w + 1) is no whole number.
        if pressure >= self.greatest() {
            return MAX_PSI;
        }
        (levels * pressure / self.greatest()) as u8
    }

    /// The table's interval in bytes, before jitter and division.
    fn interval(&self, psi: u8) -> f64 {
        let level = psi >> 3;
        let entry = match self.detail {
            Some(detail) if level == HEAVIEST => {
                let fine = usize::from(psi & 7);
                match detail {
                    Detail::Harmonic => HARMONIC[fine],
                    Detail::Geometric => GEOMETRIC[fine],
                }
            }
            _ => TABLE[usize::from(level)],
        };
        self.base.count() as f64 * entry / TABLE_BASE
    }
}

/// The result of a sampling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// F_b in bytes: at most 0, at least -Q_eq (2 w + 1).
    pub feedback: f64,
    /// F_b quantised: 0 to 63. Where it is not 0, a notification goes to the frame's source.
    pub psi: u8,
    /// The bytes from here to the next sampling; zero where every frame is one.
    pub interval: Bytes,
}

/// The congestion point of one queue.
#[derive(Debug, Clone)]
pub struct CongestionPoint {
    config: CongestionPointConfig,
    /// q_old: the queue at the last sampling.
    old: Bytes,
    /// time_to_mark: the bytes until the next sampling.
    left: Bytes,
    /// The jitter of the present interval; a countdown that is cut short keeps it.
    stretch: f64,
    /// c: modification II's count of congestion events.
    events: u32,
    /// Whether the last frame found the queue beyond modification II's part of the buffer.
    beyond: bool,
}

impl CongestionPoint {
    /// The congestion point of an empty queue; its first interval is the base, without jitter.
    pub fn new(config: CongestionPointConfig) -> Self {
        config.assert_sensible();
        Self {
            config,
            old: Bytes::ZERO,
            left: config.base,
            stretch: 1.0,
            events: 0,
            beyond: false,
        }
    }

    /// A frame of `size` arrives and finds `queue` waiting. Every arriving frame is shown, those
    /// that the buffer then refuses too, but no notification: none is ever sent for one. Returns a
    /// sample if the frame was a sampling.
    pub fn on_arrival(&mut self, queue: Bytes, size: Bytes, rng: &mut dyn Rng) -> Option<Sample> {
        self.count_events(queue);
        if !self.runs_out(queue, size) {
            return None;
        }
        let pressure = self.config.pressure(queue, self.old);
        let psi = self.config.quantise(pressure);
        self.old = queue;
        if psi == 0 && self.config.memory.is_some_and(|memory| memory.decays) {
            self.events = self.events.saturating_sub(1);
        }
        self.left = self.next_interval(psi, rng);
        Some(Sample {
            feedback: 0.0 - pressure,
            psi,
            interval: self.left,
        })
    }

    /// Whether a frame of `size` is certainly no sampling and changes nothing but the countdown,
    /// whatever the queue. It still has to be counted: [`Self::pass`].
    pub fn lets_pass(&self, size: Bytes) -> bool {
        self.config.sampling == QcnSampling::V22 && self.config.memory.is_none() && size < self.left
    }

    /// Counts a frame for which [`Self::lets_pass`], as [`Self::on_arrival`] would.
    pub fn pass(&mut self, size: Bytes) {
        assert!(self.lets_pass(size), "a sampling needs the queue");
        self.left -= size;
    }

    /// Section VII.A.1: one more event when the queue comes to exceed its part of the buffer.
    fn count_events(&mut self, queue: Bytes) {
        let Some(memory) = self.config.memory else {
            return;
        };
        let threshold = memory.crossing * self.config.buffer.count() as f64;
        let beyond = queue.count() as f64 > threshold;
        if beyond && !self.beyond {
            self.events = (self.events + 1).min(memory.cap);
        }
        self.beyond = beyond;
    }

    /// Counts the frame; whether it is a sampling.
    fn runs_out(&mut self, queue: Bytes, size: Bytes) -> bool {
        match self.config.sampling {
            QcnSampling::EveryPacket => return true,
            QcnSampling::Older => {
                let psi = self.config.quantise(self.config.pressure(queue, self.old));
                self.left = self.left.min(self.scaled_interval(psi));
            }
            QcnSampling::V22 => {}
        }
        self.left = self.left.saturating_sub(size);
        self.left == Bytes::ZERO
    }

    fn next_interval(&mut self, psi: u8, rng: &mut dyn Rng) -> Bytes {
        if self.config.sampling == QcnSampling::EveryPacket {
            return Bytes::ZERO;
        }
        let jitter = self.config.jitter;
        if jitter > 0.0 {
            self.stretch = 1.0 + jitter * (2.0 * random::uniform(rng) - 1.0);
        }
        self.scaled_interval(psi)
    }

    /// The table's interval, divided by 2^c, with the present jitter; in whole bytes, rounded down.
    fn scaled_interval(&self, psi: u8) -> Bytes {
        let divisor = (1_u64 << self.events) as f64;
        Bytes::new((self.config.interval(psi) * self.stretch / divisor) as u64)
    }
}
