//! Opening and closing: the packets of the handshake and of the FIN exchange, also under loss.

use incastle_transport::tcp::{Batch, Config, Connection, EcnMode, Event, Flags, Role};
use incastle_units::Ecn;

use super::script::script;
use super::wire::{Fate, MSS, Receiver, Wire, assert_trace, config, data, ms, new_reno};

fn with_handshake() -> Config {
    Config {
        handshake: true,
        ..config()
    }
}

/// A opens, and nothing is written.
fn opened(wire: &mut Wire) {
    wire.endpoints[0].open(ms(0));
    wire.run(ms(5000));
}

#[test]
fn handshake_then_data() {
    let mut wire = Wire::symmetric(&with_handshake(), |_| Fate::Pass);
    wire.endpoints[0].open(ms(0));
    wire.endpoints[0].write(1500);
    wire.run(ms(1000));
    // The ACK of the SYN-ACK travels on the data.
    assert_trace(
        &wire.trace,
        "0 A SYN
         10 B SYN ack 0
         20 A 0+1000
         20 A 1000+500
         30 B ack 1000
         30 B ack 1500",
    );
    assert_eq!(
        wire.events,
        [
            (ms(20), 0, Event::Connected),
            (ms(30), 1, Event::Connected),
            (ms(40), 0, Event::Finished)
        ]
    );
}

#[test]
fn handshake_without_data_ends_with_an_ack() {
    let mut wire = Wire::symmetric(&with_handshake(), |_| Fate::Pass);
    wire.endpoints[0].open(ms(0));
    wire.run(ms(100));
    assert_trace(&wire.trace, "0 A SYN\n10 B SYN ack 0\n20 A ack 0");
}

#[test]
fn a_lost_syn_is_sent_again_with_back_off() {
    // initial_rto is 1 s, then 2 s.
    script(
        "0 A SYN lost
         1000 A SYN again lost
         3000 A SYN again
         3010 B SYN ack 0
         3020 A ack 0",
    )
    .play(&with_handshake(), opened);
}

#[test]
fn a_lost_syn_ack_is_sent_again() {
    // A's timer fires first, at 1000; its SYN makes B respond immediately.
    let wire = script(
        "0 A SYN
         10 B SYN ack 0 lost
         1000 A SYN again
         1010 B SYN ack 0 again
         1010 B SYN ack 0 again
         1020 A ack 0
         1020 A ack 0",
    )
    .play(&with_handshake(), opened);
    assert!(wire.endpoints[1].is_established());
}

#[test]
fn a_lost_last_ack_of_the_handshake_is_repaired_by_the_syn_ack() {
    let wire = script(
        "0 A SYN
         10 B SYN ack 0
         20 A ack 0 lost
         1010 B SYN ack 0 again
         1020 A ack 0",
    )
    .play(&with_handshake(), opened);
    assert!(wire.endpoints[1].is_established());
}

#[test]
fn both_endpoints_may_open() {
    let config = with_handshake();
    let end = || Connection::new(&config, new_reno(&config), Role::Active);
    let mut wire = Wire::new([end(), end()], |_| Fate::Pass);
    wire.endpoints[0].open(ms(0));
    wire.endpoints[1].open(ms(0));
    wire.run(ms(500));
    assert!(wire.endpoints.iter().all(Connection::is_established));
}

#[test]
fn fin_exchange() {
    let mut wire = Wire::symmetric(&config(), |_| Fate::Pass);
    wire.endpoints[0].write(1500);
    wire.endpoints[0].close();
    wire.run(ms(100));
    assert_trace(
        &wire.trace,
        "0 A 0+1000
         0 A 1000+500 FIN
         10 B ack 1000
         10 B ack 1501",
    );
    assert_eq!(wire.endpoints[1].delivered(), 1500);
    assert_eq!(wire.endpoints[0].acknowledged(), 1500);
    assert!(!wire.endpoints[0].is_closed());
    wire.trace.clear();
    wire.endpoints[1].close();
    wire.run(ms(200));
    assert_trace(&wire.trace, "100 B 0+0 FIN ack 1501\n110 A ack 1");
    assert!(wire.endpoints.iter().all(Connection::is_closed));
    let reported: Vec<_> = wire
        .events
        .iter()
        .map(|(_, end, event)| (*end, *event))
        .collect();
    assert_eq!(
        reported,
        [
            (0, Event::Connected),
            (1, Event::Connected),
            (1, Event::PeerFinished),
            (0, Event::Finished),
            (0, Event::PeerFinished),
            (1, Event::Finished)
        ]
    );
}

#[test]
fn simultaneous_close() {
    let mut wire = Wire::symmetric(&config(), |_| Fate::Pass);
    wire.endpoints[0].close();
    wire.endpoints[1].close();
    wire.run(ms(100));
    assert_trace(
        &wire.trace,
        "0 A 0+0 FIN ack 0
         0 B 0+0 FIN ack 0
         10 B ack 1
         10 A ack 1",
    );
    assert!(wire.endpoints.iter().all(Connection::is_closed));
}

#[test]
fn a_lost_fin_is_sent_again() {
    // One sample of 20 ms: RTO = max(200, 20 + 4 * 10) = 200 ms.
    script(
        "0 A 0+1000
         10 B ack 1000
         50 A 1000+0 FIN ack 0 lost
         250 A 1000+0 FIN ack 0 again
         260 B ack 1001",
    )
    .play(&config(), |wire| {
        wire.endpoints[0].write(1000);
        wire.run(ms(50));
        wire.endpoints[0].close();
        wire.run(ms(2000));
    });
}

#[test]
fn a_repeated_fin_is_acknowledged_again() {
    let wire = script(
        "0 A 0+1000 FIN
         10 B ack 1001 lost
         1000 A 0+1000 FIN again
         1010 B ack 1001",
    )
    .play(&config(), |wire| {
        wire.endpoints[0].write(1000);
        wire.endpoints[0].close();
        wire.run(ms(3000));
    });
    assert_eq!(wire.endpoints[1].delivered(), 1000);
}

/// RFC 9293, section 3.10.7.4: once a FIN was received, later data and FINs are not processed. They are
/// acknowledged like any other segment that is not acceptable.
#[test]
fn nothing_beyond_a_received_fin_is_processed() {
    let mut receiver = Receiver::new(&config());
    let mut take = |at, seq, payload, flags| {
        let mut segment = data(ms(at), seq, payload);
        segment.flags = segment.flags.with(flags);
        receiver.take(&segment, Ecn::NotEct, Batch::Last)
    };
    assert_eq!(take(0, 0, 1000, Flags::FIN), ["0 B ack 1001"]);
    // At the next number expected, before it and beyond a gap: a FIN, data, and both.
    assert_eq!(take(1, 1001, 0, Flags::FIN), ["1 B ack 1001"]);
    assert_eq!(take(2, 1001, 500, Flags::NONE), ["2 B ack 1001"]);
    assert_eq!(take(3, 1001, 500, Flags::FIN), ["3 B ack 1001"]);
    assert_eq!(take(4, 500, 1000, Flags::FIN), ["4 B ack 1001"]);
    assert_eq!(take(5, 2000, 500, Flags::FIN), ["5 B ack 1001"]);
    let connection = &receiver.connection;
    assert_eq!((connection.delivered(), connection.held()), (1000, 0));
    assert_eq!(connection.stats().duplicates_received, 5);
}

#[test]
fn a_fin_that_overtakes_data_waits_for_them() {
    script(
        "0 A 0+1000 late 5
         0 A 1000+1000 FIN
         10 B ack 0
         15 B ack 2001",
    )
    .play(&config(), |wire| {
        wire.endpoints[0].write(2000);
        wire.endpoints[0].close();
        wire.run(ms(100));
    });
}

#[test]
fn sequence_numbers_wrap() {
    let mut wire = Wire::symmetric(&with_handshake(), |_| Fate::Pass);
    wire.endpoints[0].open(ms(0));
    wire.endpoints[0].write(200_000);
    wire.endpoints[0].close();
    wire.run(ms(10_000));
    assert_eq!(wire.endpoints[1].delivered(), 200_000);
    let wrapped =
        |p: &&crate::tcp::wire::Packet| p.sent.segment.payload > 0 && p.sent.segment.seq < 1 << 18;
    assert_eq!(wire.record.iter().filter(wrapped).count(), 134);
    // The segment across the wrap: 65 segments of 1000 B, then 65000..66000.
    let across = wire
        .record
        .iter()
        .find(|p| p.is_first(65_000))
        .expect("sent");
    assert_eq!(across.sent.segment.seq, u32::MAX - 535);
    assert_eq!(across.sent.segment.payload, MSS);
}

#[test]
fn ecn_is_negotiated() {
    let ecn = Config {
        ecn: EcnMode::Classic,
        ..with_handshake()
    };
    let mut both = Wire::symmetric(&ecn, |_| Fate::Pass);
    both.endpoints[0].open(ms(0));
    both.endpoints[0].write(1000);
    both.run(ms(100));
    assert_trace(
        &both.trace,
        "0 A SYN ECE CWR\n10 B SYN ECE ack 0\n20 A 0+1000\n30 B ack 1000",
    );
    assert!(both.record[2].sent.ecn.is_capable());

    let plain = with_handshake();
    let endpoints = [
        Connection::new(&ecn, new_reno(&ecn), Role::Active),
        Connection::new(&plain, new_reno(&plain), Role::Passive),
    ];
    let mut one = Wire::new(endpoints, |_| Fate::Pass);
    one.endpoints[0].open(ms(0));
    one.endpoints[0].write(1000);
    one.run(ms(100));
    assert_trace(
        &one.trace,
        "0 A SYN ECE CWR\n10 B SYN ack 0\n20 A 0+1000\n30 B ack 1000",
    );
    assert!(
        one.record
            .iter()
            .all(|packet| !packet.sent.ecn.is_capable())
    );
}
