//! Trace events of recorded flows: of their packets, and inside their endpoints.
//!
//! Endpoints are observed after each call, and differences are events: transports and controllers do not depend on
//! records. Leaves out: the content of SACK blocks, and timers that were moved and never fired.

use incastle_congestion::{ControlState, Phase};
use incastle_links::Transit;
use incastle_queueing::{QueueSeen, Verdict};
use incastle_transport::tcp::RackTlpStats;
use incastle_units::{Rate, Time};

use crate::core::{EndpointIndex, PortIndex};

/// The identity of a packet within its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The endpoint that has sent it.
    pub endpoint: EndpointIndex,
    /// The instant at which that passed it to the NIC.
    pub sent: Time,
    /// Words of its content, without the ECN field, which switches change. Packets that one endpoint sent at one instant
    /// with equal words are not distinguished.
    pub words: [u64; 2],
}

/// The content of a packet, in the numbers of its wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The name of its kind.
    pub kind: &'static str,
    /// Its first byte (TCP), or its number (UDT's data, datagrams).
    pub seq: Option<Number>,
    /// The next byte or packet that its sender expects, where it acknowledges.
    pub ack: Option<Number>,
    /// Application bytes.
    pub payload: u16,
}

/// A sequence number on the wire of its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// TCP: 32 bits that wrap.
    Tcp(u32),
    /// UDT: 31 bits that wrap.
    Udt(u32),
    /// RDMA: 24 bits that wrap.
    Rdma(u32),
    /// Datagrams: their count.
    Datagram(u64),
}

/// The state of an endpoint between two calls.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Observation {
    /// Bytes written by its application.
    pub written: u64,
    /// In-order bytes delivered to its application.
    pub delivered: u64,
    /// Data packets retransmitted.
    pub retransmissions: u64,
    /// Duplicate ACKs received (TCP).
    pub duplicate_acks: u64,
    /// Fast retransmits (TCP).
    pub fast_retransmits: u64,
    /// Tail loss probes and the losses that the reordering timer found (TCP).
    pub rack_tlp: RackTlpStats,
    /// Expirations of EXP with data outstanding (UDT).
    pub expiries: u64,
    /// NAKs received (UDT); those that were followed (RDMA).
    pub naks: u64,
    /// The part that only queue pairs have.
    pub pair: incastle_rdma::Observation,
    /// The phase of loss recovery (TCP).
    pub phase: Option<Phase>,
    /// The pacing rate (TCP, RDMA).
    pub pacing: Option<Rate>,
    /// The state of congestion control.
    pub control: ControlState,
}

/// A trace event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TraceEvent<'a> {
    /// An endpoint has passed a packet to its NIC, or to its rate limiter.
    Sent {
        /// Its identity.
        tag: Tag,
        /// Its content.
        content: Content,
        /// Whether it is a retransmission.
        repeated: bool,
        /// Its traffic class, which is its priority.
        class: u8,
        /// The NIC's port.
        port: PortIndex,
        /// The time to the next hop.
        transit: Transit,
        /// The instant until which pacing has held it (RDMA).
        paced_until: Option<Time>,
    },
    /// The rate limiter has released a packet to the NIC.
    Released(Tag),
    /// A port has judged a packet.
    Judged {
        /// Its identity.
        tag: Tag,
        /// The port.
        port: PortIndex,
        /// The verdict.
        verdict: Verdict,
        /// The queue at that instant.
        queue: QueueSeen,
        /// The time to the next hop.
        transit: Transit,
    },
    /// A packet has reached its host.
    Received(Tag),
    /// A congestion notification has reached the endpoint, with its quantised feedback.
    Notified(u8),
    /// The state of the endpoint.
    Observed(&'a Observation),
}
