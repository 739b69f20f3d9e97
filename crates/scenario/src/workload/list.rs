//! Finite flows at the instants, between the hosts and of the sizes of a list. Nothing is drawn.

use incastle_engine::{Actions, Application, HostIndex, Notice};
use incastle_units::{Bytes, Time};

use super::Crew;
use super::transfers::Transfers;
use crate::language::flows;

/// All flows of a group.
pub(super) struct List {
    transfers: Transfers,
    /// Those that have not begun, the next one last.
    waiting: Vec<Row>,
}

struct Row {
    start: Time,
    pair: (HostIndex, HostIndex),
    bytes: Bytes,
}

impl List {
    pub(super) fn new(crew: &Crew<'_>, list: &flows::List, pair: (usize, usize)) -> Self {
        let numbers = crew.scenario.layout().host_numbers();
        let begin = Time::ZERO.saturating_add(crew.group.start);
        let rows = list.transfers.list().iter().rev().map(|arrival| Row {
            start: begin.saturating_add(arrival.start),
            pair: (
                HostIndex::from_index(numbers[&arrival.source]),
                HostIndex::from_index(numbers[&arrival.destination]),
            ),
            bytes: arrival.bytes,
        });
        Self {
            transfers: Transfers::new(crew, pair, list.deadline),
            waiting: rows.collect(),
        }
    }
}

impl Application for List {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        self.transfers.handle(now, notice, actions);
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if let Some(Row { pair, bytes, .. }) = self.waiting.pop() {
            self.transfers.begin(now, pair, bytes, actions);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let next = self.waiting.last()?.start;
        (next < self.transfers.stop()).then_some(next)
    }
}
