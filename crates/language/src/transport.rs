//! `[transport]`, and `[flows.NAME.transport]`: how data travel.

use incastle_transport::datagram::DEFAULT_SEND_BUFFER;
use incastle_units::Bytes;

use crate::custom::Custom;
use crate::grammar::declare::{choice, table, words};
use crate::grammar::range::between;
use crate::limits::SendBuffer;
use crate::rdma::{Control, Rdma};
use crate::tcp::{Congestion, Tcp};
use crate::udt::{Dcudp, Stream, Udt};

/// 802.1Q's priority has three bits.
const MAX_CLASS: u32 = 7;

table! {
    /// `[transport]`
    pub struct Transport {
        /// The protocol.
        flat kind: Kind;
        /// The bytes on the wire in addition to IP packets.
        value framing: Framing = Framing::Ip;
        /// The traffic class of its packets, acknowledgements included, where a switch has a queue for each class (`classify_by` of `drr`).
        value traffic_class: u32 = 0, in between(0, MAX_CLASS);
    }
}

choice! {
    /// The protocol.
    pub enum Kind by kind = "tcp" {
        /// TCP with any of the congestion controls
        "tcp" => Tcp(Tcp),
        /// datagrams (UDP): no acknowledgements, no control
        "udp" => Datagram(Datagram),
        /// UDT 4: NAKs, a sending period that they lengthen, a reliable stream over UDP
        "udt" => Udt(Udt),
        /// DCUDP: UDT at the application's pace until marks come back, then a rate that they divide (Ye)
        "dcudp" => Dcudp(Dcudp),
        /// RDMA over Converged Ethernet (RoCEv2): queue pairs with WRITE, SEND or READ messages, paced by their NIC
        "rdma" => Rdma(Rdma),
    }
}

table! {
    /// Datagrams.
    pub struct Datagram {
        /// Application bytes of a full datagram; 28 bytes of headers come on top.
        value payload: Bytes = Bytes::new(1_472), in between(Bytes::new(1), Bytes::new(65_000));
        /// Application bytes that may wait for the NIC; data that do not fit are refused and
        /// counted. A bulk transfer waits for room instead.
        value send_buffer: SendBuffer = SendBuffer::Limited(DEFAULT_SEND_BUFFER);
    }
}

words! {
    /// The bytes on the wire in addition to IP packets.
    pub enum Framing {
        /// Nothing: a packet's size is its IP size.
        "ip" => Ip,
        /// Ethernet's header, checksum, preamble and gap: 38 bytes more, 84 at least.
        "ethernet" => Ethernet,
    }
}

impl Transport {
    /// Application bytes of a full packet.
    pub fn payload(&self) -> Bytes {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.mss,
            Kind::Datagram(datagram) => datagram.payload,
            Kind::Udt(udt) => udt.stream.payload(),
            Kind::Dcudp(dcudp) => dcudp.stream.payload(),
            Kind::Rdma(rdma) => rdma.mtu,
        }
    }

    /// The same with connections that are there already.
    #[must_use]
    pub fn without_handshake(mut self) -> Self {
        match &mut self.kind {
            Kind::Tcp(tcp) => tcp.handshake = false,
            Kind::Datagram(_) | Kind::Rdma(_) => {}
            Kind::Udt(udt) => udt.stream.handshake = false,
            Kind::Dcudp(dcudp) => dcudp.stream.handshake = false,
        }
        self
    }

    /// The parameters of TCP, if it is TCP.
    pub fn tcp(&self) -> Option<&Tcp> {
        match &self.kind {
            Kind::Tcp(tcp) => Some(tcp),
            Kind::Datagram(_) | Kind::Udt(_) | Kind::Dcudp(_) | Kind::Rdma(_) => None,
        }
    }

    /// The parameters of RDMA, if it is RDMA.
    pub fn rdma(&self) -> Option<&Rdma> {
        match &self.kind {
            Kind::Rdma(rdma) => Some(rdma),
            Kind::Tcp(_) | Kind::Datagram(_) | Kind::Udt(_) | Kind::Dcudp(_) => None,
        }
    }

    /// The user-defined controller, if it has one.
    pub fn custom(&self) -> Option<&Custom> {
        match &self.kind {
            Kind::Tcp(Tcp {
                congestion: Congestion::Custom(custom),
                ..
            })
            | Kind::Rdma(Rdma {
                congestion: Control::Custom(custom),
                ..
            }) => Some(custom),
            Kind::Udt(_) => match self.window_control() {
                Some(Congestion::Custom(custom)) => Some(custom),
                _ => None,
            },
            _ => None,
        }
    }

    /// The window control of TCP or UDT, if it has one.
    pub fn window_control(&self) -> Option<&Congestion> {
        match &self.kind {
            Kind::Tcp(tcp) => Some(&tcp.congestion),
            Kind::Udt(udt) => Some(&udt.control.window()?.congestion),
            Kind::Datagram(_) | Kind::Dcudp(_) | Kind::Rdma(_) => None,
        }
    }

    /// The same, to be completed.
    pub fn custom_mut(&mut self) -> Option<&mut Custom> {
        match &mut self.kind {
            Kind::Tcp(Tcp {
                congestion: Congestion::Custom(custom),
                ..
            })
            | Kind::Rdma(Rdma {
                congestion: Control::Custom(custom),
                ..
            }) => Some(custom),
            Kind::Udt(udt) => udt.control.custom_mut(),
            _ => None,
        }
    }

    /// The parameters that UDT and DCUDP share, if it is one of them.
    pub fn stream(&self) -> Option<&Stream> {
        match &self.kind {
            Kind::Udt(udt) => Some(&udt.stream),
            Kind::Dcudp(dcudp) => Some(&dcudp.stream),
            Kind::Tcp(_) | Kind::Datagram(_) | Kind::Rdma(_) => None,
        }
    }

    /// The parameters of DCUDP, if it is DCUDP.
    pub fn dcudp(&self) -> Option<&Dcudp> {
        match &self.kind {
            Kind::Dcudp(dcudp) => Some(dcudp),
            Kind::Tcp(_) | Kind::Datagram(_) | Kind::Udt(_) | Kind::Rdma(_) => None,
        }
    }

    /// Whether connections are opened and closed by separate packets.
    pub fn has_handshake(&self) -> bool {
        match &self.kind {
            Kind::Tcp(tcp) => tcp.handshake,
            Kind::Datagram(_) | Kind::Rdma(_) => false,
            Kind::Udt(udt) => udt.stream.handshake,
            Kind::Dcudp(dcudp) => dcudp.stream.handshake,
        }
    }

    /// Application bytes that may wait to be sent first, unless there is no limit.
    pub fn send_buffer(&self) -> Option<Bytes> {
        match &self.kind {
            Kind::Tcp(_) | Kind::Rdma(_) => None,
            Kind::Datagram(datagram) => datagram.send_buffer.limit(),
            Kind::Udt(udt) => udt.stream.send_buffer.limit(),
            Kind::Dcudp(dcudp) => dcudp.stream.send_buffer.limit(),
        }
    }
}
