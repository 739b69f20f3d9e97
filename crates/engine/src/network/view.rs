//! Packets as plain data for probes, which do not depend on the packets themselves.
//!
//! Leaves out: frames, which incastle-capture builds from a [`SentPacket`].

use incastle_rdma::Opcode;
use incastle_transport::tcp::{Flags, Segment};
use incastle_transport::udt::wire::Control;

use crate::network::{Body, Extras, Identity, Packet};
use crate::probe::{Content, Lost, Number, SentContent, SentPacket, Tag};

/// The bits of the ECN field in `Packet::identity`.
const ECN_FIELD: u64 = 0xff;

impl Packet {
    /// The packet as a port has dropped it; absent for a notification, which belongs to no transport.
    pub(crate) fn lost(&self) -> Option<Lost> {
        let (seq, octets, sent) = match &self.body {
            Body::Segment { segment, .. } => {
                let flag = |flag| u16::from(segment.flags.contains(flag));
                let octets = segment.payload + flag(Flags::SYN) + flag(Flags::FIN);
                (u64::from(segment.seq), octets, segment.timestamp)
            }
            Body::Datagram(datagram) => (datagram.seq, 1, datagram.sent_at),
            Body::UdtData { header, sent_at } => (u64::from(header.sequence.word()), 1, *sent_at),
            Body::UdtControl { sent_at, .. } => (0, 0, *sent_at),
            Body::Rdma { packet, .. } => (u64::from(packet.psn), 1, packet.timestamp),
            Body::Cnm { .. } | Body::Pause(_) => return None,
        };
        let from = self.to.peer();
        Some(Lost {
            flow: from.flow(),
            from: from.side(),
            sent,
            seq,
            payload: self.payload(),
            octets,
        })
    }

    /// The tag of the packet, unless it is a notification.
    pub(crate) fn tag(&self) -> Option<Tag> {
        let sent = match &self.body {
            Body::Segment { segment, .. } => segment.timestamp,
            Body::Datagram(datagram) => datagram.sent_at,
            Body::UdtData { sent_at, .. } | Body::UdtControl { sent_at, .. } => *sent_at,
            Body::Rdma { packet, .. } => packet.timestamp,
            Body::Cnm { .. } | Body::Pause(_) => return None,
        };
        // An ACK and the data behind it have the same numbers; size and flags differ.
        let Identity { head, body } = self.identity();
        Some(Tag {
            endpoint: self.to.peer(),
            sent,
            words: [head & !ECN_FIELD, body],
        })
    }

    /// The content of a packet that an endpoint is about to send.
    pub(crate) fn content(&self, extras: &Extras) -> Content {
        let payload = self.payload();
        let numbered = |kind, seq| Content {
            kind,
            seq: Some(seq),
            ack: None,
            payload,
        };
        match &self.body {
            Body::Segment { segment, .. } => of_segment(segment),
            Body::Datagram(datagram) => numbered("datagram", Number::Datagram(datagram.seq)),
            Body::UdtData { header, .. } => numbered("data", Number::Udt(header.sequence.word())),
            Body::UdtControl { place, .. } => {
                of_control(&extras.controls.at(*place).header.control)
            }
            Body::Rdma { packet, .. } => of_rdma(packet),
            Body::Cnm { .. } | Body::Pause(_) => unreachable!("an endpoint sends neither"),
        }
    }

    /// A copy of the packet that outlives it, with its extras.
    pub(crate) fn sent(&self, extras: &Extras) -> SentPacket {
        let content = match &self.body {
            Body::Segment { segment, sacks } => {
                let count = usize::from(segment.sacks);
                let blocks = (count > 0).then(|| &extras.sacks.at(*sacks)[..count]);
                SentContent::Segment(*segment, blocks.unwrap_or_default().into())
            }
            Body::Datagram(datagram) => SentContent::Datagram(*datagram),
            Body::UdtData { header, sent_at } => SentContent::UdtData(*header, *sent_at),
            Body::UdtControl { place, sent_at, .. } => {
                let control = Box::new(*extras.controls.at(*place));
                SentContent::UdtControl(control, *sent_at)
            }
            Body::Rdma {
                packet, telemetry, ..
            } => SentContent::Rdma(*packet, extras.hops(*telemetry).into()),
            Body::Cnm { psi } => SentContent::Notification(*psi),
            Body::Pause(frame) => SentContent::Pause(*frame),
        };
        SentPacket {
            to: self.to,
            ecn: self.marks.ecn(),
            class: self.class,
            content,
        }
    }
}

fn of_segment(segment: &Segment) -> Content {
    let acks = segment.flags.contains(Flags::ACK);
    Content {
        kind: segment.name(),
        seq: Some(Number::Tcp(segment.seq)),
        ack: acks.then_some(Number::Tcp(segment.ack)),
        payload: segment.payload,
    }
}

fn of_rdma(packet: &incastle_rdma::Packet) -> Content {
    let answers = matches!(packet.opcode, Opcode::Ack | Opcode::Nak);
    let number = Number::Rdma(packet.psn);
    Content {
        kind: packet.opcode.name(),
        seq: (!answers && packet.opcode != Opcode::Cnp).then_some(number),
        ack: answers.then_some(number),
        payload: packet.payload,
    }
}

fn of_control(control: &Control) -> Content {
    let ack = control.next_expected().map(|next| Number::Udt(next.word()));
    Content {
        kind: control.name(),
        seq: None,
        ack,
        payload: 0,
    }
}

#[cfg(test)]
mod tests {
    use incastle_units::Ecn;

    use super::*;
    use incastle_routing::Marks;

    fn tag(size: u16, ecn: Ecn) -> Tag {
        let packet = Packet {
            size,
            marks: Marks::of(ecn),
            ..Packet::EMPTY
        };
        packet.tag().expect("a segment has a tag")
    }

    #[test]
    fn size_distinguishes_packets_and_a_mark_does_not() {
        // An ACK of 40 bytes, and data that leave at the same instant with the same two numbers.
        assert_ne!(tag(40, Ecn::Ect0), tag(1_500, Ecn::Ect0));
        assert_eq!(tag(1_500, Ecn::Ect0), tag(1_500, Ecn::Ce));
    }
}
