//! A row of the table `events` (docs/explain.md lists them).

use std::sync::Arc;

use arrow_array::{Float64Array, RecordBatch};
use serde::Serialize;

use crate::columns::{Malformed, Shared, Texts, picoseconds, reals, texts, value};

/// An endpoint of a flow: the sender or the receiver of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    Sender,
    Receiver,
}

impl End {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// The column `event`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EventKind {
    Sent,
    Resent,
    Released,
    Queued,
    Marked,
    Dropped,
    Received,
    Written,
    Delivered,
    DuplicateAck,
    Nak,
    Ready,
    ReadRetry,
    AckTimeout,
    Failed,
    FastRetransmit,
    Recovered,
    TailLossProbe,
    ReorderingTimeout,
    Timeout,
    Expired,
    Reduced,
    Mode,
    Notified,
    Limited,
    Full,
    /// An event of another version, which is ignored.
    Unknown,
}

impl EventKind {
    const WORDS: [(&str, Self); 26] = [
        ("sent", Self::Sent),
        ("resent", Self::Resent),
        ("released", Self::Released),
        ("queued", Self::Queued),
        ("marked", Self::Marked),
        ("dropped", Self::Dropped),
        ("received", Self::Received),
        ("written", Self::Written),
        ("delivered", Self::Delivered),
        ("duplicate-ack", Self::DuplicateAck),
        ("nak", Self::Nak),
        ("ready", Self::Ready),
        ("read-retry", Self::ReadRetry),
        ("ack-timeout", Self::AckTimeout),
        ("failed", Self::Failed),
        ("fast-retransmit", Self::FastRetransmit),
        ("recovered", Self::Recovered),
        ("tail-loss-probe", Self::TailLossProbe),
        ("reordering-timeout", Self::ReorderingTimeout),
        ("timeout", Self::Timeout),
        ("expired", Self::Expired),
        ("reduced", Self::Reduced),
        ("mode", Self::Mode),
        ("notified", Self::Notified),
        ("limited", Self::Limited),
        ("full", Self::Full),
    ];

    pub(crate) fn of(word: &str) -> Self {
        let known = Self::WORDS.iter().find(|(other, _)| *other == word);
        known.map_or(Self::Unknown, |(_, kind)| *kind)
    }

    /// Whether a retransmission timer expired.
    pub(crate) const fn is_timer(self) -> bool {
        matches!(self, Self::Timeout | Self::AckTimeout | Self::Expired)
    }
}

/// A row. Spans and instants are in picoseconds; `None`, of `serialisation` to `rto` 0, where there is no value.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) at: i64,
    pub(crate) end: End,
    pub(crate) name: EventKind,
    /// The packet's kind.
    pub(crate) kind: Arc<str>,
    pub(crate) port: Arc<str>,
    pub(crate) cause: Arc<str>,
    pub(crate) packet: Option<i64>,
    pub(crate) seq: Option<i64>,
    pub(crate) bytes: Option<i64>,
    pub(crate) ack: Option<i64>,
    pub(crate) count: Option<i64>,
    pub(crate) queue_packets: Option<i64>,
    pub(crate) queue_bytes: Option<i64>,
    pub(crate) limit_packets: Option<i64>,
    pub(crate) limit_bytes: Option<i64>,
    pub(crate) cwnd_bytes: Option<i64>,
    pub(crate) serialisation: i64,
    pub(crate) propagation: i64,
    pub(crate) waited: i64,
    pub(crate) rto: i64,
    pub(crate) rate_bit_s: Option<f64>,
    pub(crate) priority: Option<i64>,
    pub(crate) paced_until: Option<i64>,
}

/// The columns of events.
pub(crate) struct EventColumns<'a> {
    time: &'a Float64Array,
    end: Texts<'a>,
    event: Texts<'a>,
    kind: Texts<'a>,
    port: Texts<'a>,
    cause: Texts<'a>,
    counts: [&'a Float64Array; 10],
    spans: [&'a Float64Array; 4],
    rate: &'a Float64Array,
    /// Earlier versions had no such columns.
    priority: Option<&'a Float64Array>,
    paced_until: Option<&'a Float64Array>,
}

const COUNTS: [&str; 10] = [
    "packet",
    "seq",
    "bytes",
    "ack",
    "count",
    "queue_packets",
    "queue_bytes",
    "limit_packets",
    "limit_bytes",
    "cwnd_bytes",
];
const SPANS: [&str; 4] = ["serialisation_s", "propagation_s", "waited_s", "rto_s"];

impl<'a> EventColumns<'a> {
    pub(crate) fn new(batch: &'a RecordBatch) -> Result<Self, Malformed> {
        let time = reals(batch, "time_s")?;
        let mut counts = [time; 10];
        for (place, name) in counts.iter_mut().zip(COUNTS) {
            *place = reals(batch, name)?;
        }
        let mut spans = [time; 4];
        for (place, name) in spans.iter_mut().zip(SPANS) {
            *place = reals(batch, name)?;
        }
        Ok(Self {
            time,
            end: texts(batch, "end")?,
            event: texts(batch, "event")?,
            kind: texts(batch, "kind")?,
            port: texts(batch, "port")?,
            cause: texts(batch, "cause")?,
            counts,
            spans,
            rate: reals(batch, "rate_bit_s")?,
            priority: reals(batch, "priority").ok(),
            paced_until: reals(batch, "paced_until_s").ok(),
        })
    }

    pub(crate) fn event(&self, row: usize) -> EventKind {
        EventKind::of(self.event.at(row))
    }

    pub(crate) fn at(&self, row: usize) -> Event {
        self.shared(row, &mut Shared::default())
    }

    pub(crate) fn shared(&self, row: usize, strings: &mut Shared) -> Event {
        let count = |column: &Float64Array| value(column, row).map(|number| number as i64);
        let span = |column: &Float64Array| value(column, row).map_or(0, picoseconds);
        let [
            packet,
            seq,
            bytes,
            ack,
            number,
            queue_packets,
            queue_bytes,
            limit_packets,
            limit_bytes,
            cwnd_bytes,
        ] = self.counts.map(count);
        let [serialisation, propagation, waited, rto] = self.spans.map(span);
        let paced_until = self.paced_until.and_then(|column| value(column, row));
        Event {
            at: span(self.time),
            end: if self.end.at(row) == "sender" {
                End::Sender
            } else {
                End::Receiver
            },
            name: self.event(row),
            kind: strings.of(self.kind.at(row)),
            port: strings.of(self.port.at(row)),
            cause: strings.of(self.cause.at(row)),
            packet,
            seq,
            bytes,
            ack,
            count: number,
            queue_packets,
            queue_bytes,
            limit_packets,
            limit_bytes,
            cwnd_bytes,
            serialisation,
            propagation,
            waited,
            rto,
            rate_bit_s: value(self.rate, row),
            priority: self.priority.and_then(count),
            paced_until: paced_until.map(picoseconds),
        }
    }
}
