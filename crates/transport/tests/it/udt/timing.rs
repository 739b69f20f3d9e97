//! When ACKs, NAKs, ACK2s, EXP and data leave, to the microsecond. Under UDT the first round-trip time is
//! 100 ms, under DCUDP the handshake's 100 us.

use std::ops::RangeInclusive;

use incastle_transport::udt::wire::Control;
use incastle_transport::udt::{
    Config, Connection, Dcudp, Event, ExpRepeat, Identities, Identity, NakRepeat, Protocol,
    Received,
};
use incastle_units::{Ecn, Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::hand::{Hand, ack, ack_content, ack_with, dcudp, number, udt};
use super::net::mbit;

const FULL: u64 = 1456;

#[test]
fn a_full_ack_leaves_every_syn_and_again_after_two_round_trips() {
    let mut hand = Hand::new(&udt());
    for (us, sequence) in [(1_000, 100), (2_000, 101), (3_000, 102)] {
        hand.go(us).arrive(sequence, Ecn::NotEct);
        assert_eq!(hand.controls(), []);
    }
    assert_eq!(hand.timer_us(), 10_000);
    hand.go(10_000);
    let acks = hand.controls();
    assert_eq!(ack_content(&acks[0]), (0, 103, 8192));
    assert_eq!(acks.len(), 1);
    // Not again before 2 RTT = 200 ms; then with a new number.
    for us in (20_000..=200_000).step_by(10_000) {
        assert_eq!(hand.go(us).controls(), [], "at {us}");
    }
    assert_eq!(ack_content(&hand.go(210_000).controls()[0]), (1, 103, 8192));
    // The ACK2 confirms it: nothing more to report.
    let ack2 = Control::Ack2 { number: number(1) };
    hand.go(215_000).control(ack2);
    for us in (220_000..=600_000).step_by(10_000) {
        let only_keep_alives = hand.go(us).controls();
        assert!(
            only_keep_alives
                .iter()
                .all(|control| *control == Control::KeepAlive)
        );
    }
    // RTT = (7 x 100 + 5) / 8 ms.
    let rtt = Span::from_us(88_125);
    assert_eq!(hand.connection.smoothed_rtt(), rtt);
    // New data: at the next SYN.
    hand.go(601_000).arrive(103, Ecn::NotEct);
    assert_eq!(ack_content(&hand.go(610_000).controls()[0]), (2, 104, 8192));
}

#[test]
fn a_light_ack_leaves_every_64_packets() {
    let mut hand = Hand::new(&udt());
    hand.go(1_000);
    for i in 0..63 {
        hand.arrive(100 + i, Ecn::NotEct);
    }
    assert_eq!(hand.controls(), []);
    hand.arrive(163, Ecn::NotEct);
    let light = Control::LightAck { next: number(164) };
    assert_eq!(hand.controls(), [light]);
    for i in 64..128 {
        hand.arrive(100 + i, Ecn::NotEct);
    }
    let light = Control::LightAck { next: number(228) };
    assert_eq!(hand.controls(), [light]);
    assert_eq!(ack_content(&hand.go(10_000).controls()[0]).1, 228);
}

#[test]
fn a_gap_is_reported_immediately_and_again_after_two_then_three_round_trips() {
    let mut hand = Hand::new(&udt());
    hand.arrive(100, Ecn::NotEct);
    hand.go(1_000).arrive(103, Ecn::NotEct);
    let losses = |hand: &mut Hand| -> Vec<RangeInclusive<u32>> {
        hand.poll()
            .into_iter()
            .flat_map(|sent| sent.losses)
            .collect()
    };
    assert_eq!(losses(&mut hand), [101..=102]);
    // k = 2: 1 + 200 ms; k = 3: 300 ms later; k = 4: 400 ms later.
    for (before, at) in [(200_999, 201_000), (500_999, 501_000), (900_999, 901_000)] {
        assert_eq!(losses(hand.go(before)), []);
        assert_eq!(losses(hand.go(at)), [101..=102], "at {at}");
    }
    // A filled gap is not reported any more.
    hand.arrive(101, Ecn::NotEct);
    assert_eq!(losses(hand.go(1_401_000)), [102..=102]);
    hand.arrive(102, Ecn::NotEct);
    assert_eq!(losses(hand.go(9_000_000)), []);
}

#[test]
fn a_nak_timer_repeats_what_is_older_than_k_round_trips() {
    let config = Config {
        nak_repeat: NakRepeat::Timer,
        ..udt()
    };
    let mut hand = Hand::new(&config);
    hand.arrive(100, Ecn::NotEct);
    hand.go(1_000).arrive(102, Ecn::NotEct);
    hand.go(300_000).arrive(104, Ecn::NotEct);
    hand.poll();
    // 4 x 100 + 50 + 10 ms after the first gap: the second one was reported 161 ms ago.
    assert_eq!(reported(hand.go(460_999)), []);
    assert_eq!(reported(hand.go(461_000)), [101]);
    // 460 ms later k = 3 of the first one is over, 300 ms, and k = 2 of the second.
    assert_eq!(reported(hand.go(920_999)), []);
    assert_eq!(reported(hand.go(921_000)), [101, 103]);
}

#[test]
fn dcudp_has_no_nak_timer_until_a_packet_comes_without_ect() {
    let config = Config {
        nak_repeat: NakRepeat::Timer,
        ..dcudp()
    };
    let mut hand = Hand::new(&config);
    hand.arrive(100, Ecn::Ect0);
    hand.go(1_000).arrive(102, Ecn::Ect0);
    hand.poll();
    // Two round trips of 100 us.
    assert_eq!(reported(hand.go(1_200)), [101]);
    hand.arrive(101, Ecn::Ect0);
    hand.go(2_000);
    // The sender is notified, and falls back: 4 x 100 + 50 + 10,000 us.
    hand.arrive(103, Ecn::NotEct);
    hand.arrive(105, Ecn::NotEct);
    hand.poll();
    assert_eq!(reported(hand.go(12_449)), []);
    assert_eq!(reported(hand.go(12_450)), [104]);
}

/// The first packets of what is reported now.
fn reported(hand: &mut Hand) -> Vec<u32> {
    let sent = hand.poll().into_iter();
    let losses = sent.flat_map(|sent| sent.losses);
    losses.map(|range| *range.start()).collect()
}

#[test]
fn a_time_stamp_affects_the_rates_of_arrival_and_nothing_else() {
    let mut hand = Hand::new(&udt());
    // All are taken together, 7 ms after the first came.
    hand.go(7_000);
    for index in 0..300 {
        let stamp = Time::ZERO + Span::from_us(10 * u64::from(index));
        let received = Received {
            ecn: Ecn::NotEct,
            stamp: Some(stamp),
        };
        hand.arrive(100 + index, received);
    }
    let acks = hand.go(10_000).controls();
    let Some(Control::Ack { report, .. }) = acks.last() else {
        panic!("a full ACK: {acks:?}");
    };
    assert_eq!(report.receiving_packets_per_s, 100_000);
    assert_eq!(report.capacity_packets_per_s, 100_000);
    // Handled at one instant, they would have none.
    let mut hand = Hand::new(&udt());
    hand.go(7_000);
    for index in 0..300 {
        hand.arrive(100 + index, Ecn::NotEct);
    }
    let acks = hand.go(10_000).controls();
    let Some(Control::Ack { report, .. }) = acks.last() else {
        panic!("a full ACK: {acks:?}");
    };
    assert_eq!(report.receiving_packets_per_s, 0);
    assert_eq!(report.capacity_packets_per_s, 0);
}

#[test]
fn a_full_ack_causes_an_ack2_and_a_light_one_does_not() {
    let mut hand = Hand::new(&udt());
    hand.connection.write(10 * FULL);
    assert_eq!(hand.data().len(), 10);
    hand.control(Control::LightAck { next: number(103) });
    assert_eq!(hand.controls(), []);
    assert_eq!(hand.connection.unacknowledged(), 7 * FULL);
    hand.control(ack(5, 110));
    let ack2 = Control::Ack2 { number: number(5) };
    assert_eq!(hand.controls(), [ack2]);
    assert_eq!(hand.events(), [Event::Finished]);
}

#[test]
fn exp_repeats_everything_that_is_outstanding() {
    let mut hand = Hand::fixed(&udt(), None, 1_000);
    hand.connection.write(3 * FULL);
    assert_eq!(hand.data(), [100, 101, 102]);
    // 4 x 100 + 50 + 10 ms.
    assert_eq!(hand.timer_us(), 460_000);
    assert_eq!(hand.go(459_999).data(), []);
    assert_eq!(hand.go(460_000).data(), [100, 101, 102]);
    // N = 2.
    assert_eq!(hand.timer_us(), 460_000 + 920_000);
    // A packet that does not concern data ends the count, not the period.
    hand.go(1_000_000).control(Control::KeepAlive);
    assert_eq!(hand.timer_us(), 460_000 + 460_000);
}

#[test]
fn exp_may_repeat_the_ends_alone() {
    let repeating = |exp_repeat| {
        let law = Dcudp {
            exp_repeat,
            ..Dcudp::new(mbit(1_000))
        };
        let config = Config {
            protocol: Protocol::Dcudp(law),
            ..dcudp()
        };
        let mut hand = Hand::fixed(&config, None, 1_000);
        hand.connection.write(6 * FULL);
        assert_eq!(hand.data().len(), 6);
        hand.control(ack(0, 101));
        hand.go(20_000);
        hand
    };
    let mut all = repeating(ExpRepeat::Everything);
    assert_eq!(all.data(), [101, 102, 103, 104, 105]);
    let mut hand = repeating(ExpRepeat::Ends);
    assert_eq!(hand.data(), [101, 105]);
    // The peer's NAK reports the rest; one packet is first and last.
    hand.nak(&[103..=104]);
    assert_eq!(hand.data(), [103, 104]);
    hand.control(ack(1, 105));
    assert_eq!(hand.go(60_000).data(), [105]);
}

#[test]
fn dcudps_exp_is_ten_milliseconds_at_the_least() {
    let mut hand = Hand::new(&dcudp());
    hand.connection.write(FULL);
    assert_eq!(hand.data(), [100]);
    // 4 x 100 + 50 + 10,000 us: above the floor because of SYN.
    assert_eq!(hand.timer_us(), 10_450);
    let config = Config {
        exp_floor: Span::from_ms(50),
        ..dcudp()
    };
    let mut hand = Hand::new(&config);
    hand.connection.write(FULL);
    assert_eq!(hand.data(), [100]);
    assert_eq!(hand.timer_us(), 50_000);
}

#[test]
fn a_nak_sends_the_loss_list_first() {
    let mut hand = Hand::fixed(&udt(), None, 1_000);
    hand.connection.write(16 * FULL);
    assert_eq!(hand.data().len(), 16);
    hand.connection.write(4 * FULL);
    hand.control(ack(0, 104));
    hand.nak(&[105..=106, 110..=110]);
    assert_eq!(hand.data(), [105, 106, 110, 116, 117, 118, 119]);
    assert_eq!(hand.connection.stats().retransmissions, 3);
}

#[test]
fn a_closed_flow_window_stops_new_data_until_it_opens() {
    let mut hand = Hand::fixed(&udt(), None, 1_000);
    hand.connection.write(30 * FULL);
    // Sixteen before the first ACK.
    assert_eq!(hand.data().len(), 16);
    hand.control(ack_with(0, 116, 0, false));
    assert_eq!(hand.data(), []);
    hand.control(ack_with(1, 116, 3, false));
    assert_eq!(hand.data(), [116, 117, 118]);
    // An older ACK does not close it again, nor does a light one.
    hand.control(ack_with(0, 116, 0, false));
    hand.control(Control::LightAck { next: number(118) });
    hand.control(ack_with(2, 119, 100, false));
    assert_eq!(hand.data().len(), 11);
}

#[test]
fn a_full_buffer_is_reported_and_its_opening_too() {
    let config = Config {
        reads_at_once: false,
        receive_buffer: 2,
        ..udt()
    };
    let mut hand = Hand::new(&config);
    for sequence in 100..103 {
        hand.arrive(sequence, Ecn::NotEct);
    }
    assert_eq!(hand.connection.stats().refused.beyond_buffer, 1);
    assert_eq!(ack_content(&hand.go(10_000).controls()[0]), (0, 102, 0));
    let ack2 = Control::Ack2 { number: number(0) };
    hand.control(ack2);
    assert_eq!(hand.go(20_000).controls(), []);
    // The application takes one packet: reported immediately, and again until it is confirmed.
    let now = hand.now;
    hand.connection.consume(now, 1);
    assert_eq!(ack_content(&hand.controls()[0]), (1, 102, 1));
    let mut repeats = 0;
    for us in (30_000..=400_000).step_by(10_000) {
        let acks = hand.go(us).controls();
        repeats += acks
            .iter()
            .filter(|control| matches!(control, Control::Ack { .. }))
            .count();
    }
    assert!(repeats >= 1);
}

#[test]
fn data_leave_one_per_interval_without_drift() {
    // 1456 bytes at 999,999,999 bit/s: 11648.000011648 ns, no whole number of picoseconds.
    let rate = Rate::from_bits_per_second(999_999_999);
    let mut hand = Hand::fixed(
        &Config {
            packet_pairs: false,
            ..dcudp()
        },
        Some(rate),
        100_000,
    );
    hand.connection.write(10_001 * FULL);
    let begin = hand.now;
    let mut sent = hand.data().len();
    while sent < 10_001 {
        let at = hand.connection.poll_timeout().expect("the pacer");
        hand.go_to(at);
        sent += hand.data().len();
        if sent.is_multiple_of(500) {
            hand.control(ack(sent as u32, 100 + sent as u32));
        }
    }
    // floor(10,000 x 1456 x 8e12 / 999,999,999) ps.
    let exact = 10_000_u128 * 1456 * 8_000_000_000_000 / 999_999_999;
    assert_eq!(u128::from((hand.now - begin).as_ps()), exact);
}

#[test]
fn the_packet_after_every_sixteenth_leaves_immediately() {
    let mut hand = Hand::fixed(&udt(), Some(mbit(100)), 1_000);
    hand.connection.write(60 * FULL);
    let mut bursts = Vec::new();
    while hand.connection.stats().packets_sent < 16 {
        bursts.push(hand.data());
        let at = hand.connection.poll_timeout().expect("the pacer");
        hand.go_to(at);
    }
    // 112 = 7 x 16 and 113 are a pair.
    let pairs: Vec<&Vec<u32>> = bursts.iter().filter(|burst| burst.len() > 1).collect();
    assert_eq!(pairs, [&vec![112, 113]]);
    assert!(bursts.iter().all(|burst| !burst.is_empty()));
}

#[test]
fn a_late_pacer_catches_up_within_its_allowance() {
    // 1456 bytes at 11,648,000 bit/s: one packet per millisecond.
    let rate = Some(Rate::from_bits_per_second(11_648_000));
    let burst = |allowance| {
        let config = Config {
            packet_pairs: false,
            burst_allowance: allowance,
            ..dcudp()
        };
        let mut hand = Hand::fixed(&config, rate, 1_000);
        hand.connection.write(100 * FULL);
        assert_eq!(hand.data().len(), 1);
        // No poll for 8 ms.
        hand.go(8_000).data().len()
    };
    assert_eq!(burst(Span::ZERO), 1);
    // Three milliseconds behind are kept: now, and three more.
    assert_eq!(burst(Span::from_ms(3)), 4);
}

#[test]
fn a_pause_is_not_caught_up() {
    // One packet per 100 us.
    let rate = Some(Rate::from_bits_per_second(116_480_000));
    let sent = |batch| {
        let config = Config {
            packet_pairs: false,
            burst_allowance: Span::from_us(300),
            batch,
            ..dcudp()
        };
        let mut hand = Hand::fixed(&config, rate, 1_000);
        hand.go(1_000).connection.write(2 * FULL);
        let mut sent = vec![hand.data().len(), hand.go(1_200).data().len()];
        // Nothing to send for 700 us; then ten packets, polled in time.
        hand.go(1_900).connection.write(10 * FULL);
        sent.push(hand.data().len());
        sent.extend([1_950, 2_000, 2_100].map(|us| hand.go(us).data().len()));
        // And 300 us late: due at 2200, 2300, 2400 and 2500.
        sent.push(hand.go(2_500).data().len());
        sent
    };
    assert_eq!(sent(Span::ZERO), [1, 1, 1, 0, 1, 1, 4]);
    // Counted from 50 us ago, the next packets are due at 1950, 2050, and from 2150 on.
    assert_eq!(sent(Span::from_us(50)), [1, 1, 1, 1, 0, 1, 4]);
    // Counted from 100 us ago two are due together, after each pause.
    assert_eq!(sent(Span::from_us(100)), [2, 0, 2, 0, 1, 1, 4]);
}

#[test]
fn a_rate_limit_lies_below_the_controls_rate() {
    let mbits = |mbits: u64| Some(Rate::from_bits_per_second(mbits * 1_000_000));
    // In 10 ms at 11.648 Mbit/s: 10 packets of 1456 bytes; one more leaves at the beginning.
    let sent = |control, limit| {
        let config = Config {
            packet_pairs: false,
            rate_limit: limit,
            ..dcudp()
        };
        let mut hand = Hand::fixed(&config, control, 10_000);
        hand.connection.write(1000 * FULL);
        let mut count = hand.data().len();
        for step in 1..=100 {
            count += hand.go(100 * step).data().len();
        }
        count
    };
    let limit = Some(Rate::from_bits_per_second(11_648_000));
    assert_eq!(sent(None, limit), 11);
    assert_eq!(sent(mbits(1000), limit), 11);
    assert_eq!(sent(limit, mbits(1000)), 11);
}

#[test]
fn what_was_never_sent_can_be_forgotten() {
    let mut hand = Hand::fixed(&udt(), None, 1_000);
    hand.connection.write(u64::MAX / 2);
    assert_eq!(hand.data().len(), 16);
    hand.connection.forget_unsent();
    assert_eq!(hand.connection.unacknowledged(), 16 * FULL);
    assert_eq!(hand.events(), []);
    hand.control(ack(0, 116));
    assert_eq!(hand.events(), [Event::Finished]);
    // Data written afterwards are sent.
    hand.connection.write(10);
    assert_eq!(hand.data(), [116]);
}

#[test]
fn acks_without_new_content_do_not_restart_exp() {
    let mut hand = Hand::fixed(&udt(), None, 1_000);
    hand.connection.write(3 * FULL);
    assert_eq!(hand.data().len(), 3);
    for (own, us) in (50_000..450_000).step_by(50_000).enumerate() {
        // Its round-trip time is the one that is assumed.
        let mut again = ack(own as u32, 100);
        if let Control::Ack { report, .. } = &mut again {
            report.rtt_us = 0;
        }
        hand.go(us).control(again);
        hand.poll();
    }
    assert_eq!(hand.go(459_999).data(), []);
    assert_eq!(hand.go(460_000).data(), [100, 101, 102]);
}

#[test]
fn exp_counts_from_the_first_packet_that_is_outstanding() {
    let mut hand = Hand::fixed(&udt(), None, 1_000);
    hand.go(250_000).connection.write(FULL);
    assert_eq!(hand.data(), [100]);
    assert_eq!(hand.timer_us(), 710_000);
}

#[test]
fn a_window_counts_from_the_ack_that_reports_it() {
    let mut hand = Hand::fixed(&udt(), None, 1_000);
    hand.connection.write(30 * FULL);
    assert_eq!(hand.data().len(), 16);
    // The light ACK left later and overtook: 103 and 14 are 117.
    hand.control(Control::LightAck { next: number(110) });
    hand.control(ack_with(0, 103, 14, false));
    assert_eq!(hand.data(), [116]);
}

#[test]
fn a_full_ack_covers_the_light_ones_before_it() {
    let mut hand = Hand::new(&udt());
    hand.connection.write(100 * FULL);
    assert_eq!(hand.data().len(), 16);
    hand.control(Control::LightAck { next: number(108) });
    hand.control(ack(0, 116));
    // UDT's slow start: cwnd = 16 and the 16 that were acknowledged.
    assert_eq!(hand.data().len(), 32);
}

#[test]
fn exp_of_a_connection_without_a_handshake_uses_the_round_trip() {
    let config = dcudp();
    let identity = |socket| Identity {
        socket,
        first: number(100),
    };
    let both = Identities {
        own: identity(1),
        peer: identity(2),
    };
    let rtt = Span::from_us(100);
    let law = crate::udt::net::law(&config);
    let mut end = Connection::established(&config, law, both, rtt, Time::ZERO);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    end.write(10);
    assert!(end.poll_transmit(Time::ZERO, &mut rng).is_some());
    assert!(end.poll_transmit(Time::ZERO, &mut rng).is_none());
    // 4 x 100 + 50 + 10,000 us.
    assert_eq!(end.poll_timeout(), Some(Time::ZERO + Span::from_us(10_450)));
}
