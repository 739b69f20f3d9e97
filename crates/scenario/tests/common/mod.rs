//! Runs of small scenarios, and their tables by column.

#![allow(dead_code, reason = "each test program uses some of it")]

use incastle_scenario::{Column, Control, Output, Scenario, parse, run};

/// A star of 1 Gbit/s and 25 us per link, `[run]` and flows to be added.
pub(crate) const STAR: &str = r#"
[run]
duration = "10 ms"
[network]
topology = "star"
senders = 4
rate = "1 Gbit/s"
delay = "25 us"
[switch]
buffer = "unlimited"
[transport]
handshake = false
"#;

/// One flow whose size is to be set.
pub(crate) const ONE_FLOW: &str = r#"
[flows.one]
workload = "bulk"
from = "sender:0"
to = "receiver"
start_spread = "0 s"
"#;

/// The star with these switches instead; `""` gives them the defaults.
pub(crate) fn star_with(switch: &str) -> String {
    STAR.replace("[switch]\nbuffer = \"unlimited\"\n", switch)
}

pub(crate) fn scenario(text: &str, sets: &[(&str, &str)]) -> Scenario {
    let sets: Vec<(String, String)> = sets
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    parse(text, "test.toml", &sets)
        .unwrap_or_else(|found| panic!("{found:#?}"))
        .0
}

pub(crate) fn result(text: &str, sets: &[(&str, &str)]) -> Output {
    run(&scenario(text, sets), &Control::default()).expect("the network can be built")
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

pub(crate) fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not within {tolerance} of {expected}"
    );
}
