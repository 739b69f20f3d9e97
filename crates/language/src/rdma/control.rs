//! The congestion controls of queue pairs: DCQCN, TIMELY, HPCC, DCTCP in rate form.
//!
//! Their defaults are sets with names (`preset`), with their sources. A key that is written has its value under each of
//! them. Leaves out: the controls themselves (incastle-congestion).

use incastle_congestion::{
    Algorithm, Dcqcn as DcqcnController, DcqcnConfig, DcqcnForm, Hpcc as HpccController,
    HpccConfig, IntWords, MellanoxForm, NewRenoConfig, RateDctcp as RateDctcpController,
    RateDctcpConfig, RateLimits, Timely as TimelyController, TimelyConfig, TimelyForm,
};
use incastle_units::{Bytes, Rate, Span};

use crate::custom::Custom;
use crate::elsewhere::choice_of_preset;
use crate::grammar::declare::{choice, table, word_or, words};
use crate::grammar::range::{above, at_least, between, fraction, within_a_day};
use crate::proportional::Proportional;

/// The rate to which the values of a preset belong where they grow with it.
const REFERENCE: Rate = Rate::from_bits_per_second(25_000_000_000);

const GIGABIT: Rate = Rate::from_bits_per_second(1_000_000_000);

choice! {
    /// The congestion control of the queue pair.
    pub enum Control by congestion = "dcqcn", besides "a Python class such as \"my_controller.py:Delay\"" {
        /// DCQCN: congestion notifications cut the rate, a timer and a byte counter restore it (Zhu 2015)
        "dcqcn" => Dcqcn(Dcqcn),
        /// TIMELY: the rate follows the gradient of the round-trip time (Mittal 2015)
        "timely" => Timely(Timely),
        /// HPCC: window and rate follow the utilisation of the busiest link, from telemetry of each switch (Li 2019)
        "hpcc" => Hpcc(Hpcc),
        /// DCTCP in rate form: the rate shrinks in proportion to the fraction of marked packets (HPCC's simulator)
        "rate-dctcp" => RateDctcp(RateDctcp),
        /// a user-defined controller: a Python class, or one that a program in Rust registers
        "custom" => Custom(Custom),
    }
}

words! {
    /// The defaults of DCQCN's keys.
    pub enum DcqcnPreset, choice choice_of_preset {
        /// DCQCN's paper: each notification cuts; timer 55 us, byte counter 10 MB, F = 5, R_AI 40 Mbit/s (SIGCOMM 2015, figure 14).
        "dcqcn-sigcomm15" => Sigcomm15,
        /// The simulator of its first author: timer 60 us, byte counter 300 MB (bobzhuyb/ns3-rdma, mix/config.txt).
        "dcqcn-ns3-rdma" => Ns3Rdma,
        /// The form of Mellanox's NICs: periods of 1, 4 and 300 us, R_AI 5 Mbit/s per 25 Gbit/s (HPCC-ns3, run.py, dcqcn).
        "dcqcn-mellanox" => Mellanox,
        /// The same with the periods of the paper: 50, 50 and 55 us (HPCC-ns3, run.py, dcqcn_paper).
        "dcqcn-mellanox-paper" => MellanoxPaper,
        /// The documented defaults of NVIDIA's NICs: R_AI 5 Mbit/s, byte counter 2 MB, least rate 1 Mbit/s (DCQCN parameters).
        "dcqcn-nvidia" => Nvidia,
    }
}

words! {
    /// The defaults of TIMELY's keys.
    pub enum TimelyPreset, choice choice_of_preset {
        /// TIMELY's paper, for 10 Gbit/s: T_low 50 us, T_high 500 us, delta 10 Mbit/s (SIGCOMM 2015).
        "timely-sigcomm15" => Sigcomm15,
        /// HPCC's simulator: R_AI 10 Mbit/s per 10 Gbit/s, least rate 1 Gbit/s (HPCC-ns3, run.py).
        "timely-hpcc-ns3" => HpccNs3,
        /// Patched TIMELY: gradient and absolute delay together, beta 0.008 (Zhu et al., CoNEXT 2016).
        "timely-patched" => Patched,
    }
}

words! {
    /// The defaults of HPCC's keys.
    pub enum HpccPreset, choice choice_of_preset {
        /// HPCC's paper: eta 95 %, maxStage 5, W_AI 80 bytes (SIGCOMM 2019, section 5.1).
        "hpcc-sigcomm19" => Sigcomm19,
        /// Its simulator: maxStage 0, R_AI 10 Mbit/s per 25 Gbit/s, packed telemetry (HPCC-ns3, run.py).
        "hpcc-ns3" => HpccNs3,
    }
}

words! {
    /// The form of DCQCN.
    pub enum Form {
        /// The paper's: each notification cuts the rate at once.
        "sigcomm15" => Sigcomm15,
        /// That of Mellanox's NICs, which look for notifications periodically.
        "mellanox" => Mellanox,
    }
}

words! {
    for TimelyForm {
        /// The gradient alone decides.
        "original" => Original,
        /// Gradient and absolute delay together.
        "patched" => Patched,
    }
}

word_or! {
    /// A byte counter.
    pub enum ByteReset {
        /// None.
        "off" => Off,
        /// An increase after these bytes.
        After(Bytes) in above(Bytes::ZERO),
    }
}

table! {
    /// DCQCN. Keys that begin with `rpg_` are those of IEEE 802.1Q for QCN.
    pub struct Dcqcn {
        /// The set of defaults of the keys below; a key that is written has its value under each of them.
        value preset: DcqcnPreset = DcqcnPreset::Mellanox;
        /// The form.
        value form: Form = preset.form(), shown "of the preset";
        /// g: the weight of a new sample in alpha.
        value g: f64 = preset.config().g, shown "of the preset: 1/256; 5/1024 under `\"dcqcn-nvidia\"`", in between(0.0, 1.0), from "SIGCOMM 2015, figure 14; NVIDIA, dce_tcp_g 1019";
        /// alpha at the start (paper), or at the first notification (Mellanox).
        value initial_alpha: f64 = preset.config().initial_alpha, shown "of the preset: 1", in between(0.0, 1.0), from "SIGCOMM 2015, section 3.1; HPCC-ns3, rdma-hw.cc";
        /// The paper: without a notification alpha decays once in this time. Mellanox: the period of alpha's update.
        value alpha_timer: Span = preset.config().alpha_timer, shown "of the preset: 1 us, 50 us or 55 us", in within_a_day(), from "HPCC-ns3, run.py, T_ALPHA; SIGCOMM 2015, figure 14";
        /// Mellanox: at most one cut in each such period.
        value rate_reduce_monitor_period: Span = preset.mellanox().rate_reduce_monitor_period, shown "of the preset: 4 us or 50 us", in within_a_day(), from "HPCC-ns3, run.py, T_DEC; NVIDIA";
        /// Mellanox: each cut makes the current rate the target.
        value clamp_tgt_rate: bool = preset.mellanox().clamp_tgt_rate, shown "false", from "HPCC-ns3, run.py, CLAMP_TARGET_RATE";
        /// Mellanox: a cut does so after an increase by the timer, and not only after one by the byte counter.
        value clamp_tgt_rate_after_time_inc: bool = preset.mellanox().clamp_tgt_rate_after_time_inc, shown "true", from "NVIDIA";
        /// Mellanox: the part of the rate that the first notification leaves.
        value rate_on_first_cnp: f64 = preset.mellanox().rate_on_first_cnp, shown "1", in fraction(), from "NVIDIA, rate_to_set_on_first_cnp";
        /// The period of the increase by time.
        value rpg_time_reset: Span = preset.config().rpg_time_reset, shown "of the preset: 300 us, 60 us or 55 us", in within_a_day(), from "HPCC-ns3, run.py, T_INC; SIGCOMM 2015, figure 14";
        /// The bytes of an increase by the byte counter.
        value rpg_byte_reset: ByteReset = preset.byte_reset(), shown "of the preset: `\"off\"`, 10 MB, 300 MB or 2 MB", from "SIGCOMM 2015, figure 14; NVIDIA";
        /// F: the increases of fast recovery.
        value rpg_threshold: u32 = preset.config().rpg_threshold, shown "of the preset: 1, or 5 under the paper's", from "HPCC-ns3, run.py, FAST_RECOVERY_TIMES; SIGCOMM 2015";
        /// R_AI: the target's gain by an additive increase.
        value rpg_ai_rate: Proportional<Rate> = preset.increase(preset.config().rpg_ai_rate), shown "of the preset: 5 Mbit/s per 25 Gbit/s, 40 Mbit/s or 5 Mbit/s", from "HPCC-ns3, run.py, RATE_AI; SIGCOMM 2015; NVIDIA";
        /// R_HAI: its gain by a hyper increase.
        value rpg_hai_rate: Proportional<Rate> = preset.increase(preset.config().rpg_hai_rate), shown "of the preset: 50 Mbit/s per 25 Gbit/s, 200 Mbit/s or 50 Mbit/s", from "HPCC-ns3, run.py, RATE_HAI; bobzhuyb/ns3-rdma; NVIDIA";
    }
}

table! {
    /// TIMELY.
    pub struct Timely {
        /// The set of defaults of the keys below; a key that is written has its value under each of them.
        value preset: TimelyPreset = TimelyPreset::Sigcomm15;
        /// The rule between the two thresholds.
        value form: TimelyForm = preset.config().form, shown "of the preset";
        /// The weight of a new difference of round-trip times.
        value ewma_alpha: f64 = preset.config().alpha, shown "0.875", in fraction(), from "HPCC-ns3, rdma-hw.cc, TimelyAlpha";
        /// The weight of a decrease.
        value beta: f64 = preset.config().beta, shown "0.8, or 0.008 under `\"timely-patched\"`", in fraction(), from "SIGCOMM 2015, section 4.3; CoNEXT 2016";
        /// Round-trip times below it raise the rate.
        value t_low: Span = preset.config().t_low, shown "50 us", in within_a_day(), from "SIGCOMM 2015, section 4.4";
        /// Round-trip times above it reduce the rate.
        value t_high: Span = preset.config().t_high, shown "500 us", in within_a_day(), from "SIGCOMM 2015, section 4.4";
        /// The round-trip time that makes differences a gradient.
        value min_rtt: Span = preset.config().min_rtt, shown "20 us", in within_a_day(), from "SIGCOMM 2015, section 6; HPCC-ns3, rdma-hw.cc, TimelyMinRtt";
        /// R_AI, the paper's delta: the additive increase.
        value ai_rate: Proportional<Rate> = preset.increase(preset.config().ai_rate), shown "10 Mbit/s, per 10 Gbit/s under `\"timely-hpcc-ns3\"`", from "SIGCOMM 2015; HPCC-ns3, run.py";
        /// R_HAI, the paper's N delta: the increase after five round trips in a row.
        value hai_rate: Proportional<Rate> = preset.increase(preset.config().hai_rate), shown "50 Mbit/s, per 10 Gbit/s under `\"timely-hpcc-ns3\"`", from "SIGCOMM 2015, N = 5; HPCC-ns3, run.py";
        /// Increases below `t_low` count towards R_HAI, too, and use it. In the paper R_HAI belongs to gradients up to zero.
        value hai_after_any_increase: bool = preset.config().hai_after_any_increase, shown "false, or true under `\"timely-hpcc-ns3\"`", from "HPCC-ns3, rdma-hw.cc";
    }
}

table! {
    /// HPCC. Its packets gather telemetry at each switch.
    pub struct Hpcc {
        /// The set of defaults of the keys below; a key that is written has its value under each of them.
        value preset: HpccPreset = HpccPreset::Sigcomm19;
        /// The target of the utilisation.
        value eta: f64 = preset.config().eta, shown "0.95", in fraction(), from "SIGCOMM 2019, section 5.1";
        /// The round trips of additive increase after which a multiplicative change follows.
        value max_stage: u32 = preset.config().max_stage, shown "5, or 0 under `\"hpcc-ns3\"`", from "SIGCOMM 2019, section 5.1; HPCC-ns3, run.py, MI_THRESH";
        /// R_AI: the additive increase as a rate; `"w-ai"` is `w_ai` per `base_rtt`.
        value ai_rate: HpccIncrease = preset.increase(), shown "`\"w-ai\"`, or 10 Mbit/s per 25 Gbit/s under `\"hpcc-ns3\"`", from "SIGCOMM 2019, section 5.1; HPCC-ns3, run.py, RATE_AI";
        /// With `ai_rate = "w-ai"`: bytes of the window per round trip.
        value w_ai: Bytes = Bytes::new(80), in above(Bytes::ZERO), from "SIGCOMM 2019, section 5.1";
        /// Every acknowledgement changes the rate, from the reference of this round trip; else one per round trip.
        value fast_react: bool = preset.config().fast_react, shown "true", from "HPCC-ns3, run.py, FAST_REACT";
        /// A reference rate for each hop; the least counts.
        value multi_rate: bool = preset.config().multi_rate, shown "false", from "HPCC-ns3, run.py, MULTI_RATE";
        /// With `fast_react`: between two changes of the reference, hops without a queue are not read.
        value sample_feedback: bool = preset.config().sample_feedback, shown "false", from "HPCC-ns3, run.py, SAMPLE_FEEDBACK";
        /// The form of the telemetry.
        value int_words: IntForm = preset.int_form(), shown "`\"exact\"`, or `\"packed\"` under `\"hpcc-ns3\"`", from "HPCC-ns3, int-header.h";
        /// With `int_words = "packed"`: the multiplier of the units of bytes.
        value int_multi: IntMultiplier = IntMultiplier::LineRate, from "HPCC-ns3, run.py, INT_MULTI";
    }
}

words! {
    /// The form of the telemetry.
    pub enum IntForm {
        /// Exact values.
        "exact" => Exact,
        /// Words of 64 bits, which round down and wrap around.
        "packed" => Packed,
    }
}

word_or! {
    /// INT_MULTI.
    pub enum IntMultiplier {
        /// 1 per 25 Gbit/s of the line rate, at least 1.
        "line-rate" => LineRate,
        /// This.
        Number(u32) in at_least(1),
    }
}

word_or! {
    /// HPCC's additive increase.
    pub enum HpccIncrease {
        /// By the window.
        "w-ai" => Window,
        /// This rate.
        Rate(Proportional<Rate>),
    }
}

table! {
    /// DCTCP in rate form. It starts at line rate, with alpha 1.
    pub struct RateDctcp {
        /// The weight of the newest window in the estimate alpha.
        value g: f64 = dctcp().g, in between(0.0, 1.0), from "HPCC-ns3, run.py, EWMA_GAIN";
        /// The gain per round trip without a cut.
        value ai_rate: Proportional<Rate> = Proportional::fixed(dctcp().ai_rate), from "HPCC-ns3, run.py, DCTCP_RATE_AI: a packet of 1 KB per 13 us";
    }
}

const fn dctcp() -> RateDctcpConfig {
    RateDctcpConfig::hpcc_ns3(REFERENCE)
}

impl DcqcnPreset {
    const fn config(self) -> DcqcnConfig {
        match self {
            Self::Sigcomm15 => DcqcnConfig::sigcomm15(REFERENCE),
            Self::Ns3Rdma => DcqcnConfig::ns3_rdma(REFERENCE),
            Self::Mellanox => DcqcnConfig::mellanox(REFERENCE),
            Self::MellanoxPaper => DcqcnConfig::mellanox_paper(REFERENCE),
            Self::Nvidia => DcqcnConfig::nvidia(REFERENCE),
        }
    }

    const fn form(self) -> Form {
        match self.config().form {
            DcqcnForm::Sigcomm15 => Form::Sigcomm15,
            DcqcnForm::Mellanox(_) => Form::Mellanox,
        }
    }

    /// The values of Mellanox's form alone; those of its own set where the preset has the paper's form.
    const fn mellanox(self) -> MellanoxForm {
        match (self.config().form, Self::Mellanox.config().form) {
            (DcqcnForm::Mellanox(form), _) | (_, DcqcnForm::Mellanox(form)) => form,
            _ => panic!("Mellanox's set has its form"),
        }
    }

    fn byte_reset(self) -> ByteReset {
        let bytes = self.config().rpg_byte_reset;
        bytes.map_or(ByteReset::Off, ByteReset::After)
    }

    /// An increase of a set: that of HPCC's simulator grows with the line rate.
    const fn increase(self, rate: Rate) -> Proportional<Rate> {
        match self {
            Self::Mellanox | Self::MellanoxPaper => Proportional::per(rate, REFERENCE),
            Self::Sigcomm15 | Self::Ns3Rdma | Self::Nvidia => Proportional::fixed(rate),
        }
    }
}

impl TimelyPreset {
    const fn config(self) -> TimelyConfig {
        match self {
            Self::Sigcomm15 => TimelyConfig::sigcomm15(REFERENCE),
            Self::HpccNs3 => TimelyConfig::hpcc_ns3(REFERENCE),
            Self::Patched => TimelyConfig::patched(REFERENCE),
        }
    }

    const fn increase(self, rate: Rate) -> Proportional<Rate> {
        match self {
            Self::HpccNs3 => Proportional::per(rate, REFERENCE),
            Self::Sigcomm15 | Self::Patched => Proportional::fixed(rate),
        }
    }
}

impl HpccPreset {
    /// The values that depend on no round-trip time.
    fn config(self) -> HpccConfig {
        let rtt = Span::from_us(10);
        match self {
            Self::Sigcomm19 => HpccConfig::sigcomm19(REFERENCE, rtt),
            Self::HpccNs3 => HpccConfig::hpcc_ns3(REFERENCE, rtt),
        }
    }

    fn increase(self) -> HpccIncrease {
        match self {
            Self::Sigcomm19 => HpccIncrease::Window,
            Self::HpccNs3 => {
                HpccIncrease::Rate(Proportional::per(self.config().ai_rate, REFERENCE))
            }
        }
    }

    fn int_form(self) -> IntForm {
        match self.config().int_words {
            IntWords::Exact => IntForm::Exact,
            IntWords::Packed { .. } => IntForm::Packed,
        }
    }
}

impl Control {
    /// The least rate that its preset has.
    pub(super) fn min_rate(control: Option<&Self>) -> Rate {
        match control {
            Some(Self::Dcqcn(dcqcn)) => dcqcn.preset.config().limits.min_rate,
            Some(Self::Timely(timely)) => timely.preset.config().limits.min_rate,
            Some(Self::Hpcc(hpcc)) => hpcc.preset.config().limits.min_rate,
            Some(Self::RateDctcp(_)) => GIGABIT,
            Some(Self::Custom(_)) | None => RateLimits::new(REFERENCE).min_rate,
        }
    }

    /// Whether it reads telemetry of each hop.
    pub fn reads_telemetry(&self) -> bool {
        matches!(self, Self::Hpcc(_))
    }

    /// Whether marks alone reduce its rate.
    pub fn needs_marks(&self) -> bool {
        matches!(self, Self::Dcqcn(_) | Self::RateDctcp(_))
    }

    /// Whether it learns of queues by ACKs alone: their round-trip times, or their telemetry.
    pub fn needs_acks(&self) -> bool {
        matches!(self, Self::Timely(_) | Self::Hpcc(_))
    }

    /// A controller at the beginning of a connection.
    pub(super) fn controller(&self, limits: RateLimits, base_rtt: Span, mtu: Bytes) -> Algorithm {
        match self {
            Self::Dcqcn(dcqcn) => DcqcnController::new(dcqcn.to_config(limits)).into(),
            Self::Timely(timely) => TimelyController::new(timely.to_config(limits)).into(),
            Self::Hpcc(hpcc) => HpccController::new(hpcc.to_config(limits, base_rtt)).into(),
            Self::RateDctcp(dctcp) => RateDctcpController::new(RateDctcpConfig {
                limits,
                mtu,
                g: dctcp.g,
                ai_rate: dctcp.ai_rate.at(limits.line_rate),
            })
            .into(),
            Self::Custom(custom) => Algorithm::Custom(custom.make(NewRenoConfig {
                initial_window: limits.line_rate.bytes_in(base_rtt).max(mtu),
                ..NewRenoConfig::new(mtu)
            })),
        }
    }
}

impl Dcqcn {
    fn to_config(&self, limits: RateLimits) -> DcqcnConfig {
        DcqcnConfig {
            limits,
            form: match self.form {
                Form::Sigcomm15 => DcqcnForm::Sigcomm15,
                Form::Mellanox => DcqcnForm::Mellanox(MellanoxForm {
                    rate_reduce_monitor_period: self.rate_reduce_monitor_period,
                    clamp_tgt_rate: self.clamp_tgt_rate,
                    clamp_tgt_rate_after_time_inc: self.clamp_tgt_rate_after_time_inc,
                    rate_on_first_cnp: self.rate_on_first_cnp,
                }),
            },
            g: self.g,
            initial_alpha: self.initial_alpha,
            alpha_timer: self.alpha_timer,
            rpg_time_reset: self.rpg_time_reset,
            rpg_byte_reset: match self.rpg_byte_reset {
                ByteReset::Off => None,
                ByteReset::After(bytes) => Some(bytes),
            },
            rpg_threshold: self.rpg_threshold,
            rpg_ai_rate: self.rpg_ai_rate.at(limits.line_rate),
            rpg_hai_rate: self.rpg_hai_rate.at(limits.line_rate),
        }
    }
}

impl Timely {
    fn to_config(&self, limits: RateLimits) -> TimelyConfig {
        TimelyConfig {
            limits,
            form: self.form,
            alpha: self.ewma_alpha,
            beta: self.beta,
            t_low: self.t_low,
            t_high: self.t_high,
            min_rtt: self.min_rtt,
            ai_rate: self.ai_rate.at(limits.line_rate),
            hai_rate: self.hai_rate.at(limits.line_rate),
            hai_after_any_increase: self.hai_after_any_increase,
        }
    }
}

impl Hpcc {
    fn to_config(&self, limits: RateLimits, base_rtt: Span) -> HpccConfig {
        let line_rate = limits.line_rate;
        HpccConfig {
            limits,
            base_rtt,
            eta: self.eta,
            max_stage: self.max_stage,
            ai_rate: match self.ai_rate {
                HpccIncrease::Window => HpccConfig::rate_of_window(self.w_ai, base_rtt),
                HpccIncrease::Rate(rate) => rate.at(line_rate),
            },
            fast_react: self.fast_react,
            multi_rate: self.multi_rate,
            sample_feedback: self.sample_feedback,
            int_words: match (self.int_words, self.int_multi) {
                (IntForm::Exact, _) => IntWords::Exact,
                (IntForm::Packed, IntMultiplier::Number(multiplier)) => {
                    IntWords::Packed { multiplier }
                }
                (IntForm::Packed, IntMultiplier::LineRate) => {
                    HpccConfig::hpcc_ns3(line_rate, base_rtt).int_words
                }
            },
            // Both are the compatibility's.
            as_in_ns3: limits.reference_at_line_rate,
        }
    }
}
