//! Handshakes that go well, and ones that are lost, late, repeated or crossed; peers that start anew.

use incastle_secure::{Batch, HEADER_BYTES, OVERHEAD, Path, Sealed};
use incastle_units::{Ecn, Span};
use proptest::prelude::*;

use crate::net::{Endpoint, Flying, KEY, at, deliver, joined, pair, passes, run, seal, statistics};

#[test]
fn what_waits_for_the_handshake_arrives_after_it() {
    let (mut left, mut right) = pair();
    let flying = left.send(at(0), right.address, b"one");
    assert_eq!(flying.len(), 1, "the initiation alone");
    assert_eq!(flying[0].bytes.len(), 56);
    assert!(left.send(at(0), right.address, b"two").is_empty());
    assert!(!left.sessions.is_established(right.address));
    let [_, received] = deliver(at(0), &mut left, &mut right, flying);
    assert_eq!(received, [b"one".to_vec(), b"two".to_vec()]);
    for (end, other) in [(&left, &right), (&right, &left)] {
        assert!(end.sessions.is_established(other.address));
        assert_eq!(statistics(end).sessions, 1);
        assert_eq!(statistics(end).pending, 0);
        assert_eq!(statistics(end).initiations, 0);
    }
    passes(at(1), &mut right, &mut left, b"back");
}

#[test]
fn a_batch_stays_a_batch_of_equal_segments() {
    let (mut left, mut right) = joined();
    let segment = OVERHEAD + 100;
    let mut batch = vec![0xAB; 4 * segment + OVERHEAD + 7];
    let sealed = seal(&mut left, at(1), right.address, &mut batch, segment);
    assert_eq!(sealed, Sealed::Ready);
    let plaintexts: Vec<_> = batch
        .chunks(segment)
        .map(|bytes| {
            right
                .receive(at(1), left.address, bytes)
                .expect("a plaintext")
        })
        .collect();
    let lengths: Vec<_> = plaintexts.iter().map(Vec::len).collect();
    assert_eq!(lengths, [100, 100, 100, 100, 7]);
    assert!(plaintexts.concat().iter().all(|byte| *byte == 0xAB));
    assert_eq!(HEADER_BYTES, 12);
}

/// A handshake leaves from the address that the peer writes to, and what waited for it keeps its ECN field.
#[test]
fn waiting_packets_keep_their_path_and_ecn_field() {
    let (mut left, mut right) = pair();
    let from = |address: &str| Some(address.parse().expect("an address"));
    let to_right = Path {
        peer: right.address,
        source: from("10.0.0.11"),
    };
    let to_left = Path {
        peer: left.address,
        source: from("10.0.0.12"),
    };
    for ecn in [Ecn::Ect0, Ecn::NotEct] {
        let mut batch = Batch {
            bytes: &mut [0; OVERHEAD],
            segment: OVERHEAD,
            ecn,
        };
        left.sessions
            .seal(at(0), to_right, &mut batch, &mut left.rng);
    }
    let mut first = left.sessions.poll_transmit().expect("an initiation");
    assert_eq!((first.path, first.ecn), (to_right, Ecn::NotEct));
    left.sessions.handle_timeout(at(100));
    let repeated = left.sessions.poll_transmit();
    assert_eq!(repeated.as_ref(), Some(&first));
    right
        .sessions
        .open(at(100), to_left, &mut first.bytes, &mut right.rng);
    let mut response = right.sessions.poll_transmit().expect("a response");
    assert_eq!((response.path, response.ecn), (to_left, Ecn::NotEct));
    left.sessions
        .open(at(100), to_right, &mut response.bytes, &mut left.rng);
    for ecn in [Ecn::Ect0, Ecn::NotEct] {
        let waited = left.sessions.poll_transmit().expect("what waited");
        assert_eq!((waited.path, waited.ecn), (to_right, ecn));
    }
    assert_eq!(left.sessions.poll_transmit(), None);
}

#[test]
fn a_lost_initiation_is_repeated_and_given_up() {
    let (mut left, right) = pair();
    let first = left.send(at(0), right.address, b"text");
    let repeats = run(&mut left, at(60_000));
    let times: Vec<_> = repeats.iter().map(|(time, _)| *time).collect();
    assert_eq!(times, [at(100), at(300), at(700), at(1_500)]);
    assert!(repeats.iter().all(|(_, flying)| *flying == first[0]));
    assert_eq!(left.sessions.poll_timeout(), None, "nothing is left of it");
    let statistics = statistics(&left);
    assert_eq!(statistics.unanswered, 1);
    assert_eq!(statistics.dropped, 1);
    assert_eq!(statistics.initiations, 0);
}

#[test]
fn a_lost_response_is_given_again_and_makes_one_session() {
    let (mut left, mut right) = pair();
    let first = left.send(at(0), right.address, b"text");
    assert_eq!(right.receive(at(0), left.address, &first[0].bytes), None);
    let lost = right.leaving();
    let repeated = run(&mut left, at(100)).remove(0).1;
    assert_eq!(right.receive(at(100), left.address, &repeated.bytes), None);
    let again = right.leaving();
    assert_eq!(again, lost, "the same response");
    assert_eq!(statistics(&right).pending, 1);
    let [_, received] = deliver(at(100), &mut left, &mut right, again);
    assert_eq!(received, [b"text".to_vec()]);
    // The lost one was late only.
    let [_, received] = deliver(at(200), &mut left, &mut right, lost);
    assert!(received.is_empty());
    assert_eq!(statistics(&left).ignored.unexpected_handshakes, 1);
    assert_eq!(statistics(&left).established, 1);
    assert_eq!(statistics(&right).established, 1);
}

#[test]
fn a_response_after_the_end_has_no_effect() {
    let (mut left, mut right) = pair();
    let first = left.send(at(0), right.address, b"text");
    right.receive(at(0), left.address, &first[0].bytes);
    let late = right.leaving();
    run(&mut left, at(3_000));
    deliver(at(3_001), &mut left, &mut right, late);
    assert_eq!(statistics(&left).ignored.unexpected_handshakes, 1);
    assert_eq!(statistics(&left).sessions, 0);
    // And the pending handshake ends by itself.
    run(&mut right, at(5_000));
    assert_eq!(statistics(&right).pending, 0);
    assert_eq!(right.sessions.poll_timeout(), None);
    // A new one is another one.
    passes(at(6_000), &mut left, &mut right, b"again");
}

#[test]
fn both_begin_simultaneously_and_agree() {
    let (mut left, mut right) = pair();
    let mut flying = left.send(at(0), right.address, b"from the left");
    flying.extend(right.send(at(0), left.address, b"from the right"));
    let received = deliver(at(0), &mut left, &mut right, flying);
    assert_eq!(received[0], [b"from the right".to_vec()]);
    assert_eq!(received[1], [b"from the left".to_vec()]);
    assert_eq!(statistics(&left).sessions, 1);
    assert_eq!(statistics(&right).sessions, 1);
    let crossed = [&left, &right].map(|end| statistics(end).ignored.unexpected_handshakes);
    assert_eq!(crossed.iter().sum::<u64>(), 1, "one did not respond");
}

proptest! {
    /// For any order of the datagrams of two handshakes, sealed datagrams open in one session or two,
    /// and the endpoints can go on.
    #[test]
    fn crossed_in_any_order(order in proptest::collection::vec(any::<u16>(), 40), seed in 0..1_000_u64) {
        let (mut left, mut right) = (Endpoint::new(KEY, 1, seed), Endpoint::new(KEY, 2, seed + 1_000));
        let mut flying = left.send(at(0), right.address, b"L");
        flying.extend(right.send(at(0), left.address, b"R"));
        let mut received = Vec::new();
        for pick in order {
            if flying.is_empty() {
                break;
            }
            let datagram: Flying = flying.remove(usize::from(pick) % flying.len());
            let end = if datagram.to == left.address { &mut left } else { &mut right };
            received.extend(end.receive(at(0), datagram.from, &datagram.bytes));
            flying.extend(end.leaving());
        }
        prop_assert!(flying.is_empty());
        received.sort();
        prop_assert_eq!(received, [b"L".to_vec(), b"R".to_vec()]);
        for ms in 1..20 {
            passes(at(ms), &mut left, &mut right, b"on");
            passes(at(ms), &mut right, &mut left, b"and on");
        }
    }
}

#[test]
fn a_peer_that_starts_anew_and_sends_first_is_received_immediately() {
    let (mut left, _) = joined();
    let mut right = Endpoint::new(KEY, 2, 99);
    passes(at(10), &mut right, &mut left, b"I am new");
    passes(at(10), &mut left, &mut right, b"welcome");
    assert_eq!(statistics(&left).sessions, 2, "the old one may still open");
}

#[test]
fn a_peer_that_starts_anew_and_waits_is_found_after_a_second() {
    let (mut left, _) = joined();
    let mut right = Endpoint::new(KEY, 2, 99);
    let mut found = None;
    for ms in (10..3_000).step_by(250) {
        let flying = left.send(at(ms), right.address, b"there?");
        let [_, received] = deliver(at(ms), &mut left, &mut right, flying);
        if !received.is_empty() {
            found = Some(ms);
            break;
        }
    }
    // Datagrams at 10, 260, 510, 760 and 1,010 ms go unheard; the last begins a handshake.
    assert_eq!(found, Some(1_260));
    assert_eq!(statistics(&right).ignored.unknown_session, 5);
}

#[test]
fn a_session_that_the_responder_forgot_before_it_was_real_is_made_anew() {
    let (mut left, mut right) = pair();
    let first = left.send(at(0), right.address, b"text");
    right.receive(at(0), left.address, &first[0].bytes);
    let response = right.leaving();
    left.receive(at(0), right.address, &response[0].bytes);
    let lost = left.leaving();
    assert_eq!(lost.len(), 1, "the first sealed datagram is lost");
    run(&mut right, at(5_000));
    assert_eq!(statistics(&right).pending, 0);
    for ms in [5_000, 5_300, 5_600, 6_100] {
        let flying = left.send(at(ms), right.address, b"there?");
        deliver(at(ms), &mut left, &mut right, flying);
    }
    passes(at(6_200), &mut left, &mut right, b"there!");
    // The recorded initiation does not bring the old one back.
    right.receive(at(6_300), left.address, &first[0].bytes);
    assert!(right.leaving().is_empty());
}

#[test]
fn what_was_sealed_before_a_change_of_sessions_still_opens() {
    let (mut left, mut right) = joined();
    let late = left.send(at(1), right.address, b"late");
    // The right end is silent to the left for a second, and a handshake is begun.
    for ms in [2, 3, 4, 1_200] {
        let flying = left.send(at(ms), right.address, b"x");
        deliver(at(ms), &mut left, &mut right, flying);
    }
    assert_eq!(
        statistics(&right).established,
        1,
        "the new one is not used yet"
    );
    passes(at(1_300), &mut left, &mut right, b"in the new one");
    assert_eq!(statistics(&right).established, 2);
    assert_eq!(
        right.receive(at(1_400), left.address, &late[0].bytes),
        Some(b"late".to_vec())
    );
}

#[test]
fn an_idle_session_is_forgotten_and_made_anew() {
    let (mut left, mut right) = joined();
    for end in [&mut left, &mut right] {
        run(end, at(179_000));
        assert_eq!(statistics(end).sessions, 1);
        run(end, at(180_000));
        assert_eq!(statistics(end).sessions, 0);
        assert_eq!(end.sessions.poll_timeout(), None, "nothing is left of it");
    }
    passes(at(200_000), &mut left, &mut right, b"again");
}

#[test]
fn a_session_in_use_goes_on() {
    let (mut left, mut right) = joined();
    for second in 1..600 {
        let now = at(0) + Span::from_secs(second);
        run(&mut left, now);
        run(&mut right, now);
        passes(now, &mut left, &mut right, b"tick");
        passes(now, &mut right, &mut left, b"tock");
    }
    assert_eq!(statistics(&left).established, 1);
}
