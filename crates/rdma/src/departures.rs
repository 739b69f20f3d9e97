//! The pacing of one queue pair: the instant from which its next data packet may leave.
//!
//! Every data packet puts that instant off by its time on the wire at the rate of the control and the
//! interframe gap, counted from its departure (HPCC-ns3, `UpdateNextAvail`). Time that the NIC leaves
//! unused is not made up for.

use incastle_units::{Bytes, Rate, Span, Time};

use crate::config::{Config, RateChange};

/// The departures.
#[derive(Debug)]
pub(crate) struct Departures {
    /// The next data packet may leave then.
    next: Time,
    /// The rate that the control gave first, its greatest one.
    first: Option<Rate>,
    /// The rate that the control gave last; none: no pacing.
    rate: Option<Rate>,
    /// Bytes on the wire of the packet that left last.
    last: Bytes,
}

impl Departures {
    pub(crate) const fn new(rate: Option<Rate>) -> Self {
        Self {
            next: Time::ZERO,
            first: rate,
            rate,
            last: Bytes::new(0),
        }
    }

    /// The instant from which a data packet may leave.
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// A packet with so many bytes on the wire leaves.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, wire: Bytes, config: &Config) {
        assert!(now >= self.next, "a packet waits for its departure");
        self.last = wire;
        // HPCC-ns3, `UpdateNextAvail`.
        let rate = if config.rate_bound {
            self.rate
        } else {
            self.first
        };
        self.next = now + Self::time_of(wire, rate, config) + config.interframe_gap;
    }

    /// The control may have changed its rate.
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>, config: &Config) {
        if rate == self.rate {
            return;
        }
        if config.rate_change == RateChange::MovesScheduled {
            let old = Self::time_of(self.last, self.rate, config);
            let new = Self::time_of(self.last, rate, config);
            // HPCC-ns3 moves a departure that has passed, too.
            let later = self.next.saturating_add(new).as_ps();
            self.next = Time::from_ps(later.saturating_sub(old.as_ps()));
        }
        self.rate = rate;
    }

    #[inline]
    fn time_of(wire: Bytes, rate: Option<Rate>, config: &Config) -> Span {
        let Some(rate) = rate else {
            return Span::ZERO;
        };
        // A control that forbids sending has a window for that.
        let rate = rate.max(Rate::from_bits_per_second(1));
        config.transmission.span(rate, wire)
    }
}
