//! Texts of small scenarios, and what reads them.

#![allow(dead_code, reason = "each test program uses some of it")]
#![allow(clippy::disallowed_methods, reason = "tests read their own files")]

use incastle_scenario::{Diagnostic, Files, Scenario, parse_with};

/// Files in the folder of this crate.
struct Beside;

impl Files for Beside {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
    }
}

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

/// Controls, queues and links of today, in one run that ends.
pub(crate) const WORLDS: &str = include_str!("../../../../tests/worlds.toml");

/// The star with these switches instead; `""` gives them the defaults.
pub(crate) fn star_with(switch: &str) -> String {
    STAR.replace("[switch]\nbuffer = \"unlimited\"\n", switch)
}

/// Flows of several kinds on the star, with jitter and RED.
const MIXED: &str = r#"
[switch.queue]
kind = "red"
w_q = 0.1
[host]
jitter = "1 us"
[flows.bulk]
workload = "bulk"
from = "senders"
to = "receiver"
count = 6
transport = { congestion = "dctcp" }
[flows.short]
workload = "poisson"
from = "all"
to = "all"
sizes = "hadoop"
flow_rate = 5000
transport = { congestion = "cubic" }
[flows.noise]
workload = "on-off"
from = "sender:1"
to = "sender:2"
rate = "300 Mbit/s"
on = "200 us"
off = "300 us"
periods = "exponential"
transport = { kind = "udp" }
[flows.read]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "20 KB"
[measure]
warmup = "2 ms"
until = "8 ms"
queue = { every = "100 us" }
window = ["bulk", "read:0"]
throughput = { flows = "bulk", every = "1 ms" }
"#;

pub(crate) fn mixed() -> String {
    star_with("") + MIXED
}

/// A fabric of 10 Gbit/s and 1 us per link, flows to be added.
pub(crate) fn leaf_spine(leaves: u32, spines: u32, hosts: u32) -> String {
    format!(
        "[run]\nduration = \"10 ms\"\n[network]\ntopology = \"leaf-spine\"\nleaves = {leaves}\n\
         spines = {spines}\nhosts_per_leaf = {hosts}\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\n"
    )
}

pub(crate) fn parse(
    text: &str,
    file: &str,
    sets: &[(String, String)],
) -> Result<(Scenario, Vec<Diagnostic>), Vec<Diagnostic>> {
    parse_with(text, file, sets, &Beside)
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

pub(crate) fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not within {tolerance} of {expected}"
    );
}
