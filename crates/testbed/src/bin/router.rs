//! `router`: a bottleneck between two network namespaces, in real time, with a discipline of `queueing`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use incastle_queueing::{DropTail, Marker, PortBuffer, Red, RedConfig, Threshold, ThresholdConfig};
use incastle_testbed::bottleneck::{Bottleneck, Counts};
use incastle_testbed::clock::Clock;
use incastle_testbed::ip;
use incastle_testbed::samples::{LatenessSummary, QueueSummary};
use incastle_testbed::tun::Tun;
use incastle_testbed::wait::readable;
use incastle_units::{Amount, Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use rustix::thread::set_current_timer_slack;
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
    fn discipline(&self) -> Result<Marker, String> {
        Ok(match self.queue {
            Queue::DropTail => Marker::DropTail(DropTail),
            Queue::Threshold => Marker::Threshold(Threshold::new(ThresholdConfig {
                marking_threshold: self.marking_threshold,
                drop_not_ect: self.drop_not_ect,
            })),
            Queue::Red => {
                let config = RedConfig {
                    min_th: self.min_th,
                    max_th: self.max_th,
                    max_p: self.max_p,
                    w_q: self.w_q,
                    ..RedConfig::default()
                };
                config.check().map_err(|error| error.to_string())?;
                Marker::Red(Box::new(Red::new(&config, self.rate)))
            }
        })
    }

    fn bottleneck(&self, discipline: Marker) -> Bottleneck {
        let buffer = PortBuffer::Limited(self.buffer);
        Bottleneck::new(discipline, buffer, self.rate, self.delay)
    }
}

#[derive(Serialize)]
struct DirectionReport {
    #[serde(flatten)]
    counts: Counts,
    queue_packets: QueueSummary,
    lateness: LatenessSummary,
    /// Packets that the receiving namespace did not take.
    refused: u64,
}

#[derive(Serialize)]
struct Report {
    seconds: f64,
    forward: DirectionReport,
    backward: DirectionReport,
}

/// One direction: from a device, through a bottleneck, to a device.
struct Direction<'a> {
    from: &'a Tun,
    to: &'a Tun,
    bottleneck: Bottleneck,
    bleach: bool,
    refused: u64,
}

impl Direction<'_> {
    fn receive(
        &mut self,
        clock: &Clock,
        rng: &mut Xoshiro256PlusPlus,
        room: &mut [u8],
    ) -> io::Result<()> {
        // A bounded number, so that departures have their turn.
        for _ in 0..16 {
            let Some(length) = self.from.read(room)? else {
                break;
            };
            if self.bleach {
                ip::bleach(&mut room[..length]);
            }
            self.bottleneck
                .arrive(clock.now(), room[..length].into(), rng);
        }
        Ok(())
    }

    fn send_due(&mut self, clock: &Clock) {
        while let Some(packet) = self.bottleneck.depart(clock.now()) {
            self.refused += u64::from(!self.to.write(&packet));
        }
    }

    fn report(&mut self, now: Time) -> DirectionReport {
        let report = DirectionReport {
            counts: *self.bottleneck.counts(),
            queue_packets: self.bottleneck.queue(now).summary(),
            lateness: self.bottleneck.lateness().summary(),
            refused: std::mem::take(&mut self.refused),
        };
        self.bottleneck.restart(now);
        report
    }
}

struct Router<'a> {
    clock: Clock,
    directions: [Direction<'a>; 2],
    since: Time,
}

impl Router<'_> {
    fn report(&mut self) -> io::Result<()> {
        let now = self.clock.now();
        let [forward, backward] = &mut self.directions;
        let report = Report {
            seconds: now.saturating_since(self.since).as_secs_lossy(),
            forward: forward.report(now),
            backward: backward.report(now),
        };
        self.since = now;
        println!("{}", serde_json::to_string(&report)?);
        Ok(())
    }

    fn run(&mut self, seed: u64) -> io::Result<()> {
        let input = io::stdin();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut room = vec![0; 1 << 16];
        loop {
            let next = self
                .directions
                .iter()
                .filter_map(|direction| direction.bottleneck.next_departure());
            let deadline = next.min();
            let [forward, backward] = &self.directions;
            let sources = [forward.from.as_fd(), backward.from.as_fd(), input.as_fd()];
            let ready = readable(&self.clock, &sources, deadline)?;
            for direction in &mut self.directions {
                direction.send_due(&self.clock);
                direction.receive(&self.clock, &mut rng, &mut room)?;
            }
            if ready[2] {
                let mut line = [0; 256];
                let count = input.lock().read(&mut line)?;
                self.report()?;
                if count == 0 {
                    return Ok(());
                }
            }
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let [forward, backward] = [options.discipline()?, Marker::DropTail(DropTail)]
        .map(|discipline| options.bottleneck(discipline));
    let attach = |device: &Device| {
        Tun::attach(&device.namespace, &device.name).map_err(|error| error.to_string())
    };
    let (left, right) = (attach(&options.left)?, attach(&options.right)?);
    // Timers fire to the nanosecond, as far as the machine can; 50 us late is usual otherwise.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    println!("ready");
    let direction = |from, to, bottleneck| Direction {
        from,
        to,
        bottleneck,
        bleach: options.bleach,
        refused: 0,
    };
    let clock = Clock::start();
    let mut router = Router {
        directions: [
            direction(&left, &right, forward),
            direction(&right, &left, backward),
        ],
        since: clock.now(),
        clock,
    };
    router.run(options.seed).map_err(|error| error.to_string())
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
