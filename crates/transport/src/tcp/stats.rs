//! Counters of one endpoint, for result tables. Nothing inside reads them.

/// The counters of RACK-TLP, which its sender alone has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RackTlpStats {
    /// Tail loss probes sent.
    pub tail_loss_probes: u64,
    /// Segments that the reordering timer found lost.
    pub reordering_losses: u64,
}

/// The counters of one endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Segments with data or FIN sent, retransmissions included.
    pub segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub payload_sent: u64,
    /// Segments with data or FIN (and SYNs) sent again.
    pub retransmissions: u64,
    /// Times that the retransmission timer fired, for a SYN too.
    pub timeouts: u64,
    /// Times that recovery began without the timer.
    pub fast_retransmits: u64,
    /// Times that the controller slowed down for an ECN echo.
    pub ecn_reductions: u64,
    /// ACKs with a congestion echo received.
    pub ece_received: u64,
    /// Duplicate ACKs received.
    pub duplicate_acks: u64,
    /// Pure ACKs sent.
    pub acks_sent: u64,
    /// Zero-window probes sent.
    pub probes: u64,
    /// Segments with data or FIN received.
    pub segments_received: u64,
    /// Received segments with a CE mark.
    pub ce_received: u64,
    /// Received segments without new data.
    pub duplicates_received: u64,
}
