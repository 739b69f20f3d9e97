//! The gaps that a receiver has reported, and the time of each next report (draft-gg-udt-03, section
//! 6.2). It is due after k round trips, k = 2, 3, ..., and no sooner than the NAK timer expires, where
//! there is one.
//!
//! The timer runs while a gap is known: it begins with the first one, and anew with each expiry.
//!
//! A storm of losses leaves thousands of gaps that are due at different instants. They lie in a heap
//! by that instant, so that a timer's expiry costs only the gaps that are due. Leaves out: the
//! missing part of a gap, which the loss list has.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use incastle_units::{Span, Time};

use super::loss_list::LossRange;

/// The clocks of repeated reports.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Repeat {
    pub(super) rtt: Span,
    /// The period of the NAK timer; zero where there is none.
    pub(super) period: Span,
}

/// A gap that was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Report {
    range: LossRange,
    /// The round trips until the next report.
    k: u32,
    due: Time,
    /// Its place in the order of the first reports.
    place: u64,
}

impl Report {
    /// It waits one round trip longer than before.
    fn wait(&mut self, now: Time, rtt: Span) {
        self.k += 1;
        let wait = rtt.saturating_mul(u64::from(self.k));
        self.due = now.saturating_add(wait);
    }
}

impl Ord for Report {
    /// The earliest due first; at one instant the oldest.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.place).cmp(&(other.due, other.place))
    }
}

impl PartialOrd for Report {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// All of them. None of them owns memory before the first gap.
#[derive(Debug, Clone)]
pub(super) struct Reports {
    /// The clocks that hold from now on.
    pub(super) repeat: Repeat,
    waiting: BinaryHeap<Reverse<Report>>,
    /// When the next one is due, or NEVER: every poll reads it.
    at: Time,
    /// When the NAK timer expires, while it runs.
    timer: Time,
    /// Those that are due at an expiry; kept for its memory alone.
    due: Vec<Report>,
    next_place: u64,
    most: usize,
}

impl Reports {
    /// No reports, and room for `most`.
    pub(super) const fn new(most: usize) -> Self {
        Self {
            repeat: Repeat {
                rtt: Span::ZERO,
                period: Span::ZERO,
            },
            waiting: BinaryHeap::new(),
            at: Time::NEVER,
            timer: Time::ZERO,
            due: Vec::new(),
            next_place: 0,
            most,
        }
    }

    /// When the next one is due, or NEVER.
    #[inline]
    pub(super) const fn at(&self) -> Time {
        self.at
    }

    fn first_due(&self) -> Time {
        let first = self.waiting.peek();
        first.map_or(Time::NEVER, |Reverse(report)| report.due)
    }

    /// A gap was reported for the first time: again in two round trips. Where there is no room, the
    /// sender's EXP repairs it.
    pub(super) fn add(&mut self, now: Time, range: LossRange) {
        if self.waiting.len() >= self.most {
            return;
        }
        if self.waiting.is_empty() {
            self.timer = now.saturating_add(self.repeat.period);
        }
        let due = now.saturating_add(self.repeat.rtt.saturating_mul(2));
        self.waiting.push(Reverse(Report {
            range,
            k: 2,
            due,
            place: self.next_place,
        }));
        self.next_place += 1;
        assert!(self.waiting.len() <= self.most, "the reports are bounded");
        self.settle();
    }

    /// Passes the gaps that are due to `again`, in the order of their first reports. It returns
    /// whether packets are still missing; those gaps then wait one round trip longer than before.
    pub(super) fn expire(&mut self, now: Time, mut again: impl FnMut(LossRange) -> bool) {
        self.timer = now.saturating_add(self.repeat.period);
        if self.is_one_due(now) {
            self.expire_first(now, &mut again);
        } else {
            self.expire_due(now, &mut again);
        }
        self.settle();
    }

    fn expire_first(&mut self, now: Time, again: &mut impl FnMut(LossRange) -> bool) {
        let Some(mut first) = self.waiting.peek_mut() else {
            return;
        };
        if again(first.0.range) {
            first.0.wait(now, self.repeat.rtt);
        } else {
            PeekMut::pop(first);
        }
    }

    fn expire_due(&mut self, now: Time, again: &mut impl FnMut(LossRange) -> bool) {
        let mut due = std::mem::take(&mut self.due);
        while self.first_due() <= now
            && let Some(Reverse(report)) = self.waiting.pop()
        {
            due.push(report);
        }
        due.sort_unstable_by_key(|report| report.place);
        for mut report in due.drain(..) {
            if again(report.range) {
                report.wait(now, self.repeat.rtt);
                self.waiting.push(Reverse(report));
            }
        }
        self.due = due;
        assert!(
            self.repeat.rtt == Span::ZERO || self.first_due() > now,
            "what is reported waits a round trip"
        );
    }

    /// The first of them, or the timer, has changed.
    fn settle(&mut self) {
        self.at = self.first_due().max(self.timer);
    }

    /// Whether not more than the first is due: the second is one of the two below it.
    fn is_one_due(&self, now: Time) -> bool {
        let mut next = self.waiting.as_slice().iter().skip(1).take(2);
        next.all(|Reverse(report)| report.due > now) && self.first_due() <= now
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same as a plain list that is looked through at every expiry.
    #[derive(Default)]
    struct Plain {
        reports: Vec<Report>,
    }

    impl Plain {
        fn expire(&mut self, now: Time, rtt: Span, missing: impl Fn(u64) -> bool) -> Vec<u64> {
            let mut reported = Vec::new();
            self.reports.retain_mut(|report| {
                if now < report.due {
                    return true;
                }
                report.k += 1;
                report.due = now.saturating_add(rtt.saturating_mul(u64::from(report.k)));
                reported.push(report.range.start);
                missing(report.range.start)
            });
            reported
        }

        fn at(&self) -> Time {
            let dues = self.reports.iter().map(|report| report.due);
            dues.min().unwrap_or(Time::NEVER)
        }
    }

    fn range(start: u64) -> LossRange {
        LossRange {
            start,
            end: start + 1,
        }
    }

    fn without_timer(rtt_us: u64) -> Repeat {
        Repeat {
            rtt: Span::from_us(rtt_us),
            period: Span::ZERO,
        }
    }

    #[test]
    fn the_timer_holds_back_what_is_due_before_it_expires() {
        let us = |us| Time::ZERO + Span::from_us(us);
        let repeat = Repeat {
            rtt: Span::from_us(10),
            period: Span::from_us(100),
        };
        let mut reports = Reports::new(9);
        reports.repeat = repeat;
        let expire = |reports: &mut Reports, at, missing: bool| {
            assert_eq!(reports.at(), us(at));
            let mut reported = Vec::new();
            reports.expire(us(at), |gap| {
                reported.push(gap.start);
                missing
            });
            reported
        };
        // It begins with the first gap, at 5; both are due by then.
        reports.add(us(5), range(1));
        reports.add(us(70), range(2));
        // Two round trips after its first report the third one is not due.
        reports.add(us(90), range(3));
        assert_eq!(expire(&mut reports, 105, true), [1, 2]);
        assert_eq!(expire(&mut reports, 205, false), [1, 2, 3]);
        assert_eq!(reports.at(), Time::NEVER);
        // It stood still in between, and begins anew.
        reports.add(us(250), range(4));
        assert_eq!(expire(&mut reports, 350, false), [4]);
        // Longer round trips decide.
        reports.repeat.rtt = Span::from_us(80);
        reports.add(us(400), range(5));
        assert_eq!(reports.at(), us(560));
    }

    #[test]
    fn a_gap_waits_two_round_trips_and_then_one_more_each_time() {
        let us = |us| Time::ZERO + Span::from_us(us);
        let mut reports = Reports::new(1);
        reports.repeat = without_timer(10);
        assert_eq!(reports.at(), Time::NEVER);
        reports.add(us(5), range(7));
        // There is no room for a second one.
        reports.add(us(6), range(9));
        let mut seen = Vec::new();
        for at in [25, 55, 95] {
            // 5 + 20; + 30; + 40.
            assert_eq!(reports.at(), us(at));
            reports.expire(us(at), |gap| {
                seen.push(gap.start);
                at < 95
            });
        }
        assert_eq!(seen, [7, 7, 7]);
        assert_eq!(reports.at(), Time::NEVER);
    }

    proptest! {
        /// Round trips that change bring dues out of order: the same gaps are reported in the same order at
        /// the same instants.
        #[test]
        fn reports_agree_with_a_plain_list(
            steps in prop::collection::vec((0_u64..30, 0_u64..20, any::<bool>()), 1..200),
        ) {
            let mut reports = Reports::new(20);
            let mut plain = Plain::default();
            let mut now = Time::ZERO;
            for (start, (pause, rtt, expires)) in (0..).zip(steps) {
                now += Span::from_us(pause);
                reports.repeat = without_timer(rtt);
                let rtt = Span::from_us(rtt);
                if expires {
                    let missing = |gap: u64| !(gap + pause).is_multiple_of(3);
                    let mut reported = Vec::new();
                    reports.expire(now, |gap| {
                        reported.push(gap.start);
                        missing(gap.start)
                    });
                    prop_assert_eq!(reported, plain.expire(now, rtt, missing));
                } else {
                    if plain.reports.len() < 20 {
                        let due = now.saturating_add(rtt * 2);
                        let report = Report { range: range(start), k: 2, due, place: 0 };
                        plain.reports.push(report);
                    }
                    reports.add(now, range(start));
                }
                prop_assert_eq!(reports.at(), plain.at());
            }
        }
    }
}
