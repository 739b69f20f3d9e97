//! DCUDP's modes: first marks, OBS-change, ECE and CWR, ACKs every round trip, the return, silence,
//! and paths without ECN. The handshake took 100 us.

use incastle_transport::udt::wire::{Control, ControlHeader, DataHeader, Place};
use incastle_transport::udt::{Config, Dcudp, Event, ExitRuleConfig, Protocol};
use incastle_units::{Ecn, Span};

use super::hand::{Hand, ack_with, dcudp, number};
use super::net::{Net, Path, Side, dcudp_config, mbit, read_some, write_some};

const FULL: u64 = 1456;

/// K = 2: two round trips and two times two packets end congestion.
fn short_memory() -> Config {
    let law = Dcudp {
        exit_rule: ExitRuleConfig {
            k: 2,
            ..ExitRuleConfig::default()
        },
        ..Dcudp::new(mbit(1_000))
    };
    Config {
        protocol: Protocol::Dcudp(law),
        ..dcudp()
    }
}

/// The ACKs among what leaves: OBS and ECE.
fn acks(hand: &mut Hand) -> Vec<(bool, bool)> {
    let echo = |header: ControlHeader| match header.control {
        Control::Ack { ece, .. } => Some((header.observe, ece)),
        _ => None,
    };
    hand.headers().0.into_iter().filter_map(echo).collect()
}

/// Acknowledges the newest ACK.
fn ack2(hand: &mut Hand) {
    let own = hand.connection.stats().acks_sent as u32 - 1;
    hand.control(Control::Ack2 {
        number: number(own),
    });
}

#[test]
fn the_first_mark_is_reported_immediately_then_acks_leave_every_round_trip() {
    let mut hand = Hand::new(&dcudp());
    hand.go(10).arrive(100, Ecn::Ect0);
    assert_eq!(acks(&mut hand), []);
    hand.go(20).arrive(101, Ecn::Ce);
    assert_eq!(acks(&mut hand), [(true, true)]);
    // No second one immediately; the next after a round trip, 100 us, without an echo.
    hand.go(30).arrive(102, Ecn::Ect0);
    assert_eq!(acks(&mut hand), []);
    assert_eq!(hand.timer_us(), 120);
    assert_eq!(acks(hand.go(119)), []);
    assert_eq!(acks(hand.go(120)), [(true, false)]);
    // A mark is echoed by one ACK.
    hand.go(130).arrive(103, Ecn::Ce);
    assert_eq!(acks(hand.go(220)), [(true, true)]);
    // An interval in which nothing came has no ACK beyond those that wait for an ACK2.
    ack2(&mut hand);
    assert_eq!(acks(hand.go(5_000)), []);
}

#[test]
fn acks_of_intervals_without_data_go_on_while_the_mode_lasts() {
    let config = short_memory();
    let Protocol::Dcudp(law) = config.protocol else {
        unreachable!()
    };
    let mut hand = Hand::new(&Config {
        protocol: Protocol::Dcudp(Dcudp {
            ack_without_data: true,
            ..law
        }),
        ..config
    });
    // None in UDP mode.
    hand.go(10).arrive(100, Ecn::Ect0);
    hand.go(11_000).poll();
    ack2(&mut hand);
    assert_eq!(acks(hand.go(30_000)), []);
    hand.arrive(101, Ecn::Ce);
    assert_eq!(acks(&mut hand), [(true, true)]);
    ack2(&mut hand);
    for _ in 0..20 {
        let at = hand.timer_us();
        assert_eq!(acks(hand.go(at)), [(true, false)]);
        ack2(&mut hand);
    }
}

/// Where ACK2s take four hundred times as long as before, they must still find their ACKs.
#[test]
fn acks_become_rarer_where_ack2s_stay_away() {
    let mut hand = Hand::new(&dcudp());
    hand.arrive(100, Ecn::Ce);
    assert_eq!(acks(&mut hand), [(true, true)]);
    let mut count = 1;
    for i in 1..800 {
        hand.go(50 * i).arrive(100 + i as u32, Ecn::Ect0);
        count += acks(&mut hand).len() as u64;
    }
    // 64 in the first 6.4 ms, then a time e times as long for each 64 more: 64 (1 + ln 6.25) = 181.
    assert!((150..=200).contains(&count), "{count}");
    hand.control(Control::Ack2 { number: number(0) });
    assert_eq!(hand.connection.stats().refused.ack2s, 0);
    assert!(hand.connection.smoothed_rtt() > Span::from_ms(4));
}

#[test]
fn a_sender_in_congestion_mode_gets_its_acks_every_round_trip_without_a_mark() {
    let mut hand = Hand::new(&dcudp());
    hand.go(10).arrive(100, Ecn::Ect0);
    assert_eq!(hand.timer_us(), 10_000);
    hand.observing(Control::ObserveChange { change: 1 }, true);
    hand.poll();
    assert!(hand.timer_us() <= 110);
    assert_eq!(acks(hand.go(110)), [(true, false)]);
}

#[test]
fn cwr_ends_the_echo_of_its_interval() {
    let mut hand = Hand::new(&dcudp());
    hand.arrive(100, Ecn::Ce);
    assert_eq!(acks(&mut hand), [(true, true)]);
    hand.go(10).arrive(101, Ecn::Ce);
    hand.arrive_with(with_cwr(102), Ecn::Ect0);
    assert_eq!(acks(hand.go(100)), [(true, false)]);
}

fn with_cwr(sequence: u32) -> DataHeader {
    DataHeader {
        sequence: number(sequence),
        message: 1,
        place: Place::Only,
        in_order: true,
        observe: true,
        cwr: true,
        length: 1000,
    }
}

#[test]
fn the_exit_rule_clears_obs_and_the_senders_change_stops_the_acks() {
    let mut hand = Hand::new(&short_memory());
    hand.arrive(100, Ecn::Ce);
    hand.poll();
    hand.observing(Control::ObserveChange { change: 1 }, true);
    let answer = Control::ObserveChanged { change: 1 };
    assert_eq!(hand.controls(), [answer]);
    // Round trips of 50 us, nothing marked.
    let mut us = 0;
    for i in 0..12 {
        us += 200;
        hand.go(us).arrive(101 + 2 * i, Ecn::Ect0);
        hand.arrive(102 + 2 * i, Ecn::Ect0);
        hand.poll();
        us += 50;
        hand.go(us);
        ack2(&mut hand);
    }
    assert!(!hand.connection.observes_congestion());
    hand.go(us + 500).arrive(125, Ecn::Ect0);
    assert_eq!(acks(&mut hand), [(false, false)]);
    // The sender follows: ACKs come every SYN only.
    hand.observing(Control::ObserveChange { change: 2 }, false);
    hand.poll();
    ack2(&mut hand);
    hand.go(us + 600).arrive(126, Ecn::Ect0);
    assert_eq!(acks(hand.go(us + 1_000)), []);
    assert_eq!(acks(hand.go(20_000)), [(false, false)]);
    // A new mark brings it all back.
    hand.go(20_100).arrive(127, Ecn::Ce);
    assert_eq!(acks(&mut hand), [(true, true)]);
}

#[test]
fn an_echo_brings_the_sender_into_congestion_mode() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(1000 * FULL);
    let sent = hand.headers().1;
    assert!(!sent[0].observe && !sent[0].cwr);
    hand.go(100).observing(ack_with(0, 101, 10_000, true), true);
    assert!(hand.connection.in_congestion_mode());
    let (controls, data) = hand.headers();
    assert_eq!(controls[0].control, Control::Ack2 { number: number(0) });
    assert_eq!(controls[1].control, Control::ObserveChange { change: 1 });
    assert!(controls[1].observe);
    // CWR on the first packet after the reduction, OBS on all.
    let mut data = data;
    while data.len() < 3 {
        let at = hand.connection.poll_timeout().expect("a timer");
        hand.go_to(at);
        data.extend(hand.headers().1);
    }
    let bits: Vec<_> = data
        .iter()
        .map(|header| (header.observe, header.cwr))
        .collect();
    assert_eq!(bits, [(true, true), (true, false), (true, false)]);
    // OBS = 0 in the newest ACK ends it.
    hand.go(5_000)
        .observing(ack_with(1, 102, 10_000, false), true);
    assert!(hand.connection.in_congestion_mode());
    hand.observing(ack_with(2, 102, 10_000, false), false);
    assert!(!hand.connection.in_congestion_mode());
    let change = hand.headers().0;
    let last = change.last().expect("a change");
    assert_eq!(last.control, Control::ObserveChange { change: 2 });
    assert!(!last.observe);
}

#[test]
fn obs_alone_shows_that_the_ack_with_the_echo_was_lost() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(1000 * FULL);
    hand.poll();
    hand.go(100)
        .observing(ack_with(1, 101, 10_000, false), true);
    assert!(hand.connection.in_congestion_mode());
}

#[test]
fn an_obs_change_is_repeated_until_its_response() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(FULL);
    hand.poll();
    hand.go(100).observing(ack_with(0, 101, 10_000, true), true);
    hand.poll();
    assert_eq!(hand.connection.stats().changes_sent, 1);
    // After 2 RTT, 4 RTT, ...: 200, 400, 800 us of 100 us.
    for (us, sent) in [(299, 1), (300, 2), (699, 2), (700, 3), (1_500, 4)] {
        hand.go(us).poll();
        assert_eq!(hand.connection.stats().changes_sent, sent, "at {us}");
    }
    hand.control(Control::ObserveChanged { change: 1 });
    hand.go(9_000).poll();
    assert_eq!(hand.connection.stats().changes_sent, 4);
}

#[test]
fn an_obs_change_that_cannot_leave_requests_its_time_once() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(FULL);
    hand.poll();
    hand.go(100).observing(ack_with(0, 101, 10_000, true), true);
    // Nothing is polled, as where a socket takes nothing: the timers after it lie ahead.
    assert_eq!(hand.timer_us(), 100);
    assert!(hand.go(100).timer_us() > 100);
    assert!(hand.go(20_000).timer_us() > 20_000);
    hand.poll();
    assert_eq!(hand.connection.stats().changes_sent, 1);
    // The next one is counted from when it left.
    assert_eq!(hand.timer_us(), 20_200);
}

#[test]
fn acks_from_before_do_not_end_what_a_loss_has_begun() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(1000 * FULL);
    let mut sent = hand.data().len();
    while sent < 5 {
        let at = hand.connection.poll_timeout().expect("the pacer");
        hand.go_to(at);
        sent += hand.data().len();
    }
    hand.nak(&[100..=100]);
    assert!(hand.connection.in_congestion_mode());
    hand.poll();
    // This one left before the peer knew, although it is the newest.
    let early = hand.control_packet(ack_with(3, 103, 10_000, false), false);
    let answer = hand.control_packet(Control::ObserveChanged { change: 1 }, true);
    let late = hand.control_packet(ack_with(4, 103, 10_000, false), false);
    let nothing = incastle_transport::udt::wire::ControlBody::Empty;
    hand.handle(&answer, nothing, Ecn::NotEct);
    hand.handle(&early, nothing, Ecn::NotEct);
    assert!(hand.connection.in_congestion_mode());
    hand.handle(&late, nothing, Ecn::NotEct);
    assert!(!hand.connection.in_congestion_mode());
}

#[test]
fn an_old_ack_neither_begins_nor_ends_a_mode() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(1000 * FULL);
    hand.poll();
    hand.observing(ack_with(5, 101, 10_000, false), false);
    hand.observing(ack_with(4, 101, 10_000, false), true);
    assert!(!hand.connection.in_congestion_mode());
    hand.observing(ack_with(6, 101, 10_000, true), true);
    hand.observing(ack_with(3, 101, 10_000, false), false);
    assert!(hand.connection.in_congestion_mode());
}

#[test]
fn eight_round_trips_without_an_ack_stop_new_data() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(1_000_000 * FULL);
    let mut last = 0;
    // Without responses; ACKs come every SYN, so 10 ms and 8 x 100 us are allowed.
    for us in (0..30_000).step_by(20) {
        let data = hand.go(us).headers().1;
        let new = data
            .iter()
            .any(|header| header.sequence.word() >= 100 + last);
        last = last.max(
            data.iter()
                .map(|header| header.sequence.word() - 99)
                .max()
                .unwrap_or(0),
        );
        assert!(us <= 10_800 || !new, "new data at {us}");
        assert!(us > 10_400 || new || us < 40, "no data at {us}");
    }
    // An ACK lets them go on.
    hand.control(ack_with(0, 100 + last, 10_000, false));
    assert_eq!(hand.data()[0], 100 + last);
}

#[test]
fn a_path_that_drops_ect_is_abandoned_after_ect_timeouts() {
    let with = |ect_timeouts| {
        let mut config = dcudp();
        if let Protocol::Dcudp(dcudp) = &mut config.protocol {
            dcudp.ect_timeouts = ect_timeouts;
        }
        Hand::new(&config)
    };
    let expire = |hand: &mut Hand, times: u64| {
        for _ in 0..1000 {
            if hand.connection.stats().timeouts >= times {
                return;
            }
            let at = hand.connection.poll_timeout().expect("a timer");
            hand.go_to(at);
            hand.poll();
        }
        panic!("no timeout");
    };
    let mut hand = with(Some(3));
    hand.connection.write(10 * FULL);
    hand.poll();
    expire(&mut hand, 2);
    assert_eq!(hand.events(), []);
    expire(&mut hand, 3);
    assert_eq!(hand.events(), [Event::NoEcn]);
    assert!(!hand.connection.carries_ect());
    // One arrival shows that the others were lost for another reason.
    let mut hand = with(Some(3));
    hand.connection.write(10 * FULL);
    hand.poll();
    hand.control(ack_with(0, 101, 10_000, false));
    hand.events();
    expire(&mut hand, 5);
    assert_eq!(hand.events(), []);
    // The paper has no such rule.
    let mut hand = with(None);
    hand.connection.write(10 * FULL);
    hand.poll();
    expire(&mut hand, 5);
    assert!(hand.connection.carries_ect());
}

#[test]
fn a_path_that_clears_ect_is_noticed_and_udts_control_takes_over() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(10 * FULL);
    assert_eq!(hand.poll()[0].transmit.ecn, Ecn::Ect0);
    let mut control = ack_with(0, 101, 10_000, false);
    if let Control::Ack { not_ect, .. } = &mut control {
        *not_ect = true;
    }
    hand.go(100).control(control);
    assert_eq!(hand.events(), [Event::NoEcn]);
    // UDT's slow start: a window and no rate.
    assert_eq!(hand.connection.control_state().mode, None);
    let later = hand.poll();
    let data = later.last().expect("data");
    assert_eq!(data.transmit.ecn, Ecn::NotEct);
    // The other side of it: a data packet without ECT.
    let mut hand = Hand::new(&dcudp());
    hand.arrive(100, Ecn::NotEct);
    let controls = hand.go(10_000).controls();
    assert!(
        matches!(controls[0], Control::Ack { not_ect: true, .. }),
        "{controls:?}"
    );
}

#[test]
fn the_flow_window_is_what_was_agreed_from_the_first_packet() {
    let mut hand = Hand::fixed(&dcudp(), None, 1_000_000);
    hand.connection.write(50_000 * FULL);
    assert_eq!(hand.data().len(), 10_000);
}

/// For a second a quarter of all packets is lost, a quarter comes twice, all overtake each other,
/// and all are marked. A clean path follows. Both endpoints must be in one mode in the end.
#[test]
fn both_endpoints_agree_on_the_mode_after_any_storm() {
    for seed in 0..12 {
        let mut net = Net::client_server(seed, Path::default(), &dcudp_config(), &dcudp_config());
        net.run(Span::from_ms(10));
        net.path = Path {
            loss: 250,
            duplication: 250,
            jitter: Span::from_ms(2),
            threshold: 0,
            ..Path::default()
        };
        let (mut written, mut read) = (0, 0);
        let calm_from = net.now + Span::from_secs(1);
        let until = calm_from + Span::from_secs(2);
        let mut modes = 0;
        while net.now < until {
            if net.now >= calm_from {
                net.path = Path {
                    threshold: 1_000,
                    rate: mbit(2_000),
                    ..Path::default()
                };
            }
            // 100 KB every ten milliseconds.
            write_some(&mut net.a, 1, &mut written, read + 100_000);
            net.run(Span::from_ms(10));
            let now = net.local(Side::B);
            read_some(&mut net.b, now, 1, &mut read);
            modes += u32::from(net.a.core().in_congestion_mode());
        }
        assert!(modes > 10, "seed {seed}: the storm was felt");
        assert!(!net.a.core().in_congestion_mode(), "seed {seed}");
        assert!(!net.b.core().observes_congestion(), "seed {seed}");
    }
}
