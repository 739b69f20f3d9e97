//! UDT's native control law (specification of version 4): a rate, a window from the receiving rate,
//! and decreases that are spread over the NAKs of a congestion period by random draws.
//! Sequence numbers count packets.

use incastle_congestion::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window,
};
use incastle_units::{Bytes, Rate, Span, Time, random};

use crate::support::{Constant, Sender, sample};

/// Bytes in a packet.
const PS: f64 = 1500.0;
/// The rate control period.
const SYN: Span = Span::from_ms(10);

struct Udt {
    /// Seconds between packets; 0 in slow start.
    snd: f64,
    /// Packets.
    cwnd: f64,
    slow_start: bool,
    last_increase: Time,
    last_decrease: u64,
    nak_count: u64,
    decreases: u32,
    average_nak: f64,
    dec_random: u64,
}

impl Udt {
    fn new() -> Self {
        Self {
            snd: 0.0,
            cwnd: 16.0,
            slow_start: true,
            last_increase: Time::ZERO,
            last_decrease: 0,
            nak_count: 0,
            decreases: 0,
            average_nak: 1.0,
            dec_random: 1,
        }
    }

    /// Packets per SYN that the rate grows by.
    fn increase(&self, cx: &Context<'_>) -> f64 {
        let capacity = cx
            .capacity
            .map_or(0.0, |rate| rate.bytes_per_second_lossy() / PS);
        let spare = capacity - 1.0 / self.snd;
        if spare <= 0.0 {
            return 0.01;
        }
        let exponent = libm::ceil(libm::log10(spare * PS * 8.0));
        (libm::exp10(exponent) * 1.5e-6 / PS).max(0.01)
    }

    fn open_period(&mut self, cx: &mut Context<'_>, count: u32) {
        self.snd *= 1.125;
        self.average_nak = libm::ceil(0.875 * self.average_nak + 0.125 * f64::from(count));
        self.dec_random = 1 + random::below(cx.rng, self.average_nak as u64);
        (self.nak_count, self.decreases) = (1, 1);
        self.last_decrease = cx.snd_nxt - 1;
    }

    fn on_nak(&mut self, cx: &mut Context<'_>, count: u32, largest: u64) -> Reaction {
        if self.slow_start {
            self.slow_start = false;
            let rate = cx.receiving_rate.map_or(PS, Rate::bytes_per_second_lossy);
            self.snd = PS / rate;
            return Reaction::Reduced;
        }
        if largest > self.last_decrease {
            self.open_period(cx, count);
            return Reaction::Reduced;
        }
        self.nak_count += 1;
        if self.decreases > 5 || !self.nak_count.is_multiple_of(self.dec_random) {
            return Reaction::Ignored;
        }
        self.decreases += 1;
        self.snd *= 1.125;
        self.last_decrease = cx.snd_nxt - 1;
        Reaction::Reduced
    }
}

impl Controller for Udt {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample) {
        if self.slow_start {
            self.cwnd += ack.acked.count() as f64 / PS;
            return;
        }
        if cx.now.saturating_since(self.last_increase) < SYN {
            return;
        }
        self.last_increase = cx.now;
        let (Some(arriving), Some(rtt)) = (cx.receiving_rate, cx.smoothed_rtt) else {
            return;
        };
        let period = SYN.as_secs_lossy();
        let arriving = arriving.bytes_per_second_lossy() / PS;
        self.cwnd = arriving * (rtt.as_secs_lossy() + period) + 16.0;
        self.snd = self.snd * period / (self.snd * self.increase(cx) + period);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            CongestionEvent::Loss { count, largest } => self.on_nak(cx, count, largest),
            _ => Reaction::Ignored,
        }
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new((self.cwnd * PS) as u64))
    }

    fn pacing(&self) -> Option<Rate> {
        (self.snd > 0.0).then(|| Rate::from_bits_per_second((PS * 8.0 / self.snd).round() as u64))
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

fn packets(count: u64) -> Rate {
    Rate::from_bits_per_second(count * 12_000)
}

#[test]
fn slow_start_ends_with_the_first_nak_and_the_rate_follows_udts_law() {
    let mut control = Udt::new();
    let mut sender = Sender {
        snd_nxt: 100,
        smoothed_rtt: Some(Span::from_ms(100)),
        receiving_rate: Some(packets(50_000)),
        capacity: Some(Rate::from_bits_per_second(1_000_000_000)),
        ..Sender::default()
    };
    // Slow start: 16 packets + 4 acknowledged, no pacing.
    control.on_ack(
        &mut sender.cx(),
        &sample(6000, incastle_congestion::Echo::Clear),
    );
    assert_eq!(control.window(), Window::Limited(Bytes::new(20 * 1500)));
    assert_eq!(control.pacing(), None);

    // The first NAK: one packet per 20 us, the receiving rate.
    let nak = |count, largest| CongestionEvent::Loss { count, largest };
    assert_eq!(
        control.on_congestion(&mut sender.cx(), nak(3, 90)),
        Reaction::Reduced
    );
    assert_eq!(control.pacing(), Some(packets(50_000)));

    // A full ACK one SYN later: cwnd = 50,000 (0.1 + 0.01) + 16 = 5516 packets.
    // B - C = 83,333 - 50,000 packets/s = 4e8 bit/s; 10^9 x 1.5e-6 / 1500 = 1 packet per SYN:
    // SND = 20 us x 10,000 / (20 x 1 + 10,000) = 19.96008 us, 50,100 packets/s.
    sender.now = Time::ZERO + SYN;
    control.on_ack(
        &mut sender.cx(),
        &sample(1500, incastle_congestion::Echo::Clear),
    );
    assert_eq!(control.window(), Window::Limited(Bytes::new(5516 * 1500)));
    assert!(
        (control.snd - 19.960_08e-6).abs() < 1e-11,
        "{}",
        control.snd
    );
    assert_eq!(control.pacing(), Some(packets(50_100)));
}

#[test]
fn a_congestion_period_decreases_at_every_drawn_nak_and_six_times_at_most() {
    let mut control = Udt {
        snd: 20e-6,
        slow_start: false,
        ..Udt::new()
    };
    let mut sender = Sender {
        snd_nxt: 100,
        rng: Constant(u64::MAX),
        ..Sender::default()
    };
    // Opens a period: AvgNAK = ceil(0.875 x 1 + 0.125 x 5) = ceil(1.5) = 2; the largest draw of
    // U{1, 2} is 2. SND x 1.125.
    let nak = |count, largest| CongestionEvent::Loss { count, largest };
    assert_eq!(
        control.on_congestion(&mut sender.cx(), nak(5, 99)),
        Reaction::Reduced
    );
    assert_eq!((control.dec_random, control.last_decrease), (2, 99));
    // Of twenty further NAKs of old packets every second one decreases, five times in all:
    // 20 us x 1.125^6 = 40.546 us.
    let answers: Vec<Reaction> = (0..20)
        .map(|_| control.on_congestion(&mut sender.cx(), nak(1, 50)))
        .collect();
    let reduced = answers.iter().filter(|r| **r == Reaction::Reduced).count();
    assert_eq!(reduced, 5);
    assert_eq!(
        answers[..3],
        [Reaction::Reduced, Reaction::Ignored, Reaction::Reduced]
    );
    assert!((control.snd - 40.5457e-6).abs() < 1e-9, "{}", control.snd);
}
