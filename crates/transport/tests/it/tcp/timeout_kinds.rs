//! Which kind of timeout the sender makes of a loss: one case of each, and the borders between them.

use incastle_transport::tcp::{
    Config, Connection, Flags, Recovery, Role, RtoConfig, TimeoutKind, TimeoutReport,
};
use incastle_units::Span;

use super::wire::{
    Fate, Packet, SplitMix, Timeout, Wire, ack, clear, config, lose, ms, new_reno, window,
};

/// A's timeouts after one write of `bytes`, on a wire that loses `lost`.
fn timeouts(
    config: &Config,
    bytes: u64,
    mut lost: impl FnMut(&Packet) -> bool + 'static,
) -> Vec<Timeout> {
    let mut wire = Wire::symmetric(config, move |packet| {
        if packet.from == 0 && lost(packet) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    });
    wire.endpoints[0].open(ms(0));
    wire.endpoints[0].write(bytes);
    wire.run(ms(20_000));
    assert_eq!(wire.endpoints[1].delivered(), bytes);
    assert_eq!(
        wire.endpoints[0].stats().timeouts,
        wire.timeouts.len() as u64
    );
    wire.timeouts
}

fn kinds(timeouts: &[Timeout]) -> Vec<TimeoutKind> {
    timeouts.iter().map(|timeout| timeout.report.kind).collect()
}

/// Loses first transmissions at these offsets.
fn first(seqs: &'static [u64]) -> impl FnMut(&Packet) -> bool {
    |packet| seqs.iter().any(|seq| packet.is_first(*seq))
}

#[test]
fn a_window_lost_whole() {
    // Four of ten segments are outstanding, and nothing comes back.
    let reports = timeouts(&window(4, Recovery::NewReno), 10_000, |packet| {
        packet.at < ms(1)
    });
    let report = TimeoutReport {
        kind: TimeoutKind::FullWindow,
        una: 0,
        max: 4000,
        head_repeated: None,
        dup_acks: 0,
        backoff: 0,
        waited: Span::from_secs(1),
        rto: Span::from_secs(1),
    };
    let [one] = reports[..] else {
        panic!("one timeout: {reports:?}");
    };
    assert_eq!((one.at, one.report), (ms(1000), report));
}

#[test]
fn the_last_transmission_of_what_is_missing_is_known() {
    // The first timeout, after 1 s, sends the first segment again; that is lost too, and the second
    // one comes 2 s later. Its report names the instant of the first.
    let reports = timeouts(&window(4, Recovery::NewReno), 10_000, |packet| {
        packet.at < ms(1001)
    });
    let repeated: Vec<_> = reports.iter().map(|one| one.report.head_repeated).collect();
    assert_eq!(repeated, [None, Some(ms(1000))]);
    assert_eq!(kinds(&reports)[1], TimeoutKind::LostRetransmission);
}

#[test]
fn a_small_window_lost_whole_is_no_tail_while_more_is_to_come() {
    let reports = timeouts(&window(2, Recovery::NewReno), 10_000, first(&[0, 1000]));
    assert_eq!(kinds(&reports), [TimeoutKind::FullWindow]);
}

#[test]
fn the_tail_of_a_block() {
    // Three segments, the last of ten; each loss among them leaves at most two duplicates.
    let cases: [(&'static [u64], u32); 4] = [
        (&[7000], 2),
        (&[8000], 1),
        (&[9000], 0),
        (&[7000, 8000, 9000], 0),
    ];
    for (lost, duplicates) in cases {
        let reports = timeouts(&window(10, Recovery::NewReno), 10_000, first(lost));
        assert_eq!(kinds(&reports), [TimeoutKind::LastPacket], "{lost:?}");
        let Timeout { at, report, .. } = reports[0];
        assert_eq!(report.una, lost[0]);
        assert_eq!(report.max, 10_000);
        assert_eq!(report.dup_acks, duplicates);
        // The last new ACK came at 20 ms.
        assert_eq!((at, report.waited), (ms(220), Span::from_ms(200)));
    }
}

#[test]
fn four_at_the_end_are_no_tail() {
    // Three segments behind the loss could have revealed it; one was lost.
    let reports = timeouts(&window(10, Recovery::NewReno), 10_000, first(&[6000, 7000]));
    assert_eq!(kinds(&reports), [TimeoutKind::FewDuplicates]);
    assert_eq!(reports[0].report.dup_acks, 2);
    // Or none: a window of four, lost whole, at the end of a block.
    let lost = first(&[6000, 7000, 8000, 9000]);
    let reports = timeouts(&window(10, Recovery::NewReno), 10_000, lost);
    assert_eq!(kinds(&reports), [TimeoutKind::FullWindow]);
}

#[test]
fn too_few_duplicates_with_more_to_send() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let reports = timeouts(&window(3, recovery), 10_000, first(&[0]));
        assert_eq!(kinds(&reports), [TimeoutKind::FewDuplicates]);
        assert_eq!(reports[0].report.dup_acks, 2);
    }
}

#[test]
fn duplicates_that_are_disregarded() {
    // NewReno without timestamps, right at `recover`: six duplicates, and no recovery.
    let config = Config {
        timestamps: false,
        ..window(12, Recovery::NewReno)
    };
    let mut wire = Wire::symmetric(&config, lose(&[1000, 12_000]));
    wire.endpoints[0].write(12_000);
    wire.run(ms(50));
    wire.endpoints[0].write(6000);
    wire.run(ms(1000));
    assert_eq!(wire.timeouts.len(), 1);
    let report = wire.timeouts[0].report;
    assert_eq!(report.kind, TimeoutKind::FewDuplicates);
    assert!(report.dup_acks >= 3);
}

#[test]
fn a_lost_fast_retransmission() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let mut left = 2;
        let reports = timeouts(&window(8, recovery), 8000, move |packet| {
            let target = packet.seq() == 1000 && packet.sent.segment.payload > 0 && left > 0;
            left -= u32::from(target);
            target
        });
        assert_eq!(kinds(&reports), [TimeoutKind::LostRetransmission]);
        assert_eq!(reports[0].report.backoff, 0);
    }
}

#[test]
fn a_hole_whose_retransmission_was_lost_after_an_earlier_one_was_filled() {
    // Two holes; both are repeated, the second needlessly. SND.UNA moves to it after that (SACK,
    // whose rescue is lost too) or with that (NewReno).
    for (recovery, times) in [(Recovery::NewReno, 2), (Recovery::Sack, 3)] {
        let mut left = times;
        let reports = timeouts(&window(12, recovery), 12_000, move |packet| {
            let target = packet.seq() == 3000 && packet.sent.segment.payload > 0 && left > 0;
            left -= u32::from(target);
            target || packet.is_first(1000)
        });
        assert_eq!(kinds(&reports), [TimeoutKind::LostRetransmission]);
        assert_eq!(reports[0].report.una, 3000);
    }
}

#[test]
fn reno_does_not_repeat_the_second_hole() {
    // The first new ACK ends Reno's recovery; the second loss has no duplicates left: six segments
    // lie behind it, all of which came before.
    let reports = timeouts(&window(8, Recovery::Reno), 8000, first(&[1000, 3000]));
    assert_eq!(kinds(&reports), [TimeoutKind::FullWindow]);
    assert_eq!(reports[0].report.una, 3000);
}

#[test]
fn a_lost_rescue() {
    // SACK: the head is repeated, then the tail by the rescue, needlessly.
    let mut left = 2;
    let reports = timeouts(&window(8, Recovery::Sack), 8000, move |packet| {
        let tail = packet.seq() == 7000 && packet.sent.segment.payload > 0 && left > 0;
        left -= u32::from(tail);
        tail || packet.is_first(1000)
    });
    assert_eq!(kinds(&reports), [TimeoutKind::LostRetransmission]);
    assert_eq!(reports[0].report.una, 7000);
}

#[test]
fn back_off_and_go_back() {
    // The window is lost; so is the retransmission of its head; then that of its third segment.
    let reports = timeouts(&window(4, Recovery::NewReno), 4000, |packet| {
        let again = packet.sent.retransmission;
        packet.at < ms(1) || (again && packet.at < ms(1001)) || {
            packet.seq() == 2000 && packet.at < ms(3100)
        }
    });
    let [whole, head, third] = reports[..] else {
        panic!("three timeouts: {reports:?}");
    };
    let at = third.at;
    let [whole, head, third] = [whole, head, third].map(|timeout| timeout.report);
    assert_eq!(whole.kind, TimeoutKind::FullWindow);
    assert_eq!((whole.backoff, whole.rto), (0, Span::from_secs(1)));
    assert_eq!(head.kind, TimeoutKind::LostRetransmission);
    assert_eq!((head.backoff, head.rto), (1, Span::from_secs(2)));
    // The second wait begins where the first ended.
    assert_eq!(head.waited, Span::from_secs(2));
    // New ACKs at 3020 and 3040 ended the back-off; what was sent again is still a retransmission.
    assert_eq!(third.kind, TimeoutKind::LostRetransmission);
    assert_eq!((third.una, third.backoff), (2000, 0));
    assert_eq!((at, third.waited), (ms(3240), Span::from_ms(200)));
}

#[test]
fn an_impatient_recovery_runs_out_of_time() {
    // Five losses, one per round trip of 20 ms; the timer runs on from the first partial ACK, at 40
    // ms. When it fires at 90 ms the last partial ACK came at 80, and its hole has just been
    // retransmitted.
    let config = Config {
        rto: RtoConfig {
            min: Span::from_ms(50),
            ..RtoConfig::default()
        },
        ..window(12, Recovery::NewReno)
    };
    let lost = first(&[1000, 2000, 3000, 4000, 5000]);
    let reports = timeouts(&config, 12_000, lost);
    assert_eq!(kinds(&reports), [TimeoutKind::LostRetransmission]);
    let Timeout { at, report, .. } = reports[0];
    assert_eq!((at, report.una), (ms(90), 4000));
    assert_eq!(report.waited, Span::from_ms(10));
    assert!(report.rto > report.waited);
}

#[test]
fn lengthened_timeouts_wait_longer_than_the_rto() {
    let config = Config {
        rto: RtoConfig {
            randomized: true,
            ..RtoConfig::default()
        },
        ..window(4, Recovery::NewReno)
    };
    let reports = timeouts(&config, 10_000, |packet| packet.at < ms(1));
    let Timeout { at, report, .. } = reports[0];
    assert_eq!(report.waited, at - ms(0));
    assert_eq!(report.rto, Span::from_secs(1));
    assert!(report.waited > report.rto && report.waited < report.rto * 3 / 2);
}

#[test]
fn a_lost_syn() {
    let config = Config {
        handshake: true,
        ..config()
    };
    let reports = timeouts(&config, 1000, |packet| packet.at < ms(1500));
    let expected = [TimeoutKind::FullWindow, TimeoutKind::LostRetransmission];
    assert_eq!(kinds(&reports), expected);
    assert_eq!(reports[0].report.waited, Span::from_secs(1));
    assert_eq!(reports[1].report.waited, Span::from_secs(2));
    assert_eq!((reports[1].report.backoff, reports[1].report.max), (1, 0));
}

/// A sender alone, with one segment out.
fn one_out() -> (Connection, SplitMix) {
    let mut rng = SplitMix(1);
    let mut sender = Connection::new(&config(), new_reno(&config()), Role::Active);
    sender.write(1000);
    assert!(sender.poll_transmit(ms(0), &mut rng).is_some());
    (sender, rng)
}

#[test]
fn a_report_is_taken_once_and_only_after_a_timeout() {
    let (mut sender, mut rng) = one_out();
    sender.handle_timeout(ms(999), &mut rng);
    assert_eq!(sender.poll_timeout_report(), None);
    // A clock that is late by 3 ms.
    sender.handle_timeout(ms(1003), &mut rng);
    let report = sender.poll_timeout_report().expect("a timeout");
    assert_eq!(report.kind, TimeoutKind::LastPacket);
    assert_eq!(report.waited, Span::from_ms(1003));
    assert_eq!(sender.poll_timeout_report(), None);
}

#[test]
fn a_window_probe_is_no_timeout() {
    let (mut sender, mut rng) = one_out();
    let mut closed = ack(ms(20), 1000, Flags::NONE);
    closed.window = 0;
    // The window's right edge never moves back: use it up first.
    sender.write(1 << 31);
    while sender.poll_transmit(ms(0), &mut rng).is_some() {}
    let mut una = 1000;
    while sender.snd_max() > una || sender.snd_max() == 1000 {
        una = sender.snd_max();
        closed.ack = ack(ms(20), una, Flags::NONE).ack;
        sender.handle(ms(20), &clear(&closed), &mut rng);
        while sender.poll_transmit(ms(20), &mut rng).is_some() {}
    }
    let at = sender.poll_timeout().expect("the persist timer");
    sender.handle_timeout(at, &mut rng);
    assert_eq!(sender.poll_timeout_report(), None);
    assert_eq!(sender.stats().timeouts, 0);
    assert!(sender.poll_transmit(at, &mut rng).is_some());
    assert_eq!(sender.stats().probes, 1);
}

#[test]
fn sequence_numbers_on_the_wire_find_their_place() {
    // 70 segments of 1000 bytes: the wire's number wraps after 65,536 bytes.
    let lost = first(&[64_000, 65_000, 66_000, 67_000, 68_000, 69_000]);
    let reports = timeouts(&window(70, Recovery::NewReno), 70_000, lost);
    let report = reports[0].report;
    assert_eq!((report.una, report.max), (64_000, 70_000));
    for place in [64_000, 65_535, 65_536, 69_999] {
        let seq = report.seq().wrapping_add((place - report.una) as u32);
        assert_eq!(report.outstanding(seq), Some(place));
    }
    assert_eq!(report.outstanding(report.seq().wrapping_sub(1)), None);
    assert_eq!(report.outstanding(report.seq().wrapping_add(6000)), None);
}

#[test]
fn the_names_are_those_of_the_tables() {
    let words = TimeoutKind::ALL.map(TimeoutKind::word);
    let expected = [
        "lost-retransmission",
        "last-packet",
        "full-window",
        "few-duplicates",
    ];
    assert_eq!(words, expected);
}
