//! The measurements of endpoints, in the time of the scenario.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::endpoint::connections::Totals;
use crate::samples::LatenessSummary;

/// A connection, at the end.
#[derive(Debug, Clone, Serialize)]
pub struct FlowRow {
    /// Its number.
    pub flow: usize,
    /// When it was opened.
    pub started_s: f64,
    /// When the last byte of its transfer had arrived.
    pub completed_s: Option<f64>,
    /// Bytes that the receiver has read.
    pub delivered_bytes: u64,
    /// The counters of its sender.
    #[serde(flatten)]
    pub totals: Totals,
    /// Marks that the network gave its packets, at each port counted.
    pub marks: u64,
    /// Packets of it that the network dropped.
    pub drops: u64,
}

/// A transfer.
#[derive(Debug, Clone, Serialize)]
pub struct TransferRow {
    /// Its connection.
    pub flow: usize,
    /// The round of its request.
    pub round: Option<u64>,
    /// When it began.
    pub started_s: f64,
    /// When its last byte had arrived.
    pub completed_s: Option<f64>,
    /// Its bytes.
    pub bytes: u64,
}

/// A round of requests.
#[derive(Debug, Clone, Serialize)]
pub struct RoundRow {
    /// The number of the requests.
    pub requests: usize,
    /// The number of the round.
    pub round: u64,
    /// When it began.
    pub started_s: f64,
    /// When the last response had arrived.
    pub completed_s: Option<f64>,
    /// The bytes of all responses.
    pub bytes: u64,
}

/// A connection's state at an instant.
#[derive(Debug, Clone, Serialize)]
pub struct WindowRow {
    /// The instant.
    pub time_s: f64,
    /// The connection.
    pub flow: usize,
    /// The congestion window, of a control that has one.
    pub cwnd_bytes: Option<u64>,
    /// The slow-start threshold; none while it is infinite.
    pub ssthresh_bytes: Option<u64>,
    /// DCTCP's alpha, where it is known.
    pub alpha: Option<f64>,
    /// The smoothed round-trip time; none before the first sample.
    pub rtt_s: Option<f64>,
}

/// All tables.
#[derive(Debug, Default, Serialize)]
pub struct Rows {
    /// Connections.
    pub flows: Vec<FlowRow>,
    /// Transfers.
    pub transfers: Vec<TransferRow>,
    /// Rounds.
    pub rounds: Vec<RoundRow>,
    /// The controls.
    pub windows: Vec<WindowRow>,
    /// How late flows, messages, requests and responses were written in the measured interval, in real time.
    #[serde(rename = "endpoint_lateness")]
    pub lateness: LatenessSummary,
    /// Bytes by interval and connection.
    #[serde(serialize_with = "triples")]
    pub throughput: BTreeMap<(u64, usize), u64>,
    /// Bytes by millisecond and receiving host.
    #[serde(serialize_with = "triples")]
    pub goodput: BTreeMap<(u64, usize), u64>,
}

/// A list of (interval, number, bytes).
fn triples<S: serde::Serializer>(
    counts: &BTreeMap<(u64, usize), u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(
        counts
            .iter()
            .map(|(&(bin, number), bytes)| (bin, number, bytes)),
    )
}
