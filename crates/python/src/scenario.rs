//! Scenarios and diagnostics as Python sees them: thin copies of `incastle_scenario`'s types.

use incastle_scenario as core;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// One mistake or warning in a scenario, with its place.
#[pyclass(frozen, get_all, module = "incastle._engine")]
pub(crate) struct Diagnostic {
    severity: String,
    file: String,
    line: u32,
    column: u32,
    key: String,
    message: String,
    help: Option<String>,
}

impl From<core::Diagnostic> for Diagnostic {
    fn from(from: core::Diagnostic) -> Self {
        let severity = match from.severity {
            core::Severity::Error => "error",
            core::Severity::Warning => "warning",
        };
        Self {
            severity: severity.to_owned(),
            file: from.file,
            line: from.line,
            column: from.column,
            key: from.key,
            message: from.message,
            help: from.help,
        }
    }
}

/// A checked scenario, ready to run.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct Scenario {
    pub(crate) inner: core::Scenario,
}

#[pymethods]
impl Scenario {
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    /// Simulated seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.duration().as_secs_lossy()
    }

    /// The complete TOML text, with every default written out.
    fn resolved(&self) -> String {
        self.inner.resolved()
    }
}

/// Checks a scenario's text. Gives the scenario and its warnings, or nothing and every mistake.
#[pyfunction]
#[pyo3(signature = (text, file, overrides))]
pub(crate) fn parse(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<(Option<Scenario>, Vec<Diagnostic>)> {
    let outcome = core::catch(move || core::parse(text, file, &overrides))
        .map_err(|panic| PyRuntimeError::new_err(panic.to_string()))?;
    Ok(match outcome {
        Ok((inner, warnings)) => (Some(Scenario { inner }), convert(warnings)),
        Err(errors) => (None, convert(errors)),
    })
}

fn convert(diagnostics: Vec<core::Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.into_iter().map(Diagnostic::from).collect()
}

/// The JSON Schema of the scenario language.
#[pyfunction]
pub(crate) fn schema() -> String {
    core::schema()
}

/// What a scenario can name: (list, [(name, one-line description), ...]), list by list.
#[pyfunction]
pub(crate) fn catalog() -> Vec<(String, Vec<(String, String)>)> {
    core::catalog()
        .into_iter()
        .map(|list| {
            let entries = list
                .entries
                .into_iter()
                .map(|entry| (entry.name.to_owned(), entry.description));
            (list.name.to_owned(), entries.collect())
        })
        .collect()
}
