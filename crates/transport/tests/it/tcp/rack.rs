//! Loss detection by time and tail loss probes (RFC 8985).

use incastle_transport::tcp::{Arrival, Config, Flags, LossDetection, SackBlock, Segment};
use incastle_units::Time;

use super::script::{beginning, control, measured, rack, script, timeouts, write};
use super::wire::{FIRST, Wire, ack, clear, lose_times, ms};

/// The probes of A, and the losses that its reordering timer found.
fn counted(wire: &Wire) -> (u64, u64) {
    let stats = wire.endpoints[0].rack_tlp_stats();
    (stats.tail_loss_probes, stats.reordering_losses)
}

#[test]
fn a_tail_loss_probe_repairs_the_last_segment() {
    // PTO = 2 * 20 ms after the last ACK; that of a single segment is longer by the delay of an ACK, of
    // which there is none here.
    let wire = script(
        "100 A 1000..=3000+1000
         100 A 4000+1000 lost
         110 B ack 2000..=4000
         160 A 4000+1000 again
         170 B ack 5000",
    )
    .transfer(&rack(4), 4000);
    assert_eq!(timeouts(&wire), 0);
    assert_eq!(counted(&wire), (1, 0));
    // Nothing was sent after the probe that would show the loss to the controller.
    assert_eq!(control(&wire), (4000, None));
}

#[test]
fn a_loss_that_a_probe_repaired_slows_the_sender_down_once_it_is_known() {
    let mut wire = beginning(
        "100 A 1000..=3000+1000
         100 A 4000+1000 lost",
    )
    .transfer(&rack(4), 4000);
    write(2000, 20_000)(&mut wire);
    // FlightSize was two segments; the threshold is two at least.
    let (cwnd, ssthresh) = control(&wire);
    assert_eq!(ssthresh, Some(2000));
    assert!(cwnd < 4000, "{cwnd}");
}

#[test]
fn a_lost_probe_leaves_the_timer() {
    let wire = script(
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000 lost
         110 B ack 2000
         110 B ack 3000
         160 A 3000+1000 again lost
         360 A 3000+1000 again
         370 B ack 4000",
    )
    .transfer(&rack(4), 3000);
    assert_eq!(timeouts(&wire), 1);
}

#[test]
fn a_probe_is_new_data_where_there_are_some() {
    let wire = script(
        "100 A 1000..=4000+1000 lost
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
    )
    .transfer(&rack(4), 8000);
    assert_eq!(timeouts(&wire), 0);
}

/// The second segment is reported to the sender at 145, before its NIC takes the probe that was due at 140.
fn report_before_the_probe(wire: &mut Wire) {
    write(2000, 139)(wire);
    let sender = &mut wire.endpoints[0];
    sender.handle_timeout(ms(140), &mut wire.rng);
    let report = Segment {
        echo: ms(100),
        sacks: 1,
        ..ack(ms(135), 1000, Flags::NONE)
    };
    let block = SackBlock {
        start: FIRST.wrapping_add(2000),
        end: FIRST.wrapping_add(3000),
    };
    let arrival = Arrival {
        sacks: &[block],
        ..clear(&report)
    };
    sender.handle(ms(145), &arrival, &mut wire.rng);
    wire.now = ms(145);
    wire.run(ms(10_000));
}

#[test]
fn a_probe_that_the_nic_has_held_back_does_not_repeat_a_reported_segment() {
    // RACK waits for a quarter of 20 ms, and then repeats the other one.
    let wire = script(
        "100 A 1000+1000 lost
         100 A 2000+1000
         110 B ack 1000 sack 2000-3000 lost
         150 A 1000+1000 again
         160 B ack 3000",
    )
    .go_on(measured(&rack(4)), report_before_the_probe);
    assert_eq!(wire.endpoints[1].delivered(), 3000);
}

#[test]
fn one_report_waits_for_a_quarter_of_the_round_trip() {
    let wire = script(
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000 lost
         100 A 4000+1000
         110 B ack 2000
         110 B ack 3000
         110 B ack 3000 sack 4000-5000
         125 A 3000+1000 again
         135 B ack 5000",
    )
    .transfer(&rack(4), 4000);
    assert_eq!(counted(&wire), (0, 1));
}

#[test]
fn three_reports_wait_for_nothing() {
    let wire = script(
        "100 A 1000+1000 lost
         100 A 2000..=4000+1000
         110 B ack 1000 sack 2000-3000..=5000
         120 A 1000+1000 again
         130 B ack 5000",
    )
    .transfer(&rack(4), 4000);
    assert_eq!(control(&wire), (2000, Some(2000)));
    assert_eq!(counted(&wire), (0, 0));
}

#[test]
fn reordering_within_a_quarter_of_the_round_trip_is_no_loss() {
    script(
        "100 A 1000+1000
         100 A 2000+1000 late 4
         100 A 3000+1000
         100 A 4000+1000
         110 B ack 2000
         110 B ack 2000 sack 3000-4000
         110 B ack 2000 sack 3000-5000
         114 B ack 5000",
    )
    .transfer(&rack(4), 4000);
}

#[test]
fn a_lost_retransmission_is_found_by_what_left_after_it() {
    let wire = beginning(
        "100 A 1000+1000 lost
         100 A 2000..=4000+1000
         110 B ack 1000 sack 2000-3000..=5000
         120 A 5000+1000
         120 A 6000+1000
         120 A 1000+1000 again lost
         130 B ack 1000 sack 2000-6000
         130 B ack 1000 sack 2000-7000
         140 A 7000+1000
         150 B ack 1000 sack 2000-8000
         160 A 1000+1000 again
         160 A 8000+1000",
    )
    .transfer(&rack(4), 20_000);
    assert_eq!(timeouts(&wire), 0);
}

/// A transfer of 100 segments, with those transmissions of one segment lost.
fn of_hundred(config: &Config, position: u64, times: u32) -> Wire {
    let mut wire = Wire::symmetric(config, lose_times(vec![(1000 * position, times)]));
    wire.endpoints[0].open(Time::ZERO);
    write(100_000, 60_000)(&mut wire);
    assert_eq!(wire.endpoints[1].delivered(), 100_000);
    wire
}

/// The configurations of the exhaustive tests.
fn configurations() -> Vec<Config> {
    let mut all = Vec::new();
    for bits in 0..32_u8 {
        let on = |bit: u8| bits & (1 << bit) != 0;
        all.push(Config {
            prr: on(0),
            prr_on_ecn: on(0),
            handshake: on(1),
            delayed_ack_count: if on(2) { 2 } else { 1 },
            f_rto: on(3),
            dsack: !on(3),
            loss_detection: if on(4) {
                LossDetection::Linux
            } else {
                LossDetection::Rfc
            },
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
