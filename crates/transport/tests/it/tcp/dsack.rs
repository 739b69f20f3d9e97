//! Reports of duplicates (RFC 2883), and what a sender makes of them.

use incastle_transport::tcp::Config;
use incastle_units::Span;

use super::script::{beginning, control, judged, rack};
use super::wire::{Fate, Packet};

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
