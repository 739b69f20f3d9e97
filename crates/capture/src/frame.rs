//! The frame of a simulated packet: Ethernet II, a priority tag where it has a traffic class, IPv4, and
//! the transport's header.
//!
//! Sources: IEEE 802.1Q for the tag and, section 33, for congestion notifications; RFC 791, 9293, 768;
//! RFC 7323 and 2018 for TCP's options. A simulated TCP segment has no room for options (as in ns-2):
//! here they make the frame longer than the simulated packet.
//! Leaves out: checksum and padding of Ethernet, hops (switches are Ethernet's), identification (0,
//! RFC 6864, section 4.1, with DF), PSH.

use etherparse::{
    EtherType, Ethernet2Header, IpEcn, IpNumber, Ipv4Header, SingleVlanHeader, TcpHeader,
    TcpOptionElement, UdpHeader, VlanPcp,
};
use incastle_transport::tcp::{Flags, SackBlock, Segment};
use incastle_transport::udt::wire::{Content, ControlBody, Dialect, Packet, data_header, write};
use incastle_units::{Ecn, Time};

use crate::Host;

/// The EtherTypes of a congestion tag and a congestion notification message.
const CN_TAG: EtherType = EtherType(0x22E9);
const CNM: EtherType = EtherType(0x22E7);
/// The address of every switch, which is that of no port.
const SWITCH: [u8; 6] = [6, 0, 0, 0, 0, 0];
/// The minimum frame, without its checksum.
pub(crate) const MIN_FRAME: usize = 60;
/// Zeros, in place of payloads.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// The clock of TCP's timestamps ticks once per microsecond.
const PS_PER_TICK: u64 = 1_000_000;
const TIME_TO_LIVE: u8 = 64;

/// A frame without its checksum: headers and other bytes, the number of zeros after them, and the bytes
/// behind these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub(crate) head: Vec<u8>,
    pub(crate) zeros: usize,
    pub(crate) tail: Vec<u8>,
}

impl Frame {
    /// A frame that ends with its zeros.
    pub(crate) const fn new(head: Vec<u8>, zeros: usize) -> Self {
        let tail = Vec::new();
        Self { head, zeros, tail }
    }

    /// All its bytes, payload included.
    pub fn length(&self) -> usize {
        self.head.len() + self.zeros + self.tail.len()
    }

    /// Appends its first bytes, at most all of them.
    pub(crate) fn append_to(&self, bytes: &mut Vec<u8>, length: usize) {
        let head = length.min(self.head.len());
        let zeros = (length - head).min(self.zeros);
        bytes.extend(&self.head[..head]);
        bytes.resize(bytes.len() + zeros, 0);
        bytes.extend(&self.tail[..length - head - zeros]);
    }

    /// All of its bytes.
    #[cfg(test)]
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.append_to(&mut bytes, self.length());
        bytes
    }
}

/// The fields of a packet below its transport.
#[derive(Debug, Clone, Copy)]
pub struct Envelope {
    /// The sender.
    pub from: Host,
    /// The receiver.
    pub to: Host,
    /// The ports of both.
    pub ports: [u16; 2],
    /// The ECN field.
    pub ecn: Ecn,
    /// The traffic class, 802.1Q's priority: 0 for none, at most 7.
    pub class: u8,
}

/// The state that both endpoints of a TCP connection share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpTerms {
    /// The payload of a full segment.
    pub mss: u16,
    /// The shift count of the window scale option, at most 14 (RFC 7323, section 2.3).
    pub window_scale: u8,
    /// Whether segments have timestamps.
    pub timestamps: bool,
    /// Whether SACK is in use.
    pub sack: bool,
}

impl TcpTerms {
    /// The least shift that lets a receive window fit its field (RFC 7323, section 2.2).
    pub fn scale_of(receive_window: u64) -> u8 {
        let fits = |shift: &u8| u16::try_from(receive_window >> shift).is_ok();
        (0..14).find(fits).unwrap_or(14)
    }

    /// RFC 9293, section 3.2; RFC 7323, sections 2.2 and 3.2; RFC 2018, sections 2 and 3.
    fn options(self, segment: &Segment, sacks: &[SackBlock]) -> Vec<TcpOptionElement> {
        use TcpOptionElement::{
            MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
            Timestamp, WindowScale,
        };
        let mut options = Vec::new();
        if segment.flags.contains(Flags::SYN) {
            options.extend([
                MaximumSegmentSize(self.mss),
                Noop,
                WindowScale(self.window_scale),
            ]);
            if self.sack {
                options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]);
            }
        }
        if self.timestamps {
            let echo = Some(segment.echo).filter(|echo| *echo != Time::NEVER);
            let stamp = Timestamp(ticks(segment.timestamp), echo.map_or(0, ticks));
            options.extend([Noop, Noop, stamp]);
        }
        let ends = |block: &SackBlock| (block.start, block.end);
        if let Some((first, rest)) = sacks.split_first() {
            let rest = std::array::from_fn(|place| rest.get(place).map(ends));
            options.extend([Noop, Noop, SelectiveAcknowledgement(ends(first), rest)]);
        }
        options
    }

    /// The window field; that of a SYN is never scaled (RFC 7323, section 2.2).
    fn window(self, segment: &Segment) -> u16 {
        let syn = segment.flags.contains(Flags::SYN);
        let shift = if syn { 0 } else { self.window_scale };
        u16::try_from(segment.window >> shift).unwrap_or(u16::MAX)
    }
}

fn ticks(at: Time) -> u32 {
    (at.as_ps() / PS_PER_TICK) as u32
}

impl Envelope {
    /// The frame of a TCP segment with its SACK blocks, at most three.
    pub fn tcp(&self, terms: &TcpTerms, segment: &Segment, sacks: &[SackBlock]) -> Frame {
        let has = |flag| segment.flags.contains(flag);
        let [source, destination] = self.ports;
        let mut header = TcpHeader::new(source, destination, segment.seq, terms.window(segment));
        header.fin = has(Flags::FIN);
        header.syn = has(Flags::SYN);
        header.ack = has(Flags::ACK);
        header.ece = has(Flags::ECE);
        header.cwr = has(Flags::CWR);
        if header.ack {
            header.acknowledgment_number = segment.ack;
        }
        header
            .set_options(&terms.options(segment, sacks))
            .expect("timestamps and three SACK blocks fit into 40 bytes");
        let zeros = usize::from(segment.payload);
        header.checksum = header
            .calc_checksum_ipv4_raw(self.from.ip(), self.to.ip(), &ZEROS[..zeros])
            .expect("headers and payload fit into an IP packet");
        let mut head = self.lower(IpNumber::TCP, header.header_len() + zeros);
        head.extend(header.to_bytes());
        Frame::new(head, zeros)
    }

    /// The frame of a datagram with its number, as much as fits into its payload, and zeros.
    pub fn datagram(&self, number: u64, payload: u16) -> Frame {
        let number = number.to_be_bytes();
        let payload = usize::from(payload);
        let data = &number[..number.len().min(payload)];
        self.udp(data, payload - data.len())
    }

    /// The frame of a packet of UDT or DCUDP. Handshakes have UDT's layout in every dialect.
    pub fn udt(&self, packet: &Packet, body: ControlBody<'_>, dialect: Dialect) -> Frame {
        match &packet.content {
            Content::Data(header) => {
                let data = data_header(packet, header, dialect);
                self.udp(&data, usize::from(header.length))
            }
            Content::Control(_) => {
                let mut data = Vec::new();
                write(packet, body, &[], dialect, &mut data);
                self.udp(&data, 0)
            }
        }
    }

    /// The frame of a UDP datagram: some bytes, then zeros.
    pub fn udp(&self, data: &[u8], zeros: usize) -> Frame {
        let payload = [data, &ZEROS[..zeros]].concat();
        let [source, destination] = self.ports;
        let mut header = UdpHeader::without_ipv4_checksum(source, destination, payload.len())
            .expect("headers and payload fit into an IP packet");
        header.checksum = header
            .calc_checksum_ipv4_raw(self.from.ip(), self.to.ip(), &payload)
            .expect("headers and payload fit into an IP packet");
        let mut head = self.lower(IpNumber::UDP, UdpHeader::LEN + payload.len());
        head.extend(header.to_bytes());
        head.extend(data);
        Frame::new(head, zeros)
    }

    /// The frame of a congestion notification message for the sender of a flow (802.1Q, section 33.4).
    /// A congestion tag has the flow's number; the message has the quantised feedback and the
    /// address of the other host. `to` sent the frames that it reports, to `from`. The fields that the model
    /// leaves out are zero: the congestion point's name, Qoffset, Qdelta, the sampled frame.
    pub fn notification(&self, flow: u32, feedback: u8) -> Frame {
        let mut head = self.ethernet(SWITCH, CN_TAG);
        head.extend((flow as u16).to_be_bytes());
        head.extend(CNM.0.to_be_bytes());
        // Version 0 in four bits, six that are reserved, the feedback in six.
        head.extend([0, feedback & 0x3F]);
        head.extend([0; 8 + 2 + 2]);
        head.extend((u16::from(self.class) << 13).to_be_bytes());
        head.extend(self.from.mac());
        head.extend([0; 2]);
        let zeros = MIN_FRAME.saturating_sub(head.len());
        Frame::new(head, zeros)
    }

    /// The headers below the transport's, whose header and payload take `length` bytes.
    pub(crate) fn lower(&self, protocol: IpNumber, length: usize) -> Vec<u8> {
        let length = u16::try_from(length).expect("a packet's size fits 16 bits");
        let (from, to) = (self.from.ip(), self.to.ip());
        let mut header = Ipv4Header::new(length, TIME_TO_LIVE, protocol, from, to)
            .expect("headers and payload fit into an IP packet");
        header.ecn = match self.ecn {
            Ecn::NotEct => IpEcn::NotEct,
            Ecn::Ect0 => IpEcn::Ect0,
            Ecn::Ect1 => IpEcn::Ect1,
            Ecn::Ce => IpEcn::CongestionExperienced,
        };
        header.header_checksum = header.calc_header_checksum();
        let mut head = self.ethernet(self.from.mac(), EtherType::IPV4);
        head.extend(header.to_bytes());
        head
    }

    fn ethernet(&self, source: [u8; 6], ether_type: EtherType) -> Vec<u8> {
        let mut header = Ethernet2Header {
            source,
            destination: self.to.mac(),
            ether_type,
        };
        if self.class == 0 {
            return header.to_bytes().to_vec();
        }
        header.ether_type = EtherType::VLAN_TAGGED_FRAME;
        let tag = SingleVlanHeader {
            pcp: VlanPcp::try_new(self.class).expect("a class has three bits"),
            ether_type,
            ..SingleVlanHeader::default()
        };
        [&header.to_bytes()[..], &tag.to_bytes()].concat()
    }
}
