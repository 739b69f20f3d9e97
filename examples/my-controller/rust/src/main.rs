//! Runs a scenario with the controller of `aimd`, and prints what each group of flows got.
//!
//!     cargo run --manifest-path examples/my-controller/rust/Cargo.toml [SCENARIO [KEY=VALUE ...]]

mod aimd;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process::ExitCode;

use incastle_driver::{Control, parse, run};
use incastle_experiment::{Column, Output};
use incastle_scenario::Controllers;

use aimd::Aimd;

/// The scenario beside this program.
const SCENARIO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/versus.toml");

fn main() -> ExitCode {
    match simulated() {
        Ok(output) => {
            for (group, bits) in goodput(&output) {
                println!("{group:8} {:6.1} Mbit/s", bits / 1e6);
            }
            println!("digest {}", output.digest);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// The result of the scenario that the command line names, or why there is none.
fn simulated() -> Result<Output, String> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| SCENARIO.to_owned());
    let sets: Vec<(String, String)> = arguments
        .map(|set| match set.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("{set}: expected KEY=VALUE")),
        })
        .collect::<Result<_, _>>()?;
    let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let (scenario, warnings) = parse(&text, &file, &sets).map_err(|mistakes| {
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })?;
    for warning in warnings {
        eprintln!("{warning}");
    }
    let controllers = Controllers::default().with("aimd", |setting| Box::new(Aimd::new(setting)));
    run(
        &scenario.with_controllers(&controllers),
        &Control::default(),
    )
    .map_err(|error| error.to_string())
}

/// Bits per second of each group of flows, from the result's table `flows`.
fn goodput(output: &Output) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    let flows = output.tables.iter().find(|table| table.name == "flows");
    let columns = flows.map_or(&[][..], |table| &table.columns);
    let column = |name| {
        columns
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, values)| values)
    };
    if let (Some(Column::Text(groups)), Some(Column::F64(bits))) =
        (column("group"), column("goodput_bit_s"))
    {
        for (group, bits) in groups.iter().zip(bits) {
            *sums.entry(group.to_string()).or_default() += bits;
        }
    }
    sums
}
