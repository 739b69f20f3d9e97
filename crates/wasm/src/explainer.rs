//! Why a flow of a finished run took its time, from a second run with a record of that flow.
//!
//! A run takes the same course with a record as without, so that the digest proves that the record is also that of the
//! first run. Leaves out: records that the scenario itself requests.

use arrow_array::{RecordBatch, cast::AsArray, types::UInt64Type};
use incastle_explanation::{Explanation, Run, Trace};
use serde::Serialize;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::outcome::Outcome;

/// Events of a record: more do not fit into a tab.
const MAX_EVENTS: u32 = 1_000_000;

/// Pauses of a complete table `pause_record`, which has the first million.
const MAX_PAUSES: usize = 1_000_000;

/// A finished run whose flows are explained.
#[wasm_bindgen]
pub struct Explainer {
    run: Run,
    queue_pairs: Vec<RecordBatch>,
    has_pauses: bool,
    digest: String,
}

/// An explanation, and the digest of both runs.
#[derive(Serialize)]
struct Explained<'a> {
    #[serde(flatten)]
    explanation: Explanation<'a>,
    digest: &'a str,
}

impl Explainer {
    pub(crate) fn new(run: Run, outcome: &Outcome) -> Self {
        let pauses = outcome.batches("pauses");
        let counts = pauses
            .iter()
            .filter_map(|batch| batch.column_by_name("pauses"));
        let has_pauses = counts
            .filter_map(|counts| counts.as_primitive_opt::<UInt64Type>())
            .any(|counts| counts.values().iter().any(|count| *count > 0));
        Self {
            run,
            queue_pairs: outcome.batches("queue_pairs"),
            has_pauses,
            digest: outcome.digest(),
        }
    }

    fn flow(&self, name: &str) -> Result<u64, JsError> {
        if name.is_empty() {
            let slowest = self.run.by_time(None).into_iter().next();
            return slowest.ok_or_else(|| JsError::new("no flow of this run has an end: name one"));
        }
        let found = self.run.numbered(name);
        found.ok_or_else(|| JsError::new(&format!("there is no flow {name}")))
    }

    /// The queue pairs near a flow that its record is to have, too.
    fn neighbours(&self, flow: u64, with_neighbours: bool) -> Result<Vec<u64>, JsError> {
        let queue_pairs = if with_neighbours {
            &self.queue_pairs[..]
        } else {
            &[]
        };
        Ok(self.run.neighbours(queue_pairs, &[flow])?)
    }
}

#[wasm_bindgen]
impl Explainer {
    /// JSON of the overrides `[key, value][]` of a second run with a record of a flow: its number, GROUP:INDEX, GROUP
    /// for its slowest, or empty for the slowest of all. `with_neighbours`: also of the queue pairs near it.
    pub fn overrides(&self, flow: &str, with_neighbours: bool) -> Result<String, JsError> {
        let flow = self.flow(flow)?;
        let near = self.neighbours(flow, with_neighbours)?;
        let names: Vec<String> = [flow]
            .iter()
            .chain(&near)
            .map(|flow| self.run.name(*flow))
            .collect();
        let events = format!(
            "{{ flows = {}, max_events = {MAX_EVENTS} }}",
            crate::json(&names)
        );
        // Samples of the first run are not needed again.
        let mut overrides = vec![
            ("measure.events", events),
            ("measure.slowdown", "false".to_owned()),
            ("measure.queue", "off".to_owned()),
            ("measure.window", "off".to_owned()),
        ];
        if self.has_pauses {
            overrides.push(("measure.pauses", "true".to_owned()));
        }
        Ok(crate::json(&overrides))
    }

    /// JSON of the explanation from the second run; `None` where its record had no room for the neighbours.
    pub fn explain(
        &self,
        again: &Outcome,
        flow: &str,
        with_neighbours: bool,
    ) -> Result<Option<String>, JsError> {
        if again.digest() != self.digest {
            return Err(JsError::new(
                "a second run of this scenario has another digest: run it again",
            ));
        }
        let flow = self.flow(flow)?;
        let near = self.neighbours(flow, with_neighbours)?;
        let pauses = again.batches("pause_record");
        if pauses.iter().map(RecordBatch::num_rows).sum::<usize>() >= MAX_PAUSES {
            return Err(JsError::new(
                "the run has too many pauses for a record: make it shorter",
            ));
        }
        let trace = Trace::read(&again.batches("events"), &pauses, &[flow], &near)?;
        if trace.is_full() {
            if !near.is_empty() {
                return Ok(None);
            }
            return Err(JsError::new(&format!(
                "the record of {} is longer than {MAX_EVENTS} events: `incastle explain` has room for more",
                self.run.name(flow)
            )));
        }
        let explained = Explained {
            explanation: self.run.explain(&trace, flow, false)?,
            digest: &self.digest,
        };
        Ok(Some(crate::json(&explained)))
    }
}
