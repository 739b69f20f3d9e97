//! Loss recovery by duplicate ACKs: fast retransmit, limited transmit, Reno, NewReno, SACK.

use incastle_transport::tcp::{Config, Recovery};

use super::script::{script, write};
use super::wire::{Wire, assert_trace, lose, ms, window};

#[test]
fn fast_retransmit_on_the_third_duplicate() {
    script(
        "0 A 0+1000 lost
         0 A 1000..=3000+1000
         3 x 10 B ack 0
         20 A 0+1000 again
         30 B ack 4000",
    )
    .play(&window(4, Recovery::NewReno), write(4000, 100));
}

#[test]
fn two_duplicates_are_not_enough() {
    script(
        "0 A 0+1000 lost
         0 A 1000+1000
         0 A 2000+1000
         10 B ack 0
         10 B ack 0
         1000 A 0+1000 again
         1010 B ack 3000",
    )
    .play(&window(3, Recovery::NewReno), write(3000, 1100));
}

#[test]
fn reordering_by_two_is_no_loss() {
    script(
        "0 A 0+1000 late 1
         0 A 1000+1000
         0 A 2000+1000
         10 B ack 0
         10 B ack 0
         11 B ack 3000",
    )
    .play(&window(4, Recovery::NewReno), write(3000, 1100));
}

#[test]
fn new_reno_partial_acks() {
    script(
        "0 A 0+1000
         0 A 1000+1000 lost
         0 A 2000+1000
         0 A 3000+1000 lost
         0 A 4000..=7000+1000
         6 x 10 B ack 1000
         20 A 8000+1000
         20 A 9000+1000
         20 A 1000+1000 again
         30 B ack 1000
         30 B ack 1000
         30 B ack 3000
         40 A 10000+1000
         40 A 11000+1000
         40 A 3000+1000 again
         40 A 12000+1000
         50 B ack 3000
         50 B ack 3000
         50 B ack 12000
         50 B ack 13000
         60 A 13000..=16000+1000
         70 B ack 14000..=17000
         80 A 17000..=19000+1000
         90 B ack 18000..=20000",
    )
    .play(&window(8, Recovery::NewReno), write(20_000, 100));
}

#[test]
fn reno_ends_recovery_at_the_first_new_ack() {
    script(
        "0 A 0+1000
         0 A 1000+1000 lost
         0 A 2000+1000
         0 A 3000+1000 lost
         0 A 4000..=7000+1000
         6 x 10 B ack 1000
         20 A 8000+1000
         20 A 9000+1000
         20 A 1000+1000 again
         30 B ack 1000
         30 B ack 1000
         30 B ack 3000
         40 A 10000+1000
         40 A 11000+1000
         50 B ack 3000
         50 B ack 3000",
    )
    .play(&window(8, Recovery::Reno), write(20_000, 100));
}

#[test]
fn reno_halves_again_for_a_second_loss_of_the_window() {
    for timestamps in [false, true] {
        let config = Config {
            timestamps,
            ..window(16, Recovery::Reno)
        };
        let mut wire = Wire::symmetric(&config, lose(&[1000, 9000]));
        wire.endpoints[0].write(30_000);
        wire.run(ms(500));
        assert_eq!(wire.endpoints[1].delivered(), 30_000);
        assert_eq!(wire.endpoints[0].stats().fast_retransmits, 2);
        assert_eq!(wire.endpoints[0].stats().timeouts, 0);
    }
}

#[test]
fn sack_recovers_several_holes_in_one_round_trip() {
    script(
        "0 A 0+1000
         0 A 1000+1000 lost
         0 A 2000+1000
         0 A 3000+1000 lost
         0 A 4000+1000
         0 A 5000+1000 lost
         0 A 6000..=9000+1000
         10 B ack 1000
         10 B ack 1000 sack 2000-3000
         10 B ack 1000 sack 4000-5000 sack 2000-3000
         10 B ack 1000 sack 6000-7000..=10000 sack 4000-5000 sack 2000-3000
         20 A 10000+1000
         20 A 11000+1000
         20 A 1000+1000 again
         20 A 3000+1000 again
         20 A 5000+1000 again
         30 B ack 1000 sack 6000-11000 sack 4000-5000 sack 2000-3000
         30 B ack 1000 sack 6000-12000 sack 4000-5000 sack 2000-3000
         30 B ack 3000 sack 6000-12000 sack 4000-5000
         30 B ack 5000 sack 6000-12000
         30 B ack 12000
         40 A 12000..=16000+1000
         50 B ack 13000..=17000
         60 A 17000..=19000+1000
         70 B ack 18000..=20000",
    )
    .play(&window(10, Recovery::Sack), write(20_000, 100));
}

#[test]
fn sack_rescues_the_tail() {
    script(
        "0 A 0+1000
         0 A 1000+1000 lost
         0 A 2000..=8000+1000
         0 A 9000+1000 lost
         10 B ack 1000
         10 B ack 1000 sack 2000-3000..=9000
         20 A 1000+1000 again
         30 B ack 9000
         40 A 9000+1000 again
         50 B ack 10000",
    )
    .play(&window(10, Recovery::Sack), write(10_000, 100));
}

#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    let config = Config {
        limited_transmit: true,
        ..window(3, Recovery::NewReno)
    };
    script(
        "0 A 0+1000 lost
         0 A 1000+1000
         0 A 2000+1000
         10 B ack 0
         10 B ack 0
         20 A 3000+1000
         20 A 4000+1000
         30 B ack 0
         30 B ack 0
         40 A 0+1000 again
         40 A 5000+1000
         50 B ack 5000
         50 B ack 6000",
    )
    .play(&config, write(6000, 100));
}

/// Twelve segments, of which the second is lost, recovered without new data. Then six more, of which
/// the first is lost: SND.UNA stands right at `recover`.
fn loss_right_after_recovery(timestamps: bool) -> Wire {
    let config = Config {
        timestamps,
        ..window(12, Recovery::NewReno)
    };
    let mut wire = Wire::symmetric(&config, lose(&[1000, 12_000]));
    wire.endpoints[0].write(12_000);
    wire.run(ms(50));
    assert_eq!(wire.endpoints[0].stats().fast_retransmits, 1);
    wire.trace.clear();
    wire.endpoints[0].write(6000);
    wire.run(ms(1000));
    assert_eq!(wire.endpoints[1].delivered(), 18_000);
    wire
}

#[test]
fn a_loss_right_after_recovery_is_detected_by_the_timestamp() {
    let wire = loss_right_after_recovery(true);
    assert_eq!(wire.endpoints[0].stats().timeouts, 0);
    assert_eq!(wire.endpoints[0].stats().fast_retransmits, 2);
    assert_trace(
        &wire.trace,
        "50 A 12000+1000 lost
         50 A 13000..=16000+1000
         4 x 60 B ack 12000
         70 A 12000+1000 again
         70 A 17000+1000
         80 B ack 17000
         80 B ack 18000",
    );
}

#[test]
fn a_loss_right_after_recovery_needs_the_timer_without_timestamps() {
    let wire = loss_right_after_recovery(false);
    assert_eq!(wire.endpoints[0].stats().timeouts, 1);
    assert_eq!(wire.endpoints[0].stats().fast_retransmits, 1);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let wire = script(
        "0 A 0+1000
         0 A 1000+1000 lost
         0 A 2000..=7000+1000
         10 B ack 1000
         10 B ack 1000 sack 2000-3000..=8000
         20 A 1000+1000 again lost
         220 A 1000+1000 again
         230 B ack 8000",
    )
    .play(&window(8, Recovery::Sack), write(8000, 1000));
    assert_eq!(wire.endpoints[0].stats().timeouts, 1);
}

#[test]
fn late_acks_are_harmless() {
    script(
        "0 A 0..=3000+1000
         10 B ack 1000 late 5
         10 B ack 2000 late 5
         10 B ack 3000
         10 B ack 4000",
    )
    .play(&window(4, Recovery::Sack), write(4000, 1000));
}
