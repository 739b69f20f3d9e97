//! The program `softswitch`: a network from JSON, until its standard input ends.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::{fs, process::Command};

use clap::Parser;
use serde_json::json;

use crate::address;
use crate::clock::Clock;
use crate::namespace::{Namespace, explained};
use crate::network::Network;
use crate::plan::NetworkPlan;
use crate::report::Measurement;
use crate::switch::{Switch, hurry};
use crate::tun::Tun;

/// The exit status of bad input, and of a machine that does not permit it.
const BAD_INPUT: u8 = 2;
/// The name of each host's device.
const DEVICE: &str = "tun0";

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
}

/// Runs the program with what was typed, its own name first. Gives the exit status.
pub fn run(typed: impl IntoIterator<Item = OsString>) -> u8 {
    let options = match Options::try_parse_from(typed) {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { BAD_INPUT } else { 0 };
        }
    };
    match serve(&options.plan) {
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
        let real_time = hurry();
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

/// The hosts: a namespace and a device each.
struct Hosts {
    namespaces: Vec<Namespace>,
    devices: Vec<Tun>,
}

impl Hosts {
    fn make(plan: &NetworkPlan) -> io::Result<Self> {
        let mtu = u16::try_from(plan.mtu.0.count()).expect("a checked plan");
        let (mut namespaces, mut devices) = (Vec::new(), Vec::new());
        for host in 0..plan.hosts.len() {
            let namespace = Namespace::new()?;
            namespace.within(prepare)?;
            devices.push(Tun::make(&namespace, DEVICE, address::of(host), mtu)?);
            namespaces.push(namespace);
        }
        Ok(Self {
            namespaces,
            devices,
        })
    }

    fn places(&self, plan: &NetworkPlan) -> BTreeMap<String, serde_json::Value> {
        let hosts = plan.hosts.iter().zip(&self.namespaces).enumerate();
        hosts
            .map(|(number, (name, namespace))| {
                let place = json!({"address": address::of(number), "namespace": namespace.path()});
                (name.clone(), place)
            })
            .collect()
    }
}

/// In a new namespace: the loopback, and no chatter of IPv6's own.
fn prepare() -> io::Result<()> {
    for which in ["all", "default"] {
        let quiet = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        // A kernel without IPv6 has no such file.
        if Path::new(&quiet).exists() {
            fs::write(&quiet, "1").map_err(|error| explained(&quiet, &error))?;
        }
    }
    let up = ["link", "set", "lo", "up"];
    let status = Command::new("ip").args(up).status();
    match status.map_err(|error| explained("needs the program ip (iproute2)", &error))? {
        done if done.success() => Ok(()),
        _ => Err(io::Error::other("ip could not set the loopback up")),
    }
}
