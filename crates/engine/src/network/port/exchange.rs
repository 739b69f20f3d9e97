//! Arguments and results of a port: offers, verdicts, backlogs, the events that follow.

use incastle_queueing::{DropCause, DualQueue, LaneBacklog, Passage, PortBuffer, Verdict};
use incastle_units::{Bytes, Packets, Time};

use crate::layout::Slot;
use crate::network::Packet;

/// The occupancy of a port at one instant: stored, and of that waiting.
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

impl Backlog {
    /// The waiting packets with the one being sent, of which this is the size.
    pub(super) fn of(waiting_packets: u32, waiting_bytes: u64, sending: Option<u16>) -> Self {
        Self {
            stored_packets: waiting_packets + u32::from(sending.is_some()),
            stored_bytes: waiting_bytes + u64::from(sending.unwrap_or(0)),
            waiting_packets,
            waiting_bytes,
        }
    }

    /// The packets of queues with departure events, with the size of the one being sent.
    pub(super) fn of_lanes(waiting: LaneBacklog, sending: Option<u16>) -> Self {
        let LaneBacklog { packets, bytes } = waiting;
        Self::of(packets.count() as u32, bytes.count(), sending)
    }

    /// The packets of both queues, with the one being sent.
    pub(super) fn of_dual(queue: &DualQueue<Packet>) -> Self {
        let backlog = queue.backlog();
        let sending = backlog.sending.map(|packet| packet.size);
        Self::of(backlog.waiting_packets, backlog.waiting_bytes, sending)
    }

    /// The same memory, for a marker that judges by these waiting packets alone.
    pub(super) fn waiting_in(self, own: LaneBacklog) -> Self {
        Self {
            waiting_packets: own.packets.count() as u32,
            waiting_bytes: own.bytes.count(),
            ..self
        }
    }

    /// Everything in memory.
    #[inline(always)]
    pub(super) fn stored(&self) -> (Packets, Bytes) {
        let packets = Packets::new(u64::from(self.stored_packets));
        (packets, Bytes::new(self.stored_bytes))
    }
}

/// The events that a port needs next.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wakes {
    /// The arrival of the first packet on a link that was empty.
    pub(crate) arrival: Option<Time>,
    /// The departure of a packet that a queue with departure events has begun to send.
    pub(crate) departure: Option<Time>,
}

/// A packet that is offered to a port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) now: Time,
    /// Its first bit leaves not before this instant: after a host's jitter, `now` elsewhere.
    pub(crate) ready: Time,
    pub(crate) slot: Slot,
}

impl Offer {
    /// A packet that may leave immediately.
    pub(crate) const fn at(now: Time, slot: Slot) -> Self {
        Self {
            now,
            ready: now,
            slot,
        }
    }
}

/// The fast path of a packet through a port.
pub(crate) enum FastPath {
    /// There is none: the gate has to judge the packet.
    Closed,
    /// Admitted, the first on its link, with its arrival.
    First(Time),
    /// Admitted behind others.
    Behind,
}

/// The verdict on an offered packet, and the events that follow.
pub(crate) struct Offered {
    pub(crate) verdict: Verdict,
    pub(crate) wakes: Wakes,
}

/// A packet that has left its link.
pub(crate) struct Arrived {
    pub(crate) slot: Slot,
    /// The arrival of the next packet on the link.
    pub(crate) next: Option<Time>,
}

/// A packet that has left its port, and the events that follow.
pub(crate) struct Departed {
    pub(crate) onward: Onward,
    pub(crate) wakes: Wakes,
}

/// Where a packet is that has left its port.
pub(crate) enum Onward {
    /// On the link, until this instant. If it has overtaken the first packet there, that one's arrival is not the
    /// first any more.
    OnLink {
        slot: Slot,
        arrives: Time,
        overtaken: Option<Time>,
    },
    /// Lost on the wire.
    Lost(Slot, DropCause),
}

/// Bytes that have left a shared memory, and the next departure.
pub(crate) struct Freed {
    pub(crate) bytes: Bytes,
    pub(crate) next_departure: Option<Time>,
}

/// A packet that a queue with departure events has sent, and the departure of the next.
pub(crate) struct Sent {
    pub(crate) slot: Slot,
    pub(crate) next: Option<Time>,
    /// Its arrival, where that was decided when its sending began.
    pub(crate) arrives: Option<Time>,
    /// Whether the event of its arrival is entered already.
    pub(crate) announced: bool,
    /// Its accounts in a switch with priorities.
    pub(crate) passage: Option<Passage>,
}

/// The packets that are lost with a link.
pub(crate) struct Cut {
    /// Waiting or being sent.
    pub(crate) stored: Vec<Packet>,
    pub(crate) on_the_wire: Vec<Packet>,
    /// The arrival event of the first of these.
    pub(crate) arrival: Option<Time>,
    /// The buffer of the port, until the link recovers.
    pub(crate) buffer: PortBuffer,
}
