//! The times of accurate ACKs: one after a number of packets, or a part of a round-trip time after the first that no
//! accurate ACK has counted. The sender requests both in the handshake (docs/models/dcudp-wire.md).
//!
//! Leaves out: an immediate ACK at each change of the CE mark (RFC 8257, section 3.2). The counts in the ACK keep
//! the fraction exact without it.

use incastle_units::{Span, Time};

use super::wire::AckRate;

/// The clock of one receiver.
#[derive(Debug, Clone)]
pub(super) struct AccurateClock {
    rate: AckRate,
    /// The longest wait for a second packet.
    interval: Span,
    /// Packets since the last accurate ACK.
    packets: u32,
    /// The timer has expired.
    expired: bool,
    /// When it expires, or NEVER.
    at: Time,
}

impl AccurateClock {
    pub(super) const fn new(rate: AckRate) -> Self {
        Self {
            rate,
            interval: Span::ZERO,
            packets: 0,
            expired: false,
            at: Time::NEVER,
        }
    }

    /// The round-trip time has changed. An interval is at most a SYN, that of UDT's ACKs.
    pub(super) fn set_rtt(&mut self, rtt: Span, syn: Span) {
        self.interval = (rtt / u64::from(self.rate.per_rtt)).min(syn);
    }

    /// A packet arrived for the first time.
    #[inline]
    pub(super) fn on_new(&mut self, now: Time) {
        self.packets += 1;
        if self.at == Time::NEVER {
            self.at = now.saturating_add(self.interval);
        }
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        if self.at <= now {
            self.at = Time::NEVER;
            self.expired = self.packets > 0;
        }
    }

    /// When the timer expires, or NEVER.
    #[inline]
    pub(super) const fn wake(&self) -> Time {
        self.at
    }

    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.expired || self.packets >= self.rate.packets as u32
    }

    /// An accurate ACK leaves.
    pub(super) fn on_sent(&mut self) {
        assert!(self.packets > 0, "an accurate ACK counts a packet");
        self.packets = 0;
        self.expired = false;
        self.at = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(count: u64) -> Time {
        Time::ZERO + Span::from_us(count)
    }

    fn clock(packets: u8, per_rtt: u8) -> AccurateClock {
        let mut clock = AccurateClock::new(AckRate { packets, per_rtt });
        clock.set_rtt(Span::from_us(100), Span::from_ms(10));
        clock
    }

    #[test]
    fn an_ack_is_due_after_its_packets() {
        let mut clock = clock(3, 1);
        for due in [false, false, true] {
            clock.on_new(us(0));
            assert_eq!(clock.is_due(), due);
        }
        clock.on_sent();
        assert!(!clock.is_due());
        assert_eq!(clock.wake(), Time::NEVER);
    }

    /// A quarter of 100 us after the first packet; at most a SYN.
    #[test]
    fn an_ack_is_due_after_a_part_of_a_round_trip() {
        let mut clock = clock(255, 4);
        clock.on_new(us(10));
        clock.on_new(us(20));
        assert_eq!(clock.wake(), us(35));
        clock.on_timer(us(34));
        assert!(!clock.is_due());
        clock.on_timer(us(35));
        assert!(clock.is_due());
        clock.on_sent();
        clock.set_rtt(Span::from_secs(1), Span::from_ms(10));
        clock.on_new(us(100));
        assert_eq!(clock.wake(), us(10_100));
    }
}
