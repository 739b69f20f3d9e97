//! Notes of pauses: what the partitions of a network tell the recorder, which the first of them has.
//!
//! Causes, roots and deadlocks may be anywhere in the network. Each partition notes what happens at its nodes, in the
//! order of its events. The first one brings the notes of all into the order of one simulation: that of their events,
//! where an event that another of the same instant has entered counts as that one. Checks for deadlocks occur in every
//! partition at each multiple of the interval; the recorder leaves out those that one simulation would not make. Leaves
//! out: pause storms.

use std::collections::BTreeSet;

use incastle_queueing::{Holding, PauseRecorder, PausedQueue, fullest};
use incastle_units::{Span, Time};

use crate::core::{Event, PortIndex};
use crate::network::EgressQueue;

/// A note, with the event that it belongs to.
#[derive(Debug)]
pub(crate) struct Noted {
    at: Time,
    /// The maximum rank of the events at that instant until then.
    rank: u64,
    note: PauseNote,
}

#[derive(Debug)]
enum PauseNote {
    /// A frame is sent that pauses a queue, because of another.
    Sent(EgressQueue, Option<Holding<EgressQueue>>),
    /// A queue is paused, or no longer.
    Followed(EgressQueue, bool),
    /// A check for deadlocks.
    Checked(Paused),
}

/// What one partition knows at a check.
#[derive(Debug, Default)]
pub(crate) struct Paused {
    /// Its paused queues. Those that lead into another partition wait for what that one knows.
    pub(crate) here: Vec<PausedQueue<EgressQueue>>,
    /// Accounts of its switches that queues of other partitions may wait for, as those would be.
    pub(crate) elsewhere: Vec<PausedQueue<EgressQueue>>,
}

/// The notes of one partition; in the first one, those of all that are not yet recorded.
#[derive(Debug)]
pub(crate) struct PauseNotes {
    notes: Vec<Noted>,
    /// The present event: its instant, and the maximum rank at that instant so far.
    at: Time,
    rank: u64,
    /// The queues that are paused here.
    paused: BTreeSet<EgressQueue>,
    /// The interval of checks for deadlocks, if there are any.
    pub(crate) every: Option<Span>,
    /// The ports elsewhere whose links lead to switches here.
    pub(crate) incoming: Vec<PortIndex>,
}

impl PauseNotes {
    pub(crate) fn new(every: Option<Span>, incoming: Vec<PortIndex>) -> Self {
        Self {
            notes: Vec::new(),
            at: Time::ZERO,
            rank: 0,
            paused: BTreeSet::new(),
            every,
            incoming,
        }
    }

    /// The notes that follow belong to this event.
    #[inline]
    pub(crate) fn begin(&mut self, event: Event) {
        let entered_now = event.at == self.at;
        self.rank = if entered_now {
            self.rank.max(event.rank())
        } else {
            event.rank()
        };
        self.at = event.at;
    }

    fn add(&mut self, note: PauseNote) {
        self.notes.push(Noted {
            at: self.at,
            rank: self.rank,
            note,
        });
    }

    /// A frame is sent that pauses a queue, because of an account whose packets these queues store.
    pub(crate) fn send(&mut self, queue: EgressQueue, holdings: &[Holding<EgressQueue>]) {
        self.add(PauseNote::Sent(queue, fullest(holdings)));
    }

    /// A queue is paused, or not.
    pub(crate) fn follow(&mut self, queue: EgressQueue, paused: bool) {
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
    pub(crate) fn check(&mut self, paused: Paused) {
        self.add(PauseNote::Checked(paused));
    }

    /// Passes on all notes.
    pub(crate) fn give(&mut self, to: &mut Vec<Noted>) {
        to.append(&mut self.notes);
    }

    /// In the first partition: takes notes of another one.
    pub(crate) fn receive(&mut self, notes: &mut Vec<Noted>) {
        self.notes.append(notes);
    }

    /// In the first partition: records what happened before an instant that all partitions have reached.
    pub(crate) fn record(&mut self, before: Time, recorder: &mut PauseRecorder<EgressQueue>) {
        // Notes of one event are those of one partition, in their order; but a check occurs in all.
        self.notes.sort_by_key(|noted| (noted.at, noted.rank));
        let due = self.notes.partition_point(|noted| noted.at < before);
        let mut known = Paused::default();
        let mut due = self.notes.drain(..due).peekable();
        while let Some(Noted { at, note, .. }) = due.next() {
            match note {
                PauseNote::Sent(queue, most) => recorder.send(queue, most.as_slice()),
                PauseNote::Followed(queue, paused) => {
                    recorder.follow(at, queue, paused);
                    recorder.next_check(at);
                }
                PauseNote::Checked(part) => {
                    known.here.extend(part.here);
                    known.elsewhere.extend(part.elsewhere);
                    let follows =
                        |next: &Noted| next.at == at && matches!(next.note, PauseNote::Checked(_));
                    if !due.peek().is_some_and(follows) {
                        check(at, std::mem::take(&mut known), recorder);
                    }
                }
            }
        }
    }
}

/// A check, with what all partitions know.
fn check(at: Time, known: Paused, recorder: &mut PauseRecorder<EgressQueue>) {
    if !recorder.is_due(at) {
        return;
    }
    let Paused {
        mut here,
        mut elsewhere,
    } = known;
    here.sort_by_key(|one| one.queue);
    elsewhere.sort_by_key(|one| one.queue);
    for one in &mut here {
        if let Ok(place) = elsewhere.binary_search_by_key(&one.queue, |other| other.queue) {
            let account = &mut elsewhere[place];
            one.resume_level = account.resume_level;
            one.waits_for = std::mem::take(&mut account.waits_for);
        }
    }
    recorder.check(at, &here);
    recorder.next_check(at);
}
