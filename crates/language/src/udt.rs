//! UDT's and DCUDP's part of `[transport]`. Defaults that the transport has are taken from there.

use incastle_congestion::{
    Algorithm, Dcudp as DcudpController, DcudpBacklog, DcudpConfig, DcudpEntry, DcudpFloor,
    DcudpGrowth, DcudpLaw, DcudpRtt, LossInUdpMode, Udt as UdtController, UdtConfig,
};
use incastle_transport::udt::{self, Config, ExitReading, ExitRuleConfig, ReportedRtt};
use incastle_units::{Bytes, Packets, Rate, Span};

use crate::grammar::declare::{table, word_or, words};
use crate::grammar::range::{Range, above_to, at_least, between};
use crate::limits::SendBuffer;
use crate::network::rates;
use crate::window_control::UdtControl;

/// Bytes of IP, UDP and UDT headers in a data packet.
pub const HEADERS: u64 = 44;
/// No timer of a connection waits longer.
const MINUTE: Span = Span::from_secs(60);

fn windows() -> Range<Packets> {
    let most = u64::from(udt::MAX_FLOW_WINDOW);
    between(Packets::new(2), Packets::new(most))
}

fn has_window(control: Option<&UdtControl>) -> bool {
    control.is_some_and(|control| *control != UdtControl::Native)
}

fn default_buffer(control: Option<&UdtControl>, flow_window: Packets) -> Packets {
    if has_window(control) {
        flow_window
    } else {
        Packets::new(u64::from(Config::default().receive_buffer))
    }
}

fn default_exp_floor(control: Option<&UdtControl>) -> Span {
    if has_window(control) {
        dcudp().0.exp_floor
    } else {
        Config::default().exp_floor
    }
}

/// DCUDP's defaults. None of those that are read here depends on C.
fn dcudp() -> (Config, udt::Dcudp) {
    let gigabit = Rate::from_bits_per_second(1_000_000_000);
    (Config::dcudp(gigabit), udt::Dcudp::new(gigabit))
}

table! {
    /// The parameters that UDT and DCUDP share.
    pub struct Stream {
        /// A full packet with its headers: 44 bytes less are application bytes (20 of IP, 8 of UDP,
        /// 16 of UDT).
        value packet_size: Bytes = Bytes::new(u64::from(Config::default().packet_size)), in between(Bytes::new(u64::from(udt::MIN_PACKET_SIZE)), Bytes::new(65_000));
        /// Handshake with a cookie, two round trips; without it connections begin established, under
        /// DCUDP with the round trip that the handshake would have measured.
        value handshake: bool = true;
        /// Application bytes that may wait to be sent first; data that do not fit are refused and
        /// counted. A bulk transfer waits for room instead.
        value send_buffer: SendBuffer = SendBuffer::Unlimited;
        /// The interval of full ACKs, and the step of UDT's control.
        value syn: Span = Config::default().syn, in above_to(Span::ZERO, MINUTE);
    }
}

table! {
    /// UDT 4 with its native control, or with a control over accurate ACKs.
    pub struct Udt {
        /// The sender's congestion control.
        flat control: UdtControl;
        /// The parameters that both share.
        flat stream: Stream;
        /// The most that may be outstanding.
        value flow_window: Packets = Packets::new(u64::from(Config::default().flow_window)), in windows();
        /// The capacity of the receiver's buffer.
        value receive_buffer: Packets = default_buffer(control.as_ref(), flow_window), shown "`\"8192 packets\"`; as `flow_window` under a window control", in windows();
        /// The least period of the retransmission timer (EXP).
        value exp_floor: Span = default_exp_floor(control.as_ref()), shown "`\"300 ms\"`; `\"10 ms\"` under a window control", in above_to(Span::ZERO, MINUTE);
    }
}

table! {
    /// DCUDP: UDT with ECN, two modes and a law for data centers. Its data are always ECN-capable.
    pub struct Dcudp {
        /// The parameters that both share.
        flat stream: Stream;
        /// The most that may be outstanding; `"capacity"` is the data of two SYN at rate C, but at least UDT's window.
        value flow_window: FlowWindow = FlowWindow::Capacity;
        /// The capacity of the receiver's buffer.
        value receive_buffer: ReceiveBuffer = ReceiveBuffer::FlowWindow;
        /// The least period of the retransmission timer (EXP).
        value exp_floor: Span = dcudp().0.exp_floor, in above_to(Span::ZERO, MINUTE);
        /// C: the rate of the host's own link, or another, headers included.
        value capacity: Capacity = Capacity::Interface;
        /// The readings of the paper where it leaves a choice.
        section readings: DcudpReadings;
        /// The round trip that the law uses.
        value rtt: DcudpRtt = DcudpRtt::Latest;
        /// K: the number of round trips, and of packets, over which the rule for the end of congestion mode looks back.
        value exit_window: u32 = ExitRuleConfig::default().k as u32, in between(2, 1024);
        /// The effect of a NAK in UDP mode.
        value loss_in_udp_mode: LossInUdpMode = LossInUdpMode::Ignore;
        /// New data stop after this number of round trips, plus the interval of ACKs, without an ACK.
        value silent_rtts: u32 = dcudp().1.silent_rtts, in at_least(1);
        /// Whether control packets are ECN-capable too.
        value ect_on_control: bool = dcudp().1.ect_on_control;
        /// Whether an interval of congestion mode in which nothing arrived has an ACK, too.
        value ack_without_data: bool = dcudp().1.ack_without_data;
    }
}

table! {
    /// Readings of DCUDP.
    pub struct DcudpReadings {
        /// The reading of the paper's listing of the law (its figure 4).
        value control_law: DcudpLaw = DcudpLaw::Default;
        /// The growth of Rate_max at an ACK without ECE; without effect under `control_law = "printed"`.
        value growth: DcudpGrowth = DcudpGrowth::PerSecond;
        /// The round trip in the least rate, which is one packet per round trip.
        value floor: DcudpFloor = DcudpFloor::Latest;
        /// The rate with which congestion mode begins.
        value entry: DcudpEntry = DcudpEntry::Measured;
        /// The reading of the paper's rule for the end of congestion mode (its section IV.C).
        value exit: ExitReading = ExitReading::Default;
        /// The draining of the sender's backlog after the return to UDP mode.
        value backlog: DcudpBacklog = DcudpBacklog::Interface;
    }
}

word_or! {
    /// DCUDP's flow window.
    pub enum FlowWindow {
        /// By C.
        "capacity" => Capacity,
        /// This number of packets.
        Packets(Packets) in windows(),
    }
}

word_or! {
    /// DCUDP's receive buffer.
    pub enum ReceiveBuffer {
        /// As the flow window.
        "flow-window" => FlowWindow,
        /// This number of packets.
        Packets(Packets) in windows(),
    }
}

word_or! {
    /// C.
    pub enum Capacity {
        /// The rate of the host's own link.
        "interface" => Interface,
        /// Another.
        Rate(Rate) in rates(),
    }
}

words! {
    for DcudpLaw {
        /// Doubling up to Rate_max, which grows where it is reached.
        "default" => Default,
        /// As it stands, line after line: doubling without a bound but C.
        "printed" => Printed,
    }
}

words! {
    for DcudpGrowth {
        /// One packet per second: "Rate_max++" where rates are in packets per second.
        "per-second" => PerSecond,
        /// One packet per round-trip time.
        "per-rtt" => PerRtt,
    }
}

words! {
    for DcudpFloor {
        /// The law's.
        "latest" => Latest,
        /// The least of the connection.
        "idle" => Idle,
    }
}

words! {
    for DcudpRtt {
        /// The latest sample.
        "latest" => Latest,
        /// The smoothed one.
        "smoothed" => Smoothed,
    }
}

words! {
    for DcudpEntry {
        /// The recent rate of sending in UDP mode, at most C.
        "measured" => Measured,
        /// C.
        "interface" => Interface,
    }
}

words! {
    for ExitReading {
        /// Both shares above their thresholds, so that condition 2 can complete it.
        "default" => Default,
        /// Both below, as printed: it must have held earlier.
        "printed" => Printed,
    }
}

words! {
    for DcudpBacklog {
        /// At C.
        "interface" => Interface,
        /// No faster than the application writes.
        "app-rate" => AppRate,
    }
}

words! {
    for LossInUdpMode {
        /// Nothing: congestion mode begins with a mark.
        "ignore" => Ignore,
        /// It begins congestion mode.
        "congestion-mode" => CongestionMode,
    }
}

impl Stream {
    /// Application bytes of a full packet.
    pub fn payload(&self) -> Bytes {
        Bytes::new(self.packet_size.count() - HEADERS)
    }

    fn apply(&self, config: &mut Config) {
        config.packet_size = self.packet_size.count() as u32;
        config.syn = self.syn;
    }

    /// The part of a rate that is application data where full packets take `wire` bytes.
    fn payload_part(&self, rate: Rate, wire: u64) -> Rate {
        let bits = u128::from(rate.bits_per_second()) * u128::from(self.payload().count());
        let bits = (bits / u128::from(wire)) as u64;
        Rate::from_bits_per_second(bits.max(1))
    }
}

/// A number of packets within the range of windows.
fn count(packets: Packets) -> u32 {
    packets.count() as u32
}

impl Udt {
    /// As the transport has it, for two hosts with links of these rates. The slower one bounds both directions.
    pub fn to_config(&self, interfaces: [Rate; 2]) -> Config {
        let [slower, faster] = [
            interfaces[0].min(interfaces[1]),
            interfaces[0].max(interfaces[1]),
        ];
        let base = match &self.control {
            UdtControl::Native => Config::default(),
            UdtControl::Window(window) => Config::windowed(faster, window.accurate()),
            UdtControl::Revised(revised) => Config {
                interface: Some(slower),
                ..Config::windowed(faster, revised.accurate())
            },
        };
        let mut config = Config {
            flow_window: count(self.flow_window),
            receive_buffer: count(self.receive_buffer),
            exp_floor: self.exp_floor,
            ..base
        };
        self.stream.apply(&mut config);
        config
    }

    /// A controller at the beginning of a connection, over a path with this number of switches.
    pub fn controller(&self, hops: u32) -> Algorithm {
        let packet = self.stream.payload();
        match &self.control {
            UdtControl::Native => Algorithm::Udt(UdtController::new(UdtConfig { packet })),
            UdtControl::Window(window) => window.controller(packet, hops),
            UdtControl::Revised(revised) => revised.controller(packet),
        }
    }
}

impl Dcudp {
    /// C at a host whose own link has the rate `interface`.
    fn c(&self, interface: Rate) -> Rate {
        match self.capacity {
            Capacity::Interface => interface,
            Capacity::Rate(rate) => rate,
        }
    }

    /// As the transport has it, for two hosts of which the faster has a link of rate `interface`.
    pub fn to_config(&self, interface: Rate) -> Config {
        let capacity = self.c(interface);
        let flow_window = match self.flow_window {
            FlowWindow::Packets(packets) => count(packets),
            FlowWindow::Capacity => self.window_of(capacity),
        };
        let mut config = Config {
            protocol: udt::Protocol::Dcudp(udt::Dcudp {
                reported_rtt: match self.rtt {
                    DcudpRtt::Latest => ReportedRtt::Latest,
                    DcudpRtt::Smoothed => ReportedRtt::Smoothed,
                },
                exit_rule: ExitRuleConfig {
                    k: self.exit_window as usize,
                    reading: self.readings.exit,
                },
                silent_rtts: self.silent_rtts,
                ect_on_control: self.ect_on_control,
                ack_without_data: self.ack_without_data,
                ..udt::Dcudp::new(capacity)
            }),
            flow_window,
            receive_buffer: match self.receive_buffer {
                ReceiveBuffer::FlowWindow => flow_window,
                ReceiveBuffer::Packets(packets) => count(packets),
            },
            exp_floor: self.exp_floor,
            ..Config::dcudp(capacity)
        };
        self.stream.apply(&mut config);
        config
    }

    /// The data of two SYN at rate C, but at least UDT's window.
    fn window_of(&self, capacity: Rate) -> u32 {
        let two_syn = u128::from(self.stream.syn.as_ps()) * 2;
        let bits = u128::from(capacity.bits_per_second()) * two_syn / 1_000_000_000_000;
        let packets = bits / (8 * u128::from(self.stream.packet_size.count()));
        let least = u128::from(Config::default().flow_window);
        packets.clamp(least, u128::from(udt::MAX_FLOW_WINDOW)) as u32
    }

    /// A controller at the beginning of a connection, at a host whose link has the rate `interface` and
    /// where full packets take `wire` bytes.
    pub fn controller(&self, interface: Rate, wire: u64) -> Algorithm {
        let packet = self.stream.payload();
        let rate = self.stream.payload_part(self.c(interface), wire);
        Algorithm::from(DcudpController::new(DcudpConfig {
            law: self.readings.control_law,
            growth: self.readings.growth,
            floor: self.readings.floor,
            rtt: self.rtt,
            entry: self.readings.entry,
            backlog: self.readings.backlog,
            loss_in_udp_mode: self.loss_in_udp_mode,
            ..DcudpConfig::new(packet, rate)
        }))
    }
}
