//! An egress port and the link behind it.
//!
//! A packet that is offered passes the *gate* (buffer, then queue discipline), waits in the queue,
//! is sent at the line's rate and then travels for the link's delay. Two kinds of queue give the same
//! answers where both apply: the fast one knows each departure beforehand and needs no event for it,
//! the general one has an event for each departure and can therefore reorder or pause.
//! Leaves out: bit errors, preemption.

mod fast;
mod gate;
mod general;

use incastle_queueing::{SharedBuffer, Verdict};
use incastle_units::{Bytes, Rate, Serializer, Span, Time};

use crate::network::PortCounters;
use crate::packet::Packet;
use crate::ring::Ring;
use crate::{Node, PortIndex, Probe};

pub(crate) use gate::Gate;

use fast::FastQueue;
use general::GeneralQueue;

/// A packet on its way, with the instant at which its last bit reaches the far end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InFlight {
    pub(crate) arrives: Time,
    pub(crate) packet: Packet,
}

/// What waits, and what is stored in all, at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Backlog {
    /// Packets in memory, the one being sent included.
    pub(crate) stored_packets: u32,
    /// Their bytes.
    pub(crate) stored_bytes: u64,
    /// Packets that wait.
    pub(crate) waiting_packets: u32,
    /// Their bytes.
    pub(crate) waiting_bytes: u64,
}

/// Events that the port now needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wakes {
    /// The link was empty; its first packet arrives then.
    pub(crate) arrival: Option<Time>,
    /// The general queue began to send; the packet departs then.
    pub(crate) departure: Option<Time>,
}

/// The queue behind the gate.
enum Queue {
    Fast(FastQueue),
    General(Box<GeneralQueue>),
}

/// A port.
pub(crate) struct Port {
    wire: Ring<InFlight>,
    queue: Queue,
    line: Serializer,
    delay: Span,
    pub(crate) index: PortIndex,
    /// The far end of the link.
    pub(crate) to: Node,
    /// Whether probes look at this queue.
    pub(crate) observed: bool,
    pub(crate) gate: Gate,
    delivered: u64,
}

impl Port {
    pub(crate) fn new(index: PortIndex, to: Node, rate: Rate, delay: Span, gate: Gate) -> Self {
        Self {
            wire: Ring::new(),
            queue: Queue::Fast(FastQueue::default()),
            line: Serializer::new(rate),
            delay,
            index,
            to,
            observed: false,
            gate,
            delivered: 0,
        }
    }

    /// The same port with explicit departures.
    pub(crate) fn general(mut self) -> Self {
        self.queue = Queue::General(Box::default());
        self
    }

    pub(crate) fn rate(&self) -> Rate {
        self.line.rate()
    }

    pub(crate) fn delay(&self) -> Span {
        self.delay
    }

    pub(crate) fn counters(&self) -> &PortCounters {
        &self.gate.counters
    }

    /// Offers a packet at `now`. Its first bit leaves not before `ready` (a host's jitter; `now`
    /// elsewhere).
    #[inline]
    pub(crate) fn offer<P: Probe>(
        &mut self,
        (now, ready): (Time, Time),
        mut packet: Packet,
        memory: Option<&mut SharedBuffer>,
        probe: &mut P,
    ) -> (Verdict, Wakes) {
        let backlog = self.advance(now, probe);
        let idle_since = self.idle_since(backlog);
        let verdict = self
            .gate
            .judge((now, idle_since), backlog, &mut packet, memory);
        if matches!(verdict, Verdict::Drop(_)) {
            return (verdict, Wakes::default());
        }
        let mut wakes = Wakes::default();
        match &mut self.queue {
            Queue::Fast(queue) => {
                if self.wire.is_empty() {
                    wakes.arrival =
                        Some(queue.push(ready, packet, &mut self.line, self.delay, &mut self.wire));
                } else {
                    queue.push(ready, packet, &mut self.line, self.delay, &mut self.wire);
                }
            }
            Queue::General(queue) => {
                wakes.departure = queue.push(ready, packet, &mut self.line);
            }
        }
        if self.observed && backlog.stored_packets > 0 {
            probe.queue_changed(self.index, now, backlog.waiting_packets + 1);
        }
        (verdict, wakes)
    }

    /// Takes the first packet off the link; the second value is when the next one arrives.
    #[inline]
    pub(crate) fn arrive<P: Probe>(&mut self, now: Time, probe: &mut P) -> (Packet, Option<Time>) {
        if let Queue::Fast(queue) = &self.queue
            && queue.still_counts(self.wire.head())
        {
            self.advance(now, probe);
        }
        let first = self
            .wire
            .pop()
            .expect("an arrival event has a packet on its link");
        assert!(first.arrives == now, "a packet arrives when its event says");
        self.delivered += 1;
        (first.packet, self.wire.front().map(|next| next.arrives))
    }

    /// A general queue has sent its packet: the size that left memory, and what comes next.
    pub(crate) fn depart<P: Probe>(&mut self, now: Time, probe: &mut P) -> (Bytes, Wakes) {
        let Queue::General(queue) = &mut self.queue else {
            unreachable!("only general queues ask for departures")
        };
        let (packet, departure) = queue.depart(now, &mut self.line);
        let arrives = now + self.delay;
        let arrival = self.wire.is_empty().then_some(arrives);
        self.wire.push(InFlight { arrives, packet });
        if self.observed && departure.is_some() {
            probe.queue_changed(self.index, now, queue.backlog().waiting_packets);
        }
        (packet.size(), Wakes { arrival, departure })
    }

    /// A shared memory's turn: bytes that have departed until `now`, and the next departure. A
    /// general queue tells both by its departure events instead.
    pub(crate) fn free<P: Probe>(&mut self, now: Time, probe: &mut P) -> (Bytes, Option<Time>) {
        self.advance(now, probe);
        match &mut self.queue {
            Queue::Fast(queue) => (Bytes::new(queue.take_freed()), queue.next_departure()),
            Queue::General(_) => (Bytes::ZERO, None),
        }
    }

    /// The backlog at `now`, after telling the probe of all departures until then.
    #[inline]
    pub(crate) fn advance<P: Probe>(&mut self, now: Time, probe: &mut P) -> Backlog {
        match &mut self.queue {
            Queue::Fast(queue) => {
                let (index, observed) = (self.index, self.observed);
                queue.advance(now, self.delay, &self.wire, |at, waiting| {
                    if observed {
                        probe.queue_changed(index, at, waiting);
                    }
                });
                queue.backlog()
            }
            Queue::General(queue) => queue.backlog(),
        }
    }

    fn idle_since(&self, backlog: Backlog) -> Option<Time> {
        if backlog.stored_packets > 0 {
            return None;
        }
        Some(match &self.queue {
            Queue::Fast(queue) => queue.busy_until(),
            Queue::General(queue) => queue.idle_since(),
        })
    }

    /// All packets inside: waiting, being sent, on the wire.
    pub(crate) fn inside(&self) -> impl Iterator<Item = &Packet> {
        let stored = match &self.queue {
            Queue::Fast(_) => None,
            Queue::General(queue) => Some(queue.stored()),
        };
        stored
            .into_iter()
            .flatten()
            .chain(self.wire.iter().map(|flight| &flight.packet))
    }

    /// Conservation: offered = dropped + delivered + inside.
    pub(crate) fn check_conservation(&self) {
        let PortCounters {
            offered, dropped, ..
        } = self.gate.counters;
        let inside = self.inside().count() as u64;
        assert!(
            offered == dropped + self.delivered + inside,
            "port {}: {offered} packets offered, {dropped} dropped, {} delivered, {inside} inside",
            self.index.index(),
            self.delivered,
        );
    }
}
