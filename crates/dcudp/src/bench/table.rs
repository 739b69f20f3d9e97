//! The lines and the JSON of a throughput measurement.

use std::time::Duration;

use incastle_socket::{Statistics, TransmissionMode};
use serde::Serialize;

use super::latency::micros;
use crate::protocol::Report;
use crate::terminal::{bits_per_second_lossy, bytes_lossy, rate_lossy};

/// One interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interval {
    /// Where it begins.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// Payload that the receiver had: what it acknowledged, or what was read here.
    pub bytes: u64,
    /// The same per second.
    pub bits_per_second: f64,
    /// The round-trip time at its end.
    pub rtt_us: f64,
    /// DCUDP's mode at its end.
    pub mode: Option<&'static str>,
    /// Data packets that this endpoint sent again.
    pub retransmissions: u64,
    /// Reports of losses that this endpoint received.
    pub losses: u64,
    /// Marks: echoed by the receiver where this endpoint sends, received where the peer does.
    pub marks: u64,
}

/// One endpoint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Endpoint {
    /// Payload.
    pub bytes: u64,
    /// From its first byte to its end.
    pub seconds: f64,
    /// The quotient.
    pub bits_per_second: f64,
    /// Processor time of the process meanwhile.
    pub cpu_seconds: f64,
}

/// The whole measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measurement {
    /// The server's address.
    pub peer: String,
    /// The control that ran at the end.
    pub control: &'static str,
    /// "up": the client sends; "down": the server does.
    pub direction: &'static str,
    /// The intervals.
    pub intervals: Vec<Interval>,
    /// The reports of both endpoints. Absent where the measurement was cut short.
    #[serde(flatten)]
    pub endpoints: Option<Endpoints>,
}

/// Both endpoints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Endpoints {
    /// The sender.
    pub sender: Endpoint,
    /// The receiver: its rate is the goodput.
    pub receiver: Endpoint,
}

/// A snapshot that the next interval counts from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Snapshot {
    time: Duration,
    bytes: u64,
    retransmissions: u64,
    losses: u64,
    marks: u64,
    rtt: Duration,
    mode: Option<TransmissionMode>,
}

impl Snapshot {
    /// After that time, with `bytes` in all so far.
    pub fn new(time: Duration, bytes: u64, statistics: &Statistics) -> Self {
        Self {
            time,
            bytes,
            retransmissions: statistics.retransmissions,
            losses: statistics.losses_reported,
            marks: statistics.marks_echoed + statistics.marks_received,
            rtt: statistics.rtt,
            mode: statistics.mode,
        }
    }

    /// The time that has passed since another.
    pub fn since(&self, before: &Self) -> Duration {
        self.time.saturating_sub(before.time)
    }
}

impl Interval {
    /// The difference of two snapshots.
    pub fn between(before: &Snapshot, now: &Snapshot) -> Self {
        // A peer may report fewer than it acknowledged.
        let bytes = now.bytes.saturating_sub(before.bytes);
        Self {
            start_s: before.time.as_secs_f64(),
            end_s: now.time.as_secs_f64(),
            bytes,
            bits_per_second: bits_per_second_lossy(bytes, now.since(before)),
            rtt_us: micros(now.rtt),
            mode: now.mode.map(mode),
            retransmissions: now.retransmissions - before.retransmissions,
            losses: now.losses - before.losses,
            marks: now.marks - before.marks,
        }
    }

    /// How long it is.
    pub fn seconds(&self) -> f64 {
        self.end_s - self.start_s
    }

    /// The line above the intervals.
    pub fn heading() -> String {
        format!(
            "{:>15}  {:>9}  {:>12}  {:>11}  {:10}  {:>10}  {:>6}  {:>6}",
            "interval", "payload", "rate", "RTT", "mode", "sent again", "losses", "marks"
        )
    }

    /// One line.
    pub fn line(&self) -> String {
        let time = Duration::from_secs_f64(self.seconds());
        format!(
            "{:>6.2} - {:>4.2} s  {:>9}  {:>12}  {:>8.0} us  {:10}  {:>10}  {:>6}  {:>6}",
            self.start_s,
            self.end_s,
            bytes_lossy(self.bytes),
            rate_lossy(self.bytes, time),
            self.rtt_us,
            self.mode.unwrap_or("-"),
            self.retransmissions,
            self.losses,
            self.marks
        )
    }
}

impl Endpoint {
    /// From its report.
    pub fn new(report: Report) -> Self {
        let time = Duration::from_micros(report.micros);
        Self {
            bytes: report.bytes,
            seconds: time.as_secs_f64(),
            bits_per_second: bits_per_second_lossy(report.bytes, time),
            cpu_seconds: Duration::from_micros(report.cpu_micros).as_secs_f64(),
        }
    }

    fn line(&self) -> String {
        let time = Duration::from_secs_f64(self.seconds);
        format!(
            "{} in {:.2} s, {}, {:.2} s of processor time",
            bytes_lossy(self.bytes),
            self.seconds,
            rate_lossy(self.bytes, time),
            self.cpu_seconds
        )
    }
}

impl Endpoints {
    /// The lines below the intervals.
    pub fn lines(&self) -> String {
        let (sent, received) = (self.sender.line(), self.receiver.line());
        format!("sent      {sent}\nreceived  {received}")
    }
}

const fn mode(mode: TransmissionMode) -> &'static str {
    match mode {
        TransmissionMode::Udp => "udp",
        TransmissionMode::Congestion => "congestion",
    }
}
