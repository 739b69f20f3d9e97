//! Any sequence of departures, deliveries, losses and timeouts keeps BBR within its invariants.

use std::collections::VecDeque;

use incastle_cases::cases;
use incastle_congestion::{
    AckSample, Bbr, BbrConfig, CongestionEvent, Controller, Echo, LostPacket, Phase, RateSample,
    Reaction,
};
use incastle_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use crate::support::{Sender, cwnd, sample};

const MSS: u64 = 1000;
const RTT: Span = Span::from_ms(10);
/// BBR.MinPipeCwnd.
const MIN_PIPE: u64 = 4 * MSS;

#[derive(Debug, Clone)]
enum Operation {
    /// As many as the window admits, and the application has.
    Send {
        segments: u64,
        app_limited: bool,
    },
    /// The oldest segments in flight arrived.
    Deliver {
        segments: usize,
        recovering: bool,
    },
    /// A segment in flight is lost.
    Lose {
        place: usize,
    },
    /// All are.
    Timeout,
    /// The last losses were none.
    Undo,
    Mark,
    Wait {
        us: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    // Short waits are parts of a round trip; with long ones all filters expire.
    let wait = prop_oneof![4 => 0..12_000_u64, 1 => 0..3_000_000_u64];
    prop_oneof![
        8 => (1..80_u64, any::<bool>())
            .prop_map(|(segments, app_limited)| Operation::Send { segments, app_limited }),
        8 => (1..60_usize, any::<bool>())
            .prop_map(|(segments, recovering)| Operation::Deliver { segments, recovering }),
        3 => any::<usize>().prop_map(|place| Operation::Lose { place }),
        1 => Just(Operation::Timeout),
        1 => Just(Operation::Undo),
        1 => Just(Operation::Mark),
        8 => wait.prop_map(|us| Operation::Wait { us }),
    ]
}

/// A segment in flight, with the counters when it left.
#[derive(Clone, Copy)]
struct Segment {
    sent: Time,
    seq: u64,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

/// A connection under test, and the extremes of what its controller saw.
struct Run {
    sender: Sender,
    control: Bbr,
    flight: VecDeque<Segment>,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    greatest_rate: Rate,
    greatest_cwnd: u64,
}

impl Run {
    fn new() -> Self {
        let config = BbrConfig::new(Bytes::new(MSS));
        Self {
            sender: Sender {
                smoothed_rtt: Some(RTT),
                ..Sender::default()
            },
            control: Bbr::new(config),
            flight: VecDeque::new(),
            delivered: 0,
            delivered_at: Time::ZERO,
            lost: 0,
            // The first rate is that of the initial window.
            greatest_rate: Rate::of(config.initial_window, RTT),
            greatest_cwnd: config.initial_window.count(),
        }
    }

    fn in_flight(&self) -> u64 {
        self.flight.len() as u64 * MSS
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Send {
                segments,
                app_limited,
            } => self.send(segments, app_limited),
            Operation::Deliver {
                segments,
                recovering,
            } => self.deliver(segments, recovering),
            Operation::Lose { place } => {
                if !self.flight.is_empty() {
                    let before = self.outputs();
                    self.lose(place % self.flight.len());
                    assert_eq!(self.sender.lose(&mut self.control), Reaction::Reduced);
                    assert_eq!(self.outputs(), before, "losses count with the next sample");
                }
            }
            Operation::Timeout => self.time_out(),
            Operation::Undo => {
                let before = cwnd(&self.control);
                self.control.restore(&self.control.state());
                assert!(cwnd(&self.control) >= before, "an undo gives back");
            }
            Operation::Mark => {
                let before = self.outputs();
                let event = CongestionEvent::Ecn;
                self.control.on_congestion(&mut self.sender.cx(), event);
                assert_eq!(self.outputs(), before);
            }
            Operation::Wait { us } => self.sender.now += Span::from_us(us),
        }
        self.check();
    }

    fn outputs(&self) -> (u64, Option<Rate>) {
        (cwnd(&self.control), self.control.pacing())
    }

    fn send(&mut self, segments: u64, app_limited: bool) {
        for _ in 0..segments {
            if !self.flight.is_empty() && self.in_flight() + MSS > cwnd(&self.control) {
                return;
            }
            if self.flight.is_empty() {
                self.delivered_at = self.sender.now;
            }
            self.flight.push_back(Segment {
                sent: self.sender.now,
                seq: self.sender.snd_nxt,
                delivered: self.delivered,
                delivered_at: self.delivered_at,
                lost: self.lost,
                in_flight: self.in_flight() + MSS,
                app_limited,
            });
            self.sender.snd_nxt += MSS;
            self.sender.in_flight = Bytes::new(self.in_flight());
            let size = Bytes::new(MSS);
            self.control.on_sent(&mut self.sender.cx(), size);
        }
    }

    fn deliver(&mut self, segments: usize, recovering: bool) {
        let count = segments.min(self.flight.len());
        let Some(last) = self.flight.drain(..count).next_back() else {
            return;
        };
        let count = count as u64;
        self.delivered += count * MSS;
        self.delivered_at = self.sender.now;
        let before = cwnd(&self.control);
        let ack = AckSample {
            phase: if recovering {
                Phase::Recovery
            } else {
                Phase::Open
            },
            ..sample(count * MSS, Echo::Clear)
        };
        self.sender.in_flight = Bytes::new(self.in_flight());
        self.control.on_ack(&mut self.sender.cx(), &ack);
        let sample = self.rate_sample(&last, count);
        self.greatest_rate = sample
            .rate
            .map_or(self.greatest_rate, |rate| rate.max(self.greatest_rate));
        self.control.on_rate(&mut self.sender.cx(), &sample);
        let after = cwnd(&self.control);
        // The end of recovery and that of ProbeRTT give back the window before.
        let most = self.greatest_cwnd + count * MSS;
        assert!((MIN_PIPE..=most).contains(&after), "{before} {after}");
    }

    fn rate_sample(&self, last: &Segment, count: u64) -> RateSample {
        let interval = self.sender.now - last.delivered_at;
        let delivered = Bytes::new(self.delivered - last.delivered);
        RateSample {
            total_delivered: self.delivered,
            prior_delivered: last.delivered,
            rate: (interval > Span::ZERO).then(|| Rate::of(delivered, interval)),
            rtt: Some(self.sender.now - last.sent),
            newly_acked: Bytes::new(count * MSS),
            lost: Bytes::new(self.lost - last.lost),
            tx_in_flight: Bytes::new(last.in_flight),
            in_flight: Bytes::new(self.in_flight()),
            is_app_limited: last.app_limited,
            is_cwnd_limited: self.in_flight() + MSS > cwnd(&self.control),
        }
    }

    fn lose(&mut self, place: usize) {
        let segment = self.flight.remove(place).expect("it is in flight");
        self.lost += MSS;
        let lost = LostPacket {
            seq: segment.seq,
            size: Bytes::new(MSS),
            tx_in_flight: Bytes::new(segment.in_flight),
            lost: Bytes::new(self.lost - segment.lost),
            total_delivered: self.delivered,
            in_flight: Bytes::new(self.in_flight()),
            is_app_limited: segment.app_limited,
        };
        self.control.on_lost(&mut self.sender.cx(), &lost);
    }

    fn time_out(&mut self) {
        if self.flight.is_empty() {
            return;
        }
        self.sender.time_out(&mut self.control, 0);
        assert_eq!(cwnd(&self.control), MSS);
        while !self.flight.is_empty() {
            self.lose(0);
            assert_eq!(cwnd(&self.control), self.in_flight() + MSS);
        }
    }

    fn check(&mut self) {
        let (cwnd, pacing) = self.outputs();
        assert!(cwnd >= MSS, "the window holds a segment");
        self.greatest_cwnd = self.greatest_cwnd.max(cwnd);
        assert_eq!(
            pacing.is_some(),
            self.sender.snd_nxt > 0,
            "paced from the start"
        );
        // Startup's gain on the greatest rate that was ever delivered.
        let most = self.greatest_rate.bits_per_second() * 277 / 100;
        assert!(pacing.is_none_or(|rate| (1..=most).contains(&rate.bits_per_second())));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    #[test]
    fn any_sequence_of_operations_keeps_the_invariants_of_bbr(
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        let mut run = Run::new();
        for operation in &operations {
            run.apply(operation);
        }
    }
}
