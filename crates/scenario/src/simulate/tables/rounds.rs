//! The table `rounds`: what each request with a barrier came to.

use std::sync::Arc;

use incastle_units::Time;

use super::{group_names, real, seconds, table, text, whole};
use crate::language::flows::Workload;
use crate::scenario::Scenario;
use crate::simulate::output::Table;
use crate::workload::{TransferKind, TransferNote};

/// The rounds of a run, by group, then by client, then in order of time.
pub(super) struct Rounds(Vec<Round>);

/// One round of one client.
pub(super) struct Round {
    pub(super) group: usize,
    /// The client's number in its group.
    pub(super) client: u64,
    /// From 0.
    pub(super) number: u64,
    pub(super) started: Time,
    pub(super) completed: Option<Time>,
    bytes: u64,
}

impl Rounds {
    /// The rounds among all transfers; absent where no group has any.
    pub(super) fn new(scenario: &Scenario, transfers: &[TransferNote]) -> Option<Self> {
        let groups = &scenario.tables().flows;
        let barrier = |(_, group): &&(String, _)| is_barrier(group);
        groups.iter().find(barrier)?;
        let mut notes: Vec<&TransferNote> = transfers
            .iter()
            .filter(|note| note.kind == TransferKind::Round)
            .collect();
        // Stable: the rounds of a client stay in order of time.
        notes.sort_by_key(|note| (note.group, note.index));
        let mut rounds: Vec<Round> = Vec::with_capacity(notes.len());
        for note in notes {
            let before = rounds.last();
            let before =
                before.filter(|last| (last.group, last.client) == (note.group, note.index));
            rounds.push(Round {
                group: note.group,
                client: note.index,
                number: before.map_or(0, |last| last.number + 1),
                started: note.started,
                completed: note.completed,
                bytes: note.bytes,
            });
        }
        Some(Self(rounds))
    }

    pub(super) fn table(&self, scenario: &Scenario) -> Table {
        let (rows, groups) = (&self.0, group_names(scenario));
        table(
            "rounds",
            vec![
                ("group", text(rows, |row| Arc::clone(&groups[row.group]))),
                ("index", whole(rows, |row| row.client)),
                ("round", whole(rows, |row| row.number)),
                ("started_s", real(rows, |row| row.started.as_secs_lossy())),
                ("completed_s", real(rows, |row| seconds(row.completed))),
                ("bytes", whole(rows, |row| row.bytes)),
                ("goodput_bit_s", real(rows, Round::goodput)),
            ],
        )
    }
}

fn is_barrier(group: &crate::language::flows::Group) -> bool {
    matches!(group.workload, Workload::Barrier(_))
}

impl Round {
    /// Bits of all answers over the time that they took.
    fn goodput(&self) -> f64 {
        let span = self
            .completed
            .map(|at| at.saturating_since(self.started).as_secs_lossy());
        span.filter(|span| *span > 0.0)
            .map_or(f64::NAN, |span| self.bytes as f64 * 8.0 / span)
    }
}
