//! The checker: diagnostics with their places, and the size of what would run.

use incastle_experiment::{expected, expected_packet_hops};
use incastle_scenario::{Files, Scenario, Severity, parse_with};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

/// The name of the text in messages.
const FILE: &str = "scenario.toml";

/// A page has no folder for other files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!(
            "{path}: a browser opens no files; use `incastle run`"
        ))
    }
}

#[derive(Serialize)]
struct Checked {
    diagnostics: Vec<Diagnostic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<Facts>,
}

/// `line` and `column` count from 1, in characters; both are 0 for an override.
#[derive(Serialize)]
struct Diagnostic {
    severity: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    key: String,
    /// The text, or the override (`--set a.b=1`).
    place: String,
    line: u32,
    column: u32,
}

impl From<incastle_scenario::Diagnostic> for Diagnostic {
    fn from(from: incastle_scenario::Diagnostic) -> Self {
        Self {
            severity: match from.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            message: from.message,
            help: from.help,
            key: from.key,
            place: from.file,
            line: from.line,
            column: from.column,
        }
    }
}

/// The size of a run, so that a page can announce its time, and refuse one that is too large with what to reduce.
#[derive(Serialize)]
struct Facts {
    name: String,
    duration_s: f64,
    seed: u64,
    hosts: usize,
    switches: usize,
    groups: usize,
    /// Memory that its records are expected to take, and the same by its purposes, in words.
    bytes: u64,
    memory: String,
    /// Advice that makes the largest part of it smaller.
    remedy: &'static str,
    /// Packet-hops that it is expected to have.
    packet_hops: f64,
}

impl Facts {
    fn of(scenario: &Scenario) -> Self {
        let layout = scenario.layout();
        let memory = expected(scenario);
        Self {
            name: scenario.name().to_owned(),
            duration_s: scenario.duration().as_secs_lossy(),
            seed: scenario.seed(),
            hosts: layout.hosts.len(),
            switches: layout.switches.len(),
            groups: scenario.tables().flows.len(),
            bytes: memory.bytes(),
            memory: memory.to_string(),
            remedy: memory.remedy(),
            packet_hops: expected_packet_hops(scenario),
        }
    }
}

/// Checks a scenario. `overrides` is JSON of `[key, value][]`, as `incastle run --set key=value` takes them.
/// Returns JSON: every error and warning, and without errors the size of the run.
#[wasm_bindgen]
pub fn check(text: &str, overrides: &str) -> String {
    let (diagnostics, facts) = match parse(text, overrides) {
        Ok((scenario, warnings)) => (warnings, Some(Facts::of(&scenario))),
        Err(diagnostics) => (diagnostics, None),
    };
    let diagnostics = diagnostics.into_iter().map(Diagnostic::from).collect();
    crate::json(&Checked { diagnostics, facts })
}

type Parsed =
    Result<(Scenario, Vec<incastle_scenario::Diagnostic>), Vec<incastle_scenario::Diagnostic>>;

/// The checked scenario of a text.
pub(crate) fn parse(text: &str, overrides: &str) -> Parsed {
    let overrides: Vec<(String, String)> = serde_json::from_str(overrides).map_err(|error| {
        vec![incastle_scenario::Diagnostic {
            severity: Severity::Error,
            file: "overrides".to_owned(),
            line: 0,
            column: 0,
            key: String::new(),
            message: format!("not a list of pairs [key, value]: {error}"),
            help: None,
        }]
    })?;
    parse_with(text, FILE, &overrides, &NoFiles)
}

/// JSON of the messages that keep a scenario from running.
pub(crate) fn messages(diagnostics: Vec<incastle_scenario::Diagnostic>) -> String {
    let diagnostics: Vec<Diagnostic> = diagnostics.into_iter().map(Diagnostic::from).collect();
    crate::json(&diagnostics)
}
