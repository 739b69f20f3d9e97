//! What can happen to a recorded flow, as probes are told of it: to its packets, and inside its ends.
//!
//! Ends are not asked what they do: after each call they are looked at, and what has changed is what
//! happened. So transports and controllers know nothing of records. Leaves out: what SACK blocks say,
//! and timers that were moved and never fired.

use incastle_congestion::{ControlState, Phase};
use incastle_queueing::Verdict;
use incastle_transport::tcp::{Flags, Segment};
use incastle_transport::udt::wire::Control;
use incastle_units::{Amount, Bytes, Rate, Span, Time};

use crate::core::{EndpointIndex, PortIndex};
use crate::network::Extras;
use crate::network::{Body, Packet};

/// What tells a packet from the others of its run, wherever it is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The end that has sent it.
    pub end: EndpointIndex,
    /// When that handed it to the adapter.
    pub sent: Time,
    /// Words of what it says, without the ECN field, which switches change. Of packets that one end
    /// sent at one instant, those with equal words overtake each other unnoticed.
    pub words: (u64, u64),
}

/// What a packet says, in the numbers of its wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// In one word.
    pub kind: &'static str,
    /// Its first byte (TCP), or its number (UDT's data, datagrams).
    pub seq: Option<Number>,
    /// The next byte or packet that its sender expects, where it says so.
    pub ack: Option<Number>,
    /// Application bytes.
    pub payload: u16,
}

/// A sequence number on the wire of its transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// Of TCP: 32 bits that wrap.
    Tcp(u32),
    /// Of UDT: 31 bits that wrap.
    Udt(u32),
    /// Of datagrams: their count.
    Datagram(u64),
}

/// What a port's memory held when it judged a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSeen {
    /// Packets, the one being sent included.
    pub packets: u32,
    /// Their bytes.
    pub bytes: Bytes,
    /// The most that it may hold: of a shared memory the threshold of that instant.
    pub limit: Option<Amount>,
}

/// How long a packet takes from a port to the next node if it need not wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transit {
    /// Until its last bit has left.
    pub serialisation: Span,
    /// From then to the far end of the link.
    pub propagation: Span,
}

/// An end, as it stands between two calls.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Observation {
    /// Bytes that its application has written.
    pub written: u64,
    /// In-order bytes that its application has received.
    pub delivered: u64,
    /// Data packets that it has sent again.
    pub retransmissions: u64,
    /// Duplicate ACKs that it has received (TCP).
    pub duplicate_acks: u64,
    /// Fast retransmits that it has begun (TCP).
    pub fast_retransmits: u64,
    /// Times that EXP has expired with data outstanding (UDT).
    pub expiries: u64,
    /// NAKs that it has received (UDT).
    pub naks: u64,
    /// Where loss recovery stands (TCP).
    pub phase: Option<Phase>,
    /// The rate by which it waits between its segments (TCP).
    pub pacing: Option<Rate>,
    /// The controller's state.
    pub control: ControlState,
}

/// One thing that has happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Happening<'a> {
    /// An end has handed a packet to its adapter, or to the rate limiter before it.
    Sent {
        /// Which.
        tag: Tag,
        /// What it says.
        content: Content,
        /// Whether it repeats something that was sent before.
        repeated: bool,
        /// The adapter's port.
        port: PortIndex,
        /// What follows at the least.
        transit: Transit,
    },
    /// The rate limiter has let a packet go to the adapter.
    Released(Tag),
    /// A port has judged a packet.
    Judged {
        /// Which.
        tag: Tag,
        /// Where.
        port: PortIndex,
        /// How.
        verdict: Verdict,
        /// What it met.
        queue: QueueSeen,
        /// What follows at the least.
        transit: Transit,
    },
    /// A packet has reached its host.
    Received(Tag),
    /// A congestion notification has reached the end, with its quantised feedback.
    Notified(u8),
    /// The end has been looked at.
    Observed(&'a Observation),
}

/// Where `Packet::identity` has the ECN field.
const ECN_FIELD: u64 = 0xff;

impl Tag {
    /// Of a packet of a transport.
    pub(crate) fn of(packet: &Packet) -> Option<Self> {
        let sent = match &packet.body {
            Body::Segment { segment, .. } => segment.timestamp,
            Body::Datagram(datagram) => datagram.sent_at,
            Body::UdtData { sent_at, .. } | Body::UdtControl { sent_at, .. } => *sent_at,
            Body::Cnm { .. } => return None,
        };
        // An ACK and the data behind it have the same numbers; size and flags tell them apart.
        let (head, body) = packet.identity();
        Some(Self {
            end: packet.to.peer(),
            sent,
            words: (head & !ECN_FIELD, body),
        })
    }
}

impl Content {
    /// Of a packet that is about to leave; notifications belong to no transport.
    pub(crate) fn of(packet: &Packet, extras: &Extras) -> Self {
        let payload = packet.payload();
        let (kind, seq, ack) = match &packet.body {
            Body::Segment { segment, .. } => of_segment(segment),
            Body::Datagram(datagram) => ("datagram", Some(Number::Datagram(datagram.seq)), None),
            Body::UdtData { header, .. } => {
                ("data", Some(Number::Udt(header.sequence.word())), None)
            }
            Body::UdtControl { place, .. } => {
                of_control(&extras.controls.at(*place).header.control)
            }
            Body::Cnm { .. } => unreachable!("an end sends no notification"),
        };
        Self {
            kind,
            seq,
            ack,
            payload,
        }
    }
}

/// A packet's kind, sequence number and acknowledgement.
type Said = (&'static str, Option<Number>, Option<Number>);

fn of_segment(segment: &Segment) -> Said {
    let has = |flag| segment.flags.contains(flag);
    let kind = match (has(Flags::SYN), has(Flags::ACK)) {
        (true, true) => "syn-ack",
        (true, false) => "syn",
        (false, _) if segment.payload > 0 => "data",
        (false, _) if has(Flags::FIN) => "fin",
        (false, _) => "ack",
    };
    let ack = has(Flags::ACK).then_some(Number::Tcp(segment.ack));
    (kind, Some(Number::Tcp(segment.seq)), ack)
}

fn of_control(control: &Control) -> Said {
    let kind = match control {
        Control::Handshake => "handshake",
        Control::KeepAlive => "keep-alive",
        Control::Ack { .. } => "ack",
        Control::LightAck { .. } => "light-ack",
        Control::Nak => "nak",
        Control::Warning => "warning",
        Control::Shutdown { .. } => "shutdown",
        Control::Ack2 { .. } => "ack2",
        Control::Drop { .. } => "drop-request",
        Control::ObserveChange { .. } => "observe-change",
        Control::ObserveChanged { .. } => "observe-changed",
    };
    let ack = match control {
        Control::Ack { next, .. } | Control::LightAck { next } => Some(Number::Udt(next.word())),
        _ => None,
    };
    (kind, None, ack)
}

#[cfg(test)]
mod tests {
    use incastle_units::Ecn;

    use super::*;
    use crate::network::Marks;

    fn tag(size: u16, ecn: Ecn) -> Tag {
        let packet = Packet {
            size,
            marks: Marks::of(ecn),
            ..Packet::EMPTY
        };
        Tag::of(&packet).expect("a segment has a tag")
    }

    #[test]
    fn size_tells_packets_apart_and_a_mark_does_not() {
        // An ACK of 40 bytes, and data that leave at the same instant with the same two numbers.
        assert_ne!(tag(40, Ecn::Ect0), tag(1_500, Ecn::Ect0));
        assert_eq!(tag(1_500, Ecn::Ect0), tag(1_500, Ecn::Ce));
    }
}
