//! HyStart against Linux's CUBIC, and HyStart++ against RFC 9406, number by number; and both on a long
//! fat path.

use incastle_congestion::{Algorithm, Cubic, CubicConfig, Echo, NewReno, NewRenoConfig, SlowStart};
use incastle_units::{Bytes, Span, Time};

use crate::support::pipe::{Link, Pipe, Row};
use crate::support::{Sender, cwnd, sample, ssthresh};

const MSS: u64 = 1000;

fn config(slow_start: SlowStart, segments: u64) -> NewRenoConfig {
    NewRenoConfig {
        slow_start,
        initial_window: Bytes::new(segments * MSS),
        ..NewRenoConfig::new(Bytes::new(MSS))
    }
}

/// A controller with a window of `segments` and 1,000 segments outstanding.
fn at(config: NewRenoConfig) -> (Sender, NewReno) {
    let mut control = NewReno::new(config);
    let mut sender = Sender {
        smoothed_rtt: Some(Span::from_ms(100)),
        ..Sender::default()
    };
    sender.send(&mut control, 1000 * MSS);
    (sender, control)
}

/// An ACK for one segment with a round-trip time, and whether slow start is over after it.
fn ack(sender: &mut Sender, control: &mut NewReno, rtt: Span) -> bool {
    let mut sample = sample(MSS, Echo::Clear);
    sample.rtt = Some(rtt);
    sender.ack_with(control, sample);
    ssthresh(control).is_some()
}

/// The first ACK of a round at `Time::ZERO`, and then one each millisecond; the time of the last one
/// before slow start is over.
fn train(config: NewRenoConfig) -> u64 {
    let (mut sender, mut control) = at(config);
    for ms in 0..500 {
        sender.now = Time::ZERO + Span::from_ms(ms);
        if ack(&mut sender, &mut control, Span::from_ms(100)) {
            return ms - 1;
        }
    }
    unreachable!("the train is long enough")
}

#[test]
fn a_train_of_acks_as_long_as_half_a_round_trip_ends_slow_start() {
    // The window of 20 segments and more at 100 ms: 262,144 B at 2 x 20 kB / 100 ms are more than 1 ms.
    // (100 + 1) / 2 = 50.5 ms.
    let unpaced = config(SlowStart::Hystart, 20);
    assert_eq!(train(unpaced), 50);
    // Paced: 101 ms.
    let paced = NewRenoConfig {
        paced: true,
        ..unpaced
    };
    assert_eq!(train(paced), 101);
}

#[test]
fn acks_further_apart_are_no_train_and_small_windows_do_not_count() {
    // One ACK in 3 ms: last_ack stays behind for the whole round.
    let (mut sender, mut control) = at(config(SlowStart::Hystart, 20));
    for count in 0..100 {
        sender.now = Time::ZERO + Span::from_ms(3 * count);
        assert!(!ack(&mut sender, &mut control, Span::from_ms(100)));
    }
    // 12 segments at first, 15 after three ACKs; 16 after the fourth.
    let (mut sender, mut control) = at(config(SlowStart::Hystart, 12));
    for count in 0..4 {
        sender.now = Time::ZERO + Span::from_ms(20 * count);
        assert!(!ack(&mut sender, &mut control, Span::from_ms(100)));
    }
    assert_eq!(cwnd(&control), 16 * MSS);
}

/// The number of samples of `rtt`, after eight of `least`, that end slow start.
fn samples(least: Span, rtt: Span) -> Option<u32> {
    let (mut sender, mut control) = at(config(SlowStart::Hystart, 20));
    for _ in 0..8 {
        assert!(!ack(&mut sender, &mut control, least));
    }
    // A new round, whose least delay is its own.
    sender.snd_una = 1000 * MSS;
    sender.send(&mut control, 1000 * MSS);
    (1..100).find(|_| ack(&mut sender, &mut control, rtt))
}

#[test]
fn a_delay_an_eighth_above_the_least_ends_slow_start_after_eight_samples() {
    // 80 ms / 8 = 10 ms.
    assert_eq!(samples(Span::from_ms(80), Span::from_ms(90)), None);
    assert_eq!(samples(Span::from_ms(80), Span::from_us(90_001)), Some(9));
    // 4 ms at least, 16 ms at most.
    assert_eq!(samples(Span::from_us(100), Span::from_us(4_100)), None);
    assert_eq!(samples(Span::from_us(100), Span::from_us(4_101)), Some(9));
    assert_eq!(samples(Span::from_ms(800), Span::from_ms(816)), None);
    assert_eq!(samples(Span::from_ms(800), Span::from_us(816_001)), Some(9));
}

#[test]
fn hystart_sets_ssthresh_to_the_window_and_watches_again_after_a_timeout() {
    let (mut sender, mut control) = at(config(SlowStart::Hystart, 20));
    for ms in 0..=51 {
        sender.now = Time::ZERO + Span::from_ms(ms);
        ack(&mut sender, &mut control, Span::from_ms(100));
    }
    // 51 ACKs of slow start; the 52nd is one of congestion avoidance: 71 segments and 1000^2 / 71,000.
    assert_eq!(ssthresh(&control), Some(71 * MSS));
    assert_eq!(cwnd(&control), 71 * MSS + 14);
    // 948 segments are outstanding: ssthresh is 474 segments.
    sender.time_out(&mut control, 0);
    assert_eq!((cwnd(&control), ssthresh(&control)), (MSS, Some(474 * MSS)));
    sender.snd_una = 1000 * MSS;
    sender.send(&mut control, 1000 * MSS);
    // A train is one from 16 segments on.
    for _ in 0..20 {
        ack(&mut sender, &mut control, Span::from_ms(100));
    }
    let start = sender.now;
    for ms in 1..=51 {
        sender.now = start + Span::from_ms(ms);
        ack(&mut sender, &mut control, Span::from_ms(100));
    }
    assert_eq!(ssthresh(&control), Some(71 * MSS));
}

/// A round of `count` segments, each acknowledged alone after `ms`.
fn round(sender: &mut Sender, control: &mut NewReno, count: u64, ms: u64) -> bool {
    round_of(sender, control, count, Span::from_ms(ms))
}

fn round_of(sender: &mut Sender, control: &mut NewReno, count: u64, rtt: Span) -> bool {
    sender.send(control, count * MSS);
    (0..count).fold(false, |_, _| ack(sender, control, rtt))
}

fn plus_plus() -> (Sender, NewReno) {
    let control = NewReno::new(config(SlowStart::HystartPlusPlus, 10));
    (Sender::default(), control)
}

/// RFC 9406, section 4.2: RttThresh = max(4 ms, min(lastRoundMinRTT / 8, 16 ms)), at its edges. The first round has
/// none, since lastRoundMinRTT is infinite.
#[test]
fn the_threshold_of_conservative_slow_start() {
    let us = Span::from_us(1);
    for (last, threshold) in [(1, 4), (32, 4), (40, 5), (80, 10), (128, 16), (800, 16)] {
        let edge = Span::from_ms(last + threshold);
        for (rtt, growth) in [(edge - us, 10 * MSS), (edge, 7 * MSS + 3 * MSS / 4)] {
            let (mut sender, mut control) = plus_plus();
            round(&mut sender, &mut control, 10, last);
            assert_eq!(cwnd(&control), 20 * MSS);
            round_of(&mut sender, &mut control, 10, rtt);
            assert_eq!(cwnd(&control), 20 * MSS + growth, "{last} ms, {rtt:?}");
        }
    }
}

#[test]
fn conservative_slow_start_grows_by_a_quarter_and_lasts_five_rounds() {
    let (mut sender, mut control) = plus_plus();
    assert!(!round(&mut sender, &mut control, 10, 80));
    assert_eq!(cwnd(&control), 20 * MSS);
    // The threshold is 80 + 80 / 8 ms: 89 ms are below it.
    assert!(!round(&mut sender, &mut control, 10, 89));
    assert_eq!(cwnd(&control), 30 * MSS);
    // 89 + 89 / 8 = 100.1 ms. The eighth sample of 101 ms begins CSS: 7 segments, and 3 quarters.
    assert!(!round(&mut sender, &mut control, 10, 101));
    assert_eq!(cwnd(&control), 37 * MSS + 750);
    // That round counts: four more, and the ACK after them is one of congestion avoidance.
    for _ in 0..4 {
        assert!(!round(&mut sender, &mut control, 10, 101));
    }
    assert_eq!(cwnd(&control), 47 * MSS + 750);
    assert!(round(&mut sender, &mut control, 1, 101));
    assert_eq!(ssthresh(&control), Some(47 * MSS + 750));
    // 1000^2 / 47,750 = 20.9.
    assert_eq!(cwnd(&control), 47 * MSS + 750 + 20);
}

#[test]
fn slow_start_resumes_where_the_delay_has_fallen() {
    let (mut sender, mut control) = plus_plus();
    round(&mut sender, &mut control, 10, 80);
    round(&mut sender, &mut control, 10, 90);
    // The eighth sample and two more grow by quarters.
    assert_eq!(cwnd(&control), 27 * MSS + 750);
    // As high as before: CSS. Lower: the eighth sample resumes slow start.
    round(&mut sender, &mut control, 8, 90);
    assert_eq!(cwnd(&control), 29 * MSS + 750);
    round(&mut sender, &mut control, 10, 89);
    // 7 quarters and 3 segments.
    assert_eq!(cwnd(&control), 34 * MSS + 500);
    assert_eq!(ssthresh(&control), None);
}

#[test]
fn rounds_of_fewer_than_eight_samples_decide_nothing() {
    let (mut sender, mut control) = plus_plus();
    round(&mut sender, &mut control, 8, 1);
    for _ in 0..20 {
        assert!(!round(&mut sender, &mut control, 7, 100));
    }
    assert_eq!(cwnd(&control), (10 + 8 + 140) * MSS);
}

#[test]
fn hystart_plus_plus_watches_the_first_slow_start_only() {
    let (mut sender, mut control) = plus_plus();
    round(&mut sender, &mut control, 10, 80);
    sender.send(&mut control, 200 * MSS);
    sender.time_out(&mut control, 0);
    assert_eq!(ssthresh(&control), Some(100 * MSS));
    for ms in [80, 120, 160] {
        round(&mut sender, &mut control, 10, ms);
    }
    // Every ACK of the thirty counts as one of slow start.
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (31 * MSS, Some(100 * MSS))
    );
}

/// 120 Mbit/s, 100 ms: 1,000 packets, and a buffer of as many.
const LONG_FAT: Link = Link {
    service: Span::from_us(100),
    rtt: Span::from_us(99_900),
    marking_threshold: u64::MAX,
    capacity: 1_000,
};

/// CUBIC's first seconds over the long fat path.
fn over_a_long_fat_path(slow_start: SlowStart) -> Vec<Row> {
    let defaults = CubicConfig::new(Bytes::new(crate::support::pipe::MSS));
    let cubic = Cubic::new(CubicConfig {
        window: NewRenoConfig {
            slow_start,
            ..defaults.window
        },
        ..defaults
    });
    Pipe::new(LONG_FAT, Algorithm::from(cubic)).run(Time::ZERO + Span::from_secs(3))
}

/// Packets that found the buffer full.
fn lost(rows: &[Row]) -> usize {
    let full = rows.iter().filter(|row| row.queue >= LONG_FAT.capacity);
    full.count()
}

#[test]
fn slow_start_on_a_long_fat_path_ends_without_a_burst_of_losses() {
    let standard = over_a_long_fat_path(SlowStart::Standard);
    // The window doubles until 2,000 packets: about a buffer's worth is lost.
    assert!(lost(&standard) > 500, "{}", lost(&standard));
    let hystart = over_a_long_fat_path(SlowStart::Hystart);
    assert_eq!(lost(&hystart), 0);
    // It leaves slow start above half of the 1,000 packets of the path, with little in the buffer.
    let exit = hystart.iter().find_map(|row| row.ssthresh);
    let exit = exit.expect("slow start is over") / crate::support::pipe::MSS;
    assert!((500..1_200).contains(&exit), "{exit}");
    // HyStart++ sees the queue of 2,560 packets a round later, and grows by a quarter then.
    let plus_plus = over_a_long_fat_path(SlowStart::HystartPlusPlus);
    assert!(
        2 * lost(&plus_plus) < lost(&standard),
        "{}",
        lost(&plus_plus)
    );
}
