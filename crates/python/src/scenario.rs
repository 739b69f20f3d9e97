//! Scenarios and diagnostics as Python sees them: thin copies of `incastle_scenario`'s types.

use incastle_driver as driver;
use incastle_experiment as experiment;
use incastle_scenario as core;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::controllers::ControllerMaker;
use crate::world;

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
    /// The makers of its controllers in Python.
    pub(crate) makers: Vec<Py<ControllerMaker>>,
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

    /// The names of the controllers that it needs and the engine does not have.
    fn custom_controllers(&self) -> Vec<&str> {
        self.inner.custom_controllers()
    }

    /// The same scenario with their makers.
    fn with_makers(&self, makers: Vec<Py<ControllerMaker>>) -> Self {
        Self {
            inner: self.inner.clone(),
            makers,
        }
    }

    /// The reason why it needs one thread, as in "this scenario has ...", if there is one.
    fn alone_because(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| experiment::alone_because(&self.inner))
    }

    /// The load that it offers to links, as JSON.
    fn offered_load(&self) -> String {
        self.inner.offered_load().to_json()
    }

    /// Its network for the soft switch as JSON and nothing, or nothing and the reason why it has no such network.
    fn soft_network(&self, dilation: u64) -> (Option<String>, Option<String>) {
        match world::network_plan(&self.inner, dilation) {
            Ok(plan) => (
                Some(serde_json::to_string(&plan).expect("a plan has no maps")),
                None,
            ),
            Err(reason) => (None, Some(reason)),
        }
    }

    /// The complete TOML text, with every default written out.
    fn resolved(&self) -> String {
        self.inner.resolved()
    }
}

/// The files in a scenario's folder, and the sources of controllers from Python's side.
struct SourceFiles {
    folder: driver::Folder,
    /// From the name of a controller to a `Lookup`.
    controller: Option<Py<PyAny>>,
}

/// Hash of a source and names of all parameters, or mistake and help; each or none.
type Lookup = (
    Option<String>,
    Option<Vec<String>>,
    Option<String>,
    Option<String>,
);

impl core::Files for SourceFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        self.folder.read(path)
    }

    fn controller(&self, name: &str) -> Result<Option<core::ControllerSource>, core::Mistake> {
        let Some(controller) = &self.controller else {
            return Ok(None);
        };
        let lookup = Python::attach(|py| {
            let lookup = controller.bind(py).call1((name,))?;
            lookup.extract::<Lookup>()
        });
        match lookup {
            Ok((hash, parameters, None, _)) => {
                Ok(hash.map(|hash| core::ControllerSource { hash, parameters }))
            }
            Ok((_, _, Some(message), help)) => Err(core::Mistake { message, help }),
            Err(error) => Err(core::Mistake {
                message: error.to_string(),
                help: None,
            }),
        }
    }
}

/// Checks a scenario's text. Returns the scenario and its warnings, or nothing and every error.
/// `controller` returns the source of controllers that the engine does not have.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, controller=None))]
pub(crate) fn parse(
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    controller: Option<Py<PyAny>>,
) -> PyResult<(Option<Scenario>, Vec<Diagnostic>)> {
    let files = SourceFiles {
        folder: driver::Folder::of(file),
        controller,
    };
    let outcome = driver::catch(move || core::parse_with(text, file, &overrides, &files))
        .map_err(|panic| PyRuntimeError::new_err(panic.to_string()))?;
    Ok(match outcome {
        Ok((inner, warnings)) => {
            let makers = Vec::new();
            (Some(Scenario { inner, makers }), convert(warnings))
        }
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

/// The lists of choices: (list, [(name, one-line description), ...]), list by list.
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
