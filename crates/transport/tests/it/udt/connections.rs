//! Opening, transfers, closing.

use incastle_cases::cases;
use incastle_transport::udt::wire::{Dialect, SocketKind};
use incastle_transport::udt::{ByteConnection, Config, Event, Failure, MessageOptions, SendError};
use incastle_units::{Ecn, Span};

use super::hand::{self, GONE, Hand, dcudp, messages, shutdown};
use super::net::{Net, Path, Side, dcudp_config, mbit, transfer, udt_config};

const SECOND: Span = Span::from_secs(1);

#[test]
fn a_stream_arrives_under_udt() {
    let mut net = Net::client_server(1, Path::default(), &udt_config(), &udt_config());
    let took = transfer(&mut net, 10_000_000, SECOND * 20);
    assert_eq!(net.a.core().dialect(), Dialect::Udt);
    assert!(net.a.has(Event::Connected) && net.b.has(Event::Connected));
    // 80 Mbit at 1 Gbit/s: 80 ms on the wire at the least.
    assert!(took >= Span::from_ms(80), "{took}");
}

/// A connection of DCUDP over a path of that many Mbit/s.
fn dcudp_at(rate: u64) -> Net {
    let path = Path {
        rate: mbit(rate),
        ..Path::default()
    };
    Net::client_server(1, path, &dcudp_config(), &dcudp_config())
}

#[test]
fn a_stream_arrives_under_dcudp_at_the_rate_of_the_interface() {
    let mut net = dcudp_at(2_000);
    let took = transfer(&mut net, 10_000_000, SECOND * 20);
    assert_eq!(net.a.core().dialect(), Dialect::Dcudp);
    // No slow start: 80 Mbit of payload at 1 Gbit/s from the first packet on, 80 ms, and the
    // handshake's two round trips before.
    assert!(took >= Span::from_ms(80), "{took}");
    assert!(took <= Span::from_ms(81), "{took}");
    // The handshake's round trip replaced the assumption of 100 ms on both sides.
    assert!(net.a.core().smoothed_rtt() < Span::from_us(150));
    assert!(net.b.core().smoothed_rtt() < Span::from_us(150));
    assert_eq!(net.a.core().stats().retransmissions, 0);
}

#[test]
fn marks_keep_dcudp_from_losing_where_the_path_is_slower() {
    let mut net = dcudp_at(500);
    let took = transfer(&mut net, 10_000_000, SECOND * 20);
    let stats = net.a.core().stats();
    assert!(
        stats.congestion_modes > 0 && stats.ecn_reductions > 0,
        "{stats:?}"
    );
    assert!(net.a.core().in_congestion_mode() == net.b.core().observes_congestion());
    // 6868 packets of 1500 bytes at 500 Mbit/s: 165 ms.
    assert!(
        took >= Span::from_ms(164) && took <= Span::from_ms(330),
        "{took}"
    );
}

#[test]
fn two_endpoints_connect() {
    for (config, dialect) in [
        (udt_config(), Dialect::Udt),
        (dcudp_config(), Dialect::Dcudp),
    ] {
        let mut net = Net::rendezvous(3, Path::default(), &config, &config);
        transfer(&mut net, 100_000, SECOND * 5);
        assert_eq!(net.a.core().dialect(), dialect);
        assert_eq!(net.b.core().dialect(), dialect);
    }
}

#[test]
fn a_dcudp_end_that_meets_a_plain_one_falls_back() {
    let mut net = Net::rendezvous(3, Path::default(), &dcudp_config(), &udt_config());
    transfer(&mut net, 100_000, SECOND * 5);
    assert_eq!(net.a.core().dialect(), Dialect::Udt);
    assert_eq!(net.b.core().dialect(), Dialect::Udt);
    assert!(net.a.has(Event::Fallback) && !net.b.has(Event::Fallback));
}

#[test]
fn two_endpoints_connect_although_most_packets_are_lost() {
    for seed in 0..cases(20).into() {
        let path = Path {
            loss: 400,
            ..Path::default()
        };
        let patient = Config {
            connect_timeout: SECOND * 20,
            ..dcudp_config()
        };
        let mut net = Net::rendezvous(seed, path, &patient, &patient);
        net.run(SECOND * 20);
        assert!(net.a.has(Event::Connected), "seed {seed}");
        assert!(net.b.has(Event::Connected), "seed {seed}");
    }
}

#[test]
fn a_dcudp_client_falls_back_to_udt_with_a_plain_server() {
    let mut net = Net::client_server(1, Path::default(), &dcudp_config(), &udt_config());
    transfer(&mut net, 100_000, SECOND * 5);
    assert_eq!(net.a.core().dialect(), Dialect::Udt);
    assert!(net.a.has(Event::Fallback));
    assert!(!net.b.has(Event::Fallback));
}

#[test]
fn a_plain_client_never_sees_dcudp() {
    let mut net = Net::client_server(1, Path::default(), &udt_config(), &dcudp_config());
    transfer(&mut net, 100_000, SECOND * 5);
    assert_eq!(net.b.core().dialect(), Dialect::Udt);
    assert!(net.b.has(Event::Fallback));
}

#[test]
fn the_smaller_packet_size_and_window_count() {
    let small = Config {
        packet_size: 576,
        ..udt_config()
    };
    for (a, b) in [(small, udt_config()), (udt_config(), small)] {
        let mut net = Net::client_server(1, Path::default(), &a, &b);
        transfer(&mut net, 100_000, SECOND * 5);
        assert_eq!(net.a.core().payload(), 576 - 28 - 16);
        assert_eq!(net.b.core().payload(), 576 - 28 - 16);
    }
}

#[test]
fn nobody_answers() {
    let mut net = Net::client_server(1, Path::default(), &udt_config(), &udt_config());
    net.dark = true;
    net.run(SECOND * 4);
    assert_eq!(net.a.events, [Event::Failed(Failure::NoResponse)]);
}

#[test]
fn another_kind_of_socket_is_refused() {
    let messages = Config {
        socket_kind: SocketKind::Message,
        ..udt_config()
    };
    let mut net = Net::client_server(1, Path::default(), &messages, &udt_config());
    net.run(SECOND);
    assert_eq!(net.a.events, [Event::Failed(Failure::Refused)]);
}

#[test]
fn a_close_delivers_everything_first() {
    for config in [udt_config(), dcudp_config()] {
        let path = Path {
            loss: 50,
            ..Path::default()
        };
        let mut net = Net::client_server(5, path, &config, &config);
        net.run(SECOND);
        let bytes = 500_000;
        let (mut written, mut read) = (0, 0);
        crate::udt::net::write_some(&mut net.a, 1, &mut written, bytes);
        assert_eq!(written, bytes);
        let now = net.local(Side::A);
        net.a.connection.as_mut().expect("connected").close(now);
        let until = net.now + SECOND * 20;
        while !net.b.has(Event::PeerClosed) && net.step(until) {
            let now = net.local(Side::B);
            crate::udt::net::read_some(&mut net.b, now, 1, &mut read);
        }
        assert_eq!(read, bytes);
        assert!(net.a.has(Event::Finished));
    }
}

#[test]
fn both_endpoints_close_simultaneously_and_get_everything() {
    for config in [udt_config(), dcudp_config()] {
        for loss in [0, 30, 150] {
            let path = Path {
                loss,
                ..Path::default()
            };
            let mut net = Net::client_server(7, path, &config, &config);
            net.run(SECOND * 2);
            let bytes = [200_000, 400_000];
            let sides = [Side::A, Side::B];
            for (side, bytes) in sides.into_iter().zip(bytes) {
                let now = net.local(side);
                let end = net.endpoint_mut(side);
                crate::udt::net::write_some(end, 1, &mut 0, bytes);
                end.connection.as_mut().expect("connected").close(now);
            }
            let mut read = [0, 0];
            let until = net.now + SECOND * 60;
            while net.step(until) {
                for (i, side) in sides.into_iter().enumerate() {
                    let now = net.local(side);
                    crate::udt::net::read_some(net.endpoint_mut(side), now, 1, &mut read[i]);
                }
                if net.a.has(Event::Closed) && net.b.has(Event::Closed) {
                    break;
                }
            }
            assert_eq!(read, [bytes[1], bytes[0]], "loss {loss}");
            assert!(
                net.a.has(Event::Closed) && net.b.has(Event::Closed),
                "loss {loss}"
            );
        }
    }
}

#[test]
fn a_silent_peer_is_given_up_after_sixteen_exp_and_three_seconds() {
    let mut net = Net::client_server(1, Path::default(), &udt_config(), &udt_config());
    net.run(Span::from_ms(100));
    crate::udt::net::write_some(&mut net.a, 1, &mut 0, 5_000);
    net.dark = true;
    let start = net.now;
    while !net.a.has(Event::Failed(Failure::Silent(5_000))) {
        assert!(net.step(start + SECOND * 200), "{:?}", net.a.events);
    }
    // RTT = 100 ms before the first ACK2: N (4 x 100 + 50 + 10 ms), N = 1 to 16: 136 x 460 ms.
    let took = net.now - start;
    let expected = Span::from_ms(136 * 460);
    assert!(
        took >= expected - Span::from_ms(400) && took <= expected + Span::from_ms(400),
        "{took}"
    );
    assert_eq!(net.a.core().stats().timeouts, 15);
}

#[test]
fn a_silent_dcudp_peer_is_given_up_after_three_seconds() {
    let mut net = Net::client_server(1, Path::default(), &dcudp_config(), &dcudp_config());
    transfer(&mut net, 100_000, SECOND);
    net.run(SECOND);
    crate::udt::net::write_some(&mut net.a, 1, &mut 0, 5_000);
    net.dark = true;
    let start = net.now;
    while !net.a.has(Event::Failed(Failure::Silent(5_000))) {
        assert!(net.step(start + SECOND * 200), "{:?}", net.a.events);
    }
    // Sixteen periods of N x 10.6 ms are 1.4 s. The first after three seconds of silence counts,
    // from the last keep-alive, up to 0.6 s before.
    let took = net.now - start;
    assert!(took >= Span::from_ms(2_400), "{took}");
    assert!(took <= Span::from_ms(3_300), "{took}");
}

#[test]
fn two_idle_endpoints_keep_each_other_alive() {
    for config in [udt_config(), dcudp_config()] {
        let mut net = Net::client_server(1, Path::default(), &config, &config);
        net.run(SECOND * 60);
        for side in [Side::A, Side::B] {
            assert_eq!(net.end(side).events, [Event::Connected]);
            // About one in 0.6 s from each: 100 in a minute.
            let sent = net.end(side).core().stats().keep_alives;
            assert!((60..=130).contains(&sent), "{sent}");
        }
    }
}

#[test]
fn the_linger_time_is_kept() {
    let config = Config {
        linger: Some(Span::from_ms(500)),
        ..udt_config()
    };
    let mut net = Net::client_server(1, Path::default(), &config, &udt_config());
    net.run(SECOND);
    net.dark = true;
    crate::udt::net::write_some(&mut net.a, 1, &mut 0, 5_000);
    let (start, now) = (net.now, net.local(Side::A));
    net.a.connection.as_mut().expect("connected").close(now);
    while !net.a.has(Event::Failed(Failure::Linger(5_000))) {
        assert!(net.step(start + SECOND * 10), "{:?}", net.a.events);
    }
    assert_eq!(net.now - start, Span::from_ms(500));
}

#[test]
fn a_dcudp_shutdown_is_repeated_until_its_response() {
    let mut hand = Hand::new(&dcudp());
    let now = hand.now;
    hand.connection.close(now);
    assert_eq!(hand.controls(), [shutdown(false)]);
    // Not received: again at EXP, as data would be, not when a keep-alive would. 4 x 100 + 50 + 10,000
    // us, then twice that.
    for us in [10_450, 31_350] {
        assert_eq!(hand.timer_us(), us);
        assert_eq!(hand.go(us).controls(), [shutdown(false)]);
    }
    assert_eq!(hand.events(), []);
    // The peer closes too, and has no proof that ours arrived.
    hand.control(shutdown(false));
    assert_eq!(hand.controls(), [shutdown(true)]);
    assert_eq!(hand.events(), [Event::PeerClosed, Event::Closed]);
    hand.control(shutdown(false));
    assert_eq!(hand.controls(), [shutdown(true)]);
    // Now it has.
    hand.control(shutdown(true));
    assert_eq!(hand.controls(), []);
    assert_eq!(hand.connection.poll_timeout(), None);
}

#[test]
fn an_end_whose_peer_gave_up_waits_for_nothing() {
    let mut hand = Hand::fixed(&dcudp(), None, 1_000);
    hand.events();
    hand.connection.write(5_000);
    assert_eq!(hand.data().len(), 4);
    hand.control(GONE);
    let lost = Event::Failed(Failure::Gone(5_000));
    assert_eq!(hand.events(), [Event::PeerClosed, lost]);
    assert_eq!(hand.connection.poll_timeout(), None);
    assert_eq!(hand.controls(), []);
    // Where nothing was outstanding, nothing is lost.
    let mut hand = Hand::new(&dcudp());
    hand.control(GONE);
    assert_eq!(hand.events(), [Event::PeerClosed, Event::Closed]);
    assert_eq!(hand.controls(), []);
}

#[test]
fn a_udt_end_that_closes_first_acknowledges_what_arrived() {
    let mut hand = Hand::new(&hand::udt());
    hand.arrive(100, Ecn::NotEct);
    let now = hand.now;
    hand.connection.close(now);
    // The full ACK would have been due in 10 ms; after its shutdown the end is gone.
    let controls = hand.controls();
    assert_eq!(hand::ack_content(&controls[0]), (0, 101, 8192));
    assert_eq!(controls[1..], [shutdown(false)]);
    assert_eq!(hand.events(), [Event::Closed]);
    // Nothing unsaid, no ACK.
    let mut hand = Hand::new(&hand::udt());
    let now = hand.now;
    hand.connection.close(now);
    assert_eq!(hand.controls(), [shutdown(false)]);
}

#[test]
fn lingering_too_long_is_reported_once() {
    let config = Config {
        linger: Some(Span::from_ms(50)),
        ..hand::udt()
    };
    let mut hand = Hand::fixed(&config, None, 100);
    hand.connection.write(1_000);
    assert_eq!(hand.data(), [100]);
    let now = hand.now;
    hand.connection.close(now);
    hand.go(50_000);
    assert_eq!(hand.events(), [Event::Failed(Failure::Linger(1_000))]);
    assert_eq!(hand.controls(), [GONE]);
    assert_eq!(hand.controls(), []);
}

#[test]
fn a_send_buffer_takes_what_fits() {
    let hand = Hand::new(&udt_config());
    let mut connection = ByteConnection::new(hand.connection, 1_000);
    assert_eq!(connection.write(&[7; 600]), 600);
    assert_eq!(connection.write(&[7; 600]), 400);
    assert_eq!(connection.write(&[7; 600]), 0);
    assert_eq!(connection.buffered(), 1_000);
    connection.close(hand.now);
    assert_eq!(connection.write(&[7]), 0);
}

#[test]
fn a_message_fits_the_send_buffer_or_is_refused() {
    let hand = Hand::new(&messages(udt_config()));
    let mut connection = ByteConnection::new(hand.connection, 1_000);
    let options = MessageOptions::default();
    let mut send = |bytes: usize| connection.send_message(hand.now, &vec![7; bytes], options);
    let long = SendError::Long {
        bytes: 1_001,
        most: 1_000,
    };
    assert_eq!(send(1_001), Err(long));
    assert_eq!(send(600), Ok(()));
    assert_eq!(send(401), Err(SendError::Full));
    assert_eq!(send(400), Ok(()));
    assert_eq!(connection.buffered(), 1_000);
}

#[test]
fn an_abort_delivers_nothing_more_and_sends_one_shutdown() {
    let mut hand = Hand::fixed(&dcudp(), None, 1_000);
    hand.events();
    hand.connection.write(5000);
    hand.connection.abort();
    assert_eq!(hand.events(), [Event::Failed(Failure::Aborted(5000))]);
    assert_eq!(hand.controls(), [GONE]);
    assert_eq!(hand.controls(), []);
    hand.connection.abort();
    assert_eq!(hand.events(), []);
    // Before there is a peer, no shutdown is sent.
    let mut asking = Hand::asking(&dcudp(), crate::udt::net::law(&dcudp()));
    asking.poll();
    asking.connection.abort();
    assert_eq!(asking.events(), [Event::Failed(Failure::Aborted(0))]);
    assert_eq!(asking.poll().len(), 0);
}
