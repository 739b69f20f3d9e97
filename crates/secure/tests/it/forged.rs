//! Forged, damaged, recorded and reflected datagrams have no response and change nothing.

use incastle_secure::{Key, Opened, Reason, Sessions};
use incastle_units::Time;

use crate::net::{Endpoint, Flying, KEY, at, deliver, joined, pair, passes, path, statistics};

/// Opens bytes that must have no effect, and returns the reason.
fn refused(end: &mut Endpoint, now: Time, datagram: &Flying) -> Reason {
    let mut bytes = datagram.bytes.clone();
    let opened = end
        .sessions
        .open(now, path(datagram.from), &mut bytes, &mut end.rng);
    let Opened::Ignored(reason) = opened else {
        panic!("had an effect: {opened:?}");
    };
    assert_eq!(end.sessions.poll_transmit(), None, "not answered");
    reason
}

/// A datagram of each kind, and the endpoint that expects it.
struct Kinds {
    left: Endpoint,
    right: Endpoint,
    initiation: Flying,
    response: Flying,
    sealed: Flying,
}

fn kinds() -> Kinds {
    let (mut left, mut right) = joined();
    let sealed = left.send(at(1), right.address, b"text").remove(0);
    // A third end's handshake with the right one, and the right one's with a fourth.
    let mut third = Endpoint::new(KEY, 3, 3);
    let initiation = third.send(at(1), right.address, b"hello").remove(0);
    let mut fourth = Endpoint::new(KEY, 4, 4);
    let begun = right.send(at(1), fourth.address, b"hello").remove(0);
    fourth.receive(at(1), right.address, &begun.bytes);
    let response = fourth.leaving().remove(0);
    Kinds {
        left,
        right,
        initiation,
        response,
        sealed,
    }
}

impl Kinds {
    /// Each genuine datagram still has its effect.
    fn still_works(mut self) {
        let before = statistics(&self.right);
        let end = &mut self.right;
        let plaintext = end.receive(at(2), self.sealed.from, &self.sealed.bytes);
        assert_eq!(plaintext, Some(b"text".to_vec()));
        end.receive(at(2), self.initiation.from, &self.initiation.bytes);
        assert_eq!(end.leaving().len(), 1, "answered");
        end.receive(at(2), self.response.from, &self.response.bytes);
        assert_eq!(end.leaving().len(), 1, "what waited for it");
        assert_eq!(statistics(end).established, before.established + 1);
        passes(at(3), &mut self.left, &mut self.right, b"still");
        passes(at(3), &mut self.right, &mut self.left, b"still");
    }
}

/// Applies a change to each datagram of each kind; none of the results has an effect.
fn none_has_an_effect(changes: impl Fn(&[u8]) -> Vec<Vec<u8>>) {
    let mut kinds = kinds();
    let genuine = [
        kinds.initiation.clone(),
        kinds.response.clone(),
        kinds.sealed.clone(),
    ];
    let before = statistics(&kinds.right);
    for datagram in genuine {
        for bytes in changes(&datagram.bytes) {
            let changed = Flying { bytes, ..datagram };
            refused(&mut kinds.right, at(2), &changed);
        }
    }
    let mut after = statistics(&kinds.right);
    after.ignored = before.ignored;
    assert_eq!(after, before, "counted, and nothing else");
    kinds.still_works();
}

#[test]
fn a_flipped_bit_anywhere() {
    none_has_an_effect(|bytes| {
        let flip = |bit: usize| {
            let mut bytes = bytes.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        };
        (0..bytes.len() * 8).map(flip).collect()
    });
}

#[test]
fn cut_or_lengthened() {
    none_has_an_effect(|bytes| {
        let mut changed: Vec<_> = (0..bytes.len()).map(|end| bytes[..end].to_vec()).collect();
        changed.push([bytes, &[0]].concat());
        changed.push([bytes, bytes].concat());
        changed
    });
}

#[test]
fn another_kind_or_version() {
    none_has_an_effect(|bytes| {
        let kinds = (0..=255).filter(|kind| *kind != bytes[0]).map(|kind| {
            let mut bytes = bytes.to_vec();
            bytes[0] = kind;
            bytes
        });
        let versions = (0..=255)
            .filter(|version| *version != bytes[1])
            .map(|version| {
                let mut bytes = bytes.to_vec();
                bytes[1] = version;
                bytes
            });
        kinds.chain(versions).collect()
    });
}

#[test]
fn another_version_is_counted_as_such() {
    let (mut left, mut right) = pair();
    let mut initiation = left.send(at(0), right.address, b"text").remove(0);
    initiation.bytes[1] = 2;
    assert_eq!(refused(&mut right, at(0), &initiation), Reason::Version);
    assert_eq!(statistics(&right).ignored.version, 1);
}

#[test]
fn another_key_gets_no_response() {
    let (mut left, mut right) = (Endpoint::new(KEY, 1, 1), Endpoint::new(KEY + 1, 2, 2));
    let initiation = left.send(at(0), right.address, b"text").remove(0);
    assert_eq!(refused(&mut right, at(0), &initiation), Reason::WrongKey);
    let initiation = right.send(at(0), left.address, b"text").remove(0);
    assert_eq!(refused(&mut left, at(0), &initiation), Reason::WrongKey);
    assert_eq!(statistics(&right).ignored.wrong_key, 1);
    assert_eq!(statistics(&right).pending, 0);
}

#[test]
fn a_response_under_another_key_leaves_the_handshake_as_it_was() {
    let (mut left, mut right) = pair();
    let initiation = left.send(at(0), right.address, b"text").remove(0);
    right.receive(at(0), left.address, &initiation.bytes);
    let genuine = right.leaving();
    // An endpoint with another key responds to another handshake.
    let (mut third, mut fourth) = (Endpoint::new(9, 3, 3), Endpoint::new(9, 2, 4));
    let theirs = third.send(at(0), fourth.address, b"text").remove(0);
    fourth.receive(at(0), left.address, &theirs.bytes);
    let forged = fourth.leaving().remove(0);
    for _ in 0..100 {
        assert_eq!(refused(&mut left, at(0), &forged), Reason::WrongKey);
    }
    let [_, received] = deliver(at(0), &mut left, &mut right, genuine);
    assert_eq!(received, [b"text".to_vec()]);
}

#[test]
fn a_recorded_datagram() {
    let (mut left, mut right) = joined();
    let sealed = left.send(at(1), right.address, b"text").remove(0);
    let plaintext = right.receive(at(1), left.address, &sealed.bytes);
    assert_eq!(plaintext, Some(b"text".to_vec()));
    for _ in 0..10 {
        assert_eq!(refused(&mut right, at(2), &sealed), Reason::Replayed);
    }
    // Nor at another end with the key, nor back at its own sender.
    let mut third = Endpoint::new(KEY, 3, 3);
    assert_eq!(refused(&mut third, at(2), &sealed), Reason::UnknownSession);
    let reflected = Flying {
        from: right.address,
        to: left.address,
        ..sealed
    };
    assert_eq!(refused(&mut left, at(2), &reflected), Reason::Unauthentic);
}

#[test]
fn from_another_address() {
    let (mut left, mut right) = joined();
    let mut sealed = left.send(at(1), right.address, b"text").remove(0);
    sealed.from = "10.0.0.9:9000".parse().expect("an address");
    assert_eq!(refused(&mut right, at(1), &sealed), Reason::WrongAddress);
    sealed.from = left.address;
    let plaintext = right.receive(at(1), left.address, &sealed.bytes);
    assert_eq!(plaintext, Some(b"text".to_vec()), "and it was not spent");
}

#[test]
fn a_recorded_initiation_has_a_response_for_its_sender_only_while_it_waits() {
    let (mut left, mut right) = pair();
    let initiation = left.send(at(0), right.address, b"text").remove(0);
    right.receive(at(0), left.address, &initiation.bytes);
    let response = right.leaving();
    let elsewhere = Flying {
        from: "10.0.0.9:9000".parse().expect("an address"),
        ..initiation.clone()
    };
    let reason = refused(&mut right, at(0), &elsewhere);
    assert_eq!(reason, Reason::ReplayedHandshake);
    deliver(at(0), &mut left, &mut right, response);
    // Now that the session is real, not to its sender either.
    for from in [left.address, elsewhere.from] {
        let replayed = Flying {
            from,
            ..initiation.clone()
        };
        let reason = refused(&mut right, at(1), &replayed);
        assert_eq!(reason, Reason::ReplayedHandshake);
    }
    passes(at(1), &mut left, &mut right, b"still");
    assert_eq!(statistics(&right).established, 1);
}

/// The stored response is for the very same message.
#[test]
fn a_damaged_repeat_of_an_initiation_with_a_response() {
    let (mut left, mut right) = pair();
    let initiation = left.send(at(0), right.address, b"text").remove(0);
    right.receive(at(0), left.address, &initiation.bytes);
    assert_eq!(right.leaving().len(), 1);
    for place in 36..initiation.bytes.len() {
        let mut damaged = initiation.clone();
        damaged.bytes[place] ^= 1;
        assert_eq!(refused(&mut right, at(0), &damaged), Reason::WrongKey);
    }
    right.receive(at(0), left.address, &initiation.bytes);
    assert_eq!(right.leaving().len(), 1);
}

/// A restarted peer has no memory of old handshakes: it responds to a recorded one, without further
/// effect.
#[test]
fn a_recorded_initiation_never_becomes_a_session() {
    let (mut left, mut right) = pair();
    let initiation = left.send(at(0), right.address, b"text").remove(0);
    let [_, received] = deliver(at(0), &mut left, &mut right, vec![initiation.clone()]);
    assert_eq!(received.len(), 1);
    let sealed = left.send(at(1), right.address, b"secret").remove(0);
    right = Endpoint::new(KEY, 2, 99);
    right.receive(at(2), left.address, &initiation.bytes);
    let responses = right.leaving();
    assert_eq!(responses.len(), 1);
    assert_eq!(
        responses[0].bytes.len(),
        initiation.bytes.len(),
        "a factor of 1"
    );
    assert_eq!(
        refused(&mut left, at(2), &responses[0]),
        Reason::UnexpectedHandshake
    );
    // The recorded data of that session are under other keys.
    let reason = refused(&mut right, at(2), &sealed);
    assert!(matches!(
        reason,
        Reason::Unauthentic | Reason::UnknownSession
    ));
    assert_eq!(statistics(&right).established, 0);
    assert!(!right.sessions.is_established(left.address));
}

/// Its own first message is authentic to an endpoint: a response would complete a handshake with
/// itself.
#[test]
fn an_initiation_reflected_to_its_sender() {
    let (mut left, mut right) = pair();
    let initiation = left.send(at(0), right.address, b"text").remove(0);
    for from in [right.address, "10.0.0.9:9000".parse().expect("an address")] {
        let reflected = Flying {
            from,
            to: left.address,
            bytes: initiation.bytes.clone(),
        };
        let reason = refused(&mut left, at(0), &reflected);
        assert_eq!(reason, Reason::ReplayedHandshake);
    }
    let [_, received] = deliver(at(0), &mut left, &mut right, vec![initiation]);
    assert_eq!(received, [b"text".to_vec()]);
}

#[test]
fn a_response_reflected_to_its_sender() {
    let (mut left, mut right) = pair();
    let initiation = left.send(at(0), right.address, b"text").remove(0);
    right.receive(at(0), left.address, &initiation.bytes);
    let response = right.leaving().remove(0);
    let reflected = Flying {
        from: left.address,
        to: right.address,
        bytes: response.bytes,
    };
    let reason = refused(&mut right, at(0), &reflected);
    assert_eq!(reason, Reason::UnexpectedHandshake);
}

#[test]
fn without_a_session_nothing_sealed_opens() {
    let (mut left, right) = joined();
    let sealed = left.send(at(1), right.address, b"text").remove(0);
    let mut empty = Sessions::new(&Key::new([KEY; 32]), 10);
    let mut rng = Endpoint::new(KEY, 9, 9).rng;
    let mut bytes = sealed.bytes;
    let opened = empty.open(at(1), path(left.address), &mut bytes, &mut rng);
    assert_eq!(opened, Opened::Ignored(Reason::UnknownSession));
    assert_eq!(empty.poll_timeout(), None);
}
