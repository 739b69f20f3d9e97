//! The parameters of endpoints and connections, and their defaults. What a connection's clocks and
//! windows default to stands in `incastle_transport::udt::Config`; this file has the parameters that real paths add.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use incastle_congestion::{
    Algorithm, Dcudp, DcudpBacklog, DcudpConfig, DcudpEntry, DcudpFloor, DcudpGrowth, DcudpLaw,
    DcudpRtt, LossInUdpMode, NamedController, Udt, UdtConfig,
};
use incastle_secure::Key;
use incastle_transport::udt::wire::{AckRate, SocketKind};
use incastle_transport::udt::{
    Accurate, Config, ConfigError, ExitRuleConfig, ExpRepeat, MIN_PACKET_SIZE, NakRepeat, Protocol,
    ReportedRtt,
};
use incastle_units::{Bytes, Ecn, Rate, Span};

/// The rate C where neither the configuration nor the system has what the interface has.
pub const DEFAULT_CAPACITY: Rate = Rate::from_bits_per_second(10_000_000_000);

/// RFC 9000, section 13.4.2: what carries ECT is given up after three timeouts.
const ECT_TIMEOUTS: u32 = 3;

/// Bytes by which an IPv6 header is longer than an IPv4 header.
const IPV6_EXTRA: u32 = 20;

/// Parameters of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointConfig {
    /// Bytes of the kernel's send buffer that are asked for.
    pub socket_send_buffer: usize,
    /// Bytes of the kernel's receive buffer that are asked for.
    pub socket_receive_buffer: usize,
    /// The most connections that there may be.
    pub max_connections: usize,
    /// The most connections that one peer may have opened: an IPv4 address, or the first 64 bits of an
    /// IPv6 address ([`network_of`](crate::network_of)). Requests beyond are not answered.
    pub max_connections_per_peer: usize,
    /// The most bytes that may have arrived on all connections and not been read. What is beyond is
    /// dropped, and sent again by its sender.
    pub max_receive_memory: usize,
    /// Timers are not set closer than this, and packets that are due within it leave together.
    pub quantum: Duration,
    /// Whether one system call carries many packets (GSO, GRO).
    pub offload: bool,
    /// Real time is slower than that of connections by this factor, at least 1: their clocks are divided by it, and all
    /// times and rates of their parameters are in their time. For emulated networks whose rates are divided likewise.
    pub dilation: u32,
    /// The key under which everything is encrypted and authenticated, and whoever has not the same is not
    /// answered (docs/models/dcudp-secure.md). Absent: nothing is.
    pub key: Option<Key>,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            socket_send_buffer: 4 << 20,
            socket_receive_buffer: 32 << 20,
            max_connections: 100_000,
            max_connections_per_peer: 10_000,
            max_receive_memory: 1 << 30,
            quantum: Duration::from_micros(100),
            offload: true,
            dilation: 1,
            key: None,
        }
    }
}

/// Which congestion control a connection asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Control {
    /// UDT's native control.
    Udt,
    /// DCUDP with a peer that speaks it, over a path that carries ECN; else UDT's.
    #[default]
    Dcudp,
    /// One of the controllers that need accurate ACKs, with a peer that has them; else UDT's.
    Named(NamedController),
    /// That of the program, [`ConnectionConfig::own`], which needs accurate ACKs likewise.
    Own,
}

/// A protocol's parameters and its controller, made by the program.
#[derive(Clone)]
pub struct OwnControl {
    /// The parameters. Those that real paths determine are replaced: timers of silence, batches, the application's reads.
    pub config: Config,
    /// Makes the controller of a connection whose full packets have this payload.
    pub controller: Arc<dyn Fn(Bytes) -> Algorithm + Send + Sync>,
}

impl fmt::Debug for OwnControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnControl")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

impl PartialEq for OwnControl {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config && Arc::ptr_eq(&self.controller, &other.controller)
    }
}

impl Control {
    /// All but the program's.
    pub fn all() -> impl Iterator<Item = Self> {
        let named = NamedController::ALL.into_iter().map(Self::Named);
        [Self::Dcudp, Self::Udt].into_iter().chain(named)
    }

    /// Its name, as it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udt => "udt",
            Self::Dcudp => "dcudp",
            Self::Named(named) => named.name(),
            Self::Own => "own",
        }
    }

    /// A description in a line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Udt => "UDT's own",
            Self::Dcudp => "DCUDP's; UDT's where the peer or the path cannot do it",
            Self::Named(named) => named.summary(),
            Self::Own => "the program's own",
        }
    }
}

/// How DCUDP's paper is read: see docs/models/dcudp.md.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Readings {
    /// How the listing is read.
    pub law: DcudpLaw,
    /// The increase of Rate_max.
    pub growth: DcudpGrowth,
    /// The floor of the rates.
    pub floor: DcudpFloor,
    /// The law's round-trip time.
    pub rtt: DcudpRtt,
    /// Where congestion mode begins.
    pub entry: DcudpEntry,
    /// The reaction to a NAK in UDP mode.
    pub loss_in_udp_mode: LossInUdpMode,
    /// How a backlog leaves.
    pub backlog: DcudpBacklog,
    /// When the receiver ends congestion mode.
    pub exit_rule: ExitRuleConfig,
    /// New data stop after this many round trips without an acknowledgement.
    pub silent_rtts: u32,
}

impl Default for Readings {
    /// The paper's, but for a loss in UDP mode: a real path may drop before it marks.
    fn default() -> Self {
        let paper = DcudpConfig::new(Bytes::new(1), Rate::from_bits_per_second(1));
        Self {
            law: paper.law,
            growth: paper.growth,
            floor: paper.floor,
            rtt: paper.rtt,
            entry: paper.entry,
            loss_in_udp_mode: LossInUdpMode::CongestionMode,
            backlog: paper.backlog,
            exit_rule: ExitRuleConfig::default(),
            silent_rtts: incastle_transport::udt::Dcudp::new(paper.interface).silent_rtts,
        }
    }
}

/// Parameters of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectionConfig {
    /// Which congestion control.
    pub control: Control,
    /// The parameters and the controller of the program itself, in place of those of `control`: of its kind, which
    /// endpoints need to know.
    pub own: Option<OwnControl>,
    /// How often the peer is to acknowledge, where ACKs are accurate.
    pub ack_rate: AckRate,
    /// One stream of bytes in each direction, or messages. Both endpoints must choose the same.
    pub kind: SocketKind,
    /// The largest IP packet in bytes. The smaller of both endpoints' counts.
    pub packet_size: u32,
    /// The rate C of the interface, at which whole IP packets leave: DCUDP's law rests on it, and UDT's takes
    /// the path for no faster. Absent: what the system reports of it, else
    /// [`DEFAULT_CAPACITY`](crate::DEFAULT_CAPACITY).
    pub capacity: Option<Rate>,
    /// No more than this is sent, whatever the control allows.
    pub rate_limit: Option<Rate>,
    /// Bytes that may be written and not acknowledged. No message can be longer.
    pub send_buffer: usize,
    /// Bytes of a stream that may be written and not sent yet, as TCP_NOTSENT_LOWAT of Linux: who decides late what to send
    /// keeps few waiting, and many in the network. Absent: as the send buffer allows.
    pub unsent: Option<usize>,
    /// Bytes that may have arrived and not been read. Absent: what the rate needs.
    pub receive_buffer: Option<usize>,
    /// A peer that is silent for this time is given up.
    pub idle_timeout: Duration,
    /// How long an answer to the handshake is waited for.
    pub connect_timeout: Duration,
    /// How long a closed connection goes on delivering.
    pub linger: Duration,
    /// How far the pacer may fall behind and catch up while packets wait. Longer keeps the rate on a busy machine, shorter
    /// keeps bursts small.
    pub burst_allowance: Duration,
    /// How DCUDP's paper is read.
    pub readings: Readings,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            control: Control::default(),
            own: None,
            ack_rate: AckRate::default(),
            kind: SocketKind::Stream,
            packet_size: 1500,
            capacity: None,
            rate_limit: None,
            send_buffer: 16 << 20,
            unsent: None,
            receive_buffer: None,
            idle_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(3),
            linger: Duration::from_secs(180),
            burst_allowance: Duration::from_millis(1),
            readings: Readings::default(),
        }
    }
}

/// The properties that an endpoint gives to all of its connections.
pub(crate) struct EndpointTraits {
    /// Bytes that sealing adds to a datagram.
    pub(crate) sealing: usize,
    /// How close to each other timers are set, in the time of connections.
    pub(crate) quantum: Duration,
}

/// The parameters of a sans-IO connection.
pub(crate) struct Made {
    pub(crate) config: Config,
    pub(crate) algorithm: Algorithm,
    pub(crate) fallback: Option<Algorithm>,
}

impl ConnectionConfig {
    /// Whether every parameter lies in its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.control == Control::Own && self.own.is_none() {
            return Err(ConfigError::NoControl);
        }
        self.transport(DEFAULT_CAPACITY).check()
    }

    /// The sans-IO connection's parameters at an interface of that rate.
    pub(crate) fn transport(&self, capacity: Rate) -> Config {
        let accurate = |ecn| Accurate {
            rate: self.ack_rate,
            ecn,
            ect_timeouts: Some(ECT_TIMEOUTS),
        };
        let base = match (&self.own, self.control) {
            (Some(own), _) => Config {
                accurate: own.config.accurate.map(|own| Accurate {
                    ect_timeouts: Some(ECT_TIMEOUTS),
                    ..own
                }),
                ..own.config
            },
            (None, Control::Udt | Control::Own) => Config::default(),
            // As a server it acknowledges accurately, for a client with another control.
            (None, Control::Dcudp) => Config {
                accurate: Some(accurate(Ecn::NotEct)),
                ..Config::dcudp(capacity)
            },
            (None, Control::Named(named)) => Config::windowed(capacity, accurate(named.ecn())),
        };
        let protocol = match base.protocol {
            Protocol::Dcudp(dcudp) if self.own.is_some() => {
                Protocol::Dcudp(incastle_transport::udt::Dcudp {
                    ect_timeouts: Some(ECT_TIMEOUTS),
                    exp_repeat: ExpRepeat::Ends,
                    ..dcudp
                })
            }
            Protocol::Dcudp(dcudp) => Protocol::Dcudp(incastle_transport::udt::Dcudp {
                exit_rule: self.readings.exit_rule,
                silent_rtts: self.readings.silent_rtts,
                ect_timeouts: Some(ECT_TIMEOUTS),
                // A machine may be busy for longer than EXP's 10 ms.
                exp_repeat: ExpRepeat::Ends,
                reported_rtt: match self.readings.rtt {
                    DcudpRtt::Latest => ReportedRtt::Latest,
                    DcudpRtt::Smoothed => ReportedRtt::Smoothed,
                },
                ..dcudp
            }),
            Protocol::Udt => Protocol::Udt,
        };
        let payload = u64::from(self.packet_size.max(45)) - 44;
        let receive_buffer = match self.receive_buffer {
            Some(bytes) => u32::try_from(bytes as u64 / payload).unwrap_or(u32::MAX),
            None => base.receive_buffer,
        };
        Config {
            protocol,
            socket_kind: self.kind,
            packet_size: self.packet_size,
            receive_buffer,
            reads_at_once: false,
            nak_repeat: NakRepeat::Timer,
            // Five expirations, of which the first comes after one period and the others after two.
            keep_alive: span(self.idle_timeout / 9),
            max_exp: 4,
            min_silence: span(self.idle_timeout),
            connect_timeout: span(self.connect_timeout),
            burst_allowance: span(self.burst_allowance),
            rate_limit: self.rate_limit,
            linger: Some(span(self.linger)),
            ..base
        }
    }

    /// Everything that a sans-IO connection is made with.
    pub(crate) fn make(&self, capacity: Rate, peer: SocketAddr, endpoint: &EndpointTraits) -> Made {
        let mut config = self.transport(capacity);
        config.interface = Some(capacity);
        config.batch = span(endpoint.quantum);
        // UDT's packet sizes count an IPv4 header, and nothing else around a datagram.
        let ipv6 = peer.ip().to_canonical().is_ipv6();
        let unknown = if ipv6 { IPV6_EXTRA } else { 0 } + endpoint.sealing as u32;
        if unknown > 0 {
            let shorter = config.packet_size.saturating_sub(unknown);
            config.packet_size = shorter.max(MIN_PACKET_SIZE);
        }
        assert_eq!(
            config.check(),
            Ok(()),
            "parameters in range make a connection"
        );
        let packet = Bytes::new(u64::from(Config::payload_of(config.packet_size)));
        let interface = payload_part(capacity, packet, config.packet_size + unknown);
        let udt = || Algorithm::Udt(Udt::new(UdtConfig { packet }));
        if let Some(own) = &self.own {
            return Made {
                config,
                algorithm: (own.controller)(packet),
                fallback: (self.control != Control::Udt).then(udt),
            };
        }
        match self.control {
            Control::Udt | Control::Own => Made {
                config,
                algorithm: udt(),
                fallback: None,
            },
            Control::Named(named) => Made {
                config,
                algorithm: named.algorithm(packet),
                fallback: Some(udt()),
            },
            Control::Dcudp => {
                let readings = &self.readings;
                let law = DcudpConfig {
                    law: readings.law,
                    growth: readings.growth,
                    floor: readings.floor,
                    rtt: readings.rtt,
                    entry: readings.entry,
                    loss_in_udp_mode: readings.loss_in_udp_mode,
                    backlog: readings.backlog,
                    ..DcudpConfig::new(packet, interface)
                };
                Made {
                    config,
                    algorithm: Algorithm::from(Dcudp::new(law)),
                    fallback: Some(udt()),
                }
            }
        }
    }
}

/// The share of a rate that is payload in full packets of that length: controllers count payload alone.
fn payload_part(rate: Rate, payload: Bytes, packet_size: u32) -> Rate {
    assert!(
        payload.count() < u64::from(packet_size),
        "a packet has headers"
    );
    let bits = u128::from(rate.bits_per_second()) * u128::from(payload.count());
    let part = u64::try_from(bits / u128::from(packet_size)).expect("payload is a part");
    Rate::from_bits_per_second(part.max(1))
}

fn span(duration: Duration) -> Span {
    let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    Span::from_ns(ns.min(u64::MAX / 1_000_000))
}

#[cfg(test)]
mod tests {
    use incastle_congestion::Controller;

    use super::*;

    /// The rate of UDP mode at 1 Gbit/s, in bits of payload per second.
    fn interface(packet_size: u32, peer: &str, sealing: usize) -> u64 {
        let config = ConnectionConfig {
            packet_size,
            ..ConnectionConfig::default()
        };
        let capacity = Rate::from_bits_per_second(1_000_000_000);
        let endpoint = EndpointTraits {
            sealing,
            quantum: Duration::ZERO,
        };
        let peer = peer.parse().expect("an address");
        let made = config.make(capacity, peer, &endpoint);
        made.algorithm
            .pacing()
            .expect("DCUDP paces")
            .bits_per_second()
    }

    #[test]
    fn the_interface_carries_headers_too() {
        // 1500 B are 1456 of payload: 20 of IPv4, 8 of UDP, 16 of UDT. 10^9 x 1456 / 1500.
        let (v4, v6) = ("10.0.0.1:9000", "[fd00::1]:9000");
        assert_eq!(interface(1500, v4, 0), 970_666_666);
        // IPv6 has 20 more, a sealed datagram here 24: 10^9 x 1436 / 1500, 10^9 x 1412 / 1500.
        assert_eq!(interface(1500, v6, 0), 957_333_333);
        assert_eq!(interface(1500, v6, 24), 941_333_333);
        // 10^9 x 8956 / 9000.
        assert_eq!(interface(9000, v4, 0), 995_111_111);
    }
}
