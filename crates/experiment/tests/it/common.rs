//! Runs of small scenarios, and their tables by column.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test program uses some of it"
)]

#[path = "../../../scenario/tests/it/common.rs"]
mod texts;

use incastle_experiment::{Column, Output, Overseer, RunError, simulate};
use incastle_scenario::Scenario;
use incastle_units::Time;

pub(crate) use texts::{
    ONE_FLOW, STAR, WORLDS, assert_near, leaf_spine, mixed, parse, scenario, star_with,
};

/// Groups for [`STAR`]: one flow of one segment.
pub(crate) const ONE_SEGMENT: &str = r#"
[flows.one]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "1460 B"
start = "1 ms"
start_spread = "0 s"
"#;

/// A bottleneck of 100 Mbit/s with a round trip of 10 ms: 125 KB are the bandwidth-delay product. Two senders for
/// 30 s, measured after a warm-up; this switch, and flows to be added with [`long_flow`].
pub(crate) fn long_path(warmup: &str, switch: &str) -> String {
    format!(
        r#"
[run]
duration = "30 s"
[network]
topology = "star"
senders = 2
rate = "100 Mbit/s"
delay = "2500 us"
[network.links.senders]
rate = "1 Gbit/s"
[measure]
warmup = "{warmup}"
window = {{ every = "10 ms" }}
[switch]
{switch}
"#
    )
}

/// The goodput of [`long_path`]: 1460 of 1500 bytes are data.
pub(crate) const LONG_PATH_GOODPUT: f64 = 97.33e6;

/// A flow without end from one of two senders.
pub(crate) fn long_flow(name: &str, sender: u32, congestion: &str) -> String {
    format!(
        "[flows.{name}]\nworkload = \"bulk\"\nfrom = \"sender:{sender}\"\nto = \"receiver\"\n\
         transport = {{ congestion = \"{congestion}\" }}\n"
    )
}

/// An overseer that never stops the run.
pub(crate) struct Unattended;

impl Overseer for Unattended {
    fn continues(&self, _: Time) -> bool {
        true
    }
}

pub(crate) fn run(scenario: &Scenario) -> Result<Output, RunError> {
    simulate(scenario, &Unattended)
}

pub(crate) fn result(text: &str, sets: &[(&str, &str)]) -> Output {
    run(&scenario(text, sets)).expect("the network can be built")
}

fn column<'a>(output: &'a Output, table: &str, name: &str) -> &'a Column {
    let table = output
        .tables
        .iter()
        .find(|known| known.name == table)
        .unwrap_or_else(|| panic!("no table {table}"));
    let (_, column) = table
        .columns
        .iter()
        .find(|(known, _)| known == name)
        .unwrap_or_else(|| panic!("no column {name} in {}", table.name));
    column
}

pub(crate) fn whole(output: &Output, table: &str, name: &str) -> Vec<u64> {
    match column(output, table, name) {
        Column::U64(values) => values.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

pub(crate) fn real(output: &Output, table: &str, name: &str) -> Vec<f64> {
    match column(output, table, name) {
        Column::F64(values) => values.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

pub(crate) fn text(output: &Output, table: &str, name: &str) -> Vec<String> {
    match column(output, table, name) {
        Column::Text(values) => values.iter().map(ToString::to_string).collect(),
        other => panic!("{name} is {other:?}"),
    }
}

fn row_of(output: &Output, port: &str) -> usize {
    let ports = text(output, "links", "port");
    let row = ports.iter().position(|known| known == port);
    row.expect("a port of that name")
}

/// The value of a column in the row of a port.
pub(crate) fn of_port(output: &Output, port: &str, name: &str) -> f64 {
    real(output, "links", name)[row_of(output, port)]
}

/// The count of a column in the row of a port.
pub(crate) fn count_of_port(output: &Output, port: &str, name: &str) -> u64 {
    whole(output, "links", name)[row_of(output, port)]
}

/// Everything but the wall clock.
pub(crate) fn comparable(mut output: Output) -> String {
    output.wall_s = 0.0;
    format!("{output:?}")
}

/// The types of the blocks of a pcapng file, and the captured and whole lengths of its frames.
pub(crate) fn blocks(bytes: &[u8]) -> (Vec<u32>, Vec<(u32, u32)>) {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let (mut kinds, mut frames, mut at) = (Vec::new(), Vec::new(), 0);
    while at < bytes.len() {
        kinds.push(word(at));
        if word(at) == 6 {
            frames.push((word(at + 20), word(at + 24)));
        }
        at += word(at + 4) as usize;
    }
    (kinds, frames)
}
