//! NewReno's window rule against RFC 5681, RFC 3465 and RFC 3168, number by number.

use incastle_congestion::{
    AckSample, CongestionEvent, Controller, Echo, LimitedBy, NewReno, NewRenoConfig, Phase,
    Reaction,
};
use incastle_units::Bytes;

use crate::support::{Sender, cwnd, sample, ssthresh};

const MSS: u64 = 1000;

fn config() -> NewRenoConfig {
    NewRenoConfig::new(Bytes::new(MSS))
}

/// A controller in congestion avoidance with a window of `segments`, all of them outstanding. It is
/// there after a loss at twice the flight, whose data are all acknowledged.
fn avoiding(segments: u64) -> (Sender, NewReno) {
    let mut control = NewReno::new(NewRenoConfig {
        initial_window: Bytes::new(2 * segments * MSS),
        ..config()
    });
    let mut sender = Sender::default();
    sender.send(&mut control, 2 * segments * MSS);
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    let recovered = AckSample {
        phase: Phase::Recovery,
        ..sample(2 * segments * MSS, Echo::Clear)
    };
    sender.ack_with(&mut control, recovered);
    // The full ACK ends the recovery and does not grow the window.
    sender.send(&mut control, MSS);
    sender.ack(&mut control, MSS, Echo::Clear);
    sender.send(&mut control, segments * MSS);
    assert_eq!(cwnd(&control), segments * MSS);
    assert_eq!(ssthresh(&control), Some(segments * MSS));
    (sender, control)
}

#[test]
fn the_initial_window_is_ten_segments_and_ssthresh_unset() {
    let control = NewReno::new(config());
    assert_eq!(cwnd(&control), 10 * MSS);
    assert_eq!(ssthresh(&control), None);
}

#[test]
fn slow_start_doubles_per_window_with_one_ack_per_segment() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    for _ in 0..10 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    // 10 + 10 x 1.
    assert_eq!(cwnd(&control), 20 * MSS);
}

#[test]
fn slow_start_counts_bytes_up_to_two_segments_per_ack() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    // Delayed ACKs for two segments: 10 + 2.
    sender.ack(&mut control, 2 * MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 12 * MSS);
    // A stretch ACK for five: L = 2.
    sender.ack(&mut control, 5 * MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 14 * MSS);
}

#[test]
fn slow_start_after_a_timeout_grows_by_one_segment_per_ack() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    assert_eq!(sender.time_out(&mut control, 0), Reaction::Reduced);
    // ssthresh = 10 / 2; the loss window is one segment.
    assert_eq!((cwnd(&control), ssthresh(&control)), (MSS, Some(5 * MSS)));
    // The retransmission fills a gap below four segments that had arrived: L = 1.
    let ack = AckSample {
        phase: Phase::AfterTimeout,
        ..sample(5 * MSS, Echo::Clear)
    };
    sender.ack_with(&mut control, ack);
    assert_eq!(cwnd(&control), 2 * MSS);
}

#[test]
fn a_segment_that_times_out_again_leaves_ssthresh() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    sender.time_out(&mut control, 0);
    // Only one segment is outstanding after going back; half of it would be below two segments.
    sender.in_flight = Bytes::new(MSS);
    sender.time_out(&mut control, 1);
    assert_eq!((cwnd(&control), ssthresh(&control)), (MSS, Some(5 * MSS)));
}

#[test]
fn a_timeout_in_a_recovery_counts_the_flight_before_the_recovery() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    sender.lose(&mut control);
    assert_eq!(ssthresh(&control), Some(5 * MSS));
    // The retransmission is lost too. SACK reports the rest, and ninety new segments follow, a window
    // per round trip, until the timer fires: 100 are not cumulatively acknowledged.
    sender.send(&mut control, 90 * MSS);
    sender.time_out(&mut control, 0);
    // Half of the ten, not of the hundred.
    assert_eq!((cwnd(&control), ssthresh(&control)), (MSS, Some(5 * MSS)));
}

#[test]
fn a_timeout_after_a_recovery_counts_its_own_flight() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    sender.lose(&mut control);
    // All that was sent before the cut is acknowledged; what follows begins where that ended.
    sender.ack(&mut control, 10 * MSS, Echo::Clear);
    sender.send(&mut control, 30 * MSS);
    sender.time_out(&mut control, 0);
    assert_eq!(ssthresh(&control), Some(15 * MSS));
}

#[test]
fn congestion_avoidance_adds_a_segment_per_window_spread_over_its_acks() {
    let (mut sender, mut control) = avoiding(10);
    // RFC 5681, equation 3: 1000 x 1000 / 10,000 = 100, nothing remains.
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 10_100);
    // 1,000,000 / 10,100 = 99; 100 of 10,100 remain.
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 10_199);
    // (1,000,000 + 100) / 10,199 = 98; 598 remain.
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 10_297);
    // Seven more ACKs add 97, 96, 95, 95, 93, 93 and 92: a little less than a segment in all, since
    // the window grows meanwhile.
    for _ in 0..7 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    assert_eq!(cwnd(&control), 10_958);
}

#[test]
fn congestion_avoidance_carries_the_remainder() {
    // A window of 2,000 segments: the ACK of one adds 1000 x 1000 / 2,000,000 = 1/2 byte.
    let (mut sender, mut control) = avoiding(2_000);
    let mut grown = |acks: u64| {
        for _ in 0..acks {
            sender.ack(&mut control, MSS, Echo::Clear);
        }
        cwnd(&control) - 2_000 * MSS
    };
    assert_eq!(grown(1), 0);
    assert_eq!(grown(1), 1);
    // The other 1998 of the window: 1000 bytes, less the quarter of a byte by which growth under way
    // lengthens the window.
    assert_eq!(grown(1_998), 999);
}

#[test]
fn a_delayed_ack_grows_the_window_as_its_segments_would() {
    let (mut sender, mut control) = avoiding(10);
    // 1000 x 2000 / 10,000.
    sender.ack(&mut control, 2 * MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 10_200);
}

#[test]
fn an_ack_of_several_windows_still_adds_one_segment() {
    let (mut sender, mut control) = avoiding(10);
    sender.send(&mut control, 40 * MSS);
    // Forty segments are four windows and count as one.
    sender.ack(&mut control, 40 * MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 11 * MSS);
    // Nothing is left of it: 1,000,000 / 11,000 = 90.
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 11_090);
}

#[test]
fn a_loss_halves_the_flight_not_the_window() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    // The application had only six segments to send.
    sender.send(&mut control, 6 * MSS);
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (3 * MSS, Some(3 * MSS))
    );
}

#[test]
fn a_loss_never_leaves_less_than_two_segments() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, MSS);
    sender.lose(&mut control);
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (2 * MSS, Some(2 * MSS))
    );
}

#[test]
fn the_window_stands_still_in_recovery_and_at_its_full_ack() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    sender.lose(&mut control);
    let partial = AckSample {
        phase: Phase::Recovery,
        ..sample(4 * MSS, Echo::Clear)
    };
    sender.ack_with(&mut control, partial);
    assert_eq!(cwnd(&control), 5 * MSS);
    // The full ACK: RFC 6582 sets cwnd to ssthresh, no more.
    sender.ack(&mut control, 6 * MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 5 * MSS);
}

#[test]
fn an_unused_window_does_not_grow() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 2 * MSS);
    let ack = AckSample {
        limited_by: LimitedBy::Application,
        ..sample(MSS, Echo::Clear)
    };
    sender.ack_with(&mut control, ack);
    assert_eq!(cwnd(&control), 10 * MSS);
}

#[test]
fn marks_of_one_window_halve_once_and_the_next_window_halves_again() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    // The ACK of the first segment carries ECE: the flight until then was 10, 10 / 2 = 5.
    assert_eq!(
        sender.ack(&mut control, MSS, Echo::Congestion),
        Reaction::Reduced
    );
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (5 * MSS, Some(5 * MSS))
    );
    // The other nine are echoed too (ECE until CWR arrives): the same window of data.
    for _ in 0..9 {
        assert_eq!(
            sender.ack(&mut control, MSS, Echo::Congestion),
            Reaction::Ignored
        );
    }
    assert_eq!(cwnd(&control), 5 * MSS);
    // Data sent after the reaction is marked: flight 4, 4 / 2 = 2.
    sender.send(&mut control, 4 * MSS);
    assert_eq!(
        sender.ack(&mut control, MSS, Echo::Congestion),
        Reaction::Reduced
    );
    assert_eq!(cwnd(&control), 2 * MSS);
}

#[test]
fn acks_with_ece_grow_the_window_only_if_so_configured() {
    // 10 segments out; a mark in the first ACK halves; ssthresh = cwnd = 5. In congestion avoidance
    // the ACK of one more segment adds 1000 x 1000 / 5000 = 200, unless it carries ECE.
    let run = |grow_on_ece| {
        let mut control = NewReno::new(NewRenoConfig {
            grow_on_ece,
            ..config()
        });
        let mut sender = Sender::default();
        sender.send(&mut control, 10 * MSS);
        for _ in 0..2 {
            sender.ack(&mut control, MSS, Echo::Congestion);
        }
        cwnd(&control)
    };
    assert_eq!(run(false), 5 * MSS);
    assert_eq!(run(true), 5 * MSS + 200);
}

#[test]
fn a_loss_and_a_mark_of_one_window_are_one_halving_in_either_order() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    sender.ack(&mut control, MSS, Echo::Congestion);
    assert_eq!(sender.lose(&mut control), Reaction::Ignored);
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (5 * MSS, Some(5 * MSS))
    );

    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    assert_eq!(
        sender.ack(&mut control, MSS, Echo::Congestion),
        Reaction::Ignored
    );
    assert_eq!(cwnd(&control), 5 * MSS);
}

#[test]
fn a_loss_of_data_sent_after_a_cut_on_a_mark_counts_its_own_flight() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    sender.ack(&mut control, MSS, Echo::Congestion);
    // Everything of before the cut is acknowledged, and the first segment after it is lost.
    sender.ack(&mut control, 9 * MSS, Echo::Clear);
    sender.send(&mut control, 4 * MSS);
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    assert_eq!(ssthresh(&control), Some(2 * MSS));
}

#[test]
fn the_floor_after_a_mark_is_a_parameter() {
    let run = |floor: u64| {
        let mut control = NewReno::new(NewRenoConfig {
            min_cwnd: Bytes::new(floor * MSS),
            initial_window: Bytes::new(4 * MSS),
            ..config()
        });
        let mut sender = Sender::default();
        sender.send(&mut control, 2 * MSS);
        sender.ack(&mut control, 2 * MSS, Echo::Congestion);
        (cwnd(&control), ssthresh(&control))
    };
    // A flight of two segments: half of it is one.
    assert_eq!(run(2), (2 * MSS, Some(2 * MSS)));
    assert_eq!(run(1), (MSS, Some(2 * MSS)));
}

#[test]
fn idleness_restarts_from_the_initial_window_without_cwr() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    for _ in 0..10 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    let reaction = control.on_congestion(&mut sender.cx(), CongestionEvent::IdleRestart);
    assert_eq!((reaction, cwnd(&control)), (Reaction::Ignored, 10 * MSS));
}

#[test]
#[should_panic(expected = "min_cwnd >= 1 segment")]
fn a_floor_below_one_segment_is_a_defect() {
    let _ = NewReno::new(NewRenoConfig {
        min_cwnd: Bytes::new(MSS - 1),
        ..config()
    });
}

#[test]
fn a_needless_reaction_is_undone() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config()));
    sender.send(&mut control, 10 * MSS);
    let before = control.state();
    sender.lose(&mut control);
    assert_eq!(ssthresh(&control), Some(5 * MSS));
    control.restore(&before);
    assert_eq!((cwnd(&control), ssthresh(&control)), (10 * MSS, None));
    // A window that has grown beyond it meanwhile stays.
    let (mut sender, mut control) = avoiding(10);
    let before = control.state();
    sender.ack(&mut control, 10 * MSS, Echo::Clear);
    control.restore(&before);
    assert_eq!(cwnd(&control), 11 * MSS);
}
