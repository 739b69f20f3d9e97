//! What can happen to a recorded flow, as probes are told of it: to its packets, and inside its endpoints.
//!
//! Endpoints are not asked what they do: after each call they are looked at, and what has changed is what
//! happened. So transports and controllers know nothing of records. Leaves out: what SACK blocks say,
//! and timers that were moved and never fired.

use incastle_congestion::{ControlState, Phase};
use incastle_queueing::Verdict;
use incastle_units::{Amount, Bytes, Rate, Span, Time};

use crate::core::{EndpointIndex, PortIndex};

/// What tells a packet from the others of its run, wherever it is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The endpoint that has sent it.
    pub endpoint: EndpointIndex,
    /// When that handed it to the NIC.
    pub sent: Time,
    /// Words of what it says, without the ECN field, which switches change. Of packets that one end
    /// sent at one instant, those with equal words overtake each other unnoticed.
    pub words: (u64, u64),
}

/// What a packet says, in the numbers of its wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// In one word.
    pub kind: &'static str,
    /// Its first byte (TCP), or its number (UDT's data, datagrams).
    pub seq: Option<Number>,
    /// The next byte or packet that its sender expects, where it says so.
    pub ack: Option<Number>,
    /// Application bytes.
    pub payload: u16,
}

/// A sequence number on the wire of its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// Of TCP: 32 bits that wrap.
    Tcp(u32),
    /// Of UDT: 31 bits that wrap.
    Udt(u32),
    /// Of datagrams: their count.
    Datagram(u64),
}

/// What a port's memory held when it judged a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSeen {
    /// Packets, the one being sent included.
    pub packets: u32,
    /// Their bytes.
    pub bytes: Bytes,
    /// The most that it may hold: of a shared memory the threshold of that instant.
    pub limit: Option<Amount>,
}

/// How long a packet takes from a port to the next node if it need not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transit {
    /// Until its last bit has left.
    pub serialisation: Span,
    /// From then to the far end of the link.
    pub propagation: Span,
}

/// An endpoint, as it stands between two calls.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Observation {
    /// Bytes that its application has written.
    pub written: u64,
    /// In-order bytes that its application has received.
    pub delivered: u64,
    /// Data packets that it has sent again.
    pub retransmissions: u64,
    /// Duplicate ACKs that it has received (TCP).
    pub duplicate_acks: u64,
    /// Fast retransmits that it has begun (TCP).
    pub fast_retransmits: u64,
    /// Times that EXP has expired with data outstanding (UDT).
    pub expiries: u64,
    /// NAKs that it has received (UDT).
    pub naks: u64,
    /// Where loss recovery stands (TCP).
    pub phase: Option<Phase>,
    /// The rate by which it waits between its segments (TCP).
    pub pacing: Option<Rate>,
    /// The controller's state.
    pub control: ControlState,
}

/// One thing that has happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TraceEvent<'a> {
    /// An endpoint has handed a packet to its NIC, or to the rate limiter before it.
    Sent {
        /// Which.
        tag: Tag,
        /// What it says.
        content: Content,
        /// Whether it repeats something that was sent before.
        repeated: bool,
        /// The NIC's port.
        port: PortIndex,
        /// What follows at the least.
        transit: Transit,
    },
    /// The rate limiter has let a packet go to the NIC.
    Released(Tag),
    /// A port has judged a packet.
    Judged {
        /// Which.
        tag: Tag,
        /// Where.
        port: PortIndex,
        /// How.
        verdict: Verdict,
        /// What it met.
        queue: QueueSeen,
        /// What follows at the least.
        transit: Transit,
    },
    /// A packet has reached its host.
    Received(Tag),
    /// A congestion notification has reached the end, with its quantised feedback.
    Notified(u8),
    /// The end has been looked at.
    Observed(&'a Observation),
}
