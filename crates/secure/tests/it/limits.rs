//! Floods, and what is bounded: sessions, unfinished handshakes, datagrams that wait.

use std::net::SocketAddr;

use incastle_secure::{Key, OVERHEAD, Opened, Reason, Sealed, Sessions};
use rand_core::Rng;

use crate::net::{Endpoint, KEY, at, joined, pair, passes, path, run, seal, statistics};

fn address(number: u32) -> SocketAddr {
    let [a, b, c, d] = number.to_be_bytes();
    SocketAddr::from(([172, a | b, c, d], 4000))
}

#[test]
fn a_flood_of_forged_initiations_leaves_nothing_and_gets_no_response() {
    let (mut left, mut right) = joined();
    let mut random = Endpoint::new(KEY, 9, 9).rng;
    let before = statistics(&right);
    for number in 0..100_000 {
        let mut forged = [0; 56];
        random.fill_bytes(&mut forged);
        forged[..4].copy_from_slice(&[0xD1, 1, 0, 0]);
        let from = address(number);
        let opened = right
            .sessions
            .open(at(1), path(from), &mut forged, &mut right.rng);
        assert_eq!(opened, Opened::Ignored(Reason::WrongKey));
        assert_eq!(right.sessions.poll_transmit(), None);
    }
    let mut after = statistics(&right);
    assert_eq!(after.ignored.wrong_key, 100_000);
    after.ignored = before.ignored;
    assert_eq!(after, before);
    passes(at(2), &mut left, &mut right, b"still");
}

/// Handshakes that were begun by holders of the key and recorded, all at an endpoint that has not seen them.
#[test]
fn a_flood_of_recorded_initiations_is_bounded_and_passes() {
    let (mut left, mut right) = joined();
    // An initiation for each of many peers, which never receive it.
    let mut begun = 0;
    for host in [3, 4] {
        let mut recorder = Endpoint::new(KEY, host, u64::from(host));
        for number in 0..3_000 {
            let recorded = recorder.send(at(1), address(number), b"x").remove(0);
            begun += 1;
            right.receive(at(1), address(100_000 + begun), &recorded.bytes);
            let responses = right.leaving();
            assert_eq!(responses.len(), 1);
            assert_eq!(responses[0].bytes.len(), recorded.bytes.len());
            assert!(statistics(&right).pending <= 4_096);
        }
    }
    assert_eq!(statistics(&right).pending, 4_096);
    assert_eq!(statistics(&right).sessions, 1);
    passes(at(2), &mut left, &mut right, b"still");
    // And a new peer gets through.
    passes(at(2), &mut Endpoint::new(KEY, 5, 5), &mut right, b"new");
    run(&mut right, at(5_002));
    assert_eq!(statistics(&right).pending, 0);
}

#[test]
fn few_handshakes_are_begun_at_a_time() {
    let (mut left, _) = pair();
    for number in 0..5_000 {
        let begun = !left.send(at(1), address(number), b"x").is_empty();
        assert_eq!(begun, number < 4_096);
    }
    assert_eq!(statistics(&left).initiations, 4_096);
    assert_eq!(statistics(&left).dropped, 904);
    run(&mut left, at(4_000));
    assert_eq!(statistics(&left).initiations, 0);
}

#[test]
fn one_address_may_have_few_handshakes_pending() {
    let (_, mut right) = pair();
    let mut third = Endpoint::new(KEY, 3, 3);
    for number in 0..20 {
        let recorded = third.send(at(1), address(number), b"x").remove(0);
        right.receive(at(1), third.address, &recorded.bytes);
        assert!(statistics(&right).pending <= 4);
    }
    assert_eq!(statistics(&right).pending, 4);
}

#[test]
fn little_waits_for_a_handshake() {
    let (mut left, right) = pair();
    for number in 0..100 {
        let mut datagram = vec![0; OVERHEAD + 10];
        let sealed = seal(
            &mut left,
            at(0),
            right.address,
            &mut datagram,
            OVERHEAD + 10,
        );
        let expected = if number < 16 {
            Sealed::Waiting
        } else {
            Sealed::Dropped
        };
        assert_eq!(sealed, expected);
    }
    assert_eq!(statistics(&left).dropped, 84);
}

#[test]
fn long_datagrams_wait_by_their_bytes() {
    let (mut left, right) = pair();
    let segment = OVERHEAD + 8_972;
    let mut batch = vec![0; 5 * segment];
    let sealed = seal(&mut left, at(0), right.address, &mut batch, segment);
    assert_eq!(sealed, Sealed::Dropped);
    assert_eq!(statistics(&left).dropped, 2, "three are 27,000 bytes");
}

#[test]
fn no_more_sessions_than_there_may_be() {
    let mut right = Endpoint::new(KEY, 2, 2);
    right.sessions = Sessions::new(&Key::new([KEY; 32]), 3);
    for host in 10..20 {
        let mut peer = Endpoint::new(KEY, host, u64::from(host));
        let initiation = peer.send(at(0), right.address, b"hello").remove(0);
        if host < 13 {
            let response = right.receive(at(0), peer.address, &initiation.bytes);
            assert_eq!(response, None);
            let response = right.leaving().remove(0);
            peer.receive(at(0), right.address, &response.bytes);
            let sealed = peer.leaving().remove(0);
            let plaintext = right.receive(at(0), peer.address, &sealed.bytes);
            assert_eq!(plaintext, Some(b"hello".to_vec()));
        } else {
            let mut bytes = initiation.bytes;
            let opened = right
                .sessions
                .open(at(0), path(peer.address), &mut bytes, &mut right.rng);
            assert_eq!(opened, Opened::Ignored(Reason::BeyondLimit));
            assert!(right.leaving().is_empty());
        }
    }
    assert_eq!(statistics(&right).sessions, 3);
    // Nor are any begun.
    assert!(right.send(at(0), address(1), b"x").is_empty());
    assert_eq!(statistics(&right).dropped, 1);
}

/// A peer that starts anew again and again has two sessions, not more.
#[test]
fn a_peer_has_two_sessions() {
    let (mut left, _) = pair();
    for seed in 100..200 {
        let mut right = Endpoint::new(KEY, 2, seed);
        passes(at(seed), &mut right, &mut left, b"anew");
        passes(at(seed), &mut left, &mut right, b"again?");
        assert!(statistics(&left).sessions <= 2);
    }
    assert_eq!(statistics(&left).established, 100);
}
