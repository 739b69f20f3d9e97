//! Result tables from a finished simulation: names and columns as docs/scenario-language.md has them.
//!
//! Flows are numbered by group, in the order of the scenario, then by their index in the group.

use std::sync::Arc;

use incastle_engine::{
    EndCounters, FlowIndex, FlowRecord, HostIndex, Node, PortIndex, Recorder, Side, Simulation,
};
use incastle_units::{Bytes, Span, Time};

use crate::language::flows::Stop;
use crate::language::measure::{Measure, Sampling};
use crate::language::selection::Name;
use crate::scenario::Scenario;
use crate::simulate::output::{Column, Output, Table, Totals};
use crate::workload::{FlowNote, Journal, TransferKind, TransferNote};

/// The measured interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interval {
    pub(crate) from: Time,
    pub(crate) to: Time,
}

impl Interval {
    pub(crate) fn of(measure: &Measure, end: Time) -> Self {
        Self {
            from: Time::ZERO + measure.from,
            to: match measure.to {
                Stop::End => end,
                Stop::At(to) => Time::ZERO + to,
            },
        }
    }
}

/// All that is known of a run.
pub(crate) struct Record<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) simulation: Simulation<Recorder>,
    pub(crate) journal: Journal,
    pub(crate) interval: Interval,
    /// Bytes that each port had accepted at the beginning and the end of the interval.
    pub(crate) accepted: [Vec<Bytes>; 2],
    pub(crate) interrupted: bool,
}

/// Makes totals and tables.
pub(crate) fn output(record: Record<'_>) -> Output {
    let digest = format!("{:016x}", record.simulation.digest());
    let notes = std::mem::take(&mut *record.journal.notes());
    let flows = Flows::new(&record, notes.flows, &notes.transfers);
    let now = record.simulation.now();
    let totals = totals(&record, &flows, &notes.transfers);
    let mut tables = vec![
        totals.table(),
        flows.table(now),
        transfers(&record, &flows, &notes.transfers),
    ];
    let Record {
        scenario,
        simulation,
        interval,
        accepted,
        interrupted,
        ..
    } = record;
    let (network, recorder) = simulation.finish();
    let ports = Ports {
        network: &network,
        recorder: &recorder,
        interval: Interval {
            from: interval.from.min(now),
            to: interval.to.min(now),
        },
    };
    tables.extend([ports.histograms(), ports.links(&accepted)]);
    tables.push(goodput(&ports));
    let measure = &scenario.tables().measure;
    if matches!(measure.queue, Sampling::On(_)) {
        tables.push(ports.samples());
    }
    if matches!(measure.window, Sampling::On(_)) {
        tables.push(windows(&recorder, &flows));
    }
    if let Sampling::On(throughput) = &measure.throughput {
        let chosen = |name: &Name| throughput.flows.contains(name);
        tables.push(flows.throughput(&recorder, throughput.every.as_secs_lossy(), chosen));
    }
    Output {
        digest,
        interrupted,
        totals,
        wall_s: 0.0,
        tables,
    }
}

fn seconds(at: Option<Time>) -> f64 {
    at.map_or(f64::NAN, Time::as_secs_lossy)
}

fn table(name: &str, columns: Vec<(&str, Column)>) -> Table {
    Table {
        name: name.to_owned(),
        columns: columns
            .into_iter()
            .map(|(name, column)| (name.to_owned(), column))
            .collect(),
    }
}

/// A column of whole numbers, of numbers, of texts, from rows.
fn whole<R>(rows: &[R], value: impl Fn(&R) -> u64) -> Column {
    Column::U64(rows.iter().map(value).collect())
}

fn real<R>(rows: &[R], value: impl Fn(&R) -> f64) -> Column {
    Column::F64(rows.iter().map(value).collect())
}

fn text<R>(rows: &[R], value: impl Fn(&R) -> Arc<str>) -> Column {
    Column::Text(rows.iter().map(value).collect())
}

/// The flows that were opened, in the order of the table.
struct Flows {
    rows: Vec<FlowRow>,
    /// By the engine's index: the row.
    numbers: Vec<usize>,
}

struct FlowRow {
    note: FlowNote,
    record: FlowRecord,
    group: Arc<str>,
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
    fn new(record: &Record<'_>, mut notes: Vec<FlowNote>, transfers: &[TransferNote]) -> Self {
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

    fn number(&self, flow: FlowIndex) -> u64 {
        self.numbers[flow.index()] as u64
    }

    fn table(&self, now: Time) -> Table {
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
            ],
        )
    }

    fn throughput(
        &self,
        recorder: &Recorder,
        every_s: f64,
        chosen: impl Fn(&Name) -> bool,
    ) -> Table {
        let (mut times, mut numbers, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for row in &self.rows {
            let name = Name {
                role: row.group.to_string(),
                index: Some(row.note.index as u32),
            };
            let Some(series) = recorder.flows.get(row.note.flow.index()) else {
                continue;
            };
            if !chosen(&name) {
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

/// The names of the groups, to be shared by their rows.
fn group_names(scenario: &Scenario) -> Vec<Arc<str>> {
    let groups = scenario.tables().flows.iter();
    groups.map(|(name, _)| name.as_str().into()).collect()
}

fn transfers(record: &Record<'_>, flows: &Flows, rows: &[TransferNote]) -> Table {
    let groups = group_names(record.scenario);
    let kinds = TransferKind::ALL.map(|kind| Arc::<str>::from(kind.word()));
    table(
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
        ],
    )
}

fn totals(record: &Record<'_>, flows: &Flows, transfers: &[TransferNote]) -> Totals {
    let counted = record.simulation.totals();
    let mut totals = Totals {
        simulated_s: record.simulation.now().as_secs_lossy(),
        packet_hops: counted.packet_hops,
        data_packets: counted.data_packets,
        events: counted.events,
        drops: counted.drops,
        marks: counted.marks,
        flows: flows.rows.len() as u64,
        transfers: transfers
            .iter()
            .filter(|one| one.completed.is_some())
            .count() as u64,
        ..Totals::default()
    };
    for end in flows
        .rows
        .iter()
        .flat_map(|row| [&row.record.near, &row.record.far])
    {
        totals.delivered_bytes += end.delivered;
        totals.retransmissions += end.tcp.retransmissions;
        totals.timeouts += end.tcp.timeouts;
        totals.fast_retransmits += end.tcp.fast_retransmits;
        totals.ecn_reductions += end.tcp.ecn_reductions;
    }
    totals
}

/// What ports and hosts have seen.
struct Ports<'a> {
    network: &'a incastle_engine::Network,
    recorder: &'a Recorder,
    interval: Interval,
}

impl Ports<'_> {
    fn of_switches(&self) -> impl Iterator<Item = PortIndex> + '_ {
        let from_switch = |port: &PortIndex| matches!(self.network.ends(*port).0, Node::Switch(_));
        self.network.ports().filter(from_switch)
    }

    fn span(&self) -> f64 {
        let Interval { from, to } = self.interval;
        to.saturating_since(from).as_ps() as f64
    }

    fn histograms(&self) -> Table {
        let (mut ports, mut packets, mut spans) = (Vec::new(), Vec::new(), Vec::new());
        for port in self.of_switches() {
            let name: Arc<str> = self.network.port_name(port).into();
            for (length, span) in self.recorder.queues[port.index()].bins() {
                ports.push(Arc::clone(&name));
                packets.push(length);
                spans.push(span.as_secs_lossy());
            }
        }
        table(
            "queues",
            vec![
                ("port", Column::Text(ports)),
                ("packets", Column::U64(packets)),
                ("seconds", Column::F64(spans)),
            ],
        )
    }

    fn links(&self, accepted: &[Vec<Bytes>; 2]) -> Table {
        let rows: Vec<PortIndex> = self.network.ports().collect();
        let counters = |port: &PortIndex| self.network.counters(*port);
        let queue = |port: &PortIndex| &self.recorder.queues[port.index()];
        let is_switch = |port: &PortIndex| matches!(self.network.ends(*port).0, Node::Switch(_));
        let mean = |port: &PortIndex| {
            if is_switch(port) {
                queue(port).area() as f64 / self.span()
            } else {
                f64::NAN
            }
        };
        let longest = |port: &PortIndex| {
            if is_switch(port) {
                f64::from(queue(port).longest())
            } else {
                f64::NAN
            }
        };
        table(
            "links",
            vec![
                (
                    "port",
                    text(&rows, |port| self.network.port_name(*port).into()),
                ),
                (
                    "packets",
                    whole(&rows, |port| {
                        counters(port).offered - counters(port).dropped
                    }),
                ),
                ("bytes", whole(&rows, |port| counters(port).accepted_bytes)),
                ("drops", whole(&rows, |port| counters(port).dropped)),
                ("marks", whole(&rows, |port| counters(port).marked)),
                (
                    "utilisation",
                    real(&rows, |port| self.utilisation(*port, accepted)),
                ),
                ("mean_queue_packets", real(&rows, mean)),
                ("max_queue_packets", real(&rows, longest)),
            ],
        )
    }

    /// The share of the interval in which the port sent, counted where packets enter its memory: a
    /// queue that has grown meanwhile is not yet sent, hence the limit.
    fn utilisation(&self, port: PortIndex, accepted: &[Vec<Bytes>; 2]) -> f64 {
        let [before, after] = accepted;
        let (Some(before), Some(after)) = (before.get(port.index()), after.get(port.index()))
        else {
            return f64::NAN;
        };
        let bytes = (*after - *before).count() as f64;
        let (rate, _) = self.network.link(port);
        (bytes * 1e12 / (rate.bytes_per_second_lossy() * self.span())).min(1.0)
    }

    fn samples(&self) -> Table {
        let rows = &self.recorder.queue_samples;
        let names: Vec<Arc<str>> = self
            .network
            .ports()
            .map(|port| self.network.port_name(port).into())
            .collect();
        table(
            "queue_samples",
            vec![
                ("time_s", real(rows, |row| row.at.as_secs_lossy())),
                (
                    "port",
                    text(rows, |row| Arc::clone(&names[row.port.index()])),
                ),
                ("packets", whole(rows, |row| u64::from(row.packets))),
                ("bytes", whole(rows, |row| row.bytes.count())),
            ],
        )
    }
}

fn goodput(ports: &Ports<'_>) -> Table {
    let width = ports.recorder.host_bin().as_secs_lossy();
    let (mut times, mut hosts) = (Vec::new(), Vec::new());
    let (mut bytes, mut ip_bytes) = (Vec::new(), Vec::new());
    for (host, series) in ports.recorder.hosts.iter().enumerate() {
        // Receivers only: on a fabric of senders the rest is most of the table, and ACKs alone.
        if series.bins().iter().all(|received| received.delivered == 0) {
            continue;
        }
        let name: Arc<str> = ports
            .network
            .node_name(Node::Host(HostIndex::from_index(host)))
            .into();
        for (bin, received) in series.bins().iter().enumerate() {
            times.push(bin as f64 * width);
            hosts.push(Arc::clone(&name));
            bytes.push(received.delivered);
            ip_bytes.push(received.ip);
        }
    }
    table(
        "goodput",
        vec![
            ("time_s", Column::F64(times)),
            ("host", Column::Text(hosts)),
            ("bytes", Column::U64(bytes)),
            ("ip_bytes", Column::U64(ip_bytes)),
        ],
    )
}

fn windows(recorder: &Recorder, flows: &Flows) -> Table {
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
