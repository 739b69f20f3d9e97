//! `dcudp bench HOST:PORT`: throughput, with a line per interval.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use incastle_socket::Rate;
use tokio::time::{MissedTickBehavior, interval_at, sleep};

use super::{call, stopped};
use crate::arguments::Bench;
use crate::bench::Meter;
use crate::bench::flow::{Reports, payload, sink, source};
use crate::bench::table::{Endpoint, Endpoints, Interval, Measurement, Snapshot};
use crate::error::{DONE, Failure, INTERRUPTED};
use crate::link::Link;
use crate::protocol::{BenchDirection, BenchRequest, Frame, unexpected};
use crate::terminal::{error, note, print};

pub(super) async fn run(arguments: Bench) -> Result<u8, Failure> {
    let peer = arguments
        .peer
        .as_ref()
        .expect("clap requires it without --serve");
    let mut stop = pin!(stopped());
    let Some(link) = call(peer, &arguments.link, stop.as_mut()).await? else {
        return Ok(INTERRUPTED);
    };
    let mut lines = Lines::new(&link, &arguments);
    let ending = tokio::select! {
        measured = link.with_warnings(measure(&mut lines)) => match measured {
            Ok(reports) => Ending::Whole(reports),
            Err(failure) => Ending::Failed(failure),
        },
        () = stop => Ending::Interrupted,
    };
    let intervals = lines.end(&ending);
    let control = link.connection.statistics().control.name();
    match ending {
        Ending::Interrupted => link.abort().await,
        Ending::Whole(_) | Ending::Failed(_) => link.close().await,
    }
    // Where it was cut short, what there is of it is shown: nothing if it never began.
    let began = !intervals.is_empty();
    if began {
        let measurement = Measurement {
            peer: peer.to_string(),
            control,
            direction: if arguments.reverse { "down" } else { "up" },
            intervals,
            endpoints: ending
                .reports()
                .map(|reports| endpoints(&arguments, reports)),
        };
        if arguments.json {
            show(&measurement);
        } else if let Some(endpoints) = &measurement.endpoints {
            print(endpoints.lines());
        }
    }
    match ending {
        Ending::Whole(_) => Ok(DONE),
        Ending::Interrupted => {
            note(if began {
                "interrupted: what was measured so far is above"
            } else {
                "interrupted before the measurement began"
            });
            Ok(INTERRUPTED)
        }
        Ending::Failed(failure) => Err(failure),
    }
}

/// How a measurement ended.
enum Ending {
    Whole(Reports),
    Interrupted,
    Failed(Failure),
}

impl Ending {
    const fn reports(&self) -> Option<Reports> {
        match self {
            Self::Whole(reports) => Some(*reports),
            Self::Interrupted | Self::Failed(_) => None,
        }
    }
}

fn endpoints(arguments: &Bench, reports: Reports) -> Endpoints {
    let (sender, receiver) = match direction(arguments) {
        BenchDirection::Up => (reports.here, reports.there),
        BenchDirection::Down => (reports.there, reports.here),
    };
    Endpoints {
        sender: Endpoint::new(sender),
        receiver: Endpoint::new(receiver),
    }
}

const fn direction(arguments: &Bench) -> BenchDirection {
    if arguments.reverse {
        BenchDirection::Down
    } else {
        BenchDirection::Up
    }
}

/// As the protocol has it: 0 for no limit.
fn rate(arguments: &Bench) -> u64 {
    arguments.rate.map_or(0, Rate::bits_per_second)
}

async fn measure(lines: &mut Lines<'_>) -> Result<Reports, Failure> {
    let (link, arguments) = (lines.link, lines.arguments);
    let mut channel = link.channel().await?;
    let millis = u32::try_from(arguments.time.as_millis()).expect("checked when it was typed");
    let wanted = BenchRequest {
        direction: direction(arguments),
        millis,
        rate: rate(arguments),
    };
    channel.send(&Frame::Bench(wanted)).await?;
    match channel.receive().await? {
        Frame::Begin { .. } => {}
        other => return Err(unexpected(&other)),
    }
    lines.begin();
    let meter = Arc::clone(&lines.meter);
    let flow = async {
        match wanted.direction {
            BenchDirection::Up => source(&mut channel, &wanted, &meter).await,
            BenchDirection::Down => sink(&mut channel, &meter).await,
        }
    };
    tokio::select! {
        reports = flow => reports,
        never = lines.watch() => match never {},
    }
}

/// The intervals of a measurement, each shown when it is over.
struct Lines<'a> {
    link: &'a Link,
    arguments: &'a Bench,
    meter: Arc<Meter>,
    /// Once it has begun.
    started: Option<Instant>,
    /// Bytes of the stream that were sent before it.
    sent_before: u64,
    /// Where the next interval begins.
    last: Snapshot,
    intervals: Vec<Interval>,
}

impl<'a> Lines<'a> {
    fn new(link: &'a Link, arguments: &'a Bench) -> Self {
        Self {
            link,
            arguments,
            meter: Arc::default(),
            started: None,
            sent_before: 0,
            last: Snapshot::default(),
            intervals: Vec::new(),
        }
    }

    /// The measurement begins here.
    fn begin(&mut self) {
        let statistics = self.link.connection.statistics();
        self.sent_before = statistics.acknowledged + statistics.unacknowledged;
        self.started = Some(Instant::now());
        if !self.arguments.json {
            print(Interval::heading());
        }
    }

    /// A line per interval, until the measurement is over.
    ///
    /// The last interval ends with the measurement, and is up to half longer than the others: a rate over a
    /// very short interval means nothing. So an interval is printed only once the measurement has continued
    /// for half of the next one.
    async fn watch(&mut self) -> Infallible {
        let every = self.arguments.interval;
        let started = self.started.expect("it has begun");
        let mut ticks = interval_at((started + every).into(), every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let half = every / 2;
        loop {
            ticks.tick().await;
            let now = self.snapshot(None);
            if now.since(&self.last) < half {
                // The tick before it was late.
                continue;
            }
            if started.elapsed() + half >= self.arguments.time {
                sleep(half).await;
            }
            self.add(now);
        }
    }

    /// Endpoints the last interval here; gives all of them.
    fn end(mut self, ending: &Ending) -> Vec<Interval> {
        if self.started.is_some() {
            // The reports have what arrived in the end, whatever was acknowledged by then.
            let bytes = ending
                .reports()
                .map(|reports| match direction(self.arguments) {
                    BenchDirection::Up => reports.there.bytes,
                    BenchDirection::Down => reports.here.bytes,
                });
            self.add(self.snapshot(bytes));
        }
        self.intervals
    }

    /// The measurement so far, with `bytes` in all if that is known.
    fn snapshot(&self, bytes: Option<u64>) -> Snapshot {
        let statistics = self.link.connection.statistics();
        let bytes = bytes.unwrap_or_else(|| match direction(self.arguments) {
            BenchDirection::Up => payload(
                statistics.acknowledged.saturating_sub(self.sent_before),
                rate(self.arguments),
                self.meter.bytes(),
            ),
            BenchDirection::Down => self.meter.bytes(),
        });
        let time = self.started.map_or(Duration::ZERO, |start| start.elapsed());
        Snapshot::new(time, bytes, &statistics)
    }

    /// An interval ends at that snapshot.
    fn add(&mut self, end: Snapshot) {
        let interval = Interval::between(&self.last, &end);
        if !self.arguments.json {
            print(interval.line());
        }
        self.last = end;
        self.intervals.push(interval);
    }
}

/// A measurement as JSON.
fn show(measurement: &Measurement) {
    match serde_json::to_string_pretty(measurement) {
        Ok(text) => print(text),
        Err(problem) => error(problem),
    }
}
