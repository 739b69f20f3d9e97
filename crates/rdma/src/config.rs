//! The parameters of a queue pair, their defaults and their limits.
//!
//! [`Config::default`] is the single place where the defaults stand; docs/models/rdma.md repeats them with
//! their sources. Leaves out: the parameters of the controls.

use incastle_units::{Bytes, Rate, Span, ns3};
use thiserror::Error;

use crate::psn::MAX_PSN;

/// The local ACK timeout of InfiniBand: 4.096 us x 2^`exponent` (IB 9.7). Exponents are 1 to 31.
pub const fn local_ack_timeout(exponent: u8) -> Span {
    assert!(
        exponent >= 1 && exponent <= 31,
        "a field of 5 bits; 0 means none"
    );
    Span::from_ps(4_096_000 << exponent)
}

/// The packets that a requester repeats after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// IB 9.7: all from the lost one on.
    #[default]
    GoBackN,
    /// All of the message. NICs did so before (Guo et al., SIGCOMM 2016, section 4.1).
    GoBackToZero,
    /// All of the chunk of this number of packets. HPCC-ns3's `L2_BACK_TO_ZERO 1` does so, with `L2_CHUNK_SIZE`
    /// in bytes; an ACK counts from the end of a chunk only.
    Chunks(u32),
}

impl Recovery {
    /// The PSN of a message, which begins at `first`, that is repeated first after a loss at `lost`.
    pub(crate) fn restart(self, first: u64, lost: u64) -> u64 {
        assert!(first <= lost, "a loss lies in its message");
        match self {
            Self::GoBackN => lost,
            Self::GoBackToZero => first,
            Self::Chunks(packets) => lost - (lost - first) % u64::from(packets),
        }
    }

    /// The PSN before which an ACK that names `ack` acknowledges everything of a message.
    pub(crate) fn acknowledged(self, first: u64, ack: u64) -> u64 {
        match self {
            Self::GoBackN | Self::GoBackToZero => ack,
            Self::Chunks(_) => self.restart(first, ack),
        }
    }
}

/// The answer of a responder to a request that it has had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// IB 9.7: another ACK.
    #[default]
    Acknowledged,
    /// None (HPCC-ns3, `ReceiverCheckSeq`). The request of a READ is served again all the same.
    Ignored,
}

/// How a receiver reports marks (CE) to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Annex A17 and DCQCN (SIGCOMM 2015, section 3.1): congestion notification packets, at most
    /// one within this interval.
    Cnp(Span),
    /// HPCC-ns3: the ACK or NAK of a marked packet echoes the mark. Marked responses of READs have no ACK: each
    /// is answered by a CNP.
    Echo,
}

/// Whether a new rate moves the departure of the packet that is already scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateChange {
    /// It holds from the next packet on.
    #[default]
    NextPacket,
    /// The departure moves by the difference between both transmission times of the packet that
    /// left last (HPCC-ns3, `ChangeRate`, which HPCC alone calls).
    MovesScheduled,
}

/// The arithmetic of transmission times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transmission {
    /// Picoseconds, rounded down.
    #[default]
    Exact,
    /// Nanoseconds, cut as in ns-3 ([`ns3::transmission_time`]).
    Ns3,
}

impl Transmission {
    /// The time that `bytes` take at `rate`.
    pub fn span(self, rate: Rate, bytes: Bytes) -> Span {
        match self {
            Self::Exact => rate.span_of(bytes),
            Self::Ns3 => ns3::transmission_time(rate, bytes),
        }
    }
}

/// Bytes of headers inside an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// Of every data packet and request: IPv4, UDP, BTH, and the ICRC at the end.
    pub data: u16,
    /// In addition, of the first packet of a WRITE and of a READ's request: RETH.
    pub reth: u16,
    /// In addition, of the first and last response of a READ: AETH.
    pub aeth: u16,
    /// All of an ACK or NAK.
    pub ack: u16,
    /// All of a CNP.
    pub cnp: u16,
}

impl Default for Headers {
    /// IPv4 20, UDP 8, BTH 12, ICRC 4 (annex A17); RETH 16, AETH 4 (IB 9.3); 16 reserved bytes in
    /// a CNP (annex A17).
    fn default() -> Self {
        Self {
            data: 44,
            reth: 16,
            aeth: 4,
            ack: 48,
            cnp: 60,
        }
    }
}

/// The parameters of a queue pair; both endpoints have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Payload bytes of a full packet (the path MTU).
    pub mtu: u16,
    /// Any MTU instead of 256, 512, 1024, 2048 or 4096 (HPCC-ns3: 1000).
    pub any_mtu: bool,
    /// Bytes of headers.
    pub headers: Headers,
    /// Bytes that the link adds to an IP packet, for pacing: rates of controls count bytes on the wire.
    pub framing: u16,
    /// The packet sequence number of the first request, in both directions.
    pub initial_psn: u32,
    /// One ACK for this number of packets. The requester asks for one at the end of each message, and when its
    /// window is full.
    pub ack_every: u16,
    /// The packets that are repeated after a loss.
    pub recovery: Recovery,
    /// The answer to a duplicate.
    pub duplicates: Duplicates,
    /// Repeats a NAK for the same PSN at the next packet out of sequence after this time; none: never
    /// (IB 9.7).
    pub nak_interval: Option<Span>,
    /// The retransmission timeout; none: no timer.
    pub ack_timeout: Option<Span>,
    /// Retries in a row without progress, after which the queue pair fails; none: no limit.
    pub retry_limit: Option<u8>,
    /// How marks are reported.
    pub notification: Notification,
    /// Whether a new rate moves a departure.
    pub rate_change: RateChange,
    /// Whether controls read the number in an ACK, which in chunks may be ahead of what it acknowledges (HPCC-ns3).
    pub reads_ack_number: bool,
    /// Whether the rate of the control paces packets; else its first one does, and its window alone limits
    /// (HPCC-ns3, RATE_BOUND).
    pub rate_bound: bool,
    /// Time between two packets in addition to the transmission time.
    pub interframe_gap: Span,
    /// The arithmetic of transmission times.
    pub transmission: Transmission,
    /// READs whose responses are outstanding.
    pub max_reads: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: 4096,
            any_mtu: false,
            headers: Headers::default(),
            // Ethernet: header 14, FCS 4, preamble 8, gap 12.
            framing: 38,
            initial_psn: 0,
            ack_every: 1,
            recovery: Recovery::GoBackN,
            duplicates: Duplicates::Acknowledged,
            nak_interval: None,
            // 67 ms: programs commonly set 14, with 7 retries.
            ack_timeout: Some(local_ack_timeout(14)),
            // The largest value of the 3-bit Retry Count (IB 9.9).
            retry_limit: Some(7),
            // The minimum time between CNPs of DCQCN (SIGCOMM 2015, section 4).
            notification: Notification::Cnp(Span::from_us(50)),
            rate_change: RateChange::NextPacket,
            reads_ack_number: false,
            rate_bound: true,
            interframe_gap: Span::ZERO,
            transmission: Transmission::Exact,
            max_reads: 16,
        }
    }
}

/// A mistake in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The MTU.
    #[error("an MTU is 256, 512, 1024, 2048 or 4096 bytes, and not 0 where any is allowed")]
    Mtu,
    /// The first PSN.
    #[error("a PSN has 24 bits")]
    InitialPsn,
    /// The count of packets per ACK.
    #[error("an ACK acknowledges one packet or more")]
    AckEvery,
    /// The length of chunks.
    #[error("a chunk has one packet or more")]
    Chunk,
    /// The timeout.
    #[error("a timeout is longer than zero")]
    AckTimeout,
    /// The READs outstanding.
    #[error("one READ or more may be outstanding, and at most 64")]
    MaxReads,
}

impl Config {
    /// What HPCC-ns3 does (branch m3 of kwzhao/High-Precision-Congestion-Control): `rdma-hw.cc`, `qbb-net-device.cc`,
    /// `third.cc`. Its header of 48 bytes includes PPP's 14.
    pub fn hpcc_ns3() -> Self {
        Self {
            mtu: 1000,
            any_mtu: true,
            headers: Headers {
                data: 48,
                reth: 0,
                aeth: 0,
                ack: 60,
                cnp: 60,
            },
            framing: 0,
            duplicates: Duplicates::Ignored,
            nak_interval: Some(Span::from_us(500)),
            ack_timeout: None,
            retry_limit: None,
            notification: Notification::Echo,
            transmission: Transmission::Ns3,
            ..Self::default()
        }
    }

    /// Finds a mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mtu = if self.any_mtu {
            self.mtu > 0
        } else {
            matches!(self.mtu, 256 | 512 | 1024 | 2048 | 4096)
        };
        let conditions = [
            (mtu, ConfigError::Mtu),
            (self.initial_psn <= MAX_PSN, ConfigError::InitialPsn),
            (self.ack_every > 0, ConfigError::AckEvery),
            (self.recovery != Recovery::Chunks(0), ConfigError::Chunk),
            (
                self.ack_timeout != Some(Span::ZERO),
                ConfigError::AckTimeout,
            ),
            ((1..=64).contains(&self.max_reads), ConfigError::MaxReads),
        ];
        let mut mistakes = conditions.into_iter().filter(|(holds, _)| !holds);
        mistakes.next().map_or(Ok(()), |(_, mistake)| Err(mistake))
    }

    /// The packets of so many bytes.
    pub(crate) fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(u64::from(self.mtu))
    }

    /// The payload of a packet that `before` packets of the same `bytes` precede.
    pub(crate) fn payload(&self, bytes: u64, before: u64) -> u16 {
        let sent = before * u64::from(self.mtu);
        assert!(sent < bytes, "a packet of a message has payload");
        (bytes - sent).min(u64::from(self.mtu)) as u16
    }
}
