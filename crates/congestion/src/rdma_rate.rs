//! Common parts of the rate-based controls of RDMA: limits of the rate, the limit on outstanding data, and the
//! arithmetic of rates.
//!
//! Rates are whole bits per second, and count packets as they are on the wire. Products and quotients round down,
//! as the operators of `DataRate` do in the simulator of HPCC's authors (HPCC-ns3). The window counts payload;
//! its rule is `RdmaQueuePair::GetWin` there. Leaves out: the pacer, which the transport has.

use incastle_units::{Bytes, Rate, mul_div};

use crate::{ControlState, Window};

/// The attribute `MinRate` of HPCC-ns3 and of bobzhuyb/ns3-rdma.
const MIN_RATE: Rate = Rate::from_bits_per_second(100_000_000);

/// The limit on outstanding data of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateWindow {
    /// None: the rate alone limits the sender.
    Unlimited,
    /// These bytes, whatever the rate.
    Fixed(Bytes),
    /// These bytes at `max_rate`, and in proportion to the rate otherwise; at least one byte.
    Scaled(Bytes),
}

/// The limits of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// The rate of the port.
    pub line_rate: Rate,
    /// The greatest rate of the queue pair, at which it starts.
    pub max_rate: Rate,
    /// The least rate.
    pub min_rate: Rate,
    /// The limit on outstanding data.
    pub window: RateWindow,
    /// HPCC-ns3 bounds what an algorithm remembers as its rate by `line_rate`, not by `max_rate`: DCQCN's target,
    /// and the reference rates of TIMELY and HPCC, which begin there. A cut from such a rate may exceed
    /// `max_rate`.
    pub reference_at_line_rate: bool,
}

impl RateLimits {
    /// The limits at a line rate: it is the greatest rate, and there is no window.
    pub const fn new(line_rate: Rate) -> Self {
        let line = line_rate.bits_per_second();
        let least = MIN_RATE.bits_per_second();
        Self {
            line_rate,
            max_rate: line_rate,
            min_rate: if line < least { line_rate } else { MIN_RATE },
            window: RateWindow::Unlimited,
            reference_at_line_rate: false,
        }
    }

    pub(crate) fn check(&self) {
        let zero = Rate::from_bits_per_second(0);
        assert!(
            zero < self.min_rate && self.min_rate <= self.max_rate,
            "0 < min_rate <= max_rate"
        );
        assert!(
            self.max_rate <= self.line_rate,
            "max_rate is at most the line rate"
        );
        assert!(
            self.full_window() != Some(Bytes::ZERO),
            "a window is at least one byte"
        );
    }

    /// The bound of a remembered rate.
    pub(crate) const fn reference(&self) -> Rate {
        if self.reference_at_line_rate {
            self.line_rate
        } else {
            self.max_rate
        }
    }

    /// The window at `max_rate`, if there is one.
    pub(crate) const fn full_window(&self) -> Option<Bytes> {
        match self.window {
            RateWindow::Unlimited => None,
            RateWindow::Fixed(bytes) | RateWindow::Scaled(bytes) => Some(bytes),
        }
    }

    /// The window at a rate.
    #[inline]
    pub(crate) fn window_at(&self, rate: Rate) -> Window {
        match self.window {
            RateWindow::Unlimited => Window::Unlimited,
            RateWindow::Fixed(bytes) => Window::Limited(bytes),
            RateWindow::Scaled(bytes) => {
                let [rate, most] = [rate, self.max_rate].map(Rate::bits_per_second);
                let scaled = mul_div(bytes.count(), rate, most).unwrap_or(u64::MAX);
                Window::Limited(Bytes::new(scaled.max(1)))
            }
        }
    }

    /// The state for probes.
    pub(crate) fn state(&self, rate: Rate) -> ControlState {
        ControlState {
            cwnd: match self.window_at(rate) {
                Window::Limited(bytes) => Some(bytes),
                Window::Unlimited => None,
            },
            rate: Some(rate),
            ..ControlState::default()
        }
    }
}

/// `rate` times `factor`.
pub(crate) fn scale(rate: Rate, factor: f64) -> Rate {
    Rate::from_bits_per_second((rate.bits_per_second() as f64 * factor) as u64)
}

/// `rate` divided by `divisor`. Not the same as `scale` by its inverse: that rounds twice.
pub(crate) fn divide(rate: Rate, divisor: f64) -> Rate {
    Rate::from_bits_per_second((rate.bits_per_second() as f64 / divisor) as u64)
}

/// The sum, at most the largest rate that there is.
pub(crate) fn add(rate: Rate, more: Rate) -> Rate {
    let sum = rate.bits_per_second();
    Rate::from_bits_per_second(sum.saturating_add(more.bits_per_second()))
}

/// Half of each, added: both halves round down.
pub(crate) fn midpoint(a: Rate, b: Rate) -> Rate {
    Rate::from_bits_per_second(a.bits_per_second() / 2 + b.bits_per_second() / 2)
}
