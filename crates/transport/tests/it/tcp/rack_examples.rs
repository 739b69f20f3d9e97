//! The examples of RFC 8985 as packet sequences. The round trip of 20 ms is measured; P0 is the segment at 1000.

use incastle_transport::tcp::{Config, Recovery, RtoConfig};
use incastle_units::Span;

use super::script::{beginning, control, measured, rack, rack_alone, script, timeouts, write};
use super::wire::{Wire, window};

/// Section 3.4, figure 1: the probe shows two losses, and a retransmission that is lost is found by the next.
#[test]
fn figure_1_fast_recovery() {
    let wire = script(
        "100 A 1000+1000
         100 A 2000..=4000+1000 lost
         110 B ack 2000
         160 A 4000+1000 again
         170 B ack 2000 sack 4000-5000
         180 A 2000+1000 again lost
         180 A 3000+1000 again
         190 B ack 2000 sack 3000-5000
         200 A 2000+1000 again
         210 B ack 5000",
    )
    .transfer(&rack(4), 4000);
    assert_eq!(timeouts(&wire), 0);
    assert_eq!(control(&wire), (2000, Some(2000)));
}

/// Section 3.2: the last three of 100 segments are lost. The recovery takes four round trips from the last ACK on.
#[test]
fn the_last_three_of_a_hundred_are_lost() {
    let wire = script(
        "100 A 1000..=97000+1000
         100 A 98000..=100000+1000 lost
         110 B ack 2000..=98000
         160 A 100000+1000 again
         170 B ack 98000 sack 100000-101000
         180 A 98000+1000 again
         180 A 99000+1000 again
         190 B ack 99000 sack 100000-101000
         190 B ack 101000",
    )
    .transfer(&rack(100), 100_000);
    assert_eq!(timeouts(&wire), 0);
}

/// The same without RACK-TLP: three round trips and one RTO, of 200 ms. The window is two segments then; the RFC has
/// four, since there it grows without data to send, too.
#[test]
fn the_last_three_of_a_hundred_are_lost_without_rack() {
    let wire = script(
        "100 A 1000..=97000+1000
         100 A 98000..=100000+1000 lost
         110 B ack 2000..=98000
         320 A 98000+1000 again
         330 B ack 99000
         340 A 99000+1000 again
         340 A 100000+1000 again
         350 B ack 100000
         350 B ack 101000",
    )
    .transfer(&window(100, Recovery::Sack), 100_000);
    assert_eq!((timeouts(&wire), control(&wire).0), (1, 2000));
}

/// Section 1, situation 1: the last of 100 segments is lost. The RTO leaves a window of one segment (the RFC: two, as
/// above). The probe repairs the loss in three round trips from the last ACK on, and leaves the window.
#[test]
fn the_last_of_a_hundred_is_lost() {
    let lost = "100 A 1000..=99000+1000
         100 A 100000+1000 lost
         110 B ack 2000..=100000";
    let timed_out = format!("{lost}\n 320 A 100000+1000 again\n 330 B ack 101000");
    let wire = script(&timed_out).transfer(&window(100, Recovery::Sack), 100_000);
    assert_eq!((timeouts(&wire), control(&wire).0), (1, 1000));
    let probed = format!("{lost}\n 160 A 100000+1000 again\n 170 B ack 101000");
    let wire = script(&probed).transfer(&rack(100), 100_000);
    assert_eq!(timeouts(&wire), 0);
    assert!(control(&wire).0 >= 100_000);
}

/// Section 3.5: a segment, an RTO of one second, and two segments that leave just before it. None is lost.
const BEFORE_THE_RTO: &str = "100 A 1000+1000 late 984
         1094 B ack 2000
         1095 A 2000+1000
         1095 A 3000+1000
         1100 A 1000+1000 again";

/// Plays it until the ACKs of all three have left.
fn play_the_rto(config: &Config, text: &str) {
    let rto = RtoConfig {
        min: Span::from_secs(1),
        ..RtoConfig::default()
    };
    let config = Config { rto, ..*config };
    script(&format!("{BEFORE_THE_RTO}\n{text}")).go_on(measured(&config), |wire| {
        write(1000, 1095)(wire);
        write(2000, 1106)(wire);
    });
}

#[test]
fn a_timeout_does_not_repeat_what_left_less_than_a_round_trip_ago() {
    play_the_rto(&rack_alone(4), "1105 B ack 3000\n 1105 B ack 4000");
    // Without RACK the ACK of the first copy repeats the others.
    play_the_rto(
        &window(4, Recovery::NewReno),
        "1104 A 2000+1000 again
         1104 A 3000+1000 again
         1105 B ack 3000
         1105 B ack 4000",
    );
}

/// The same before any round trip was measured.
#[test]
fn a_timeout_without_a_round_trip_repeats_the_first_segment_alone() {
    script(
        "0 A 0+1000 late 984
         994 B ack 1000
         995 A 1000+1000
         995 A 2000+1000
         1000 A 0+1000 again
         1005 B ack 2000
         1005 B ack 3000
         1010 B ack 3000 sack 0-1000",
    )
    .play(&rack_alone(4), |wire| {
        write(1000, 995)(wire);
        write(2000, 2000)(wire);
    });
}

/// Section 9.1, example 1: segments 6 ms apart, more than the reordering window of 5 ms; P1 and P3 are lost.
#[test]
fn losses_at_the_end_of_a_flight() {
    let wire = script(
        "100 A 1000+1000 lost
         106 A 2000+1000
         112 A 3000+1000 lost
         116 B ack 1000 sack 2000-3000
         126 A 1000+1000 again
         136 B ack 3000
         146 A 3000+1000 again
         156 B ack 4000",
    )
    .go_on(measured(&rack(4)), apart);
    assert_eq!(timeouts(&wire), 0);
}

/// Section 9.1, example 2: P1 and P2 are lost, and the retransmission of P1.
#[test]
fn a_lost_retransmission_in_a_short_flight() {
    let wire = script(
        "100 A 1000+1000 lost
         106 A 2000+1000 lost
         112 A 3000+1000
         122 B ack 1000 sack 3000-4000
         132 A 1000+1000 again lost
         132 A 2000+1000 again
         142 B ack 1000 sack 2000-4000
         152 A 1000+1000 again
         162 B ack 4000",
    )
    .go_on(measured(&rack(4)), apart);
    assert_eq!(timeouts(&wire), 0);
}

/// Three segments, 6 ms apart.
fn apart(wire: &mut Wire) {
    for until in [106, 112, 2000] {
        write(1000, until)(wire);
    }
}

/// Section 9.1, example 3: reordering was seen before. A short segment overtakes two others by less than a quarter of
/// the round trip, then by more.
#[test]
fn a_short_segment_overtakes_two_others() {
    script(
        "100 A 1000+1000 late 1
         100 A 2000+1000
         110 B ack 1000 sack 2000-3000
         111 B ack 3000
         150 A 3000+1000 late 4
         150 A 4000+1000 late 4
         150 A 5000+1
         160 B ack 3000 sack 5000-5001
         164 B ack 4000 sack 5000-5001
         164 B ack 5001
         200 A 5001+1000 late 6
         200 A 6001+1000 late 6
         200 A 7001+1
         210 B ack 5001 sack 7001-7002
         216 B ack 6001 sack 7001-7002
         216 B ack 7002
         225 A 5001+1000 again
         225 A 6001+1000 again
         235 B ack 7002 sack 5001-6001
         235 B ack 7002 sack 6001-7001",
    )
    .go_on(measured(&rack(4)), |wire| {
        write(2000, 150)(wire);
        write(2001, 200)(wire);
        write(2001, 2000)(wire);
    });
}

/// Section 9.3: ten segments in a window of twenty, all lost. The recovery lasts two and four round trips with RACK-TLP
/// and PRR, RTO and four without. ssthresh is half of FlightSize, five segments; the RFC's example has half of the window.
#[test]
fn a_flight_lost_whole() {
    let config = Config {
        prr: true,
        ..rack(20)
    };
    let wire = script(
        "100 A 1000..=10000+1000 lost
         140 A 10000+1000 again
         150 B ack 1000 sack 10000-11000
         160 A 1000+1000 again
         170 B ack 2000 sack 10000-11000
         180 A 2000+1000 again
         180 A 3000+1000 again
         190 B ack 3000 sack 10000-11000
         190 B ack 4000 sack 10000-11000
         200 A 4000..=7000+1000 again
         210 B ack 5000..=8000 sack 10000-11000
         220 A 8000+1000 again
         220 A 9000+1000 again
         230 B ack 9000 sack 10000-11000
         230 B ack 11000",
    )
    .transfer(&config, 10_000);
    assert_eq!((timeouts(&wire), control(&wire)), (0, (5000, Some(5000))));
    let wire = beginning(
        "100 A 1000..=10000+1000 lost
         300 A 1000+1000 again
         310 B ack 2000
         320 A 2000+1000 again
         320 A 3000+1000 again
         330 B ack 3000
         330 B ack 4000
         340 A 4000..=7000+1000 again
         350 B ack 5000..=8000
         360 A 8000..=10000+1000 again
         370 B ack 9000..=11000",
    )
    .transfer(&window(20, Recovery::Sack), 10_000);
    assert_eq!(timeouts(&wire), 1);
}

/// Section 7.4.2, cases 1 and 2: the probe was needless, since the segment was late. A duplicate report, or a duplicate
/// ACK without SACK, shows it: the controller does not react to later data.
#[test]
fn a_needless_probe_is_recognised() {
    for dsack in [true, false] {
        let config = Config { dsack, ..rack(4) };
        let report = if dsack { " sack 2000-3000" } else { "" };
        let wire = script(&format!(
            "100 A 1000+1000
             100 A 2000+1000 late 45
             110 B ack 2000
             155 B ack 3000
             160 A 2000+1000 again
             170 B ack 3000{report}
             300 A 3000+1000
             310 B ack 4000"
        ))
        .go_on(measured(&config), |wire| {
            write(2000, 300)(wire);
            write(1000, 2000)(wire);
        });
        assert_eq!(control(&wire).1, None);
    }
}

/// Section 7.2: the probe of a single segment waits for a delayed ACK, too. Such an ACK gave SRTT = 20 + 40 ms: the probe
/// leaves after 2 * 60 + 40 ms.
#[test]
fn the_probe_of_a_single_segment_waits_for_a_delayed_ack() {
    let config = Config {
        delayed_ack_count: 2,
        ..rack(4)
    };
    script(
        "100 A 1000+1000 lost
         260 A 1000+1000 again",
    )
    .go_on(measured(&config), write(1000, 265));
}
