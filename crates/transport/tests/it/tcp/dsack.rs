//! Reports of duplicates (RFC 2883): the tables of its section 4 for a receiver, and those of section 5 for what a
//! sender makes of them.

use incastle_transport::tcp::{Batch, CeChange, Config, EcnMode};
use incastle_units::{Ecn, Span};

use super::script::{
    beginning, control, judged, measured, rack, rack_alone, script, timeouts, write,
};
use super::wire::{Fate, Gathering, Packet, Receiver, data, ms};

/// The first and the last number of a segment of a table.
fn numbers(segment: &str) -> (u64, u64) {
    let (first, last) = segment.split_once('-').expect("a segment");
    (
        first.parse().expect("a number"),
        last.parse().expect("a number"),
    )
}

/// An ACK in the words of the tables.
fn words(line: &str) -> String {
    let (_, ack) = line.split_once("ack ").expect("an ACK");
    let ack = ack.replacen(" sack ", ", SACK=", 1);
    ack.replace(" sack ", ", ")
}

/// Compares a receiver with a table of RFC 2883: the segments that arrive, each with its ACK. Everything below the first
/// of them has arrived.
#[track_caller]
fn assert_table(table: &str) {
    let mut receiver = Receiver::new(&rack(4));
    let mut arrives = |first: u64, last: u64| {
        let segment = data(ms(0), first, (last + 1 - first) as u16);
        let acks = receiver.take(&segment, Ecn::NotEct, Batch::Last);
        acks.iter().map(|line| words(line)).collect::<Vec<_>>()
    };
    let rows = || {
        let rows = table.lines().map(str::trim);
        rows.map(|row| row.split_once(' ').expect("a segment and its ACK"))
    };
    let (first, _) = rows().next().map(|row| numbers(row.0)).expect("a row");
    for below in (0..first).step_by(500) {
        arrives(below, below + 499);
    }
    for (segment, ack) in rows() {
        let (first, last) = numbers(segment);
        assert_eq!(arrives(first, last), [ack.trim()], "{segment}");
    }
}

/// Section 4.1.1, example 1.
#[test]
fn a_duplicate_segment_is_reported() {
    assert_table(
        "3000-3499  3500
         3500-3999  4000
         3000-3499  4000, SACK=3000-3500",
    );
}

/// Section 4.1.2, example 2.
#[test]
fn a_segment_out_of_order_and_a_duplicate_are_reported() {
    assert_table(
        "3000-3499  3500
         3500-3999  4000
         4500-4999  4000, SACK=4500-5000
         3000-3499  4000, SACK=3000-3500, 4500-5000",
    );
}

/// Section 4.1.3, example 3.
#[test]
fn a_duplicate_of_a_segment_out_of_order_is_reported() {
    assert_table(
        "3500-3999  4000
         4500-4999  4000, SACK=4500-5000
         5000-5499  4000, SACK=4500-5500
         5000-5499  4000, SACK=5000-5500, 4500-5500",
    );
}

/// Section 4.2.1, example 4. The RFC writes the last segment as 1000-2000.
#[test]
fn a_duplicate_part_is_reported() {
    assert_table(
        "500-999    1000
         2000-2499  1000, SACK=2000-2500
         1000-1499  1500, SACK=2000-2500
         1000-1999  2500, SACK=1000-1500",
    );
}

/// Section 4.2.2, example 5.
#[test]
fn the_first_of_two_duplicate_parts_below_the_acknowledgement_is_reported() {
    assert_table(
        "500-999    1000
         3000-3499  1000, SACK=3000-3500
         1000-1499  1500, SACK=3000-3500
         2000-2499  1500, SACK=2000-2500, 3000-3500
         1000-2499  2500, SACK=1000-1500, 3000-3500",
    );
}

/// Section 4.2.3, example 6. Its column of received segments has 2000-2499, which that of transmitted segments says was
/// dropped; 2500-2999 was delayed, and gives two parts that do not touch.
#[test]
fn the_first_of_two_duplicate_parts_above_the_acknowledgement_is_reported() {
    assert_table(
        "500-999    1000
         3500-3999  1000, SACK=3500-4000
         1500-1999  1000, SACK=1500-2000, 3500-4000
         2500-2999  1000, SACK=2500-3000, 1500-2000, 3500-4000
         1500-2999  1000, SACK=1500-2000, 1500-3000, 3500-4000",
    );
}

/// Section 4, guideline 2: each duplicate is reported once.
#[test]
fn each_duplicate_is_reported_once() {
    assert_table(
        "500-999    1000
         500-999    1000, SACK=500-1000
         1500-1999  1000, SACK=1500-2000
         500-999    1000, SACK=500-1000, 1500-2000
         2000-2499  1000, SACK=1500-2500",
    );
}

/// Section 5.1: a segment that was not sent again was replicated by the network. Its ACK is no sign of a loss.
#[test]
fn a_replicated_segment_changes_nothing() {
    let replicated = script(
        "100 A 1000+1000
         100 A 2000+1000 twice 1
         110 B ack 2000
         110 B ack 3000
         111 B ack 3000 sack 2000-3000",
    )
    .transfer(&rack(4), 2000);
    assert_eq!(replicated.endpoints[0].stats().duplicate_acks, 0);
    let alone = judged(&rack(4), 2000, |_| Fate::Pass);
    assert_eq!(control(&replicated), control(&alone));
}

/// Section 5.3: a window of ACKs was lost. The timeout was needless, and is undone.
#[test]
fn a_timeout_after_lost_acks_is_undone() {
    let wire = script(
        "100 A 1000..=4000+1000
         110 B ack 2000..=5000 lost
         300 A 1000+1000 again
         310 B ack 5000 sack 1000-2000",
    )
    .transfer(&rack_alone(4), 4000);
    // The window of 4 segments, and its growth by an ACK of 4: abc_limit = 2 segments.
    assert_eq!((timeouts(&wire), control(&wire)), (1, (6000, None)));
}

/// Section 5.4: the timer was too early. The timeout is undone with the report of the last repetition.
#[test]
fn an_early_timeout_is_undone() {
    let wire = script(
        "100 A 1000..=4000+1000 late 235
         300 A 1000+1000 again late 50
         345 B ack 2000..=5000
         355 A 2000..=4000+1000 again
         360 B ack 5000 sack 1000-2000
         365 B ack 5000 sack 2000-3000
         365 B ack 5000 sack 3000-4000
         365 B ack 5000 sack 4000-5000",
    )
    .transfer(&rack_alone(4), 4000);
    assert_eq!((timeouts(&wire), control(&wire)), (1, (4000, None)));
}

/// Section 5.2: three segments after it arrived before a segment, which was sent again needlessly.
#[test]
fn a_duplicate_report_undoes_a_needless_recovery() {
    let wire = beginning(
        "100 A 1000+1000
         100 A 2000+1000 late 30
         100 A 3000+1000
         100 A 4000+1000
         110 B ack 2000
         110 B ack 2000 sack 3000-4000
         110 B ack 2000 sack 3000-5000
         120 A 5000..=8000+1000
         125 A 2000+1000 again
         130 B ack 2000 sack 3000-6000..=9000
         135 B ack 9000
         140 B ack 9000 sack 2000-3000
         140 A 9000+1000
         145 A 10000+1000
         150 A 11000+1000
         150 A 12000+1000",
    )
    .transfer(&rack(4), 20_000);
    let stats = wire.endpoints[0].stats();
    assert_eq!((stats.fast_retransmits, stats.retransmissions), (1, 1));
    assert_eq!(control(&wire).1, None);

    let without = Config {
        dsack: false,
        ..rack(4)
    };
    let wire = beginning(
        "100 A 1000+1000
         100 A 2000+1000 late 30",
    )
    .transfer(&without, 20_000);
    // Half of FlightSize, which was five segments and two of limited transmit.
    assert_eq!(control(&wire).1, Some(2500));
}

#[test]
fn duplicate_reports_widen_the_window_of_reordering() {
    // Every fourth segment comes 8 ms late: beyond 1/4 of the round trip at first, not beyond 2/4.
    let late = |packet: &Packet| {
        let nth = packet.seq() / 1000;
        if packet.from == 0 && nth % 4 == 2 && !packet.sent.retransmission {
            Fate::Delay(Span::from_ms(8))
        } else {
            Fate::Pass
        }
    };
    let wire = judged(&rack(4), 400_000, late);
    let again: Vec<u64> = wire
        .record
        .iter()
        .filter(|packet| packet.sent.retransmission)
        .map(Packet::seq)
        .collect();
    assert!(!again.is_empty(), "the first is found lost");
    assert!(again.iter().all(|seq| *seq < 20_000), "{again:?}");
}

/// A receiver whose NIC takes its ACKs late, or that takes its arrivals as a batch: each report leaves with the ACK
/// that the duplicate has triggered (section 4), not with one of those that were due before.
#[test]
fn a_duplicate_is_reported_by_its_ack() {
    let mut receiver = Receiver::new(&rack(4));
    for seq in [1000, 0, 3000, 2000] {
        receiver.take(&data(ms(0), seq, 1000), Ecn::NotEct, Batch::More);
    }
    assert_eq!(
        receiver.take(&data(ms(0), 2000, 1000), Ecn::NotEct, Batch::Last),
        ["0 B ack 0", "0 B ack 2000", "0 B ack 4000 sack 2000-3000"]
    );
}

/// Were the report with the first of the three ACKs, the second would leave a reported segment at SND.UNA.
#[test]
fn a_timeout_after_the_loss_of_a_duplicate_report_repeats_the_first_segment() {
    let config = Config {
        ecn: EcnMode::Dctcp(CeChange::Linux),
        delayed_ack_count: 2,
        ..rack_alone(3)
    };
    let mut wire = measured(&config);
    wire.gathering = Gathering::Batch;
    let wire = script(
        "100 A 1000+1000
         100 A 2000+1000 CE
         100 A 3000+1000 twice 0
         110 B ack 2000
         110 B ECE ack 3000
         110 B ack 4000 sack 3000-4000 lost
         320 A 3000+1000 again
         330 B ack 4000 sack 3000-4000",
    )
    .go_on(wire, write(3000, 10_000));
    assert_eq!(wire.endpoints[0].acknowledged(), 4000);
}
