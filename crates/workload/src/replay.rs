//! Given transfers, each a separate flow as of a `flow-list`. Each has a transport, and the arrival of the last
//! byte as the only note.

use std::sync::{Arc, Mutex};

use incastle_engine::core::Side;
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Span, Time};

use crate::hosts::HostPair;
use crate::plan::wanted;
use crate::stack::Stack;

/// A transfer.
pub struct Row {
    /// When it begins.
    pub at: Time,
    /// Its hosts.
    pub hosts: HostPair,
    /// Application bytes.
    pub bytes: u64,
    /// Its transport.
    pub stack: Arc<Stack>,
    /// Its deadline, relative to its start.
    pub deadline: Option<Span>,
}

/// The arrival of each row's last byte. Handles to it are cheap; a run is one thread, so that the
/// lock is never contended.
#[derive(Clone, Default)]
pub struct Arrivals(Arc<Mutex<Vec<Option<Time>>>>);

/// The application. It must be the only one of its simulation: the flow of row n is flow n.
pub struct Replay {
    rows: std::vec::IntoIter<Row>,
    arrivals: Arrivals,
}

impl Arrivals {
    /// Takes the arrivals so far, by row.
    pub fn take(&self) -> Vec<Option<Time>> {
        std::mem::take(&mut *self.0.lock().expect("no thread panics with the lock"))
    }

    fn note(&self, row: usize, at: Time) {
        self.0.lock().expect("no thread panics with the lock")[row] = Some(at);
    }
}

impl Replay {
    /// Rows in the order of their instants.
    pub fn new(rows: Vec<Row>) -> (Self, Arrivals) {
        let arrivals = Arrivals(Arc::new(Mutex::new(vec![None; rows.len()])));
        let replay = Self {
            rows: rows.into_iter(),
            arrivals: arrivals.clone(),
        };
        (replay, arrivals)
    }
}

impl Application for Replay {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        match notice {
            Notice::Delivered(end) => self.arrivals.note(end.flow().index(), now),
            Notice::Finished(end) if end.side() == Side::Initiator => actions.release(end.flow()),
            Notice::Drained(_) | Notice::Finished(_) | Notice::Reached(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        let Some(row) = self.rows.next() else { return };
        let flow = row.stack.open(row.hosts, false, actions);
        wanted(now, row.deadline, flow.endpoint(Side::Initiator), actions);
        actions.expect(flow.endpoint(Side::Responder), row.bytes);
        actions.write(flow.endpoint(Side::Initiator), row.bytes);
        if row.stack.has_handshake() {
            actions.close(flow.endpoint(Side::Initiator));
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.rows.as_slice().first().map(|row| row.at)
    }
}
