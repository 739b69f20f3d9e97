//! `[transport]`, and `[flows.NAME.transport]`: how data travel.

use incastle_units::Bytes;

use crate::grammar::declare::{choice, table, words};
use crate::grammar::range::between;
use crate::language::tcp::Tcp;

table! {
    /// `[transport]`
    pub struct Transport {
        /// The protocol.
        flat kind: Kind;
        /// What the wire carries besides IP packets.
        value framing: Framing = Framing::Ip;
    }
}

choice! {
    /// The protocol.
    pub enum Kind by kind = "tcp", later ["udt", "dcudp"] {
        /// TCP with any of the congestion controls
        "tcp" => Tcp(Tcp),
        /// datagrams (UDP): no acknowledgements, no control
        "datagram" => Datagram(Datagram),
    }
}

table! {
    /// Datagrams.
    pub struct Datagram {
        /// Application bytes of a full datagram; 28 bytes of headers come on top.
        value payload: Bytes = Bytes::new(1_472), in between(Bytes::new(1), Bytes::new(65_000));
    }
}

words! {
    /// What the wire carries besides IP packets.
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
        }
    }

    /// The parameters of TCP, if it is TCP.
    pub fn tcp(&self) -> Option<&Tcp> {
        match &self.kind {
            Kind::Tcp(tcp) => Some(tcp),
            Kind::Datagram(_) => None,
        }
    }
}
