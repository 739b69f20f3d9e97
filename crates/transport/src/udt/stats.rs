//! Counters of one endpoint. Nothing inside reads them. A refused packet is counted by its reason,
//! and has no other effect.

use super::wire::WIRE_ERRORS;

/// Packets that were refused, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused {
    /// Datagrams that are no packets, by [`WireError::index`](super::wire::WireError::index).
    pub malformed: [u64; WIRE_ERRORS],
    /// For another socket.
    pub wrong_socket: u64,
    /// Before the handshake was over, or after the end.
    pub wrong_state: u64,
    /// Impossible handshakes: another version, a tiny packet size, a window of 0 or beyond 2^31, a
    /// first number that is not ours.
    pub handshakes: u64,
    /// Data with more payload than was agreed.
    pub long_data: u64,
    /// Data beyond the receive buffer.
    pub beyond_buffer: u64,
    /// Data that would have opened one range more than the loss list holds.
    pub loss_list_full: u64,
    /// Data whose place in its message contradicts its neighbours.
    pub broken_messages: u64,
    /// ACKs of packets that were never sent, or with impossible counts.
    pub acks: u64,
    /// Ranges in NAKs of packets that were never sent or are long acknowledged.
    pub nak_ranges: u64,
    /// ACK2s of a number that was never acknowledged, or whose ACK is forgotten.
    pub ack2s: u64,
    /// Drop requests on a stream, or impossible ones.
    pub drops: u64,
    /// DCUDP control packets seen before.
    pub duplicate_controls: u64,
    /// DCUDP control packets with a number too far ahead.
    pub unbelievable_controls: u64,
    /// DCUDP changes of mode that are older than the latest.
    pub late_changes: u64,
}

/// The counters of one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub payload_sent: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Times that EXP expired with data outstanding.
    pub timeouts: u64,
    /// Keep-alives sent.
    pub keep_alives: u64,
    /// Data packets received.
    pub packets_received: u64,
    /// Received data packets with a CE mark.
    pub ce_received: u64,
    /// Received data packets without new data.
    pub duplicates_received: u64,
    /// Payload bytes that the application has taken.
    pub delivered: u64,
    /// Messages that the application has taken.
    pub messages_delivered: u64,
    /// Full ACKs sent.
    pub acks_sent: u64,
    /// Light ACKs sent, or accurate ones in their place.
    pub light_acks_sent: u64,
    /// Accurate ACKs received.
    pub accurate_acks_received: u64,
    /// NAKs sent.
    pub naks_sent: u64,
    /// Full ACKs received.
    pub acks_received: u64,
    /// Received ACKs with a congestion echo.
    pub ece_received: u64,
    /// NAKs received.
    pub naks_received: u64,
    /// Times that the controller slowed down for an ECN echo.
    pub ecn_reductions: u64,
    /// Times that congestion mode began.
    pub congestion_modes: u64,
    /// OBS-change packets sent, repeated ones included.
    pub changes_sent: u64,
    /// Messages given up for their age.
    pub messages_expired: u64,
    /// The refused packets.
    pub refused: Refused,
}
