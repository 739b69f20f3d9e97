//! The result of a run: digest, totals, notes, and tables as Arrow.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use incastle_experiment::{Output, Total, arrow};
use incastle_explanation::{Instants, Run};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::explainer::Explainer;

/// The result of a run.
#[wasm_bindgen]
pub struct Outcome {
    digest: String,
    interrupted: bool,
    totals: BTreeMap<&'static str, f64>,
    notes: Vec<String>,
    tables: Vec<(String, RecordBatch)>,
    /// The complete scenario.
    scenario: String,
}

impl Outcome {
    pub(crate) fn new(from: Output, scenario: String) -> Result<Self, ArrowError> {
        let totals = from.totals.entries().into_iter();
        let tables = from.tables.into_iter();
        Ok(Self {
            digest: from.digest,
            interrupted: from.interrupted,
            totals: totals.map(|(name, total)| (name, number(total))).collect(),
            notes: from.notes.iter().map(ToString::to_string).collect(),
            tables: tables
                .map(|table| Ok((table.name.clone(), arrow::batch(table)?)))
                .collect::<Result<_, ArrowError>>()?,
            scenario,
        })
    }

    /// A table; empty if the run has none of this name.
    pub(crate) fn batches(&self, name: &str) -> Vec<RecordBatch> {
        let named = self.tables.iter().filter(|(other, _)| other == name);
        named.map(|(_, batch)| batch.clone()).collect()
    }
}

#[wasm_bindgen]
impl Outcome {
    /// 16 hexadecimal digits, the same as those of `incastle run`.
    #[wasm_bindgen(getter)]
    pub fn digest(&self) -> String {
        self.digest.clone()
    }

    /// Whether the run was stopped before its end.
    #[wasm_bindgen(getter)]
    pub fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// JSON of the totals by name.
    #[wasm_bindgen(getter)]
    pub fn totals(&self) -> String {
        crate::json(&self.totals)
    }

    /// JSON of the notes on its numbers.
    #[wasm_bindgen(getter)]
    pub fn notes(&self) -> String {
        crate::json(&self.notes)
    }

    /// JSON of the names of its tables.
    #[wasm_bindgen(getter)]
    pub fn table_names(&self) -> String {
        let names: Vec<&str> = self.tables.iter().map(|(name, _)| &**name).collect();
        crate::json(&names)
    }

    /// Explains its flows.
    pub fn explainer(&self) -> Result<Explainer, JsError> {
        let instant = |name| self.totals.get(name).copied().unwrap_or(0.0);
        let instants = Instants {
            simulated_s: instant("simulated_s"),
            measured_s: [instant("measured_from_s"), instant("measured_to_s")],
        };
        let (flows, transfers) = (self.batches("flows"), self.batches("transfers"));
        let run = Run::read(&flows, &transfers, instants, self.scenario.clone())?;
        Ok(Explainer::new(run, self))
    }

    /// A table as a stream of Arrow's IPC format.
    pub fn table(&self, name: &str) -> Result<Vec<u8>, JsError> {
        let mut tables = self.tables.iter();
        let Some((_, batch)) = tables.find(|(other, _)| other == name) else {
            let names = self.table_names();
            return Err(JsError::new(&format!(
                "there is no table {name}; there are {names}"
            )));
        };
        Ok(stream(batch)?)
    }
}

fn number(total: Total) -> f64 {
    match total {
        Total::Count(count) => count as f64,
        Total::Seconds(seconds) => seconds,
    }
}

fn stream(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(batch)?;
    writer.into_inner()
}
