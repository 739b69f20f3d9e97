//! The program `softswitch`: a network from JSON, until its standard input ends.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::json;

use crate::clock::Clock;
use crate::experiment::{self, Kernel, Medium};
use crate::hosts::Hosts;
use crate::network::Network;
use crate::plan::NetworkPlan;
use crate::report::Measurement;
use crate::switch::{SWITCH_PRIORITY, Switch, hurry};

/// The exit status of bad input, and of a machine that does not permit it.
const BAD_INPUT: u8 = 2;

/// A network in real time: hosts are network namespaces, links have rates and delays, ports the queues of scenarios.
///
/// Needs root and /dev/net/tun. Once the network runs, the program prints a line of JSON: for each host its address, and
/// the path of its namespace for `nsenter --net=PATH COMMAND`. At each line of its standard input, and at its end, it
/// prints the measurements since the last one. The namespaces end with the program, however it ends.
#[derive(Parser)]
#[command(
    name = "softswitch",
    version,
    after_help = "Examples:
  softswitch network.json

  network.json:
    {\"hosts\": [\"a\", \"b\", \"c\"], \"switches\": [\"s\"], \"ports\": [
      {\"from\": \"a\", \"to\": \"s\", \"rate\": \"100 Mbit/s\", \"delay\": \"1 ms\"},
      {\"from\": \"b\", \"to\": \"s\", \"rate\": \"100 Mbit/s\", \"delay\": \"1 ms\"},
      {\"from\": \"c\", \"to\": \"s\", \"rate\": \"100 Mbit/s\", \"delay\": \"1 ms\"},
      {\"from\": \"s\", \"to\": \"a\", \"rate\": \"100 Mbit/s\", \"delay\": \"1 ms\"},
      {\"from\": \"s\", \"to\": \"b\", \"rate\": \"100 Mbit/s\", \"delay\": \"1 ms\"},
      {\"from\": \"s\", \"to\": \"c\", \"rate\": \"100 Mbit/s\", \"delay\": \"1 ms\", \"buffer\": \"100 packets\",
       \"queue\": {\"kind\": \"threshold\", \"marking_threshold\": \"20 packets\"}}]}"
)]
struct Options {
    /// The network, as JSON
    #[arg(value_name = "FILE")]
    plan: PathBuf,
    /// The file has workloads, too: run them over the kernel's TCP, print what was measured, and end. The standard input
    /// must stay open
    #[arg(long)]
    experiment: bool,
}

/// Runs the program with what was typed, its own name first. Gives the exit status.
pub fn run(typed: impl IntoIterator<Item = OsString>) -> u8 {
    run_over(typed, Kernel)
}

/// The same with experiments over other connections.
pub fn run_over(typed: impl IntoIterator<Item = OsString>, medium: impl Medium) -> u8 {
    let options = match Options::try_parse_from(typed) {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { BAD_INPUT } else { 0 };
        }
    };
    let done = if options.experiment {
        experiment::run(&options.plan, medium).map(|outcome| println!("{outcome}"))
    } else {
        serve(&options.plan)
    };
    match done {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("softswitch: {error}");
            BAD_INPUT
        }
    }
}

fn serve(file: &Path) -> Result<(), String> {
    let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| in_file(&error))?;
    let plan: NetworkPlan = serde_json::from_str(&text).map_err(|error| in_file(&error))?;
    let graph = plan.graph().map_err(|error| in_file(&error))?;
    let network = Network::new(graph);
    let hosts = Hosts::make(&plan).map_err(|error| error.to_string())?;
    let places = hosts.places(&plan);
    let forward = || -> io::Result<()> {
        let mut switch = Switch::new(Clock::start(), network, hosts.devices, plan.seed)?;
        let real_time = hurry(SWITCH_PRIORITY);
        println!("{}", json!({"hosts": places, "real_time": real_time}));
        report_on_request(&mut switch, plan.dilation)
    };
    forward().map_err(|error| error.to_string())
}

/// Forwards packets; prints a report for each line of the standard input, and at its end.
fn report_on_request(switch: &mut Switch, dilation: u64) -> io::Result<()> {
    let input = io::stdin();
    let mut measurement = Measurement::begin(switch, switch.clock().now());
    loop {
        switch.run(None, Some(input.as_fd()))?;
        let mut line = [0; 256];
        let count = input.lock().read(&mut line)?;
        let now = switch.clock().now();
        let report = measurement.report(switch, now, dilation);
        measurement = Measurement::begin(switch, now);
        println!("{}", serde_json::to_string(&report)?);
        if count == 0 {
            return Ok(());
        }
    }
}
