//! RDMA's part of `[transport]`: queue pairs of RoCEv2, their messages and their congestion control.
//!
//! The defaults of the protocol are those of incastle-rdma. `run.compat = "hpcc-ns3"` adds the oddities of HPCC's
//! simulator that have no keys. Leaves out: the protocol (incastle-rdma), shared receive queues, atomics, unreliable
//! and datagram services.

mod control;

pub use control::{Control, Dcqcn, Hpcc, RateDctcp, Timely};
pub(crate) use control::{DcqcnPreset, HpccPreset, TimelyPreset};

use incastle_congestion::{Algorithm, RateLimits, RateWindow};
use incastle_rdma::{Config, Headers, Notification, RateChange, Recovery, Verb};
use incastle_units::{Bytes, Packets, Rate, Span};

use crate::grammar::declare::{table, word_or, words};
use crate::grammar::range::{Range, above, above_to, at_least, between};
use crate::network::rates;
use crate::root::Compat;

/// No timer of a queue pair waits longer.
const MINUTE: Span = Span::from_secs(60);
/// The maximum size of headers.
const MAX_HEADERS: Bytes = Bytes::new(512);

fn timers() -> Range<Span> {
    above_to(Span::ZERO, MINUTE)
}

table! {
    /// RDMA over Converged Ethernet (RoCEv2), reliable connections.
    pub struct Rdma {
        /// The congestion control.
        flat congestion: Control;
        /// The greatest rate of a queue pair, at which it starts; `"line"` is the rate of its host's link.
        value max_rate: MaxRate = MaxRate::Line;
        /// The least rate; the rate of the host's link where that is less.
        value min_rate: Rate = Control::min_rate(congestion.as_ref()), shown "of the preset: 1 Gbit/s, 100 Mbit/s under the papers' sets, 1 Mbit/s under `\"dcqcn-nvidia\"`", in rates(), from "HPCC-ns3, run.py, MIN_RATE, and rdma-hw.cc; NVIDIA, rpg_min_rate";
        /// The limit of outstanding data; `"bdp"` is `max_rate` times `base_rtt`.
        value window: Window = Window::default_for(congestion.as_ref()), shown "`\"bdp\"` under hpcc, else `\"unlimited\"`", from "HPCC, SIGCOMM 2019, section 3.2; HPCC-ns3, run.py, HAS_WIN";
        /// Whether the window shrinks in proportion to the rate.
        value window_follows_rate: bool = Control::reads(congestion.as_ref()), shown "true under hpcc, else false", from "HPCC-ns3, run.py, VAR_WIN";
        /// Whether the rate of the control paces packets. Else `max_rate` does, and the window alone follows the control.
        value rate_bound: bool = Config::default().rate_bound, from "HPCC-ns3, RATE_BOUND";
        /// T: the round-trip time of `"bdp"` and of HPCC's law; `"path"` is the idle one of each path.
        value base_rtt: BaseRtt = BaseRtt::Path;
        /// Whether packets gather telemetry (INT) at each switch, which acknowledgements return.
        value telemetry: bool = Control::reads(congestion.as_ref()), shown "true under hpcc, else false";
        /// With `telemetry`: its bytes in each data packet and in each ACK, whatever the number of switches.
        value int_size: Bytes = Bytes::new(42), in between(Bytes::ZERO, MAX_HEADERS), from "HPCC, SIGCOMM 2019, figure 7: 8 B for each of 5 hops, and 2 B";
        /// The operation of each message.
        value verb: Verb = Verb::Write;
        /// Payload bytes of a full packet: 256, 512, 1024, 2048 or 4096.
        value mtu: Bytes = Bytes::new(u64::from(Config::default().mtu)), in between(Bytes::new(1), Bytes::new(9_000)), from "InfiniBand, 9.4.1: the path MTUs";
        /// Bytes of headers in each data packet, without telemetry: IPv4 20, UDP 8, BTH 12, ICRC 4.
        value header_size: Bytes = Bytes::new(u64::from(Headers::default().data)), in between(Bytes::ZERO, MAX_HEADERS), from "InfiniBand, annex A17";
        /// Bytes of an ACK or NAK, without telemetry: AETH 4 more.
        value ack_size: Bytes = Bytes::new(u64::from(Headers::default().ack)), in between(Bytes::new(1), MAX_HEADERS), from "InfiniBand, annex A17";
        /// The priority of ACKs, NAKs and CNPs; `"data"` is that of the data, `traffic_class`.
        value control_class: ControlClass = ControlClass::Data;
        /// One ACK for this number of packets, and at the end of each message.
        value packets_per_ack: u32 = u32::from(Config::default().ack_every), in between(1, 1_024);
        /// The packets that are sent again after a loss.
        value recovery: RdmaRecovery = RdmaRecovery::GoBackN, from "InfiniBand, 9.7";
        /// With `recovery = "go-back-0"`: the unit that is sent again.
        value chunk: Chunk = Chunk::Message, from "HPCC-ns3, L2_CHUNK_SIZE";
        /// The local ACK timeout: without progress for this time the oldest packet is sent again.
        value ack_timeout: AckTimeout = default_timeout(), from "InfiniBand, 9.7: 4.096 us x 2^14";
        /// Timeouts in a row after which the queue pair fails.
        value retry_limit: RetryLimit = default_retries(), from "InfiniBand, 9.9: the greatest Retry Count";
        /// The time after which a NAK for the same packet is repeated at the next packet out of order.
        value nak_interval: NakInterval = NakInterval::Never, from "InfiniBand, 9.7";
        /// How a receiver reports marks to the sender.
        value notification: Notice = Notice::default_for(congestion.as_ref()), shown "`\"cnp\"`, or `\"echo\"` under rate-dctcp", from "DCQCN, SIGCOMM 2015, section 3.1; HPCC-ns3, rdma-hw.cc";
        /// With `notification = "cnp"`: at most one CNP of a queue pair within this time.
        value cnp_interval: Span = Span::from_us(50), in between(Span::ZERO, MINUTE), from "DCQCN, SIGCOMM 2015, section 4";
        /// READs of a queue pair whose responses are outstanding.
        value max_reads: u32 = u32::from(Config::default().max_reads), in between(1, 64);
    }
}

word_or! {
    /// The greatest rate.
    pub enum MaxRate {
        /// The rate of the host's link.
        "line" => Line,
        /// At most this.
        Rate(Rate) in rates(),
    }
}

word_or! {
    /// A limit of outstanding data.
    pub enum Window {
        /// None: the rate alone limits.
        "unlimited" => Unlimited,
        /// At most this.
        Limited(WindowSize),
    }
}

word_or! {
    /// The bytes of a window.
    pub enum WindowSize {
        /// The bandwidth-delay product.
        "bdp" => Bdp,
        /// These.
        Bytes(Bytes) in above(Bytes::ZERO),
    }
}

word_or! {
    /// The round-trip time without queues.
    pub enum BaseRtt {
        /// That of each path.
        "path" => Path,
        /// One for all.
        Span(Span) in timers(),
    }
}

word_or! {
    /// A priority of control packets.
    pub enum ControlClass {
        /// That of the data.
        "data" => Data,
        /// This.
        Class(u32) in between(0, 7),
    }
}

word_or! {
    /// The unit of a recovery.
    pub enum Chunk {
        /// The whole message.
        "message" => Message,
        /// This number of packets.
        Packets(Packets) in at_least(Packets::new(1)),
    }
}

word_or! {
    /// A retransmission timeout.
    pub enum AckTimeout {
        /// None: what is lost at the end of a message is lost for ever.
        "off" => Off,
        /// This long.
        After(Span) in timers(),
    }
}

word_or! {
    /// A limit of retries.
    pub enum RetryLimit {
        /// None.
        "unlimited" => Unlimited,
        /// This many.
        Times(u32) in between(0, 255),
    }
}

word_or! {
    /// The interval of repeated NAKs.
    pub enum NakInterval {
        /// There are none.
        "never" => Never,
        /// This long.
        After(Span) in timers(),
    }
}

words! {
    for Verb {
        /// RDMA WRITE.
        "write" => Write,
        /// SEND.
        "send" => Send,
        /// RDMA READ: the receiver of the data asks for them.
        "read" => Read,
    }
}

words! {
    /// The packets that are sent again after a loss.
    pub enum RdmaRecovery {
        /// All from the lost one on.
        "go-back-n" => GoBackN,
        /// All of the message, or of its chunk (Guo et al., SIGCOMM 2016, section 4.1).
        "go-back-0" => GoBackToZero,
    }
}

words! {
    /// The report of marks.
    pub enum Notice {
        /// Congestion notification packets.
        "cnp" => Cnp,
        /// The ACK of each marked packet echoes the mark (HPCC's simulator).
        "echo" => Echo,
    }
}

fn default_timeout() -> AckTimeout {
    let timeout = Config::default().ack_timeout;
    timeout.map_or(AckTimeout::Off, AckTimeout::After)
}

fn default_retries() -> RetryLimit {
    let limit = Config::default().retry_limit;
    limit.map_or(RetryLimit::Unlimited, |limit| {
        RetryLimit::Times(u32::from(limit))
    })
}

impl Notice {
    /// DCTCP needs the mark of each packet.
    fn default_for(control: Option<&Control>) -> Self {
        match control {
            Some(Control::RateDctcp(_)) => Self::Echo,
            _ => Self::Cnp,
        }
    }
}

impl Window {
    fn default_for(control: Option<&Control>) -> Self {
        if Control::reads(control) {
            Self::Limited(WindowSize::Bdp)
        } else {
            Self::Unlimited
        }
    }
}

impl Control {
    fn reads(control: Option<&Self>) -> bool {
        control.is_some_and(Self::reads_telemetry)
    }
}

/// The path of a queue pair, as far as its parameters depend on it.
#[derive(Debug, Clone, Copy)]
pub struct RdmaPath {
    /// The rate of the sender's link.
    pub line_rate: Rate,
    /// The idle round trip of a full packet and its ACK.
    pub idle_rtt: Span,
}

/// The protocol's own parameters, or those of a simulator that is followed.
fn base(compat: Option<Compat>) -> Config {
    match compat {
        None => Config::default(),
        Some(Compat::HpccNs3) => Config::hpcc_ns3(),
    }
}

/// A number that its range bounds.
fn small<T: TryFrom<u64>>(number: u64) -> T {
    let narrow = T::try_from(number).ok();
    narrow.expect("the ranges of the keys are narrow")
}

impl Rdma {
    /// Bytes of a data packet besides payload and framing.
    pub fn headers(&self) -> u64 {
        self.header_size.count() + self.int()
    }

    /// Whether its messages are READs.
    pub fn is_read(&self) -> bool {
        self.verb == Verb::Read
    }

    /// Bytes of the largest extended header that a full packet has in addition: the RETH of a WRITE's first packet, the
    /// AETH of a READ's first and last.
    pub fn extended_header(&self, compat: Option<Compat>) -> u64 {
        let headers = base(compat).headers;
        match self.verb {
            Verb::Write => headers.reth.into(),
            Verb::Read => headers.aeth.into(),
            Verb::Send => 0,
        }
    }

    /// Bytes of an ACK.
    pub fn ack(&self) -> u64 {
        self.ack_size.count() + self.int()
    }

    fn int(&self) -> u64 {
        if self.telemetry {
            self.int_size.count()
        } else {
            0
        }
    }

    /// The priority of control packets of a queue pair with this one.
    pub fn control_class(&self, data: u32) -> u32 {
        match self.control_class {
            ControlClass::Data => data,
            ControlClass::Class(class) => class,
        }
    }

    /// As the protocol has it, with these bytes of framing for each packet.
    pub fn to_config(&self, framing: u16, compat: Option<Compat>) -> Config {
        let base = base(compat);
        Config {
            mtu: small(self.mtu.count()),
            headers: Headers {
                data: small(self.headers()),
                ack: small(self.ack()),
                ..base.headers
            },
            framing,
            ack_every: small(self.packets_per_ack.into()),
            recovery: match (self.recovery, self.chunk) {
                (RdmaRecovery::GoBackN, _) => Recovery::GoBackN,
                (RdmaRecovery::GoBackToZero, Chunk::Message) => Recovery::GoBackToZero,
                (RdmaRecovery::GoBackToZero, Chunk::Packets(packets)) => {
                    Recovery::Chunks(u32::try_from(packets.count()).unwrap_or(u32::MAX))
                }
            },
            nak_interval: match self.nak_interval {
                NakInterval::Never => None,
                NakInterval::After(span) => Some(span),
            },
            ack_timeout: match self.ack_timeout {
                AckTimeout::Off => None,
                AckTimeout::After(span) => Some(span),
            },
            retry_limit: match self.retry_limit {
                RetryLimit::Unlimited => None,
                RetryLimit::Times(times) => Some(small(times.into())),
            },
            notification: match self.notification {
                Notice::Cnp => Notification::Cnp(self.cnp_interval),
                Notice::Echo => Notification::Echo,
            },
            rate_change: match (compat, &self.congestion) {
                (Some(Compat::HpccNs3), Control::Hpcc(_)) => RateChange::MovesScheduled,
                _ => RateChange::NextPacket,
            },
            reads_ack_number: compat.is_some(),
            rate_bound: self.rate_bound,
            max_reads: small(self.max_reads.into()),
            ..base
        }
    }

    /// A controller at the beginning of a queue pair.
    pub fn controller(&self, path: RdmaPath, compat: Option<Compat>) -> Algorithm {
        let line_rate = path.line_rate;
        let max_rate = match self.max_rate {
            MaxRate::Line => line_rate,
            MaxRate::Rate(rate) => rate.min(line_rate),
        };
        let base_rtt = match self.base_rtt {
            BaseRtt::Path => path.idle_rtt,
            BaseRtt::Span(span) => span,
        };
        let window = match self.window {
            Window::Unlimited => None,
            Window::Limited(WindowSize::Bdp) => Some(max_rate.bytes_in(base_rtt)),
            Window::Limited(WindowSize::Bytes(bytes)) => Some(bytes),
        };
        let window = match window.map(|bytes| bytes.max(Bytes::new(1))) {
            None => RateWindow::Unlimited,
            Some(bytes) if self.window_follows_rate => RateWindow::Scaled(bytes),
            Some(bytes) => RateWindow::Fixed(bytes),
        };
        let limits = RateLimits {
            line_rate,
            max_rate,
            min_rate: self.min_rate.min(max_rate),
            window,
            reference_at_line_rate: compat == Some(Compat::HpccNs3),
        };
        self.congestion.controller(limits, base_rtt, self.mtu)
    }
}
