//! Datagrams: what a send buffer takes and refuses.

use incastle_transport::datagram::{DEFAULT_SEND_BUFFER, Endpoint};
use incastle_units::{Bytes, Time};
use proptest::prelude::*;

fn send(endpoint: &mut Endpoint) -> Option<(u64, u32)> {
    let datagram = endpoint.poll_transmit(Time::ZERO)?;
    Some((datagram.seq, datagram.payload))
}

#[test]
fn a_full_buffer_refuses_and_counts() {
    let mut endpoint = Endpoint::new(Some(Bytes::new(3000)));
    // 1000 + 1500 wait; 501 more do not fit, 500 do, to the byte.
    assert!(endpoint.write(1000) && endpoint.write(1500));
    assert!(!endpoint.write(501));
    assert!(endpoint.write(500));
    assert!(!endpoint.write(1));
    assert_eq!(endpoint.waiting(), Bytes::new(3000));
    assert_eq!(endpoint.refused().messages, 2);
    assert_eq!(endpoint.refused().bytes, Bytes::new(502));
    // One leaves, and there is room for it again. A refused write takes no number.
    assert_eq!(send(&mut endpoint), Some((0, 1000)));
    assert!(endpoint.write(1000));
    assert_eq!(send(&mut endpoint), Some((1, 1500)));
    assert_eq!(send(&mut endpoint), Some((2, 500)));
    assert_eq!(send(&mut endpoint), Some((3, 1000)));
    assert_eq!(send(&mut endpoint), None);
    assert_eq!(endpoint.waiting(), Bytes::ZERO);
    assert_eq!(endpoint.sent(), Bytes::new(4000));
}

#[test]
fn an_empty_buffer_takes_any_message() {
    let mut endpoint = Endpoint::new(Some(Bytes::new(100)));
    assert!(endpoint.write(1472));
    assert!(!endpoint.write(1));
    assert_eq!(send(&mut endpoint), Some((0, 1472)));
    assert!(endpoint.write(1472));
    endpoint.stop();
    assert!(endpoint.is_quiet());
    assert!(endpoint.write(1472));
}

#[test]
fn the_default_holds_as_much_as_linux() {
    // 212,992 = 144 * 1472 + 1024.
    let mut endpoint = Endpoint::new(Some(DEFAULT_SEND_BUFFER));
    let taken = (0..1000).filter(|_| endpoint.write(1472)).count();
    assert_eq!(taken, 144);
    assert_eq!(endpoint.refused().messages, 856);
}

#[test]
fn without_a_limit_nothing_is_refused() {
    let mut endpoint = Endpoint::new(None);
    assert!((0..1000).all(|_| endpoint.write(u16::MAX)));
    assert_eq!(endpoint.refused().messages, 0);
    assert_eq!(endpoint.waiting(), Bytes::new(65_535_000));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Write(u16),
    Send,
    Stop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<u16>().prop_map(Step::Write),
        4 => Just(Step::Send),
        1 => Just(Step::Stop),
    ]
}

proptest! {
    #[test]
    fn every_message_is_sent_refused_stopped_or_waits(
        size in prop::option::of(0_u64..300_000),
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut endpoint = Endpoint::new(size.map(Bytes::new));
        let (mut written, mut stopped) = (Bytes::ZERO, Bytes::ZERO);
        for step in steps {
            match step {
                Step::Write(payload) => {
                    written += Bytes::new(u64::from(payload));
                    let before = endpoint.waiting();
                    let was_empty = endpoint.is_quiet();
                    let taken = endpoint.write(payload);
                    let after = before + Bytes::new(u64::from(payload));
                    let fits = size.is_none_or(|size| after <= Bytes::new(size));
                    prop_assert_eq!(taken, fits || was_empty);
                }
                Step::Send => {
                    let _ = send(&mut endpoint);
                }
                Step::Stop => {
                    stopped += endpoint.waiting();
                    endpoint.stop();
                }
            }
            let found = endpoint.sent() + endpoint.refused().bytes + stopped + endpoint.waiting();
            prop_assert_eq!(found, written);
        }
    }
}
