//! Shared by the tests of this crate: the transport's side of the control traits, reduced to the
//! numbers that a controller sees.

pub(crate) mod paced;
pub(crate) mod pipe;
pub(crate) mod rates;
pub(crate) mod shared;
pub(crate) mod trajectory;

use std::convert::Infallible;

use incastle_congestion::{
    AckSample, CongestionEvent, Context, Controller, Echo, LimitedBy, Phase, Reaction, Window,
};
use incastle_units::{Bytes, Rate, Span, Time};
use rand_core::TryRng;

/// A random source whose every draw is the same.
pub(crate) struct Constant(pub(crate) u64);

impl Constant {
    /// Every uniform draw is 1/2.
    pub(crate) const HALF: Self = Self(1 << 63);
}

impl TryRng for Constant {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0 >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for (byte, value) in bytes
            .iter_mut()
            .zip(self.0.to_le_bytes().into_iter().cycle())
        {
            *byte = value;
        }
        Ok(())
    }
}

/// A sender as its controller sees it. Sequence numbers count in the test's unit.
pub(crate) struct Sender {
    pub(crate) now: Time,
    pub(crate) snd_una: u64,
    pub(crate) snd_nxt: u64,
    pub(crate) in_flight: Bytes,
    pub(crate) smoothed_rtt: Option<Span>,
    pub(crate) remaining: Option<Bytes>,
    pub(crate) deadline: Option<Time>,
    pub(crate) receiving_rate: Option<Rate>,
    pub(crate) capacity: Option<Rate>,
    pub(crate) rng: Constant,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            now: Time::ZERO,
            snd_una: 0,
            snd_nxt: 0,
            in_flight: Bytes::ZERO,
            smoothed_rtt: None,
            remaining: None,
            deadline: None,
            receiving_rate: None,
            capacity: None,
            rng: Constant::HALF,
        }
    }
}

impl Sender {
    /// The context of a call.
    pub(crate) fn cx(&mut self) -> Context<'_> {
        Context {
            now: self.now,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            in_flight: self.in_flight,
            smoothed_rtt: self.smoothed_rtt,
            remaining: self.remaining,
            deadline: self.deadline,
            receiving_rate: self.receiving_rate,
            capacity: self.capacity,
            rng: &mut self.rng,
        }
    }

    /// Sends `bytes` of new data on a byte stream.
    pub(crate) fn send(&mut self, controller: &mut impl Controller, bytes: u64) {
        self.snd_nxt += bytes;
        self.in_flight = Bytes::new(self.snd_nxt - self.snd_una);
        controller.on_sent(&mut self.cx(), Bytes::new(bytes));
    }

    /// Acknowledges `bytes` of a byte stream: `on_ack`, then `on_congestion` where ECE is set.
    pub(crate) fn ack(
        &mut self,
        controller: &mut impl Controller,
        bytes: u64,
        echo: Echo,
    ) -> Reaction {
        self.ack_with(controller, sample(bytes, echo))
    }

    /// As [`Sender::ack`], with every field of the ACK.
    pub(crate) fn ack_with(
        &mut self,
        controller: &mut impl Controller,
        ack: AckSample<'_>,
    ) -> Reaction {
        self.snd_una += ack.acked.count();
        self.in_flight = Bytes::new(self.snd_nxt - self.snd_una);
        controller.on_ack(&mut self.cx(), &ack);
        match ack.echo {
            Echo::Clear => Reaction::Ignored,
            Echo::Congestion => controller.on_congestion(&mut self.cx(), CongestionEvent::Ecn),
        }
    }

    /// A loss at SND.UNA.
    pub(crate) fn lose(&mut self, controller: &mut impl Controller) -> Reaction {
        let largest = self.snd_una;
        controller.on_congestion(&mut self.cx(), CongestionEvent::Loss { count: 1, largest })
    }

    /// A timeout.
    pub(crate) fn time_out(&mut self, controller: &mut impl Controller, backoff: u32) -> Reaction {
        controller.on_congestion(&mut self.cx(), CongestionEvent::Timeout { backoff })
    }
}

/// An ACK of `bytes` for one packet while the window was the limit and nothing was lost.
pub(crate) fn sample(bytes: u64, echo: Echo) -> AckSample<'static> {
    AckSample {
        acked: Bytes::new(bytes),
        segments: 1,
        echo,
        rtt: None,
        limited_by: LimitedBy::Window,
        phase: Phase::Open,
        hops: &[],
        hop_count: None,
        remote_delay: None,
    }
}

/// The window in bytes.
pub(crate) fn cwnd(controller: &impl Controller) -> u64 {
    match controller.window() {
        Window::Limited(bytes) => bytes.count(),
        Window::Unlimited => panic!("a window-based controller has a window"),
    }
}

/// The slow-start threshold in bytes.
pub(crate) fn ssthresh(controller: &impl Controller) -> Option<u64> {
    controller.state().ssthresh.map(Bytes::count)
}
