//! Controls of the tests: a fixed window and rate, and a record of all calls; and the calls that a queue pair makes.

use std::sync::{Arc, Mutex};

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, Echo, HopTelemetry,
    Reaction, Window,
};

use incastle_rdma::{Arrival, Config, Notification, Opcode, Packet, QueuePair, Verb};
use incastle_units::{Bytes, Ecn, Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::net::{Fate, Net, config, us};
use super::script::assert_lines;

/// A control that does nothing.
pub(crate) struct Fixed {
    pub(crate) window: Window,
    pub(crate) rate: Option<Rate>,
    pub(crate) calls: Calls,
    /// The rate after the next acknowledgement.
    pub(crate) then: Option<Rate>,
    pub(crate) timer: Option<Time>,
}

/// The calls, as lines.
pub(crate) type Calls = Arc<Mutex<Vec<String>>>;

impl Default for Fixed {
    fn default() -> Self {
        Self {
            window: Window::Unlimited,
            rate: None,
            calls: Calls::default(),
            then: None,
            timer: None,
        }
    }
}

impl Fixed {
    pub(crate) fn rate(rate: Rate) -> Algorithm {
        Self {
            rate: Some(rate),
            ..Self::default()
        }
        .into()
    }

    pub(crate) fn window(bytes: u64) -> Algorithm {
        Self {
            window: Window::Limited(Bytes::new(bytes)),
            ..Self::default()
        }
        .into()
    }

    fn note(&self, cx: &Context<'_>, call: &str) {
        let at = cx.now.as_ps() / 1_000_000;
        let (una, nxt) = (cx.snd_una, cx.snd_nxt);
        let line = format!("{at} {call} una {una} nxt {nxt}");
        self.calls.lock().expect("one thread").push(line);
    }
}

impl From<Fixed> for Algorithm {
    fn from(fixed: Fixed) -> Self {
        Self::Custom(Box::new(fixed))
    }
}

impl Controller for Fixed {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        let rtt = ack.rtt.map_or(0, |rtt| rtt.as_ps() / 1_000_000);
        let echo = if ack.echo == Echo::Congestion {
            " echo"
        } else {
            ""
        };
        let (acked, hops) = (ack.acked.count(), ack.hops.len());
        let phase = format!("{:?} {:?}", ack.phase, ack.limited_by).to_lowercase();
        let call = format!(
            "ack {acked} in {} rtt {rtt} hops {hops} {phase}{echo}",
            ack.segments
        );
        self.note(cx, &call);
        if let Some(rate) = self.then.take() {
            self.rate = Some(rate);
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        self.note(cx, &format!("{event:?}"));
        Reaction::Ignored
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.note(cx, "timer");
        self.timer = self.timer.map(|at| at + Span::from_us(100));
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn window(&self) -> Window {
        self.window
    }

    fn pacing(&self) -> Option<Rate> {
        self.rate
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

/// A net whose endpoint A has this control, and B the same with another record.
fn net_of(config: &Config, make: impl Fn() -> Fixed) -> (Net, Calls) {
    let records = std::cell::RefCell::new(Vec::new());
    let net = Net::controlled(config, || {
        let fixed = make();
        records.borrow_mut().push(Arc::clone(&fixed.calls));
        fixed.into()
    });
    let calls = Arc::clone(&records.borrow()[0]);
    (net, calls)
}

#[track_caller]
fn assert_calls(calls: &Calls, expected: &[&str]) {
    assert_lines(
        &calls.lock().expect("one thread"),
        &expected
            .iter()
            .map(|line| (*line).to_string())
            .collect::<Vec<_>>(),
    );
}

/// Sequence numbers of a control count payload bytes. The NAK is an acknowledgement first, and `snd_nxt` is back
/// already then; the loss comes after it.
#[test]
fn acknowledgements_and_losses_reach_the_control() {
    let (mut net, calls) = net_of(&config(), Fixed::default);
    net.judge = Box::new(|sent| match sent.line(Fate::Pass).as_str() {
        "1 A write 1 middle" => Fate::Drop,
        _ => Fate::Pass,
    });
    net.post(0, Verb::Write, 3500);
    net.run(us(1000));
    assert_calls(
        &calls,
        &[
            "21 ack 1000 in 1 rtt 21 hops 0 open application una 1000 nxt 3500",
            "23 ack 0 in 1 rtt 21 hops 0 recovery application una 1000 nxt 1000",
            "23 Loss { count: 1, largest: 1000 } una 1000 nxt 1000",
            "44 ack 1000 in 1 rtt 21 hops 0 recovery application una 2000 nxt 3500",
            "45 ack 1000 in 1 rtt 21 hops 0 recovery application una 3000 nxt 3500",
            "45 ack 500 in 1 rtt 20 hops 0 open application una 3500 nxt 3500",
        ],
    );
}

#[test]
fn timeouts_and_marks_reach_the_control() {
    let echo = Config {
        notification: Notification::Echo,
        ..config()
    };
    let (mut net, calls) = net_of(&echo, || Fixed {
        window: Window::Limited(Bytes::new(1000)),
        ..Fixed::default()
    });
    net.judge = Box::new(|sent| match sent.line(Fate::Pass).as_str() {
        "0 A write 0 first req" | "100 A write 0 first req again" => Fate::Drop,
        line if line.contains("write") => Fate::Mark,
        _ => Fate::Pass,
    });
    net.post(0, Verb::Write, 2000);
    net.run(us(1000));
    assert_calls(
        &calls,
        &[
            "100 Timeout { backoff: 0 } una 0 nxt 0",
            "200 Timeout { backoff: 1 } una 0 nxt 0",
            "221 ack 1000 in 1 rtt 21 hops 0 open window echo una 1000 nxt 1000",
            "221 Ecn una 1000 nxt 1000",
            "242 ack 1000 in 1 rtt 21 hops 0 open application echo una 2000 nxt 2000",
            "242 Ecn una 2000 nxt 2000",
        ],
    );
}

/// A CNP is no acknowledgement.
#[test]
fn a_cnp_reaches_the_control() {
    let (mut net, calls) = net_of(&config(), Fixed::default);
    net.judge = Box::new(|sent| {
        if sent.from == 0 {
            Fate::Mark
        } else {
            Fate::Pass
        }
    });
    net.post(0, Verb::Write, 1000);
    net.run(us(1000));
    assert_calls(
        &calls,
        &[
            "21 Ecn una 0 nxt 1000",
            "21 ack 1000 in 1 rtt 21 hops 0 open application una 1000 nxt 1000",
        ],
    );
}

/// The telemetry of an acknowledgement is passed on.
#[test]
fn telemetry_reaches_the_control() {
    let fixed = Fixed::default();
    let calls = Arc::clone(&fixed.calls);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut pair = QueuePair::new(Arc::new(config()), fixed.into());
    pair.post(Verb::Write, 1000);
    let data = pair.poll_data(us(5), &mut rng).expect("data");
    let ack = Packet {
        opcode: Opcode::Ack,
        payload: 0,
        ..data
    };
    let hop = HopTelemetry {
        rate: Rate::from_bits_per_second(1),
        at: us(1),
        sent: Bytes::new(1),
        queue: Bytes::new(1),
    };
    let arrival = Arrival {
        packet: &ack,
        ecn: Ecn::NotEct,
        hops: &[hop, hop],
        hop_count: Some(2),
    };
    pair.handle(us(30), &arrival, &mut rng);
    assert!(pair.is_finished());
    let expected = "30 ack 1000 in 1 rtt 25 hops 2 open application una 1000 nxt 1000";
    assert_calls(&calls, &[expected]);
}

/// The ACK of a WRITE that waits for the responses of a READ before it has no round-trip time.
#[test]
fn a_wait_for_responses_is_no_round_trip_time() {
    let (mut net, calls) = net_of(&config(), || Fixed {
        rate: Some(Rate::from_bits_per_second(8_000_000_000)),
        ..Fixed::default()
    });
    net.post(0, Verb::Read, 20_000);
    net.post(0, Verb::Write, 1000);
    net.run(us(1000));
    let expected = "40 ack 1000 in 1 rtt 0 hops 0 open application una 1000 nxt 1000";
    assert_calls(&calls, &[expected]);
}

/// A READ response acknowledges the WRITE before it, whose ACK was lost.
#[test]
fn a_response_acknowledges_what_is_before_it() {
    let (mut net, calls) = net_of(&config(), Fixed::default);
    net.judge = Box::new(|sent| match sent.packet.opcode {
        Opcode::Ack => Fate::Drop,
        _ => Fate::Pass,
    });
    net.post(0, Verb::Write, 1000);
    net.post(0, Verb::Read, 2000);
    net.run(us(1000));
    let expected = "22 ack 1000 in 1 rtt 0 hops 0 open application una 1000 nxt 1000";
    assert_calls(&calls, &[expected]);
    assert!(net.ends[0].pair.is_finished());
}

/// Timers of the control fire while something is to be sent, and each for its instant before the next packet else.
#[test]
fn timers_of_an_idle_pair_wait() {
    let fixed = Fixed {
        timer: Some(us(50)),
        ..Fixed::default()
    };
    let calls = Arc::clone(&fixed.calls);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let config = Config {
        ack_timeout: None,
        ..config()
    };
    let mut pair = QueuePair::new(Arc::new(config), fixed.into());
    assert_eq!(pair.poll_timeout(), None);
    pair.post(Verb::Write, 1000);
    // The instants 50, 150 and 250 us have passed.
    assert_eq!(pair.poll_timeout(), Some(us(50)));
    assert!(pair.poll_data(us(260), &mut rng).is_some());
    assert_eq!(pair.poll_timeout(), Some(us(350)));
    pair.handle_timeout(us(350), &mut rng);
    assert_eq!(pair.poll_timeout(), Some(us(450)));
    let expected = [
        "50 timer una 0 nxt 0",
        "150 timer una 0 nxt 0",
        "250 timer una 0 nxt 0",
        "350 timer una 0 nxt 1000",
    ];
    assert_calls(&calls, &expected);
}
