//! The table `rounds`: what each request to several servers came to.

use std::collections::BTreeMap;
use std::sync::Arc;

use incastle_engine::{FlowIndex, HostIndex};
use incastle_units::Time;

use super::flows::{FlowRow, Flows};
use super::idle::Idle;
use super::timeouts::Timeouts;
use super::{group_names, real, seconds, table, text, whole};
use crate::output::{Column, Table};
use incastle_scenario::Scenario;
use incastle_scenario::language::flows::Workload;
use incastle_workload::{TransferKind, TransferNote};

/// The rounds of a run, by group, then by client, then in order of time.
pub(super) struct Rounds {
    rows: Vec<Round>,
    /// By group: whether all its flows make the same rounds, as in an all-reduce.
    together: Vec<bool>,
    /// By group and the client's host: the places of the client's rows. Of an incast the client is the
    /// receiver; who is together has none.
    clients: BTreeMap<(usize, Option<HostIndex>), (usize, usize)>,
}

/// One round of one client.
struct Round {
    group: usize,
    /// The client's number in its group.
    client: u64,
    /// From 0.
    number: u64,
    /// The first flow of the client.
    flow: FlowIndex,
    started: Time,
    completed: Option<Time>,
    deadline: Option<Time>,
    bytes: u64,
}

impl Rounds {
    /// The rounds among all transfers; absent where no group has any.
    pub(super) fn new(
        scenario: &Scenario,
        flows: &Flows,
        transfers: &[TransferNote],
    ) -> Option<Self> {
        let mut groups = scenario.tables().flows.iter();
        groups.find(|(_, group)| group.workload.has_rounds())?;
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
                flow: note.flow,
                started: note.started,
                completed: note.completed,
                deadline: deadline(scenario, note),
                bytes: note.bytes,
            });
        }
        let groups = scenario.tables().flows.iter();
        let together = groups.map(|(_, group)| matches!(group.workload, Workload::AllReduce(_)));
        let mut all = Self {
            rows: rounds,
            together: together.collect(),
            clients: BTreeMap::new(),
        };
        for place in 0..all.rows.len() {
            let client = all.client(&flows.row(all.rows[place].flow));
            let (_, end) = all.clients.entry(client).or_insert((place, place));
            *end = place + 1;
        }
        Some(all)
    }

    /// Whose rounds a flow belongs to.
    fn client(&self, flow: &FlowRow<'_>) -> (usize, Option<HostIndex>) {
        let group = flow.note.group;
        let host = (!self.together[group]).then(|| flow.receiver_host());
        (group, host)
    }

    /// The place of the round under way on a flow at an instant (of several the first, whose answers
    /// go before the others'), or the last one before.
    pub(super) fn at(&self, flow: &FlowRow<'_>, at: Time) -> Option<usize> {
        let &(first, end) = self.clients.get(&self.client(flow))?;
        let begun = self.rows[first..end].partition_point(|round| round.started <= at);
        let last = begun.checked_sub(1)?;
        let open = |round: &&Round| round.completed.is_none_or(|completed| completed > at);
        let begun = &self.rows[first..first + begun];
        let under_way = begun.iter().rev().take_while(open).count();
        Some(first + last - under_way.saturating_sub(1))
    }

    /// The number of the round at a place.
    pub(super) fn number(&self, place: usize) -> u64 {
        self.rows[place].number
    }

    pub(super) fn table(&self, scenario: &Scenario) -> Table {
        let (rows, groups) = (&self.rows, group_names(scenario));
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
                ("deadline_s", real(rows, |row| seconds(row.deadline))),
            ],
        )
    }

    /// Adds how many timeouts fell into each round.
    pub(super) fn add_timeouts(&self, table: &mut Table, timeouts: &Timeouts<'_>) {
        let counts = timeouts.by_round(self.rows.len());
        table
            .columns
            .push(("timeouts".to_owned(), Column::U64(counts)));
    }

    /// Adds how long the client's link was idle until each round was over, or the run at `now`; nothing
    /// where there is no client.
    pub(super) fn add_idle(&self, table: &mut Table, (flows, idle): (&Flows, &[Idle]), now: Time) {
        let idle_s = real(&self.rows, |round| {
            if self.together[round.group] {
                return f64::NAN;
            }
            let host = flows.row(round.flow).receiver_host();
            let end = round.completed.unwrap_or(now);
            idle[host.index()]
                .between(round.started, end)
                .as_secs_lossy()
        });
        table.columns.push(("idle_s".to_owned(), idle_s));
    }
}

/// When the last answer of a round is wanted.
fn deadline(scenario: &Scenario, note: &TransferNote) -> Option<Time> {
    let (_, group) = &scenario.tables().flows[note.group];
    Some(note.started.saturating_add(group.workload.deadline()?))
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
