//! `dcudp bench HOST:PORT`: throughput, with a line per interval.

use std::time::Instant;

use incastle_socket::{Event, Rate};
use tokio::time::{MissedTickBehavior, interval_at};

use super::stopped;
use crate::arguments::Bench;
use crate::bench::Meter;
use crate::bench::flow::{Reports, sink, source};
use crate::bench::table::{End, Interval, Measurement, Snapshot, control};
use crate::error::{DONE, Failure, INTERRUPTED};
use crate::link::Link;
use crate::protocol::{BenchDirection, Frame};
use crate::terminal::{error, note, say, warn};

pub(super) async fn run(arguments: Bench) -> Result<u8, Failure> {
    let peer = arguments
        .peer
        .as_ref()
        .expect("clap wants it without --serve");
    let link = Link::call(peer, &arguments.transport, &arguments.safety).await?;
    let mut intervals = Vec::new();
    let measured = tokio::select! {
        measured = measure(&link, &arguments, &mut intervals) => measured,
        () = stopped() => {
            link.abort().await;
            note("interrupted: what was measured so far is above");
            return Ok(INTERRUPTED);
        }
    };
    let reports = match measured {
        Ok(reports) => reports,
        Err(failure) => {
            link.close().await;
            return Err(failure);
        }
    };
    let (sender, receiver) = match direction(&arguments) {
        BenchDirection::Up => (reports.here, reports.there),
        BenchDirection::Down => (reports.there, reports.here),
    };
    let measurement = Measurement {
        peer: peer.to_string(),
        control: control(link.connection.statistics().control),
        direction: if arguments.reverse { "down" } else { "up" },
        intervals,
        sender: End::new(sender),
        receiver: End::new(receiver),
    };
    link.close().await;
    show(&measurement, arguments.json);
    Ok(DONE)
}

const fn direction(arguments: &Bench) -> BenchDirection {
    if arguments.reverse {
        BenchDirection::Down
    } else {
        BenchDirection::Up
    }
}

async fn measure(
    link: &Link,
    arguments: &Bench,
    intervals: &mut Vec<Interval>,
) -> Result<Reports, Failure> {
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
    let meter = Meter::default();
    let flow = async {
        match direction {
            BenchDirection::Up => source(&mut channel, millis, rate, &meter).await,
            BenchDirection::Down => sink(&mut channel, &meter).await,
        }
    };
    tokio::select! {
        reports = flow => reports,
        never = watch(link, arguments, &meter, intervals) => match never {},
        never = tell_events(link) => match never {},
    }
}

/// A line per interval, until the measurement is over.
async fn watch(
    link: &Link,
    arguments: &Bench,
    meter: &Meter,
    intervals: &mut Vec<Interval>,
) -> std::convert::Infallible {
    let started = Instant::now();
    let every = arguments.interval;
    let mut ticks = interval_at((started + every).into(), every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut last = Snapshot::default();
    if !arguments.json {
        say(Interval::heading());
    }
    loop {
        ticks.tick().await;
        let statistics = link.connection.statistics();
        let bytes = match direction(arguments) {
            BenchDirection::Up => statistics.acknowledged,
            BenchDirection::Down => meter.bytes(),
        };
        let interval = Interval::since(&mut last, started.elapsed(), bytes, &statistics);
        if !arguments.json {
            say(interval.line());
        }
        intervals.push(interval);
    }
}

/// What the user asked for and does not get.
async fn tell_events(link: &Link) -> std::convert::Infallible {
    let mut events = link.connection.events();
    while let Some(event) = events.next().await {
        match event {
            Event::Fallback => warn("the other end speaks UDT alone: its control is run"),
            Event::EcnFailed => warn("this path does not carry ECN: UDT's control is run"),
            _ => {}
        }
    }
    std::future::pending().await
}

fn show(measurement: &Measurement, json: bool) {
    if !json {
        say(measurement.closing());
        return;
    }
    match serde_json::to_string_pretty(measurement) {
        Ok(text) => say(text),
        Err(problem) => error(problem),
    }
}
