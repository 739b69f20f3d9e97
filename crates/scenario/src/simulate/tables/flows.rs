//! The tables by flow: `flows`, `transfers`, `windows`, `throughput`.

use std::sync::Arc;

use incastle_engine::{EndCounters, FlowIndex, FlowRecord, HostIndex, Node, Recorder, Side};
use incastle_units::{Bytes, Span, Time};

use super::{Record, group_names, real, seconds, table, text, whole};
use crate::language::selection::Name;
use crate::simulate::ideal::{Ideals, Wanted};
use crate::simulate::output::{Column, Table};
use crate::workload::{FlowNote, TransferKind, TransferNote};

/// The flows that were opened, in the order of the table.
pub(super) struct Flows {
    pub(super) rows: Vec<FlowRow>,
    /// By the engine's index: the row.
    numbers: Vec<usize>,
}

pub(super) struct FlowRow {
    pub(super) note: FlowNote,
    pub(super) record: FlowRecord,
    pub(super) group: Arc<str>,
    from: Arc<str>,
    to: Arc<str>,
    /// When the last byte of a finite flow arrived.
    completed: Option<Time>,
}

impl FlowRow {
    fn sender(&self) -> &EndCounters {
        match self.note.sender {
            Side::Near => &self.record.near,
            Side::Far => &self.record.far,
        }
    }

    fn receiver(&self) -> &EndCounters {
        match self.note.sender {
            Side::Near => &self.record.far,
            Side::Far => &self.record.near,
        }
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
        let is_sender = side == self.note.sender;
        Arc::clone(if is_sender { &self.from } else { &self.to })
    }

    /// The host that sends the data.
    fn sender_host(&self) -> HostIndex {
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

    /// Delivered bits over the time from the start to the completion, the stop or the end.
    fn goodput(&self, now: Time) -> f64 {
        let end = self.completed.unwrap_or(self.note.stop.min(now));
        let span = end.saturating_since(self.note.started).as_secs_lossy();
        if span > 0.0 {
            self.receiver().delivered as f64 * 8.0 / span
        } else {
            f64::NAN
        }
    }
}

impl Flows {
    pub(super) fn new(
        record: &Record<'_>,
        mut notes: Vec<FlowNote>,
        transfers: &[TransferNote],
    ) -> Self {
        notes.sort_by_key(|note| (note.group, note.index));
        let simulation = &record.simulation;
        let groups = group_names(record.scenario);
        let network = simulation.network();
        let names: Vec<Arc<str>> = (0..network.host_count())
            .map(|host| {
                network
                    .node_name(Node::Host(HostIndex::from_index(host)))
                    .into()
            })
            .collect();
        let name = |host: HostIndex| Arc::clone(&names[host.index()]);
        let mut numbers = vec![usize::MAX; simulation.flow_count()];
        let mut rows = Vec::with_capacity(notes.len());
        for note in notes {
            let books = simulation.flow(note.flow);
            let (near, far) = (name(books.from), name(books.to));
            let (from, to) = match note.sender {
                Side::Near => (near, far),
                Side::Far => (far, near),
            };
            numbers[note.flow.index()] = rows.len();
            rows.push(FlowRow {
                note,
                record: books,
                group: Arc::clone(&groups[note.group]),
                from,
                to,
                completed: None,
            });
        }
        let whole = |transfer: &&TransferNote| transfer.kind == TransferKind::Flow;
        for transfer in transfers.iter().filter(whole) {
            rows[numbers[transfer.flow.index()]].completed = transfer.completed;
        }
        Self { rows, numbers }
    }

    /// The row of a flow.
    pub(super) fn row(&self, flow: FlowIndex) -> &FlowRow {
        &self.rows[self.numbers[flow.index()]]
    }

    pub(super) fn number(&self, flow: FlowIndex) -> u64 {
        self.numbers[flow.index()] as u64
    }

    pub(super) fn table(&self, now: Time) -> Table {
        let rows = &self.rows;
        table(
            "flows",
            vec![
                ("flow", whole(rows, |row| self.number(row.note.flow))),
                ("group", text(rows, |row| Arc::clone(&row.group))),
                ("index", whole(rows, |row| row.note.index)),
                ("from", text(rows, |row| Arc::clone(&row.from))),
                ("to", text(rows, |row| Arc::clone(&row.to))),
                (
                    "started_s",
                    real(rows, |row| row.note.started.as_secs_lossy()),
                ),
                ("completed_s", real(rows, |row| seconds(row.completed))),
                ("sent_bytes", whole(rows, |row| row.sender().payload_sent)),
                (
                    "delivered_bytes",
                    whole(rows, |row| row.receiver().delivered),
                ),
                ("goodput_bit_s", real(rows, |row| row.goodput(now))),
                ("packets", whole(rows, |row| row.sender().packets_sent)),
                (
                    "retransmissions",
                    whole(rows, |row| row.sender().tcp.retransmissions),
                ),
                ("timeouts", whole(rows, |row| row.sender().tcp.timeouts)),
                (
                    "fast_retransmits",
                    whole(rows, |row| row.sender().tcp.fast_retransmits),
                ),
                ("marks", whole(rows, |row| row.record.marked)),
                ("drops", whole(rows, |row| row.record.dropped)),
                (
                    "ecn_reductions",
                    whole(rows, |row| row.sender().tcp.ecn_reductions),
                ),
                ("cnms", whole(rows, |row| row.record.cnms)),
                ("refused", whole(rows, |row| row.sender().refused.messages)),
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
        for row in &self.rows {
            let Some(series) = recorder.flows.get(row.note.flow.index()) else {
                continue;
            };
            if !chosen(&row.name()) {
                continue;
            }
            for (bin, delivered) in series.bins().iter().enumerate() {
                times.push(bin as f64 * every_s);
                numbers.push(self.number(row.note.flow));
                bytes.push(delivered.delivered);
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

/// The table of transfers.
pub(super) fn transfers(record: &Record<'_>, flows: &Flows, rows: &[TransferNote]) -> Table {
    let groups = group_names(record.scenario);
    let kinds = TransferKind::ALL.map(|kind| Arc::<str>::from(kind.word()));
    let mut table = table(
        "transfers",
        vec![
            ("group", text(rows, |row| Arc::clone(&groups[row.group]))),
            ("index", whole(rows, |row| row.index)),
            (
                "kind",
                text(rows, |row| Arc::clone(&kinds[row.kind as usize])),
            ),
            ("flow", whole(rows, |row| flows.number(row.flow))),
            ("started_s", real(rows, |row| row.started.as_secs_lossy())),
            ("completed_s", real(rows, |row| seconds(row.completed))),
            ("bytes", whole(rows, |row| row.bytes)),
            ("deadline_s", real(rows, |row| seconds(row.deadline))),
        ],
    );
    if record.scenario.tables().measure.slowdown {
        table.columns.extend(slowdowns(record, flows, rows));
    }
    table
}

/// Rows between two looks at the overseer.
const SLICE: usize = 64;

/// The columns `ideal_s` and `slowdown`, of transfers that are complete.
fn slowdowns(record: &Record<'_>, flows: &Flows, rows: &[TransferNote]) -> [(String, Column); 2] {
    let now = record.simulation.now();
    let mut ideals = Ideals::new(record.scenario);
    let (mut ideal, mut slowdown) = (Vec::new(), Vec::new());
    let mut goes_on = !record.interrupted;
    for (number, row) in rows.iter().enumerate() {
        if number % SLICE == 0 {
            goes_on = goes_on && record.overseer.goes_on(now);
        }
        let flow = flows.row(row.flow);
        let took = row.completed.map(|at| (at - row.started).as_secs_lossy());
        let time = took.filter(|_| goes_on).and_then(|_| {
            ideals.time(&Wanted {
                group: row.group,
                kind: row.kind,
                hosts: (flow.sender_host().index(), flow.receiver_host().index()),
                bytes: row.bytes,
            })
        });
        let time = time.map_or(f64::NAN, Span::as_secs_lossy);
        ideal.push(time);
        slowdown.push(took.map_or(f64::NAN, |took| took / time));
    }
    [
        ("ideal_s".to_owned(), Column::F64(ideal)),
        ("slowdown".to_owned(), Column::F64(slowdown)),
    ]
}

/// The control state of watched flows.
pub(super) fn windows(recorder: &Recorder, flows: &Flows) -> Table {
    let rows = &recorder.windows;
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
