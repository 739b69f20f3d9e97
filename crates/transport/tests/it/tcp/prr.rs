//! Proportional rate reduction (RFC 9937).

use incastle_transport::tcp::Config;
use incastle_units::Span;

use super::script::{beginning, judged, rack};
use super::wire::{Fate, Packet, assert_trace};

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
