//! Packets of RoCEv2, as far as a queue pair and a capture need them: opcode, PSN and the fields of the
//! base and extended transport headers that the model fills.
//!
//! Leaves out: addresses, keys, queue pair numbers, partition keys, checksums; a capture invents them.

use incastle_congestion::HopTelemetry;
use incastle_units::{Bytes, Ecn, Time};

use crate::config::Headers;

/// The position of a packet in its message or stream of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The first of several.
    First,
    /// Neither the first nor the last.
    Middle,
    /// The last of several.
    Last,
    /// The only one.
    Only,
}

impl Place {
    /// The place of a packet, by what it begins and ends.
    pub(crate) const fn of(begins: bool, ends: bool) -> Self {
        match (begins, ends) {
            (true, true) => Self::Only,
            (true, false) => Self::First,
            (false, true) => Self::Last,
            (false, false) => Self::Middle,
        }
    }

    /// Whether it begins its message.
    pub const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether it ends its message.
    pub const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// The kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    /// Data of a SEND.
    Send(Place),
    /// Data of a WRITE.
    Write(Place),
    /// The request of a READ.
    ReadRequest,
    /// Data of a READ.
    ReadResponse(Place),
    /// A positive acknowledgement: everything up to its PSN has arrived.
    Ack,
    /// A negative one, PSN sequence error: everything before its PSN has arrived, it is expected.
    Nak,
    /// A congestion notification packet.
    Cnp,
}

impl Opcode {
    /// The opcode in the base transport header: table 38 of IB 1.3; annex A17 for the CNP.
    pub const fn bth(self) -> u8 {
        const BY_PLACE: [[u8; 4]; 6] = [
            [0x00, 0x01, 0x02, 0x04],
            [0x06, 0x07, 0x08, 0x0A],
            [0x0D, 0x0E, 0x0F, 0x10],
            [0x0C; 4],
            [0x11; 4],
            [0x81; 4],
        ];
        let (row, place) = match self {
            Self::Send(place) => (0, place),
            Self::Write(place) => (1, place),
            Self::ReadResponse(place) => (2, place),
            Self::ReadRequest => (3, Place::First),
            Self::Ack | Self::Nak => (4, Place::First),
            Self::Cnp => (5, Place::First),
        };
        BY_PLACE[row][place as usize]
    }

    /// The name of its kind, for records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::Write(_) => "write",
            Self::ReadRequest => "read-request",
            Self::ReadResponse(_) => "read-response",
            Self::Ack => "ack",
            Self::Nak => "nak",
            Self::Cnp => "cnp",
        }
    }

    /// Whether it has the RETH: address, key and length of remote memory.
    pub const fn has_reth(self) -> bool {
        match self {
            Self::Write(place) => place.begins(),
            Self::ReadRequest => true,
            _ => false,
        }
    }

    /// Whether it has the AETH: syndrome and MSN.
    pub const fn has_aeth(self) -> bool {
        match self {
            Self::ReadResponse(place) => !matches!(place, Place::Middle),
            Self::Ack | Self::Nak => true,
            _ => false,
        }
    }

    /// Whether it is data of a WRITE or SEND.
    #[inline]
    pub const fn is_message(self) -> bool {
        matches!(self, Self::Send(_) | Self::Write(_))
    }

    /// Whether the responder numbers it as a request: it takes PSNs of the requester.
    pub const fn is_request(self) -> bool {
        self.is_message() || matches!(self, Self::ReadRequest)
    }
}

/// A packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The departure of data and requests. In an ACK or NAK that of the packet that it answers, or
    /// [`Time::NEVER`].
    pub timestamp: Time,
    /// The packet sequence number, 24 bits.
    pub psn: u32,
    /// The length in the RETH: bytes of the WRITE, or bytes that a READ request asks for. Cut to 32
    /// bits.
    pub length: u32,
    /// The message sequence number in the AETH, 24 bits: messages that the responder has completed.
    pub msn: u32,
    /// Bytes of payload.
    pub payload: u16,
    /// The kind.
    pub opcode: Opcode,
    /// The requester asks for an acknowledgement (AckReq).
    pub ack_req: bool,
    /// An ACK or NAK echoes a mark (HPCC-ns3; never set where CNPs notify).
    pub echo: bool,
    /// It repeats something that left before.
    pub retransmission: bool,
}

impl Packet {
    /// Whether it carries payload, and is paced.
    pub const fn is_data(&self) -> bool {
        self.payload > 0
    }

    /// Bytes of the IP packet, by the sizes of its headers.
    pub const fn ip_bytes(&self, headers: &Headers) -> Bytes {
        let own = match self.opcode {
            Opcode::Ack | Opcode::Nak => headers.ack as u64,
            Opcode::Cnp => headers.cnp as u64,
            opcode => {
                let reth = if opcode.has_reth() { headers.reth } else { 0 };
                let aeth = if opcode.has_aeth() { headers.aeth } else { 0 };
                headers.data as u64 + reth as u64 + aeth as u64
            }
        };
        Bytes::new(own + self.payload as u64)
    }
}

/// A packet that arrived, and what the network adds to it.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// The packet.
    pub packet: &'a Packet,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Of an ACK or NAK: the telemetry of the packet that it answers, in the order of its path; empty without
    /// INT.
    pub hops: &'a [HopTelemetry],
    /// Likewise, the switches that it passed; absent where the network does not tell.
    pub hop_count: Option<u8>,
}
