//! Spurious timeouts (F-RTO, RFC 5682): the branches of the algorithm with SACK, section 3.1.

use incastle_transport::tcp::Config;
use incastle_units::Bytes;

use super::script::{beginning, control, measured, rack_alone, script, timeouts, write};

/// RACK with F-RTO and without probes.
fn f_rto() -> Config {
    Config {
        f_rto: true,
        ..rack_alone(4)
    }
}

#[test]
fn a_spurious_timeout_is_undone() {
    let wire = beginning(
        "100 A 1000..=4000+1000
         110 B ack 2000..=5000
         120 A 5000..=12000+1000 late 215
         320 A 5000+1000 again late 15
         345 B ack 6000..=13000
         345 B ack 13000 sack 5000-6000
         355 A 13000..=20000+1000",
    )
    .transfer(&f_rto(), 20_000);
    assert_eq!(timeouts(&wire), 1);
    assert_eq!(control(&wire), (12_000, None));
    let config = Config {
        f_rto: false,
        dsack: false,
        ..f_rto()
    };
    let wire = beginning(
        "100 A 1000..=4000+1000
         110 B ack 2000..=5000
         120 A 5000..=12000+1000 late 215",
    )
    .transfer(&config, 20_000);
    assert_eq!(control(&wire).1, Some(4000));
}

#[test]
fn a_real_timeout_is_not_undone() {
    let wire = beginning(
        "100 A 1000..=4000+1000 lost
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
    )
    .transfer(&f_rto(), 20_000);
    assert_eq!(control(&wire).1, Some(2000));
}

/// Step 2a: the retransmission of a lost retransmission fills the only gap. Its ACK covers RecoveryPoint, which leaves
/// nothing to be probed (section 2.2 names it as the common case).
#[test]
fn an_ack_of_everything_ends_it() {
    let wire = script(
        "100 A 1000+1000 lost
         100 A 2000..=4000+1000
         110 B ack 1000 sack 2000-3000..=5000
         120 A 1000+1000 again lost
         320 A 1000+1000 again
         330 B ack 5000",
    )
    .transfer(&f_rto(), 4000);
    assert_eq!(timeouts(&wire), 1);
    assert_eq!(control(&wire).1, Some(2000));
}

/// Step 2b: without new data the rest is sent again, as after any timeout.
#[test]
fn without_new_data_the_rest_is_sent_again() {
    let wire = script(
        "100 A 1000..=4000+1000 lost
         300 A 1000+1000 again
         310 B ack 2000
         320 A 2000+1000 again
         320 A 3000+1000 again
         330 B ack 3000
         330 B ack 4000
         340 A 4000+1000 again
         350 B ack 5000",
    )
    .transfer(&f_rto(), 4000);
    assert_eq!(control(&wire).1, Some(2000));
}

/// Step 2b, appendix A: the same where the peer's window takes no new data.
#[test]
fn a_full_window_of_the_peer_sends_the_rest_again() {
    let config = Config {
        receive_window: Bytes::new(4000),
        ..f_rto()
    };
    let wire = beginning(
        "100 A 1000..=4000+1000 lost
         300 A 1000+1000 again
         310 B ack 2000
         320 A 2000+1000 again
         320 A 3000+1000 again",
    )
    .go_on(measured(&config), |wire| {
        wire.endpoints[1].set_reading(false);
        write(8000, 325)(wire);
    });
    assert_eq!(control(&wire).1, Some(2000));
}

/// Step 3a: the second ACK repeats the first. Nothing that was sent before the timeout has arrived.
#[test]
fn a_duplicate_without_news_is_no_sign() {
    let config = Config {
        dsack: false,
        ..f_rto()
    };
    let wire = beginning(
        "100 A 1000..=4000+1000 lost
         300 A 1000+1000 again twice 1
         310 B ack 2000
         311 B ack 2000
         320 A 5000+1000
         320 A 6000+1000
         330 B ack 2000 sack 5000-6000
         330 B ack 2000 sack 5000-7000
         340 A 2000+1000 again
         340 A 3000+1000 again",
    )
    .transfer(&config, 20_000);
    assert_eq!(control(&wire).1, Some(2000));
}

/// Step 3b, by SACK alone: the second segment was lost, the others were late.
#[test]
fn a_report_of_late_data_shows_a_spurious_timeout() {
    let wire = beginning(
        "100 A 1000+1000 late 235
         100 A 2000+1000 lost
         100 A 3000+1000 late 235
         100 A 4000+1000 late 235
         300 A 1000+1000 again late 20
         330 B ack 2000
         340 A 5000+1000
         340 A 6000+1000
         345 B ack 2000 sack 1000-2000
         345 B ack 2000 sack 3000-4000
         345 B ack 2000 sack 3000-5000",
    )
    .transfer(&f_rto(), 20_000);
    assert_eq!(timeouts(&wire), 1);
}

/// A repeated timeout of the same segment begins anew with step 1 (section 3.2). The window returns to that before the
/// first of them.
#[test]
fn a_repeated_timeout_is_in_question_too() {
    let wire = beginning(
        "100 A 1000..=4000+1000 late 700
         300 A 1000+1000 again late 600
         700 A 1000+1000 again late 220
         810 B ack 2000..=5000
         820 A 5000..=6000+1000",
    )
    .transfer(&f_rto(), 20_000);
    assert_eq!((timeouts(&wire), control(&wire).1), (2, None));
}

/// Step 1: within a recovery a timeout is not in question, although new data could show that the retransmissions are late.
#[test]
fn a_timeout_within_a_recovery_is_real() {
    let config = Config {
        initial_window: Bytes::new(6000),
        ..f_rto()
    };
    beginning(
        "100 A 1000+1000 lost
         100 A 2000+1000 lost
         100 A 3000..=6000+1000
         110 B ack 1000 sack 3000-4000..=7000
         120 A 1000+1000 again late 225
         120 A 2000+1000 again late 235
         320 A 1000+1000 again late 100
         355 B ack 2000 sack 3000-7000
         365 B ack 7000
         365 A 2000+1000 again",
    )
    .go_on(measured(&config), |wire| {
        write(6000, 330)(wire);
        write(4000, 370)(wire);
    });
}
