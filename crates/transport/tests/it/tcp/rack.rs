//! Loss detection by time (RFC 8985), with duplicate reports (RFC 2883), proportional rate reduction (RFC 9937)
//! and F-RTO (RFC 5682).

use incastle_transport::tcp::{Config, Recovery};
use incastle_units::{Bytes, Span, Time};

use super::wire::{Fate, Packet, Wire, assert_trace, config, ms};

/// RACK-TLP with duplicate reports, and a window of `segments` at the start.
fn rack(segments: u64) -> Config {
    Config {
        recovery: Recovery::RackTlp,
        tail_loss_probe: true,
        dsack: true,
        initial_window: Bytes::new(1000 * segments),
        ..config()
    }
}

/// Loses these transmissions of data, each an offset and the number of its transmissions that are lost.
fn lose(losses: &'static [(u64, u32)]) -> impl FnMut(&Packet) -> Fate {
    let mut left = losses.to_vec();
    move |packet| {
        let data = packet.from == 0 && packet.sent.segment.payload > 0;
        let hit = |(seq, times): &&mut (u64, u32)| data && *seq == packet.seq() && *times > 0;
        match left.iter_mut().find(hit) {
            Some((_, times)) => {
                *times -= 1;
                Fate::Drop
            }
            None => Fate::Pass,
        }
    }
}

/// A transfer over this wire, with a round trip of 20 ms known from its first segment.
fn transfer(config: &Config, bytes: u64, judge: impl FnMut(&Packet) -> Fate + 'static) -> Wire {
    let mut wire = Wire::symmetric(config, judge);
    wire.endpoints[0].write(1000);
    wire.run(ms(100));
    wire.trace.clear();
    wire.endpoints[0].write(bytes);
    wire.run(ms(10_000));
    assert_eq!(wire.endpoints[1].delivered(), 1000 + bytes);
    wire
}

/// The beginning of the record, as far as it is written out.
#[track_caller]
fn assert_begins(wire: &Wire, expected: &str) {
    let lines = expected.lines().count();
    assert_trace(&wire.trace[..lines.min(wire.trace.len())], expected);
}

fn timeouts(wire: &Wire) -> u64 {
    wire.endpoints[0].stats().timeouts
}

/// The window and the threshold of the sender, in octets.
fn window(wire: &Wire) -> (u64, Option<u64>) {
    let state = wire.endpoints[0].control_state();
    let cwnd = state.cwnd.expect("NewReno has a window");
    (cwnd.count(), state.ssthresh.map(Bytes::count))
}

#[test]
fn a_tail_loss_probe_repairs_the_last_segment() {
    // PTO = 2 * 20 ms after the last ACK; that of a single segment is longer by the delay of an ACK, of
    // which there is none here.
    let wire = transfer(&rack(4), 4000, lose(&[(4000, 1)]));
    assert_trace(
        &wire.trace,
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000
         100 A 4000+1000 lost
         110 B ack 2000
         110 B ack 3000
         110 B ack 4000
         160 A 4000+1000 again
         170 B ack 5000",
    );
    assert_eq!(timeouts(&wire), 0);
    // Nothing was sent after the probe that would show the loss to the controller.
    assert_eq!(window(&wire), (4000, None));
}

#[test]
fn a_loss_that_a_probe_repaired_slows_the_sender_down_once_it_is_known() {
    let mut wire = transfer(&rack(4), 4000, lose(&[(4000, 1)]));
    wire.endpoints[0].write(2000);
    wire.run(ms(20_000));
    // FlightSize was two segments; the threshold is two at least.
    let (cwnd, ssthresh) = window(&wire);
    assert_eq!(ssthresh, Some(2000));
    assert!(cwnd < 4000, "{cwnd}");
}

#[test]
fn a_lost_probe_leaves_the_timer() {
    let wire = transfer(&rack(4), 3000, lose(&[(3000, 2)]));
    assert_trace(
        &wire.trace,
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000 lost
         110 B ack 2000
         110 B ack 3000
         160 A 3000+1000 again lost
         360 A 3000+1000 again
         370 B ack 4000",
    );
    assert_eq!(timeouts(&wire), 1);
}

#[test]
fn a_probe_is_new_data_where_there_are_some() {
    let wire = transfer(
        &rack(4),
        8000,
        lose(&[(1000, 1), (2000, 1), (3000, 1), (4000, 1)]),
    );
    assert_trace(
        &wire.trace,
        "100 A 1000+1000 lost
         100 A 2000+1000 lost
         100 A 3000+1000 lost
         100 A 4000+1000 lost
         140 A 5000+1000
         150 B ack 1000 sack 5000-6000
         160 A 1000+1000 again
         160 A 2000+1000 again
         170 B ack 2000 sack 5000-6000
         170 B ack 3000 sack 5000-6000
         180 A 3000+1000 again
         180 A 4000+1000 again
         190 B ack 4000 sack 5000-6000
         190 B ack 6000
         200 A 6000+1000
         200 A 7000+1000
         210 B ack 7000
         210 B ack 8000
         220 A 8000+1000
         230 B ack 9000",
    );
    assert_eq!(timeouts(&wire), 0);
}

#[test]
fn one_report_waits_for_a_quarter_of_the_round_trip() {
    let wire = transfer(&rack(4), 4000, lose(&[(3000, 1)]));
    assert_trace(
        &wire.trace,
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000 lost
         100 A 4000+1000
         110 B ack 2000
         110 B ack 3000
         110 B ack 3000 sack 4000-5000
         125 A 3000+1000 again
         135 B ack 5000",
    );
}

#[test]
fn three_reports_wait_for_nothing() {
    let wire = transfer(&rack(4), 4000, lose(&[(1000, 1)]));
    assert_trace(
        &wire.trace,
        "100 A 1000+1000 lost
         100 A 2000+1000
         100 A 3000+1000
         100 A 4000+1000
         110 B ack 1000 sack 2000-3000
         110 B ack 1000 sack 2000-4000
         110 B ack 1000 sack 2000-5000
         120 A 1000+1000 again
         130 B ack 5000",
    );
    assert_eq!(window(&wire), (2000, Some(2000)));
}

/// Delays the first transmission of the second segment.
fn late(extra: u64) -> impl FnMut(&Packet) -> Fate {
    move |packet| {
        if packet.is_first(2000) {
            Fate::Delay(Span::from_ms(extra))
        } else {
            Fate::Pass
        }
    }
}

#[test]
fn reordering_within_a_quarter_of_the_round_trip_is_no_loss() {
    let wire = transfer(&rack(4), 4000, late(4));
    assert_trace(
        &wire.trace,
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000
         100 A 4000+1000
         110 B ack 2000
         110 B ack 2000 sack 3000-4000
         110 B ack 2000 sack 3000-5000
         114 B ack 5000",
    );
}

#[test]
fn a_duplicate_report_undoes_a_needless_recovery() {
    let wire = transfer(&rack(4), 20_000, late(30));
    assert_begins(
        &wire,
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000
         100 A 4000+1000
         110 B ack 2000
         110 B ack 2000 sack 3000-4000
         110 B ack 2000 sack 3000-5000
         120 A 5000+1000
         120 A 6000+1000
         120 A 7000+1000
         120 A 8000+1000
         125 A 2000+1000 again
         130 B ack 2000 sack 3000-6000
         130 B ack 2000 sack 3000-7000
         130 B ack 2000 sack 3000-8000
         130 B ack 2000 sack 3000-9000
         135 B ack 9000
         140 B ack 9000 sack 2000-3000
         140 A 9000+1000
         145 A 10000+1000
         150 A 11000+1000
         150 A 12000+1000",
    );
    let stats = wire.endpoints[0].stats();
    assert_eq!((stats.fast_retransmits, stats.retransmissions), (1, 1));
    assert_eq!(window(&wire).1, None);

    let without = Config {
        dsack: false,
        ..rack(4)
    };
    let wire = transfer(&without, 20_000, late(30));
    // Half of FlightSize, which was five segments and two of limited transmit.
    assert_eq!(window(&wire).1, Some(2500));
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
    let wire = transfer(&rack(4), 400_000, late);
    let again: Vec<u64> = wire
        .record
        .iter()
        .filter(|packet| packet.sent.retransmission)
        .map(Packet::seq)
        .collect();
    assert!(!again.is_empty(), "the first is found lost");
    assert!(again.iter().all(|seq| *seq < 20_000), "{again:?}");
}

#[test]
fn a_lost_retransmission_is_found_by_what_left_after_it() {
    let wire = transfer(&rack(4), 20_000, lose(&[(1000, 2)]));
    assert_begins(
        &wire,
        "100 A 1000+1000 lost
         100 A 2000+1000
         100 A 3000+1000
         100 A 4000+1000
         110 B ack 1000 sack 2000-3000
         110 B ack 1000 sack 2000-4000
         110 B ack 1000 sack 2000-5000
         120 A 5000+1000
         120 A 6000+1000
         120 A 1000+1000 again lost
         130 B ack 1000 sack 2000-6000
         130 B ack 1000 sack 2000-7000
         140 A 7000+1000
         150 B ack 1000 sack 2000-8000
         160 A 1000+1000 again
         160 A 8000+1000",
    );
    assert_eq!(timeouts(&wire), 0);
}

#[test]
fn the_window_shrinks_proportionally() {
    let config = Config {
        prr: true,
        ..rack(10)
    };
    // The pipe is above ssthresh = 5: one segment for two that were delivered.
    let wire = transfer(&config, 20_000, lose(&[(1000, 1)]));
    assert_begins(
        &wire,
        "100 A 1000+1000 lost
         100 A 2000+1000
         100 A 3000+1000
         100 A 4000+1000
         100 A 5000+1000
         100 A 6000+1000
         100 A 7000+1000
         100 A 8000+1000
         100 A 9000+1000
         100 A 10000+1000
         110 B ack 1000 sack 2000-3000
         110 B ack 1000 sack 2000-4000
         110 B ack 1000 sack 2000-5000
         110 B ack 1000 sack 2000-6000
         110 B ack 1000 sack 2000-7000
         110 B ack 1000 sack 2000-8000
         110 B ack 1000 sack 2000-9000
         110 B ack 1000 sack 2000-10000
         110 B ack 1000 sack 2000-11000
         120 A 11000+1000
         120 A 12000+1000
         120 A 1000+1000 again
         120 A 13000+1000
         120 A 14000+1000
         130 B ack 1000 sack 2000-12000
         130 B ack 1000 sack 2000-13000
         130 B ack 13000
         130 B ack 14000
         130 B ack 15000",
    );
}

#[test]
fn many_losses_are_repaired_as_fast_as_data_are_delivered() {
    let config = Config {
        prr: true,
        ..rack(10)
    };
    // The pipe falls below ssthresh: a segment for each, and one more where the recovery makes progress.
    let losses = &[
        (1000, 1),
        (2000, 1),
        (3000, 1),
        (4000, 1),
        (5000, 1),
        (6000, 1),
    ];
    let wire = transfer(&config, 20_000, lose(losses));
    assert_begins(
        &wire,
        "100 A 1000+1000 lost
         100 A 2000+1000 lost
         100 A 3000+1000 lost
         100 A 4000+1000 lost
         100 A 5000+1000 lost
         100 A 6000+1000 lost
         100 A 7000+1000
         100 A 8000+1000
         100 A 9000+1000
         100 A 10000+1000
         110 B ack 1000 sack 7000-8000
         110 B ack 1000 sack 7000-9000
         110 B ack 1000 sack 7000-10000
         110 B ack 1000 sack 7000-11000
         120 A 11000+1000
         120 A 12000+1000
         120 A 1000+1000 again
         120 A 2000+1000 again
         130 B ack 1000 sack 7000-12000
         130 B ack 1000 sack 7000-13000
         130 B ack 2000 sack 7000-13000
         130 B ack 3000 sack 7000-13000
         140 A 3000+1000 again
         140 A 4000+1000 again
         140 A 5000+1000 again
         140 A 6000+1000 again
         140 A 13000+1000
         150 B ack 4000 sack 7000-13000
         150 B ack 5000 sack 7000-13000",
    );
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
    let wire = transfer(&config, 60_000, losses_after_reordering);
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

/// RACK with F-RTO and without probes.
fn f_rto() -> Config {
    Config {
        f_rto: true,
        tail_loss_probe: false,
        ..rack(4)
    }
}

/// Nothing arrives for 235 ms.
fn delay_spike(packet: &Packet) -> Fate {
    let (from, until) = (ms(100), ms(335));
    if packet.from == 0 && packet.at > from && packet.at < until {
        Fate::Delay(until - packet.at)
    } else {
        Fate::Pass
    }
}

#[test]
fn a_spurious_timeout_is_undone() {
    let wire = transfer(&f_rto(), 20_000, delay_spike);
    assert_begins(
        &wire,
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000
         100 A 4000+1000
         110 B ack 2000
         110 B ack 3000
         110 B ack 4000
         110 B ack 5000
         120 A 5000+1000
         120 A 6000+1000
         120 A 7000+1000
         120 A 8000+1000
         120 A 9000+1000
         120 A 10000+1000
         120 A 11000+1000
         120 A 12000+1000
         320 A 5000+1000 again
         345 B ack 6000
         345 B ack 7000
         345 B ack 8000
         345 B ack 9000
         345 B ack 10000
         345 B ack 11000
         345 B ack 12000
         345 B ack 13000
         345 B ack 13000 sack 5000-6000
         355 A 13000+1000
         355 A 14000+1000
         355 A 15000+1000
         355 A 16000+1000
         355 A 17000+1000
         355 A 18000+1000
         355 A 19000+1000
         355 A 20000+1000",
    );
    assert_eq!(timeouts(&wire), 1);
    assert_eq!(window(&wire), (12_000, None));
    let config = Config {
        f_rto: false,
        dsack: false,
        ..f_rto()
    };
    let wire = transfer(&config, 20_000, delay_spike);
    assert_eq!(window(&wire).1, Some(4000));
}

#[test]
fn a_real_timeout_is_not_undone() {
    let losses = &[(1000, 1), (2000, 1), (3000, 1), (4000, 1), (5000, 1)];
    let wire = transfer(&f_rto(), 20_000, lose(losses));
    assert_begins(
        &wire,
        "100 A 1000+1000 lost
         100 A 2000+1000 lost
         100 A 3000+1000 lost
         100 A 4000+1000 lost
         300 A 1000+1000 again
         310 B ack 2000
         320 A 5000+1000 lost
         320 A 6000+1000
         330 B ack 2000 sack 6000-7000
         340 A 2000+1000 again
         340 A 3000+1000 again
         350 B ack 3000 sack 6000-7000
         350 B ack 4000 sack 6000-7000
         360 A 4000+1000 again
         360 A 5000+1000 again
         370 B ack 5000 sack 6000-7000
         370 B ack 7000",
    );
    assert_eq!(window(&wire).1, Some(2000));
}

/// The timeouts of a transfer of 100 segments, with those transmissions of one segment lost.
fn of_hundred(config: &Config, position: u64, times: u32) -> Wire {
    let seq = 1000 * position;
    let mut left = times;
    let mut wire = Wire::symmetric(config, move |packet| {
        let hit = packet.from == 0 && packet.seq() == seq && packet.sent.segment.payload > 0;
        if hit && left > 0 {
            left -= 1;
            return Fate::Drop;
        }
        Fate::Pass
    });
    wire.endpoints[0].open(Time::ZERO);
    wire.endpoints[0].write(100_000);
    wire.run(ms(60_000));
    assert_eq!(wire.endpoints[1].delivered(), 100_000);
    wire
}

/// The configurations of the exhaustive tests.
fn configurations() -> Vec<Config> {
    let mut all = Vec::new();
    for bits in 0..16_u8 {
        let on = |bit: u8| bits & (1 << bit) != 0;
        all.push(Config {
            prr: on(0),
            handshake: on(1),
            delayed_ack_count: if on(2) { 2 } else { 1 },
            f_rto: on(3),
            dsack: !on(3),
            ..rack(10)
        });
    }
    all
}

#[test]
fn a_single_loss_anywhere_costs_no_timeout() {
    for config in configurations() {
        for position in 0..100 {
            let wire = of_hundred(&config, position, 1);
            assert_eq!(timeouts(&wire), 0, "{position}: {config:?}");
            assert_eq!(wire.endpoints[0].stats().retransmissions, 1);
        }
    }
}

#[test]
fn a_retransmission_lost_too_costs_a_timeout_only_where_nothing_was_sent_after_it() {
    for config in configurations() {
        let mut positions = Vec::new();
        for position in 0..100 {
            let wire = of_hundred(&config, position, 2);
            // All that was sent after the first retransmission before the second.
            let own = wire.record.iter().filter(|packet| packet.from == 0);
            let mut later = own.skip_while(|packet| !packet.sent.retransmission).skip(1);
            let sent_after = later
                .next()
                .is_some_and(|packet| !packet.sent.retransmission);
            assert_eq!(
                timeouts(&wire),
                u64::from(!sent_after),
                "{position}: {config:?}"
            );
            if !sent_after {
                positions.push(position);
            }
        }
        // From there on all data had left when the loss was found. At 99 it was a probe.
        assert_eq!(positions, (44..100).collect::<Vec<u64>>(), "{config:?}");
    }
}
