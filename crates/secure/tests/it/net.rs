//! A network between endpoints that delivers the selected datagrams.

use std::net::SocketAddr;

use incastle_secure::{Batch, Sealed, Statistics};
use incastle_units::{Ecn, Span, Time};

pub(crate) use crate::fuzz::bodies::{Endpoint, Flying, path};

pub(crate) const KEY: u8 = 7;

pub(crate) fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Two ends with the same key.
pub(crate) fn pair() -> (Endpoint, Endpoint) {
    (Endpoint::new(KEY, 1, 1), Endpoint::new(KEY, 2, 2))
}

/// Delivers datagrams to the two endpoints, and their responses, until nothing is in flight: the plaintexts
/// that each received.
pub(crate) fn deliver(
    now: Time,
    left: &mut Endpoint,
    right: &mut Endpoint,
    mut flying: Vec<Flying>,
) -> [Vec<Vec<u8>>; 2] {
    let mut received = [Vec::new(), Vec::new()];
    while !flying.is_empty() {
        let datagram = flying.remove(0);
        let (end, received) = if datagram.to == left.address {
            (&mut *left, &mut received[0])
        } else {
            (&mut *right, &mut received[1])
        };
        received.extend(end.receive(now, datagram.from, &datagram.bytes));
        flying.extend(end.leaving());
    }
    received
}

/// The left endpoint seals a plaintext, and the right opens it immediately.
pub(crate) fn passes(now: Time, left: &mut Endpoint, right: &mut Endpoint, plaintext: &[u8]) {
    let flying = left.send(now, right.address, plaintext);
    let [_, received] = deliver(now, left, right, flying);
    assert_eq!(received, [plaintext.to_vec()]);
}

/// Two ends with a session.
pub(crate) fn joined() -> (Endpoint, Endpoint) {
    let (mut left, mut right) = pair();
    passes(at(0), &mut left, &mut right, b"first");
    (left, right)
}

pub(crate) fn statistics(end: &Endpoint) -> Statistics {
    end.sessions.statistics()
}

/// Lets an endpoint's timers run until `until`, and returns what left and when.
pub(crate) fn run(end: &mut Endpoint, until: Time) -> Vec<(Time, Flying)> {
    let mut left = Vec::new();
    while let Some(due) = end.sessions.poll_timeout()
        && due <= until
    {
        end.sessions.handle_timeout(due);
        left.extend(end.leaving().into_iter().map(|flying| (due, flying)));
    }
    left
}

/// Seals a batch.
pub(crate) fn seal(
    end: &mut Endpoint,
    now: Time,
    to: SocketAddr,
    bytes: &mut [u8],
    segment: usize,
) -> Sealed {
    let mut batch = Batch {
        bytes,
        segment,
        ecn: Ecn::Ect0,
    };
    end.sessions.seal(now, path(to), &mut batch, &mut end.rng)
}
