//! UDT's native congestion control (Gu and Grossman, "UDT: UDP-based data transfer for high-speed wide
//! area networks", Computer Networks 2007; Internet-Draft draft-gg-udt-03, section 5; the library's
//! version 4). NAKs lengthen a sending period, and each SYN shortens it by a step that depends on the
//! spare capacity. The window above it follows the receiving rate.
//!
//! Sequence numbers count packets. Leaves out features of the library alone: an end of slow start at
//! the largest flow window; a step that is skipped after a loss. Likewise a spare capacity of a
//! ninth at most while the rate recovers, and periods rounded up to a microsecond. The receiver's
//! estimates, the flow window and EXP's retransmissions belong to the transport.

use incastle_units::{Bytes, Rate, Span, Time, random};

use crate::{AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window};

/// UDT's round-trip time before any sample.
pub(crate) const FIRST_RTT: Span = Span::from_ms(100);

/// The rate control period: the interval of full ACKs.
const SYN: Span = Span::from_ms(10);

/// The window at the start, and its constant beyond a SYN and a round trip of packets.
const FIRST_WINDOW: f64 = 16.0;

/// A NAK lengthens the period by this factor.
const DECREASE: f64 = 1.125;

/// Decreases of one congestion period after the one that opens it: 1.125^6 = 2.03 in all.
const FURTHER_DECREASES: u32 = 5;

/// The least step, in packets per SYN.
const MIN_STEP: f64 = 0.01;

/// beta of the step, per bit/s and byte.
const BETA: f64 = 1.5e-6;

/// The longest sending period, in seconds. UDT has none; a pacer cannot work at a rate of zero.
const MAX_PERIOD: f64 = 1.0;

/// Parameters of UDT's control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdtConfig {
    /// PS: the payload of a full packet.
    pub packet: Bytes,
}

/// NAKs since the last new congestion period began.
#[derive(Debug, Clone, Copy)]
struct CongestionPeriod {
    naks: u64,
    decreases_left: u32,
    /// Every n NAKs the period is lengthened.
    dec_random: u64,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Udt {
    packet: f64,
    /// SND in seconds; absent in slow start, which paces nothing.
    period: Option<f64>,
    /// cwnd in packets.
    cwnd: f64,
    /// When the next step is due.
    next_step: Time,
    /// The largest sequence number sent when the rate was last decreased by a loss.
    last_decrease: Option<u64>,
    average_naks: u64,
    congestion: CongestionPeriod,
}

impl Udt {
    /// A controller at the beginning of a connection.
    pub fn new(config: UdtConfig) -> Self {
        assert!(
            config.packet > Bytes::ZERO,
            "a packet holds at least one byte"
        );
        Self {
            packet: config.packet.count() as f64,
            period: None,
            cwnd: FIRST_WINDOW,
            next_step: Time::ZERO,
            last_decrease: None,
            average_naks: 0,
            congestion: CongestionPeriod {
                naks: 0,
                decreases_left: FURTHER_DECREASES,
                dec_random: 1,
            },
        }
    }

    /// Packets per second; absent where it is unknown or nothing.
    fn packets(&self, rate: Option<Rate>) -> Option<f64> {
        let rate = rate.filter(|rate| rate.bits_per_second() > 0)?;
        Some(rate.bytes_per_second_lossy() / self.packet)
    }

    /// RTT + SYN in seconds.
    fn round(cx: &Context<'_>) -> f64 {
        cx.smoothed_rtt.unwrap_or(FIRST_RTT).as_secs_lossy() + SYN.as_secs_lossy()
    }

    /// Whether a step is due. At most one per SYN in the long run, for any behaviour of the peer.
    /// An ACK that jitter brings a little early still counts.
    fn takes_step(&mut self, now: Time) -> bool {
        if now < self.next_step {
            return false;
        }
        self.next_step = self.next_step.saturating_add(SYN).max(now);
        true
    }

    /// draft-gg-udt-03, section 5: the steps on an ACK.
    fn rate_control(&mut self, cx: &Context<'_>, period: f64) {
        // CWND = A (RTT + SYN) + 16.
        if let Some(arriving) = self.packets(cx.receiving_rate) {
            self.cwnd = arriving * Self::round(cx) + FIRST_WINDOW;
        }
        // SND = SND SYN / (SND inc + SYN): inc packets more in each SYN.
        let syn = SYN.as_secs_lossy();
        let inc = self.step(cx, period);
        self.period = Some(period * syn / (period * inc + syn));
    }

    /// inc = max(10^ceil(log10((B - C) PS 8)) beta / PS, 0.01) if B > C, else 0.01.
    fn step(&self, cx: &Context<'_>, period: f64) -> f64 {
        let capacity = self.packets(cx.capacity).unwrap_or(0.0);
        let spare = (capacity - 1.0 / period) * self.packet * 8.0;
        if spare <= 0.0 {
            return MIN_STEP;
        }
        (power_of_ten_from(spare) * BETA / self.packet).max(MIN_STEP)
    }

    /// The end of slow start: at the receiving rate; where that is unknown, at the rate that the
    /// window had. Gives whether it was known.
    fn end_slow_start(&mut self, cx: &Context<'_>) -> bool {
        let arriving = self.packets(cx.receiving_rate);
        let period = arriving.map_or(Self::round(cx) / self.cwnd, |rate| 1.0 / rate);
        self.period = Some(period.min(MAX_PERIOD));
        arriving.is_some()
    }

    fn on_nak(&mut self, cx: &mut Context<'_>, largest: u64) -> Reaction {
        // The first NAK ends slow start, and decreases further only where the rate is a guess (so
        // the library).
        if self.period.is_none() && self.end_slow_start(cx) {
            return Reaction::Reduced;
        }
        if self.last_decrease.is_none_or(|last| largest > last) {
            self.open_congestion_period(cx);
            self.decrease(cx);
            return Reaction::Reduced;
        }
        let congestion = &mut self.congestion;
        congestion.naks += 1;
        if congestion.decreases_left == 0 || !congestion.naks.is_multiple_of(congestion.dec_random)
        {
            return Reaction::Ignored;
        }
        congestion.decreases_left -= 1;
        self.decrease(cx);
        Reaction::Reduced
    }

    /// AvgNAK = ceil(0.875 AvgNAK + 0.125 count), count the NAKs of the period that has ended;
    /// DecRandom = U{1, ..., AvgNAK}.
    fn open_congestion_period(&mut self, cx: &mut Context<'_>) {
        self.average_naks = (7 * self.average_naks + self.congestion.naks).div_ceil(8);
        self.congestion = CongestionPeriod {
            naks: 1,
            decreases_left: FURTHER_DECREASES,
            dec_random: 1 + random::below(cx.rng, self.average_naks.max(1)),
        };
    }

    fn decrease(&mut self, cx: &Context<'_>) {
        self.period = self
            .period
            .map(|period| (period * DECREASE).min(MAX_PERIOD));
        self.last_decrease = Some(cx.snd_nxt.saturating_sub(1));
    }
}

/// 10^ceil(log10(x)), by comparison: powers of ten up to 10^22 are exact. Below 1 the power is 1,
/// where the least step decides anyway.
fn power_of_ten_from(x: f64) -> f64 {
    let mut power = 1.0;
    while power < x {
        power *= 10.0;
    }
    power
}

impl Controller for Udt {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        match self.period {
            // Slow start: a packet more for each that was acknowledged.
            None => self.cwnd += ack.acked.count() as f64 / self.packet,
            Some(period) => {
                if self.takes_step(cx.now) {
                    self.rate_control(cx, period);
                }
            }
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            CongestionEvent::Loss { largest, .. } => self.on_nak(cx, largest),
            // EXP ends slow start (as in the library); the only other reaction is retransmission.
            CongestionEvent::Timeout { .. } if self.period.is_none() => {
                self.end_slow_start(cx);
                Reaction::Reduced
            }
            CongestionEvent::Timeout { .. }
            | CongestionEvent::Ecn
            | CongestionEvent::IdleRestart
            | CongestionEvent::Over => Reaction::Ignored,
        }
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new((self.cwnd * self.packet) as u64))
    }

    fn pacing(&self) -> Option<Rate> {
        let bits = self.packet * 8.0 / self.period?;
        Some(Rate::from_bits_per_second((bits + 0.5) as u64))
    }

    fn state(&self) -> ControlState {
        ControlState {
            cwnd: Some(Bytes::new((self.cwnd * self.packet) as u64)),
            rate: self.pacing(),
            ..ControlState::default()
        }
    }
}
