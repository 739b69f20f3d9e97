//! Proportional rate reduction (RFC 9937), and the figures of its section 8.

use incastle_transport::tcp::{Config, EcnMode, Recovery};
use incastle_units::{Bytes, Span};

use super::script::{beginning, judged, rack, timeouts, write};
use super::wire::{Fate, Packet, Wire, assert_trace, ms, window};

#[test]
fn the_window_shrinks_proportionally() {
    let config = Config {
        prr: true,
        ..rack(10)
    };
    // The pipe is above ssthresh = 5: one segment for two that were delivered.
    beginning(
        "100 A 1000+1000 lost
         100 A 2000..=10000+1000
         110 B ack 1000 sack 2000-3000..=11000
         120 A 11000+1000
         120 A 12000+1000
         120 A 1000+1000 again
         120 A 13000+1000
         120 A 14000+1000
         130 B ack 1000 sack 2000-12000
         130 B ack 1000 sack 2000-13000
         130 B ack 13000..=15000",
    )
    .transfer(&config, 20_000);
}

#[test]
fn many_losses_are_repaired_as_fast_as_data_are_delivered() {
    let config = Config {
        prr: true,
        ..rack(10)
    };
    // The pipe falls below ssthresh: a segment for each, and one more where the recovery makes progress.
    beginning(
        "100 A 1000..=6000+1000 lost
         100 A 7000..=10000+1000
         110 B ack 1000 sack 7000-8000..=11000
         120 A 11000+1000
         120 A 12000+1000
         120 A 1000+1000 again
         120 A 2000+1000 again
         130 B ack 1000 sack 7000-12000
         130 B ack 1000..=3000 sack 7000-13000
         140 A 3000..=6000+1000 again
         140 A 13000+1000
         150 B ack 4000 sack 7000-13000
         150 B ack 5000 sack 7000-13000",
    )
    .transfer(&config, 20_000);
}

/// Reordering becomes known; then a loss, and another one that shows later, in the recovery.
fn losses_after_reordering(packet: &Packet) -> Fate {
    match packet.seq() {
        _ if packet.from == 1 || packet.sent.retransmission => Fate::Pass,
        9000 => Fate::Delay(Span::from_ms(2)),
        14_000 | 28_000 => Fate::Drop,
        29_000 | 30_000 => Fate::Delay(Span::from_ms(4)),
        _ => Fate::Pass,
    }
}

#[test]
fn losses_that_the_timer_finds_within_a_recovery_count_as_no_delivery() {
    let config = Config {
        prr: true,
        ..rack(10)
    };
    let wire = judged(&config, 60_000, losses_after_reordering);
    // 14000 left at 120 and is due 20 + 5 ms later; 28000 left at 122, and what left after it arrived at 146
    // with a round trip of 24 ms. PRR allowed what was in flight then, and so 28000 again.
    let later = wire.lines("A").into_iter().skip(49).take(4);
    let later: Vec<String> = later.map(str::to_string).collect();
    assert_trace(
        &later,
        "145 A 14000+1000 again
         151 A 28000+1000 again
         160 A 50000+1000
         160 A 51000+1000",
    );
}

/// The segments of A for each ACK of the round trip after the losses, `N` for new data and `R` for retransmissions, in a
/// figure of RFC 9937, section 8: 20 segments, of which the first are lost, or have another fate. A segment has one octet,
/// as the figures count in segments; each ACK arrives a millisecond after the one before.
fn responses(config: &Config, first: u64, fate: Fate, acks: u64) -> String {
    let config = Config {
        mss: 1,
        initial_window: Bytes::new(20),
        limited_transmit: true,
        ..*config
    };
    let mut wire = Wire::symmetric(&config, |_| Fate::Pass);
    write(1, 100)(&mut wire);
    let mut number = 0;
    wire.judge = Box::new(move |packet| match (packet.from, packet.at == ms(110)) {
        (0, _) if packet.at == ms(100) && packet.seq() <= first => fate,
        (1, true) => {
            number += 1;
            Fate::Delay(Span::from_ms(number))
        }
        _ => Fate::Pass,
    });
    write(1000, 1000)(&mut wire);
    assert_eq!(timeouts(&wire), 0);
    let at = |ack| {
        let own = wire.record.iter().filter(|packet| packet.from == 0);
        // ACK 20 is that of the first new segment, which left at 121 ms.
        let arrives = ms(if ack < 20 { 120 + ack } else { 121 + ack });
        let sent = own.filter(move |packet| packet.at == arrives);
        let again = sent.clone().filter(|p| p.sent.retransmission).count();
        match (sent.count() - again, again) {
            (0, 0) => ".".to_string(),
            (1, 0) => "N".to_string(),
            (0, 1) => "R".to_string(),
            (new, again) => format!("{new}N{again}R"),
        }
    };
    (1..=acks).map(at).collect::<Vec<_>>().join(" ")
}

/// RACK-TLP with PRR, and SACK.
fn both() -> [Config; 2] {
    let prr = Config {
        prr: true,
        ..rack(20)
    };
    [prr, window(20, Recovery::Sack)]
}

/// Figure 1. The last ACK ends the recovery. PRR sends with ACK 20 what the figure sends with ACK 19:
/// the tests of `incastle-recovery` say why.
#[test]
fn figure_1_a_single_loss() {
    let [prr, sack] = both();
    let expected = "N N R . N . N . N . N . N . N . N . . N N N";
    assert_eq!(responses(&prr, 1, Fate::Drop, 22), expected);
    let expected = "N N R . . . . . . . . . N N N N N N N N N N";
    assert_eq!(responses(&sack, 1, Fate::Drop, 22), expected);
}

/// Of 20 segments one is marked: the window falls to 10, over the round trip or at once.
#[test]
fn a_mark_lowers_the_window_over_a_round_trip() {
    let at_once = Config {
        ecn: EcnMode::Classic,
        ..rack(20)
    };
    let spread = Config {
        prr_on_ecn: true,
        ..at_once
    };
    // ACK 19 leaves 10 in flight, as many as the window holds.
    let expected = "N . N . N . N . N . N . N . N . N . .";
    assert_eq!(responses(&spread, 1, Fate::Mark, 19), expected);
    let expected = ". . . . . . . . . . N N N N N N N N N";
    assert_eq!(responses(&at_once, 1, Fate::Mark, 19), expected);
}

/// Figure 2.
#[test]
fn figure_2_a_burst_of_losses() {
    let [prr, sack] = both();
    assert_eq!(responses(&prr, 15, Fate::Drop, 5), "N N R R R");
    assert_eq!(responses(&sack, 15, Fate::Drop, 5), "N N 0N6R R R");
}

#[test]
fn the_timer_begins_a_reduction_by_what_is_outstanding() {
    let config = Config {
        prr: true,
        ..rack(20)
    };
    // Two reports release two new segments. When the timer fires RecoverFS = 22 - 2 = 20, and ssthresh = 10: two are sent
    // for four that are delivered. The timer counts as one, as it does in Linux, and three are reported at 130.
    beginning(
        "100 A 1000+1000 lost
         100 A 2000..=3000+1000
         100 A 4000..=6000+1000 late 10
         100 A 7000..=20000+1000 late 14
         110 B ack 1000 sack 2000-3000..=4000
         120 B ack 1000 sack 2000-5000..=7000
         120 A 21000..=22000+1000
         124 B ack 1000 sack 2000-8000..=21000
         125 A 1000+1000 again
         130 A 23000+1000",
    )
    .transfer(&config, 60_000);
}
