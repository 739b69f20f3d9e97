//! The growth of Linux's CUBIC in congestion avoidance (`bictcp_update`, `cubictcp_cong_avoid`, `cubictcp_acked`,
//! `bictcp_reset`; Linux 6.18): the acknowledged segments after which the window grows by one.
//!
//! While the window stays as it is, that number is calculated again after 1/32 s at the earliest. Over a short round
//! trip the window rests, then grows fast. A tick of the kernel's clock has at most one value of the cubic: a window that
//! grows within it goes on as fast. RFC 9438 has neither.
//!
//! Leaves out: other ticks than those of 250 Hz; the kernel's integer arithmetic but for ticks and whole segments.

use incastle_units::{Span, Time};

/// The tick of the kernel's clock at HZ = 250, the default of its configuration.
const TICK: Span = Span::from_ms(4);
/// HZ / 32, in ticks.
const REST: u64 = 250 / 32;
/// HZ: a recovery fills the path with data for so long that its round trips are not taken.
const AFTER_REDUCTION: Span = Span::from_secs(1);
/// 5 % per round trip, while no window at a reduction is known.
const UNKNOWN_MAXIMUM: u64 = 20;

/// The parameters of the cubic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// C, in segments per second cubed.
    pub(crate) c: f64,
    /// The share of the window that a reduction keeps.
    pub(crate) beta: f64,
}

/// The state of one sender; windows in segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinuxGrowth {
    /// Acknowledged segments for one more in the window.
    cnt: u64,
    last_cwnd: u64,
    /// In ticks.
    last_time: Option<u64>,
    last_max_cwnd: u64,
    origin_point: u64,
    /// In seconds.
    k: f64,
    epoch_start: Option<Time>,
    /// Acknowledged since `tcp_cwnd` grew.
    ack_cnt: u64,
    /// Reno's window.
    tcp_cwnd: u64,
    delay_min: Option<Span>,
}

impl LinuxGrowth {
    /// `cubictcp_acked`.
    pub(crate) fn on_rtt(&mut self, now: Time, rtt: Span) {
        let begun = self.epoch_start.map(|at| now.saturating_since(at));
        if begun.is_some_and(|passed| passed < AFTER_REDUCTION) {
            return;
        }
        self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
    }

    /// `cubictcp_recalc_ssthresh`: a reduction from this window.
    pub(crate) fn on_reduction(&mut self, cwnd: u64, fast_convergence: bool, beta: f64) {
        self.epoch_start = None;
        self.last_max_cwnd = if fast_convergence && cwnd < self.last_max_cwnd {
            (cwnd as f64 * (1.0 + beta) / 2.0) as u64
        } else {
            cwnd
        };
    }

    /// `cubictcp_cwnd_event`: the time without data does not count.
    pub(crate) fn on_idle(&mut self, idle: Span) {
        if let Some(start) = &mut self.epoch_start {
            *start += idle;
        }
    }

    /// `bictcp_update`: the acknowledged segments for one more in a window of `cwnd`.
    pub(crate) fn update(&mut self, now: Time, cwnd: u64, acked: u64, shape: Shape) -> u64 {
        self.ack_cnt += acked;
        let tick = now.saturating_since(Time::ZERO).as_ps() / TICK.as_ps();
        let rests = self.last_time.is_some_and(|last| tick - last <= REST);
        if self.last_cwnd == cwnd && rests {
            return self.cnt;
        }
        if self.epoch_start.is_none() || self.last_time != Some(tick) {
            self.last_cwnd = cwnd;
            self.last_time = Some(tick);
            self.cnt = self.follow_cubic(now, cwnd, acked, shape);
        }
        self.befriend_reno(cwnd, shape.beta);
        // At most one segment for two acknowledged.
        self.cnt = self.cnt.max(2);
        self.cnt
    }

    /// The same number, by the cubic alone.
    fn follow_cubic(&mut self, now: Time, cwnd: u64, acked: u64, shape: Shape) -> u64 {
        let start = match self.epoch_start {
            Some(start) => start,
            None => self.begin_epoch(now, cwnd, acked, shape),
        };
        let t = now.saturating_since(start) + self.delay_min.unwrap_or(Span::ZERO);
        let x = t.as_secs_lossy() - self.k;
        // The kernel shifts the magnitude right: it rounds towards the origin.
        let delta = (shape.c * x.abs() * x * x) as u64;
        let target = if x < 0.0 {
            self.origin_point.saturating_sub(delta)
        } else {
            self.origin_point.saturating_add(delta)
        };
        let cnt = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if self.last_max_cwnd == 0 {
            return cnt.min(UNKNOWN_MAXIMUM);
        }
        cnt
    }

    fn begin_epoch(&mut self, now: Time, cwnd: u64, acked: u64, shape: Shape) -> Time {
        self.epoch_start = Some(now);
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        let below = self.last_max_cwnd.saturating_sub(cwnd);
        self.k = libm::cbrt(below as f64 / shape.c);
        self.origin_point = self.last_max_cwnd.max(cwnd);
        now
    }

    /// Never slower than Reno with the same mean window.
    fn befriend_reno(&mut self, cwnd: u64, beta: f64) {
        // `beta_scale`: 8 (1 + beta) / 3 / (1 - beta), in eighths of a window.
        let scale = (8.0 * (1.0 + beta) / 3.0 / (1.0 - beta)) as u64;
        let delta = (cwnd * scale / 8).max(1);
        while self.ack_cnt > delta {
            self.ack_cnt -= delta;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { c: 0.4, beta: 0.7 };

    fn ms(count: u64) -> Time {
        Time::ZERO + Span::from_ms(count)
    }

    /// After a reduction from 100 to 70 segments: K = cbrt(30 / 0.4) = 4.217 s.
    fn reduced() -> LinuxGrowth {
        let mut growth = LinuxGrowth::default();
        growth.on_reduction(100, true, SHAPE.beta);
        // The target is 100 - 0.4 K^3 = 70: no growth yet.
        assert_eq!(growth.update(ms(0), 70, 1, SHAPE), 7_000);
        growth
    }

    #[test]
    fn the_cubic_gives_the_credit_for_one_segment() {
        let mut growth = reduced();
        // 100 - floor(0.4 x 3.217^3) = 100 - 13 = 87: 70 / 17.
        assert_eq!(growth.update(ms(1_000), 70, 1, SHAPE), 4);
        // 100 + floor(0.4 x 1.783^3) = 102 at 6 s: 99 / 3.
        assert_eq!(growth.update(ms(6_000), 99, 1, SHAPE), 33);
        // Far beyond: at most one for two.
        assert_eq!(growth.update(ms(60_000), 110, 1, SHAPE), 2);
    }

    #[test]
    fn an_unchanged_window_rests_for_a_32nd_of_a_second() {
        let mut growth = reduced();
        // Many ACKs, over a round trip of 1 ms: Reno's window has grown meanwhile.
        for at in 1..=31 {
            assert_eq!(growth.update(ms(at), 70, 70, SHAPE), 7_000);
        }
        // 1 + 32 x 70 acknowledged, and Reno's window grows with each 70 x 15 / 8 = 131: 17 times. 70 / 17.
        assert_eq!(growth.update(ms(32), 70, 70, SHAPE), 4);
        // Another window is calculated at once: 2241 - 17 x 131 + 70 = 84 below 71 x 15 / 8: 71 / (87 - 71).
        assert_eq!(growth.update(ms(33), 71, 70, SHAPE), 4);
    }

    #[test]
    fn a_window_that_grows_within_a_tick_goes_on_as_fast() {
        let mut growth = reduced();
        // As above: with 71 segments in the same tick of 4 ms, Reno's window would be larger by 16 as well.
        for at in 1..=31 {
            growth.update(ms(at), 70, 70, SHAPE);
        }
        assert_eq!(growth.update(ms(32), 70, 70, SHAPE), 4);
        // Far above Reno's window: what holds is the value of the tick.
        assert_eq!(growth.update(ms(33), 500, 1, SHAPE), 4);
        assert_eq!(growth.update(ms(35), 500, 1, SHAPE), 4);
        // The next tick follows the cubic, which is below.
        assert_eq!(growth.update(ms(36), 500, 1, SHAPE), 50_000);
        // A reduction begins anew within the tick.
        growth.on_reduction(500, true, SHAPE.beta);
        assert_eq!(growth.update(ms(37), 350, 1, SHAPE), 35_000);
    }

    #[test]
    fn a_reduction_below_the_last_maximum_leaves_room() {
        let mut growth = reduced();
        growth.on_reduction(90, true, SHAPE.beta);
        // 90 x 1.7 / 2 = 76.5.
        assert_eq!(growth.last_max_cwnd, 76);
        growth.on_reduction(70, false, SHAPE.beta);
        assert_eq!(growth.last_max_cwnd, 70);
    }

    #[test]
    fn without_a_maximum_a_window_grows_by_a_twentieth() {
        let mut growth = LinuxGrowth::default();
        assert_eq!(growth.update(ms(0), 50, 1, SHAPE), 20);
    }

    #[test]
    fn idleness_and_round_trips() {
        let mut growth = reduced();
        growth.on_idle(Span::from_secs(1));
        // As at 0 s.
        assert_eq!(growth.update(ms(1_000), 70, 1, SHAPE), 7_000);
        growth.on_rtt(ms(1_500), Span::from_ms(1));
        assert_eq!(growth.delay_min, None, "within a second of the reduction");
        growth.on_rtt(ms(2_100), Span::from_ms(5));
        growth.on_rtt(ms(2_200), Span::from_ms(7));
        assert_eq!(growth.delay_min, Some(Span::from_ms(5)));
    }
}
