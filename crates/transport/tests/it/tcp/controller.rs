//! The calls of a controller: order, flight, causes.

use std::sync::mpsc::{Receiver, Sender, channel};

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, Echo, Reaction,
    Window,
};
use incastle_transport::tcp::{Config, Connection, EcnMode, Recovery, Role};
use incastle_units::{Bytes, Span};

use super::wire::{Fate, Packet, Wire, assert_trace, config, lose, ms, new_reno, outage};

/// A controller with a fixed window that writes down each call.
struct Spy {
    window: u64,
    calls: Sender<String>,
}

impl Spy {
    fn note(&self, cx: &Context<'_>, what: &str) {
        let at = cx.now.as_ps() / 1_000_000_000;
        let (una, nxt, flight) = (cx.snd_una, cx.snd_nxt, cx.in_flight.count());
        let line = format!("{at} {what}: una {una} nxt {nxt} flight {flight}");
        self.calls.send(line).expect("the test listens");
    }
}

impl Controller for Spy {
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        self.note(cx, &format!("sent {}", size.count()));
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        assert_eq!(
            (ack.hops, ack.hop_count, ack.remote_delay),
            (&[][..], None, None),
            "TCP has no telemetry"
        );
        let echo = if ack.echo == Echo::Congestion {
            " ECE"
        } else {
            ""
        };
        let (acked, segments, phase) = (ack.acked.count(), ack.segments, ack.phase);
        self.note(cx, &format!("ack {acked}/{segments}{echo} {phase:?}"));
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        self.note(cx, &format!("{event:?}"));
        Reaction::Reduced
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new(self.window))
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

fn spied(
    config: &Config,
    segments: u64,
    judge: impl FnMut(&Packet) -> Fate + 'static,
) -> (Wire, Receiver<String>) {
    let (calls, heard) = channel();
    let spy = Spy {
        window: 1000 * segments,
        calls,
    };
    let endpoints = [
        Connection::new(config, Algorithm::Custom(Box::new(spy)), Role::Active),
        Connection::new(config, new_reno(config), Role::Passive),
    ];
    (Wire::new(endpoints, judge), heard)
}

#[track_caller]
fn assert_calls(heard: &Receiver<String>, expected: &str) {
    let got: Vec<String> = heard.try_iter().collect();
    assert_trace(&got, expected);
}

/// Compares the calls with this word.
#[track_caller]
fn assert_some_calls(heard: &Receiver<String>, word: &str, expected: &str) {
    let got = heard.try_iter().filter(|call| call.contains(word));
    assert_trace(&got.collect::<Vec<_>>(), expected);
}

#[test]
fn acks_come_before_their_echo() {
    let config = Config {
        ecn: EcnMode::Classic,
        delayed_ack_count: 2,
        ..config()
    };
    let (mut wire, heard) = spied(&config, 2, |packet| {
        if packet.is_first(1000) {
            Fate::Mark
        } else {
            Fate::Pass
        }
    });
    wire.endpoints[0].write(3500);
    wire.run(ms(30));
    assert_calls(
        &heard,
        "0 sent 1000: una 0 nxt 1000 flight 1000
         0 sent 1000: una 0 nxt 2000 flight 2000
         20 ack 2000/2 ECE Open: una 2000 nxt 2000 flight 0
         20 Ecn: una 2000 nxt 2000 flight 0
         20 sent 1000: una 2000 nxt 3000 flight 1000
         20 sent 500: una 2000 nxt 3500 flight 1500",
    );
    assert_eq!(wire.endpoints[0].stats().ecn_reductions, 1);
}

#[test]
fn a_loss_is_measured_without_limited_transmit() {
    let (mut wire, heard) = spied(&config(), 4, lose(&[0]));
    wire.endpoints[0].write(9000);
    wire.run(ms(40));
    assert_calls(
        &heard,
        "0 sent 1000: una 0 nxt 1000 flight 1000
         0 sent 1000: una 0 nxt 2000 flight 2000
         0 sent 1000: una 0 nxt 3000 flight 3000
         0 sent 1000: una 0 nxt 4000 flight 4000
         20 ack 0/1 Open: una 0 nxt 4000 flight 4000
         20 sent 1000: una 0 nxt 5000 flight 4000
         20 ack 0/1 Open: una 0 nxt 5000 flight 4000
         20 sent 1000: una 0 nxt 6000 flight 4000
         20 ack 0/1 Recovery: una 0 nxt 6000 flight 4000
         20 Loss { count: 1, largest: 0 }: una 0 nxt 6000 flight 4000
         20 sent 1000: una 0 nxt 6000 flight 6000
         20 sent 1000: una 0 nxt 7000 flight 7000
         40 ack 0/1 Recovery: una 0 nxt 7000 flight 7000
         40 sent 1000: una 0 nxt 8000 flight 8000
         40 ack 0/1 Recovery: una 0 nxt 8000 flight 8000
         40 sent 1000: una 0 nxt 9000 flight 9000
         40 ack 6000/6 Open: una 6000 nxt 9000 flight 3000
         40 ack 1000/1 Open: una 7000 nxt 9000 flight 2000",
    );
}

#[test]
fn limited_transmit_of_an_earlier_reordering_counts_like_other_data() {
    let (mut wire, heard) = spied(&config(), 3, |packet| {
        if packet.is_first(0) {
            Fate::Delay(Span::from_ms(1))
        } else if packet.is_first(3000) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    wire.endpoints[0].write(20_000);
    wire.run(ms(70));
    // 3000 and 4000 left beyond the window; at the loss of 3000 only 6000 and 7000 do not count.
    assert_some_calls(
        &heard,
        "Loss",
        "60 Loss { count: 1, largest: 3000 }: una 3000 nxt 8000 flight 3000",
    );
}

#[test]
fn sack_names_how_many_are_lost() {
    let config = Config {
        recovery: Recovery::Sack,
        limited_transmit: false,
        ..config()
    };
    let (mut wire, heard) = spied(&config, 8, lose(&[0, 1000, 3000]));
    wire.endpoints[0].write(8000);
    wire.run(ms(25));
    assert_some_calls(
        &heard,
        "Loss",
        "20 Loss { count: 2, largest: 1000 }: una 0 nxt 8000 flight 8000",
    );
}

#[test]
fn timeouts_count_up_until_something_is_acknowledged() {
    let (mut wire, heard) = spied(&config(), 4, outage(0, 3000));
    wire.endpoints[0].write(4000);
    wire.run(ms(3100));
    assert_some_calls(
        &heard,
        "Timeout {",
        "1000 Timeout { backoff: 0 }: una 0 nxt 4000 flight 4000
         3000 Timeout { backoff: 1 }: una 0 nxt 4000 flight 4000",
    );
}

#[test]
fn the_first_data_are_no_restart() {
    let (mut wire, heard) = spied(&config(), 4, |_| Fate::Pass);
    wire.run(ms(5000));
    wire.endpoints[0].write(1000);
    wire.run(ms(6000));
    wire.endpoints[0].write(1000);
    wire.run(ms(6010));
    assert_calls(
        &heard,
        "5000 sent 1000: una 0 nxt 1000 flight 1000
         5020 ack 1000/1 Open: una 1000 nxt 1000 flight 0
         6000 IdleRestart: una 1000 nxt 1000 flight 0
         6000 sent 1000: una 1000 nxt 2000 flight 1000",
    );
}
