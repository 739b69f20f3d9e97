//! Handshakes of a peer that lies: tiny packets, impossible windows, replayed cookies, floods.

use incastle_transport::udt::wire::{
    ControlBody, Dialect, Extension, Handshake, HandshakeKind, SocketKind, write,
};
use incastle_transport::udt::{Connection, Event, Identity, Listener, PeerAddress, Response};
use incastle_units::{Ecn, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::hand::{FIRST, Hand, PEER, dcudp, handshake_packet, number, response, udt};
use super::net::{CLIENT, KEY};

#[test]
fn impossible_responses_to_a_handshake_have_no_effect() {
    let config = udt();
    let mut hand = Hand::asking(&config, crate::udt::net::law(&config));
    hand.poll();
    let ask = response(&config, HandshakeKind::Request);
    // A stranger without our first number.
    let stranger = Handshake {
        first: number(FIRST + 1),
        ..ask
    };
    hand.handshake(&stranger);
    hand.handshake(&Handshake {
        kind: HandshakeKind::Refused,
        ..stranger
    });
    // A response before the cookie.
    let answer = response(&config, HandshakeKind::Response);
    hand.handshake(&answer);
    assert_eq!(hand.connection.stats().refused.handshakes, 3);
    hand.handshake(&ask);
    for impossible in [
        Handshake {
            packet_size: 0,
            ..answer
        },
        Handshake {
            packet_size: 127,
            ..answer
        },
        Handshake {
            packet_size: 9000,
            ..answer
        },
        Handshake {
            packet_size: u32::MAX,
            ..answer
        },
        Handshake {
            flow_window: 0,
            ..answer
        },
        Handshake {
            flow_window: 1 << 31,
            ..answer
        },
        Handshake {
            version: 5,
            ..answer
        },
        Handshake {
            socket: 0,
            ..answer
        },
    ] {
        hand.handshake(&impossible);
    }
    assert_eq!(hand.connection.stats().refused.handshakes, 11);
    assert_eq!(hand.events(), []);
    hand.handshake(&answer);
    assert_eq!(hand.events(), [Event::Connected]);
    // A refusal comes too late.
    hand.handshake(&Handshake {
        kind: HandshakeKind::Refused,
        ..answer
    });
    assert_eq!(hand.events(), []);
}

fn request(kind: HandshakeKind, cookie: u32) -> Handshake {
    Handshake {
        version: 4,
        kind,
        cookie,
        ..response(&udt(), kind)
    }
}

/// The cookie that a listener issues.
fn cookie(listener: &Listener, now: Time, peer: PeerAddress) -> u32 {
    let request = request(HandshakeKind::Request, 0);
    match listener.handle(now, peer, &handshake_packet(0), &request) {
        Response::Reply(packet, handshake) => {
            assert_eq!(packet.destination, PEER);
            assert_eq!(handshake.kind, HandshakeKind::Request);
            handshake.cookie
        }
        other => panic!("a cookie, not {other:?}"),
    }
}

#[test]
fn a_cookie_is_good_for_one_address_port_time_and_connection() {
    let listener = Listener::new(&udt(), KEY);
    let now = Time::ZERO + Span::from_secs(6_000);
    let cookie = cookie(&listener, now, CLIENT);
    let back = request(HandshakeKind::Response, cookie);
    let answer = |listener: &Listener, now, peer, back: &Handshake| {
        listener.handle(now, peer, &handshake_packet(0), back)
    };
    let accepted = |response: Response| matches!(response, Response::Accept(_));
    assert!(accepted(answer(&listener, now, CLIENT, &back)));
    assert!(accepted(answer(
        &listener,
        now + Span::from_secs(60),
        CLIENT,
        &back
    )));
    // Replayed later, from another address or port, for another socket, under another key.
    let elsewhere = PeerAddress {
        ip: [2; 16],
        ..CLIENT
    };
    let other_port = PeerAddress {
        port: 4001,
        ..CLIENT
    };
    assert_eq!(
        answer(&listener, now + Span::from_secs(120), CLIENT, &back),
        Response::Ignore
    );
    assert_eq!(answer(&listener, now, elsewhere, &back), Response::Ignore);
    assert_eq!(answer(&listener, now, other_port, &back), Response::Ignore);
    let other_socket = Handshake { socket: 10, ..back };
    assert_eq!(
        answer(&listener, now, CLIENT, &other_socket),
        Response::Ignore
    );
    let other_first = Handshake {
        first: number(5),
        ..back
    };
    assert_eq!(
        answer(&listener, now, CLIENT, &other_first),
        Response::Ignore
    );
    let other_key = Listener::new(&udt(), [0; 16]);
    assert_eq!(answer(&other_key, now, CLIENT, &back), Response::Ignore);
    // Guessed.
    let guessed = Handshake { cookie: 0, ..back };
    assert_eq!(answer(&listener, now, CLIENT, &guessed), Response::Ignore);
}

#[test]
fn a_listener_refuses_tiny_packets_and_impossible_windows() {
    let listener = Listener::new(&udt(), KEY);
    let cookie = cookie(&listener, Time::ZERO, CLIENT);
    let back = request(HandshakeKind::Response, cookie);
    for impossible in [
        Handshake {
            packet_size: 0,
            ..back
        },
        Handshake {
            packet_size: 127,
            ..back
        },
        Handshake {
            flow_window: 0,
            ..back
        },
        Handshake {
            flow_window: 1 << 31,
            ..back
        },
        Handshake { version: 3, ..back },
        Handshake {
            socket_kind: SocketKind::Message,
            ..back
        },
    ] {
        match listener.handle(Time::ZERO, CLIENT, &handshake_packet(0), &impossible) {
            Response::Reply(_, refusal) => assert_eq!(refusal.kind, HandshakeKind::Refused),
            other => panic!("a refusal, not {other:?}"),
        }
    }
    let known = handshake_packet(55);
    assert_eq!(
        listener.handle(Time::ZERO, CLIENT, &known, &back),
        Response::Ignore
    );
}

#[test]
fn nothing_is_amplified_before_the_cookie_returns() {
    // Towards a client RFC 9000 allows three times as much; here it is never more than once.
    let listener = Listener::new(&dcudp(), KEY);
    for kind in [
        HandshakeKind::Request,
        HandshakeKind::Response,
        HandshakeKind::Rendezvous,
        HandshakeKind::RendezvousDone,
        HandshakeKind::Refused,
    ] {
        for extension in [None, Some(Extension::Offer { socket: PEER })] {
            let request = Handshake {
                extension,
                ..request(kind, 3)
            };
            let mut inward = Vec::new();
            let body = ControlBody::Handshake(&request);
            write(&handshake_packet(0), body, &[], Dialect::Udt, &mut inward);
            let answer = listener.handle(Time::ZERO, CLIENT, &handshake_packet(0), &request);
            if let Response::Reply(packet, reply) = answer {
                let mut outward = Vec::new();
                write(
                    &packet,
                    ControlBody::Handshake(&reply),
                    &[],
                    Dialect::Udt,
                    &mut outward,
                );
                assert!(outward.len() <= inward.len());
            }
        }
    }
}

#[test]
fn a_flood_of_requests_leaves_nothing_behind() {
    let listener = Listener::new(&udt(), KEY);
    for i in 0..100_000_u32 {
        let mut ip = [0; 16];
        ip[..4].copy_from_slice(&i.to_be_bytes());
        let peer = PeerAddress { ip, port: 9 };
        cookie(&listener, Time::ZERO, peer);
    }
    // The listener is unchanged: it owns no table, as its size shows.
    assert!(size_of::<Listener>() < 512);
    let back = request(
        HandshakeKind::Response,
        cookie(&listener, Time::ZERO, CLIENT),
    );
    let answer = listener.handle(Time::ZERO, CLIENT, &handshake_packet(0), &back);
    assert!(matches!(answer, Response::Accept(_)));
}

/// The response of a DCUDP server to a client with or without an offer.
#[test]
fn a_server_responds_to_an_offer_and_nothing_else() {
    let config = dcudp();
    let listener = Listener::new(&config, KEY);
    let offers = [
        None,
        Some(Extension::Offer { socket: 4 }),
        Some(Extension::Offer { socket: PEER }),
    ];
    let answers = [None, None, Some(Extension::Answer { socket: 22 })];
    for (extension, answer) in offers.into_iter().zip(answers) {
        let cookie = cookie(&listener, Time::ZERO, CLIENT);
        let back = Handshake {
            extension,
            ..request(HandshakeKind::Response, cookie)
        };
        let accepted = listener.handle(Time::ZERO, CLIENT, &handshake_packet(0), &back);
        let Response::Accept(incoming) = accepted else {
            panic!("accepted, not {accepted:?}");
        };
        let law = crate::udt::net::law(&config);
        let mut server = Connection::server(&config, law, 22, &incoming, Time::ZERO);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let sent = server
            .poll_transmit(Time::ZERO, &mut rng)
            .expect("an answer");
        assert_eq!(sent.packet.destination, PEER);
        let ControlBody::Handshake(sent) = server.body() else {
            panic!("a handshake");
        };
        assert_eq!(
            (sent.kind, sent.extension),
            (HandshakeKind::Response, answer)
        );
    }
}

#[test]
fn a_rendezvous_does_not_meet_itself() {
    let config = dcudp();
    let identity = Identity {
        socket: PEER,
        first: number(FIRST),
    };
    let law = crate::udt::net::law(&config);
    let mut end = Connection::rendezvous(&config, law, identity, Time::ZERO);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    for kind in [HandshakeKind::Rendezvous, HandshakeKind::Response] {
        let own = request(kind, 0);
        let packet = handshake_packet(0);
        end.handle(
            Time::ZERO,
            &packet,
            ControlBody::Handshake(&own),
            Ecn::NotEct,
            &mut rng,
        );
    }
    assert_eq!(end.stats().refused.handshakes, 2);
    assert_eq!(end.poll_event(), None);
}

#[test]
fn handshakes_that_cross_in_a_rendezvous_are_no_round_trip() {
    let config = dcudp();
    let met = |last: HandshakeKind| {
        let identity = Identity {
            socket: 7,
            first: number(FIRST),
        };
        let law = crate::udt::net::law(&config);
        let mut end = Connection::rendezvous(&config, law, identity, Time::ZERO);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for (us, kind) in [(0, HandshakeKind::Rendezvous), (80, last)] {
            let now = Time::ZERO + Span::from_us(us);
            let sent = Handshake {
                extension: Some(Extension::Offer { socket: PEER }),
                ..request(kind, 0)
            };
            let packet = handshake_packet(7);
            end.handle(
                now,
                &packet,
                ControlBody::Handshake(&sent),
                Ecn::NotEct,
                &mut rng,
            );
            while end.poll_transmit(now, &mut rng).is_some() {}
        }
        assert_eq!(end.poll_event(), Some(Event::Connected));
        assert_eq!(end.dialect(), Dialect::Dcudp);
        end.smoothed_rtt()
    };
    // The peer's -1 may have left before ours came; its -2 did not.
    assert_eq!(met(HandshakeKind::Response), Span::from_ms(100));
    assert_eq!(met(HandshakeKind::RendezvousDone), Span::from_us(80));
}
