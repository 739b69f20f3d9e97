//! Broken scenarios and what is said of them: tests/broken/NAME.toml and NAME.txt beside it.
//!
//! After a change of the messages, write the new ones with
//! `INCASTLE_BLESS=1 cargo test -p incastle-scenario --test it diagnostics`, and read the difference.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read and write their own files"
)]

use std::fs;
use std::path::{Path, PathBuf};

use incastle_scenario::Diagnostic;

use crate::common::parse;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

fn overrides(name: &str) -> Vec<(String, String)> {
    if name != "overrides" {
        return Vec::new();
    }
    let sets = [
        ("run.duration", "2 parsecs"),
        ("run.seed.x", "1"),
        ("transport.congetsion", "dctcp"),
        ("flows.long.count", "2.5"),
        ("flows.long.transport.congestion", "vegas"),
        ("flows..count", "2"),
        ("network.senders", "1\nrate = 2"),
        ("switch.queue", "{ kind = 'threshold' }"),
        ("measure.window", "[long:0]"),
    ];
    sets.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec()
}

fn messages(name: &str) -> String {
    let text = fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
    let found: Vec<Diagnostic> = match parse(&text, &format!("{name}.toml"), &overrides(name)) {
        Ok((_, warnings)) => warnings,
        Err(findings) => findings,
    };
    let lines: Vec<String> = found.iter().map(Diagnostic::to_string).collect();
    lines.join("\n") + "\n"
}

#[test]
fn every_broken_scenario_is_told_what_is_wrong() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 10, "at least ten broken scenarios");
    for name in names {
        let path = folder().join(format!("{name}.txt"));
        let found = messages(&name);
        assert!(!found.is_empty(), "{name}: nothing found");
        if std::env::var_os("INCASTLE_BLESS").is_some() {
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            found,
            expected,
            "{name}: other messages than in {}",
            path.display()
        );
    }
}

#[test]
fn every_error_has_a_place() {
    for name in ["unknown-keys", "wrong-units", "out-of-range", "missing"] {
        let text = fs::read_to_string(folder().join(format!("{name}.toml"))).unwrap();
        let findings = parse(&text, name, &[]).unwrap_err();
        for finding in findings {
            assert!(finding.line > 0 && finding.column > 0, "{finding}");
        }
    }
}
