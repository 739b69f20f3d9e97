//! Records of single events, in order of time, for result tables.

use incastle_congestion::{ControlState, RateState, TransmissionMode};
use incastle_queueing::Sample;
use incastle_transport::tcp::TimeoutReport;
use incastle_units::{Bytes, Span, Time};

use incastle_engine::core::{FlowIndex, HostIndex, PortIndex, Side};
use incastle_engine::probe::{Lost, SentPacket};

/// A queue at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSample {
    /// The instant.
    pub at: Time,
    /// The port.
    pub port: PortIndex,
    /// Packets that wait.
    pub packets: u32,
    /// Their bytes.
    pub bytes: Bytes,
}

/// The congestion control of a flow at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowSample {
    /// The instant.
    pub at: Time,
    /// The flow.
    pub flow: FlowIndex,
    /// The state.
    pub state: ControlState,
    /// The smoothed round-trip time.
    pub rtt: Option<Span>,
}

/// A change of a DCUDP sender's mode, or its mode at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeSample {
    /// The instant.
    pub at: Time,
    /// The flow.
    pub flow: FlowIndex,
    /// The new mode.
    pub mode: TransmissionMode,
}

/// A reaction point at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSample {
    /// The instant.
    pub at: Time,
    /// The flow.
    pub flow: FlowIndex,
    /// The side of the endpoint.
    pub side: Side,
    /// The state.
    pub state: RateState,
}

/// A sample of a congestion point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CongestionSample {
    /// The instant.
    pub at: Time,
    /// The port.
    pub port: PortIndex,
    /// The flow of the frame.
    pub flow: FlowIndex,
    /// The sample.
    pub sample: Sample,
    /// Bytes waiting before the frame.
    pub queue: Bytes,
}

/// A retransmission timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// The instant.
    pub at: Time,
    /// The flow.
    pub flow: FlowIndex,
    /// The side of the endpoint.
    pub side: Side,
    /// Its state before the reaction.
    pub report: TimeoutReport,
}

/// A dropped packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// The instant.
    pub at: Time,
    /// The port.
    pub port: PortIndex,
    /// The packet.
    pub lost: Lost,
}

/// A packet that has left a captured port.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The instant at which its last bit left.
    pub at: Time,
    /// The port.
    pub port: PortIndex,
    /// The packet.
    pub packet: SentPacket,
}

/// A time without an arrival at a host, between two packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// The host.
    pub host: HostIndex,
    /// The arrival before it.
    pub from: Time,
    /// The next arrival.
    pub to: Time,
}
