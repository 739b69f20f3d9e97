//! DCUDP's sender (Ye, Mhamdi, Hamdi, "Efficient UDP-Based Congestion Aware Transport for Data Center
//! Traffic", sections IV.A to IV.C and figure 4). It sends at the application's pace until the first
//! mark comes back. Then marks divide a rate until the receiver declares the congestion over.
//!
//! The listing of figure 4 is damaged and the paper is silent in places. Each reading has a name in
//! [`DcudpConfig`], and its grounds in docs/models/dcudp.md. Rates are in packets per second; Rate
//! RTT is a window W in packets. Leaves out: the bits on the wire, OBS-change, the interval of ACKs
//! and the receiver's exit rule (transport). The paper does not describe the time after EXP: the
//! transport retransmits, the rate stays.

use incastle_units::{Bytes, Rate, Span, Time};

use crate::udt::FIRST_RTT;
use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, Reaction,
    TransmissionMode, Window,
};

/// The readings of the listing of figure 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DcudpLaw {
    /// Doubling up to Rate_max, which grows where it is reached; (2) has the divisor of (1).
    Default,
    /// As printed, line after line: doubling whenever Rate_data is not above Rate_max, which never
    /// grows by itself. Line (2) reads the Rate_data that (1) has just changed.
    Printed,
}

/// The growth of Rate_max at each ACK without ECE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DcudpGrowth {
    /// One packet per second: "Rate_max++" where rates are in packets per second.
    PerSecond,
    /// One packet per round-trip time: W grows by one.
    PerRtt,
}

/// The round-trip time of the floor, one packet per RTT, at which a NAK starts over too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DcudpFloor {
    /// The law's: a longer queue means a lower floor.
    Latest,
    /// RTT_idle, the least of the connection.
    Idle,
}

/// The law's round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DcudpRtt {
    /// The latest sample; before any, the handshake's.
    Latest,
    /// The smoothed one.
    Smoothed,
}

/// C of section IV.A: the rate at which congestion mode begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DcudpEntry {
    /// The recent sending rate in UDP mode: the application's rate, at most the interface's.
    Measured,
    /// The interface's rate.
    Interface,
}

/// The effect of a NAK in UDP mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossInUdpMode {
    /// Nothing: the paper's congestion mode begins with a mark.
    Ignore,
    /// It begins congestion mode, as its first report: for paths that may lose before they mark.
    CongestionMode,
}

/// The release of the sender's backlog after the return to UDP mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DcudpBacklog {
    /// At the interface's rate.
    Interface,
    /// No faster than the application writes.
    AppRate,
}

/// Parameters of DCUDP's sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DcudpConfig {
    /// PktSize: the payload of a full packet.
    pub packet: Bytes,
    /// The interface's rate, in payload as every rate here.
    pub interface: Rate,
    /// The reading of the listing.
    pub law: DcudpLaw,
    /// The growth of Rate_max.
    pub growth: DcudpGrowth,
    /// The floor of the rates.
    pub floor: DcudpFloor,
    /// The law's round-trip time.
    pub rtt: DcudpRtt,
    /// The entry into congestion mode.
    pub entry: DcudpEntry,
    /// The effect of a NAK in UDP mode.
    pub loss_in_udp_mode: LossInUdpMode,
    /// The release of a backlog.
    pub backlog: DcudpBacklog,
}

impl DcudpConfig {
    /// The default readings for a packet size and an interface.
    pub const fn new(packet: Bytes, interface: Rate) -> Self {
        Self {
            packet,
            interface,
            law: DcudpLaw::Default,
            growth: DcudpGrowth::PerSecond,
            floor: DcudpFloor::Latest,
            rtt: DcudpRtt::Latest,
            entry: DcudpEntry::Measured,
            loss_in_udp_mode: LossInUdpMode::Ignore,
            backlog: DcudpBacklog::Interface,
        }
    }

    /// Packets per second as a rate.
    fn rate_of(&self, packets: f64) -> Rate {
        let bits = packets * self.packet.count() as f64 * 8.0;
        // A pacer cannot work at a rate of zero: an RTT of hours would give it.
        Rate::from_bits_per_second((bits as u64).max(1))
    }
}

/// The state of the law in congestion mode for probes, in packets per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DcudpRates {
    /// Rate_data: the sending rate.
    pub data: f64,
    /// Rate_max.
    pub max: f64,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Dcudp {
    config: DcudpConfig,
    /// C in packets per second.
    capacity: f64,
    /// The latest sample, and the least.
    latest: Option<Span>,
    idle: Option<Span>,
    mode: Mode,
    writes: Writes,
    /// Congestion mode has ended before.
    returned: bool,
}

/// UDP mode (OBS = 0) and congestion mode (OBS = 1).
#[derive(Debug, Clone)]
enum Mode {
    Udp(Meter),
    Congestion(Law),
}

impl Dcudp {
    /// A controller at the beginning of a connection, in UDP mode.
    pub fn new(config: DcudpConfig) -> Self {
        assert!(
            config.packet > Bytes::ZERO,
            "a packet holds at least one byte"
        );
        assert!(config.interface.bits_per_second() > 0, "C > 0");
        Self {
            config,
            capacity: packets(config.interface, config.packet),
            latest: None,
            idle: None,
            mode: Mode::Udp(Meter::default()),
            writes: Writes::default(),
            returned: false,
        }
    }

    /// The two rates of the law; absent in UDP mode.
    pub fn rates(&self) -> Option<DcudpRates> {
        match &self.mode {
            Mode::Udp(_) => None,
            Mode::Congestion(law) => Some(law.rates),
        }
    }

    /// Takes the round-trip times that the transport has measured by now.
    fn learn(&mut self, cx: &Context<'_>, sample: Option<Span>) {
        self.latest = sample.or(self.latest);
        // The first value is the handshake's round trip.
        let first = cx.smoothed_rtt.filter(|_| self.idle.is_none());
        self.idle = [self.idle, sample, first].into_iter().flatten().min();
    }

    /// The path as the law sees it now.
    fn path(&self, cx: &Context<'_>) -> Path {
        let latest = match self.config.rtt {
            DcudpRtt::Latest => self.latest.or(cx.smoothed_rtt),
            DcudpRtt::Smoothed => cx.smoothed_rtt,
        };
        let rtt = seconds(latest.unwrap_or(FIRST_RTT));
        let floor = match self.config.floor {
            DcudpFloor::Latest => rtt,
            DcudpFloor::Idle => self.idle.map_or(rtt, seconds),
        };
        Path {
            rtt,
            // No path takes one packet per RTT of an interface that is slower.
            floor: (1.0 / floor).min(self.capacity),
            capacity: self.capacity,
        }
    }

    /// Section IV.A: Rate_data = Rate_max = C, n_ack = n_ecn = 0, not frozen; both rates are at least
    /// one packet per RTT. An ACK that comes in congestion mode changes nothing here.
    fn enter_congestion_mode(&mut self, cx: &Context<'_>) {
        let Mode::Udp(meter) = &self.mode else {
            return;
        };
        let measured = match self.config.entry {
            DcudpEntry::Measured => meter.bytes_per_second(cx.now),
            DcudpEntry::Interface => None,
        };
        let rate = measured.map_or(self.capacity, |bytes| {
            bytes / self.config.packet.count() as f64
        });
        let path = self.path(cx);
        self.mode = Mode::Congestion(Law::new(
            rate.clamp(path.floor, path.capacity),
            &self.config,
        ));
    }

    /// Whether it learns the application's rate from the bytes that remain.
    pub(crate) fn reads_remaining(&self) -> bool {
        self.config.backlog == DcudpBacklog::AppRate
    }
}

/// The path as the law sees it.
#[derive(Debug, Clone, Copy)]
struct Path {
    /// Seconds.
    rtt: f64,
    /// Packets per second: 1 / RTT.
    floor: f64,
    /// C, in packets per second. The paper bounds no rate. But the interface sends no faster, and
    /// later marks would first have to reduce a rate above it before anything slows down.
    capacity: f64,
}

/// Seconds, at least one microsecond: the unit of round-trip times on the wire.
fn seconds(rtt: Span) -> f64 {
    rtt.max(Span::from_us(1)).as_secs_lossy()
}

fn packets(rate: Rate, packet: Bytes) -> f64 {
    rate.bytes_per_second_lossy() / packet.count() as f64
}

/// Figure 4.
#[derive(Debug, Clone)]
struct Law {
    rates: DcudpRates,
    /// Rate_data as a rate: every packet reads it.
    pace: Rate,
    n_ack: u64,
    n_ecn: u64,
    freeze: bool,
}

impl Law {
    fn new(rate: f64, config: &DcudpConfig) -> Self {
        Self {
            rates: DcudpRates {
                data: rate,
                max: rate,
            },
            pace: config.rate_of(rate),
            n_ack: 0,
            n_ecn: 0,
            freeze: false,
        }
    }

    /// "No ECN echo, speed up."
    fn speed_up(&mut self, path: Path, config: &DcudpConfig) {
        let DcudpRates { data, max } = self.rates;
        let rates = match config.law {
            DcudpLaw::Default if data < max => DcudpRates {
                data: (2.0 * data).min(max),
                max,
            },
            DcudpLaw::Default => {
                // A rate of 1 / RTT is a window of one packet.
                let step = match config.growth {
                    DcudpGrowth::PerSecond => 1.0,
                    DcudpGrowth::PerRtt => 1.0 / path.rtt,
                };
                let max = (max + step).min(path.capacity);
                DcudpRates { data: max, max }
            }
            // "Rate_max++" has no effect: the next line overwrites it.
            DcudpLaw::Printed if data > max => DcudpRates { data, max: data },
            DcudpLaw::Printed => DcudpRates {
                data: (2.0 * data).min(path.capacity),
                max,
            },
        };
        self.set(rates, config);
    }

    fn set(&mut self, rates: DcudpRates, config: &DcudpConfig) {
        self.rates = rates;
        self.pace = config.rate_of(rates.data);
    }

    /// "Slow down rate due to ECN echo", once per data packet sent.
    fn on_echo(&mut self, path: Path, config: &DcudpConfig) -> Reaction {
        self.n_ecn += 1;
        if self.freeze {
            return Reaction::Ignored;
        }
        let p = self.n_ecn as f64 / self.n_ack as f64;
        // (1): Rate / (1 + p / (Rate RTT)). With W = Rate RTT that is W -> W^2 / (W + p), about W - p.
        let divisor = |rate: f64| 1.0 + p / (rate * path.rtt);
        let d = divisor(self.rates.data);
        let data = self.rates.data / d;
        // (2).
        let max = match config.law {
            DcudpLaw::Default => self.rates.max / d,
            DcudpLaw::Printed => self.rates.max / divisor(data),
        };
        self.slow_down(DcudpRates { data, max }, path, config)
    }

    /// "Slow down rate due to packet loss": one packet per RTT.
    fn on_nak(&mut self, path: Path, config: &DcudpConfig) -> Reaction {
        self.n_ack += 1;
        self.n_ecn += 1;
        if self.freeze {
            return Reaction::Ignored;
        }
        let rates = DcudpRates {
            data: path.floor,
            max: self.rates.max / 2.0,
        };
        self.slow_down(rates, path, config)
    }

    fn slow_down(&mut self, rates: DcudpRates, path: Path, config: &DcudpConfig) -> Reaction {
        let bounded = DcudpRates {
            data: rates.data.max(path.floor),
            max: rates.max.max(path.floor),
        };
        self.set(bounded, config);
        self.freeze = true;
        Reaction::Reduced
    }
}

impl Controller for Dcudp {
    #[inline]
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        if self.reads_remaining() {
            self.writes.on_sent(cx, size);
        }
        match &mut self.mode {
            Mode::Udp(meter) => meter.on_sent(cx.now, size),
            // Section IV.B: each data packet that leaves ends the freeze.
            Mode::Congestion(law) => law.freeze = false,
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.learn(cx, ack.rtt);
        if ack.echo == Echo::Congestion {
            self.enter_congestion_mode(cx);
        }
        let path = self.path(cx);
        if let Mode::Congestion(law) = &mut self.mode {
            law.n_ack += 1;
            if ack.echo == Echo::Clear {
                law.speed_up(path, &self.config);
            }
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        let is_loss = matches!(event, CongestionEvent::Loss { .. });
        if is_loss && self.config.loss_in_udp_mode == LossInUdpMode::CongestionMode {
            self.learn(cx, None);
            self.enter_congestion_mode(cx);
        }
        let path = self.path(cx);
        match (&mut self.mode, event) {
            (Mode::Congestion(law), CongestionEvent::Ecn) => law.on_echo(path, &self.config),
            (Mode::Congestion(law), CongestionEvent::Loss { .. }) => law.on_nak(path, &self.config),
            // Section IV.C: OBS = 0 ends congestion mode.
            (Mode::Congestion(_), CongestionEvent::Over) => {
                self.mode = Mode::Udp(Meter::default());
                self.returned = true;
                Reaction::Ignored
            }
            _ => Reaction::Ignored,
        }
    }

    fn window(&self) -> Window {
        Window::Unlimited
    }

    fn pacing(&self) -> Option<Rate> {
        Some(match &self.mode {
            Mode::Udp(_) => match self.writes.rate.filter(|_| self.returned) {
                Some(rate) => rate.min(self.config.interface),
                None => self.config.interface,
            },
            Mode::Congestion(law) => law.pace,
        })
    }

    fn state(&self) -> ControlState {
        ControlState {
            rate: self.pacing(),
            max_rate: self.rates().map(|rates| self.config.rate_of(rates.max)),
            mode: Some(match self.mode {
                Mode::Udp(_) => TransmissionMode::Udp,
                Mode::Congestion(_) => TransmissionMode::Congestion,
            }),
            ..ControlState::default()
        }
    }
}

/// Over which time the rate of UDP mode is measured: between one and two of these spans. UDT's SYN.
const MEASURED_OVER: Span = Span::from_ms(10);

/// The application's writing rate, measured by the packets that leave and wait.
#[derive(Debug, Clone, Default)]
struct Writes {
    /// Packets sent, and the bytes of them that were new.
    snd_nxt: u64,
    sent: u64,
    /// The last sample: its time, and the packets written by then.
    looked: Option<(Time, u64)>,
    /// Between the last two looks with anything written between them.
    rate: Option<Rate>,
}

impl Writes {
    fn on_sent(&mut self, cx: &Context<'_>, size: Bytes) {
        if cx.snd_nxt > self.snd_nxt {
            self.snd_nxt = cx.snd_nxt;
            self.sent += size.count();
        }
        let unacknowledged = cx.remaining.map_or(0, Bytes::count);
        let waiting = unacknowledged.saturating_sub(cx.in_flight.count());
        let written = self.sent.saturating_add(waiting);
        let Some((at, before)) = self.looked else {
            self.looked = Some((cx.now, written));
            return;
        };
        let elapsed = cx.now.saturating_since(at);
        if elapsed < MEASURED_OVER {
            return;
        }
        self.looked = Some((cx.now, written));
        if written > before {
            let bits = (written - before) as f64 * 8.0 / elapsed.as_secs_lossy();
            self.rate = Some(Rate::from_bits_per_second((bits as u64).max(1)));
        }
    }
}

/// The packets sent since an instant.
#[derive(Debug, Clone, Copy)]
struct Interval {
    begin: Time,
    bytes: u64,
}

/// The rate at which UDP mode has been sending of late.
#[derive(Debug, Clone, Default)]
struct Meter {
    current: Option<Interval>,
    /// The whole interval before it.
    previous: Option<Interval>,
    last: Time,
}

impl Meter {
    #[inline]
    fn on_sent(&mut self, now: Time, size: Bytes) {
        // After a pause the rate before it shows nothing.
        let paused = now.saturating_since(self.last) >= MEASURED_OVER;
        self.last = now;
        match &mut self.current {
            Some(interval) if !paused => {
                if now.saturating_since(interval.begin) >= MEASURED_OVER {
                    self.previous = Some(*interval);
                    *interval = Interval {
                        begin: now,
                        bytes: 0,
                    };
                }
                interval.bytes += size.count();
            }
            _ => {
                self.previous = None;
                self.current = Some(Interval {
                    begin: now,
                    bytes: size.count(),
                });
            }
        }
    }

    /// Absent before time has passed.
    fn bytes_per_second(&self, now: Time) -> Option<f64> {
        let current = self.current?;
        let (begin, before) = self.previous.map_or((current.begin, 0), |interval| {
            (interval.begin, interval.bytes)
        });
        let elapsed = now.saturating_since(begin);
        (elapsed > Span::ZERO).then(|| (before + current.bytes) as f64 / elapsed.as_secs_lossy())
    }
}
