//! A packet in the network: a small `Copy` value. Its payload is a length; SACK blocks and the control packets of UDT
//! are in an arena.
//!
//! Segments are matched first and everything else out of line: a jump table costs every packet more.

use incastle_queueing::{Classified, EcnQueued, PauseFrame, Priority, Queued};
use incastle_routing::{Destination, Hop, Marks};
use incastle_transport::datagram::Datagram;
use incastle_transport::tcp::Segment;
use incastle_transport::udt::wire::DataHeader;
use incastle_units::{Bytes, Ecn, Time};

use crate::core::{EndpointIndex, HostIndex, PortIndex};
use crate::layout::{self, Linked, Slot};
use crate::network::Extras;

/// The content of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    Segment {
        segment: Segment,
        /// The place of its SACK blocks in the arena; meaningless where it has none.
        sacks: u32,
    },
    Datagram(Datagram),
    /// A data packet of UDT.
    UdtData {
        header: DataHeader,
        sent_at: Time,
    },
    /// A control packet of UDT, whose content is in the arena.
    UdtControl {
        /// Two words that identify it.
        words: [u32; 2],
        ip_bytes: u16,
        /// Its place in the arena.
        place: u32,
        sent_at: Time,
    },
    /// A packet of a queue pair.
    Rdma {
        packet: incastle_rdma::Packet,
        /// The place of its telemetry in the arena, or [`NO_TELEMETRY`]; in an ACK, that of the packet that it answers.
        telemetry: u32,
        ip_bytes: u16,
        /// The opcode in its base transport header, and its echo: the part of its identity that takes a calculation.
        code: u8,
    },
    /// A congestion notification message (QCN) with its quantised feedback.
    Cnm {
        psi: u8,
    },
    /// A pause frame (IEEE 802.1Qbb) for the node at the end of the link.
    Pause(PauseFrame),
}

/// No place in the arena.
pub(crate) const NO_TELEMETRY: u32 = u32::MAX;

/// A packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) body: Body,
    /// The endpoint that it is for.
    pub(crate) to: EndpointIndex,
    /// The host of that endpoint.
    pub(crate) host: HostIndex,
    /// The packet behind it in its port and on its link, if there is one.
    pub(crate) behind: Slot,
    /// Bytes on the wire, framing included.
    pub(crate) size: u16,
    pub(crate) marks: Marks,
    /// The traffic class.
    pub(crate) class: u8,
}

/// Two words that identify a packet within its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Destination, size, ECN field, flags.
    pub(crate) head: u64,
    /// Sequence numbers.
    pub(crate) body: u64,
}

/// The packets in ports and on links.
pub(crate) type Pool = layout::Pool<Packet>;
/// A packet in a port or on a link.
pub(crate) type InFlight = layout::InFlight<Packet>;

// Together with its arrival time a packet fills one cache line.
const _: () = assert!(size_of::<InFlight>() == 64);

impl Default for Packet {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Linked for Packet {
    #[inline(always)]
    fn behind(&self) -> Slot {
        self.behind
    }

    #[inline(always)]
    fn set_behind(&mut self, slot: Slot) {
        self.behind = slot;
    }

    #[inline(always)]
    fn size(&self) -> u16 {
        self.size
    }
}

impl Body {
    const EMPTY: Self = Self::Segment {
        segment: Segment::EMPTY,
        sacks: 0,
    };

    /// The segment inside and the place of its SACK blocks, to be written over.
    #[inline(always)]
    pub(crate) fn as_segment(&mut self) -> (&mut Segment, &mut u32) {
        if !matches!(self, Self::Segment { .. }) {
            *self = Self::EMPTY;
        }
        match self {
            Self::Segment { segment, sacks } => (segment, sacks),
            _ => unreachable!("it was just made a segment"),
        }
    }
}

impl Queued for Packet {
    #[inline(always)]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }
}

impl EcnQueued for Packet {
    fn ecn(&self) -> Ecn {
        self.marks.ecn()
    }

    fn mark(&mut self) {
        self.marks.set_ecn(Ecn::Ce);
    }
}

impl Classified for Packet {
    fn flow(&self) -> u32 {
        self.to.0
    }

    fn class(&self) -> u32 {
        u32::from(self.class)
    }
}

impl Packet {
    /// An empty packet, to be written over.
    pub(crate) const EMPTY: Self = Self {
        body: Body::EMPTY,
        to: EndpointIndex(0),
        host: HostIndex(0),
        behind: Slot::NONE,
        size: 0,
        marks: Marks::of(Ecn::NotEct),
        class: 0,
    };

    /// A pause frame, for the node at the other end of a link: no route has it.
    pub(crate) const fn pause(frame: PauseFrame, size: u16) -> Self {
        Self {
            body: Body::Pause(frame),
            to: EndpointIndex(u32::MAX),
            host: HostIndex(u32::MAX),
            size,
            ..Self::EMPTY
        }
    }

    /// Its place on its path.
    #[inline(always)]
    pub(crate) const fn hop(&self) -> Hop {
        Hop {
            to: self.to,
            passed: self.marks.passed(),
        }
    }

    /// Its destination, for a lookup of routes.
    #[inline(always)]
    pub(crate) const fn destination(&self) -> Destination {
        Destination {
            host: self.host,
            hop: self.hop(),
        }
    }

    pub(crate) fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    /// Application bytes inside.
    #[inline]
    pub(crate) fn payload(&self) -> u16 {
        match &self.body {
            Body::Segment { segment, .. } => segment.payload,
            Body::Rdma { packet, .. } => packet.payload,
            _ => self.other_payload(),
        }
    }

    #[inline(never)]
    fn other_payload(&self) -> u16 {
        match &self.body {
            Body::Segment { .. } | Body::Rdma { .. } => unreachable!("they are matched before"),
            Body::Datagram(datagram) => datagram.payload as u16,
            Body::UdtData { header, .. } => header.length,
            Body::UdtControl { .. } | Body::Cnm { .. } | Body::Pause(_) => 0,
        }
    }

    /// The port of a switch with priorities by which the packet came in. There it is on no link, and has no neighbor.
    pub(crate) const fn ingress(&self) -> PortIndex {
        PortIndex(self.behind.number())
    }

    /// Sets that port.
    pub(crate) const fn set_ingress(&mut self, port: PortIndex) {
        self.behind = Slot::of_number(port.0);
    }

    /// Whether it is a pause frame.
    #[inline(always)]
    pub(crate) fn is_pause(&self) -> bool {
        matches!(&self.body, Body::Pause(_))
    }

    /// Its priority: its traffic class.
    pub(crate) fn priority(&self) -> Priority {
        Priority::new(self.class).expect("a traffic class has three bits")
    }

    /// The place of the telemetry that it gathers.
    pub(crate) fn telemetry(&self) -> Option<u32> {
        match &self.body {
            Body::Rdma {
                packet, telemetry, ..
            } if packet.is_data() && *telemetry != NO_TELEMETRY => Some(*telemetry),
            _ => None,
        }
    }

    /// Whether it is data of a WRITE or SEND: nothing that its receiver sends depends on it but acknowledgements and CNPs.
    #[inline]
    pub(crate) fn is_message(&self) -> bool {
        matches!(&self.body, Body::Rdma { packet, .. } if packet.opcode.is_message())
    }

    /// Whether it is a congestion notification, which belongs to no transport.
    pub(crate) fn is_cnm(&self) -> bool {
        matches!(&self.body, Body::Cnm { .. })
    }

    /// Whether it belongs to no transport: a congestion notification or a pause frame.
    #[inline(always)]
    pub(crate) fn is_of_network(&self) -> bool {
        matches!(&self.body, Body::Cnm { .. } | Body::Pause(_))
    }

    /// Whether part of it is in the arena.
    #[inline]
    pub(crate) fn has_extra(&self) -> bool {
        match &self.body {
            Body::Segment { segment, .. } => segment.sacks > 0,
            Body::Rdma { telemetry, .. } => *telemetry != NO_TELEMETRY,
            other => matches!(other, Body::UdtControl { .. }),
        }
    }

    /// Frees the extras of a packet that will not arrive.
    pub(crate) fn forget_extra(&self, extras: &mut Extras) {
        match &self.body {
            Body::Segment { segment, sacks } if segment.sacks > 0 => {
                extras.sacks.take(*sacks);
            }
            Body::UdtControl { place, .. } => {
                extras.controls.take(*place);
            }
            Body::Rdma { telemetry, .. } => extras.free_telemetry(*telemetry),
            _ => {}
        }
    }

    /// Two words that identify the packet within its run.
    #[inline(always)]
    pub(crate) fn identity(&self) -> Identity {
        let head = u64::from(self.to.0) << 32 | u64::from(self.size) << 8 | self.marks.ecn_bits();
        match &self.body {
            Body::Segment { segment, .. } => {
                let flags = u64::from(segment.flags.bits()) << 24;
                Identity {
                    head: head ^ flags,
                    body: u64::from(segment.seq) << 32 | u64::from(segment.ack),
                }
            }
            _ => self.other_identity(head),
        }
    }

    #[inline(never)]
    fn other_identity(&self, head: u64) -> Identity {
        if let Body::Rdma { packet, code, .. } = &self.body {
            let numbers = u64::from(packet.psn) << 32 | u64::from(packet.msn) << 8;
            return Identity {
                head: head ^ u64::from(*code) << 24,
                body: numbers ^ u64::from(packet.length),
            };
        }
        let (bits, body) = match &self.body {
            Body::Segment { .. } | Body::Rdma { .. } => unreachable!("they are matched before"),
            Body::Datagram(datagram) => (0, datagram.seq),
            Body::UdtData { header, .. } => {
                let bits = u64::from(header.observe) | u64::from(header.cwr) << 1;
                let number = u64::from(header.sequence.word());
                (bits << 24, number << 32 | u64::from(header.message))
            }
            Body::UdtControl { words, .. } => {
                let [first, second] = words.map(u64::from);
                (1 << 26, first << 32 | second)
            }
            Body::Cnm { psi } => (1 << 59, u64::from(*psi)),
            Body::Pause(PauseFrame { priorities, quanta }) => {
                let body = u64::from(priorities.bits()) << 16 | u64::from(*quanta);
                (1 << 58, body)
            }
        };
        let head = head ^ bits;
        Identity { head, body }
    }
}
