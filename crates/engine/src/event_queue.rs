//! The event queue: a calendar of narrow buckets for what comes soon, a heap for what comes later.
//!
//! Source: Brown, "Calendar queues: a fast O(1) priority queue implementation for the simulation
//! event set problem", Communications of the ACM 31(10), 1988. Unlike Brown's, a bucket holds one
//! "day" only, and a bit map finds the next day that is not empty. Events beyond the calendar's
//! year, and those for which a day is too crowded, wait in a heap; the first event is the earlier of
//! both firsts. The width of a day follows the density of events; it and the heap decide about
//! speed alone, never about order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use incastle_units::Time;

use crate::event::Event;

/// Bits in a word of the map; as many words, so that one word sums up the map.
const WORD: u64 = 64;
/// Days in a year.
const DAYS: u64 = WORD * WORD;
/// No node.
const NONE: u32 = u32::MAX;
/// The width of a day at first: 2^17 ps = 131 ns.
const FIRST_SHIFT: u32 = 17;
/// Exceptions between two looks at whether the width suits.
const REVIEW: u64 = 4096;
/// The narrowest day is 2^10 ps = 1 ns wide, the widest 2^40 ps = 1 s.
const SHIFTS: std::ops::RangeInclusive<u32> = 10..=40;
/// The most nodes that are passed to find an event's place in its day; many events at one instant
/// would make longer lists whatever the width of a day.
const CROWD: u32 = 16;

/// An event of this year, in its day's list.
#[derive(Debug, Clone, Copy)]
struct Node {
    event: Event,
    next: u32,
}

/// The queue.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// By day: the first node of a sorted list.
    heads: Box<[u32; DAYS as usize]>,
    /// A bit for each day that is not empty, and one for each word of these.
    map: [u64; WORD as usize],
    words: u64,
    nodes: Vec<Node>,
    /// The first of a list of unused nodes.
    free: u32,
    /// Events in the calendar.
    near: usize,
    /// The others.
    far: BinaryHeap<Reverse<Event>>,
    /// The first of them, or [`Event::NEVER`].
    far_first: Event,
    /// A day is 2^shift picoseconds wide.
    shift: u32,
    /// Today, counted from time zero: the day of the event taken last. The year is the `DAYS` days
    /// from today on.
    today: u64,
    review: Review,
}

/// How the width of a day has done since the last review.
#[derive(Debug, Default)]
struct Review {
    pushes: u64,
    /// Nodes passed to find an event's place in its day, and events beyond the year.
    exceptions: u64,
    /// Of these, events that lay beyond the year.
    far: u64,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            heads: Box::new([NONE; DAYS as usize]),
            map: [0; WORD as usize],
            words: 0,
            nodes: Vec::new(),
            free: NONE,
            near: 0,
            far: BinaryHeap::new(),
            far_first: Event::NEVER,
            shift: FIRST_SHIFT,
            today: 0,
            review: Review::default(),
        }
    }
}

impl EventQueue {
    /// Adds an event, which must not lie before the one taken last.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        self.enter(event);
        self.review.pushes += 1;
        if self.review.exceptions >= REVIEW {
            self.review();
        }
    }

    #[inline]
    fn enter(&mut self, event: Event) {
        let day = event.at.as_ps() >> self.shift;
        if day.wrapping_sub(self.today) < DAYS {
            self.insert(day, event);
        } else {
            assert!(day > self.today, "an event is not entered into the past");
            self.review.exceptions += 1;
            self.review.far += 1;
            self.push_far(event);
        }
    }

    /// Takes the first event if it lies at or before `until`.
    #[inline(always)]
    pub(crate) fn take(&mut self, until: Time) -> Option<Event> {
        if self.near == 0 {
            return self.take_far(until);
        }
        let day = self.next_day();
        let slot = (day % DAYS) as usize;
        let place = self.heads[slot];
        let Node { event, next } = self.nodes[place as usize];
        if self.far_first.at <= event.at && self.far_is_before(event) {
            return self.take_far(until);
        }
        if event.at > until {
            return None;
        }
        self.nodes[place as usize].next = self.free;
        self.free = place;
        self.near -= 1;
        self.heads[slot] = next;
        if next == NONE {
            self.clear(slot);
        }
        self.today = day;
        Some(event)
    }

    /// Removes an event that will not happen; it must have been entered.
    #[cold]
    pub(crate) fn remove(&mut self, event: Event) {
        if self.remove_near(event) {
            return;
        }
        let held = self.far.len();
        self.far.retain(|other| other.0 != event);
        assert!(self.far.len() + 1 == held, "the event was entered, once");
        self.look_far();
    }

    /// Removes an event from the calendar, if it is there.
    fn remove_near(&mut self, event: Event) -> bool {
        let day = event.at.as_ps() >> self.shift;
        if day.wrapping_sub(self.today) >= DAYS {
            return false;
        }
        let slot = (day % DAYS) as usize;
        let (mut before, mut place) = (NONE, self.heads[slot]);
        while place != NONE && self.nodes[place as usize].event != event {
            (before, place) = (place, self.nodes[place as usize].next);
        }
        if place == NONE {
            return false;
        }
        let next = std::mem::replace(&mut self.nodes[place as usize].next, self.free);
        self.free = place;
        self.near -= 1;
        match before {
            NONE => self.heads[slot] = next,
            before => self.nodes[before as usize].next = next,
        }
        if self.heads[slot] == NONE {
            self.clear(slot);
        }
        true
    }

    /// Events held, outdated ones included.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.near + self.far.len()
    }

    /// The first day from today on that is not empty; there must be one.
    #[inline]
    fn next_day(&self) -> u64 {
        let slot = self.today % DAYS;
        let (word, bit) = (slot / WORD, slot % WORD);
        let rest = self.map[word as usize] >> bit;
        if rest != 0 {
            return self.today + u64::from(rest.trailing_zeros());
        }
        // The words after this one, round to this one again.
        let turned = self.words.rotate_right(word as u32 + 1);
        let ahead = word + 1 + u64::from(turned.trailing_zeros());
        let bit = self.map[(ahead % WORD) as usize].trailing_zeros();
        self.today - slot + ahead * WORD + u64::from(bit)
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
        self.today = event.at.as_ps() >> self.shift;
        Some(event)
    }

    #[cold]
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

    /// Adds an event of this year to its day.
    #[inline]
    fn insert(&mut self, day: u64, event: Event) {
        let slot = (day % DAYS) as usize;
        let first = self.heads[slot];
        if first == NONE {
            self.heads[slot] = self.node(event, NONE);
            self.map[slot / WORD as usize] |= 1 << (slot as u64 % WORD);
            self.words |= 1 << (slot as u64 / WORD);
        } else if event <= self.nodes[first as usize].event {
            self.heads[slot] = self.node(event, first);
        } else {
            self.insert_after(first, event);
        }
    }

    fn insert_after(&mut self, first: u32, event: Event) {
        let mut before = first;
        for _ in 0..CROWD {
            self.review.exceptions += 1;
            let next = self.nodes[before as usize].next;
            if next == NONE || event <= self.nodes[next as usize].event {
                self.nodes[before as usize].next = self.node(event, next);
                return;
            }
            before = next;
        }
        self.push_far(event);
    }

    #[inline]
    fn node(&mut self, event: Event, next: u32) -> u32 {
        self.near += 1;
        let node = Node { event, next };
        if self.free == NONE {
            self.nodes.push(node);
            return u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 events wait");
        }
        let place = self.free;
        self.free = self.nodes[place as usize].next;
        self.nodes[place as usize] = node;
        place
    }

    #[inline]
    fn clear(&mut self, slot: usize) {
        let word = slot / WORD as usize;
        self.map[word] &= !(1 << (slot as u64 % WORD));
        if self.map[word] == 0 {
            self.words &= !(1 << word);
        }
    }

    /// Halves the width of a day if days are crowded, doubles it if too much lies beyond the year.
    #[cold]
    fn review(&mut self) {
        let Review {
            pushes,
            exceptions,
            far,
        } = std::mem::take(&mut self.review);
        let passed = exceptions - far;
        let crowded = passed > pushes / 4;
        let short = far > pushes / 16 && passed < pushes / 16;
        let shift = if crowded {
            self.shift - 1
        } else {
            self.shift + u32::from(short)
        };
        if shift != self.shift && SHIFTS.contains(&shift) {
            self.set_shift(shift);
        }
    }

    fn set_shift(&mut self, shift: u32) {
        let begins = self.today << self.shift;
        let mut events: Vec<Event> = Vec::with_capacity(self.near);
        for &head in self.heads.iter() {
            let mut place = head;
            while place != NONE {
                events.push(self.nodes[place as usize].event);
                place = self.nodes[place as usize].next;
            }
        }
        let far = std::mem::take(&mut self.far);
        *self = Self {
            shift,
            today: begins >> shift,
            far,
            ..Self::default()
        };
        self.look_far();
        for event in events {
            self.enter(event);
        }
        self.review = Review::default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::Kind;

    const KINDS: [Kind; 7] = [
        Kind::Departure,
        Kind::Pull,
        Kind::Arrival,
        Kind::Timer,
        Kind::Batch,
        Kind::Application,
        Kind::Probe,
    ];

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
                assert_eq!(queue.take(Time::NEVER), Some(event(7, kind, source)));
            }
        }
        assert_eq!(queue.take(Time::NEVER), None);
    }

    #[test]
    fn an_event_beyond_the_horizon_stays() {
        let mut queue = EventQueue::default();
        queue.push(event(10, 1, 0));
        assert_eq!(queue.take(Time::from_ps(9)), None);
        assert_eq!(queue.take(Time::from_ps(10)), Some(event(10, 1, 0)));
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
        // Same instants, the same day, the same year, later years.
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
            assert_eq!(queue.take(Time::NEVER), Some(event(5, 3, source)));
        }
        assert_eq!(queue.take(Time::NEVER), None);
    }

    proptest! {
        // Any mix of pushes, takes and removals gives what a sorted list gives, whatever the width of a day.
        #[test]
        fn agrees_with_a_sorted_list(steps in steps(), shifts in prop::collection::vec(0..40_u32, 8)) {
            let mut queue = EventQueue::default();
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
                        prop_assert_eq!(queue.take(until), expected);
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
                    queue.set_shift(shifts[count / 50]);
                }
                prop_assert_eq!(queue.len(), list.len());
            }
        }
    }
}
