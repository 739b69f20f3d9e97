//! The flows of a finished run: the engine's counters and the applications' notes of each.

use std::sync::Arc;

use incastle_engine::core::{FlowIndex, HostIndex, Node, Side};
use incastle_engine::flow::{EndpointCounters, FlowRecord};
use incastle_engine::network::Network;
use incastle_units::Time;

use incastle_scenario::Scenario;
use incastle_scenario::language::selection::Name;
use incastle_workload::{FlowNote, Notes, TransferKind, TransferNote};

/// The flows that were opened, in the order of the table. A run may have millions: their identity is
/// stored once.
pub(crate) struct Flows {
    notes: Vec<FlowNote>,
    /// By row: the arrival of the last byte of a finite flow.
    completed: Vec<Option<Time>>,
    /// By the engine's index.
    records: Vec<FlowRecord>,
    /// By the engine's index: the row.
    numbers: Vec<u32>,
    /// Names.
    groups: Vec<Arc<str>>,
    hosts: Vec<Arc<str>>,
}

/// The counters of repairs and reductions, of connections of any kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repair {
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
    pub(crate) ecn_reductions: u64,
}

impl Repair {
    pub(crate) fn of(end: &EndpointCounters) -> Self {
        match (&end.udt, &end.queue_pair) {
            (None, None) => Self {
                retransmissions: end.tcp.retransmissions,
                timeouts: end.tcp.timeouts,
                ecn_reductions: end.tcp.ecn_reductions,
            },
            (Some(udt), _) => Self {
                retransmissions: udt.stats.retransmissions,
                timeouts: udt.stats.timeouts,
                ecn_reductions: udt.stats.ecn_reductions,
            },
            (None, Some(pair)) => Self {
                retransmissions: pair.stats.retransmitted,
                timeouts: pair.stats.timeouts,
                // Its controls do not say which notification reduced the rate.
                ecn_reductions: 0,
            },
        }
    }
}

/// The record of a flow.
pub(crate) struct FlowRow<'a> {
    pub(crate) note: &'a FlowNote,
    pub(crate) record: &'a FlowRecord,
    pub(crate) group: &'a Arc<str>,
    hosts: &'a [Arc<str>],
    pub(crate) completed: Option<Time>,
}

impl FlowRow<'_> {
    pub(crate) fn sender(&self) -> &EndpointCounters {
        match self.note.sender {
            Side::Initiator => &self.record.initiator,
            Side::Responder => &self.record.responder,
        }
    }

    pub(crate) fn receiver(&self) -> &EndpointCounters {
        match self.note.sender {
            Side::Initiator => &self.record.responder,
            Side::Responder => &self.record.initiator,
        }
    }

    /// Packets that the sender has sent; for UDT and RDMA data packets, without ACK2 and CNPs.
    pub(crate) fn packets(&self) -> u64 {
        let sender = self.sender();
        let udt = sender.udt.as_ref().map(|udt| udt.stats.packets_sent);
        let pair = sender.queue_pair.as_ref().map(|pair| pair.stats.sent);
        udt.or(pair).unwrap_or(sender.packets_sent)
    }

    /// Whether any of its packets was dropped.
    pub(crate) fn has_lost(&self) -> bool {
        self.record.dropped > 0
    }

    pub(crate) fn repair(&self) -> Repair {
        Repair::of(self.sender())
    }

    /// The flow as `[measure]` names it.
    pub(crate) fn name(&self) -> Name {
        Name {
            role: self.group.to_string(),
            index: Some(self.note.index as u32),
        }
    }

    /// The host of one endpoint.
    pub(crate) fn host(&self, side: Side) -> Arc<str> {
        match side {
            Side::Initiator => self.host_name(self.record.from),
            Side::Responder => self.host_name(self.record.to),
        }
    }

    fn host_name(&self, host: HostIndex) -> Arc<str> {
        Arc::clone(&self.hosts[host.index()])
    }

    pub(crate) fn sender_name(&self) -> Arc<str> {
        self.host_name(self.sender_host())
    }

    pub(crate) fn receiver_name(&self) -> Arc<str> {
        self.host_name(self.receiver_host())
    }

    /// The host that sends the data.
    pub(crate) fn sender_host(&self) -> HostIndex {
        match self.note.sender {
            Side::Initiator => self.record.from,
            Side::Responder => self.record.to,
        }
    }

    /// The host that receives the data.
    pub(crate) fn receiver_host(&self) -> HostIndex {
        match self.note.sender {
            Side::Initiator => self.record.to,
            Side::Responder => self.record.from,
        }
    }

    /// Bits delivered until the completion, the stop or the end, over the time from the start to there.
    pub(crate) fn goodput(&self, now: Time) -> f64 {
        let delivered = self.receiver().delivered;
        let (end, bytes) = match (self.completed, self.record.stopped) {
            (Some(completed), _) => (completed, delivered),
            (None, Some(stopped)) => (stopped.at, stopped.delivered),
            (None, None) => (now, delivered),
        };
        assert!(
            bytes <= delivered,
            "what was delivered by the stop stays delivered"
        );
        assert!(end <= now, "a flow ends within the run");
        let span = end.saturating_since(self.note.started).as_secs_lossy();
        if span > 0.0 {
            bytes as f64 * 8.0 / span
        } else {
            f64::NAN
        }
    }
}

impl Flows {
    /// The flows of a run, from the engine's counters (`records`) and the applications' notes.
    pub(crate) fn new(
        scenario: &Scenario,
        network: &Network,
        records: Vec<FlowRecord>,
        notes: &mut Notes,
    ) -> Self {
        let transfers = &notes.transfers;
        let mut notes = std::mem::take(&mut notes.flows);
        notes.sort_by_key(|note| (note.group, note.index));
        let hosts = (0..network.host_count()).map(HostIndex::from_index);
        let mut numbers = vec![u32::MAX; records.len()];
        for (number, note) in notes.iter().enumerate() {
            let place = &mut numbers[note.flow.index()];
            assert_eq!(*place, u32::MAX, "a flow has one note");
            *place = number as u32;
        }
        assert_eq!(notes.len(), records.len(), "every flow has a note");
        let mut completed = vec![None; notes.len()];
        let whole = |transfer: &&TransferNote| transfer.kind == TransferKind::Flow;
        for transfer in transfers.iter().filter(whole) {
            let is_later = |at: Time| at >= transfer.started;
            assert!(
                transfer.completed.is_none_or(is_later),
                "an FCT is not negative"
            );
            completed[numbers[transfer.flow.index()] as usize] = transfer.completed;
        }
        Self {
            completed,
            records,
            numbers,
            groups: scenario
                .tables()
                .flows
                .iter()
                .map(|(name, _)| name.as_str().into())
                .collect(),
            hosts: hosts
                .map(|host| network.node_name(Node::Host(host)).into())
                .collect(),
            notes,
        }
    }

    /// The row of a flow.
    pub(crate) fn row(&self, flow: FlowIndex) -> FlowRow<'_> {
        let number = self.numbers[flow.index()] as usize;
        let note = &self.notes[number];
        FlowRow {
            note,
            record: &self.records[flow.index()],
            group: &self.groups[note.group],
            hosts: &self.hosts,
            completed: self.completed[number],
        }
    }

    /// The names of all groups.
    pub(crate) fn groups(&self) -> &[Arc<str>] {
        &self.groups
    }

    /// All rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = FlowRow<'_>> {
        self.notes.iter().map(|note| self.row(note.flow))
    }

    /// Their number.
    pub(crate) fn len(&self) -> usize {
        self.notes.len()
    }

    /// The counters of all their endpoints.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &EndpointCounters> {
        let records = self.records.iter();
        records.flat_map(|record| [&record.initiator, &record.responder])
    }

    /// The samples of chosen flows. Names are made once per flow, not per sample.
    pub(crate) fn chosen<'a, S>(
        &self,
        samples: &'a [S],
        flow: impl Fn(&S) -> FlowIndex,
        chosen: impl Fn(&Name) -> bool,
    ) -> Vec<&'a S> {
        let is_chosen: Vec<bool> = self.rows().map(|row| chosen(&row.name())).collect();
        let number = |sample: &S| self.numbers[flow(sample).index()] as usize;
        let rows = samples.iter().filter(|sample| is_chosen[number(sample)]);
        rows.collect()
    }

    /// The notes, row by row.
    pub(crate) fn notes(&self) -> &[FlowNote] {
        &self.notes
    }

    /// The row number of a flow.
    pub(crate) fn number(&self, flow: FlowIndex) -> u64 {
        u64::from(self.numbers[flow.index()])
    }
}
