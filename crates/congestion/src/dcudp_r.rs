//! DCUDP, revised: a control of ours in the frame of Ye, Mhamdi and Hamdi (two modes, signals that the receiver
//! counts). The law, its fixed point and its claims are in docs/models/dcudp-r.md, whose sections the lines cite.
//!
//! Windows count packets and are real numbers. Leaves out: OBS and CWR, the receiver's exit rule, a path without
//! marks (losses are a coarse signal then), a least round-trip time that grows.

use incastle_units::{Bytes, Rate, Span, Time};

use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, LimitedBy, Reaction,
    TransmissionMode, Window,
};

/// The least window, in packets: the pacer makes a rate of it.
const FLOOR: f64 = 1.0 / 16.0;
/// IP, UDP and UDT's header of data: an interface's rate counts them, a pacer does not.
const HEADERS: f64 = 44.0;
/// A queue is empty up to this part of the least round-trip time.
const EMPTY: f64 = 1.0 / 16.0;
/// The pacer's excess over the window's rate, and the window from which it is whole.
const EXCESS: f64 = 0.25;
const WHOLE_EXCESS: f64 = 16.0;
/// Growth per packet that the gain may reach.
const FASTEST: f64 = 0.25;
/// Packets of which losses are counted, at least.
const JUDGED: f64 = 128.0;
/// Unmarked packets, in expected distances of marks, after which bandwidth counts as freed.
const PATIENCE: f64 = 4.0;

/// Parameters of the revised DCUDP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DcudpRConfig {
    /// The payload of a full packet.
    pub packet: Bytes,
    /// The shortest T: the interval that flows have in common.
    pub interval: Span,
    /// T in own round trips, where that is longer.
    pub rounds: u32,
    /// Growth: kappa / sqrt(w) packets per T for each unmarked packet.
    pub kappa: f64,
    /// Decrease for each marked packet, in packets per T; at most 1.
    pub delta: f64,
    /// The window before any feedback, in packets.
    pub initial_window: u32,
    /// The part of a round's packets whose loss counts as random.
    pub loss_tolerance: f64,
}

impl DcudpRConfig {
    /// The defaults (docs/models/dcudp-r.md, Parameters).
    pub const fn new(packet: Bytes) -> Self {
        Self {
            packet,
            interval: Span::from_ms(1),
            rounds: 4,
            kappa: 2.0,
            delta: 0.5,
            initial_window: 32,
            loss_tolerance: 0.05,
        }
    }

    fn check(&self) {
        assert!(self.packet > Bytes::ZERO, "a packet has at least one byte");
        assert!(self.interval > Span::ZERO && self.rounds > 0, "T is a time");
        assert!(self.kappa > 0.0 && self.kappa.is_finite(), "windows grow");
        assert!(self.delta > 0.0 && self.delta <= 1.0, "0 < delta <= 1");
        assert!(self.initial_window > 0, "the first window has a packet");
        assert!(
            (0.0..1.0).contains(&self.loss_tolerance),
            "0 <= loss_tolerance < 1"
        );
    }
}

/// Round-trip times, in seconds.
#[derive(Debug, Clone, Copy)]
struct RoundTrips {
    smoothed: f64,
    least: f64,
    latest: f64,
}

impl RoundTrips {
    fn take(before: Option<Self>, sample: Span) -> Self {
        let latest = seconds(sample.max(Span::from_ps(1)));
        let Some(before) = before else {
            return Self {
                smoothed: latest,
                least: latest,
                latest,
            };
        };
        Self {
            smoothed: before.smoothed + (latest - before.smoothed) / 8.0,
            least: before.least.min(latest),
            latest,
        }
    }
}

fn seconds(span: Span) -> f64 {
    span.as_ps() as f64 / 1e12
}

/// The two modes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Udp,
    Congestion,
    /// Congestion mode in the round of its first mark: the window falls to `window` r / RTT.
    Entering {
        until: u64,
        window: f64,
    },
    /// Congestion mode while the data that left before that are acknowledged: their marks are known.
    Settling {
        until: u64,
    },
}

/// The counts of one round, which ends when an ACK passes `end`.
#[derive(Debug, Clone, Copy)]
struct Round {
    end: u64,
    least_rtt: f64,
}

impl Round {
    const fn until(end: u64) -> Self {
        Self {
            end,
            least_rtt: f64::INFINITY,
        }
    }
}

/// Packets sent and lost since the last judgement. Not those acknowledged: behind a gap none is for a while.
#[derive(Debug, Clone, Copy)]
struct Losses {
    sent: f64,
    lost: f64,
    halved_at: Time,
}

impl Losses {
    const fn since(halved_at: Time) -> Self {
        Self {
            sent: 0.0,
            lost: 0.0,
            halved_at,
        }
    }
}

/// The time without congestion.
#[derive(Debug, Clone, Copy)]
struct Calm {
    /// The last mark, or the last round that saw a queue.
    since: Time,
    /// Unmarked packets since the last mark.
    packets: f64,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct DcudpR {
    config: DcudpRConfig,
    mode: Mode,
    /// W, in packets.
    cwnd: f64,
    rtt: Option<RoundTrips>,
    /// C, in full packets per second.
    capacity: Option<f64>,
    round: Round,
    losses: Losses,
    calm: Calm,
    gain: f64,
    /// Whether the path carries ECN, as far as is known.
    ecn: bool,
    pacing: Option<Rate>,
}

impl DcudpR {
    /// A controller at the beginning of a connection.
    pub fn new(config: DcudpRConfig) -> Self {
        config.check();
        Self {
            mode: Mode::Udp,
            cwnd: f64::from(config.initial_window),
            rtt: None,
            capacity: None,
            round: Round::until(0),
            losses: Losses::since(Time::ZERO),
            calm: Calm {
                since: Time::ZERO,
                packets: 0.0,
            },
            gain: 1.0,
            ecn: true,
            pacing: None,
            config,
        }
    }

    /// T in seconds, for a round-trip time.
    fn interval(&self, rtt: f64) -> f64 {
        let least = seconds(self.config.interval);
        least.max(f64::from(self.config.rounds) * rtt)
    }

    /// The window's change per packet of w, and w.
    fn share(&self, rtt: f64) -> (f64, f64) {
        let part = rtt / self.interval(rtt);
        (part, self.cwnd / part)
    }

    /// Equations: what C fills. The part of T is for what delays acknowledgements but is no queue of the network; and
    /// an interface that is slower than C would grow a queue of its own without end, were the limit that of a round
    /// trip with this queue.
    fn most(&self, rtt: RoundTrips) -> f64 {
        let initial = f64::from(self.config.initial_window);
        self.capacity.map_or(f64::MAX, |packets| {
            let waiting = packets * seconds(self.config.interval) / 4.0;
            (1.0 + EXCESS) * packets * rtt.least + waiting.max(initial)
        })
    }

    fn resize(&mut self, cwnd: f64) {
        let most = self.rtt.map_or(f64::MAX, |rtt| self.most(rtt));
        self.cwnd = cwnd.min(most.max(self.cwnd)).max(FLOOR);
        assert!(self.cwnd.is_finite(), "a window is a number");
    }

    fn learn(&mut self, cx: &Context<'_>, ack: &AckSample<'_>) {
        self.learn_capacity(cx);
        if let Some(sample) = ack.rtt {
            let rtt = RoundTrips::take(self.rtt, sample);
            self.round.least_rtt = self.round.least_rtt.min(rtt.latest);
            self.rtt = Some(rtt);
        }
    }

    fn learn_capacity(&mut self, cx: &Context<'_>) {
        let full = 8.0 * (self.config.packet.count() as f64 + HEADERS);
        let packets = cx.capacity.map(|rate| rate.bits_per_second() as f64 / full);
        // The interface's rate is known from the start. Pairs among other traffic measure less, and are no bound.
        let known = self.capacity.into_iter().chain(packets);
        self.capacity = known.reduce(f64::max);
    }

    /// Equations, congestion mode: growth by an unmarked packet. Before a round-trip time is known there is none.
    fn on_clear(&mut self, packets: f64, limited_by: LimitedBy) {
        self.calm.packets += packets;
        let (LimitedBy::Window, Some(rtt)) = (limited_by, self.rtt) else {
            return;
        };
        let per_packet = match self.mode {
            Mode::Entering { .. } | Mode::Settling { .. } => return,
            Mode::Udp => 1.0,
            Mode::Congestion => self.growth(rtt.smoothed),
        };
        self.resize(self.cwnd + per_packet * packets);
    }

    /// Growth per packet: by a quarter of W per round, or as the law has it.
    fn growth(&self, rtt: f64) -> f64 {
        let (part, w) = self.share(rtt);
        let plain = self.config.kappa / w.sqrt() * part;
        (self.gain * plain).min(FASTEST.max(plain)).min(1.0)
    }

    fn on_marked(&mut self, cx: &Context<'_>, packets: f64) {
        self.end_calm(cx.now);
        match self.mode {
            Mode::Udp => {
                let flight = cx.in_flight.count() as f64 / self.config.packet.count() as f64;
                self.mode = Mode::Entering {
                    until: cx.snd_nxt,
                    window: self.cwnd.min(flight + packets),
                };
            }
            Mode::Entering { .. } | Mode::Settling { .. } => {}
            Mode::Congestion => {
                let Some(rtt) = self.rtt else { return };
                let (part, _) = self.share(rtt.smoothed);
                // No number of packets in one ACK takes more than the smooth decrease of a whole window.
                let least = self.cwnd * (1.0 - self.config.delta * part.min(1.0));
                let less = self.cwnd - self.config.delta * part * packets;
                self.resize(less.max(least.min(self.cwnd)));
            }
        }
    }

    fn end_calm(&mut self, now: Time) {
        self.calm = Calm {
            since: now,
            packets: 0.0,
        };
        self.gain = 1.0;
    }

    /// The window becomes the connection's part of the link without a queue, by Little's law: the more of the queue
    /// the round trips show, the less.
    fn enter(&mut self, cx: &Context<'_>) {
        match self.mode {
            Mode::Entering { until, window } => {
                // A sender that had hardly anything to send keeps one packet.
                if let Some(rtt) = self.rtt {
                    let part = (window * rtt.least / rtt.latest).max(1.0);
                    self.resize(self.cwnd.min(part));
                }
                if cx.snd_una >= until {
                    self.mode = Mode::Settling { until: cx.snd_nxt };
                }
            }
            Mode::Settling { until } if cx.snd_una >= until => self.mode = Mode::Congestion,
            _ => {}
        }
    }

    fn end_round(&mut self, cx: &Context<'_>) {
        if cx.snd_una < self.round.end {
            return;
        }
        let round = std::mem::replace(&mut self.round, Round::until(cx.snd_nxt.max(1)));
        if let Some(rtt) = self.rtt {
            self.seek_freed(cx.now, round, rtt);
        }
    }

    /// Losses: more than the tolerance of some packets, or any without ECN; at most once per round trip.
    fn judge_losses(&mut self, now: Time) {
        let seen = self.losses;
        let tolerance = if self.ecn {
            self.config.loss_tolerance
        } else {
            0.0
        };
        let round = self.rtt.map_or(0.0, |rtt| rtt.smoothed);
        let is_late = seconds(now.saturating_since(seen.halved_at)) >= round;
        if seen.lost > tolerance * seen.sent.max(JUDGED) && is_late {
            self.losses = Losses::since(now);
            self.halve(now);
        } else if seen.sent >= JUDGED {
            self.losses = Losses::since(seen.halved_at);
        }
    }

    fn halve(&mut self, now: Time) {
        self.end_calm(now);
        self.mode = Mode::Congestion;
        self.resize(self.cwnd / 2.0);
    }

    /// Freed bandwidth: the gain doubles with each round once the calm has lasted for T, or for far more packets
    /// than marks are apart.
    fn seek_freed(&mut self, now: Time, round: Round, rtt: RoundTrips) {
        if round.least_rtt > (1.0 + EMPTY) * rtt.least {
            self.calm.since = now;
        }
        let (_, w) = self.share(rtt.smoothed);
        let distance = 1.0 + self.config.delta * w.sqrt() / self.config.kappa;
        let crowd = self.cwnd.max(1.0);
        let time = seconds(now.saturating_since(self.calm.since));
        let calm =
            time >= self.interval(rtt.smoothed) || self.calm.packets > PATIENCE * crowd * distance;
        if !calm || self.mode != Mode::Congestion {
            self.gain = 1.0;
            return;
        }
        // A number that stays finite: far beyond the fastest growth.
        self.gain = (2.0 * self.gain).min(1e6);
        let fills = self.capacity.map(|packets| packets * rtt.smoothed);
        if fills.is_some_and(|fills| self.cwnd >= fills) {
            self.mode = Mode::Udp;
        }
    }

    /// Equations, in both modes.
    fn pace(&mut self) {
        let full = 8.0 * self.config.packet.count() as f64;
        let own = self.rtt.map(|rtt| {
            let ratio = 1.0 + EXCESS * (self.cwnd / WHOLE_EXCESS).min(1.0);
            ratio * self.cwnd / rtt.latest
        });
        let packets = match (self.mode, own, self.capacity) {
            (Mode::Udp, _, Some(capacity)) => Some(capacity),
            (_, Some(own), Some(capacity)) => Some(own.min(capacity)),
            (_, own, capacity) => own.or(capacity),
        };
        self.pacing = packets.map(|packets| {
            let bits = packets * full;
            Rate::from_bits_per_second((bits as u64).max(1))
        });
    }
}

impl Controller for DcudpR {
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        self.losses.sent += size.count() as f64 / self.config.packet.count() as f64;
        if self.capacity.is_none() && cx.capacity.is_some() {
            self.learn_capacity(cx);
            self.pace();
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.learn(cx, ack);
        let packets = ack.acked.count() as f64 / self.config.packet.count() as f64;
        match ack.echo {
            Echo::Clear => self.on_clear(packets, ack.limited_by),
            Echo::Congestion => self.on_marked(cx, packets),
        }
        self.enter(cx);
        self.end_round(cx);
        self.judge_losses(cx.now);
        self.pace();
    }

    /// Marks are in the acknowledgements already.
    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            CongestionEvent::Loss { count, .. } => {
                self.losses.lost += f64::from(count);
                self.judge_losses(cx.now);
                self.pace();
                Reaction::Ignored
            }
            CongestionEvent::Timeout { backoff: 1.. } => {
                self.halve(cx.now);
                self.pace();
                Reaction::Reduced
            }
            CongestionEvent::IdleRestart => {
                let initial = f64::from(self.config.initial_window);
                self.resize(self.cwnd.min(initial));
                self.pace();
                Reaction::Ignored
            }
            // A first timeout may be the delay of a busy machine; packets that are lost are reported too, and counted.
            CongestionEvent::Timeout { backoff: 0 }
            | CongestionEvent::Ecn
            | CongestionEvent::Over => Reaction::Ignored,
        }
    }

    fn on_ecn_lost(&mut self) {
        self.ecn = false;
    }

    /// One packet more than the window: up to it the pacer limits.
    #[inline]
    fn window(&self) -> Window {
        let bytes = (self.cwnd.ceil() + 1.0) * self.config.packet.count() as f64;
        Window::Limited(Bytes::new(bytes as u64))
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.pacing
    }

    fn state(&self) -> ControlState {
        let mode = match self.mode {
            Mode::Udp => TransmissionMode::Udp,
            Mode::Congestion | Mode::Entering { .. } | Mode::Settling { .. } => {
                TransmissionMode::Congestion
            }
        };
        let bytes = self.cwnd * self.config.packet.count() as f64;
        ControlState {
            cwnd: Some(Bytes::new(bytes as u64)),
            rate: self.pacing,
            mode: Some(mode),
            ..ControlState::default()
        }
    }
}
