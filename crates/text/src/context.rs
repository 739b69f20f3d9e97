//! The state of reading a scenario: the findings, and the place of each key.

use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Severity};
use crate::files::Files;
use crate::node::Place;
use crate::overrides;

/// Collects findings while a scenario is read and checked; nothing stops at the first.
pub struct Context<'a> {
    /// Access to other files of the scenario.
    pub files: &'a dyn Files,
    /// The keys with errors, whose tables have been removed.
    pub removed: Vec<String>,
    /// The tables of the language that have a key.
    pub tables_with: fn(&str) -> Vec<String>,
    places: BTreeMap<String, Place>,
    findings: Vec<Finding>,
}

struct Finding {
    place: Place,
    severity: Severity,
    key: String,
    message: String,
    help: Option<String>,
    /// Whether the value has a form that its key does not have: several values, perhaps, or other quotes.
    is_form: bool,
}

/// A finding to which help can be added, unless it is a duplicate.
pub struct Reported<'a>(Option<&'a mut Finding>);

impl Reported<'_> {
    /// The remedy.
    pub fn help(self, help: impl Into<String>) {
        self.help_if(Some(help.into()));
    }

    /// The remedy, if there is one.
    pub fn help_if(self, help: Option<String>) {
        if let Some(finding) = self.0 {
            finding.help = help;
        }
    }

    /// Says whether the form of the value is wrong, rather than its key or its meaning.
    #[must_use]
    pub fn form(mut self, is_form: bool) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.is_form = is_form;
        }
        self
    }
}

/// The origin of a scenario.
pub struct Origin<'a> {
    /// The file as the caller named it.
    pub file: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The overrides as they were given.
    pub overrides: &'a [(String, String)],
}

impl<'a> Context<'a> {
    /// A context without findings.
    pub fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            removed: Vec::new(),
            tables_with: |_| Vec::new(),
            places: BTreeMap::new(),
            findings: Vec::new(),
        }
    }

    /// Stores the place of the value of `key`.
    pub fn record(&mut self, key: &str, place: Place) {
        self.places.insert(key.to_owned(), place);
    }

    /// The place of `key`, or of the nearest table above it.
    pub fn place_of(&self, key: &str) -> Place {
        let mut key = key;
        loop {
            if let Some(place) = self.places.get(key) {
                return *place;
            }
            match key.rfind('.') {
                Some(dot) => key = &key[..dot],
                None => return Place::File(0),
            }
        }
    }

    /// Whether the file or an override gave `key`.
    pub fn is_given(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// An error at `place`.
    pub fn error(&mut self, place: Place, key: &str, message: impl Into<String>) -> Reported<'_> {
        self.push(Severity::Error, place, key, message.into())
    }

    /// An error at the place where `key` was written.
    pub fn error_at(&mut self, key: &str, message: impl Into<String>) -> Reported<'_> {
        self.error(self.place_of(key), key, message)
    }

    /// A warning at `place`.
    pub fn warn(&mut self, place: Place, key: &str, message: impl Into<String>) -> Reported<'_> {
        self.push(Severity::Warning, place, key, message.into())
    }

    /// A warning at the place where `key` was written.
    pub fn warn_at(&mut self, key: &str, message: impl Into<String>) -> Reported<'_> {
        self.warn(self.place_of(key), key, message)
    }

    /// Whether tables with errors have been removed.
    pub fn is_partial(&self) -> bool {
        !self.removed.is_empty()
    }

    /// Whether this table at the top had errors: its values are not those that were meant.
    pub fn is_removed(&self, table: &str) -> bool {
        let mut removed = self.removed.iter();
        removed.any(|key| key.split('.').next() == Some(table))
    }

    /// The keys at which there are errors.
    pub fn error_keys(&self) -> Vec<String> {
        let errors = self
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        errors.map(|finding| finding.key.clone()).collect()
    }

    /// The number of findings so far.
    pub fn count(&self) -> usize {
        self.findings.len()
    }

    /// Notes that the findings after the first `known` are about the form of a value.
    pub fn are_forms(&mut self, known: usize) {
        for finding in &mut self.findings[known..] {
            finding.is_form = true;
        }
    }

    /// Removes the warnings after the first `known` findings: where a value is wrong, its default may cause them.
    pub fn drop_warnings(&mut self, known: usize) {
        let later = self.findings.split_off(known);
        let errors = later.into_iter();
        let errors = errors.filter(|finding| finding.severity == Severity::Error);
        self.findings.extend(errors);
    }

    /// Adds the errors that another context has found in the same file.
    pub fn take_errors(&mut self, other: Self) {
        let errors = other.findings.into_iter();
        for one in errors.filter(|finding| finding.severity == Severity::Error) {
            self.error(one.place, &one.key, one.message)
                .form(one.is_form)
                .help_if(one.help);
        }
    }

    /// Whether any finding so far prevents a run.
    pub fn has_errors(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Error)
    }

    fn push(
        &mut self,
        severity: Severity,
        place: Place,
        key: &str,
        message: String,
    ) -> Reported<'_> {
        // A table of defaults is read again for each group that inherits from it.
        let mut known = self.findings.iter();
        if known.any(|finding| finding.place == place && finding.message == message) {
            return Reported(None);
        }
        self.findings.push(Finding {
            place,
            severity,
            key: key.to_owned(),
            message,
            help: None,
            is_form: false,
        });
        Reported(self.findings.last_mut())
    }

    /// All findings in the order of the file, overrides last.
    pub fn into_diagnostics(mut self, origin: &Origin<'_>) -> Vec<Diagnostic> {
        self.findings.sort_by_key(|finding| finding.place);
        self.findings
            .into_iter()
            .map(|finding| {
                let (file, line, column) = origin.locate(finding.place);
                let help = match finding.place {
                    Place::Override(index) if finding.is_form => {
                        overrides::hint(&origin.overrides[index].1, finding.help)
                    }
                    _ => finding.help,
                };
                Diagnostic {
                    severity: finding.severity,
                    file,
                    line,
                    column,
                    key: finding.key,
                    message: finding.message,
                    help,
                }
            })
            .collect()
    }
}

impl Origin<'_> {
    /// File, line and column of a place; an override is its own place.
    fn locate(&self, place: Place) -> (String, u32, u32) {
        match place {
            Place::File(offset) => {
                let (line, column) = line_and_column(self.text, offset);
                (self.file.to_owned(), line, column)
            }
            Place::Override(index) => {
                let (key, value) = &self.overrides[index];
                let set = format!("--set {key}={value}");
                // A message has one line for its place.
                (set.replace(char::is_control, " "), 0, 0)
            }
        }
    }
}

/// Line and column, both from 1, columns in characters.
fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line as u32, before[start..].chars().count() as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::line_and_column;

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("a\nµs = x", 0), (1, 1));
        assert_eq!(line_and_column("a\nµs = x", 2), (2, 1));
        assert_eq!(line_and_column("a\nµs = x", 8), (2, 6));
    }
}
