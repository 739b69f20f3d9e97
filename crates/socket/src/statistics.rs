//! Snapshots of the counters of a connection and of an endpoint.

use std::time::Duration;

use incastle_congestion::TransmissionMode;
use incastle_secure::Statistics as SessionStatistics;
use incastle_transport::udt::Stats;
use incastle_transport::udt::wire::AckCounts;
use incastle_units::Rate;

use crate::Control;

/// A snapshot of a connection.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// The control that runs: any may have fallen back to UDT's.
    pub control: Control,
    /// DCUDP's mode.
    pub mode: Option<TransmissionMode>,
    /// The rate at which the control lets packets leave, where it sets one.
    pub rate: Option<Rate>,
    /// The smoothed round-trip time.
    pub rtt: Duration,
    /// At which rate packets arrive at the peer, by what it reports.
    pub receiving_rate: Option<Rate>,
    /// The path's capacity as UDT's control takes it: what the peer measured, at most the interface's
    /// rate; else that.
    pub path_capacity: Option<Rate>,
    /// Payload bytes written and not acknowledged.
    pub unacknowledged: u64,
    /// Payload bytes that the peer has acknowledged.
    pub acknowledged: u64,
    /// Payload bytes sent, retransmissions included.
    pub sent: u64,
    /// Payload bytes that the application has taken.
    pub delivered: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// NAKs received: reports of losses.
    pub losses_reported: u64,
    /// Acknowledgements that echoed a mark.
    pub marks_echoed: u64,
    /// Data packets that arrived with a mark.
    pub marks_received: u64,
    /// The window, of a control that has one.
    pub window: WindowStatistics,
    /// The peer's counts of arrived and marked packets, where ACKs are accurate.
    pub reported: Option<AckCounts>,
    /// Every counter of the protocol.
    pub protocol: Stats,
}

/// The state of a window control.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WindowStatistics {
    /// The congestion window in bytes of payload.
    pub cwnd: Option<u64>,
    /// The slow-start threshold; absent while it is unset.
    pub ssthresh: Option<u64>,
    /// DCTCP's estimate of the marked fraction.
    pub alpha: Option<f64>,
}

/// A snapshot of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndpointStatistics {
    /// Connections that there are.
    pub connections: usize,
    /// Bytes that arrived and were not read yet, of all connections.
    pub receive_memory: usize,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// System calls that sent them.
    pub sends: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Requests that were answered with a cookie.
    pub cookies_sent: u64,
    /// The sessions, on an endpoint with a key, and what they ignored.
    pub sessions: Option<SessionStatistics>,
    /// Datagrams that were ignored, by reason.
    pub ignored: Ignored,
}

/// Datagrams that had no effect, by reason. What a connection ignored is in its own counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ignored {
    /// No packet at all.
    pub malformed: u64,
    /// For a socket that is not there.
    pub unknown_socket: u64,
    /// For a connection, from another address than its peer's.
    pub wrong_address: u64,
    /// Handshakes that no listener or rendezvous waits for, or with a wrong cookie.
    pub handshakes: u64,
    /// Requests with a right cookie beyond the backlog or a limit of connections.
    pub beyond_limit: u64,
    /// Data beyond the limit of memory.
    pub beyond_memory: u64,
}
