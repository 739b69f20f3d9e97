//! A host: one network NIC, a small random delay per send, and coalesced receives.
//!
//! A NIC with unlimited room pulls: it holds two full frames, takes the next when there is room, and
//! from the endpoints that wait in turn. So no queue builds up below the transport that no switch
//! could mark, as with byte queue limits and "TCP small queues" in Linux. A NIC with a capacity
//! takes what comes and drops what does not fit. Leaves out: processor time, several NICs per
//! host.

use std::collections::VecDeque;

use incastle_units::{Bytes, Rate, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::core::{EndpointIndex, PortIndex};
use crate::network::{HostConfig, JitterAppliesTo, ReactionPointSettings};

/// Receive offload: how many contiguous arrivals of a flow a host hands to its endpoint at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// At most this many packets in one batch.
    pub packets: u32,
    /// The first packet of a batch waits at most this long.
    pub within: Span,
}

/// What an unlimited NIC holds at most before it pulls: two full frames. Less would cost an
/// event for every packet that follows another at the line's rate.
const NIC_QUEUE: Bytes = Bytes::new(3000);

/// The host's state, in this order: what every packet needs is the first cache line.
#[repr(C, align(64))]
pub(crate) struct Host {
    pub(crate) port: PortIndex,
    jitter_applies_to: JitterAppliesTo,
    jitter: Span,
    /// How much of the line's time the NIC takes ahead: its own small queue, and the jitter, which
    /// must never leave the line idle.
    ahead: Span,
    /// Endpoints with a packet that the NIC has not taken yet, in turn.
    pub(crate) waiting: VecDeque<EndpointIndex>,
    pub(crate) coalescing: Option<Box<Coalescing>>,
    /// What was sent before leaves not before this: a jitter never reorders within a host.
    last_ready: Time,
    rng: Xoshiro256PlusPlus,
    pub(crate) reaction_point: Option<ReactionPointSettings>,
    /// When the NIC pulls next, if an event of that is entered; else never.
    pub(crate) dequeues_at: Time,
}

impl Host {
    pub(crate) fn new(
        port: PortIndex,
        rate: Rate,
        config: HostConfig,
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        let jitter = config.jitter;
        Self {
            port,
            jitter,
            jitter_applies_to: config.jitter_applies_to,
            ahead: jitter + rate.span_of(NIC_QUEUE),
            last_ready: Time::ZERO,
            rng,
            coalescing: config.coalescing.map(Box::new),
            reaction_point: config.reaction_point,
            waiting: VecDeque::new(),
            dequeues_at: Time::NEVER,
        }
    }

    /// The line has another rate: the NIC holds two full frames at that.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.ahead = self.jitter + rate.span_of(NIC_QUEUE);
    }

    /// Prefetches what every packet needs.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        incastle_prefetch::value(&self.port);
    }

    /// When the NIC takes the next packet, if its line is busy until then.
    #[inline]
    pub(crate) fn takes_next(&self, busy_until: Time) -> Time {
        Time::ZERO + busy_until.saturating_since(Time::ZERO + self.ahead)
    }

    /// When a packet that an endpoint gives away now reaches the NIC: U(0, jitter) later, if it is
    /// one of those that are delayed; in order in any case.
    #[inline]
    pub(crate) fn ready(&mut self, now: Time, carries_data: bool) -> Time {
        if self.jitter == Span::ZERO {
            return now;
        }
        let mut ready = now;
        if carries_data || self.jitter_applies_to == JitterAppliesTo::All {
            ready += Span::from_ps(random::below(&mut self.rng, self.jitter.as_ps() + 1));
        }
        self.last_ready = self.last_ready.max(ready);
        self.last_ready
    }
}

const _: () = assert!(std::mem::offset_of!(Host, last_ready) <= 64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Purpose, Source, substream};

    /// How late 200 packets reach the NIC that are given away every so often, the even ones with data.
    fn late(jitter_applies_to: JitterAppliesTo, every: Span) -> Vec<Span> {
        let config = HostConfig {
            jitter: Span::from_us(4),
            jitter_applies_to,
            ..HostConfig::default()
        };
        let rng = substream(1, Source::Host, 0, Purpose::Jitter);
        let rate = Rate::from_bits_per_second(1_000_000_000);
        let mut host = Host::new(PortIndex(0), rate, config, rng);
        let packets = (0..200).map(|packet| (Time::ZERO + every * packet, packet % 2 == 0));
        packets
            .map(|(now, carries_data)| host.ready(now, carries_data) - now)
            .collect()
    }

    #[test]
    fn jitter_delays_data_or_everything() {
        for (jitter_applies_to, delayed) in
            [(JitterAppliesTo::Data, 100), (JitterAppliesTo::All, 200)]
        {
            let late = late(jitter_applies_to, Span::from_us(10));
            assert!(late.iter().all(|span| *span <= Span::from_us(4)));
            let some = late.iter().filter(|span| **span > Span::ZERO);
            assert_eq!(some.count(), delayed);
        }
    }

    #[test]
    fn what_is_not_delayed_stays_behind_what_is() {
        let every = Span::from_us(1);
        let late = late(JitterAppliesTo::Data, every);
        // None is more than `every` less late than the one before it.
        assert!(late.windows(2).all(|pair| pair[0] <= pair[1] + every));
        assert!(
            late.iter()
                .skip(1)
                .step_by(2)
                .any(|span| *span > Span::ZERO)
        );
    }
}
