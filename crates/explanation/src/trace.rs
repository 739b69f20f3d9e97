//! The recorded events of some flows of a run, its pauses, and the packets of other queue pairs of their hosts.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;

use crate::columns::{Malformed, Shared, texts, wholes};
use crate::event::{Event, EventColumns, EventKind};
use crate::outages::Outages;
use crate::pauses::Pauses;
use crate::record::{Record, is_pulled};
use crate::story::story;
use crate::timeouts::Step;
use crate::turns::{Sending, Sendings};

/// The record of some flows.
#[derive(Default)]
pub struct Trace {
    /// In order of their first events.
    flows: Vec<u64>,
    events: BTreeMap<u64, Vec<Event>>,
    is_full: bool,
    pub(crate) pauses: Pauses,
    pub(crate) sendings: Sendings,
}

impl Trace {
    /// Reads the tables `events` and `pause_record` (empty if the run has none): the events of `flows`, and the packets
    /// that the queue pairs of `flows` and `neighbours` sent.
    pub fn read(
        events: &[RecordBatch],
        pauses: &[RecordBatch],
        flows: &[u64],
        neighbours: &[u64],
    ) -> Result<Self, Malformed> {
        let mut trace = Self {
            pauses: Pauses::read(pauses)?,
            ..Self::default()
        };
        let mut strings = Shared::default();
        for batch in events {
            let (columns, numbers) = (EventColumns::new(batch)?, wholes(batch, "flow")?);
            for (row, &flow) in numbers.values().iter().enumerate() {
                let is_own = flows.contains(&flow);
                if columns.event(row) == EventKind::Full || !(is_own || neighbours.contains(&flow))
                {
                    continue;
                }
                let event = columns.shared(row, &mut strings);
                trace.sending(flow, &event);
                if is_own {
                    trace.enter(flow, event);
                }
            }
        }
        for sendings in trace.sendings.values_mut() {
            sendings.sort_by_key(|one| one.begins);
        }
        trace.end(events)?;
        Ok(trace)
    }

    fn enter(&mut self, flow: u64, event: Event) {
        let events = self.events.entry(flow).or_default();
        if events.is_empty() {
            self.flows.push(flow);
        }
        events.push(event);
    }

    fn sending(&mut self, flow: u64, event: &Event) {
        if matches!(event.name, EventKind::Sent | EventKind::Resent) && is_pulled(&event.kind) {
            let sendings = self.sendings.entry(event.port.to_string()).or_default();
            sendings.push(Sending {
                begins: event.at,
                ends: event.at + event.serialisation,
                flow,
            });
        }
    }

    /// The record of every flow ends where there was no more room.
    fn end(&mut self, events: &[RecordBatch]) -> Result<(), Malformed> {
        let Some(batch) = events.iter().rfind(|batch| batch.num_rows() > 0) else {
            return Ok(());
        };
        let last = batch.num_rows() - 1;
        if EventKind::of(texts(batch, "event")?.at(last)) == EventKind::Full {
            self.is_full = !self.flows.is_empty();
            let end = EventColumns::new(batch)?.at(last);
            for events in self.events.values_mut() {
                events.push(end.clone());
            }
        }
        Ok(())
    }

    /// The flows that have events, in order of the first one of each.
    pub fn flows(&self) -> &[u64] {
        &self.flows
    }

    /// Whether there was no more room for the events of its flows.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Everything that happened to a flow between two instants in picoseconds.
    pub fn story(&self, flow: u64, begins: i64, ends: i64) -> Result<Vec<Step>, Malformed> {
        let mut steps = story(&self.record(flow, &Outages::default())?, begins, ends);
        steps.sort_by_key(|step| step.at);
        Ok(steps)
    }

    pub(crate) fn record<'a>(
        &'a self,
        flow: u64,
        outages: &'a Outages,
    ) -> Result<Record<'a>, Malformed> {
        let events = self.events.get(&flow).ok_or(Malformed::Flow(flow))?;
        Ok(Record::new(events, &self.pauses, outages))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, StringArray, UInt64Array};

    use super::*;

    const TEXTS: [&str; 5] = ["end", "event", "kind", "port", "cause"];
    const NUMBERS: [&str; 15] = [
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
        "serialisation_s",
        "propagation_s",
        "waited_s",
        "rto_s",
        "rate_bit_s",
    ];

    /// The table `events`: each row is one of a flow's sender, every microsecond; packet 0 has 100 bytes.
    fn events(rows: &[(u64, &str)]) -> RecordBatch {
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        let times = (0..rows.len()).map(|row| row as f64 * 1e-6);
        columns.push(("time_s", Arc::new(Float64Array::from_iter_values(times))));
        let flows = rows.iter().map(|(flow, _)| *flow);
        columns.push(("flow", Arc::new(UInt64Array::from_iter_values(flows))));
        for name in TEXTS {
            let texts = rows.iter().map(|(_, event)| match name {
                "end" => "sender",
                "event" => event,
                "kind" => "write",
                _ => "a->b",
            });
            columns.push((name, Arc::new(StringArray::from_iter_values(texts))));
        }
        for name in NUMBERS {
            let number = match name {
                "packet" => Some(0.0),
                "bytes" => Some(100.0),
                "serialisation_s" => Some(80e-9),
                _ => None,
            };
            let numbers: Float64Array = rows.iter().map(|_| number).collect();
            columns.push((name, Arc::new(numbers)));
        }
        RecordBatch::try_from_iter(columns).expect("columns have one length")
    }

    fn traced(rows: &[(u64, &str)], flows: &[u64], neighbours: &[u64]) -> Trace {
        Trace::read(&[events(rows)], &[], flows, neighbours).expect("all columns are there")
    }

    #[test]
    fn flows_are_apart_and_neighbours_only_send() {
        let rows = [
            (2, "sent"),
            (1, "sent"),
            (3, "sent"),
            (1, "received"),
            (2, "dropped"),
        ];
        let trace = traced(&rows, &[1, 2], &[3]);
        assert_eq!(trace.flows(), [2, 1]);
        let none = Outages::default();
        let record = trace.record(2, &none).expect("it has events");
        let dropped = record.packets[0].dropped.map(|event| event.at);
        assert_eq!(
            (record.packets[0].received, dropped),
            (None, Some(4_000_000))
        );
        let sent: Vec<_> = trace.sendings["a->b"]
            .iter()
            .map(|one| (one.flow, one.begins, one.ends))
            .collect();
        assert_eq!(
            sent,
            [
                (2, 0, 80_000),
                (1, 1_000_000, 1_080_000),
                (3, 2_000_000, 2_080_000)
            ]
        );
        assert_eq!(trace.record(3, &none).err(), Some(Malformed::Flow(3)));
    }

    #[test]
    fn a_full_record_ends_every_flow() {
        let rows = [(1, "sent"), (2, "sent"), (7, "full")];
        let trace = traced(&rows, &[1, 2], &[]);
        assert!(trace.is_full());
        let story = trace.story(2, 0, i64::MAX).expect("it has events");
        let last = story.last().map(|step| step.at);
        assert_eq!((story.len(), last), (2, Some(2_000_000)));
        assert!(!traced(&rows, &[3], &[]).is_full());
        assert!(!traced(&rows[..2], &[1, 2], &[]).is_full());
    }

    #[test]
    fn a_table_without_a_column_is_malformed() {
        let batch = events(&[(1, "sent")]);
        let place = batch.schema().index_of("waited_s").expect("it is there");
        let mut without = batch;
        without.remove_column(place);
        let trace = Trace::read(&[without], &[], &[1], &[]);
        assert_eq!(trace.err(), Some(Malformed::Column("waited_s")));
    }
}
