//! Writes anew what the repository stores and tests compare: after a deliberate change run
//! `cargo run -p incastle-xtask TASK`, and read the difference.
//!
//! - `reference`: the key tables of docs/scenario-reference.md.
//! - `fixtures`: the messages of broken scenarios, crates/scenario/tests/broken.
//! - `snapshots`: the trajectories of controllers, crates/congestion/tests/snapshots.
//!
//! `digest` is a separate program, which has no files. Leaves out: tests/digests.csv
//! (scripts/check_digests.py), which needs the installed module.
#![allow(clippy::disallowed_methods, reason = "a tool that writes files")]

use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

#[path = "../../scenario/tests/it/broken.rs"]
mod broken;
mod reference;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../congestion/tests/it/support/mod.rs"]
mod support;

const REFERENCE: &str = "docs/scenario-reference.md";
const BEGIN: &str = "<!-- keys: begin -->\n";
const END: &str = "<!-- keys: end -->\n";

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("reference") => reference(),
        Some("fixtures") => fixtures(),
        Some("snapshots") => snapshots(),
        _ => Err(Error::other("tasks: reference, fixtures, snapshots")),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn reference() -> Result<()> {
    let path = root().join(REFERENCE);
    let page = fs::read_to_string(&path)?;
    fs::write(path, with_keys(&page))
}

/// The page with its key tables as they are now.
fn with_keys(page: &str) -> String {
    let begin = page.find(BEGIN).expect("the page has the first mark") + BEGIN.len();
    let end = page.find(END).expect("the page has the second mark");
    format!(
        "{}\n{}{}",
        &page[..begin],
        reference::reference(),
        &page[end..]
    )
}

fn fixtures() -> Result<()> {
    for name in broken::names() {
        fs::write(broken::expected(&name), broken::messages(&name))?;
    }
    Ok(())
}

fn snapshots() -> Result<()> {
    let folder = root().join("crates/congestion/tests/snapshots");
    fs::write(folder.join("dcudp_r.csv"), support::shared::csv())?;
    fs::write(folder.join("rates.csv"), support::rates::csv())?;
    fs::write(folder.join("trajectory.csv"), support::trajectory::csv())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_current() {
        let page = fs::read_to_string(root().join(REFERENCE)).expect("the page is readable");
        let current = page == with_keys(&page);
        assert!(
            current,
            "the key tables are old: cargo run -p incastle-xtask reference"
        );
    }
}
