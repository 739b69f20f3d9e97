//! DCTCP in rate form: DCTCP's estimate and cut (Alizadeh et al., SIGCOMM 2010) on a paced rate, as
//! `HandleAckDctcp` of HPCC-ns3 has it (`rdma-hw.cc` of kwzhao's branch m3, fc53eaae). No paper describes it.
//!
//! Marks are echoes in acknowledgements (`AckSample::echo`), one for each packet. Leaves out: slow start (it
//! begins at `max_rate`); any reaction to losses and timeouts, as its source.

use incastle_units::{Bytes, Rate};

use crate::rdma_rate::{RateLimits, add, scale};
use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, Reaction, Window,
};

/// The parameters of DCTCP in rate form.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateDctcpConfig {
    /// The limits of the rate, and the window.
    pub limits: RateLimits,
    /// The payload of a full packet: the sent data in packets are its divisor of marks.
    pub mtu: Bytes,
    /// The weight of a new fraction in alpha.
    pub g: f64,
    /// The gain per round trip without a cut.
    pub ai_rate: Rate,
}

impl RateDctcpConfig {
    /// The values of `run.py` of HPCC-ns3: EWMA_GAIN 1/16, DCTCP_RATE_AI 615 Mbit/s (one packet of 1 KB per 13 us),
    /// PACKET_PAYLOAD_SIZE 1000, MIN_RATE 1 Gbit/s.
    pub const fn hpcc_ns3(line_rate: Rate) -> Self {
        let line = line_rate.bits_per_second();
        let limits = RateLimits::new(line_rate);
        let least = if line < 1_000_000_000 {
            line
        } else {
            1_000_000_000
        };
        Self {
            limits: RateLimits {
                min_rate: Rate::from_bits_per_second(least),
                ..limits
            },
            mtu: Bytes::new(1_000),
            g: 1.0 / 16.0,
            ai_rate: Rate::from_bits_per_second(615_000_000),
        }
    }

    fn check(&self) {
        self.limits.check();
        assert!(self.mtu > Bytes::ZERO, "a packet has at least one byte");
        assert!((0.0..=1.0).contains(&self.g), "0 <= g <= 1");
    }
}

/// The controller.
#[derive(Debug, Clone)]
pub struct RateDctcp {
    config: RateDctcpConfig,
    rate: Rate,
    alpha: f64,
    /// Echoes since the last update of alpha.
    marks: u64,
    /// The packets of which they may be: those in flight at that update.
    packets: u64,
    /// SND.NXT at that update; 0 before the first acknowledgement.
    last_update: u64,
    /// SND.NXT at the last cut, until an acknowledgement exceeds it.
    cut_until: Option<u64>,
}

impl RateDctcp {
    /// A controller at the beginning of a queue pair, at `max_rate` and with an alpha of 1.
    pub fn new(config: RateDctcpConfig) -> Self {
        config.check();
        Self {
            rate: config.limits.max_rate,
            config,
            alpha: 1.0,
            marks: 0,
            packets: 0,
            last_update: 0,
            cut_until: None,
        }
    }

    /// Equation 1 of the paper, once per round trip. The first acknowledgement only starts the first one; its mark
    /// counts there.
    fn update_alpha(&mut self, cx: &Context<'_>) {
        let mtu = self.config.mtu.count();
        if self.last_update == 0 {
            self.packets = cx.snd_nxt / mtu + 1;
        } else {
            let fraction = (self.marks as f64 / self.packets as f64).min(1.0);
            self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g * fraction;
            self.marks = 0;
            self.packets = cx.snd_nxt.saturating_sub(cx.snd_una) / mtu + 1;
        }
        self.last_update = cx.snd_nxt;
    }
}

impl Controller for RateDctcp {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        let limits = self.config.limits;
        let marked = ack.echo == Echo::Congestion;
        self.marks += u64::from(marked);
        let new_round = cx.snd_una > self.last_update;
        if new_round {
            self.update_alpha(cx);
        }
        if self.cut_until.is_some_and(|end| cx.snd_una > end) {
            self.cut_until = None;
        }
        // Equation 2, once per window of data.
        if marked && self.cut_until.is_none() {
            let cut = scale(self.rate, 1.0 - self.alpha / 2.0);
            self.rate = cut.max(limits.min_rate);
            self.cut_until = Some(cx.snd_nxt);
        }
        if new_round && self.cut_until.is_none() {
            self.rate = add(self.rate, self.config.ai_rate).min(limits.max_rate);
        }
    }

    /// Marks are in the acknowledgements before these events.
    fn on_congestion(&mut self, _cx: &mut Context<'_>, _event: CongestionEvent) -> Reaction {
        Reaction::Ignored
    }

    #[inline]
    fn window(&self) -> Window {
        self.config.limits.window_at(self.rate)
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn state(&self) -> ControlState {
        ControlState {
            alpha: Some(self.alpha),
            ..self.config.limits.state(self.rate)
        }
    }
}
