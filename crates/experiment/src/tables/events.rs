//! The table `events`: all events of the recorded flows, in order.
//!
//! One row per event; the columns with a value depend on the event (docs/explain.md). Leaves out: events that do
//! not help to explain an FCT, such as growing windows.

use std::collections::BTreeMap;
use std::sync::Arc;

use incastle_congestion::TransmissionMode;
use incastle_engine::core::PortIndex;
use incastle_engine::probe::{QueueSeen, Transit};
use incastle_queueing::DropCause;
use incastle_recorder::{EventKind, RecordedEvent};
use incastle_units::{Amount, Bytes, Rate, Span, Time};

use super::columns::{real, sampled, table, text, whole};
use super::ports::names;
use crate::output::Table;
use crate::record::Record;
use crate::record::flows::Flows;

/// The fields of an event besides time, endpoint and packet; NaN where there is none.
struct EventFields {
    event: &'static str,
    port: Option<PortIndex>,
    queue: Option<QueueSeen>,
    transit: Option<Transit>,
    cwnd: Option<Bytes>,
    ssthresh: Option<Bytes>,
    rate: Option<Rate>,
    seq: f64,
    bytes: f64,
    count: f64,
    waited: Option<Span>,
    rto: Option<Span>,
    priority: f64,
    paced_until: f64,
    cause: &'static str,
}

impl EventFields {
    fn only(event: &'static str) -> Self {
        Self {
            event,
            port: None,
            queue: None,
            transit: None,
            cwnd: None,
            ssthresh: None,
            rate: None,
            seq: f64::NAN,
            bytes: f64::NAN,
            count: f64::NAN,
            waited: None,
            rto: None,
            priority: f64::NAN,
            paced_until: f64::NAN,
            cause: "",
        }
    }

    fn of(event: &RecordedEvent) -> Self {
        let mut fields = Self::about(&event.kind);
        if let Some(packet) = &event.packet {
            fields.seq = packet.seq.map_or(f64::NAN, |seq| seq as f64);
            fields.bytes = f64::from(packet.payload);
        }
        fields
    }

    fn about(kind: &EventKind) -> Self {
        match *kind {
            EventKind::Sent {
                repeated,
                class,
                port,
                transit,
                cwnd,
                pacing,
                paced_until,
            } => Self {
                priority: f64::from(class),
                paced_until: paced_until.map_or(f64::NAN, Time::as_secs_lossy),
                port: Some(port),
                transit: Some(transit),
                cwnd,
                rate: pacing,
                ..Self::only(if repeated { "resent" } else { "sent" })
            },
            EventKind::Released => Self::only("released"),
            EventKind::Queued {
                port,
                marked,
                queue,
                transit,
            } => Self {
                port: Some(port),
                queue: Some(queue),
                transit: Some(transit),
                ..Self::only(if marked { "marked" } else { "queued" })
            },
            EventKind::Dropped { port, cause, queue } => Self {
                port: Some(port),
                queue: Some(queue),
                cause: of_drop(cause),
                ..Self::only("dropped")
            },
            EventKind::Received => Self::only("received"),
            _ => Self::at_end(kind),
        }
    }

    /// The fields of an event inside an endpoint.
    fn at_end(kind: &EventKind) -> Self {
        match *kind {
            EventKind::Written(bytes) => Self {
                count: bytes as f64,
                ..Self::only("written")
            },
            EventKind::Delivered(bytes) => Self {
                count: bytes as f64,
                ..Self::only("delivered")
            },
            EventKind::Timeout(report) => Self {
                seq: report.una as f64,
                bytes: (report.max - report.una) as f64,
                count: f64::from(report.dup_acks),
                waited: Some(report.waited),
                rto: Some(report.rto),
                cause: report.kind.word(),
                ..Self::only("timeout")
            },
            EventKind::Reduced {
                cwnd,
                ssthresh,
                rate,
            } => Self {
                cwnd,
                ssthresh,
                rate,
                ..Self::only("reduced")
            },
            EventKind::Mode(mode) => Self {
                cause: match mode {
                    TransmissionMode::Udp => "udp",
                    TransmissionMode::Congestion => "congestion",
                },
                ..Self::only("mode")
            },
            EventKind::Notified(psi) => Self {
                count: psi.map_or(f64::NAN, f64::from),
                ..Self::only("notified")
            },
            EventKind::Limited(rate) => Self {
                rate: Some(rate),
                ..Self::only("limited")
            },
            EventKind::DuplicateAck => Self::only("duplicate-ack"),
            EventKind::FastRetransmit => Self::only("fast-retransmit"),
            EventKind::TailLossProbe => Self::only("tail-loss-probe"),
            EventKind::ReorderingTimeout(lost) => Self {
                count: lost as f64,
                ..Self::only("reordering-timeout")
            },
            EventKind::Recovered => Self::only("recovered"),
            EventKind::Expired => Self::only("expired"),
            EventKind::Nak => Self::only("nak"),
            EventKind::Ready => Self::only("ready"),
            EventKind::AckTimeout(span) => Self {
                waited: Some(span),
                rto: Some(span),
                ..Self::only("ack-timeout")
            },
            EventKind::ReadRetry => Self::only("read-retry"),
            EventKind::Failed => Self::only("failed"),
            EventKind::Full => Self::only("full"),
            EventKind::Sent { .. }
            | EventKind::Released
            | EventKind::Queued { .. }
            | EventKind::Dropped { .. }
            | EventKind::Received => unreachable!("events of packets are dealt with"),
        }
    }
}

const fn of_drop(cause: DropCause) -> &'static str {
    match cause {
        DropCause::BufferFull => "buffer-full",
        DropCause::SharedLimit => "shared-limit",
        DropCause::Early => "early",
        DropCause::NotEcnCapable => "not-ecn-capable",
        DropCause::LinkDown => "link-down",
        DropCause::LostOnWire => "lost-on-wire",
        DropCause::Corrupted => "corrupted",
        DropCause::HeadroomFull => "headroom-full",
        DropCause::PauseWatchdog => "pause-watchdog",
    }
}

/// A row: an event with its fields.
type Row<'a> = (&'a RecordedEvent, EventFields);

/// The table.
pub(super) fn events(record: &Record<'_>) -> Option<Table> {
    sampled(&record.measure().events)?;
    let flows = &record.flows;
    let rows = record.recorder.record.events.iter();
    let rows: Vec<Row<'_>> = rows.map(|event| (event, EventFields::of(event))).collect();
    let rows = rows.as_slice();
    let mut interner = Interner::default();
    let names = names(record);
    let mut columns = vec![
        ("time_s", real(rows, |row| row.0.at.as_secs_lossy())),
        (
            "flow",
            whole(rows, |row| flows.number(row.0.endpoint.flow())),
        ),
        ("end", interner.column(rows, |row| end(row.0, flows))),
        ("event", interner.column(rows, |row| row.1.event)),
        (
            "packet",
            real(rows, |row| {
                row.0.packet.map_or(f64::NAN, |packet| packet.number as f64)
            }),
        ),
        (
            "kind",
            interner.column(rows, |row| row.0.packet.map_or("", |packet| packet.kind)),
        ),
    ];
    let nowhere: Arc<str> = Arc::from("");
    let port = |row: &Row<'_>| {
        row.1
            .port
            .map_or(&nowhere, |port| &names[port.index()])
            .clone()
    };
    columns.push(("port", text(rows, port)));
    let ack = |row: &Row<'_>| row.0.packet.and_then(|packet| packet.ack);
    columns.extend([
        ("seq", real(rows, |row| row.1.seq)),
        ("bytes", real(rows, |row| row.1.bytes)),
        (
            "ack",
            real(rows, |row| ack(row).map_or(f64::NAN, |ack| ack as f64)),
        ),
        ("count", real(rows, |row| row.1.count)),
    ]);
    columns.extend(of_queue(rows));
    columns.extend(of_control(rows));
    columns.push(("cause", interner.column(rows, |row| row.1.cause)));
    Some(table("events", columns))
}

/// The endpoint of the event: the sender or the receiver of the flow's data.
fn end(event: &RecordedEvent, flows: &Flows) -> &'static str {
    let sender = flows.row(event.endpoint.flow()).note.sender;
    if event.endpoint.side() == sender {
        "sender"
    } else {
        "receiver"
    }
}

type Columns = Vec<(&'static str, crate::output::Column)>;

fn of_queue(rows: &[Row<'_>]) -> Columns {
    let packets = |amount: Option<Amount>| match amount {
        Some(Amount::Packets(packets)) => packets.count() as f64,
        _ => f64::NAN,
    };
    let bytes = |amount: Option<Amount>| match amount {
        Some(Amount::Bytes(bytes)) => bytes.count() as f64,
        _ => f64::NAN,
    };
    let queue =
        |row: &Row<'_>, value: &dyn Fn(QueueSeen) -> f64| row.1.queue.map_or(f64::NAN, value);
    let transit = |row: &Row<'_>, value: fn(Transit) -> Span| {
        row.1
            .transit
            .map_or(f64::NAN, |transit| value(transit).as_secs_lossy())
    };
    vec![
        (
            "queue_packets",
            real(rows, |row| queue(row, &|seen| f64::from(seen.packets))),
        ),
        (
            "queue_bytes",
            real(rows, |row| queue(row, &|seen| seen.bytes.count() as f64)),
        ),
        (
            "limit_packets",
            real(rows, |row| queue(row, &|seen| packets(seen.limit))),
        ),
        (
            "limit_bytes",
            real(rows, |row| queue(row, &|seen| bytes(seen.limit))),
        ),
        (
            "serialisation_s",
            real(rows, |row| transit(row, |transit| transit.serialisation)),
        ),
        (
            "propagation_s",
            real(rows, |row| transit(row, |transit| transit.propagation)),
        ),
    ]
}

fn of_control(rows: &[Row<'_>]) -> Columns {
    let bytes = |value: Option<Bytes>| value.map_or(f64::NAN, |bytes| bytes.count() as f64);
    let bits = |value: Option<Rate>| value.map_or(f64::NAN, |rate| rate.bits_per_second() as f64);
    let span = |value: Option<Span>| value.map_or(f64::NAN, Span::as_secs_lossy);
    vec![
        ("cwnd_bytes", real(rows, |row| bytes(row.1.cwnd))),
        ("ssthresh_bytes", real(rows, |row| bytes(row.1.ssthresh))),
        ("rate_bit_s", real(rows, |row| bits(row.1.rate))),
        ("waited_s", real(rows, |row| span(row.1.waited))),
        ("rto_s", real(rows, |row| span(row.1.rto))),
        ("priority", real(rows, |row| row.1.priority)),
        ("paced_until_s", real(rows, |row| row.1.paced_until)),
    ]
}

/// Strings that rows share.
#[derive(Default)]
struct Interner(BTreeMap<&'static str, Arc<str>>);

impl Interner {
    fn column<R>(
        &mut self,
        rows: &[R],
        word: impl Fn(&R) -> &'static str,
    ) -> crate::output::Column {
        let shared = rows.iter().map(|row| {
            let word = word(row);
            Arc::clone(self.0.entry(word).or_insert_with(|| Arc::from(word)))
        });
        crate::output::Column::Text(shared.collect())
    }
}
