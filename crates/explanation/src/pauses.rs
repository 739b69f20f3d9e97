//! The pauses of PFC that a run has recorded: when, at which port and priority, from which root.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use serde::Serialize;

use crate::columns::{Malformed, picoseconds, reals, texts, value, wholes};
use crate::words::peer;

/// An instant after every other.
const NEVER: i64 = i64::MAX;

/// A row of the table `pause_record`: a pause, or the part of one with one root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Pause {
    /// The parts of one pause have one number.
    pub(crate) number: i64,
    /// The port that was paused.
    pub(crate) port: String,
    pub(crate) priority: i64,
    pub(crate) begins: i64,
    /// [`NEVER`] if it lasted at the end of the run.
    pub(crate) ends: i64,
    /// The port that held most of the data, of the switch that sent the pause; empty if unknown.
    pub(crate) congested: String,
    /// The port at the root of the congestion tree; empty if unknown.
    pub(crate) root: String,
    /// The pauses from the root to this one.
    pub(crate) depth: i64,
}

impl Pause {
    /// The switch or NIC that sent it: the other end of the link.
    pub(crate) fn by(&self) -> &str {
        peer(&self.port)
    }
}

/// The pauses of a run, by port and priority.
#[derive(Debug, Default)]
pub(crate) struct Pauses(BTreeMap<(String, i64), Vec<Pause>>);

/// A paused part of an interval, with its pause.
pub(crate) type Paused<'a> = (i64, i64, &'a Pause);

impl Pauses {
    /// Reads the table `pause_record`.
    pub(crate) fn read(batches: &[RecordBatch]) -> Result<Self, Malformed> {
        let mut pauses = Self::default();
        for batch in batches {
            let (ports, congested) = (texts(batch, "port")?, texts(batch, "congested_port")?);
            let (roots, depths) = (texts(batch, "root_port")?, wholes(batch, "depth")?);
            let (begins, ends) = (reals(batch, "begin_s")?, reals(batch, "end_s")?);
            let (numbers, priorities) = (wholes(batch, "pause")?, wholes(batch, "priority")?);
            for row in 0..batch.num_rows() {
                pauses.add(Pause {
                    number: numbers.value(row).cast_signed(),
                    port: ports.at(row).to_owned(),
                    priority: priorities.value(row).cast_signed(),
                    begins: picoseconds(begins.value(row)),
                    ends: value(ends, row).map_or(NEVER, picoseconds),
                    congested: congested.at(row).to_owned(),
                    root: roots.at(row).to_owned(),
                    depth: depths.value(row).cast_signed(),
                });
            }
        }
        Ok(pauses)
    }

    fn add(&mut self, pause: Pause) {
        let key = (pause.port.clone(), pause.priority);
        self.0.entry(key).or_default().push(pause);
    }

    /// The port of a host that was ever paused, of a priority.
    pub(crate) fn port_of(&self, host: &str, priority: i64) -> Option<&str> {
        let mut paused = self.0.keys().filter(|(_, of)| *of == priority);
        let own =
            paused.find(|(port, _)| port.split_once("->").is_some_and(|(from, _)| from == host));
        own.map(|(port, _)| &**port)
    }

    /// The paused parts of an interval in order.
    pub(crate) fn within(
        &self,
        port: &str,
        priority: Option<i64>,
        begins: i64,
        ends: i64,
    ) -> Vec<Paused<'_>> {
        let Some(pauses) = priority.and_then(|number| self.0.get(&(port.to_owned(), number)))
        else {
            return Vec::new();
        };
        let first = pauses.partition_point(|one| one.ends <= begins);
        let within = pauses[first..].iter().take_while(|one| one.begins < ends);
        within
            .map(|one| (begins.max(one.begins), ends.min(one.ends), one))
            .collect()
    }
}
