//! UDT's native control against draft-gg-udt-03, section 5, and Gu and Grossman 2007, number by number.
//! Sequence numbers count packets.

use incastle_congestion::{CongestionEvent, Controller, Echo, Reaction, Udt, UdtConfig, Window};
use incastle_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use crate::support::{Constant, Sender, cwnd, sample};

/// 12,000 bits.
const PS: u64 = 1500;

const SYN: Span = Span::from_ms(10);

fn udt() -> Udt {
    Udt::new(UdtConfig {
        packet: Bytes::new(PS),
    })
}

/// A rate in packets per second.
fn packets(count: u64) -> Rate {
    Rate::from_bits_per_second(count * 8 * PS)
}

fn nak(largest: u64) -> CongestionEvent {
    CongestionEvent::Loss { count: 1, largest }
}

/// Acknowledges packets.
fn acknowledge(sender: &mut Sender, control: &mut Udt, count: u64) {
    control.on_ack(&mut sender.cx(), &sample(count * PS, Echo::Clear));
}

/// Packets per second, to the bit.
fn rate(control: &Udt) -> f64 {
    let pacing = control.pacing().expect("slow start is over");
    pacing.bits_per_second() as f64 / (8 * PS) as f64
}

/// A sender after slow start at this rate in packets per second, in which 100 packets have been sent.
fn paced(receiving_rate: u64) -> (Sender, Udt) {
    let mut sender = Sender {
        snd_nxt: 100,
        smoothed_rtt: Some(Span::from_ms(100)),
        receiving_rate: Some(packets(receiving_rate)),
        ..Sender::default()
    };
    let mut control = udt();
    let reaction = control.on_congestion(&mut sender.cx(), nak(50));
    assert_eq!(reaction, Reaction::Reduced);
    (sender, control)
}

#[test]
fn slow_start_has_a_window_and_no_pace() {
    let (mut sender, mut control) = (Sender::default(), udt());
    assert_eq!((cwnd(&control), control.pacing()), (16 * PS, None));
    // One packet more for each that was acknowledged, immediately.
    acknowledge(&mut sender, &mut control, 4);
    acknowledge(&mut sender, &mut control, 20);
    assert_eq!((cwnd(&control), control.pacing()), (40 * PS, None));
    let state = control.state();
    assert_eq!((state.cwnd, state.rate), (Some(Bytes::new(40 * PS)), None));
}

#[test]
fn the_first_nak_ends_slow_start_at_the_receiving_rate() {
    let (mut sender, mut control) = paced(50_000);
    assert_eq!(control.pacing(), Some(packets(50_000)));
    assert_eq!(control.state().rate, Some(packets(50_000)));
    // A full ACK one SYN later: cwnd = 50,000 (0.1 + 0.01) + 16 = 5516 packets. B - C = 83,333 -
    // 50,000 packets/s = 4e8 bit/s. Hence 10^9 x 1.5e-6 / 1500 = 1 packet per SYN: SND = 20 us x
    // 10,000 / (20 x 1 + 10,000) = 19.96008 us, 50,100 packets/s.
    sender.capacity = Some(Rate::from_bits_per_second(1_000_000_000));
    sender.now = Time::ZERO + SYN;
    acknowledge(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), 5516 * PS);
    assert_eq!(control.pacing(), Some(packets(50_100)));
}

#[test]
fn without_a_receiving_rate_the_window_sets_the_pace() {
    // 20 packets in RTT + SYN: 5.5 ms each where RTT = 100 ms, known or not; then x 1.125:
    // 1 / 6.1875 ms = 161.616 packets/s. With RTT = 10 ms 1 / 1.125 ms = 888.889.
    for (rtt, expected) in [
        (None, 161.616_161_6),
        (Some(Span::from_ms(100)), 161.616_161_6),
        (Some(Span::from_ms(10)), 888.888_888_9),
    ] {
        // None, or a negligible one.
        for receiving_rate in [None, Some(packets(0))] {
            let mut sender = Sender {
                snd_nxt: 20,
                smoothed_rtt: rtt,
                receiving_rate,
                ..Sender::default()
            };
            let mut control = udt();
            acknowledge(&mut sender, &mut control, 4);
            let reaction = control.on_congestion(&mut sender.cx(), nak(5));
            assert_eq!(reaction, Reaction::Reduced);
            assert!(
                (rate(&control) - expected).abs() < 1e-3,
                "{}",
                rate(&control)
            );
            // That NAK opened a congestion period; a second one of it decreases once more.
            let _ = control.on_congestion(&mut sender.cx(), nak(6));
            assert!((rate(&control) * 1.125 - expected).abs() < 1e-3);
        }
    }
}

#[test]
fn exp_ends_slow_start_and_changes_nothing_afterwards() {
    let timeout = CongestionEvent::Timeout { backoff: 0 };
    let mut sender = Sender {
        receiving_rate: Some(packets(50_000)),
        ..Sender::default()
    };
    let mut control = udt();
    assert_eq!(
        control.on_congestion(&mut sender.cx(), timeout),
        Reaction::Reduced
    );
    assert_eq!(control.pacing(), Some(packets(50_000)));
    for event in [
        timeout,
        CongestionEvent::Ecn,
        CongestionEvent::IdleRestart,
        CongestionEvent::Over,
    ] {
        let reaction = control.on_congestion(&mut sender.cx(), event);
        assert_eq!(reaction, Reaction::Ignored);
        assert_eq!(control.pacing(), Some(packets(50_000)));
    }
    // In slow start only EXP and NAK end it.
    let mut control = udt();
    let _ = control.on_congestion(&mut sender.cx(), CongestionEvent::Ecn);
    assert_eq!(control.pacing(), None);
}

/// The rate after one step from 65,536 packets/s of 1250 B (powers of two, so that the period is exact)
/// under a capacity in bit/s.
fn after_one_step(capacity: Option<u64>) -> f64 {
    let of = |count: u64| Rate::from_bits_per_second(count * 10_000);
    let mut sender = Sender {
        receiving_rate: Some(of(65_536)),
        ..Sender::default()
    };
    let mut control = Udt::new(UdtConfig {
        packet: Bytes::new(1250),
    });
    let _ = control.on_congestion(&mut sender.cx(), nak(5));
    sender.capacity = capacity.map(Rate::from_bits_per_second);
    acknowledge(&mut sender, &mut control, 1);
    let pacing = control.pacing().expect("paced");
    pacing.bits_per_second() as f64 / 10_000.0
}

#[test]
fn the_step_goes_by_powers_of_ten_of_the_spare_capacity() {
    const SENDING: u64 = 655_360_000;
    // Per SYN: 10^8 x 1.5e-6 / 1250 = 0.12 packets, 12 per second; ten times that beyond 10^8.
    for (spare, step) in [
        (100_000_000, 12.0),
        (100_000_001, 120.0),
        (1_000_000_000, 120.0),
        (1_000_000_001, 1200.0),
        (10_000_001, 12.0),
        // 10^7 gives 0.012 packets per SYN; 10^6 less than the least, 0.01.
        (10_000_000, 1.2),
        (1_000_000, 1.0),
        (1, 1.0),
        (0, 1.0),
    ] {
        let rate = after_one_step(Some(SENDING + spare));
        assert!((rate - 65_536.0 - step).abs() < 1e-3, "{spare}: {rate}");
    }
    // No spare capacity, or none known.
    for capacity in [Some(SENDING / 2), Some(0), None] {
        let rate = after_one_step(capacity);
        assert!((rate - 65_537.0).abs() < 1e-3, "{capacity:?}: {rate}");
    }
}

#[test]
fn there_is_one_step_per_syn_however_many_acks_come() {
    let (mut sender, mut control) = paced(1000);
    // 100 ACKs in each of ten SYNs, all of the last one included: 0.01 packets per SYN. Each step adds
    // one packet per second, the first immediately.
    for ack in 0..=1000_u64 {
        sender.now = Time::ZERO + Span::from_us(100 * ack);
        acknowledge(&mut sender, &mut control, 1);
    }
    assert!((rate(&control) - 1011.0).abs() < 1e-3, "{}", rate(&control));
}

#[test]
fn an_ack_that_is_early_is_not_lost_and_time_without_acks_is() {
    let (mut sender, mut control) = paced(1000);
    // Every second ACK is 2 ms early: ten ACKs, ten steps.
    for ack in 1..=10_u64 {
        sender.now = Time::ZERO + Span::from_ms(10 * ack - 2 * (ack % 2));
        acknowledge(&mut sender, &mut control, 1);
    }
    assert!((rate(&control) - 1010.0).abs() < 1e-3, "{}", rate(&control));
    // After one second of silence there are two steps to take, not a hundred.
    sender.now += Span::from_secs(1);
    for _ in 0..5 {
        acknowledge(&mut sender, &mut control, 1);
    }
    assert!((rate(&control) - 1012.0).abs() < 1e-3, "{}", rate(&control));
}

#[test]
fn without_a_receiving_rate_the_window_stays() {
    let (mut sender, mut control) = paced(1000);
    acknowledge(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), (1000 * 110 / 1000 + 16) * PS);
    sender.receiving_rate = None;
    sender.now += SYN;
    acknowledge(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), 126 * PS);
    assert!((rate(&control) - 1002.0).abs() < 1e-3);
}

/// The indices of the decreases among `count` NAKs for old packets, the first of which opened the
/// period; and the number of divisions of the rate by 1.125.
fn decreases(sender: &mut Sender, control: &mut Udt, count: usize) -> (Vec<usize>, i32) {
    let before = rate(control);
    let decreased = (2..2 + count)
        .filter(|_| control.on_congestion(&mut sender.cx(), nak(0)) == Reaction::Reduced)
        .collect();
    let steps = libm::log(before / rate(control)) / libm::log(1.125);
    assert!((steps - libm::round(steps)).abs() < 1e-3, "{steps}");
    (decreased, libm::round(steps) as i32)
}

#[test]
fn a_congestion_period_decreases_six_times_at_most() {
    let (mut sender, mut control) = paced(50_000);
    // The NAK that ended slow start opened no period. The first one: DecRandom = 1.
    let reaction = control.on_congestion(&mut sender.cx(), nak(99));
    assert_eq!(reaction, Reaction::Reduced);
    assert!((rate(&control) - 50_000.0 / 1.125).abs() < 1e-3);
    let (which, steps) = decreases(&mut sender, &mut control, 19);
    assert_eq!((which, steps), (vec![2, 3, 4, 5, 6], 5));
}

#[test]
fn dec_random_is_drawn_from_the_mean_number_of_naks() {
    let (mut sender, mut control) = paced(50_000);
    let mut open = |draw, naks: usize| {
        sender.rng = Constant(draw);
        sender.snd_nxt += 100;
        let newest = sender.snd_nxt - 1;
        let reaction = control.on_congestion(&mut sender.cx(), nak(newest));
        assert_eq!(reaction, Reaction::Reduced);
        decreases(&mut sender, &mut control, naks - 1)
    };
    // 20 NAKs. Then AvgNAK = ceil(0.875 x 0 + 0.125 x 20) = 3, of which the largest draw is 3.
    let _ = open(u64::MAX, 20);
    assert_eq!(open(u64::MAX, 17), (vec![3, 6, 9, 12, 15], 5));
    // AvgNAK = ceil(0.875 x 3 + 0.125 x 17) = ceil(4.75) = 5: the least draw is 1, the middle one 3.
    assert_eq!(open(0, 8), (vec![2, 3, 4, 5, 6], 5));
    // AvgNAK = ceil(0.875 x 5 + 0.125 x 8) = ceil(5.375) = 6: 1 + floor(6/2) = 4.
    assert_eq!(open(1 << 63, 9), (vec![4, 8], 2));
}

#[test]
fn a_period_begins_beyond_the_packets_sent_at_the_last_decrease() {
    let (mut sender, mut control) = paced(50_000);
    let mut naks = |snd_nxt, largest| {
        sender.snd_nxt = snd_nxt;
        let before = rate(&control);
        let reaction = control.on_congestion(&mut sender.cx(), nak(largest));
        assert_eq!(reaction == Reaction::Reduced, rate(&control) < before);
        reaction
    };
    // Eight NAKs make AvgNAK = 1 again, so that DecRandom = 1: the period alone decides on decreases.
    // 0 to 99 were sent. Six decreases, then none of this period.
    for largest in [99, 0, 99, 50, 99, 99] {
        assert_eq!(naks(100, largest), Reaction::Reduced);
    }
    assert_eq!(naks(100, 99), Reaction::Ignored);
    // By now 0 to 149 were sent, but 99 is old. 100 is not.
    assert_eq!(naks(150, 99), Reaction::Ignored);
    assert_eq!(naks(150, 100), Reaction::Reduced);
    // Further decreases of the period move its end: at 120 to 199 were sent, so that 160 is old too.
    for largest in [120, 160, 199, 199, 199] {
        assert_eq!(naks(200, largest), Reaction::Reduced);
    }
    assert_eq!(naks(200, 199), Reaction::Ignored);
    assert_eq!(naks(201, 200), Reaction::Reduced);
}

#[test]
fn the_period_never_exceeds_a_second() {
    let (mut sender, mut control) = paced(2);
    for round in 1..50 {
        sender.snd_nxt = 100 + round;
        let largest = sender.snd_nxt - 1;
        let _ = control.on_congestion(&mut sender.cx(), nak(largest));
    }
    assert_eq!(control.pacing(), Some(packets(1)));
    // Neither does the first one: 16 packets in 213 days.
    let mut sender = Sender {
        smoothed_rtt: Some(Span::MAX),
        ..Sender::default()
    };
    let mut control = udt();
    let _ = control.on_congestion(&mut sender.cx(), CongestionEvent::Timeout { backoff: 0 });
    assert_eq!(control.pacing(), Some(packets(1)));
}

#[test]
#[should_panic(expected = "a packet holds at least one byte")]
fn packets_have_a_size() {
    let _ = Udt::new(UdtConfig {
        packet: Bytes::ZERO,
    });
}

/// 90 % of an idle path's capacity L take 7.5 s, whatever L. From 0 up to 0.9 L = 9 10^(e-1) bit/s the spare capacity gives 10^e 1.5e-6 / 1500 packets per SYN, that is 1.2 10^(e-3)
/// bit/s: 750 SYN.
#[test]
fn nine_tenths_of_any_capacity_take_seven_and_a_half_seconds() {
    for exponent in 8..=11 {
        let capacity = (0..exponent).fold(1, |power, _| 10 * power);
        let (mut sender, mut control) = paced(1);
        sender.capacity = Some(Rate::from_bits_per_second(capacity));
        let goal = 0.9 * capacity as f64 / 12_000.0;
        while rate(&control) < goal && sender.now < Time::ZERO + Span::from_secs(10) {
            sender.now += SYN;
            acknowledge(&mut sender, &mut control, 1);
        }
        let seconds = sender.now.as_secs_lossy();
        assert!((7.48..=7.51).contains(&seconds), "10^{exponent}: {seconds}");
    }
}

/// A path of 1 Gbit/s that loses a packet whenever more is sent: the rate swings between the capacity
/// and 8/9 of it. Just below the capacity steps are 0.01 packets per SYN, further down 0.1 and 1:
/// spare 9,259 packets/s = 1.11e8 bit/s at the bottom.
#[test]
fn the_sawtooth_lies_between_the_capacity_and_eight_ninths() {
    let (mut sender, mut control) = paced(83_000);
    let capacity = 1e9 / 12_000.0;
    sender.capacity = Some(Rate::from_bits_per_second(1_000_000_000));
    let mut seen = Vec::new();
    for _ in 0..60_000 {
        sender.now += SYN;
        sender.snd_nxt += 1000;
        acknowledge(&mut sender, &mut control, 1);
        if rate(&control) > capacity {
            let largest = sender.snd_nxt - 1;
            let _ = control.on_congestion(&mut sender.cx(), nak(largest));
        }
        seen.push(rate(&control) / capacity);
    }
    let seen = &seen[20_000..];
    let least = seen.iter().copied().fold(f64::MAX, f64::min);
    let most = seen.iter().copied().fold(0.0, f64::max);
    assert!((least - 8.0 / 9.0).abs() < 1e-4, "{least}");
    assert!((most - 1.0).abs() < 1e-3, "{most}");
    // In fractions of L, per SYN: one packet from 0.8889 to 0.9 is 1.2e-3, 9.3 SYN. From 0.9 to
    // 0.99 it is 0.1, 750 SYN; then 0.01 (1.2e-5) up to 1, 833 SYN.
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let expected = (9.3 * 0.8944 + 750.0 * 0.945 + 833.0 * 0.995) / (9.3 + 750.0 + 833.0);
    assert!((mean - expected).abs() < 2e-3, "{mean} {expected}");
}

/// An operation on a connection, in any order.
#[derive(Debug, Clone)]
enum Operation {
    Send(u64),
    Ack {
        packets: u64,
        receiving: Option<u64>,
        capacity: Option<u64>,
        rtt_us: Option<u64>,
    },
    Nak {
        back: u64,
    },
    Other(u8),
    Wait {
        us: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    let rate = || prop::option::of(prop_oneof![0_u64..1_000_000, Just(u64::from(u32::MAX))]);
    prop_oneof![
        4 => (1_u64..100).prop_map(Operation::Send),
        6 => (0_u64..100, rate(), rate(), prop::option::of(0_u64..1_000_000)).prop_map(
            |(packets, receiving, capacity, rtt_us)| {
                Operation::Ack { packets, receiving, capacity, rtt_us }
            }
        ),
        6 => (0_u64..300).prop_map(|back| Operation::Nak { back }),
        1 => (0_u8..4).prop_map(Operation::Other),
        3 => (0_u64..100_000).prop_map(|us| Operation::Wait { us }),
    ]
}

/// A connection under test, and the congestion period as seen from outside.
struct Run {
    sender: Sender,
    control: Udt,
    last_decrease: Option<u64>,
    further: u32,
}

impl Run {
    /// 0 in slow start, which is faster than any rate.
    fn period(&self) -> f64 {
        self.control
            .pacing()
            .map_or(0.0, |rate| 1.0 / rate.bits_per_second() as f64)
    }

    fn step(&mut self, operation: &Operation) {
        let (period, window) = (self.period(), cwnd(&self.control));
        match *operation {
            Operation::Send(count) => {
                self.sender.snd_nxt += count;
                self.control.on_sent(&mut self.sender.cx(), Bytes::new(PS));
                assert_eq!((self.period(), cwnd(&self.control)), (period, window));
            }
            Operation::Ack {
                packets: count,
                receiving,
                capacity,
                rtt_us,
            } => {
                self.sender.receiving_rate = receiving.map(packets);
                self.sender.capacity = capacity.map(packets);
                self.sender.smoothed_rtt = rtt_us.map(Span::from_us);
                acknowledge(&mut self.sender, &mut self.control, count);
                assert!(self.period() <= period, "an ACK never slows down");
            }
            Operation::Nak { back } => self.report(back, period, window),
            Operation::Other(which) => {
                let event = [
                    CongestionEvent::Ecn,
                    CongestionEvent::Timeout { backoff: 0 },
                    CongestionEvent::IdleRestart,
                    CongestionEvent::Over,
                ][usize::from(which)];
                let reaction = self.control.on_congestion(&mut self.sender.cx(), event);
                assert_eq!(reaction == Reaction::Reduced, self.period() > period);
            }
            Operation::Wait { us } => self.sender.now += Span::from_us(us),
        }
        self.check();
    }

    /// A NAK for a packet so far back.
    fn report(&mut self, back: u64, period: f64, window: u64) {
        let largest = self.sender.snd_nxt.saturating_sub(1 + back);
        let reaction = self
            .control
            .on_congestion(&mut self.sender.cx(), nak(largest));
        assert_eq!(cwnd(&self.control), window, "a NAK leaves the window");
        if period == 0.0 {
            assert_eq!(reaction, Reaction::Reduced, "slow start is over");
            if self
                .sender
                .receiving_rate
                .is_none_or(|rate| rate == packets(0))
            {
                self.decreased();
                self.further = 0;
            }
            return;
        }
        assert!(self.period() >= period, "a NAK never speeds up");
        if self.last_decrease.is_none_or(|last| largest > last) {
            assert_eq!(reaction, Reaction::Reduced, "a new period");
            self.decreased();
            self.further = 0;
        } else if reaction == Reaction::Reduced {
            self.further += 1;
            assert!(self.further <= 5, "five further decreases");
            self.decreased();
        } else {
            assert!(self.period() <= period, "an ignored NAK changes nothing");
        }
    }

    fn decreased(&mut self) {
        self.last_decrease = Some(self.sender.snd_nxt.saturating_sub(1));
    }

    fn check(&self) {
        assert!(cwnd(&self.control) >= 16 * PS, "the window's floor");
        if let Some(rate) = self.control.pacing() {
            assert!(rate >= packets(1), "one packet per second");
            assert!(rate.bits_per_second() < u64::MAX, "a finite rate");
        }
        assert_eq!(self.control.state().rate, self.control.pacing());
        assert_eq!(
            self.control.window(),
            Window::Limited(Bytes::new(cwnd(&self.control)))
        );
        assert_eq!(self.control.next_timer(), None);
    }
}

proptest! {
    /// Any sequence of operations, with any draw: a window of at least 16 packets, a finite rate of at
    /// least a packet per second. Only NAKs decrease it, and at most five more times per period.
    #[test]
    fn any_sequence_keeps_the_invariants(
        operations in prop::collection::vec(operation(), 1..400),
        draw in any::<u64>(),
    ) {
        let mut run = Run {
            sender: Sender { rng: Constant(draw), ..Sender::default() },
            control: udt(),
            last_decrease: None,
            further: 0,
        };
        for operation in &operations {
            run.step(operation);
        }
    }
}
