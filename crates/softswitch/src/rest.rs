//! When the loop of the switch may look for arrivals without sleeping, and how long it stood still.
//!
//! Linux takes the processor from real-time threads that have used 950 ms of it within a second
//! (sched_rt_runtime_us): for the other 50 ms nothing is forwarded, and few packets are late, because none arrive. The
//! loop therefore sleeps between packets for a part of the time, where they are far enough apart.

use incastle_units::{Span, Time};

/// The loop does not sleep when a packet is due within this time: a sleeping thread may wake that late.
const AWAKE: Span = Span::from_us(80);
/// In each of these times the loop rests once.
const PERIOD: Span = Span::from_ms(100);
/// In this first part of each it sleeps between packets.
const REST: Span = Span::from_ms(20);
/// A loop that comes back later than this has stood still: its work takes microseconds.
const STALL: Span = Span::from_us(200);

/// The state of a loop.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rest {
    /// When the loop should be back at the latest.
    expected: Option<Time>,
    /// The sum of the times by which it was later.
    stalled: Span,
}

impl Rest {
    /// How long before the next event the loop is awake.
    pub(crate) fn awake(now: Time) -> Span {
        let in_period = now.as_ps() % PERIOD.as_ps();
        if in_period < REST.as_ps() {
            Span::ZERO
        } else {
            AWAKE
        }
    }

    /// The loop is back at its beginning.
    pub(crate) fn begin(&mut self, now: Time) {
        let late = self
            .expected
            .map_or(Span::ZERO, |at| now.saturating_since(at));
        if late > STALL {
            self.stalled += late;
        }
        self.expected = Some(now);
    }

    /// The loop sleeps until this instant at the latest, or until something arrives.
    pub(crate) const fn sleep_until(&mut self, wakes: Option<Time>) {
        self.expected = wakes;
    }

    /// The loop has ended: whatever follows is no stall.
    pub(crate) const fn end(&mut self) {
        self.expected = None;
    }

    /// How long it has stood still in all.
    pub(crate) const fn stalled(&self) -> Span {
        self.stalled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Time {
        Time::ZERO + Span::from_ms(count)
    }

    #[test]
    fn a_loop_that_comes_back_late_has_stood_still() {
        let mut rest = Rest::default();
        rest.begin(ms(1));
        rest.begin(ms(1) + Span::from_us(150));
        assert_eq!(rest.stalled(), Span::ZERO);
        // Asleep until 10 ms: 10.1 ms is a wake-up, 60 ms is 50 ms late.
        rest.sleep_until(Some(ms(10)));
        rest.begin(ms(10) + Span::from_us(100));
        assert_eq!(rest.stalled(), Span::ZERO);
        rest.sleep_until(Some(ms(20)));
        rest.begin(ms(70));
        assert_eq!(rest.stalled(), Span::from_ms(50));
        // With nothing to wait for, and between two runs, nothing is late.
        rest.sleep_until(None);
        rest.begin(ms(500));
        rest.end();
        rest.begin(ms(900));
        assert_eq!(rest.stalled(), Span::from_ms(50));
    }

    #[test]
    fn it_rests_a_fifth_of_the_time() {
        let resting = (0..1_000).filter(|&at| Rest::awake(ms(at)) == Span::ZERO);
        assert_eq!(resting.count(), 200);
    }
}
