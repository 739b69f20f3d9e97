//! Any sequence of operations, in any reading.

use incastle_congestion::{
    AckSample, CongestionEvent, Controller, DcudpBacklog, DcudpConfig, DcudpEntry, DcudpFloor,
    DcudpGrowth, DcudpLaw, DcudpRates, DcudpRtt, Echo, LossInUdpMode, Reaction, Window,
};
use incastle_units::Span;
use proptest::prelude::*;

use super::{Connection, NAK, PS, config, packets};
use crate::support::sample;

/// An operation on a connection, in any order.
#[derive(Debug, Clone)]
enum Operation {
    Send(u64),
    Ack { ece: bool, rtt_us: Option<u64> },
    Nak,
    Other(u8),
    Smoothed(u64),
    Wait { us: u64 },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (1_u64..9000).prop_map(Operation::Send),
        8 => (any::<bool>(), prop::option::of(0_u64..5000))
            .prop_map(|(ece, rtt_us)| Operation::Ack { ece, rtt_us }),
        2 => Just(Operation::Nak),
        1 => (0_u8..4).prop_map(Operation::Other),
        1 => (1_u64..5000).prop_map(Operation::Smoothed),
        3 => (0_u64..20_000).prop_map(|us| Operation::Wait { us }),
    ]
}

fn any_config() -> impl Strategy<Value = DcudpConfig> {
    let flags = prop::array::uniform7(any::<bool>());
    (1_u64..10_000_000, flags).prop_map(
        |(interface, [law, growth, floor, rtt, entry, loss, backlog])| DcudpConfig {
            interface: packets(interface),
            backlog: if backlog {
                DcudpBacklog::Interface
            } else {
                DcudpBacklog::AppRate
            },
            law: if law {
                DcudpLaw::Default
            } else {
                DcudpLaw::Printed
            },
            growth: if growth {
                DcudpGrowth::PerSecond
            } else {
                DcudpGrowth::PerRtt
            },
            floor: if floor {
                DcudpFloor::Latest
            } else {
                DcudpFloor::Idle
            },
            rtt: if rtt {
                DcudpRtt::Latest
            } else {
                DcudpRtt::Smoothed
            },
            entry: if entry {
                DcudpEntry::Measured
            } else {
                DcudpEntry::Interface
            },
            loss_in_udp_mode: if loss {
                LossInUdpMode::Ignore
            } else {
                LossInUdpMode::CongestionMode
            },
            ..config()
        },
    )
}

/// A connection under test, and the listing's counters as seen from outside.
struct Run {
    connection: Connection,
    config: DcudpConfig,
    latest: Option<Span>,
    idle: Option<Span>,
    n_ack: u64,
    n_ecn: u64,
    freeze: bool,
}

impl Run {
    fn new(config: DcudpConfig) -> Self {
        Self {
            connection: Connection::new(config),
            config,
            latest: None,
            idle: None,
            n_ack: 0,
            n_ecn: 0,
            freeze: false,
        }
    }

    fn capacity(&self) -> f64 {
        self.config.interface.bytes_per_second_lossy() / PS as f64
    }

    /// The law's round-trip time in seconds, and 1 / RTT of the floor.
    fn path(&self) -> (f64, f64) {
        let seconds = |span: Span| span.max(Span::from_us(1)).as_secs_lossy();
        let smoothed = self.connection.sender.smoothed_rtt;
        let rtt = match self.config.rtt {
            DcudpRtt::Latest => self.latest.or(smoothed),
            DcudpRtt::Smoothed => smoothed,
        };
        let rtt = rtt.map_or(0.1, seconds);
        let floor = match self.config.floor {
            DcudpFloor::Latest => rtt,
            DcudpFloor::Idle => self.idle.map_or(rtt, seconds),
        };
        (rtt, (1.0 / floor).min(self.capacity()))
    }

    /// RTT_idle: the least sample, and what was the smoothed value at first.
    fn learn(&mut self, sample: Option<Span>) {
        let first = self.idle.or(self.connection.sender.smoothed_rtt);
        self.idle = first.into_iter().chain(sample).min();
    }

    fn step(&mut self, operation: &Operation) {
        let before = self.connection.control.rates();
        match *operation {
            Operation::Send(gap_ns) => {
                self.connection.sender.now += Span::from_ns(gap_ns);
                self.connection.send();
                self.freeze = false;
                assert_eq!(self.connection.control.rates(), before);
            }
            Operation::Ack { ece, rtt_us } => self.acknowledge(ece, rtt_us, before),
            Operation::Nak => self.report_loss(before),
            Operation::Other(which) => self.other(which, before),
            Operation::Smoothed(us) => {
                self.connection.sender.smoothed_rtt = Some(Span::from_us(us));
            }
            Operation::Wait { us } => self.connection.sender.now += Span::from_us(us),
        }
        self.check();
    }

    fn acknowledge(&mut self, ece: bool, rtt_us: Option<u64>, before: Option<DcudpRates>) {
        let sample_rtt = rtt_us.map(Span::from_us);
        self.latest = sample_rtt.or(self.latest);
        self.learn(sample_rtt);
        let ack = AckSample {
            rtt: sample_rtt,
            ..sample(0, if ece { Echo::Congestion } else { Echo::Clear })
        };
        let Connection { sender, control } = &mut self.connection;
        let reaction = sender.ack_with(control, ack);
        if before.is_none() {
            self.enter(ece);
        }
        let Some(after) = self.connection.control.rates() else {
            return;
        };
        self.n_ack += 1;
        self.n_ecn += u64::from(ece);
        match (before, ece && !self.freeze) {
            (_, true) => self.check_cut(before, after, reaction),
            (Some(before), false) => {
                assert_eq!(reaction, Reaction::Ignored);
                assert!(after.data >= before.data && after.max >= before.max);
                assert!(!ece || before == after, "a frozen rate is not divided");
            }
            (None, false) => unreachable!("a mark that enters is never frozen"),
        }
    }

    /// The effect of an ACK or a NAK in UDP mode: it enters congestion mode, or stays.
    fn enter(&mut self, enters: bool) {
        assert_eq!(self.connection.control.rates().is_some(), enters);
        (self.n_ack, self.n_ecn, self.freeze) = (0, 0, false);
    }

    /// (1) and (2) in windows: W^2 / (W + p), at least the floor.
    fn check_cut(&mut self, before: Option<DcudpRates>, after: DcudpRates, reaction: Reaction) {
        assert_eq!(reaction, Reaction::Reduced);
        self.freeze = true;
        let (rtt, floor) = self.path();
        assert!(after.data >= floor && after.max >= floor, "the floor");
        let Some(before) = before else { return };
        let p = self.n_ecn as f64 / self.n_ack as f64;
        let cut = |rate: f64, w: f64| (rate * w / (w + p)).max(floor);
        let data = cut(before.data, before.data * rtt);
        let w = before.data * rtt;
        let max = match self.config.law {
            DcudpLaw::Default => cut(before.max, w),
            DcudpLaw::Printed => cut(before.max, w * w / (w + p)),
        };
        assert!((after.data / data - 1.0).abs() < 1e-9, "{after:?} {data}");
        assert!((after.max / max - 1.0).abs() < 1e-9, "{after:?} {max}");
    }

    fn report_loss(&mut self, before: Option<DcudpRates>) {
        let reaction = self.connection.report(NAK);
        if self.config.loss_in_udp_mode == LossInUdpMode::CongestionMode {
            self.learn(None);
        }
        if before.is_none() {
            self.enter(self.config.loss_in_udp_mode == LossInUdpMode::CongestionMode);
        }
        let Some(after) = self.connection.control.rates() else {
            assert_eq!(reaction, Reaction::Ignored);
            return;
        };
        (self.n_ack, self.n_ecn) = (self.n_ack + 1, self.n_ecn + 1);
        if self.freeze {
            assert_eq!((reaction, Some(after)), (Reaction::Ignored, before));
            return;
        }
        assert_eq!(reaction, Reaction::Reduced);
        self.freeze = true;
        let (_, floor) = self.path();
        let max = before.map_or(after.max, |before| (before.max / 2.0).max(floor));
        assert_eq!(after, DcudpRates { data: floor, max });
    }

    fn other(&mut self, which: u8, before: Option<DcudpRates>) {
        let event = [
            CongestionEvent::Timeout { backoff: 1 },
            CongestionEvent::IdleRestart,
            CongestionEvent::Over,
        ];
        let event = event[usize::from(which % 3)];
        assert_eq!(self.connection.report(event), Reaction::Ignored);
        let left = event == CongestionEvent::Over;
        let expected = before.filter(|_| !left);
        assert_eq!(self.connection.control.rates(), expected);
    }

    fn check(&self) {
        let control = &self.connection.control;
        assert_eq!(control.window(), Window::Unlimited);
        assert_eq!(control.next_timer(), None);
        let Some(DcudpRates { data, max }) = control.rates() else {
            assert!(self.connection.is_in_udp_mode());
            assert_eq!(control.pacing(), Some(self.config.interface));
            return;
        };
        assert!(!self.connection.is_in_udp_mode());
        // No round trip is longer than 5 ms here: nothing is below the floor of that.
        let least = 200.0_f64.min(self.capacity());
        for rate in [data, max] {
            assert!(rate >= least && rate <= self.capacity(), "{rate}");
        }
        if self.config.law == DcudpLaw::Default {
            assert!(data <= max, "{data} {max}");
        }
        assert!(control.pacing() <= Some(self.config.interface));
    }
}

proptest! {
    /// Any sequence of operations in any reading: finite rates between the floor and C, one decrease
    /// per packet sent, and the listing's formulas at each. No other transition between the modes
    /// occurs.
    #[test]
    fn any_sequence_keeps_the_invariants(
        config in any_config(),
        operations in prop::collection::vec(operation(), 1..400),
    ) {
        let mut run = Run::new(config);
        for operation in &operations {
            run.step(operation);
        }
    }
}
