//! DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015): a rate that
//! congestion notifications (CNPs) cut by an estimate of congestion, and that a timer and a byte counter
//! restore.
//!
//! Two forms: that of the paper (`paper`), which cuts at each CNP, and that of Mellanox's NICs (`mellanox`),
//! which looks for CNPs periodically; its source is `rdma-hw.cc` of HPCC-ns3 (kwzhao's branch m3, fc53eaae).
//! A CNP, or the echo of a mark, is [`CongestionEvent::Ecn`]. Leaves out: the rule by which the receiver
//! sends CNPs (transport); any reaction to losses and timeouts, as both sources do.

mod mellanox;
mod paper;
mod recovery;

use incastle_units::{Bytes, Rate, Span, Time};

use self::mellanox::Mellanox;
use self::paper::Paper;
use self::recovery::Recovery;
use crate::rdma_rate::RateLimits;
use crate::{AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window};

/// The form of DCQCN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DcqcnForm {
    /// The paper's: each CNP cuts the rate at once.
    Sigcomm15,
    /// That of Mellanox's NICs.
    Mellanox(MellanoxForm),
}

/// The parameters of Mellanox's form alone, with NVIDIA's names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MellanoxForm {
    /// The period of the check for CNPs: at most one cut for each.
    pub rate_reduce_monitor_period: Span,
    /// Each cut makes the current rate the target.
    pub clamp_tgt_rate: bool,
    /// A cut does so after an increase by the timer, and not only after one by the byte counter.
    pub clamp_tgt_rate_after_time_inc: bool,
    /// The part of the rate that the first CNP leaves.
    pub rate_on_first_cnp: f64,
}

/// The parameters of DCQCN. Those that IEEE 802.1Q has for QCN have its names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DcqcnConfig {
    /// The limits of the rate, and the window.
    pub limits: RateLimits,
    /// The form.
    pub form: DcqcnForm,
    /// The weight of a new sample in alpha.
    pub g: f64,
    /// Alpha at the start (paper), or at the first CNP (Mellanox).
    pub initial_alpha: f64,
    /// The paper's K: without a CNP alpha decays once in this time. Mellanox: the period of alpha's update.
    pub alpha_timer: Span,
    /// The period of the increase by time.
    pub rpg_time_reset: Span,
    /// The bytes of an increase by the byte counter; absent: there is none.
    pub rpg_byte_reset: Option<Bytes>,
    /// F: the increases of fast recovery.
    pub rpg_threshold: u32,
    /// R_AI: the target's gain by an additive increase.
    pub rpg_ai_rate: Rate,
    /// R_HAI: its gain by a hyper increase.
    pub rpg_hai_rate: Rate,
}

const fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000)
}

impl DcqcnConfig {
    /// The values of the paper, for 40 Gbit/s: K = 55 us, F = 5, alpha = 1 at the start, g = 1/256, timer 55 us, byte
    /// counter 10 MB, R_AI = 40 Mbit/s. R_HAI is that of its first author's simulator, bobzhuyb/ns3-rdma.
    pub const fn sigcomm15(line_rate: Rate) -> Self {
        Self {
            limits: RateLimits::new(line_rate),
            form: DcqcnForm::Sigcomm15,
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Span::from_us(55),
            rpg_time_reset: Span::from_us(55),
            rpg_byte_reset: Some(Bytes::new(10_000_000)),
            rpg_threshold: 5,
            rpg_ai_rate: mbit(40),
            rpg_hai_rate: mbit(200),
        }
    }

    /// The values of bobzhuyb/ns3-rdma (e8a27d0): RP_TIMER and BYTE_COUNTER of `mix/config.txt`, whose other values
    /// are those above, and the first alpha of `qbb-net-device.cc`.
    pub const fn ns3_rdma(line_rate: Rate) -> Self {
        Self {
            initial_alpha: 0.5,
            rpg_time_reset: Span::from_us(60),
            rpg_byte_reset: Some(Bytes::new(300_000_000)),
            ..Self::sigcomm15(line_rate)
        }
    }

    /// The values of `dcqcn` in `run.py` of HPCC-ns3: T_ALPHA 1, T_DEC 4 and T_INC 300 us, EWMA_GAIN 1/256,
    /// FAST_RECOVERY_TIMES 1, RATE_AI 5 and RATE_HAI 50 Mbit/s per 25 Gbit/s, MIN_RATE 1 Gbit/s, no byte counter.
    pub const fn mellanox(line_rate: Rate) -> Self {
        let line = line_rate.bits_per_second();
        let limits = RateLimits::new(line_rate);
        let least = if line < 1_000_000_000 {
            line_rate
        } else {
            mbit(1_000)
        };
        Self {
            limits: RateLimits {
                min_rate: least,
                ..limits
            },
            form: DcqcnForm::Mellanox(MellanoxForm {
                rate_reduce_monitor_period: Span::from_us(4),
                clamp_tgt_rate: false,
                clamp_tgt_rate_after_time_inc: true,
                rate_on_first_cnp: 1.0,
            }),
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Span::from_us(1),
            rpg_time_reset: Span::from_us(300),
            rpg_byte_reset: None,
            rpg_threshold: 1,
            rpg_ai_rate: Rate::from_bits_per_second(line / 5_000),
            rpg_hai_rate: Rate::from_bits_per_second(line / 500),
        }
    }

    /// The values of `dcqcn_paper` there: T_ALPHA 50, T_DEC 50 and T_INC 55 us.
    pub const fn mellanox_paper(line_rate: Rate) -> Self {
        let base = Self::mellanox(line_rate);
        Self {
            form: DcqcnForm::Mellanox(MellanoxForm {
                rate_reduce_monitor_period: Span::from_us(50),
                clamp_tgt_rate: false,
                clamp_tgt_rate_after_time_inc: true,
                rate_on_first_cnp: 1.0,
            }),
            alpha_timer: Span::from_us(50),
            rpg_time_reset: Span::from_us(55),
            ..base
        }
    }

    /// NVIDIA's defaults ("DCQCN parameters", as google/isekai and conweave-ns3 quote them): dce_tcp_g 1019 and
    /// initial_alpha_value 1023 of 1024, dce_tcp_rtt 1 us, rate_reduce_monitor_period 4 us, rpg_time_reset 300 us,
    /// rpg_byte_reset 32767, rpg_threshold 1, rpg_ai_rate 5, rpg_hai_rate 50 and rpg_min_rate 1 Mbit/s. The unit of
    /// rpg_byte_reset is 64 bytes in google/isekai. rpg_gd = 11 makes the cut alpha / 2, hence at most
    /// rpg_min_dec_fac = 50 %. rate_to_set_on_first_cnp 0 leaves the rate.
    pub const fn nvidia(line_rate: Rate) -> Self {
        let base = Self::mellanox(line_rate);
        let limits = RateLimits::new(line_rate);
        Self {
            limits: RateLimits {
                min_rate: mbit(1),
                ..limits
            },
            g: 5.0 / 1024.0,
            initial_alpha: 1023.0 / 1024.0,
            rpg_byte_reset: Some(Bytes::new(32_767 * 64)),
            rpg_ai_rate: mbit(5),
            rpg_hai_rate: mbit(50),
            ..base
        }
    }

    fn check(&self) {
        self.limits.check();
        let is_weight = |value: f64| 0.0 < value && value <= 1.0;
        assert!((0.0..=1.0).contains(&self.g), "0 <= g <= 1");
        assert!((0.0..=1.0).contains(&self.initial_alpha), "alpha is 0 to 1");
        assert!(
            self.alpha_timer > Span::ZERO && self.rpg_time_reset > Span::ZERO,
            "periods are above zero"
        );
        assert!(
            self.rpg_byte_reset != Some(Bytes::ZERO),
            "a byte counter counts at least one byte"
        );
        if let DcqcnForm::Mellanox(form) = &self.form {
            assert!(
                form.rate_reduce_monitor_period > Span::ZERO,
                "periods are above zero"
            );
            assert!(
                is_weight(form.rate_on_first_cnp),
                "0 < rate_on_first_cnp <= 1"
            );
        }
    }
}

/// The memory of one form.
#[derive(Debug, Clone)]
enum Form {
    Paper(Paper),
    Mellanox(Mellanox),
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Dcqcn {
    /// The last acknowledgement: probes see alpha as it is then.
    acked_at: Time,
    /// An acknowledgement from then on makes up for the decays of alpha, so that probes do not have to repeat many.
    catches_up_at: Time,
    recovery: Recovery,
    form: Form,
    config: DcqcnConfig,
}

impl Dcqcn {
    /// A controller at the beginning of a queue pair, at `max_rate`.
    pub fn new(config: DcqcnConfig) -> Self {
        config.check();
        Self {
            acked_at: Time::ZERO,
            catches_up_at: Time::ZERO,
            recovery: Recovery::new(&config),
            form: match config.form {
                DcqcnForm::Sigcomm15 => Form::Paper(Paper::new(config.initial_alpha)),
                DcqcnForm::Mellanox(form) => Form::Mellanox(Mellanox::new(form)),
            },
            config,
        }
    }

    /// Whether it has a byte counter: if not, `on_sent` does nothing.
    pub const fn counts_bytes(&self) -> bool {
        self.config.rpg_byte_reset.is_some()
    }

    /// An acknowledgement: it changes nothing but the instant of alpha for probes.
    #[inline]
    pub(crate) fn note_ack(&mut self, now: Time) {
        self.acked_at = now;
        if now >= self.catches_up_at {
            self.catch_up(now);
        }
    }

    #[inline(never)]
    fn catch_up(&mut self, now: Time) {
        match &mut self.form {
            Form::Paper(form) => form.catch_up(&self.config, now),
            Form::Mellanox(form) => form.catch_up(&self.config, now),
        }
        self.catches_up_at = now + self.config.alpha_timer * 100;
    }

    fn on_cnp(&mut self, now: Time) -> Reaction {
        let Self {
            config, recovery, ..
        } = self;
        match &mut self.form {
            Form::Paper(form) => form.on_cnp(config, recovery, now),
            Form::Mellanox(form) => form.on_cnp(config, recovery, now),
        }
    }
}

impl Controller for Dcqcn {
    fn on_sent(&mut self, _cx: &mut Context<'_>, size: Bytes) {
        let Some(cycle) = self.config.rpg_byte_reset else {
            return;
        };
        for _ in 0..self.recovery.byte_events(size, cycle) {
            match &self.form {
                Form::Paper(_) => paper::increase(&self.config, &mut self.recovery, true),
                Form::Mellanox(_) => mellanox::increase(&self.config, &mut self.recovery, true),
            }
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, _ack: &AckSample<'_>) {
        self.note_ack(cx.now);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            CongestionEvent::Ecn => self.on_cnp(cx.now),
            CongestionEvent::Loss { .. }
            | CongestionEvent::Timeout { .. }
            | CongestionEvent::IdleRestart
            | CongestionEvent::Over => Reaction::Ignored,
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let Self {
            config, recovery, ..
        } = self;
        // An increase comes before a cut at the same instant: its timer is the one that was set first.
        if recovery.timer.is_some_and(|at| at <= cx.now) {
            recovery.timer = Some(cx.now + config.rpg_time_reset);
            match &self.form {
                Form::Paper(_) => paper::increase(config, recovery, false),
                Form::Mellanox(_) => mellanox::increase(config, recovery, false),
            }
        }
        if let Form::Mellanox(form) = &mut self.form {
            form.check_for_cnps(config, recovery, cx.now);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        let cut = match &self.form {
            Form::Paper(_) => None,
            Form::Mellanox(form) => form.next_cut(),
        };
        match (self.recovery.timer, cut) {
            (Some(timer), Some(cut)) => Some(timer.min(cut)),
            (timer, cut) => timer.or(cut),
        }
    }

    #[inline]
    fn window(&self) -> Window {
        self.config.limits.window_at(self.recovery.rate)
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        Some(self.recovery.rate)
    }

    fn state(&self) -> ControlState {
        ControlState {
            alpha: Some(match &self.form {
                Form::Paper(form) => form.alpha_at(&self.config, self.acked_at),
                Form::Mellanox(form) => form.alpha_at(&self.config, self.acked_at),
            }),
            max_rate: Some(self.recovery.target),
            ..self.config.limits.state(self.recovery.rate)
        }
    }
}
