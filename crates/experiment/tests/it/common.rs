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
    ONE_FLOW, STAR, assert_near, leaf_spine, mixed, parse, scenario, star_with,
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

/// An overseer that never stops the run.
struct Unattended;

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

/// The value of a column in the row of a port.
pub(crate) fn of_port(output: &Output, port: &str, name: &str) -> f64 {
    let ports = text(output, "links", "port");
    let row = ports
        .iter()
        .position(|known| known == port)
        .expect("a port of that name");
    real(output, "links", name)[row]
}
