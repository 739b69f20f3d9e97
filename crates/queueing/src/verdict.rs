//! A queue discipline's view of an arriving packet and of the queue in front of it, and its
//! verdict.

use incastle_units::{Amount, Bytes, Ecn, Packets, Time};
use rand_core::Rng;

/// The queue in front of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// The instant of the arrival.
    pub now: Time,
    /// Packets that wait: not the arriving one, not the one being sent.
    pub waiting_packets: Packets,
    /// Their bytes.
    pub waiting_bytes: Bytes,
    /// Since when the port has had nothing to send; absent while it is busy.
    pub idle_since: Option<Time>,
}

impl QueueState {
    /// Whether the queue is longer than `threshold`, in the threshold's unit.
    #[inline]
    pub fn exceeds(&self, threshold: Amount) -> bool {
        match threshold {
            Amount::Packets(limit) => self.waiting_packets > limit,
            Amount::Bytes(limit) => self.waiting_bytes > limit,
        }
    }
}

/// The arriving packet, as far as a switch looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its size on the wire.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The port's buffer, or the whole shared memory, is full.
    BufferFull,
    /// The port's share of a shared memory is used up (Dynamic Thresholds).
    SharedLimit,
    /// An active queue manager chose to drop rather than to mark.
    Early,
    /// The queue is above the marking threshold and the packet cannot be marked.
    NotEcnCapable,
    /// The link behind the port is down, or no route is left to the packet's destination.
    LinkDown = 5,
    /// The packet was lost on the wire behind the port.
    LostOnWire = 7,
    /// The packet was corrupted on the wire behind the port, and its receiver discards it.
    Corrupted = 8,
    /// A lossless priority is above XOFF and the headroom of its ingress port is full: headroom is too small.
    HeadroomFull = 9,
    /// The watchdog drops the packets of a priority that has been paused for too long.
    PauseWatchdog = 10,
}

/// The verdict on an arrival. It grows with the disciplines: QCN's congestion point adds "notify
/// the source".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Store the packet.
    Admit,
    /// Store it with CE set.
    Mark,
    /// Discard it.
    Drop(DropCause),
}

/// A queue discipline of one port.
pub trait Discipline: Send {
    /// Judges one arriving packet that the buffer can hold.
    fn on_arrival(&mut self, queue: &QueueState, packet: &Arrival, rng: &mut dyn Rng) -> Verdict;

    /// Sees a packet that the buffer has refused, in place of `on_arrival`: for disciplines whose
    /// state follows every arrival.
    fn on_refused(&mut self, _queue: &QueueState, _packet: &Arrival) {}
}
