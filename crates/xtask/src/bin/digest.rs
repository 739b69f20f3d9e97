//! Prints the digest of the scenario on standard input.
//!
//! scripts/wasm_digest.py compares it with that of the engine for the browser. It uses the pure side alone: no
//! clock, no file, no thread.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};

use incastle_experiment::{Overseer, simulate};
use incastle_scenario::{Files, parse_with};
use incastle_units::Time;

/// A scenario here names no files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: this program opens no files"))
    }
}

/// The run is never stopped.
struct Unattended;

impl Overseer for Unattended {
    fn continues(&self, _now: Time) -> bool {
        true
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let (scenario, _warnings) =
        parse_with(&text, "standard input", &[], &NoFiles).map_err(|diagnostics| {
            let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            lines.join("\n")
        })?;
    writeln!(stdout(), "{}", simulate(&scenario, &Unattended)?.digest)?;
    Ok(())
}
