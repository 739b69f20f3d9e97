//! The two endpoints of a throughput measurement: data for a time, then what each has seen.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::sleep_until;

use super::{Meter, processor_time};
use crate::error::Failure;
use crate::protocol::{BenchRequest, Channel, Chunk, Frame, Hash, MAX_DATA, Report, unexpected};

/// The reports of both endpoints.
#[derive(Debug, Clone, Copy)]
pub struct Reports {
    /// This endpoint.
    pub here: Report,
    /// The peer.
    pub there: Report,
}

/// With a limit on the rate, one part lasts this long at most.
const STEP: Duration = Duration::from_millis(2);

/// Sends for the time that is wanted, at the rate that is allowed.
pub async fn source<R, W>(
    channel: &mut Channel<R, W>,
    wanted: &BenchRequest,
    meter: &Meter,
) -> Result<Reports, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let BenchRequest { millis, rate, .. } = *wanted;
    let chunk = chunk(rate);
    let watch = Watch::start();
    let time = Duration::from_millis(u64::from(millis));
    while watch.started.elapsed() < time {
        let due = due(meter.bytes(), rate).min(time);
        if due > watch.started.elapsed() {
            sleep_until((watch.started + due).into()).await;
            continue;
        }
        channel.send_chunk(&chunk).await?;
        meter.add(chunk.len());
    }
    channel
        .send(&Frame::End {
            hash: Hash::default(),
        })
        .await?;
    let there = report(channel).await?;
    let here = watch.stop(meter.bytes());
    channel.send(&Frame::Report(here)).await?;
    Ok(Reports { here, there })
}

/// Receives until the end.
pub async fn sink<R, W>(channel: &mut Channel<R, W>, meter: &Meter) -> Result<Reports, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut watch = Watch::start();
    loop {
        match channel.receive().await? {
            Frame::Data(bytes) => {
                // The time counts from the first data, not from the request.
                if meter.bytes() == 0 {
                    watch = Watch::start();
                }
                meter.add(bytes.len());
                channel.keep_alive().await?;
            }
            Frame::End { .. } => break,
            other => return Err(unexpected(&other)),
        }
    }
    let here = watch.stop(meter.bytes());
    channel.send(&Frame::Report(here)).await?;
    let there = report(channel).await?;
    Ok(Reports { here, there })
}

async fn report<R, W>(channel: &mut Channel<R, W>) -> Result<Report, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match channel.receive().await? {
        Frame::Report(report) => Ok(report),
        other => Err(unexpected(&other)),
    }
}

/// The data of a measurement: zeros, in parts that are small where the rate is.
fn chunk(rate: u64) -> Chunk {
    let step = u128::from(rate) * STEP.as_micros() / 8_000_000;
    let bytes = match rate {
        0 => MAX_DATA,
        _ => usize::try_from(step).unwrap_or(MAX_DATA).clamp(1, MAX_DATA),
    };
    let filled = Chunk::fill(|_| Ok::<_, Infallible>(bytes));
    let Ok(chunk) = filled;
    chunk.expect("at least one byte")
}

/// The payload in the first `bytes` of a sender's stream since the measurement began; at most `limit`.
pub fn payload(bytes: u64, rate: u64, limit: u64) -> u64 {
    let part = chunk(rate);
    let (whole, data) = (part.wire().len() as u64, part.len() as u64);
    let header = whole - data;
    let begun = (bytes % whole).saturating_sub(header);
    limit.min(bytes / whole * data + begun)
}

/// When the next part may leave.
fn due(bytes: u64, rate: u64) -> Duration {
    if rate == 0 {
        return Duration::ZERO;
    }
    let nanos = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

struct Watch {
    started: Instant,
    processor: Duration,
}

impl Watch {
    fn start() -> Self {
        Self {
            started: Instant::now(),
            processor: processor_time(),
        }
    }

    fn stop(&self, bytes: u64) -> Report {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Report {
            bytes,
            micros: micros(self.started.elapsed()),
            cpu_micros: micros(processor_time().saturating_sub(self.processor)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_rate() {
        assert_eq!(chunk(0).len(), MAX_DATA);
        // 1 Gbit/s for 2 ms: 2 Mbit, 250 kB.
        assert_eq!(chunk(1_000_000_000).len(), 250_000);
        assert_eq!(chunk(u64::MAX).len(), MAX_DATA);
        assert_eq!(chunk(1).len(), 1);
        // A header of 5 bytes before each part of 250 kB.
        let at = |bytes| payload(bytes, 1_000_000_000, 500_000);
        assert_eq!(
            [0, 5, 6, 250_005, 250_010].map(at),
            [0, 0, 1, 250_000, 250_000]
        );
        // The end and what follows it are no payload.
        assert_eq!([500_010, 600_000].map(at), [500_000, 500_000]);
        // 125 MB at 1 Gbit/s.
        assert_eq!(due(125_000_000, 1_000_000_000), Duration::from_secs(1));
        assert_eq!(due(u64::MAX, 0), Duration::ZERO);
        assert_eq!(due(u64::MAX, 1), Duration::from_nanos(u64::MAX));
    }
}
