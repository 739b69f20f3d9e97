//! The messages of `incastle check`: each error or warning with its place.
//!
//! A diagnostic has a place (file, line, column, or the override), the finding, and, as its help,
//! the remedy. Leaves out: colours, and the lines of the file, which `incastle check` adds.

use std::fmt;

/// Whether a scenario can run in spite of the finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The scenario cannot run.
    Error,
    /// The scenario runs, but probably not as intended.
    Warning,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the scenario can run.
    pub severity: Severity,
    /// The file as it was named by the caller, or the override (`--set a.b=1`).
    pub file: String,
    /// The line, from 1; 0 for an override.
    pub line: u32,
    /// The column in characters, from 1; 0 for an override.
    pub column: u32,
    /// The key concerned, in full (`flows.storage.count`); empty for a syntax error.
    pub key: String,
    /// The finding.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        f.write_str(": ")?;
        if self.severity == Severity::Warning {
            f.write_str("warning: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(help) = &self.help {
            write!(f, "\n  {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}
