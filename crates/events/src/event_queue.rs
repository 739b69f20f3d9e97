//! The event queue: a calendar queue for the near future, a heap for later events.
//!
//! Source: Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation event set problem",
//! Communications of the ACM 31(10), 1988. A bucket is sorted when it becomes current, as in Tang, Goh, Thng, "Ladder
//! queue: an O(1) priority queue structure for large-scale discrete event simulation", ACM TOMACS 15(3), 2005. In a
//! large network of equal links thousands of events share one instant: a bucket stores them unsorted, and one sort
//! orders them all. Events beyond the calendar are in the heap; the first event is the earlier of the two first ones.
//! Width and number of the buckets follow the density of events; they affect speed alone, never the order.

mod calendar;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incastle_units::{Span, Time};

use crate::Event;
use calendar::{Brief, Calendar, MAX_AFTER, MIN_BUCKETS, WIDEST_SHIFT};

/// The maximum number of buckets.
const MAX_BUCKETS: usize = 16 * MIN_BUCKETS;
/// The initial width of a bucket: 2^17 ps = 131 ns.
const FIRST_SHIFT: u32 = 17;
/// The narrowest bucket is 2^4 ps = 16 ps wide, the widest 2^28 ps = 0.27 ms.
const SHIFTS: std::ops::RangeInclusive<u32> = 4..=WIDEST_SHIFT;
/// Buckets, or events outside the calendar, between two reviews of its shape.
const REVIEW: u64 = 4096;
/// A bucket with more events than this is crowded, unless all are at one instant. A late event is inserted before at
/// most this many.
const CROWD: usize = 24;
/// With fewer events than this in a bucket, on average, buckets become wider.
const FEW: u64 = 12;

/// The queue.
#[derive(Debug)]
pub struct EventQueue {
    /// The events of the current buckets, in order; those before index `next` have been taken.
    current: Vec<Brief>,
    next: usize,
    begins: Time,
    /// The refill is due when `next` reaches this.
    refill_at: usize,
    /// At least this many events are kept in order, where that many exist.
    kept_sorted: usize,
    calendar: Calendar,
    /// The events beyond the calendar, and late ones of a crowded bucket.
    heap: BinaryHeap<Reverse<Event>>,
    /// The first of them, or [`Event::NEVER`].
    heap_first: Event,
    /// The maximum width: wider buckets had too many late events.
    widest: u32,
    review: Review,
}

/// The counters since the last review.
#[derive(Debug, Default)]
struct Review {
    buckets: u64,
    /// Their events.
    events: u64,
    /// Events of crowded buckets.
    crowded: u64,
    /// Events entered into the current buckets.
    late: u64,
    /// Events beyond the calendar.
    beyond: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            current: Vec::new(),
            next: 0,
            begins: Time::ZERO,
            refill_at: 0,
            kept_sorted: 0,
            calendar: Calendar::new(0, FIRST_SHIFT, MIN_BUCKETS),
            heap: BinaryHeap::new(),
            heap_first: Event::NEVER,
            widest: *SHIFTS.end(),
            review: Review::default(),
        }
    }
}

impl EventQueue {
    /// Adds an event, which must not be before the one taken last.
    #[inline(always)]
    pub fn push(&mut self, event: Event) {
        let bucket = self.calendar.bucket_of(event);
        if self.calendar.has(bucket) {
            self.calendar.insert(bucket, event);
        } else {
            self.push_outside_calendar(bucket, event);
        }
    }

    /// Keeps at least this many events in order at any time, where that many exist.
    pub fn keep_sorted(&mut self, events: usize) {
        self.kept_sorted = events;
        self.recount();
    }

    /// Whether too few events are left in the current buckets.
    #[inline(always)]
    pub fn needs_refill(&self) -> bool {
        self.next >= self.refill_at
    }

    /// Updates the refill after a change of the current buckets.
    fn recount(&mut self) {
        self.refill_at = self.current.len().saturating_sub(self.kept_sorted);
    }

    /// An instant before all events, no earlier than the bucket of the first one.
    pub fn next_at(&self) -> Time {
        let first = match self.current.get(self.next) {
            Some(first) => first.event(self.begins).at,
            None if self.calendar.has_pages() => {
                self.calendar.start_of(self.calendar.next_bucket())
            }
            None => Time::NEVER,
        };
        first.min(self.heap_first.at)
    }

    /// The events left in the current buckets, in order.
    pub fn current(&self) -> impl Iterator<Item = Event> {
        let left = self.current[self.next..].iter();
        left.map(|one| one.event(self.begins))
    }

    /// The event of the current buckets after `others` others.
    #[inline(always)]
    pub fn later(&self, others: usize) -> Option<Event> {
        let one = self.current.get(self.next + others)?;
        Some(one.event(self.begins))
    }

    /// Takes the first event if it is not after `until`. The queue must have been refilled.
    #[inline(always)]
    pub fn take(&mut self, until: Time) -> Option<Event> {
        let Some(first) = self.current.get(self.next) else {
            return self.take_from_heap(until);
        };
        let event = first.event(self.begins);
        if self.heap_first.at <= event.at && self.heap_is_before(event) {
            return self.take_from_heap(until);
        }
        if event.at > until {
            return None;
        }
        self.next += 1;
        Some(event)
    }

    /// Makes the next buckets current while too few events are left, unless they begin after `until` or the heap has an
    /// earlier event.
    #[inline(never)]
    pub fn refill(&mut self, until: Time) {
        while self.needs_refill() && self.calendar.has_pages() {
            let bucket = self.calendar.next_bucket();
            let later = self.calendar.start_of(bucket) > until;
            if later || self.calendar.bucket_of(self.heap_first) < bucket {
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
    fn take_from_heap(&mut self, until: Time) -> Option<Event> {
        let event = self.heap_first;
        if event.at > until || event == Event::NEVER {
            return None;
        }
        self.heap.pop();
        self.update_heap_first();
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

    /// Adds a bucket to the current ones, unless it is too far from their first event; returns whether it did.
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

    /// Appends a bucket's events in order to the `left` current ones, whose beginning is `ahead` picoseconds before the
    /// bucket's.
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
        self.refill_at = (left + count).saturating_sub(self.kept_sorted);
        self.review.buckets += 1;
        self.review.events += count as u64;
        if count > CROWD && new[0].after() < new[count - 1].after() {
            self.review.crowded += count as u64;
        }
        if self.review.buckets >= REVIEW {
            self.review();
        }
    }

    /// Removes an event, which must have been entered.
    #[cold]
    pub fn remove(&mut self, event: Event) {
        let place = self.current().position(|other| other == event);
        if let Some(place) = place {
            self.current.remove(self.next + place);
            self.recount();
        } else if !self.calendar.remove(event) {
            let held = self.heap.len();
            self.heap.retain(|other| other.0 != event);
            assert!(self.heap.len() + 1 == held, "the event was entered, once");
            self.update_heap_first();
        }
    }

    /// Events held, outdated ones included.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.current.len() - self.next + self.calendar.count() + self.heap.len()
    }

    /// Adds an event outside the calendar.
    #[inline(never)]
    fn push_outside_calendar(&mut self, bucket: u64, event: Event) {
        self.push_outside(bucket, event);
        if self.review.late + self.review.beyond >= REVIEW {
            self.review();
        }
    }

    /// Adds an event to the current buckets or to the heap.
    fn push_outside(&mut self, bucket: u64, event: Event) {
        if bucket >= self.calendar.first() {
            self.review.beyond += 1;
            self.push_on_heap(event);
            return;
        }
        self.review.late += 1;
        // Buckets may have become wider meanwhile: events too far from the current beginning go to the heap.
        let Some(late) = Brief::new(event, self.begins) else {
            return self.push_on_heap(event);
        };
        let left = &self.current[self.next..];
        let passed = left.iter().rev().take_while(|other| **other > late);
        let passed = passed.take(CROWD + 1).count();
        if passed > CROWD {
            self.push_on_heap(event);
        } else {
            self.current.insert(self.current.len() - passed, late);
            self.recount();
        }
    }

    fn push_on_heap(&mut self, event: Event) {
        self.heap.push(Reverse(event));
        self.heap_first = self.heap_first.min(event);
    }

    fn update_heap_first(&mut self) {
        self.heap_first = self
            .heap
            .peek()
            .map_or(Event::NEVER, |&Reverse(event)| event);
    }

    /// Whether the first event of the heap is before this one, whose instant is no earlier. Out of line: it is rare.
    #[cold]
    #[inline(never)]
    fn heap_is_before(&self, event: Event) -> bool {
        self.heap_first < event
    }

    /// Chooses narrower buckets where they are crowded or events late, and wider ones where they have few events. Too
    /// many events beyond the calendar make it longer.
    #[cold]
    fn review(&mut self) {
        let Review {
            buckets,
            events,
            crowded,
            late,
            beyond,
        } = std::mem::take(&mut self.review);
        let all = events + late + beyond;
        let short = beyond > all / 16;
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
        // Rounded up: the calendar must begin after the current buckets.
        let begins = self.calendar.first() << self.calendar.shift();
        let calendar = Calendar::new(begins.div_ceil(1 << shift), shift, buckets);
        let before = std::mem::replace(&mut self.calendar, calendar);
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
    use crate::Kind;

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

    #[derive(Debug, Clone, Copy)]
    struct Step {
        act: Act,
        /// Picoseconds after the last event taken, or a place among the events.
        ahead: u64,
        kind: usize,
        source: u32,
    }

    /// Steps of a simulation: push after the last event taken, take, or remove.
    fn steps() -> impl Strategy<Value = Vec<Step>> {
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
        let step = (act, ahead, 0..7_usize, 0..20_u32);
        let step = step.prop_map(|(act, ahead, kind, source)| Step {
            act,
            ahead,
            kind,
            source,
        });
        prop::collection::vec(step, 1..400)
    }

    #[test]
    fn a_crowd_at_one_instant_is_sorted() {
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

    /// Events that each enter another one, over thousands of buckets and at changing density. Buckets change their width
    /// and number also while several of them are current.
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
        // Any mix of pushes, takes and removals gives the results of a sorted list, for any width
        // of a bucket.
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
            for (count, step) in steps.into_iter().enumerate() {
                let Step { act, ahead, kind, source } = step;
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
