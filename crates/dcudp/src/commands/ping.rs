//! `dcudp ping`: round-trip times on one connection.

use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::time::sleep;

use super::{call, stopped};
use crate::arguments::Ping;
use crate::bench::latency::{Latencies, micros};
use crate::error::{DONE, FAILED, Failure, INTERRUPTED};
use crate::link::{Link, Stream};
use crate::protocol::{Frame, unexpected};
use crate::terminal::{counted, error, note, print};

pub(super) async fn run(arguments: Ping) -> Result<u8, Failure> {
    let mut stop = pin!(stopped());
    let Some(link) = call(&arguments.peer, &arguments.link, stop.as_mut()).await? else {
        return Ok(INTERRUPTED);
    };
    let mut times = Vec::new();
    let pinged = tokio::select! {
        pinged = link.with_warnings(ping_all(&link, &arguments, &mut times)) => pinged,
        () = stop => {
            link.abort().await;
            show(times, &arguments);
            note(format_args!("interrupted before all {} were sent", arguments.count));
            return Ok(INTERRUPTED);
        }
    };
    link.close().await;
    show(times, &arguments);
    match pinged {
        Ok(()) => Ok(DONE),
        Err(failure) => {
            error(failure);
            Ok(FAILED)
        }
    }
}

async fn ping_all(link: &Link, arguments: &Ping, times: &mut Vec<Duration>) -> Result<(), Failure> {
    let mut channel = link.channel().await?;
    for number in 0..arguments.count {
        if number > 0 && !arguments.interval.is_zero() {
            sleep(arguments.interval).await;
        }
        let time = ping_one(&mut channel, number, arguments.size).await?;
        times.push(time);
        if !arguments.json && !arguments.interval.is_zero() {
            print(format_args!(
                "{} B from {}: {:.0} us",
                arguments.size,
                arguments.peer,
                micros(time)
            ));
        }
    }
    Ok(())
}

async fn ping_one(channel: &mut Stream, number: u32, size: usize) -> Result<Duration, Failure> {
    // Distinct payloads: a late reply is not taken for the next one.
    let numbered = number.to_be_bytes().into_iter().cycle().take(size);
    let payload: Bytes = numbered.collect();
    let started = Instant::now();
    channel.send(&Frame::Ping(payload.clone())).await?;
    match channel.receive().await? {
        Frame::Pong(reply) if reply == payload => Ok(started.elapsed()),
        other => Err(unexpected(&other)),
    }
}

fn show(times: Vec<Duration>, arguments: &Ping) {
    let Some(found) = Latencies::of(times) else {
        return;
    };
    if !arguments.json {
        print(format_args!(
            "{}: min {:.0} us, mean {:.0} us, p50 {:.0} us, p99 {:.0} us, max {:.0} us",
            counted(found.count, "round trip"),
            found.min_us,
            found.mean_us,
            found.p50_us,
            found.p99_us,
            found.max_us
        ));
        return;
    }
    match serde_json::to_string_pretty(&found) {
        Ok(text) => print(text),
        Err(problem) => error(problem),
    }
}
