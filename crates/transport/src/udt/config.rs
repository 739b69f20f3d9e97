//! The parameters of a UDT or DCUDP endpoint, their defaults and their limits.
//!
//! [`Config::default`] and [`Dcudp::new`] are the single places where the defaults stand. Leaves out: the
//! parameters of the control laws, which belong to the controllers.

use incastle_units::{Ecn, Rate, Span};
use thiserror::Error;

use super::exit_rule::ExitRuleConfig;
use super::wire::{AckRate, HEADER_BYTES, IP_UDP_BYTES, SocketKind};

/// The minimum packet size, IP and UDP headers included: room for a handshake with its extension.
pub const MIN_PACKET_SIZE: u32 = 128;
/// The largest packet size: an IP packet's.
pub const MAX_PACKET_SIZE: u32 = 65_535;
/// The largest flow window and receive buffer, in packets: well inside half of the sequence space.
pub const MAX_FLOW_WINDOW: u32 = 1 << 28;

/// Which round-trip time an ACK carries under DCUDP, and so the law works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportedRtt {
    /// The latest sample.
    #[default]
    Latest,
    /// The smoothed one, as in UDT.
    Smoothed,
}

/// The packets that EXP retransmits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpRepeat {
    /// Everything that is outstanding, as in UDT.
    #[default]
    Everything,
    /// The first and the last packet that are outstanding. The last one reveals the gap to the peer, whose NAK
    /// reports it (as the tail loss probe of RFC 8985, section 7). If the peer was merely late, few packets were
    /// resent needlessly. Only a peer that repeats its NAKs can be used so, and the UDT library does not.
    Ends,
}

/// The times at which a NAK repeats a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NakRepeat {
    /// After k round trips, k = 2, 3, ...
    #[default]
    RoundTrips,
    /// Gaps that were reported k round trips ago, when the NAK timer expires: every 4 RTT + RTTVar + SYN,
    /// as in the draft. A sender with UDT's control, whose packets leave up to a SYN and more apart, has
    /// retransmitted by then. Only there: DCUDP's clocks are round trips.
    Timer,
}

/// DCUDP's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dcudp {
    /// The interface's rate C.
    pub capacity: Rate,
    /// The round-trip time that ACKs carry.
    pub reported_rtt: ReportedRtt,
    /// When the receiver ends congestion mode.
    pub exit_rule: ExitRuleConfig,
    /// New data stop after this many round trips, beyond the interval at which ACKs are due, without
    /// an ACK.
    pub silent_rtts: u32,
    /// The packets that EXP retransmits.
    pub exp_repeat: ExpRepeat,
    /// Whether control packets are ECN-capable too.
    pub ect_on_control: bool,
    /// Whether an interval of congestion mode in which nothing arrived has an ACK, too. It reports that there
    /// was no mark, where there was no packet.
    pub ack_without_data: bool,
    /// Expirations of EXP before the first acknowledgement after which the path is assumed to drop
    /// packets with ECT (RFC 9000, section 13.4.2, has three). Absent: never.
    pub ect_timeouts: Option<u32>,
}

impl Dcudp {
    /// The defaults for an interface of that rate.
    pub fn new(capacity: Rate) -> Self {
        Self {
            capacity,
            reported_rtt: ReportedRtt::default(),
            exit_rule: ExitRuleConfig::default(),
            silent_rtts: 8,
            exp_repeat: ExpRepeat::default(),
            ect_on_control: false,
            ack_without_data: false,
            ect_timeouts: None,
        }
    }
}

/// Accurate ACKs, for controllers that need more than UDT's ACK of every SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accurate {
    /// The rate at which the peer is to acknowledge.
    pub rate: AckRate,
    /// The ECN field of data packets: Not-ECT where the controller ignores marks.
    pub ecn: Ecn,
    /// As [`Dcudp::ect_timeouts`].
    pub ect_timeouts: Option<u32>,
}

impl Default for Accurate {
    fn default() -> Self {
        Self {
            rate: AckRate::default(),
            ecn: Ecn::Ect0,
            ect_timeouts: None,
        }
    }
}

/// An endpoint's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Protocol {
    /// UDT 4.
    #[default]
    Udt,
    /// DCUDP with a peer that supports it; with any other, UDT 4.
    Dcudp(Dcudp),
}

/// The parameters of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// The protocol.
    pub protocol: Protocol,
    /// Accurate ACKs. An endpoint with UDT's protocol offers them to its peer; without its answer ACKs are
    /// UDT's. A server answers the offer under any protocol.
    pub accurate: Option<Accurate>,
    /// A stream or messages.
    pub socket_kind: SocketKind,
    /// The largest packet, IP and UDP headers included; the smaller of both endpoints' counts.
    pub packet_size: u32,
    /// The most that may be outstanding, in packets; the smaller of both endpoints' counts.
    pub flow_window: u32,
    /// Packets that the receiver's buffer holds.
    pub receive_buffer: u32,
    /// Whether the application takes data as they come. If not, [`Connection::consume`] or
    /// [`Connection::take_message`] report when it does.
    ///
    /// [`Connection::consume`]: super::Connection::consume
    /// [`Connection::take_message`]: super::Connection::take_message
    pub reads_at_once: bool,
    /// The interval of full ACKs.
    pub syn: Span,
    /// The least EXP period while data are outstanding.
    pub exp_floor: Span,
    /// The least EXP period while none are, after which a keep-alive is sent.
    pub keep_alive: Span,
    /// Consecutive EXP periods without a packet from the peer, after which the connection is given
    /// up.
    pub max_exp: u32,
    /// The minimum silence after which the connection is given up.
    pub min_silence: Span,
    /// The interval at which a handshake is repeated.
    pub handshake_interval: Span,
    /// The maximum wait for a response to the handshake.
    pub connect_timeout: Span,
    /// The round-trip time before the first sample, where the handshake gives none.
    pub first_rtt: Span,
    /// A light ACK is sent after this many packets without an ACK.
    pub light_ack_every: u32,
    /// Whether the packet after every sixteenth leaves immediately, so that the peer can measure
    /// the capacity.
    pub packet_pairs: bool,
    /// The times at which a NAK repeats a gap.
    pub nak_repeat: NakRepeat,
    /// The maximum lag that the pacer makes up for while packets wait: zero where the clock is
    /// exact.
    pub burst_allowance: Span,
    /// After a pause, in which nothing was missed, packets that are due within this span leave
    /// together. It is the resolution of timers, zero where that is of no concern.
    pub batch: Span,
    /// The rate of the network interface, where it is known. It limits the path capacity that the peer
    /// measures, and replaces it while the peer measures none. Software that takes packets from a NIC in
    /// batches measures pairs closer than they came, or at one instant. Under DCUDP it is C that counts.
    pub interface: Option<Rate>,
    /// The maximum rate, for any congestion control; payload, as every rate here. Absent for no limit.
    pub rate_limit: Option<Rate>,
    /// Ranges that each loss list may hold.
    pub max_loss_ranges: u32,
    /// The time for which a closed connection goes on delivering; absent for no limit.
    pub linger: Option<Span>,
}

impl Default for Config {
    /// UDT 4 as the library has it, with a packet size for Ethernet.
    fn default() -> Self {
        Self {
            protocol: Protocol::Udt,
            accurate: None,
            socket_kind: SocketKind::Stream,
            packet_size: 1500,
            flow_window: 25_600,
            receive_buffer: 8_192,
            reads_at_once: true,
            syn: Span::from_ms(10),
            exp_floor: Span::from_ms(300),
            keep_alive: Span::from_ms(300),
            max_exp: 16,
            min_silence: Span::from_secs(3),
            handshake_interval: Span::from_ms(250),
            connect_timeout: Span::from_secs(3),
            first_rtt: Span::from_ms(100),
            light_ack_every: 64,
            packet_pairs: true,
            nak_repeat: NakRepeat::default(),
            burst_allowance: Span::ZERO,
            batch: Span::ZERO,
            interface: None,
            rate_limit: None,
            max_loss_ranges: 8_192,
            linger: None,
        }
    }
}

/// A parameter out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A packet must hold a handshake and fit an IP packet.
    #[error("the packet size must lie between 128 and 65535 bytes, IP and UDP headers included")]
    PacketSize,
    /// A window must hold something and be comparable.
    #[error("the flow window must lie between 2 and 2^28 packets")]
    FlowWindow,
    /// So must a buffer.
    #[error("the receive buffer must lie between 2 and 2^28 packets")]
    ReceiveBuffer,
    /// A timer must run, and expire in reasonable time.
    #[error(
        "syn, keep_alive, handshake_interval and first_rtt must be longer than 0 and at most 60 s"
    )]
    Interval,
    /// A loss list must hold something.
    #[error("a loss list must hold at least 1 range")]
    NoLossRange,
    /// A light ACK must cover at least one packet.
    #[error("a light ACK must cover at least 1 packet")]
    NoLightAck,
    /// An accurate ACK covers a packet, and waits for a part of a round trip.
    #[error("accurate ACKs must cover at least 1 packet and 1 part of a round trip")]
    AckRate,
    /// A program has no control where it is to have one.
    #[error("the program gives no control of its own")]
    NoControl,
    /// DCUDP paces at C.
    #[error("DCUDP needs an interface rate C above 0")]
    NoCapacity,
    /// The exit rule looks back on something.
    #[error("K, the length of the exit rule's windows, must be at least 2 and at most 1024")]
    ExitWindow,
}

impl Config {
    /// DCUDP's defaults for an interface of that rate: EXP's floor of data centers; a flow window and a
    /// buffer for two SYN (and at least UDT's). It sends no packet pairs, since C is known.
    pub fn dcudp(capacity: Rate) -> Self {
        let udt = Self::default();
        // C x 2 SYN in packets: bits x 0.02 / (8 x 1500) = bits / 600,000.
        let packets = (capacity.bits_per_second() / 600_000).min(u64::from(MAX_FLOW_WINDOW));
        let window = (packets as u32).max(udt.flow_window);
        Self {
            protocol: Protocol::Dcudp(Dcudp::new(capacity)),
            flow_window: window,
            receive_buffer: window,
            exp_floor: Span::from_ms(10),
            packet_pairs: false,
            ..udt
        }
    }

    /// The defaults of UDT under a window controller, in simulations and on sockets: accurate ACKs, DCUDP's clocks of data
    /// centers and its windows. A gap is reported again by UDT's timer: retransmissions wait for the window in order.
    pub fn windowed(capacity: Rate, accurate: Accurate) -> Self {
        Self {
            protocol: Protocol::Udt,
            accurate: Some(accurate),
            nak_repeat: NakRepeat::Timer,
            ..Self::dcudp(capacity)
        }
    }

    /// Bytes of payload in a full packet of `packet_size` bytes.
    pub const fn payload_of(packet_size: u32) -> u16 {
        (packet_size - IP_UDP_BYTES - HEADER_BYTES as u32) as u16
    }

    /// Whether every parameter lies in its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let window = |packets: u32| (2..=MAX_FLOW_WINDOW).contains(&packets);
        let reasonable = |span: Span| span > Span::ZERO && span <= Span::from_secs(60);
        let intervals = [
            self.syn,
            self.keep_alive,
            self.handshake_interval,
            self.first_rtt,
        ];
        let mut mistakes = vec![
            (
                !(MIN_PACKET_SIZE..=MAX_PACKET_SIZE).contains(&self.packet_size),
                ConfigError::PacketSize,
            ),
            (!window(self.flow_window), ConfigError::FlowWindow),
            (!window(self.receive_buffer), ConfigError::ReceiveBuffer),
            (
                !intervals.into_iter().all(reasonable),
                ConfigError::Interval,
            ),
            (self.max_loss_ranges == 0, ConfigError::NoLossRange),
            (self.light_ack_every == 0, ConfigError::NoLightAck),
        ];
        let rate = self.accurate.map(|accurate| accurate.rate);
        let impossible = rate.is_some_and(|rate| !rate.is_possible());
        mistakes.push((impossible, ConfigError::AckRate));
        if let Protocol::Dcudp(dcudp) = &self.protocol {
            let no_rate = dcudp.capacity.bits_per_second() == 0;
            mistakes.push((no_rate, ConfigError::NoCapacity));
            let k = dcudp.exit_rule.k;
            mistakes.push((!(2..=1024).contains(&k), ConfigError::ExitWindow));
        }
        match mistakes.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, mistake)) => Err(mistake),
            None => Ok(()),
        }
    }
}
