//! Any sequence of operations leaves every controller within its invariants.

mod support;

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Controller, Cubic, CubicConfig, Dctcp, DctcpConfig,
    Echo, LimitedBy, NewReno, NewRenoConfig, Phase, Reaction,
};
use incastle_units::{Bytes, Span};
use proptest::prelude::*;

use support::{Sender, cwnd, ssthresh};

const MSS: u64 = 1460;

/// What may happen to a connection, in the order of the wire or out of it.
#[derive(Debug, Clone)]
enum Operation {
    Send {
        segments: u64,
    },
    Ack {
        percent: u64,
        echo: bool,
        limited: bool,
        phase: u8,
    },
    Duplicate {
        echo: bool,
    },
    Loss,
    Timeout {
        backoff: u32,
    },
    Idle,
    Over,
    Wait {
        us: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (1_u64..60).prop_map(|segments| Operation::Send { segments }),
        10 => (0_u64..=100, any::<bool>(), any::<bool>(), 0_u8..3).prop_map(
            |(percent, echo, limited, phase)| Operation::Ack { percent, echo, limited, phase }
        ),
        2 => any::<bool>().prop_map(|echo| Operation::Duplicate { echo }),
        2 => Just(Operation::Loss),
        1 => (0_u32..8).prop_map(|backoff| Operation::Timeout { backoff }),
        1 => Just(Operation::Idle),
        1 => Just(Operation::Over),
        3 => (0_u64..5_000_000).prop_map(|us| Operation::Wait { us }),
    ]
}

fn controllers(min_cwnd: u64, grow_on_ece: bool, initial_alpha: f64) -> [Algorithm; 3] {
    let mss = Bytes::new(MSS);
    let window = NewRenoConfig {
        min_cwnd: Bytes::new(min_cwnd * MSS),
        grow_on_ece,
        ..NewRenoConfig::new(mss)
    };
    let dctcp = DctcpConfig {
        window,
        initial_alpha,
        ..DctcpConfig::new(mss)
    };
    let cubic = CubicConfig {
        window,
        ..CubicConfig::new(mss)
    };
    [
        Algorithm::NewReno(NewReno::new(window)),
        Algorithm::Dctcp(Dctcp::new(dctcp)),
        Algorithm::Cubic(Cubic::new(cubic)),
    ]
}

/// A connection under test, and what the test remembers of it.
struct Run {
    sender: Sender,
    control: Algorithm,
    /// SND.NXT at the last reaction.
    reacted: Option<u64>,
    /// The end of DCTCP's observation window.
    window_end: u64,
}

impl Run {
    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Send { segments } => self.sender.send(&mut self.control, segments * MSS),
            Operation::Wait { us } => self.sender.now += Span::from_us(us),
            Operation::Ack {
                percent,
                echo,
                limited,
                phase,
            } => {
                let outstanding = self.sender.snd_nxt - self.sender.snd_una;
                self.ack(outstanding * percent / 100, echo, limited, phase);
            }
            Operation::Duplicate { echo } => self.ack(0, echo, true, 0),
            Operation::Loss => {
                let largest = self.sender.snd_una;
                self.congest(CongestionEvent::Loss { count: 1, largest });
            }
            Operation::Timeout { backoff } => self.congest(CongestionEvent::Timeout { backoff }),
            Operation::Idle => self.congest(CongestionEvent::IdleRestart),
            Operation::Over => self.congest(CongestionEvent::Over),
        }
        assert!(cwnd(&self.control) >= MSS, "the window holds a segment");
        assert!(ssthresh(&self.control).is_none_or(|bytes| bytes >= 2 * MSS));
        assert!(
            self.alpha()
                .is_none_or(|alpha| (0.0..=1.0).contains(&alpha))
        );
    }

    fn alpha(&self) -> Option<f64> {
        self.control.state().alpha
    }

    fn ack(&mut self, bytes: u64, echo: bool, limited: bool, phase: u8) {
        let ack = AckSample {
            acked: Bytes::new(bytes),
            segments: bytes.div_ceil(MSS).max(1) as u32,
            echo: if echo { Echo::Congestion } else { Echo::Clear },
            rtt: None,
            limited_by: if limited {
                LimitedBy::Window
            } else {
                LimitedBy::Application
            },
            phase: [Phase::Open, Phase::Recovery, Phase::AfterTimeout][usize::from(phase)],
        };
        self.sender.snd_una += bytes;
        self.sender.in_flight = Bytes::new(self.sender.snd_nxt - self.sender.snd_una);
        self.sender.smoothed_rtt = Some(Span::from_us(100));
        let (before, alpha) = (cwnd(&self.control), self.alpha());
        self.control.on_ack(&mut self.sender.cx(), &ack);
        self.check_growth(before, &ack);
        self.check_estimate(alpha);
        if echo {
            self.congest(CongestionEvent::Ecn);
        }
    }

    fn check_growth(&self, before: u64, ack: &AckSample) {
        let after = cwnd(&self.control);
        assert!(after >= before, "an ACK never shortens the window");
        if ack.phase == Phase::Recovery || ack.limited_by == LimitedBy::Application {
            assert_eq!(after, before, "no growth");
        }
        // Slow start adds at most two segments, Reno one, CUBIC half of the window per window, with
        // the fraction of a byte that it keeps: below (before + 1) x 1.5.
        assert!(after - before <= (2 * MSS).max(before / 2 + 2));
    }

    /// DCTCP's estimate changes only by an ACK that passes the end of its window.
    fn check_estimate(&mut self, before: Option<f64>) {
        let passed = self.sender.snd_una > self.window_end;
        assert!(passed || self.alpha() == before, "alpha once per window");
        if passed {
            self.window_end = self.sender.snd_nxt;
        }
    }

    fn congest(&mut self, event: CongestionEvent) {
        let (before, alpha) = (cwnd(&self.control), self.alpha());
        let reaction = self.control.on_congestion(&mut self.sender.cx(), event);
        assert!(
            cwnd(&self.control) <= before,
            "congestion never widens the window"
        );
        assert_eq!(self.alpha(), alpha, "congestion leaves alpha alone");
        if event == CongestionEvent::Ecn && reaction == Reaction::Reduced {
            let window_is_over = self.reacted.is_none_or(|until| self.sender.snd_una > until);
            assert!(window_is_over, "marks count once per window");
        }
        let idle = matches!(event, CongestionEvent::IdleRestart | CongestionEvent::Over);
        if reaction == Reaction::Ignored && !idle {
            assert_eq!(
                cwnd(&self.control),
                before,
                "what is ignored changes nothing"
            );
        }
        if reaction == Reaction::Reduced {
            self.reacted = Some(self.sender.snd_nxt);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn any_sequence_of_operations_keeps_the_invariants(
        operations in prop::collection::vec(operation(), 1..200),
        min_cwnd in 1_u64..4,
        grow_on_ece in any::<bool>(),
        initial_alpha in 0.0..=1.0,
    ) {
        for control in controllers(min_cwnd, grow_on_ece, initial_alpha) {
            let mut run = Run {
                sender: Sender::default(),
                control,
                reacted: None,
                window_end: 0,
            };
            for operation in &operations {
                run.apply(operation);
            }
        }
    }
}
