//! Packets of a peer that lies: each is counted and has no other effect.

use incastle_transport::udt::wire::{
    Content, Control, ControlBody, DataHeader, Dialect, Packet, Place, parse,
};
use incastle_transport::udt::{ByteConnection, Config, Event, Failure, Refused};
use incastle_units::{Ecn, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::hand::{
    FIRST, GONE, Hand, PEER, SOCKET, ack, ack_with, data, dcudp, messages, number, shutdown, udt,
};

const FULL: u64 = 1456;

/// A connection with ten packets outstanding.
fn sending(config: &Config) -> Hand {
    let mut hand = Hand::fixed(config, None, 1_000);
    hand.connection.write(10 * FULL);
    assert_eq!(hand.data().len(), 10);
    hand
}

fn refused(hand: &Hand) -> Refused {
    hand.connection.stats().refused
}

#[test]
fn an_off_path_shutdown_has_no_effect() {
    for config in [udt(), dcudp()] {
        let mut hand = sending(&config);
        for destination in [0, 1, SOCKET + 1, PEER, u32::MAX] {
            for word in [shutdown(false), GONE] {
                let mut packet = hand.control_packet(word, false);
                packet.destination = destination;
                hand.handle(&packet, ControlBody::Empty, Ecn::NotEct);
            }
        }
        assert_eq!(refused(&hand).wrong_socket, 10);
        assert_eq!(hand.events(), []);
        assert!(!hand.connection.is_over());
    }
}

#[test]
fn a_shutdown_with_an_unbelievable_number_has_no_effect_under_dcudp() {
    let mut hand = sending(&dcudp());
    hand.control(Control::KeepAlive);
    let packet = hand.control_packet(shutdown(false), false);
    let Content::Control(mut header) = packet.content else {
        panic!("a control packet");
    };
    for distance in [1 << 16, 1 << 20, 1 << 29] {
        header.number = number(FIRST).plus(distance + 1);
        let forged = Packet {
            content: Content::Control(header),
            ..packet
        };
        hand.handle(&forged, ControlBody::Empty, Ecn::NotEct);
    }
    assert_eq!(refused(&hand).unbelievable_controls, 3);
    assert_eq!(hand.events(), []);
}

#[test]
fn a_repeated_control_packet_has_no_effect_under_dcudp() {
    let mut hand = sending(&dcudp());
    let packet = hand.control_packet(ack(0, 105), false);
    for _ in 0..3 {
        hand.handle(&packet, ControlBody::Empty, Ecn::NotEct);
    }
    assert_eq!(refused(&hand).duplicate_controls, 2);
    assert_eq!(hand.connection.stats().acks_received, 1);
}

#[test]
fn an_ack_beyond_what_was_sent_has_no_effect() {
    for config in [udt(), dcudp()] {
        let mut hand = sending(&config);
        for next in [111, 200, FIRST + (1 << 29)] {
            hand.control(ack(0, next));
            hand.control(Control::LightAck { next: number(next) });
        }
        assert_eq!(refused(&hand).acks, 6);
        assert_eq!(hand.connection.unacknowledged(), 10 * FULL);
        // No ACK2 for it either.
        assert_eq!(hand.poll(), []);
        // One that is late is not wrong.
        hand.control(ack(1, 104));
        hand.control(ack(2, 102));
        assert_eq!(refused(&hand).acks, 6);
        assert_eq!(hand.connection.unacknowledged(), 6 * FULL);
    }
}

#[test]
fn a_nak_of_what_was_never_sent_has_no_effect() {
    let mut hand = sending(&udt());
    hand.nak(&[110..=110, 99..=99, FIRST + 1000..=FIRST + 2000]);
    assert_eq!(refused(&hand).nak_ranges, 3);
    assert_eq!(hand.data(), []);
    // Acknowledged packets are not sent again.
    hand.control(ack(0, 105));
    hand.nak(&[100..=104]);
    assert_eq!(refused(&hand).nak_ranges, 4);
    assert_eq!(hand.data(), []);
}

#[test]
fn a_nak_of_a_huge_range_has_no_effect() {
    let mut hand = sending(&udt());
    hand.nak(&[100..=100 + (1 << 30) - 1, 105..=1 << 30, 100..=110]);
    assert_eq!(refused(&hand).nak_ranges, 3);
    assert_eq!(hand.data(), []);
    // A range that begins among what was acknowledged counts from there on.
    hand.control(ack(0, 105));
    hand.nak(&[102..=106]);
    assert_eq!(hand.data(), [105, 106]);
}

#[test]
fn an_advertised_window_of_two_to_the_31_is_limited() {
    let mut hand = Hand::fixed(&udt(), None, 1_000_000);
    hand.connection.write(20_000 * FULL);
    assert_eq!(hand.data().len(), 16);
    hand.control(ack_with(0, 116, 1 << 31, false));
    // 10,000 were agreed.
    assert_eq!(hand.data().len(), 10_000);
    hand.control(ack_with(1, 116, u32::MAX, false));
    assert_eq!(hand.data(), []);
}

#[test]
fn an_unbelievable_round_trip_has_no_effect() {
    let mut hand = sending(&dcudp());
    let before = hand.connection.smoothed_rtt();
    for (own, rtt_us) in [0, u32::MAX, 60_000_001].into_iter().enumerate() {
        let mut control = ack(own as u32, 100);
        if let Control::Ack { report, .. } = &mut control {
            report.rtt_us = rtt_us;
        }
        hand.control(control);
    }
    assert_eq!(hand.connection.smoothed_rtt(), before);
}

#[test]
fn an_ack2_of_what_was_never_acknowledged_has_no_effect() {
    let mut hand = Hand::new(&udt());
    hand.arrive(100, Ecn::NotEct);
    let before = hand.connection.smoothed_rtt();
    for word in [0, 1, 1 << 30] {
        hand.control(Control::Ack2 {
            number: number(word),
        });
    }
    assert_eq!(refused(&hand).ack2s, 3);
    assert_eq!(hand.connection.smoothed_rtt(), before);
    assert_eq!(hand.go(10_000).controls().len(), 1);
}

#[test]
fn data_longer_than_agreed_have_no_effect() {
    let mut hand = Hand::new(&udt());
    hand.arrive_with(data(100, 1457), Ecn::NotEct);
    assert_eq!(refused(&hand).long_data, 1);
    assert_eq!(hand.connection.stats().delivered, 0);
    hand.arrive_with(data(100, 1456), Ecn::NotEct);
    assert_eq!(hand.connection.stats().delivered, 1456);
}

#[test]
fn data_beyond_the_buffer_have_no_effect() {
    let mut hand = Hand::new(&udt());
    for sequence in [100 + 8192, 100_000, FIRST + (1 << 30) - 1] {
        hand.arrive(sequence, Ecn::NotEct);
    }
    assert_eq!(refused(&hand).beyond_buffer, 3);
    // Far behind is a duplicate.
    hand.arrive(99, Ecn::NotEct);
    hand.arrive(FIRST.wrapping_sub(1 << 29) & 0x7FFF_FFFF, Ecn::NotEct);
    assert_eq!(hand.connection.stats().duplicates_received, 2);
    assert_eq!(hand.connection.stats().delivered, 0);
    assert!(hand.poll().iter().all(|sent| sent.losses.is_empty()));
}

#[test]
fn the_receivers_loss_list_is_bounded() {
    let config = Config {
        max_loss_ranges: 4,
        ..udt()
    };
    let mut hand = Hand::new(&config);
    for i in 0..100 {
        hand.arrive(101 + 2 * i, Ecn::NotEct);
    }
    assert_eq!(refused(&hand).loss_list_full, 96);
    // The kept packets are complete once the gaps are filled; the others come again.
    for sequence in 100..300 {
        hand.arrive(sequence, Ecn::NotEct);
    }
    assert_eq!(hand.connection.stats().delivered, 200_000);
}

#[test]
fn the_senders_loss_list_is_bounded() {
    let config = Config {
        max_loss_ranges: 4,
        ..udt()
    };
    let mut hand = Hand::fixed(&config, None, 1_000);
    hand.connection.write(16 * FULL);
    assert_eq!(hand.data().len(), 16);
    let single = |number| number..=number;
    let every_other: Vec<_> = (100..116).step_by(2).map(single).collect();
    hand.nak(&every_other);
    assert_eq!(refused(&hand).nak_ranges, 4);
    assert_eq!(hand.data(), [100, 102, 104, 106]);
}

#[test]
fn drop_requests_that_cannot_be_have_no_effect() {
    let drop = |first, last| Control::Drop {
        message: 1,
        first: number(first),
        last: number(last),
    };
    // A stream has no messages: bytes would be missing.
    let mut hand = Hand::new(&udt());
    hand.control(drop(100, 101));
    assert_eq!(refused(&hand).drops, 1);
    hand.arrive(100, Ecn::NotEct);
    assert_eq!(hand.connection.stats().delivered, 1000);
    // A message does not reach beyond the buffer.
    let mut hand = Hand::new(&messages(udt()));
    hand.control(drop(100, 100 + 8192));
    hand.control(drop(100, 1 << 29));
    assert_eq!(refused(&hand).drops, 2);
    // Nor does a request take other messages along.
    hand.arrive_with(data(101, 10), Ecn::NotEct);
    hand.control(Control::Drop {
        message: 9,
        first: number(100),
        last: number(102),
    });
    assert_eq!(hand.connection.stats().messages_delivered, 1);
}

#[test]
fn messages_whose_parts_contradict_each_other_are_given_up() {
    let mut hand = Hand::new(&messages(udt()));
    let part = |sequence, message, place| DataHeader {
        message,
        place,
        ..data(sequence, 10)
    };
    // A middle without a beginning, a beginning without an end, a change of number in between.
    hand.arrive_with(part(100, 1, Place::Middle), Ecn::NotEct);
    hand.arrive_with(part(101, 2, Place::First), Ecn::NotEct);
    hand.arrive_with(part(102, 3, Place::First), Ecn::NotEct);
    hand.arrive_with(part(103, 4, Place::Last), Ecn::NotEct);
    assert_eq!(refused(&hand).broken_messages, 4);
    hand.arrive_with(part(104, 5, Place::Only), Ecn::NotEct);
    assert_eq!(hand.connection.stats().messages_delivered, 1);
}

#[test]
fn late_changes_of_mode_have_no_effect() {
    let mut hand = Hand::new(&dcudp());
    hand.observing(Control::ObserveChange { change: 5 }, true);
    assert!(hand.connection.observes_congestion());
    hand.observing(Control::ObserveChange { change: 4 }, false);
    hand.control(Control::ObserveChanged { change: 1 });
    assert_eq!(refused(&hand).late_changes, 2);
    assert!(hand.connection.observes_congestion());
}

#[test]
fn data_before_the_handshake_have_no_effect() {
    let config = udt();
    let mut hand = Hand::asking(&config, crate::udt::net::law(&config));
    hand.arrive(100, Ecn::NotEct);
    hand.control(shutdown(false));
    assert_eq!(refused(&hand).wrong_state, 2);
    assert_eq!(hand.connection.stats().delivered, 0);
}

#[test]
fn a_datagram_longer_than_agreed_is_not_even_parsed() {
    let config = Config {
        reads_at_once: false,
        ..udt()
    };
    let hand = Hand::new(&config);
    let mut bytes = ByteConnection::new(hand.connection, 1000);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let long = vec![0; 1473];
    assert!(parse(&long, Dialect::Udt).is_ok());
    let now = hand.now;
    assert!(
        bytes
            .handle_datagram(now, &long, Ecn::NotEct, &mut rng)
            .is_err()
    );
    assert_eq!(bytes.core().stats().refused.malformed[2], 1);
}

#[test]
fn a_peer_that_never_reads_does_not_fill_our_memory() {
    let config = Config {
        reads_at_once: false,
        receive_buffer: 64,
        ..udt()
    };
    let mut hand = Hand::new(&config);
    // For any order of arrival 64 packets are kept.
    for i in (0..100_000_u32).rev() {
        hand.arrive(100 + i % 5_000, Ecn::NotEct);
    }
    assert_eq!(hand.connection.readable(), 64);
}

#[test]
fn a_failed_connection_needs_no_response() {
    let mut hand = sending(&udt());
    hand.go_to(Time::ZERO + Span::from_secs(1));
    for _ in 0..40 {
        let at = hand.connection.poll_timeout();
        let Some(at) = at else { break };
        hand.go_to(at);
        hand.data();
    }
    assert_eq!(hand.events(), [Event::Failed(Failure::Silent(10 * FULL))]);
    hand.control(ack(0, 105));
    assert_eq!(refused(&hand).wrong_state, 1);
    assert_eq!(hand.connection.poll_timeout(), None);
    assert_eq!(hand.poll(), []);
}

#[test]
fn refused_packets_are_no_sign_of_life() {
    let mut hand = sending(&udt());
    assert_eq!(hand.timer_us(), 460_000);
    hand.go(460_000).data();
    // N = 2; only something believable makes it 1 again.
    assert_eq!(hand.timer_us(), 460_000 + 920_000);
    hand.go(500_000).control(ack(0, 5_000));
    hand.control(Control::Ack2 { number: number(7) });
    hand.nak(&[5_000..=5_001]);
    hand.arrive(100_000, Ecn::NotEct);
    assert_eq!(hand.timer_us(), 460_000 + 920_000);
    hand.control(Control::KeepAlive);
    assert_eq!(hand.timer_us(), 460_000 + 460_000);
}

#[test]
fn ack2s_that_wait_are_bounded() {
    let mut hand = sending(&udt());
    for own in 0..1_000 {
        hand.control(ack(own, 100));
    }
    assert_eq!(hand.controls().len(), 64);
}
