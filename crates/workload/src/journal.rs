//! The applications' notes for the result tables: their flows, and the transfers on them.

use std::sync::{Arc, Mutex, MutexGuard};

use incastle_engine::core::{FlowIndex, Side};
use incastle_units::{Span, Time};

/// The notes of all applications of a run. Handles to it are cheap; a run is one thread, so that the
/// lock is never contended.
#[derive(Clone, Default)]
pub struct Journal(Arc<Mutex<Notes>>);

/// All notes.
#[derive(Default)]
pub struct Notes {
    /// The flows that were opened, in that order.
    pub flows: Vec<FlowNote>,
    /// The transfers that began, in that order.
    pub transfers: Vec<TransferNote>,
    /// Whether single responses and steps are left out.
    without_responses: bool,
}

impl Notes {
    /// The notes of another partition of the same network: the same transfers, some of which are complete
    /// there.
    pub fn add(&mut self, other: &Self) {
        assert!(
            self.transfers.len() == other.transfers.len(),
            "all parts begin the same transfers"
        );
        for (note, other) in self.transfers.iter_mut().zip(&other.transfers) {
            note.completed = note.completed.or(other.completed);
        }
    }
}

/// A flow that has been opened.
#[derive(Debug, Clone, Copy)]
pub struct FlowNote {
    /// The flow.
    pub flow: FlowIndex,
    /// Its group's position in the scenario.
    pub group: usize,
    /// Its number within the group.
    pub index: u64,
    /// The endpoint that sends the data.
    pub sender: Side,
    /// When it was opened.
    pub started: Time,
}

/// The kind of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TransferKind {
    /// All data of a finite flow.
    Flow,
    /// One server's response.
    Response,
    /// All transfers of a round: responses to one request of a client, an incast, an all-reduce.
    Round,
    /// One message of an all-reduce.
    Step,
}

impl TransferKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Flow, Self::Response, Self::Round, Self::Step];

    /// Its name in result tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Response => "response",
            Self::Round => "round",
            Self::Step => "step",
        }
    }
}

/// A transfer that has begun.
#[derive(Debug, Clone, Copy)]
pub struct TransferNote {
    /// Its group's position in the scenario.
    pub group: usize,
    /// Its number within the group and kind.
    pub index: u64,
    /// Its kind.
    pub kind: TransferKind,
    /// The flow; for a round, its first one.
    pub flow: FlowIndex,
    /// When it began.
    pub started: Time,
    /// Its deadline.
    pub deadline: Option<Time>,
    /// When its last byte arrived, if it did.
    pub completed: Option<Time>,
    /// Application bytes.
    pub bytes: u64,
}

impl TransferNote {
    /// Its flow completion time, if it is complete.
    pub fn fct(&self) -> Option<Span> {
        self.completed.map(|at| at - self.started)
    }

    /// Whether its deadline was met; absent without one, and while it can still be met at `now`.
    pub fn met(&self, now: Time) -> Option<bool> {
        let deadline = self.deadline?;
        match self.completed {
            Some(at) => Some(at <= deadline),
            None => (now > deadline).then_some(false),
        }
    }
}

/// The place of a transfer in the journal, or beyond its end.
#[derive(Debug, Clone, Copy)]
pub struct Transfer(usize);

/// The place of a transfer that is left out.
const NOWHERE: Transfer = Transfer(usize::MAX);

impl Journal {
    /// A journal that stores rounds without their single responses and steps.
    pub fn without_responses() -> Self {
        let journal = Self::default();
        journal.notes().without_responses = true;
        journal
    }

    /// A flow has been opened.
    pub fn opened(&self, note: FlowNote) {
        self.notes().flows.push(note);
    }

    /// A transfer has begun.
    pub fn begun(&self, note: TransferNote) -> Transfer {
        let notes = &mut *self.notes();
        let single = matches!(note.kind, TransferKind::Response | TransferKind::Step);
        if notes.without_responses && single {
            return NOWHERE;
        }
        let transfers = &mut notes.transfers;
        transfers.push(note);
        Transfer(transfers.len() - 1)
    }

    /// A transfer is complete.
    pub fn completed(&self, transfer: Transfer, at: Time) {
        if let Some(note) = self.notes().transfers.get_mut(transfer.0) {
            note.completed = Some(at);
        }
    }

    /// Everything noted so far.
    pub fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().expect("no thread panics with the lock")
    }
}
