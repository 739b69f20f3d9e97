//! The retransmission timer: when it fires, back-off, Karn's rule, go-back-N, desynchronisation.

use incastle_transport::tcp::{
    Arrival, Config, Connection, Flags, Recovery, Role, RtoConfig, SackBlock,
};
use incastle_units::{Bytes, Span, Time};

use super::script::{script, write};
use super::wire::{FIRST, Fate, SplitMix, Wire, ack, clear, config, lose, ms, new_reno, outage};

#[test]
fn timeouts_back_off_and_a_sample_ends_it() {
    let wire = script(
        "0 A 0+1000
         10 B ack 1000
         50 A 1000+1000 lost
         250 A 1000+1000 again lost
         650 A 1000+1000 again lost
         1450 A 1000+1000 again
         1460 B ack 2000
         1500 A 2000+1000
         1510 B ack 3000",
    )
    .play(&config(), |wire| {
        for until in [50, 1500, 2000] {
            write(1000, until)(wire);
        }
    });
    assert_eq!(wire.endpoints[0].stats().timeouts, 3);
}

#[test]
fn the_timeout_has_a_minimum_and_whole_ticks() {
    let with = |min, granularity| Config {
        rto: RtoConfig {
            min,
            granularity,
            ..RtoConfig::default()
        },
        ..config()
    };
    let fires = |config: &Config| {
        let mut wire = Wire::symmetric(config, |_| Fate::Pass);
        wire.endpoints[0].write(1000);
        wire.run(ms(50));
        wire.endpoints[0].write(1000);
        wire.pump();
        wire.endpoints[0].poll_timeout().expect("armed") - ms(50)
    };
    // One sample of 20 ms: SRTT + 4 RTTVAR = 20 + 4 * 10 = 60 ms.
    let (short, tick) = (Span::from_us(200), Span::from_ms(1));
    assert_eq!(fires(&with(Span::from_ms(200), tick)), Span::from_ms(200));
    assert_eq!(fires(&with(short, tick)), Span::from_ms(60));
    assert_eq!(fires(&with(short, Span::from_ms(7))), Span::from_ms(63));
    // G = 45 ms is longer than 4 RTTVAR: 20 + 45 = 65, in ticks 90.
    assert_eq!(fires(&with(short, Span::from_ms(45))), Span::from_ms(90));
    assert_eq!(
        fires(&with(Span::from_ms(100), Span::from_ms(30))),
        Span::from_ms(120)
    );
}

/// A report of data.
fn block(start: u32, end: u32) -> SackBlock {
    SackBlock {
        start: FIRST.wrapping_add(start),
        end: FIRST.wrapping_add(end),
    }
}

/// A sender whose first segment timed out once; the ACK comes 5 ms after the retransmission.
fn after_one_timeout(timestamps: bool) -> (Connection, SplitMix) {
    let config = Config {
        timestamps,
        initial_window: Bytes::new(1000),
        ..config()
    };
    let mut rng = SplitMix(1);
    let mut sender = Connection::new(&config, new_reno(&config), Role::Active);
    sender.write(3000);
    assert!(sender.poll_transmit(ms(0), &mut rng).is_some());
    sender.handle_timeout(ms(1000), &mut rng);
    let again = sender.poll_transmit(ms(1000), &mut rng).expect("again");
    assert!(again.retransmission);
    let mut answer = ack(ms(1005), 1000, Flags::NONE);
    if timestamps {
        answer.echo = again.segment.timestamp;
    }
    sender.handle(ms(1005), &clear(&answer), &mut rng);
    (sender, rng)
}

#[test]
fn karn_takes_no_sample_from_a_retransmission_and_keeps_the_back_off() {
    let (mut sender, mut rng) = after_one_timeout(false);
    assert_eq!(sender.smoothed_rtt(), None);
    assert!(sender.poll_transmit(ms(1005), &mut rng).is_some());
    assert_eq!(sender.poll_timeout(), Some(ms(3005)));
    // A segment that was sent once gives a sample, which ends the back-off.
    let answer = ack(ms(1025), 2000, Flags::NONE);
    sender.handle(ms(1025), &clear(&answer), &mut rng);
    assert_eq!(sender.smoothed_rtt(), Some(Span::from_ms(20)));
    assert!(sender.poll_transmit(ms(1025), &mut rng).is_some());
    assert_eq!(sender.poll_timeout(), Some(ms(1225)));
}

#[test]
fn timestamps_sample_retransmissions_too() {
    let (mut sender, mut rng) = after_one_timeout(true);
    assert_eq!(sender.smoothed_rtt(), Some(Span::from_ms(5)));
    assert!(sender.poll_transmit(ms(1005), &mut rng).is_some());
    assert_eq!(sender.poll_timeout(), Some(ms(1205)));
}

#[test]
fn go_back_n_retransmits_what_was_outstanding() {
    // The window after the timeout: 1, 2 = ssthresh, then 2500 and 2900.
    script(
        "0 A 0..=3000+1000 lost
         1000 A 0+1000 again
         1010 B ack 1000
         1020 A 1000+1000 again
         1020 A 2000+1000 again
         1030 B ack 2000
         1030 B ack 3000
         1040 A 3000+1000 again
         1040 A 4000+1000
         1050 B ack 4000
         1050 B ack 5000
         1060 A 5000+1000
         1070 B ack 6000",
    )
    .play(&config(), write(6000, 1200));
}

#[test]
fn duplicates_after_a_timeout_start_no_recovery() {
    // All ACKs of the first flight are late: the timeout was needless, and the repeated segments
    // draw duplicate ACKs.
    // Four duplicates, one at 1020 and three at 1040, release 7000 and 8000 (limited transmit), no
    // more.
    let wire = script(
        "0 A 0..=3000+1000
         10 B ack 1000..=4000 late 1000
         1000 A 0+1000 again
         1010 B ack 4000
         1020 A 1000..=3000+1000 again
         1020 A 4000..=7000+1000
         3 x 1030 B ack 4000
         1030 B ack 5000..=8000
         1040 A 8000..=11000+1000",
    )
    .play(&config(), write(14_000, 1045));
    assert_eq!(wire.endpoints[0].stats().timeouts, 1);
    assert_eq!(wire.endpoints[0].stats().fast_retransmits, 0);
}

#[test]
fn sack_goes_back_around_what_was_reported() {
    let config = Config {
        recovery: Recovery::Sack,
        limited_transmit: false,
        ..config()
    };
    // Two duplicates only: no recovery; the timeout repeats the lost ones alone. Reported data are
    // not outstanding: at 1020 the window of 2 holds 2000 and new data.
    script(
        "0 A 0+1000 lost
         0 A 1000+1000
         0 A 2000+1000 lost
         0 A 3000+1000
         10 B ack 0 sack 1000-2000
         10 B ack 0 sack 3000-4000 sack 1000-2000
         1000 A 0+1000 again
         1010 B ack 2000 sack 3000-4000
         1020 A 2000+1000 again
         1020 A 4000+1000
         1030 B ack 4000
         1030 B ack 5000",
    )
    .play(&config, write(5000, 1200));
}

/// RFC 2018, section 5: after a timeout the segment at SND.UNA leaves again, although it was reported. No receiver here
/// discards what it reported; a segment made by hand does.
#[test]
fn a_reported_segment_at_the_left_edge_is_repeated() {
    for recovery in [Recovery::Sack, Recovery::RackTlp] {
        let config = Config {
            recovery,
            ..config()
        };
        let mut rng = SplitMix(1);
        let mut sender = Connection::new(&config, new_reno(&config), Role::Active);
        sender.write(4000);
        while sender.poll_transmit(ms(0), &mut rng).is_some() {}
        let reports = [block(1000, 2000), block(3000, 4000)];
        for (at, next, sacks) in [(20, 0, reports.as_slice()), (21, 1000, &[])] {
            let segment = ack(ms(at), next, Flags::NONE);
            let arrival = Arrival {
                sacks,
                ..clear(&segment)
            };
            sender.handle(ms(at), &arrival, &mut rng);
            while sender.poll_transmit(ms(at), &mut rng).is_some() {}
        }
        let mut again = Vec::new();
        while sender.stats().timeouts == 0 {
            let at = sender.poll_timeout().expect("armed");
            sender.handle_timeout(at, &mut rng);
            let leaves = std::iter::from_fn(|| sender.poll_transmit(at, &mut rng));
            again = leaves
                .map(|sent| sent.segment.seq.wrapping_sub(FIRST))
                .collect();
        }
        assert_eq!(again, [1000], "{recovery:?}");
    }
}

#[test]
fn randomized_timeouts_lie_between_one_and_one_and_a_half() {
    let config = Config {
        rto: RtoConfig {
            randomized: true,
            ..RtoConfig::default()
        },
        ..config()
    };
    let mut rng = SplitMix(7);
    let mut seen: Vec<Time> = Vec::new();
    for _ in 0..100 {
        let mut sender = Connection::new(&config, new_reno(&config), Role::Active);
        sender.write(1000);
        sender.poll_transmit(ms(0), &mut rng);
        let first = sender.poll_timeout().expect("armed");
        assert!(first >= ms(1000) && first < ms(1500), "{first:?}");
        sender.handle_timeout(first, &mut rng);
        let second = sender.poll_timeout().expect("armed") - first;
        assert!(second >= Span::from_ms(2000) && second < Span::from_ms(3000));
        seen.push(first);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 100);
    assert!(seen[10] < ms(1100) && seen[89] > ms(1400));
}

#[test]
fn an_early_wake_up_does_no_harm() {
    let mut rng = SplitMix(1);
    let mut sender = Connection::new(&config(), new_reno(&config()), Role::Active);
    sender.write(1000);
    sender.poll_transmit(ms(0), &mut rng);
    sender.handle_timeout(ms(999), &mut rng);
    assert_eq!(sender.poll_timeout(), Some(ms(1000)));
    assert_eq!(sender.stats().timeouts, 0);
    assert!(sender.poll_transmit(ms(999), &mut rng).is_none());
}

#[test]
fn new_reno_restarts_the_timer_at_the_first_partial_ack_only() {
    let config = Config {
        initial_window: Bytes::new(12_000),
        limited_transmit: false,
        rto: RtoConfig {
            min: Span::from_ms(50),
            ..RtoConfig::default()
        },
        ..config()
    };
    let mut wire = Wire::symmetric(&config, lose(&[1000, 2000, 3000, 4000, 5000]));
    wire.endpoints[0].write(12_000);
    wire.run(ms(41));
    // The first partial ACK, at 40 ms, gave RTO = 20 + 4 * 7.5 = 50 ms. The later ones, each 20 ms,
    // come too slowly to save the timer of 90 ms.
    assert_eq!(wire.endpoints[0].poll_timeout(), Some(ms(90)));
    wire.run(ms(500));
    assert_eq!(wire.endpoints[1].delivered(), 12_000);
    assert_eq!(wire.endpoints[0].stats().fast_retransmits, 1);
    assert_eq!(wire.endpoints[0].stats().timeouts, 1);
}

#[test]
fn a_loss_among_retransmissions_after_a_timeout_waits_for_the_timer() {
    let config = Config {
        initial_window: Bytes::new(12_000),
        ..config()
    };
    let mut wire = Wire::symmetric(&config, |packet| {
        let first_flight = packet.from == 0 && packet.at < ms(1);
        let again = packet.from == 0 && packet.seq() == 3000 && packet.at < ms(1050);
        if first_flight || again {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    wire.endpoints[0].write(12_000);
    wire.run(ms(3000));
    assert_eq!(wire.endpoints[1].delivered(), 12_000);
    assert!(wire.endpoints[0].stats().duplicate_acks >= 3);
    assert_eq!(wire.endpoints[0].stats().fast_retransmits, 0);
    assert_eq!(wire.endpoints[0].stats().timeouts, 2);
}

#[test]
fn a_lost_syn_without_timestamps_leaves_three_seconds() {
    let config = Config {
        handshake: true,
        timestamps: false,
        ..config()
    };
    let mut wire = Wire::symmetric(&config, outage(0, 1));
    wire.endpoints[0].open(ms(0));
    wire.run(ms(1050));
    // The SYN that was sent twice gives no sample, whichever of the two the SYN-ACK acknowledges.
    assert!(wire.endpoints[0].is_established());
    assert_eq!(wire.endpoints[0].smoothed_rtt(), None);
    wire.endpoints[0].write(1000);
    wire.pump();
    assert_eq!(wire.endpoints[0].poll_timeout(), Some(ms(4050)));
}
