//! Samples of the delivery rate for a controller that models the path (draft-ietf-ccwg-bbr-06, section 4.1), over UDT's
//! packets with accurate ACKs. The sampler is TCP's, in `incastle-recovery`: a packet stands for a segment of the
//! full payload.
//!
//! Leaves out: deliveries beyond a gap, which count once the gap is filled. The counts of an accurate ACK do not name
//! them.

use incastle_congestion::{LostPacket, RateSample};
use incastle_recovery::{Flight, Transmission};
use incastle_units::Time;

/// The samples of one sender. Packets are counted from 0.
#[derive(Debug, Clone)]
pub(super) struct RateSamples {
    flight: Flight,
    payload: u16,
}

impl RateSamples {
    pub(super) fn new(payload: u16) -> Self {
        Self {
            flight: Flight::new(true),
            payload,
        }
    }

    fn octet(&self, packet: u64) -> u64 {
        packet * u64::from(self.payload)
    }

    /// A packet left, for the first time or again.
    pub(super) fn on_sent(&mut self, packet: u64, now: Time) {
        let segment = Transmission {
            seq: self.octet(packet),
            octets: u32::from(self.payload),
            fin: false,
        };
        self.flight.sent(segment, now);
    }

    /// Packets of `range` are to be sent again.
    pub(super) fn on_lost(&mut self, range: std::ops::Range<u64>) -> Vec<LostPacket> {
        let octets = self.octet(range.start)..self.octet(range.end);
        self.flight.mark_lost(|record| {
            if record.seq >= octets.end {
                return None;
            }
            Some(record.seq >= octets.start)
        });
        self.flight.take_losses()
    }

    /// All packets before `una` are acknowledged.
    pub(super) fn on_ack(&mut self, una: u64, now: Time) -> Option<RateSample> {
        self.flight
            .acknowledge(self.octet(una), std::iter::empty(), |_| {});
        self.flight.rate_sample(now)
    }

    /// The application has nothing more, or the controller keeps its rate low on purpose.
    pub(super) fn mark_app_limited(&mut self) {
        self.flight.mark_app_limited();
    }

    /// The window is full.
    pub(super) fn mark_cwnd_limited(&mut self) {
        self.flight.mark_cwnd_limited();
    }
}
