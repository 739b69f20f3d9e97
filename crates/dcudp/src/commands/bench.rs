//! `dcudp bench HOST:PORT`: throughput, with a line per interval.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use incastle_socket::Rate;
use tokio::time::{MissedTickBehavior, interval_at};

use super::stopped;
use crate::arguments::Bench;
use crate::bench::Meter;
use crate::bench::flow::{Reports, sink, source};
use crate::bench::table::{End, Ends, Interval, Measurement, Snapshot, control};
use crate::error::{DONE, Failure, INTERRUPTED};
use crate::link::Link;
use crate::protocol::{BenchDirection, Frame, unexpected};
use crate::terminal::{error, note, say};

pub(super) async fn run(arguments: Bench) -> Result<u8, Failure> {
    let peer = arguments
        .peer
        .as_ref()
        .expect("clap wants it without --serve");
    let link = Link::call(peer, &arguments.link).await?;
    let mut lines = Lines::new(&link, &arguments);
    let ending = tokio::select! {
        measured = link.telling(measure(&mut lines)) => match measured {
            Ok(reports) => Ending::Whole(reports),
            Err(failure) => Ending::Failed(failure),
        },
        () = stopped() => Ending::Interrupted,
    };
    let intervals = lines.end();
    let control = control(link.connection.statistics().control);
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
            ends: ending.reports().map(|reports| ends(&arguments, reports)),
        };
        show(&measurement, arguments.json);
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

fn ends(arguments: &Bench, reports: Reports) -> Ends {
    let (sender, receiver) = match direction(arguments) {
        BenchDirection::Up => (reports.here, reports.there),
        BenchDirection::Down => (reports.there, reports.here),
    };
    Ends {
        sender: End::new(sender),
        receiver: End::new(receiver),
    }
}

const fn direction(arguments: &Bench) -> BenchDirection {
    if arguments.reverse {
        BenchDirection::Down
    } else {
        BenchDirection::Up
    }
}

async fn measure(lines: &mut Lines<'_>) -> Result<Reports, Failure> {
    let (link, arguments) = (lines.link, lines.arguments);
    let mut channel = link.channel().await?;
    let millis = u32::try_from(arguments.time.as_millis()).expect("checked when it was typed");
    let rate = arguments.rate.map_or(0, Rate::bits_per_second);
    let direction = direction(arguments);
    let request = Frame::Bench {
        direction,
        millis,
        rate,
    };
    channel.send(&request).await?;
    match channel.receive().await? {
        Frame::Begin { .. } => {}
        other => return Err(unexpected(&other)),
    }
    let meter = Arc::clone(&lines.meter);
    let flow = async {
        match direction {
            BenchDirection::Up => source(&mut channel, millis, rate, &meter).await,
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
            last: Snapshot::default(),
            intervals: Vec::new(),
        }
    }

    /// A line per interval, until the measurement is over.
    async fn watch(&mut self) -> Infallible {
        let started = *self.started.insert(Instant::now());
        let every = self.arguments.interval;
        let mut ticks = interval_at((started + every).into(), every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        if !self.arguments.json {
            say(Interval::heading());
        }
        loop {
            ticks.tick().await;
            self.take(started);
        }
    }

    /// Ends the last interval here; gives all of them.
    fn end(mut self) -> Vec<Interval> {
        if let Some(started) = self.started {
            self.take(started);
        }
        self.intervals
    }

    /// Ends an interval here.
    fn take(&mut self, started: Instant) {
        let statistics = self.link.connection.statistics();
        let bytes = match direction(self.arguments) {
            BenchDirection::Up => statistics.acknowledged,
            BenchDirection::Down => self.meter.bytes(),
        };
        let time = started.elapsed();
        let interval = Interval::since(&mut self.last, time, bytes, &statistics);
        if !self.arguments.json {
            say(interval.line());
        }
        self.intervals.push(interval);
    }
}

fn show(measurement: &Measurement, json: bool) {
    if !json {
        if let Some(ends) = &measurement.ends {
            say(ends.lines());
        }
        return;
    }
    match serde_json::to_string_pretty(measurement) {
        Ok(text) => say(text),
        Err(problem) => error(problem),
    }
}
