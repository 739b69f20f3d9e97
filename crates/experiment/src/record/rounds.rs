//! The rounds of a finished run: the result of each request to several servers.

use std::collections::BTreeMap;

use incastle_engine::core::{FlowIndex, HostIndex};
use incastle_units::Time;

use super::flows::{FlowRow, Flows};
use incastle_scenario::Scenario;
use incastle_scenario::language::flows::Workload;
use incastle_workload::{TransferKind, TransferNote};

/// The rounds of a run, by group, then by client, then in order of time.
pub(crate) struct Rounds {
    rows: Vec<Round>,
    /// By group: whether all its flows share the same rounds, as in an all-reduce.
    together: Vec<bool>,
    /// By group and the client's host: the indices of the client's rows. The client of an incast is the
    /// receiver; flows that share rounds have none.
    clients: BTreeMap<(usize, Option<HostIndex>), (usize, usize)>,
}

/// One round of one client.
pub(crate) struct Round {
    pub(crate) group: usize,
    /// The client's number in its group.
    pub(crate) client: u64,
    /// From 0.
    pub(crate) number: u64,
    /// The first flow of the client.
    pub(crate) flow: FlowIndex,
    pub(crate) started: Time,
    pub(crate) completed: Option<Time>,
    pub(crate) deadline: Option<Time>,
    pub(crate) bytes: u64,
}

impl Rounds {
    /// The rounds among all transfers; absent where no group has any.
    pub(crate) fn new(
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
            assert!(
                before.is_none_or(|last| last.started <= note.started),
                "the rounds of a client are in order of time"
            );
            assert!(
                note.completed.is_none_or(|at| at >= note.started),
                "a round is not complete before it begins"
            );
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
            assert_eq!(*end, place, "the rounds of a client follow each other");
            *end = place + 1;
        }
        Some(all)
    }

    /// The client whose rounds a flow belongs to.
    fn client(&self, flow: &FlowRow<'_>) -> (usize, Option<HostIndex>) {
        let group = flow.note.group;
        let host = (!self.together[group]).then(|| flow.receiver_host());
        (group, host)
    }

    /// The rounds, row by row.
    pub(crate) fn rows(&self) -> &[Round] {
        &self.rows
    }

    /// The host that made the requests of a round; absent where all flows of the group make it together.
    pub(crate) fn client_host(&self, round: &Round, flows: &Flows) -> Option<HostIndex> {
        (!self.together[round.group]).then(|| flows.row(round.flow).receiver_host())
    }

    /// The index of the active round on a flow at an instant, or of the last one before. If there are several, it
    /// is the first, whose responses leave first.
    pub(crate) fn at(&self, flow: &FlowRow<'_>, at: Time) -> Option<usize> {
        let &(first, end) = self.clients.get(&self.client(flow))?;
        let begun = self.rows[first..end].partition_point(|round| round.started <= at);
        let last = begun.checked_sub(1)?;
        let open = |round: &&Round| round.completed.is_none_or(|completed| completed > at);
        let begun = &self.rows[first..first + begun];
        let under_way = begun.iter().rev().take_while(open).count();
        let place = first + last - under_way.saturating_sub(1);
        assert!(
            (first..end).contains(&place),
            "the round is one of the client's"
        );
        Some(place)
    }

    /// The number of the round at an index.
    pub(crate) fn number(&self, place: usize) -> u64 {
        self.rows[place].number
    }
}

/// The deadline of the last response of a round.
fn deadline(scenario: &Scenario, note: &TransferNote) -> Option<Time> {
    let (_, group) = &scenario.tables().flows[note.group];
    Some(note.started.saturating_add(group.workload.deadline()?))
}

impl Round {
    /// Bits of all responses over their time.
    pub(crate) fn goodput(&self) -> f64 {
        let span = self
            .completed
            .map(|at| at.saturating_since(self.started).as_secs_lossy());
        span.filter(|span| *span > 0.0)
            .map_or(f64::NAN, |span| self.bytes as f64 * 8.0 / span)
    }
}
