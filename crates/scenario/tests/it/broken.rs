//! Broken scenarios and their messages: tests/broken/NAME.toml, with NAME.txt. `incastle-xtask`
//! writes the messages anew.
#![allow(clippy::disallowed_methods, reason = "tests read their own files")]

use std::fs;
use std::path::{Path, PathBuf};

use incastle_scenario::{Diagnostic, Files, parse_with};

/// Files in the folder of this crate.
struct Beside;

impl Files for Beside {
    fn read(&self, path: &str) -> Result<String, String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario");
        fs::read_to_string(Path::new(folder).join(path)).map_err(|error| format!("{path}: {error}"))
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenario/tests/broken")
}

/// The names of all.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let scenarios = paths.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    let stem = |path: PathBuf| {
        path.file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    let mut names: Vec<String> = scenarios.map(stem).collect();
    names.sort();
    names
}

/// Where the messages of one are.
pub(crate) fn expected(name: &str) -> PathBuf {
    folder().join(format!("{name}.txt"))
}

fn overrides(name: &str) -> Vec<(String, String)> {
    if name != "overrides" {
        return Vec::new();
    }
    let sets = [
        ("run.duration", "2 parsecs"),
        ("switch.buffer", "[64 KiB, 128 KiB]"),
        ("host.jitter", "1us..10us"),
        ("host.tso_burst", "2:10:2"),
        ("run.seed.x", "1"),
        ("transport.congetsion", "dctcp"),
        ("flows.long.count", "2.5"),
        ("flows.long.transport.congestion", "vegas"),
        ("flows..count", "2"),
        ("network.senders", "1\nrate = 2"),
        ("switch.queue", "{ kind = 'threshold' }"),
        ("measure.window", "[long:0]"),
        ("flows.lnog.count", "2"),
        ("long.count", "2"),
        ("network.rate", "1,10 Gbit/s"),
        ("network.delay", "\u{201c}1 us\u{201d}"),
        ("network.receivers", "1-10"),
    ];
    sets.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec()
}

/// The diagnostics of one.
pub(crate) fn diagnostics(name: &str) -> Vec<Diagnostic> {
    let file = format!("{name}.toml");
    let text = fs::read_to_string(folder().join(&file)).expect("a broken scenario");
    match parse_with(&text, &file, &overrides(name), &Beside) {
        Ok((_, warnings)) => warnings,
        Err(findings) => findings,
    }
}

/// What is printed of one.
pub(crate) fn messages(name: &str) -> String {
    let lines: Vec<String> = diagnostics(name)
        .iter()
        .map(Diagnostic::to_string)
        .collect();
    lines.join("\n") + "\n"
}
