//! Counters of a queue pair.

/// Counters; both roles of an endpoint. Those that every packet changes come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Stats {
    /// Data packets and requests that left, repeated ones included.
    pub sent: u64,
    /// ACKs that left.
    pub acks_sent: u64,
    /// Those that were repeated.
    pub retransmitted: u64,
    /// Payload bytes of these.
    pub retransmitted_bytes: u64,
    /// NAKs that left.
    pub naks_sent: u64,
    /// CNPs that left.
    pub cnps_sent: u64,
    /// ACKs and NAKs with an echo, and CNPs, that arrived.
    pub notifications: u64,
    /// NAKs that arrived and were followed.
    pub naks_received: u64,
    /// Gaps in responses of READs, after which they were asked for again.
    pub read_retries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Requests that arrived out of sequence.
    pub out_of_sequence: u64,
    /// Requests that had arrived before.
    pub duplicates: u64,
}
