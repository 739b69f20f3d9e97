//! The wire format of accurate ACKs: the page's example, the words of the handshake, every field there and back.

use incastle_transport::udt::wire::{
    AccurateAck, AckCounts, AckRate, Control, ControlBody, Dialect, Extension, Handshake,
    HandshakeKind, SocketKind, WireError, parse,
};
use proptest::prelude::*;

use super::wire::{bytes, control, number, written};

/// The example of docs/models/dcudp-wire.md.
#[test]
fn the_accurate_ack_of_the_page() {
    let ack = Control::AccurateAck(AccurateAck {
        next: number(0x123),
        newest: number(0x126),
        delay_us: 3,
        counts: AckCounts {
            arrived: 0x25,
            ce: 5,
            ect: 0x20,
            lost: 1,
        },
    });
    let out = written(&control(ack), ControlBody::Empty, Dialect::Accurate);
    let body = [0x123, 0x126, 3, 5, 0x20, 1];
    let head = [0xFFFF_0003, 0x25, 0x0102_0304, 0x0506_0708];
    assert_eq!(out, bytes(&[&head[..], &body].concat()));
}

#[test]
fn the_offer_of_accurate_acks_takes_three_words_of_the_address() {
    let rate = AckRate {
        packets: 2,
        per_rtt: 4,
    };
    let handshake = Handshake {
        version: 4,
        socket_kind: SocketKind::Stream,
        first: number(1),
        packet_size: 1500,
        flow_window: 8192,
        kind: HandshakeKind::Request,
        socket: 9,
        cookie: 0,
        peer: [0x0A00_0001, 0, 0, 0],
        extension: Some(Extension::AccurateOffer { socket: 9, rate }),
    };
    let body = ControlBody::Handshake(&handshake);
    let mut out = written(&control(Control::Handshake), body, Dialect::Udt);
    let words = [0x0A00_0001, 0x4143_4B53, 0x0101_0204, 9];
    assert_eq!(out[48..], bytes(&words));
    // A rate of nothing, and a version that is not known, are an address.
    for (index, value) in [(58, 0), (59, 0), (56, 2), (57, 3)] {
        let before = std::mem::replace(&mut out[index], value);
        let view = parse(&out, Dialect::Udt).expect("a handshake");
        assert_eq!(
            view.handshake.expect("a handshake").extension,
            None,
            "{index}"
        );
        out[index] = before;
    }
    let view = parse(&out, Dialect::Udt).expect("a handshake");
    assert_eq!(view.handshake, Some(handshake));
}

fn any_accurate_ack() -> impl Strategy<Value = Control> {
    let words = any::<[u32; 5]>();
    (words, any::<[u32; 2]>()).prop_map(|([arrived, ce, ect, lost, delay_us], [next, newest])| {
        Control::AccurateAck(AccurateAck {
            next: number(next),
            newest: number(newest),
            delay_us,
            counts: AckCounts {
                arrived,
                ce,
                ect,
                lost,
            },
        })
    })
}

proptest! {
    #[test]
    fn accurate_acks_come_back(control in any_accurate_ack()) {
        let packet = super::wire::control(control);
        let out = written(&packet, ControlBody::Empty, Dialect::Accurate);
        let view = parse(&out, Dialect::Accurate);
        prop_assert_eq!(view.map(|view| view.packet), Ok(packet));
        // No other dialect has them, and no other length.
        for dialect in [Dialect::Udt, Dialect::Dcudp] {
            let bytes = written(&packet, ControlBody::Empty, dialect);
            let other = parse(&bytes, dialect);
            let unknown = matches!(other, Err(WireError::Unknown { subtype: 3, .. }));
            prop_assert!(unknown);
        }
        prop_assert!(parse(&out[..36], Dialect::Accurate).is_err());
    }
}
