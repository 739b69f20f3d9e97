//! The event queue: a calendar of narrow buckets for what comes soon, a heap for what comes later.
//!
//! Sources: Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation
//! event set problem", Communications of the ACM 31(10), 1988; and, for sorting a bucket only when it
//! begins, Tang, Goh, Thng, "Ladder queue: an O(1) priority queue structure for large-scale discrete
//! event simulation", ACM TOMACS 15(3), 2005. In a large network of equal links thousands of events
//! share one instant: a bucket takes them unsorted, and one sort orders them all. Events beyond the
//! calendar wait in the heap; the first event is the earlier of both firsts. Width and number
//! of the buckets follow the density of events; they and the heap affect speed alone, never the order.

mod calendar;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incastle_units::{Span, Time};

use crate::core::Event;
use calendar::{Brief, Calendar, MAX_AFTER, MIN_BUCKETS, WIDEST_SHIFT};

/// The maximum number of buckets.
const MAX_BUCKETS: usize = 16 * MIN_BUCKETS;
/// The width of a bucket at first: 2^17 ps = 131 ns.
const FIRST_SHIFT: u32 = 17;
/// The narrowest bucket is 2^4 ps = 16 ps wide, the widest 2^28 ps = 0.27 ms.
const SHIFTS: std::ops::RangeInclusive<u32> = 4..=WIDEST_SHIFT;
/// Buckets, or events that are not of the calendar, between two looks at whether the calendar suits.
const REVIEW: u64 = 4096;
/// More events than this make a crowded bucket, unless all are at one instant; and a late event passes no
/// more than this.
const CROWD: usize = 24;
/// Fewer events than this in a bucket, on average, are worth wider buckets.
const FEW: u64 = 12;

/// The queue.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The events before the beginning of the calendar, in order; those before index `next` have
    /// been taken.
    current: Vec<Brief>,
    next: usize,
    begins: Time,
    /// The next bucket begins when this many events of the current buckets have been taken.
    enough: usize,
    /// No more events than this are left then.
    kept_sorted: usize,
    calendar: Calendar,
    /// The events beyond the calendar, and late ones of a crowded bucket.
    far: BinaryHeap<Reverse<Event>>,
    /// The first of them, or [`Event::NEVER`].
    far_first: Event,
    /// Wider buckets would have too many late events.
    widest: u32,
    review: Review,
}

/// How the calendar has done since the last review.
#[derive(Debug, Default)]
struct Review {
    buckets: u64,
    /// Their events.
    events: u64,
    /// Events of crowded buckets.
    crowded: u64,
    /// Events that were entered into a bucket that had begun.
    late: u64,
    /// Events that lay beyond the calendar.
    far: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            next: 0,
            begins: Time::ZERO,
            enough: 0,
            kept_sorted: 0,
            calendar: Calendar::new(0, FIRST_SHIFT, MIN_BUCKETS),
            far: BinaryHeap::new(),
            far_first: Event::NEVER,
            widest: *SHIFTS.end(),
            review: Review::default(),
        }
    }
}

impl EventQueue {
    /// Adds an event, which must not lie before the one taken last.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        let bucket = self.calendar.bucket_of(event);
        if self.calendar.has(bucket) {
            self.calendar.insert(bucket, event);
        } else {
            self.push_outside_calendar(bucket, event);
        }
    }

    /// Keeps more events than this in order at any time, as far as there are so many.
    pub(crate) fn keep_sorted(&mut self, events: usize) {
        self.kept_sorted = events;
        self.recount();
    }

    /// Whether nothing, or too little, is left of the current buckets.
    #[inline(always)]
    pub(crate) fn needs_refill(&self) -> bool {
        self.next >= self.enough
    }

    /// Counts the events left of the current buckets, after any change but taking the next event.
    fn recount(&mut self) {
        self.enough = self.current.len().saturating_sub(self.kept_sorted);
    }

    /// An instant before which nothing happens, no earlier than the bucket of the first event.
    pub(crate) fn next_at(&self) -> Time {
        let first = match self.current.get(self.next) {
            Some(first) => first.event(self.begins).at,
            None if self.calendar.has_pages() => {
                self.calendar.start_of(self.calendar.next_bucket())
            }
            None => Time::NEVER,
        };
        first.min(self.far_first.at)
    }

    /// The events left of the current buckets, in order.
    pub(crate) fn current(&self) -> impl Iterator<Item = Event> {
        let left = self.current[self.next..].iter();
        left.map(|one| one.event(self.begins))
    }

    /// The event of the current buckets that comes after `others` others.
    #[inline(always)]
    pub(crate) fn later(&self, others: usize) -> Option<Event> {
        let one = self.current.get(self.next + others)?;
        Some(one.event(self.begins))
    }

    /// Takes the first event if it lies at or before `until`. A bucket that is over must have given way to
    /// the next one.
    #[inline(always)]
    pub(crate) fn take(&mut self, until: Time) -> Option<Event> {
        let Some(first) = self.current.get(self.next) else {
            return self.take_far(until);
        };
        let event = first.event(self.begins);
        if self.far_first.at <= event.at && self.far_is_before(event) {
            return self.take_far(until);
        }
        if event.at > until {
            return None;
        }
        self.next += 1;
        Some(event)
    }

    /// Begins the next buckets that have events when too little is left of the current buckets, unless they begin after `until`
    /// or the heap has something earlier.
    #[inline(never)]
    pub(crate) fn refill(&mut self, until: Time) {
        while self.needs_refill() && self.calendar.has_pages() {
            let bucket = self.calendar.next_bucket();
            let later = self.calendar.start_of(bucket) > until;
            if later || self.calendar.bucket_of(self.far_first) < bucket {
                return;
            }
            if self.next == self.current.len() {
                self.begin(bucket);
            } else if !self.join(bucket) {
                return;
            }
        }
    }

    /// Takes the first event when it is in the heap.
    #[cold]
    fn take_far(&mut self, until: Time) -> Option<Event> {
        let event = self.far_first;
        if event.at > until || event == Event::NEVER {
            return None;
        }
        self.far.pop();
        self.look_far();
        self.calendar.begin_at(self.calendar.bucket_of(event));
        Some(event)
    }

    /// Makes a bucket the current one.
    #[inline(always)]
    fn begin(&mut self, bucket: u64) {
        self.current.clear();
        self.next = 0;
        self.begins = self.calendar.start_of(bucket);
        self.take_bucket(bucket, 0, 0);
    }

    /// Joins a bucket to the current ones, unless it lies too far from what is left of them; returns whether it did.
    fn join(&mut self, bucket: u64) -> bool {
        let passed = self.current[self.next].after();
        let begins = self.begins + Span::from_ps(passed);
        let ahead = (self.calendar.start_of(bucket) - begins).as_ps();
        if ahead > MAX_AFTER {
            return false;
        }
        self.begins = begins;
        self.current.drain(..self.next);
        self.next = 0;
        for event in &mut self.current {
            *event = event.earlier(passed);
        }
        let left = self.current.len();
        self.take_bucket(bucket, left, ahead);
        true
    }

    /// Takes a bucket's events in order, behind so many others, with whose beginning so many picoseconds lie ahead of
    /// its own.
    #[inline(always)]
    fn take_bucket(&mut self, bucket: u64, left: usize, ahead: u64) {
        self.calendar.take_bucket(bucket, &mut self.current);
        let new = &mut self.current[left..];
        let count = new.len();
        if count > 1 {
            new.sort_unstable();
        }
        if ahead > 0 {
            for event in new.iter_mut() {
                *event = event.later(ahead);
            }
        }
        self.enough = (left + count).saturating_sub(self.kept_sorted);
        self.review.buckets += 1;
        self.review.events += count as u64;
        if count > CROWD && new[0].after() < new[count - 1].after() {
            self.review.crowded += count as u64;
        }
        if self.review.buckets >= REVIEW {
            self.review();
        }
    }

    /// Removes an event that will not happen; it must have been entered.
    #[cold]
    pub(crate) fn remove(&mut self, event: Event) {
        let place = self.current().position(|other| other == event);
        if let Some(place) = place {
            self.current.remove(self.next + place);
            self.recount();
        } else if !self.calendar.remove(event) {
            let held = self.far.len();
            self.far.retain(|other| other.0 != event);
            assert!(self.far.len() + 1 == held, "the event was entered, once");
            self.look_far();
        }
    }

    /// Events held, outdated ones included.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.current.len() - self.next + self.calendar.count() + self.far.len()
    }

    /// Adds an event that is not of the calendar.
    #[inline(never)]
    fn push_outside_calendar(&mut self, bucket: u64, event: Event) {
        self.push_outside(bucket, event);
        if self.review.late + self.review.far >= REVIEW {
            self.review();
        }
    }

    /// Adds an event to what is left of the current buckets, or one beyond the calendar.
    fn push_outside(&mut self, bucket: u64, event: Event) {
        if bucket >= self.calendar.first() {
            self.review.far += 1;
            self.push_far(event);
            return;
        }
        self.review.late += 1;
        // Buckets may have become wider meanwhile: what lies too far from the beginning of the current ones goes to the heap.
        let Some(late) = Brief::new(event, self.begins) else {
            return self.push_far(event);
        };
        let left = &self.current[self.next..];
        let passed = left.iter().rev().take_while(|other| **other > late);
        let passed = passed.take(CROWD + 1).count();
        if passed > CROWD {
            self.push_far(event);
        } else {
            self.current.insert(self.current.len() - passed, late);
            self.recount();
        }
    }

    fn push_far(&mut self, event: Event) {
        self.far.push(Reverse(event));
        self.far_first = self.far_first.min(event);
    }

    fn look_far(&mut self) {
        self.far_first = self
            .far
            .peek()
            .map_or(Event::NEVER, |&Reverse(event)| event);
    }

    /// Whether the first event of the heap comes before this one, whose instant is no earlier. Out of
    /// line: hardly any event comes so far.
    #[cold]
    #[inline(never)]
    fn far_is_before(&self, event: Event) -> bool {
        self.far_first < event
    }

    /// Narrower buckets where they are crowded or events come late, a longer calendar where too much lies
    /// beyond it, wider buckets where they have few events.
    #[cold]
    fn review(&mut self) {
        let Review {
            buckets,
            events,
            crowded,
            late,
            far,
        } = std::mem::take(&mut self.review);
        let all = events + late + far;
        let short = far > all / 16;
        let (mut shift, mut count) = (self.calendar.shift(), self.calendar.buckets());
        if late + crowded > all / 3 {
            shift -= 1;
            if late > crowded {
                self.widest = shift;
            }
        } else if short && events > buckets * CROWD as u64 / 2 && count < MAX_BUCKETS {
            count *= 4;
        } else if short || (events < FEW * buckets && late < all / 8 && shift < self.widest) {
            shift += 1;
        }
        if (shift, count) != (self.calendar.shift(), self.calendar.buckets())
            && SHIFTS.contains(&shift)
        {
            self.set_shape(shift, count);
        }
    }

    /// Another width and number of buckets.
    fn set_shape(&mut self, shift: u32, buckets: usize) {
        // Rounded up: what is entered into the calendar must come after all of the current buckets.
        let begins = self.calendar.first() << self.calendar.shift();
        let year = Calendar::new(begins.div_ceil(1 << shift), shift, buckets);
        let before = std::mem::replace(&mut self.calendar, year);
        for event in before.events() {
            let bucket = self.calendar.bucket_of(event);
            if self.calendar.has(bucket) {
                self.calendar.insert(bucket, event);
            } else {
                self.push_outside(bucket, event);
            }
        }
        self.review = Review::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::Kind;

    const KINDS: [Kind; 7] = [
        Kind::Departure,
        Kind::Dequeue,
        Kind::Arrival,
        Kind::Timer,
        Kind::Batch,
        Kind::Application,
        Kind::Probe,
    ];

    fn next(queue: &mut EventQueue, until: Time) -> Option<Event> {
        if queue.needs_refill() {
            queue.refill(until);
        }
        queue.take(until)
    }

    fn event(at: u64, kind: usize, source: u32) -> Event {
        Event::new(Time::from_ps(at), KINDS[kind], source)
    }

    #[test]
    fn kinds_order_events_of_one_instant() {
        let mut queue = EventQueue::default();
        for kind in (0..7).rev() {
            queue.push(event(7, kind, 1));
            queue.push(event(7, kind, 0));
        }
        for kind in 0..7 {
            for source in 0..2 {
                assert_eq!(next(&mut queue, Time::NEVER), Some(event(7, kind, source)));
            }
        }
        assert_eq!(next(&mut queue, Time::NEVER), None);
    }

    #[test]
    fn an_event_beyond_the_horizon_stays() {
        let mut queue = EventQueue::default();
        queue.push(event(10, 1, 0));
        assert_eq!(next(&mut queue, Time::from_ps(9)), None);
        assert_eq!(next(&mut queue, Time::from_ps(10)), Some(event(10, 1, 0)));
        assert_eq!(queue.len(), 0);
    }

    #[derive(Debug, Clone, Copy)]
    enum Act {
        Push,
        Take,
        Remove,
    }

    /// Steps of a simulation: push at so much after the last event taken, take, or remove.
    fn steps() -> impl Strategy<Value = Vec<(Act, u64, usize, u32)>> {
        // Same instants, the same bucket, the same calendar, beyond the calendar.
        let ahead = prop_oneof![
            0..3_u64,
            0..1_000_000_u64,
            0..1_000_000_000_u64,
            0..1_u64 << 50
        ];
        let act = prop_oneof![
            4 => Just(Act::Push),
            3 => Just(Act::Take),
            1 => Just(Act::Remove),
        ];
        prop::collection::vec((act, ahead, 0..7_usize, 0..20_u32), 1..400)
    }

    #[test]
    fn a_crowd_at_one_instant_is_no_trouble() {
        // Every sender of a large incast starts at the same instant, in any order.
        let mut queue = EventQueue::default();
        let crowd = 200_000_u32;
        for step in 0..crowd {
            queue.push(event(5, 3, step.wrapping_mul(7_919) % crowd));
        }
        for source in 0..crowd {
            assert_eq!(next(&mut queue, Time::NEVER), Some(event(5, 3, source)));
        }
        assert_eq!(next(&mut queue, Time::NEVER), None);
    }

    /// Events that each enter another one, thousands of buckets long and at changing density, so that buckets change
    /// their width and number also while several of them are joined.
    #[test]
    fn reviews_change_nothing() {
        for kept_sorted in [0, 1, 24] {
            let mut queue = EventQueue::default();
            queue.keep_sorted(kept_sorted);
            let mut list = BinaryHeap::new();
            let mut random = 1_u64;
            let mut draw = |below: u64| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (random >> 33) % below
            };
            let mut now = 0;
            for step in 0..600_000_u64 {
                // Crowds of a thousand that come in a microsecond, and a few that come in a millisecond.
                let (fewest, width) = match step / 100_000 % 3 {
                    0 => (1_000, 1_000_000),
                    1 => (20, 1_000_000_000),
                    _ => (300, 30_000_000),
                };
                while list.len() < fewest {
                    let entered = event(now + draw(width), draw(7) as usize, draw(1_000) as u32);
                    queue.push(entered);
                    list.push(Reverse(entered));
                }
                let expected = list.pop().map(|Reverse(event)| event);
                assert_eq!(
                    next(&mut queue, Time::NEVER),
                    expected,
                    "step {step}, {kept_sorted} kept sorted"
                );
                now = expected.map_or(now, |event| event.at.as_ps());
            }
        }
    }

    proptest! {
        // Any mix of pushes, takes and removals gives what a sorted list gives, whatever the width of a bucket.
        #[test]
        fn agrees_with_a_sorted_list(
            steps in steps(),
            shapes in prop::collection::vec((0..29_u32, 12..17_u32), 8),
            kept_sorted in prop_oneof![Just(0), 1..40_usize],
        ) {
            let mut queue = EventQueue::default();
            queue.keep_sorted(kept_sorted);
            let mut list: Vec<Event> = Vec::new();
            let mut now = 0;
            for (count, (act, ahead, kind, source)) in steps.into_iter().enumerate() {
                match act {
                    Act::Push => {
                        let event = event(now + ahead, kind, source);
                        queue.push(event);
                        let place = list.partition_point(|other| *other <= event);
                        list.insert(place, event);
                    }
                    Act::Take => {
                        let until = Time::from_ps(now + ahead);
                        let due = list.first().is_some_and(|first| first.at <= until);
                        let expected = due.then(|| list.remove(0));
                        prop_assert_eq!(next(&mut queue, until), expected);
                        now = expected.map_or(now, |event| event.at.as_ps());
                    }
                    Act::Remove => {
                        let place = ahead as usize % list.len().max(1);
                        let alike = |event: &Event| list.iter().filter(|one| *one == event).count();
                        if list.get(place).is_some_and(|event| alike(event) == 1) {
                            queue.remove(list.remove(place));
                        }
                    }
                }
                if count % 50 == 49 {
                    let (shift, buckets) = shapes[count / 50];
                    queue.set_shape(shift, 1 << buckets);
                }
                prop_assert_eq!(queue.len(), list.len());
            }
        }
    }
}
