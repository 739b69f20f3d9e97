//! Idle times of the links to receivers, from the silences in the recorder.
//!
//! A link is idle from the arrival of one packet to the moment at which the next one begins to arrive.
//! The next one is assumed to be full. Gaps of less than two full packets do not count.
//! Leaves out: why it was idle.

use incastle_recorder::Silence;
use incastle_units::{Span, Time};

/// A period of time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period {
    pub(crate) from: Time,
    pub(crate) to: Time,
}

/// The idle times of one host's link.
#[derive(Default)]
pub(crate) struct Idle {
    /// In order of time; they do not overlap.
    periods: Vec<Period>,
    /// Idle time before each of them.
    before: Vec<Span>,
}

impl Idle {
    /// The idle times of all hosts. `packets`: the time that a full packet takes on each one's link.
    pub(crate) fn of_hosts(packets: &[Span], silences: &[Silence]) -> Vec<Self> {
        let mut all: Vec<Self> = packets.iter().map(|_| Self::default()).collect();
        for silence in silences {
            let host = silence.host.index();
            let packet = packets[host].min(silence.to - silence.from);
            all[host].push(silence.from, silence.to - packet);
        }
        all
    }

    fn push(&mut self, from: Time, to: Time) {
        let last = self.periods.last().map_or(Time::ZERO, |period| period.to);
        assert!(last <= from && from <= to, "idle times do not overlap");
        self.before.push(self.until(Time::NEVER));
        self.periods.push(Period { from, to });
    }

    /// The idle time from the beginning of the run to `at`.
    fn until(&self, at: Time) -> Span {
        let begun = self.periods.partition_point(|period| period.from < at);
        match begun.checked_sub(1) {
            None => Span::ZERO,
            Some(last) => {
                let Period { from, to } = self.periods[last];
                self.before[last] + (to.min(at) - from)
            }
        }
    }

    /// The idle time between two instants.
    pub(crate) fn between(&self, from: Time, to: Time) -> Span {
        let to = to.max(from);
        let idle = self.until(to) - self.until(from);
        assert!(idle <= to - from, "no more idle time than time");
        idle
    }

    /// The idle time within each of these waits, in seconds; waits that overlap share it equally.
    pub(crate) fn shared(&self, waits: &[Period]) -> Vec<f64> {
        // At each instant: the waits that begin minus those that end.
        let mut turns: Vec<(Time, i64)> = Vec::with_capacity(2 * waits.len());
        for &Period { from, to } in waits {
            assert!(from <= to, "a wait has a length");
            turns.extend([(from, 1), (to, -1)]);
        }
        turns.sort_unstable();
        // By each instant: the share of a wait that began with the run.
        let mut parts: Vec<(Time, f64)> = Vec::with_capacity(turns.len());
        let (mut waiting, mut part, mut since) = (0_i64, 0.0, Time::ZERO);
        for (at, change) in turns {
            if waiting > 0 {
                part += self.between(since, at).as_secs_lossy() / waiting as f64;
            }
            assert!(waiting >= 0 || since == at, "no wait ends before it begins");
            waiting += change;
            since = at;
            parts.push((at, part));
        }
        assert_eq!(waiting, 0, "every wait ends");
        let part_at = |at: Time| {
            let place = parts.partition_point(|(known, _)| *known < at);
            parts[place].1
        };
        let shares = waits
            .iter()
            .map(|&Period { from, to }| part_at(to) - part_at(from));
        shares.collect()
    }
}

#[cfg(test)]
mod tests {
    use incastle_engine::core::HostIndex;

    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Idle from 10 to 30 and from 50 to 60 us; each silence ends with a packet of 5 us.
    fn idle() -> Idle {
        let host = HostIndex::from_index(0);
        let silence = |from, to| Silence {
            host,
            from: at(from),
            to: at(to),
        };
        let silences = [silence(10, 35), silence(50, 65)];
        let mut all = Idle::of_hosts(&[Span::from_us(5)], &silences);
        all.pop().expect("one host")
    }

    #[test]
    fn idle_time_adds_up() {
        let idle = idle();
        let between = |from, to| idle.between(at(from), at(to)).as_ps() / 1_000_000;
        assert_eq!(between(0, 100), 30);
        assert_eq!(between(15, 55), 15 + 5);
        assert_eq!(between(30, 50), 0);
        assert_eq!(between(20, 20), 0);
        assert_eq!(between(90, 80), 0);
    }

    #[test]
    fn waits_that_overlap_share() {
        // Alone from 0 to 20: 10 us of idleness. Two from 20 to 30: 10 us, 5 for each. Three from 50 to
        // 55: 5 us; two from 55 to 60: 5 us.
        let waits = [(0, 40), (20, 55), (45, 70), (50, 70)];
        let waits = waits.map(|(from, to)| Period {
            from: at(from),
            to: at(to),
        });
        let shares = idle().shared(&waits);
        let expected = [
            10.0 + 5.0,
            5.0 + 5.0 / 3.0,
            5.0 / 3.0 + 2.5,
            5.0 / 3.0 + 2.5,
        ];
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share * 1e6 - expected).abs() < 1e-9, "{share} {expected}");
        }
        // Nothing is lost and nothing counted twice.
        assert!((shares.iter().sum::<f64>() * 1e6 - 30.0).abs() < 1e-9);
    }
}
