//! Messages without losses, packet by packet. 1 us for each full packet, 10 us for the wire.

use std::sync::Arc;

use incastle_rdma::{
    Config, DataAt, Event, Headers, MAX_PSN, MessageId, Opcode, Packet, Place, QueuePair, Verb,
};
use incastle_units::{Bytes, Time};

use super::control::Fixed;
use super::net::config;
use super::script::play;

#[test]
fn a_write_of_several_packets() {
    let net = play(
        &config(),
        &[(0, Verb::Write, 2500)],
        "0 A write 0 first
         1 A write 1 middle
         2 A write 2 last req
         11 B ack 0
         12 B ack 1
         12 B ack 2",
    );
    let [a, b] = &net.ends;
    let received = Event::Received {
        verb: Verb::Write,
        bytes: 2500,
    };
    assert_eq!(b.events, [received]);
    assert_eq!(a.events, [Event::Completed(MessageId(0))]);
    assert_eq!((a.pair.delivered(), b.pair.delivered()), (0, 2500));
    assert!(a.pair.is_finished() && a.pair.unsent() == 0);
}

/// Each message takes PSNs of its own; both directions count for themselves.
#[test]
fn messages_in_both_directions() {
    let net = play(
        &config(),
        &[
            (0, Verb::Send, 1000),
            (0, Verb::Write, 1001),
            (1, Verb::Send, 2000),
        ],
        "0 A send 0 only req
         0 B send 0 first
         1 A write 1 first
         1 B send 1 last req
         2 A write 2 last req
         11 B ack 0
         11 A ack 0
         12 B ack 1
         12 A ack 1
         12 B ack 2",
    );
    let completed = |id| Event::Completed(MessageId(id));
    let received = |verb, bytes| Event::Received { verb, bytes };
    let [a, b] = &net.ends;
    assert_eq!(
        a.events,
        [received(Verb::Send, 2000), completed(0), completed(1)]
    );
    let expected = [
        received(Verb::Send, 1000),
        received(Verb::Write, 1001),
        completed(0),
    ];
    assert_eq!(b.events, expected);
}

#[test]
fn sequence_numbers_wrap_at_24_bits() {
    let config = Config {
        initial_psn: MAX_PSN - 1,
        ..config()
    };
    play(
        &config,
        &[(0, Verb::Write, 4000)],
        "0 A write 16777214 first
         1 A write 16777215 middle
         2 A write 0 middle
         3 A write 1 last req
         11 B ack 16777214
         12 B ack 16777215
         13 B ack 0
         14 B ack 1",
    );
}

/// The size of each kind of packet: IP 20, UDP 8, BTH 12, ICRC 4; RETH 16, AETH 4; 16 reserved bytes in a CNP.
#[test]
fn packets_have_the_sizes_of_their_headers() {
    let packet = Packet {
        timestamp: Time::ZERO,
        psn: 0,
        length: 0,
        msn: 0,
        payload: 1024,
        opcode: Opcode::Cnp,
        ack_req: false,
        echo: false,
        retransmission: false,
    };
    let empty = [Opcode::ReadRequest, Opcode::Ack, Opcode::Nak, Opcode::Cnp];
    let bytes = |opcode, headers: &Headers| {
        let payload = if empty.contains(&opcode) { 0 } else { 1024 };
        let packet = Packet {
            opcode,
            payload,
            ..packet
        };
        packet.ip_bytes(headers).count() - u64::from(payload)
    };
    let (own, theirs) = (Headers::default(), Config::hpcc_ns3().headers);
    for (opcode, bth, size, compat) in [
        (Opcode::Send(Place::First), 0x00, 44, 48),
        (Opcode::Send(Place::Middle), 0x01, 44, 48),
        (Opcode::Send(Place::Last), 0x02, 44, 48),
        (Opcode::Send(Place::Only), 0x04, 44, 48),
        (Opcode::Write(Place::First), 0x06, 60, 48),
        (Opcode::Write(Place::Middle), 0x07, 44, 48),
        (Opcode::Write(Place::Last), 0x08, 44, 48),
        (Opcode::Write(Place::Only), 0x0A, 60, 48),
        (Opcode::ReadRequest, 0x0C, 60, 48),
        (Opcode::ReadResponse(Place::First), 0x0D, 48, 48),
        (Opcode::ReadResponse(Place::Middle), 0x0E, 44, 48),
        (Opcode::ReadResponse(Place::Last), 0x0F, 48, 48),
        (Opcode::ReadResponse(Place::Only), 0x10, 48, 48),
        (Opcode::Ack, 0x11, 48, 60),
        (Opcode::Nak, 0x11, 48, 60),
        (Opcode::Cnp, 0x81, 60, 60),
    ] {
        assert_eq!(opcode.bth(), bth, "{opcode:?}");
        assert_eq!(
            (bytes(opcode, &own), bytes(opcode, &theirs)),
            (size, compat),
            "{opcode:?}"
        );
    }
}

/// RETH and AETH: the length of a WRITE in its first packet, that of a READ in its request, and the messages that
/// the responder has completed.
#[test]
fn headers_have_their_fields() {
    let mut net = super::net::Net::new(&config());
    let fields = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let kept = std::rc::Rc::clone(&fields);
    net.judge = Box::new(move |sent| {
        kept.borrow_mut()
            .push((sent.packet.length, sent.packet.msn));
        super::net::Fate::Pass
    });
    net.post(0, Verb::Write, 1500);
    net.post(0, Verb::Read, 1200);
    net.run(Time::NEVER);
    let lines = [
        "0 A write 0 first",
        "1 A write 1 last req",
        "1 A read 2+1200",
        "11 B ack 0",
        "11 B ack 1",
        "11 B response 2 first",
        "12 B response 3 last",
    ];
    assert_eq!(net.trace, lines);
    let expected = [(1500, 0), (0, 0), (1200, 0), (0, 0), (0, 1), (0, 2), (0, 2)];
    assert_eq!(*fields.borrow(), expected);
}

/// A host has many queue pairs.
#[test]
fn a_queue_pair_is_small() {
    assert!(
        size_of::<QueuePair>() <= 1024,
        "{} bytes",
        size_of::<QueuePair>()
    );
    assert!(size_of::<Packet>() <= 32, "{} bytes", size_of::<Packet>());
}

/// Nothing is to be sent, and no timer runs, before a message is posted.
#[test]
fn an_idle_pair_is_silent() {
    let mut pair = QueuePair::new(Arc::new(config()), Fixed::window(1));
    assert_eq!(pair.data_at(Time::ZERO), DataAt::Never);
    assert_eq!((pair.poll_control(), pair.poll_event()), (None, None));
    assert_eq!(pair.poll_timeout(), None);
    assert!(pair.is_finished());
    assert_eq!(Bytes::new(pair.unsent() + pair.in_flight()), Bytes::new(0));
}
