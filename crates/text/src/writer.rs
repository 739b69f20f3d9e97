//! Writes the resolved scenario as TOML text: every parameter, in the order of the language.

use std::fmt::Write as _;

use crate::node::quoted_key;

/// Collects the lines of one table, then its sub-tables.
#[derive(Debug, Default)]
pub struct Writer {
    lines: Vec<String>,
    sections: Vec<(String, Writer)>,
}

impl Writer {
    /// `key = value`, the value already TOML.
    pub fn value(&mut self, key: &str, value: &str) {
        self.lines.push(format!("{} = {value}", quoted_key(key)));
    }

    /// A table within this one.
    pub fn section(&mut self, name: &str, fill: impl FnOnce(&mut Writer)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.sections.push((quoted_key(name), inner));
    }

    /// The text of a whole document.
    pub fn into_text(self) -> String {
        let mut out = String::new();
        self.emit("", &mut out);
        out
    }

    /// A table on one line, which has no sections.
    pub fn into_line(self) -> String {
        assert!(
            self.sections.is_empty(),
            "a table on one line has no sections"
        );
        format!("{{ {} }}", self.lines.join(", "))
    }

    fn emit(&self, path: &str, out: &mut String) {
        for line in &self.lines {
            out.push_str(line);
            out.push('\n');
        }
        for (name, section) in &self.sections {
            let full = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            if !section.lines.is_empty() || section.sections.is_empty() {
                if !out.is_empty() {
                    out.push('\n');
                }
                writeln!(out, "[{full}]").expect("writing to a string cannot fail");
            }
            section.emit(&full, out);
        }
    }
}
