//! The calendar: a ring of buckets, each a list of pages, and a bit map of the buckets with pages.
//!
//! A bucket returns its events in the order in which they were entered, which is nearly that of their instants. Each
//! event takes eight bytes: of its instant only the difference from the beginning of the bucket is stored.

use incastle_units::Time;

use crate::Event;

/// Bits in a word of the map; one word of `sums` covers as many words.
const WORD: u64 = 64;
/// The minimum number of buckets: one word of `sums`.
pub(super) const MIN_BUCKETS: usize = (WORD * WORD) as usize;
/// No page.
const NONE: u32 = u32::MAX;
/// Events on a page: two cache lines with them.
const ROOM: usize = 15;
/// Bits of a [`Brief`] for the instant: 2^29 ps.
const AFTER_BITS: u32 = u64::BITS - Event::RANK_BITS;
/// The width of the widest bucket: events of the next one still fit into a [`Brief`].
pub(super) const WIDEST_SHIFT: u32 = AFTER_BITS - 1;
/// A bucket that begins at most this many picoseconds after an instant has events that fit into a [`Brief`] of that
/// instant.
pub(super) const MAX_AFTER: u64 = 1 << WIDEST_SHIFT;

/// An event of a known bucket: the picoseconds after the bucket's beginning, above the event's rank. The order is that of
/// events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Brief(u64);

impl Brief {
    /// An event relative to a beginning; nothing if it is too far.
    pub(super) fn new(event: Event, begins: Time) -> Option<Self> {
        let after = event.at.as_ps().checked_sub(begins.as_ps())?;
        (after >> AFTER_BITS == 0).then_some(Self(after << Event::RANK_BITS | event.rank()))
    }

    #[inline(always)]
    pub(super) fn event(self, begins: Time) -> Event {
        let at = Time::from_ps(begins.as_ps() + self.after());
        Event::of(at, self.0 & ((1 << Event::RANK_BITS) - 1))
    }

    /// The same event, relative to a beginning that many picoseconds later.
    #[inline(always)]
    pub(super) const fn earlier(self, passed: u64) -> Self {
        Self(self.0 - (passed << Event::RANK_BITS))
    }

    /// The same event, relative to a beginning that many picoseconds earlier.
    #[inline(always)]
    pub(super) const fn later(self, passed: u64) -> Self {
        Self(self.0 + (passed << Event::RANK_BITS))
    }

    /// Picoseconds after the beginning.
    #[inline(always)]
    pub(super) const fn after(self) -> u64 {
        self.0 >> Event::RANK_BITS
    }
}

/// Events of one bucket, in any order.
#[derive(Debug, Clone, Copy)]
#[repr(align(128))]
struct Page {
    events: [Brief; ROOM],
    count: u32,
    /// The next page of the same bucket, or of the list of unused pages; after a bucket's last page comes its
    /// first.
    next: u32,
}

impl Page {
    fn events(&self) -> &[Brief] {
        &self.events[..self.count as usize]
    }
}

/// The calendar.
#[derive(Debug)]
pub(super) struct Calendar {
    /// The first bucket of the calendar, counted from time zero.
    first: u64,
    /// A bucket is 2^shift picoseconds wide.
    shift: u32,
    /// By bucket, modulo their number, which is a power of two: the last page.
    buckets: Vec<u32>,
    /// A bit for each bucket that has a page, and one for each word of these.
    map: Vec<u64>,
    sums: Vec<u64>,
    pages: Vec<Page>,
    /// The first of the unused pages.
    unused: u32,
    /// Buckets that have a page.
    marked: usize,
}

impl Calendar {
    /// An empty calendar that begins with the bucket `first`.
    pub(super) fn new(first: u64, shift: u32, buckets: usize) -> Self {
        assert!(
            buckets.is_power_of_two() && buckets >= MIN_BUCKETS,
            "the words of `sums` are full"
        );
        let words = buckets / WORD as usize;
        Self {
            first,
            shift,
            buckets: vec![NONE; buckets],
            map: vec![0; words],
            sums: vec![0; words / WORD as usize],
            pages: Vec::new(),
            unused: NONE,
            marked: 0,
        }
    }

    pub(super) const fn shift(&self) -> u32 {
        self.shift
    }

    pub(super) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// The first bucket of the calendar.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// Whether any bucket has a page.
    pub(super) const fn has_pages(&self) -> bool {
        self.marked > 0
    }

    /// Events held.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.events().count()
    }

    #[inline(always)]
    pub(super) const fn bucket_of(&self, event: Event) -> u64 {
        event.at.as_ps() >> self.shift
    }

    /// When a bucket begins.
    #[inline(always)]
    pub(super) const fn start_of(&self, bucket: u64) -> Time {
        Time::from_ps(bucket << self.shift)
    }

    #[inline(always)]
    const fn brief(&self, event: Event) -> Brief {
        let after = event.at.as_ps() & ((1 << self.shift) - 1);
        Brief(after << Event::RANK_BITS | event.rank())
    }

    /// Whether a bucket belongs to the calendar.
    #[inline(always)]
    pub(super) fn has(&self, bucket: u64) -> bool {
        bucket.wrapping_sub(self.first) < self.buckets.len() as u64
    }

    /// The calendar begins at a later bucket; none before it has events.
    pub(super) fn begin_at(&mut self, bucket: u64) {
        self.first = self.first.max(bucket);
    }

    #[inline(always)]
    fn slot(&self, bucket: u64) -> usize {
        bucket as usize & (self.buckets.len() - 1)
    }

    /// Adds an event to its bucket, which must be of the calendar.
    #[inline(always)]
    pub(super) fn insert(&mut self, bucket: u64, event: Event) {
        let (slot, brief) = (self.slot(bucket), self.brief(event));
        // No page is outside of the array, no event beyond its page.
        if let Some(page) = self.pages.get_mut(self.buckets[slot] as usize)
            && let Some(place) = page.events.get_mut(page.count as usize)
        {
            *place = brief;
            page.count += 1;
        } else {
            self.add_page(slot, brief);
        }
    }

    #[inline(never)]
    fn add_page(&mut self, slot: usize, event: Brief) {
        if self.unused == NONE {
            self.unused = u32::try_from(self.pages.len()).expect("fewer than 2^32 events wait");
            self.pages.push(Page {
                events: [Brief(u64::MAX); ROOM],
                count: 0,
                next: NONE,
            });
        }
        let place = self.unused;
        self.unused = self.pages[place as usize].next;
        let last = std::mem::replace(&mut self.buckets[slot], place);
        let first = if let Some(last) = self.pages.get_mut(last as usize) {
            std::mem::replace(&mut last.next, place)
        } else {
            self.mark(slot);
            place
        };
        let page = &mut self.pages[place as usize];
        page.events[0] = event;
        page.count = 1;
        page.next = first;
    }

    /// Moves the events of a bucket, which has pages, in the order in which they were entered; the calendar begins after
    /// it.
    #[inline(always)]
    pub(super) fn take_bucket(&mut self, bucket: u64, into: &mut Vec<Brief>) {
        let slot = self.slot(bucket);
        let last = std::mem::replace(&mut self.buckets[slot], NONE);
        self.unmark(slot);
        self.first = bucket + 1;
        let end = &mut self.pages[last as usize];
        let first = std::mem::replace(&mut end.next, self.unused);
        self.unused = first;
        let mut place = first;
        loop {
            let page = &self.pages[place as usize];
            // The whole page: a fixed number needs no call.
            let end = into.len() + page.count as usize;
            into.extend_from_slice(&page.events);
            into.truncate(end);
            if place == last {
                return;
            }
            place = page.next;
        }
    }

    /// Removes an event, if it is there. A page may become empty.
    pub(super) fn remove(&mut self, event: Event) -> bool {
        let bucket = self.bucket_of(event);
        if !self.has(bucket) {
            return false;
        }
        let brief = self.brief(event);
        let last = self.buckets[self.slot(bucket)];
        let mut place = last;
        while let Some(page) = self.pages.get_mut(place as usize) {
            if let Some(found) = page.events().iter().position(|other| *other == brief) {
                page.count -= 1;
                page.events[found] = page.events[page.count as usize];
                return true;
            }
            place = if page.next == last { NONE } else { page.next };
        }
        false
    }

    /// All events, in any order.
    pub(super) fn events(&self) -> impl Iterator<Item = Event> {
        let buckets = (0..self.buckets.len() as u64).map(|ahead| self.first + ahead);
        buckets.flat_map(|bucket| {
            let begins = self.start_of(bucket);
            let pages = self.pages_of(bucket);
            pages.flat_map(move |page| page.events().iter().map(move |one| one.event(begins)))
        })
    }

    fn pages_of(&self, bucket: u64) -> impl Iterator<Item = &Page> {
        let page = |place: u32| self.pages.get(place as usize);
        let last = self.buckets[self.slot(bucket)];
        let after = move |of: &&Page| if of.next == last { None } else { page(of.next) };
        std::iter::successors(page(last), after)
    }

    /// The first bucket of the calendar that has a page; there must be one.
    #[inline(always)]
    pub(super) fn next_bucket(&self) -> u64 {
        let slot = self.slot(self.first) as u64;
        let (word, bit) = (slot / WORD, slot % WORD);
        let rest = self.map[word as usize] >> bit;
        if rest != 0 {
            return self.first + u64::from(rest.trailing_zeros());
        }
        let ahead = self.next_word(word + 1);
        let bit = self.map[ahead as usize & (self.map.len() - 1)].trailing_zeros();
        self.first - slot + ahead * WORD + u64::from(bit)
    }

    /// The first word from `from` on that is not zero; the count continues beyond the last one.
    fn next_word(&self, from: u64) -> u64 {
        let (mut sum, bit) = (from / WORD, from % WORD);
        let sums = |sum: u64| self.sums[sum as usize & (self.sums.len() - 1)];
        let mut rest = sums(sum) >> bit << bit;
        while rest == 0 {
            sum += 1;
            rest = sums(sum);
        }
        sum * WORD + u64::from(rest.trailing_zeros())
    }

    #[inline(always)]
    fn mark(&mut self, slot: usize) {
        self.marked += 1;
        let word = slot / WORD as usize;
        self.map[word] |= 1 << (slot as u64 % WORD);
        self.sums[word / WORD as usize] |= 1 << (word as u64 % WORD);
    }

    #[inline(always)]
    fn unmark(&mut self, slot: usize) {
        self.marked -= 1;
        let word = slot / WORD as usize;
        self.map[word] &= !(1 << (slot as u64 % WORD));
        if self.map[word] == 0 {
            self.sums[word / WORD as usize] &= !(1 << (word as u64 % WORD));
        }
    }
}
