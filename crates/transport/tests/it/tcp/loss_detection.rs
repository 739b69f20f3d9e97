//! Loss detection of Linux where it differs from RFC 8985; that of the RFC is in `rack`.

use incastle_transport::tcp::{Config, LossDetection};
use incastle_units::Span;

use super::script::{beginning, rack, script, timeouts};

fn linux() -> Config {
    Config {
        loss_detection: LossDetection::Linux,
        ..rack(4)
    }
}

#[test]
fn a_probe_for_several_segments_leaves_two_milliseconds_later_and_shows_their_loss() {
    // 2 * 20 ms + 2 ms after the last ACK.
    let wire = script(
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000 lost
         100 A 4000+1000 lost
         110 B ack 2000
         110 B ack 3000
         162 A 4000+1000 again
         172 B ack 3000 sack 4000-5000
         182 A 3000+1000 again
         192 B ack 5000",
    )
    .transfer(&linux(), 4000);
    assert_eq!(timeouts(&wire), 0);
}

/// By the RFC. The ACK of the probe returns the timestamp of the segment at 2000, which tells nothing of the probe.
#[test]
fn timestamps_do_not_hide_the_loss_before_a_repeated_segment() {
    for timestamps in [true, false] {
        let config = Config {
            timestamps,
            ..rack(4)
        };
        let wire = script(
            "100 A 1000+1000
             100 A 2000+1000
             100 A 3000+1000 lost
             100 A 4000+1000 lost
             110 B ack 2000
             110 B ack 3000
             160 A 4000+1000 again
             170 B ack 3000 sack 4000-5000
             180 A 3000+1000 again
             190 B ack 5000",
        )
        .transfer(&config, 4000);
        assert_eq!(timeouts(&wire), 0);
    }
}

#[test]
fn a_probe_for_a_single_segment_leaves_with_the_retransmission_timer() {
    // 2 * 20 ms + 200 ms would be after the RTO of 200 ms.
    let wire = script(
        "100 A 1000..=3000+1000
         100 A 4000+1000 lost
         110 B ack 2000..=4000
         320 A 4000+1000 again
         330 B ack 5000",
    )
    .transfer(&linux(), 4000);
    assert_eq!(timeouts(&wire), 0);
}

#[test]
fn a_probe_for_a_single_segment_waits_for_min_rto_where_the_timeout_is_longer() {
    // After one sample RTO = 20 + 4 * 10 ms, and PTO = 2 * 20 + 10 ms.
    let mut config = linux();
    config.rto.min = Span::from_ms(10);
    let wire = script(
        "100 A 1000+1000 lost
         150 A 1000+1000 again lost
         210 A 1000+1000 again
         220 B ack 2000",
    )
    .transfer(&config, 1000);
    assert_eq!(timeouts(&wire), 1);
}

#[test]
fn the_reordering_timer_fires_two_milliseconds_later() {
    // 20 + 20 / 4 + 2 ms after the transmission.
    script(
        "100 A 1000+1000
         100 A 2000+1000
         100 A 3000+1000 lost
         100 A 4000+1000
         110 B ack 2000
         110 B ack 3000
         110 B ack 3000 sack 4000-5000
         127 A 3000+1000 again
         137 B ack 5000",
    )
    .transfer(&linux(), 4000);
}

#[test]
fn three_reports_need_no_timer() {
    beginning(
        "100 A 1000+1000 lost
         100 A 2000..=4000+1000
         110 B ack 1000 sack 2000-3000..=5000
         120 A 1000+1000 again",
    )
    .transfer(&linux(), 4000);
}
