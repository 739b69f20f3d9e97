//! A record of pauses: when each queue was paused, because of which congested queue, and from which root.
//!
//! The cause of a pause is decided when its frame is sent: the egress queue with most bytes of the account, on a tie the
//! first one. If that queue is paused at that time, the root of its pause is the root of the new one; else it is the root
//! itself. Leaves out: later changes of a pause's cause, which `congestion_tree` finds at any instant.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use incastle_units::{Bytes, Time};

use crate::Holding;

/// A pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseRecord<Q> {
    /// The queue that was paused.
    pub queue: Q,
    /// The beginning of its pause.
    pub begin: Time,
    /// The end; absent while it lasts.
    pub end: Option<Time>,
    /// The congested queue behind it.
    pub cause: Option<PauseCause<Q>>,
}

/// The cause of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseCause<Q> {
    /// The egress queue, of the switch that has paused, that stores most of its account.
    pub congested: Q,
    /// The root: that queue, or the root of its pause.
    pub root: Q,
    /// The number of pauses from the root to this one: 1 or more.
    pub depth: u32,
}

/// A pause that lasts.
#[derive(Debug, Clone, Copy)]
struct Open<Q> {
    /// Its place among the records; absent beyond their limit.
    place: Option<usize>,
    cause: Option<PauseCause<Q>>,
}

/// The record, of a limited number of pauses.
#[derive(Debug, Clone)]
pub struct PauseLog<Q> {
    limit: usize,
    records: Vec<PauseRecord<Q>>,
    /// Pauses beyond the limit.
    unrecorded: u64,
    open: BTreeMap<Q, Open<Q>>,
    /// The cause of the pause that a queue has, or that is on its way to it.
    causes: BTreeMap<Q, PauseCause<Q>>,
}

impl<Q: Copy + Ord> PauseLog<Q> {
    /// An empty record of at most `limit` pauses.
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            records: Vec::new(),
            unrecorded: 0,
            open: BTreeMap::new(),
            causes: BTreeMap::new(),
        }
    }

    /// A frame is sent that pauses a queue, because of an account whose packets these queues store.
    pub fn send(&mut self, queue: Q, holdings: &[Holding<Q>]) {
        let holdings = holdings.iter().filter(|one| one.bytes > Bytes::ZERO);
        let most = holdings.min_by_key(|one| (Reverse(one.bytes), one.queue));
        let Some(&Holding {
            queue: congested, ..
        }) = most
        else {
            self.causes.remove(&queue);
            return;
        };
        let below = self.open.get(&congested).and_then(|open| open.cause);
        let cause = PauseCause {
            congested,
            root: below.map_or(congested, |below| below.root),
            depth: below.map_or(1, |below| below.depth + 1),
        };
        self.causes.insert(queue, cause);
    }

    /// A queue is paused, or not; where that has changed, its pause begins or ends.
    pub fn follow(&mut self, now: Time, queue: Q, paused: bool) {
        if !paused {
            if let Some(Open { place, .. }) = self.open.remove(&queue)
                && let Some(place) = place
            {
                self.records[place].end = Some(now);
            }
            return;
        }
        if self.open.contains_key(&queue) {
            return;
        }
        let cause = self.causes.get(&queue).copied();
        let place = (self.records.len() < self.limit).then_some(self.records.len());
        self.open.insert(queue, Open { place, cause });
        if place.is_none() {
            self.unrecorded += 1;
            return;
        }
        self.records.push(PauseRecord {
            queue,
            begin: now,
            end: None,
            cause,
        });
    }

    /// The pauses, by their beginning.
    pub fn records(&self) -> &[PauseRecord<Q>] {
        &self.records
    }

    /// The number of pauses beyond the limit.
    pub const fn unrecorded(&self) -> u64 {
        self.unrecorded
    }

    /// Whether any queue is paused.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }
}
