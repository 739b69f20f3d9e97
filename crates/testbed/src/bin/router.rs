//! `router`: a bottleneck between two network namespaces, in real time, with a discipline of `queueing`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use incastle_queueing::{PortBuffer, QueueConfig, RedAction, RedConfig, ThresholdConfig};
use incastle_softswitch::clock::Clock;
use incastle_softswitch::graph::{Graph, GraphPort};
use incastle_softswitch::namespace::Namespace;
use incastle_softswitch::network::Network;
use incastle_softswitch::port::{Framing, PortConfig};
use incastle_softswitch::report::{Measurement, PortReport};
use incastle_softswitch::switch::{SWITCH_PRIORITY, Switch, hurry};
use incastle_softswitch::tun::Tun;
use incastle_units::{Amount, Bytes, Rate, Span};
use serde::Serialize;

/// A bottleneck between two network namespaces, in real time.
///
/// Packets from the left device wait in a queue, which marks or drops them, and arrive on the right after transmission and
/// delay. The reverse path has the same rate and delay, and a drop-tail queue. The router prints
/// "ready" once both devices are attached. At each line of its standard input, and at its end, it writes the measurements since
/// the last one as a line of JSON.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  router client/tun0 server/tun0 --rate '100 Mbit/s' --delay '1 ms' --queue threshold --marking-threshold '15 packets'
  router client/tun0 server/tun0 --rate '100 Mbit/s' --queue drop-tail --buffer '100 packets'

The devices, before that:
  ip netns add client && ip -n client tuntap add tun0 mode tun
  ip -n client address add 10.0.0.1/30 dev tun0 && ip -n client link set tun0 up
  ip netns add server && ip -n server tuntap add tun0 mode tun
  ip -n server address add 10.0.0.2/30 dev tun0 && ip -n server link set tun0 up"
)]
struct Options {
    /// The device from which the bottleneck leads
    #[arg(value_name = "NAMESPACE/DEVICE", value_parser = device)]
    left: Device,
    /// The device to which it leads
    #[arg(value_name = "NAMESPACE/DEVICE", value_parser = device)]
    right: Device,
    /// The rate of both directions; IP headers count
    #[arg(long, default_value = "100 Mbit/s", value_parser = rate)]
    rate: Rate,
    /// The delay of each direction
    #[arg(long, default_value = "0 s")]
    delay: Span,
    /// The queue discipline
    #[arg(long, default_value = "drop-tail")]
    queue: Queue,
    /// Mark a packet that arrives at a longer queue than this
    #[arg(long, default_value = "15 packets")]
    marking_threshold: Amount,
    /// With a threshold: drop packets above it that are not ECN-capable
    #[arg(long)]
    drop_not_ect: bool,
    /// With RED: below this average nothing is marked
    #[arg(long, default_value = "5 packets")]
    min_th: Amount,
    /// With RED: from this average on everything is marked, or dropped if it cannot be
    #[arg(long, default_value = "15 packets")]
    max_th: Amount,
    /// With RED: the weight of the newest sample in the average
    #[arg(long, default_value_t = 0.002)]
    w_q: f64,
    /// With RED: the probability of a mark just below the upper threshold
    #[arg(long, default_value_t = 0.1)]
    max_p: f64,
    /// Capacity of the queue, the packet in transmission included
    #[arg(long, default_value = "1000 packets")]
    buffer: Amount,
    /// Clear the ECN field of every packet, as some paths do
    #[arg(long)]
    bleach: bool,
    /// Seed of RED's random draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone)]
struct Device {
    namespace: String,
    name: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Queue {
    DropTail,
    Threshold,
    Red,
}

fn device(text: &str) -> Result<Device, String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => Ok(Device {
            namespace: namespace.into(),
            name: name.into(),
        }),
        _ => Err("not a namespace and a device like client/tun0".into()),
    }
}

fn rate(text: &str) -> Result<Rate, String> {
    match text.parse::<Rate>() {
        Ok(rate) if rate.bits_per_second() > 0 => Ok(rate),
        Ok(_) => Err("must be above zero".into()),
        Err(error) => Err(error.to_string()),
    }
}

impl Options {
    const fn queue(&self) -> QueueConfig {
        match self.queue {
            Queue::DropTail => QueueConfig::DropTail,
            Queue::Threshold => QueueConfig::Threshold(ThresholdConfig {
                marking_threshold: self.marking_threshold,
                drop_not_ect: self.drop_not_ect,
            }),
            Queue::Red => QueueConfig::Red(RedConfig {
                min_th: self.min_th,
                max_th: self.max_th,
                max_p: self.max_p,
                w_q: self.w_q,
                gentle: false,
                action: RedAction::Mark,
                mean_packet_size: Bytes::new(1_500),
            }),
        }
    }

    /// The port of one direction.
    fn port(&self, from: usize, queue: QueueConfig) -> GraphPort {
        GraphPort {
            from,
            to: 1 - from,
            config: PortConfig {
                rate: self.rate,
                framing: Framing::IP,
                delay: self.delay,
                buffer: PortBuffer::Limited(self.buffer),
                queue,
                bleach: self.bleach,
                record: false,
            },
        }
    }
}

#[derive(Serialize)]
struct Report {
    seconds: f64,
    forward: PortReport,
    backward: PortReport,
    /// Packets that a namespace did not take.
    refused: u64,
}

/// Forwards packets; prints a report for each line of the standard input, and at its end.
fn forward(switch: &mut Switch) -> io::Result<()> {
    let input = io::stdin();
    let mut measurement = Measurement::begin(switch, switch.clock().now());
    loop {
        switch.run(None, Some(input.as_fd()))?;
        let mut line = [0; 256];
        let count = input.lock().read(&mut line)?;
        let now = switch.clock().now();
        let mut found = measurement.report(switch, now, 1);
        measurement = Measurement::begin(switch, now);
        let backward = found.ports.pop().expect("two ports");
        let report = Report {
            seconds: found.seconds,
            forward: found.ports.pop().expect("two ports"),
            backward,
            refused: found.refused,
        };
        println!("{}", serde_json::to_string(&report)?);
        if count == 0 {
            return Ok(());
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let queue = options.queue();
    queue.check().map_err(|error| error.to_string())?;
    let ports = vec![
        options.port(0, queue),
        options.port(1, QueueConfig::DropTail),
    ];
    let names = vec!["left".to_owned(), "right".to_owned()];
    let graph = Graph::new(names, 2, ports).expect("two hosts and a link");
    let attach = |device: &Device| {
        let Device { namespace, name } = device;
        let opened = Namespace::named(namespace).and_then(|place| Tun::attach(&place, name));
        opened.map_err(|error| format!("cannot attach to {name} in namespace {namespace}: {error}"))
    };
    let devices = vec![attach(&options.left)?, attach(&options.right)?];
    hurry(SWITCH_PRIORITY);
    println!("ready");
    Switch::new(Clock::start(), Network::new(graph), devices, options.seed)
        .and_then(|mut switch| forward(&mut switch))
        .map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("router: {error}");
            ExitCode::from(2)
        }
    }
}
