//! A host: one NIC, a small random delay per send, and interrupt coalescing.
//!
//! A NIC without a capacity pulls: it holds two full frames. When there is room it dequeues the next from the waiting
//! endpoints by round robin. No queue builds up below the transport that no switch could mark; byte queue limits and
//! "TCP small queues" in Linux do the same. A NIC with a capacity accepts packets in order and drops those that do not
//! fit. Pauses of its priorities are in `nic_pauses`. Leaves out: processor time, several NICs per host.

use std::collections::VecDeque;

use incastle_units::{Bytes, Rate, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::core::{EndpointIndex, PortIndex};
use crate::network::{QueuePairs, ReactionPointSettings};

/// Interrupt coalescing: a host delivers contiguous arrivals of a flow in batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coalescing {
    /// At most this many packets in one batch.
    pub packets: u32,
    /// The first packet of a batch waits at most this long.
    pub within: Span,
}

/// The packets that a host's jitter delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JitterAppliesTo {
    /// Packets with data, as ns-2's `overhead_`.
    #[default]
    Data,
    /// Acknowledgements and control packets too, as on a busy machine: no two round trips are then equal.
    All,
}

/// The parameters of a host.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostConfig {
    /// Packets leave U(0, jitter) late.
    pub jitter: Span,
    /// The packets that do.
    pub jitter_applies_to: JitterAppliesTo,
    /// Interrupt coalescing.
    pub coalescing: Option<Coalescing>,
    /// The reaction points; absent where congestion notifications are ignored.
    pub reaction_point: Option<ReactionPointSettings>,
}

/// Bytes that a NIC without a capacity holds: two full frames. Fewer would cost an event for every packet that follows
/// another at line rate.
const NIC_QUEUE: Bytes = Bytes::new(3000);

/// The host's state. Its first cache line has the fields that every packet reads.
#[repr(C, align(64))]
pub(crate) struct Host {
    pub(crate) port: PortIndex,
    /// The number of endpoints that wait, and one more while the NIC is closed: at zero a packet may take the fast path.
    obstacles: u32,
    jitter: Span,
    /// The time by which the NIC dequeues ahead of the line: its two frames, and the jitter, which must never leave the
    /// line idle.
    ahead: Span,
    /// Endpoints with a staged packet, in the order of the round robin.
    waiting: VecDeque<EndpointIndex>,
    pub(crate) coalescing: Option<Box<Coalescing>>,
    /// No later packet is ready before this: jitter never reorders within a host.
    last_ready: Time,
    jitter_applies_to: JitterAppliesTo,
    /// Whether it takes one packet at a time (`nic_pauses`).
    closed: bool,
    rng: Xoshiro256PlusPlus,
    pub(crate) reaction_point: Option<ReactionPointSettings>,
    /// The next dequeue, if its event is entered; else never.
    pub(crate) dequeues_at: Time,
    /// From its first queue pair, or its first pause, on.
    pub(crate) queue_pairs: Option<Box<QueuePairs>>,
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
            obstacles: 0,
            jitter,
            jitter_applies_to: config.jitter_applies_to,
            closed: false,
            ahead: jitter + rate.span_of(NIC_QUEUE),
            last_ready: Time::ZERO,
            rng,
            coalescing: config.coalescing.map(Box::new),
            reaction_point: config.reaction_point,
            waiting: VecDeque::new(),
            dequeues_at: Time::NEVER,
            queue_pairs: None,
        }
    }

    /// The line has another rate: the NIC holds two full frames at that rate.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        if !self.closed {
            self.ahead = self.jitter + rate.span_of(NIC_QUEUE);
        }
    }

    /// Whether no endpoint waits and the NIC is not closed.
    #[inline(always)]
    pub(crate) const fn is_clear(&self) -> bool {
        self.obstacles == 0
    }

    /// The endpoints with a staged packet, in the order of the round robin.
    #[inline(always)]
    pub(crate) const fn waiting(&self) -> &VecDeque<EndpointIndex> {
        &self.waiting
    }

    pub(crate) fn push_waiting(&mut self, endpoint: EndpointIndex) {
        self.obstacles += 1;
        self.waiting.push_back(endpoint);
    }

    pub(crate) fn pop_waiting(&mut self) -> Option<EndpointIndex> {
        let first = self.waiting.pop_front()?;
        self.obstacles -= 1;
        Some(first)
    }

    /// Takes the first endpoint out of the round robin that may send now.
    pub(crate) fn pop_waiting_if(
        &mut self,
        may_send: impl Fn(EndpointIndex) -> bool,
    ) -> Option<EndpointIndex> {
        let place = self.waiting.iter().position(|index| may_send(*index))?;
        self.obstacles -= 1;
        self.waiting.remove(place)
    }

    /// From now on it takes a packet when its line is free, and no packet takes the fast path.
    pub(crate) fn close(&mut self) {
        assert!(!self.closed, "a NIC is closed once");
        self.closed = true;
        self.obstacles += 1;
        self.ahead = Span::ZERO;
    }

    /// It takes packets ahead of its line again.
    pub(crate) fn open(&mut self, rate: Rate) {
        assert!(self.closed, "a closed NIC is opened");
        self.closed = false;
        self.obstacles -= 1;
        self.set_rate(rate);
    }

    pub(crate) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Prefetches the fields that every packet reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        incastle_memory::prefetch::value(&self.port);
    }

    /// The next dequeue of the NIC, if its line is busy until then.
    #[inline]
    pub(crate) fn dequeues_next(&self, busy_until: Time) -> Time {
        Time::ZERO + busy_until.saturating_since(Time::ZERO + self.ahead)
    }

    /// The instant at which a packet sent now reaches the NIC: U(0, jitter) later, if jitter applies to it, and never
    /// before an earlier packet.
    #[inline(always)]
    pub(crate) fn ready(&mut self, now: Time, payload: u16) -> Time {
        if self.jitter == Span::ZERO {
            return now;
        }
        self.delayed(now, payload)
    }

    #[inline(never)]
    fn delayed(&mut self, now: Time, payload: u16) -> Time {
        let mut ready = now;
        if payload > 0 || self.jitter_applies_to == JitterAppliesTo::All {
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

    /// The delays of 200 packets sent at an interval, the even ones with data.
    fn late(jitter_applies_to: JitterAppliesTo, every: Span) -> Vec<Span> {
        let config = HostConfig {
            jitter: Span::from_us(4),
            jitter_applies_to,
            ..HostConfig::default()
        };
        let rng = substream(1, Source::Host, 0, Purpose::Jitter);
        let rate = Rate::from_bits_per_second(1_000_000_000);
        let mut host = Host::new(PortIndex(0), rate, config, rng);
        let packets = (0..200).map(|packet| (Time::ZERO + every * packet, 1 - packet as u16 % 2));
        packets
            .map(|(now, payload)| host.ready(now, payload) - now)
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
    fn a_packet_without_jitter_stays_behind_delayed_ones() {
        let every = Span::from_us(1);
        let late = late(JitterAppliesTo::Data, every);
        // No packet reaches the NIC before its predecessor.
        assert!(late.windows(2).all(|pair| pair[0] <= pair[1] + every));
        assert!(
            late.iter()
                .skip(1)
                .step_by(2)
                .any(|span| *span > Span::ZERO)
        );
    }
}
