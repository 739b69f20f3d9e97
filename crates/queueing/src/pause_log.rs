//! A record of pauses: when each queue was paused, and because of which congested queue.
//!
//! The cause of a pause is decided when its frame is sent: the egress queue with most bytes of the account, on a tie the
//! first one. `pause_roots` follows causes to their roots. Leaves out: later changes of a pause's cause, which
//! `congestion_tree` finds at any instant.

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
    /// The cause, if it is known.
    pub cause: Option<PauseCause<Q>>,
}

/// The cause of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseCause<Q> {
    /// The egress queue, of the switch that has paused, that stores most of its account.
    Congested {
        /// The queue.
        queue: Q,
        /// Its own pause at that time, by its place in the record.
        paused: Option<usize>,
    },
    /// A NIC that pauses without a cause, by its egress queue.
    Nic(Q),
}

impl<Q: Copy> PauseCause<Q> {
    /// The queue in either case.
    pub const fn queue(&self) -> Q {
        match *self {
            Self::Congested { queue, .. } | Self::Nic(queue) => queue,
        }
    }
}

/// The queue that stores most of an account, if any stores some of it.
pub fn fullest_queue<Q: Copy + Ord>(holdings: &[Holding<Q>]) -> Option<Holding<Q>> {
    let holdings = holdings.iter().filter(|one| one.bytes > Bytes::ZERO);
    holdings
        .min_by_key(|one| (Reverse(one.bytes), one.queue))
        .copied()
}

/// The record, of a limited number of pauses.
#[derive(Debug, Clone)]
pub struct PauseLog<Q> {
    limit: usize,
    records: Vec<PauseRecord<Q>>,
    /// Pauses beyond the limit.
    unrecorded: u64,
    /// By paused queue: its place among the records; absent beyond their limit.
    open: BTreeMap<Q, Option<usize>>,
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
        let Some(most) = fullest_queue(holdings) else {
            self.causes.remove(&queue);
            return;
        };
        let cause = PauseCause::Congested {
            queue: most.queue,
            paused: self.open.get(&most.queue).copied().flatten(),
        };
        self.causes.insert(queue, cause);
    }

    /// A NIC sends a frame that pauses a queue, and nothing is the cause.
    pub fn send_without_cause(&mut self, queue: Q, nic: Q) {
        self.causes.insert(queue, PauseCause::Nic(nic));
    }

    /// A queue is paused, or not; where that has changed, its pause begins or ends.
    pub fn follow(&mut self, now: Time, queue: Q, paused: bool) {
        if !paused {
            if let Some(Some(place)) = self.open.remove(&queue) {
                self.records[place].end = Some(now);
            }
            return;
        }
        if self.open.contains_key(&queue) {
            return;
        }
        let place = (self.records.len() < self.limit).then_some(self.records.len());
        self.open.insert(queue, place);
        if place.is_none() {
            self.unrecorded += 1;
            return;
        }
        self.records.push(PauseRecord {
            queue,
            begin: now,
            end: None,
            cause: self.causes.get(&queue).copied(),
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
