//! The tables by flow: `flows`, `windows`, `throughput`.

use std::sync::Arc;

use incastle_engine::{
    EndCounters, FlowIndex, FlowRecord, HostIndex, Network, Node, Recorder, Side, WindowSample,
};
use incastle_units::{Bytes, Span, Time};

use super::{group_names, real, seconds, table, text, whole};
use crate::output::{Column, Table};
use incastle_scenario::Scenario;
use incastle_scenario::language::selection::Name;
use incastle_workload::{FlowNote, TransferKind, TransferNote};

/// The flows that were opened, in the order of the table. A run may have millions: what a flow is known
/// by is kept once, and looked up.
pub(super) struct Flows {
    notes: Vec<FlowNote>,
    /// By row: when the last byte of a finite flow arrived.
    completed: Vec<Option<Time>>,
    /// By the engine's index.
    records: Vec<FlowRecord>,
    /// By the engine's index: the row.
    numbers: Vec<u32>,
    /// Names.
    groups: Vec<Arc<str>>,
    hosts: Vec<Arc<str>>,
}

/// What connections of any kind count when they repair and slow down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repair {
    pub(super) retransmissions: u64,
    pub(super) timeouts: u64,
    pub(super) ecn_reductions: u64,
}

impl Repair {
    pub(super) fn of(end: &EndCounters) -> Self {
        match &end.udt {
            None => Self {
                retransmissions: end.tcp.retransmissions,
                timeouts: end.tcp.timeouts,
                ecn_reductions: end.tcp.ecn_reductions,
            },
            Some(udt) => Self {
                retransmissions: udt.stats.retransmissions,
                timeouts: udt.stats.timeouts,
                ecn_reductions: udt.stats.ecn_reductions,
            },
        }
    }
}

/// What is known of a flow.
pub(super) struct FlowRow<'a> {
    pub(super) note: &'a FlowNote,
    pub(super) record: &'a FlowRecord,
    pub(super) group: &'a Arc<str>,
    hosts: &'a [Arc<str>],
    completed: Option<Time>,
}

impl FlowRow<'_> {
    pub(super) fn sender(&self) -> &EndCounters {
        match self.note.sender {
            Side::Near => &self.record.near,
            Side::Far => &self.record.far,
        }
    }

    pub(super) fn receiver(&self) -> &EndCounters {
        match self.note.sender {
            Side::Near => &self.record.far,
            Side::Far => &self.record.near,
        }
    }

    /// Packets that the sender has sent; of UDT those with data, not its answers to ACKs.
    fn packets(&self) -> u64 {
        let sender = self.sender();
        let data = sender.udt.as_ref().map(|udt| udt.stats.packets_sent);
        data.unwrap_or(sender.packets_sent)
    }

    /// Whether packets of it were dropped.
    pub(super) fn has_lost(&self) -> bool {
        self.record.dropped > 0
    }

    fn repair(&self) -> Repair {
        Repair::of(self.sender())
    }

    /// The flow as `[measure]` names it.
    pub(super) fn name(&self) -> Name {
        Name {
            role: self.group.to_string(),
            index: Some(self.note.index as u32),
        }
    }

    /// The host at one end.
    pub(super) fn host(&self, side: Side) -> Arc<str> {
        match side {
            Side::Near => self.host_name(self.record.from),
            Side::Far => self.host_name(self.record.to),
        }
    }

    fn host_name(&self, host: HostIndex) -> Arc<str> {
        Arc::clone(&self.hosts[host.index()])
    }

    pub(super) fn sender_name(&self) -> Arc<str> {
        self.host_name(self.sender_host())
    }

    pub(super) fn receiver_name(&self) -> Arc<str> {
        self.host_name(self.receiver_host())
    }

    /// The host that sends the data.
    pub(super) fn sender_host(&self) -> HostIndex {
        match self.note.sender {
            Side::Near => self.record.from,
            Side::Far => self.record.to,
        }
    }

    /// The host that receives the data.
    pub(super) fn receiver_host(&self) -> HostIndex {
        match self.note.sender {
            Side::Near => self.record.to,
            Side::Far => self.record.from,
        }
    }

    /// Bits delivered until the completion, the stop or the end, over the time from the start to there.
    fn goodput(&self, now: Time) -> f64 {
        let delivered = self.receiver().delivered;
        let (end, bytes) = match (self.completed, self.record.stopped) {
            (Some(completed), _) => (completed, delivered),
            (None, Some(stopped)) => stopped,
            (None, None) => (now, delivered),
        };
        let span = end.saturating_since(self.note.started).as_secs_lossy();
        if span > 0.0 {
            bytes as f64 * 8.0 / span
        } else {
            f64::NAN
        }
    }
}

impl Flows {
    /// The flows of a run, from what the engine has counted (`records`) and what applications have
    /// noted.
    pub(super) fn new(
        scenario: &Scenario,
        network: &Network,
        records: Vec<FlowRecord>,
        (mut notes, transfers): (Vec<FlowNote>, &[TransferNote]),
    ) -> Self {
        notes.sort_by_key(|note| (note.group, note.index));
        let hosts = (0..network.host_count()).map(HostIndex::from_index);
        let mut numbers = vec![u32::MAX; records.len()];
        for (number, note) in notes.iter().enumerate() {
            numbers[note.flow.index()] = number as u32;
        }
        let mut completed = vec![None; notes.len()];
        let whole = |transfer: &&TransferNote| transfer.kind == TransferKind::Flow;
        for transfer in transfers.iter().filter(whole) {
            completed[numbers[transfer.flow.index()] as usize] = transfer.completed;
        }
        Self {
            completed,
            records,
            numbers,
            groups: group_names(scenario),
            hosts: hosts
                .map(|host| network.node_name(Node::Host(host)).into())
                .collect(),
            notes,
        }
    }

    /// The row of a flow.
    pub(super) fn row(&self, flow: FlowIndex) -> FlowRow<'_> {
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
    pub(super) fn groups(&self) -> &[Arc<str>] {
        &self.groups
    }

    /// All rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = FlowRow<'_>> {
        self.notes.iter().map(|note| self.row(note.flow))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.notes.len()
    }

    /// What all their ends have counted.
    pub(super) fn ends(&self) -> impl Iterator<Item = &EndCounters> {
        let records = self.records.iter();
        records.flat_map(|record| [&record.near, &record.far])
    }

    /// The samples of chosen flows. Names are made once per flow, not per sample.
    pub(super) fn chosen<'a, S>(
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

    pub(super) fn number(&self, flow: FlowIndex) -> u64 {
        u64::from(self.numbers[flow.index()])
    }

    pub(super) fn table(&self, now: Time) -> Table {
        let rows = &self.notes;
        let row = |note: &FlowNote| self.row(note.flow);
        table(
            "flows",
            vec![
                ("flow", whole(rows, |note| self.number(note.flow))),
                ("group", text(rows, |note| Arc::clone(row(note).group))),
                ("index", whole(rows, |note| note.index)),
                ("from", text(rows, |note| row(note).sender_name())),
                ("to", text(rows, |note| row(note).receiver_name())),
                ("started_s", real(rows, |note| note.started.as_secs_lossy())),
                (
                    "completed_s",
                    real(rows, |note| seconds(row(note).completed)),
                ),
                (
                    "sent_bytes",
                    whole(rows, |note| row(note).sender().payload_sent),
                ),
                (
                    "delivered_bytes",
                    whole(rows, |note| row(note).receiver().delivered),
                ),
                ("goodput_bit_s", real(rows, |note| row(note).goodput(now))),
                ("packets", whole(rows, |note| row(note).packets())),
                (
                    "retransmissions",
                    whole(rows, |note| row(note).repair().retransmissions),
                ),
                ("timeouts", whole(rows, |note| row(note).repair().timeouts)),
                (
                    "fast_retransmits",
                    whole(rows, |note| row(note).sender().tcp.fast_retransmits),
                ),
                ("marks", whole(rows, |note| row(note).record.marked)),
                ("drops", whole(rows, |note| row(note).record.dropped)),
                (
                    "ecn_reductions",
                    whole(rows, |note| row(note).repair().ecn_reductions),
                ),
                ("cnms", whole(rows, |note| row(note).record.cnms)),
                (
                    "send_buffer_drops",
                    whole(rows, |note| row(note).sender().refused.messages),
                ),
            ],
        )
    }

    pub(super) fn throughput(
        &self,
        recorder: &Recorder,
        every_s: f64,
        chosen: impl Fn(&Name) -> bool,
    ) -> Table {
        let (mut times, mut numbers, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for note in &self.notes {
            let Some(series) = recorder.flows.get(note.flow.index()) else {
                continue;
            };
            let row = self.row(note.flow);
            if !chosen(&row.name()) {
                continue;
            }
            for bin in series.bins() {
                times.push(bin.index as f64 * every_s);
                numbers.push(self.number(row.note.flow));
                bytes.push(bin.bytes.delivered);
            }
        }
        table(
            "throughput",
            vec![
                ("time_s", Column::F64(times)),
                ("flow", Column::U64(numbers)),
                ("bytes", Column::U64(bytes)),
            ],
        )
    }
}

/// The control state of watched flows.
pub(super) fn windows(recorder: &Recorder, flows: &Flows, chosen: impl Fn(&Name) -> bool) -> Table {
    let rows: Vec<&WindowSample> = flows.chosen(&recorder.windows, |row| row.flow, chosen);
    let rows = &rows;
    let bytes = |value: Option<Bytes>| value.map_or(f64::NAN, |bytes| bytes.count() as f64);
    table(
        "windows",
        vec![
            ("time_s", real(rows, |row| row.at.as_secs_lossy())),
            ("flow", whole(rows, |row| flows.number(row.flow))),
            ("cwnd_bytes", real(rows, |row| bytes(row.state.cwnd))),
            (
                "ssthresh_bytes",
                real(rows, |row| bytes(row.state.ssthresh)),
            ),
            (
                "alpha",
                real(rows, |row| row.state.alpha.unwrap_or(f64::NAN)),
            ),
            (
                "rtt_s",
                real(rows, |row| row.rtt.map_or(f64::NAN, Span::as_secs_lossy)),
            ),
        ],
    )
}
