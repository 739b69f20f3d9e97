//! What a port is given and what it returns: offers, backlogs, the events that it needs.

use incastle_queueing::PortBuffer;
use incastle_units::{Bytes, Packets, Time};

use crate::layout::Slot;
use crate::network::Packet;

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

impl Backlog {
    /// What waits and what is being sent, together.
    pub(super) fn of(waiting_packets: u32, waiting_bytes: u64, sending: Option<&Packet>) -> Self {
        let size = sending.map_or(0, |packet| u64::from(packet.size));
        Self {
            stored_packets: waiting_packets + u32::from(sending.is_some()),
            stored_bytes: waiting_bytes + size,
            waiting_packets,
            waiting_bytes,
        }
    }

    /// Everything in memory.
    #[inline(always)]
    pub(super) fn stored(&self) -> (Packets, Bytes) {
        let packets = Packets::new(u64::from(self.stored_packets));
        (packets, Bytes::new(self.stored_bytes))
    }

    /// One packet that waits is gone.
    pub(super) fn remove_waiting(&mut self, size: u64) {
        self.stored_packets -= 1;
        self.stored_bytes -= size;
        self.waiting_packets -= 1;
        self.waiting_bytes -= size;
    }
}

/// Events that the port now needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wakes {
    /// The link was empty; its first packet arrives then.
    pub(crate) arrival: Option<Time>,
    /// A queue with departure events began to send; the packet departs then.
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
    /// A packet that may leave at once.
    pub(crate) const fn at(now: Time, slot: Slot) -> Self {
        Self {
            now,
            ready: now,
            slot,
        }
    }
}

/// What became of a packet at a port that may have a fast path for it.
pub(crate) enum FastPath {
    /// Nothing: the gate has to judge it.
    Closed,
    /// It was admitted, the first on its link, and arrives then.
    First(Time),
    /// It was admitted behind others.
    Behind,
}

/// What is lost with a link.
pub(crate) struct Cut {
    /// Waiting or being sent.
    pub(crate) stored: Vec<Packet>,
    pub(crate) on_the_wire: Vec<Packet>,
    /// When the first of these would have arrived.
    pub(crate) arrival: Option<Time>,
    /// The buffer that the port has again when the link comes up.
    pub(crate) buffer: PortBuffer,
}
