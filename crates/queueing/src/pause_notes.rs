//! Notes of pauses: what happens to pauses in the partitions of a network, for the recorder of the first of them.
//!
//! Causes, roots and deadlocks may be anywhere in the network. Each partition notes what happens at its nodes, in the
//! order of its events. The first one brings the notes of all into the order of one simulation: that of their events,
//! where an event that another of the same instant has entered counts as that one. Checks for deadlocks occur in every
//! partition at each multiple of the interval; the recorder leaves out those that one simulation would not make. Leaves
//! out: pause storms.

use std::collections::{BTreeMap, BTreeSet};

use incastle_units::{Span, Time};

use crate::{Holding, PauseRecorder, PausedQueue, fullest_queue};

/// A note, with the event that it belongs to.
#[derive(Debug)]
pub struct Noted<Q> {
    at: Time,
    /// The maximum rank of the events at that instant until then.
    rank: u64,
    note: PauseNote<Q>,
}

#[derive(Debug)]
enum PauseNote<Q> {
    /// A frame is sent that pauses a queue, because of another.
    Sent(Q, Option<Holding<Q>>),
    /// A queue is paused, or no longer.
    Followed(Q, bool),
    /// A check for deadlocks.
    Checked(CheckReport<Q>),
}

impl<Q> Default for CheckReport<Q> {
    fn default() -> Self {
        Self {
            paused: Vec::new(),
            accounts: Vec::new(),
        }
    }
}

/// What one partition has at a check for deadlocks.
#[derive(Debug)]
pub struct CheckReport<Q> {
    /// Its paused queues. The account behind one that leads into another partition is in the report of that one.
    pub paused: Vec<PausedQueue<Q>>,
    /// Accounts of its switches, each as of the queue elsewhere that may wait for it.
    pub accounts: Vec<PausedQueue<Q>>,
}

/// The notes of one partition; in the first one, those of all that are not yet recorded.
#[derive(Debug)]
pub struct PauseNotes<Q> {
    notes: Vec<Noted<Q>>,
    /// The present event: its instant, and the maximum rank at that instant so far.
    at: Time,
    rank: u64,
    /// The queues that are paused here.
    paused: BTreeSet<Q>,
    /// The interval of checks for deadlocks, if there are any.
    every: Option<Span>,
    /// The queues elsewhere whose links lead here.
    incoming: Vec<Q>,
    /// The number of partitions.
    partitions: usize,
    /// In the first one: everything before this instant is recorded.
    recorded: Time,
}

impl<Q: Copy + Ord> PauseNotes<Q> {
    /// No notes yet, of one of so many partitions. `every` is the interval of checks for deadlocks, if there are any;
    /// `incoming` are the queues elsewhere whose links lead here.
    pub fn new(every: Option<Span>, incoming: Vec<Q>, partitions: usize) -> Self {
        Self {
            notes: Vec::new(),
            at: Time::ZERO,
            rank: 0,
            paused: BTreeSet::new(),
            every,
            incoming,
            partitions,
            recorded: Time::ZERO,
        }
    }

    /// The interval of checks for deadlocks, if there are any.
    pub const fn every(&self) -> Option<Span> {
        self.every
    }

    /// The queues elsewhere whose links lead here.
    pub fn incoming(&self) -> &[Q] {
        &self.incoming
    }

    /// The notes that follow belong to an event at this instant, with its rank among the events there.
    #[inline]
    pub fn begin(&mut self, at: Time, rank: u64) {
        let before = if at == self.at { self.rank } else { 0 };
        self.rank = before.max(rank);
        self.at = at;
    }

    fn add(&mut self, note: PauseNote<Q>) {
        self.notes.push(Noted {
            at: self.at,
            rank: self.rank,
            note,
        });
    }

    /// A frame is sent that pauses a queue, because of an account whose packets these queues store.
    pub fn send(&mut self, queue: Q, holdings: &[Holding<Q>]) {
        self.add(PauseNote::Sent(queue, fullest_queue(holdings)));
    }

    /// A queue is paused, or not.
    pub fn follow(&mut self, queue: Q, paused: bool) {
        let changes = if paused {
            self.paused.insert(queue)
        } else {
            self.paused.remove(&queue)
        };
        if changes {
            self.add(PauseNote::Followed(queue, paused));
        }
    }

    /// A check for deadlocks.
    pub fn check(&mut self, report: CheckReport<Q>) {
        self.add(PauseNote::Checked(report));
    }

    /// Whether any queue is paused here.
    pub fn has_paused(&self) -> bool {
        !self.paused.is_empty()
    }

    /// Whether there are none to be recorded.
    pub fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// Passes on all notes.
    pub fn give(&mut self, to: &mut Vec<Noted<Q>>) {
        to.append(&mut self.notes);
    }

    /// In the first partition: takes notes of another one.
    pub fn receive(&mut self, notes: &mut Vec<Noted<Q>>) {
        self.notes.append(notes);
    }

    /// In the first partition: records what happened before an instant that all partitions have reached.
    pub fn record(&mut self, before: Time, recorder: &mut PauseRecorder<Q>) {
        // An event that occurs in all partitions is a check, or a failure, with which pauses only end: in any order.
        self.notes.sort_by_key(|noted| (noted.at, noted.rank));
        let first = self.notes.first().map(|noted| noted.at);
        assert!(
            first.is_none_or(|at| at >= self.recorded),
            "notes arrive before their instant is recorded"
        );
        self.recorded = before;
        let due = self.notes.partition_point(|noted| noted.at < before);
        let mut reports = Vec::new();
        for Noted { at, note, .. } in self.notes.drain(..due) {
            match note {
                PauseNote::Sent(queue, most) => recorder.send(queue, most.as_slice()),
                PauseNote::Followed(queue, paused) => {
                    recorder.follow(at, queue, paused);
                    recorder.next_check(at);
                }
                PauseNote::Checked(report) => {
                    reports.push(report);
                    if reports.len() == self.partitions {
                        check(at, std::mem::take(&mut reports), recorder);
                    }
                }
            }
        }
        assert!(reports.is_empty(), "a check occurs in all partitions");
    }
}

/// A check, with the reports of all partitions.
fn check<Q: Copy + Ord>(at: Time, reports: Vec<CheckReport<Q>>, recorder: &mut PauseRecorder<Q>) {
    if !recorder.is_due(at) {
        return;
    }
    let (mut paused, mut accounts) = (Vec::new(), BTreeMap::new());
    for report in reports {
        paused.extend(report.paused);
        accounts.extend(report.accounts.into_iter().map(|one| (one.queue, one)));
    }
    paused.sort_by_key(|one| one.queue);
    for one in &mut paused {
        if let Some(account) = accounts.remove(&one.queue) {
            one.resume_level = account.resume_level;
            one.waits_for = account.waits_for;
        }
    }
    recorder.check(at, &paused);
    recorder.next_check(at);
}
