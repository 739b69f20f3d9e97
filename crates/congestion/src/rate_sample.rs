//! Samples of the delivery rate, and the losses that belong to them (draft-ietf-ccwg-bbr-06, section 4.1).
//! The transport takes them for controllers that model the path.
//!
//! Leaves out: the sampler, which is in `incastle-recovery`.

use incastle_units::{Bytes, Rate, Span};

/// The delivery of data that one acknowledgement reports: RS of the draft. P is the segment among them that
/// was sent last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// C.delivered: all data delivered so far.
    pub total_delivered: u64,
    /// RS.prior_delivered: the same when P left.
    pub prior_delivered: u64,
    /// RS.delivery_rate, unless the interval is shorter than any round trip.
    pub rate: Option<Rate>,
    /// RS.rtt: the round trip of P, if it was sent once.
    pub rtt: Option<Span>,
    /// RS.newly_acked: data that this acknowledgement reports for the first time, SACK included.
    pub newly_acked: Bytes,
    /// RS.lost: data found lost since P left.
    pub lost: Bytes,
    /// RS.tx_in_flight: data in the network once P had left.
    pub tx_in_flight: Bytes,
    /// C.inflight: data in the network now.
    pub in_flight: Bytes,
    /// RS.is_app_limited: the application had too little data when P left.
    pub is_app_limited: bool,
    /// C.is_cwnd_limited: the window was full at some instant of the last round trip.
    pub is_cwnd_limited: bool,
}

impl RateSample {
    /// RS.delivered: the data delivered since P left.
    pub fn delivered(&self) -> u64 {
        self.total_delivered - self.prior_delivered
    }
}

/// A segment that was found lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPacket {
    /// Its first octet.
    pub seq: u64,
    /// Its length.
    pub size: Bytes,
    /// Data in the network once it had left.
    pub tx_in_flight: Bytes,
    /// Data found lost since, itself included.
    pub lost: Bytes,
    /// All data delivered so far.
    pub total_delivered: u64,
    /// Data in the network, without it.
    pub in_flight: Bytes,
    /// The application had too little data when it left.
    pub is_app_limited: bool,
}
