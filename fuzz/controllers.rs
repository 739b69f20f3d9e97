//! The fuzz target `controllers`: any controller, or QCN's reaction point, with any operations in any
//! order, those that no transport would call too. The same function runs under libFuzzer and in the
//! ordinary tests of `incastle-congestion`.

use incastle_congestion::{
    AckSample, AdaptiveIncrease, Algorithm, Bbr, BbrConfig, CongestionEvent, Context, ControlState,
    Controller, Cubic, CubicConfig, CwaExtremes, CwaReaction, D2tcp, D2tcpConfig, Dcqcn,
    DcqcnConfig, Dctcp, DctcpConfig, Dcudp, DcudpBacklog, DcudpConfig, DcudpEntry, DcudpFloor,
    DcudpGrowth, DcudpLaw, DcudpR, DcudpRConfig, DcudpRtt, DtCwa, DtCwaConfig, Echo, Feedback,
    HopTelemetry, Hpcc, HpccConfig, LimitedBy, LossInUdpMode, LostPacket, NewReno, NewRenoConfig,
    Phase, Prague, PragueConfig, RateDctcp, RateDctcpConfig, RateLimiter, RateLimits, RateSample,
    RateWindow, ReactionPoint, ReactionPointConfig, SlowStart, Swift, SwiftConfig, Timely,
    TimelyConfig, Udt, UdtConfig, Window,
};
use incastle_units::{Bytes, Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

#[path = "input.rs"]
mod input;

use input::Input;

const MSS: Bytes = Bytes::new(1460);
const LINE: Rate = Rate::from_bits_per_second(10_000_000_000);
/// First bytes from this on are the controls of RDMA, then Swift, BBR, Prague and the revised DCUDP.
const RDMA: u8 = 216;
const SWIFT: u8 = 224;
const PRAGUE: u8 = 240;
const BBR: u8 = 232;
const DCUDP_R: u8 = 248;
/// Maximum of timers at one instant: more would be an infinite loop.
const MAX_TIMERS: u32 = 1_000;

/// An input is the controller (1 byte), its configuration (1 byte), then operations of one byte with their
/// operands.
pub(crate) fn controllers(input: &[u8]) {
    let mut input = Input(input);
    let (Some(which), Some(variant)) = (input.byte(), input.byte()) else {
        return;
    };
    if which < RDMA && which % 8 == 7 {
        let mut limiter = Limited::new(variant);
        while limiter.step(&mut input).is_some() {}
        return;
    }
    let mut sender = Sender::new(algorithm(which, variant));
    while sender.step(&mut input).is_some() {
        sender.check();
    }
}

fn pick<T: Copy>(values: &[T], variant: u8, shift: u32) -> T {
    values[usize::from(variant >> shift) % values.len()]
}

fn algorithm(which: u8, variant: u8) -> Algorithm {
    let window = NewRenoConfig {
        min_cwnd: Bytes::new(MSS.count() * pick(&[1, 2], variant, 0)),
        grow_on_ece: variant & 2 != 0,
        slow_start: pick(
            &[
                SlowStart::Standard,
                SlowStart::Hystart,
                SlowStart::HystartPlusPlus,
                SlowStart::Standard,
            ],
            variant,
            4,
        ),
        paced: variant & 64 != 0,
        ..NewRenoConfig::new(MSS)
    };
    let dctcp = DctcpConfig {
        window,
        g: pick(&[1.0 / 16.0, 1.0], variant, 2),
        initial_alpha: pick(&[1.0, 0.0], variant, 3),
    };
    if (RDMA..PRAGUE).contains(&which) || which >= DCUDP_R {
        return modern(which, variant);
    }
    if which >= PRAGUE {
        return Algorithm::from(Prague::new(PragueConfig {
            window,
            g: dctcp.g,
            initial_alpha: dctcp.initial_alpha,
            rtt_target: pick(&[Span::from_ms(25), Span::ZERO], variant, 5),
            rtt_transition: pick(&[4, 0], variant, 7),
        }));
    }
    match which % 8 {
        0 => Algorithm::NewReno(NewReno::new(window)),
        1 => Algorithm::Dctcp(Dctcp::new(dctcp)),
        2 => Algorithm::from(D2tcp::new(D2tcpConfig {
            dctcp,
            ..D2tcpConfig::new(MSS)
        })),
        3 => Algorithm::from(Cubic::new(CubicConfig {
            window,
            ..CubicConfig::new(MSS)
        })),
        4 => Algorithm::from(DtCwa::new(DtCwaConfig {
            dctcp,
            reaction: pick(
                &[
                    CwaReaction::Subtract,
                    CwaReaction::Absolute,
                    CwaReaction::Printed,
                ],
                variant,
                4,
            ),
            extremes: pick(
                &[
                    CwaExtremes::Episode,
                    CwaExtremes::Notification,
                    CwaExtremes::Loss,
                ],
                variant,
                6,
            ),
            b: pick(&[0.5, 1.0], variant, 5),
        })),
        5 => Algorithm::Udt(Udt::new(UdtConfig { packet: MSS })),
        _ => Algorithm::from(Dcudp::new(dcudp(variant))),
    }
}

fn swift(variant: u8) -> Algorithm {
    Algorithm::from(Swift::new(SwiftConfig {
        ai: pick(&[1.0, 100.0], variant, 0),
        max_mdf: pick(&[0.5, 0.99], variant, 1),
        base_target: pick(&[Span::from_us(20), Span::from_ps(1)], variant, 2),
        fs_range: pick(&[Span::from_us(100), Span::ZERO], variant, 3),
        hops: pick(&[1, 1_000], variant, 4),
        ..SwiftConfig::new(MSS)
    }))
}

fn rdma(which: u8, variant: u8) -> Algorithm {
    let (rtt, window) = (Span::from_us(10), Bytes::new(12_500));
    let limits = |limits: RateLimits| RateLimits {
        max_rate: pick(&[LINE, limits.min_rate], variant, 0),
        window: pick(
            &[
                RateWindow::Unlimited,
                RateWindow::Fixed(window),
                RateWindow::Scaled(window),
            ],
            variant,
            1,
        ),
        reference_at_line_rate: variant & 8 != 0,
        ..limits
    };
    let presets = [
        DcqcnConfig::sigcomm15(LINE),
        DcqcnConfig::mellanox(LINE),
        DcqcnConfig::nvidia(LINE),
    ];
    let mut dcqcn = pick(&presets, variant, 4);
    dcqcn.limits = limits(dcqcn.limits);
    let presets = [
        TimelyConfig::sigcomm15(LINE),
        TimelyConfig::hpcc_ns3(LINE),
        TimelyConfig::patched(LINE),
    ];
    let mut timely = pick(&presets, variant, 4);
    timely.limits = limits(timely.limits);
    let presets = [
        HpccConfig::sigcomm19(LINE, rtt),
        HpccConfig::hpcc_ns3(LINE, rtt),
    ];
    let mut hpcc = HpccConfig {
        multi_rate: variant & 32 != 0,
        fast_react: variant & 64 == 0,
        ..pick(&presets, variant, 4)
    };
    hpcc.limits = limits(hpcc.limits);
    let mut dctcp = RateDctcpConfig::hpcc_ns3(LINE);
    dctcp.limits = limits(dctcp.limits);
    match which % 4 {
        0 => Algorithm::from(Dcqcn::new(dcqcn)),
        1 => Algorithm::from(Timely::new(timely)),
        2 => Algorithm::from(Hpcc::new(hpcc)),
        _ => Algorithm::from(RateDctcp::new(dctcp)),
    }
}

fn modern(which: u8, variant: u8) -> Algorithm {
    match which {
        ..SWIFT => rdma(which, variant),
        SWIFT..BBR => swift(variant),
        DCUDP_R.. => dcudp_r(variant),
        _ => bbr(variant),
    }
}

fn dcudp_r(variant: u8) -> Algorithm {
    Algorithm::from(DcudpR::new(DcudpRConfig {
        interval: pick(&[Span::from_ms(1), Span::from_ps(1)], variant, 0),
        initial_window: pick(&[32, 1, u32::MAX], variant, 1),
        loss_tolerance: pick(&[0.05, 0.0], variant, 3),
        ..DcudpRConfig::new(MSS)
    }))
}

fn bbr(variant: u8) -> Algorithm {
    Algorithm::from(Bbr::new(BbrConfig {
        send_quantum: Bytes::new(MSS.count() * pick(&[2, 64], variant, 0)),
        ..BbrConfig::new(MSS)
    }))
}

fn dcudp(variant: u8) -> DcudpConfig {
    DcudpConfig {
        law: pick(&[DcudpLaw::Default, DcudpLaw::Printed], variant, 0),
        growth: pick(&[DcudpGrowth::PerSecond, DcudpGrowth::PerRtt], variant, 1),
        floor: pick(&[DcudpFloor::Latest, DcudpFloor::Idle], variant, 2),
        rtt: pick(&[DcudpRtt::Latest, DcudpRtt::Smoothed], variant, 3),
        entry: pick(&[DcudpEntry::Measured, DcudpEntry::Interface], variant, 4),
        loss_in_udp_mode: pick(
            &[LossInUdpMode::Ignore, LossInUdpMode::CongestionMode],
            variant,
            5,
        ),
        backlog: pick(
            &[DcudpBacklog::Interface, DcudpBacklog::AppRate],
            variant,
            6,
        ),
        ..DcudpConfig::new(MSS, LINE)
    }
}

/// The sender of a controller.
struct Sender {
    algorithm: Algorithm,
    now: Time,
    una: u64,
    nxt: u64,
    rtt: Option<Span>,
    deadline: Option<Time>,
    rate: Option<Rate>,
    rng: Xoshiro256PlusPlus,
}

impl Sender {
    fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            now: Time::ZERO,
            una: 0,
            nxt: 0,
            rtt: None,
            deadline: None,
            rate: None,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
        }
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut Algorithm, &mut Context<'_>) -> T) -> T {
        let mut context = Context {
            now: self.now,
            snd_una: self.una,
            snd_nxt: self.nxt,
            in_flight: Bytes::new(self.nxt - self.una),
            smoothed_rtt: self.rtt,
            remaining: self.deadline.map(|_| Bytes::new(self.nxt - self.una)),
            deadline: self.deadline,
            receiving_rate: self.rate,
            capacity: self.rate,
            rng: &mut self.rng,
        };
        call(&mut self.algorithm, &mut context)
    }

    /// One operation; nothing where the input ends.
    fn step(&mut self, input: &mut Input<'_>) -> Option<()> {
        let op = input.byte()?;
        match op % 8 {
            0 => {
                let size = u64::from(input.word()?);
                self.nxt = self.nxt.saturating_add(size);
                self.call(|controller, cx| controller.on_sent(cx, Bytes::new(size)));
            }
            1 | 2 => self.acknowledge(op, u64::from(input.word()?)),
            3 => self.report(op, input.byte()?),
            4 => self.now += Span::from_us(u64::from(input.word()?) << (op >> 4)),
            5 => self.expire(),
            6 => self.rtt = Some(Span::from_us(u64::from(input.word()?) << (op >> 5))),
            _ => {
                let word = u64::from(input.word()?);
                self.deadline = (op & 8 != 0).then(|| self.now + Span::from_us(word));
                self.rate = (op & 16 != 0).then(|| Rate::from_bits_per_second(word << (op >> 3)));
            }
        }
        Some(())
    }

    fn acknowledge(&mut self, op: u8, share: u64) {
        let acked = (self.nxt - self.una) * share / u64::from(u16::MAX);
        self.una += acked;
        let echo = pick(&[Echo::Clear, Echo::Congestion], op, 3);
        let hop = HopTelemetry {
            rate: pick(&[LINE, Rate::from_bits_per_second(1)], op, 7),
            at: self.now,
            sent: Bytes::new(self.nxt),
            queue: Bytes::new(share),
        };
        let sample = AckSample {
            acked: Bytes::new(acked),
            segments: u32::from(op >> 4) + 1,
            echo,
            rtt: self.rtt.filter(|_| op & 16 != 0),
            limited_by: pick(&[LimitedBy::Window, LimitedBy::Application], op, 5),
            phase: pick(
                &[
                    Phase::Open,
                    Phase::Recovery,
                    Phase::AfterTimeout,
                    Phase::Open,
                ],
                op,
                6,
            ),
            hops: &[hop; 2][..usize::from(op >> 6) % 3],
            hop_count: (op & 16 != 0).then_some(op >> 5),
            remote_delay: None,
        };
        if self.algorithm.samples_rate() {
            self.sample(op, acked);
        }
        self.call(|controller, cx| controller.on_ack(cx, &sample));
        if echo == Echo::Congestion {
            self.call(|controller, cx| controller.on_congestion(cx, CongestionEvent::Ecn));
        }
    }

    /// A loss, or the delivery of what was acknowledged, over a fraction of the round trip.
    fn sample(&mut self, op: u8, acked: u64) {
        let in_flight = Bytes::new(self.nxt - self.una);
        let size = in_flight.min(MSS);
        if op & 8 != 0 && size > Bytes::ZERO {
            let lost = LostPacket {
                seq: self.una,
                size,
                tx_in_flight: in_flight,
                lost: size * u64::from(op >> 4) + size,
                total_delivered: self.una,
                in_flight: in_flight.saturating_sub(size),
                is_app_limited: op & 64 != 0,
            };
            return self.call(|controller, cx| controller.on_lost(cx, &lost));
        }
        let interval = self.rtt.unwrap_or(Span::from_us(1)) / (u64::from(op >> 4) + 1);
        let delivered = Bytes::new(acked);
        let sample = RateSample {
            total_delivered: self.una,
            prior_delivered: self.una - acked,
            rate: (interval > Span::ZERO).then(|| Rate::of(delivered, interval)),
            rtt: self.rtt.filter(|_| op & 16 != 0),
            newly_acked: delivered,
            lost: MSS * u64::from(op >> 5),
            tx_in_flight: in_flight,
            in_flight,
            is_app_limited: op & 64 != 0,
            is_cwnd_limited: op & 128 != 0,
        };
        self.call(|controller, cx| controller.on_rate(cx, &sample));
    }

    fn report(&mut self, op: u8, byte: u8) {
        let event = match op >> 3 {
            0..=7 => CongestionEvent::Ecn,
            8..=15 => CongestionEvent::Loss {
                count: u32::from(byte),
                largest: self.una + (self.nxt - self.una) * u64::from(byte) / 255,
            },
            16..=23 => CongestionEvent::Timeout {
                backoff: u32::from(byte),
            },
            24..=27 => CongestionEvent::IdleRestart,
            _ => CongestionEvent::Over,
        };
        self.call(|controller, cx| controller.on_congestion(cx, event));
    }

    fn expire(&mut self) {
        if let Some(at) = self.algorithm.next_timer() {
            self.now = self.now.max(at);
        }
        let mut count = 0;
        while self.algorithm.next_timer().is_some_and(|at| at <= self.now) {
            count += 1;
            assert!(count < MAX_TIMERS, "a timer that never lies ahead");
            self.call(Algorithm::on_timer);
        }
    }

    /// The invariants on which every transport relies.
    fn check(&self) {
        if let Window::Limited(window) = self.algorithm.window() {
            assert!(
                window > Bytes::ZERO,
                "a window that blocks a sender for ever"
            );
        }
        if let Some(rate) = self.algorithm.pacing() {
            assert!(
                rate.bits_per_second() > 0,
                "a rate that blocks a sender for ever"
            );
        }
        let ControlState { alpha, .. } = self.algorithm.state();
        assert!(alpha.is_none_or(|alpha| (0.0..=1.0).contains(&alpha)));
    }
}

/// A reaction point in its NIC.
struct Limited {
    point: ReactionPoint,
    config: ReactionPointConfig,
    now: Time,
    rng: Xoshiro256PlusPlus,
}

impl Limited {
    fn new(variant: u8) -> Self {
        let config = ReactionPointConfig {
            rpg_min_dec_fac: pick(&[0.5, 0.0], variant, 0),
            jitter: pick(&[0.15, 0.0], variant, 1),
            adaptive: pick(
                &[
                    AdaptiveIncrease::Off,
                    AdaptiveIncrease::Scaled,
                    AdaptiveIncrease::Raw,
                ],
                variant,
                4,
            ),
            rpg_min_rate: pick(&[Rate::from_bits_per_second(1), LINE], variant, 3),
            ..ReactionPointConfig::new(LINE)
        };
        Self {
            point: ReactionPoint::new(config),
            config,
            now: Time::ZERO,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
        }
    }

    fn step(&mut self, input: &mut Input<'_>) -> Option<()> {
        let op = input.byte()?;
        let (now, rng) = (self.now, &mut self.rng);
        match op % 5 {
            0 => {
                let psi = input.byte()? % 64;
                self.point.on_cnm(now, Feedback { psi }, rng);
            }
            1 => {
                let size = Bytes::new(u64::from(input.word()?));
                self.point.on_sent(now, size, rng);
            }
            2 => self.now += Span::from_us(u64::from(input.word()?) << (op >> 4)),
            3 => self.expire(),
            _ => self.point.on_idle(now),
        }
        let state = self.point.state();
        assert!(state.current <= state.target && state.target <= self.config.line_rate);
        assert!(state.current >= self.config.rpg_min_rate.min(self.config.line_rate));
        assert!(state.memory.is_finite() && state.memory >= 0.0);
        Some(())
    }

    fn expire(&mut self) {
        if let Some(at) = self.point.next_timer() {
            self.now = self.now.max(at);
        }
        let mut count = 0;
        while self.point.next_timer().is_some_and(|at| at <= self.now) {
            count += 1;
            assert!(count < MAX_TIMERS, "a timer that never lies ahead");
            self.point.on_timer(self.now, &mut self.rng);
        }
    }
}
