//! Any operations leave the revised DCUDP within its limits.

use incastle_cases::cases;
use incastle_congestion::{
    CongestionEvent, Controller, DcudpR, DcudpRConfig, Echo, LimitedBy, Window,
};
use incastle_units::{Bytes, Rate, Span};
use proptest::prelude::*;

use crate::support::{Sender, sample};

const PACKET: u64 = 1456;

#[derive(Debug, Clone)]
enum Operation {
    Send(u64),
    /// A part of what is outstanding, in percent; its mark, limit and round-trip time.
    Ack {
        percent: u64,
        marked: bool,
        limited: bool,
        us: Option<u64>,
    },
    Lose(u32),
    TimeOut,
    Idle,
    NoEcn,
    Wait(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let ack = (
        0_u64..=100,
        any::<bool>(),
        any::<bool>(),
        prop::option::of(0_u64..100_000),
    );
    prop_oneof![
        6 => (1_u64..60).prop_map(Operation::Send),
        10 => ack.prop_map(|(percent, marked, limited, us)| Operation::Ack {
            percent, marked, limited, us
        }),
        2 => (1_u32..50).prop_map(Operation::Lose),
        1 => Just(Operation::TimeOut),
        1 => Just(Operation::Idle),
        1 => Just(Operation::NoEcn),
        3 => (0_u64..5_000).prop_map(Operation::Wait),
    ]
}

fn packets(control: &DcudpR) -> f64 {
    control.state().cwnd.expect("a window").count() as f64 / PACKET as f64
}

struct Run {
    sender: Sender,
    control: DcudpR,
}

impl Run {
    fn apply(&mut self, operation: &Operation) {
        let before = packets(&self.control);
        match *operation {
            Operation::Send(packets) => {
                self.sender.snd_nxt += packets;
                self.count();
                let size = Bytes::new(packets * PACKET);
                self.control.on_sent(&mut self.sender.cx(), size);
            }
            Operation::Ack {
                percent,
                marked,
                limited,
                us,
            } => self.ack(percent, (marked, limited), us),
            Operation::Lose(count) => {
                let largest = self.sender.snd_una;
                self.congest(CongestionEvent::Loss { count, largest });
                // The state is in whole bytes; the window is at least 1/16 of a packet.
                let least = (before / 2.0).min(before) - 0.001;
                assert!(packets(&self.control) >= least.max(0.0));
            }
            Operation::TimeOut => self.congest(CongestionEvent::Timeout { backoff: 1 }),
            Operation::Idle => self.congest(CongestionEvent::IdleRestart),
            Operation::NoEcn => self.control.on_ecn_lost(),
            Operation::Wait(us) => self.sender.now += Span::from_us(us),
        }
        self.check();
    }

    fn count(&mut self) {
        let outstanding = self.sender.snd_nxt - self.sender.snd_una;
        self.sender.in_flight = Bytes::new(outstanding * PACKET);
    }

    fn congest(&mut self, event: CongestionEvent) {
        let before = packets(&self.control);
        let _ = self.control.on_congestion(&mut self.sender.cx(), event);
        assert!(packets(&self.control) <= before.max(1.0 / 16.0));
    }

    fn ack(&mut self, percent: u64, (marked, limited): (bool, bool), us: Option<u64>) {
        let before = packets(&self.control);
        let acked = (self.sender.snd_nxt - self.sender.snd_una) * percent / 100;
        self.sender.snd_una += acked;
        self.count();
        let echo = if marked {
            Echo::Congestion
        } else {
            Echo::Clear
        };
        let mut ack = sample(acked * PACKET, echo);
        ack.rtt = us.map(Span::from_us);
        if !limited {
            ack.limited_by = LimitedBy::Application;
        }
        self.control.on_ack(&mut self.sender.cx(), &ack);
        let after = packets(&self.control);
        // A packet adds at most a packet; marks, and a window that is no limit, add nothing.
        let most = if marked || !limited {
            0.0
        } else {
            acked as f64
        };
        assert!(after <= before + most + 0.001, "{before} to {after}");
    }

    fn check(&self) {
        let cwnd = packets(&self.control);
        assert!(cwnd >= 1.0 / 16.0 - 0.001 && cwnd.is_finite());
        let Window::Limited(window) = self.control.window() else {
            panic!("there is a window")
        };
        assert!(window.count() as f64 >= cwnd * PACKET as f64);
        let paced = self.control.pacing();
        assert!(paced.is_none_or(|rate| rate.bits_per_second() >= 1));
        // 1 Gbit/s with 44 bytes of headers.
        let most = 970_666_667;
        let bounded = paced.is_none_or(|rate| rate.bits_per_second() <= most);
        assert!(bounded || self.sender.capacity.is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]
    #[test]
    fn any_operations_keep_its_limits(
        known in any::<bool>(),
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        let capacity = known.then_some(Rate::from_bits_per_second(1_000_000_000));
        let mut run = Run {
            sender: Sender { capacity, ..Sender::default() },
            control: DcudpR::new(DcudpRConfig::new(Bytes::new(PACKET))),
        };
        for operation in &operations {
            run.apply(operation);
        }
    }
}
