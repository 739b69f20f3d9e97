//! What is kept of single events: plain records, in order of time, that result tables are made of.

use incastle_congestion::{ControlState, RateState, TransmissionMode};
use incastle_queueing::Sample;
use incastle_transport::tcp::TimeoutReport;
use incastle_units::{Bytes, Span, Time};

use crate::core::{FlowIndex, HostIndex, PortIndex, Side, SwitchIndex};
use crate::probe::{Lost, SentPacket};

/// A queue at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSample {
    /// When.
    pub at: Time,
    /// Where.
    pub port: PortIndex,
    /// Packets that wait.
    pub packets: u32,
    /// Their bytes.
    pub bytes: Bytes,
}

/// The memory of a switch, or of one of its ports, at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySample {
    /// When.
    pub at: Time,
    /// Where.
    pub switch: SwitchIndex,
    /// At which port; absent for all together.
    pub port: Option<PortIndex>,
    /// Bytes stored, packets being sent included.
    pub stored: Bytes,
    /// The most that may be stored there at that instant, where that is known: of a port its
    /// threshold, of all the memory.
    pub limit: Option<Bytes>,
}

/// A flow's control state at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WindowSample {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: FlowIndex,
    /// What.
    pub state: ControlState,
    /// The smoothed round-trip time.
    pub rtt: Option<Span>,
}

/// A change of a DCUDP sender's mode, or its mode at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeSample {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: FlowIndex,
    /// What it is from here on.
    pub mode: TransmissionMode,
}

/// A reaction point at one instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateSample {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: FlowIndex,
    /// At which end.
    pub side: Side,
    /// What.
    pub state: RateState,
}

/// A sampling of a congestion point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CongestionSample {
    /// When.
    pub at: Time,
    /// Where.
    pub port: PortIndex,
    /// Whose frame.
    pub flow: FlowIndex,
    /// What came of it.
    pub sample: Sample,
    /// Bytes that waited before the frame.
    pub queue: Bytes,
}

/// A retransmission timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: FlowIndex,
    /// The end that had waited.
    pub side: Side,
    /// What it knew.
    pub report: TimeoutReport,
}

/// A dropped packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// When.
    pub at: Time,
    /// Where.
    pub port: PortIndex,
    /// What.
    pub lost: Lost,
}

/// A packet that has left a captured port.
#[derive(Debug, Clone)]
pub struct Sent {
    /// When its last bit left.
    pub at: Time,
    /// Where.
    pub port: PortIndex,
    /// What.
    pub packet: SentPacket,
}

/// A time in which nothing reached a host, between two packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// Which host.
    pub host: HostIndex,
    /// When the last packet before it had arrived.
    pub from: Time,
    /// When the next one arrived.
    pub to: Time,
}
