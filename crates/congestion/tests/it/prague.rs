//! Prague against its draft, number by number.

use incastle_congestion::{Controller, Echo, Prague, PragueConfig, Reaction};
use incastle_units::{Bytes, Rate, Span, Time};

use Reaction::{Ignored, Reduced};

use crate::support::{Sender, cwnd, ssthresh};

const MSS: u64 = 1000;

/// A controller in slow start with a window of ten segments, all of them outstanding, at a round trip.
fn start(rtt: Span) -> (Sender, Prague) {
    let mut control = Prague::new(PragueConfig::new(Bytes::new(MSS)));
    let mut sender = Sender {
        smoothed_rtt: Some(rtt),
        ..Sender::default()
    };
    sender.send(&mut control, 10 * MSS);
    (sender, control)
}

fn alpha(control: &Prague) -> f64 {
    control.state().alpha.expect("it has an alpha")
}

/// One round trip: as many segments as the window has are acknowledged together and sent again.
fn round(sender: &mut Sender, control: &mut Prague, echo: Echo) -> Reaction {
    sender.now += sender.smoothed_rtt.expect("there is one");
    let bytes = sender.snd_nxt - sender.snd_una;
    let reaction = sender.ack(control, bytes, echo);
    sender.send(control, cwnd(control));
    reaction
}

/// Past slow start by one mark, and past the transition.
fn independent(rtt: Span) -> (Sender, Prague) {
    let (mut sender, mut control) = start(rtt);
    round(&mut sender, &mut control, Echo::Congestion);
    for _ in 0..5 {
        round(&mut sender, &mut control, Echo::Clear);
    }
    (sender, control)
}

#[test]
fn the_first_mark_halves_the_window_and_ends_slow_start() {
    let (mut sender, mut control) = start(Span::from_ms(10));
    assert_eq!(sender.ack(&mut control, MSS, Echo::Clear), Ignored);
    assert_eq!((cwnd(&control), ssthresh(&control)), (11 * MSS, None));
    // alpha = 1: 11,000 x (1 - 1/2). Marks of the same window change nothing.
    assert_eq!(sender.ack(&mut control, MSS, Echo::Congestion), Reduced);
    assert_eq!((cwnd(&control), ssthresh(&control)), (5_500, Some(5_500)));
    assert_eq!(sender.ack(&mut control, MSS, Echo::Congestion), Ignored);
    assert_eq!(cwnd(&control), 5_500);
}

#[test]
fn every_unmarked_ack_grows_the_window_and_marked_ones_do_not() {
    let (mut sender, mut control) = start(Span::from_ms(10));
    sender.ack(&mut control, MSS, Echo::Congestion);
    // 5,000 + 1,000 x 1,000 / 5,000 = 5,200, also in the window of the reaction.
    assert_eq!(cwnd(&control), 5_000);
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 5_200);
    sender.ack(&mut control, MSS, Echo::Congestion);
    assert_eq!(cwnd(&control), 5_200);
}

#[test]
fn alpha_is_the_mean_of_the_marked_fractions_from_the_first_mark_on() {
    let (mut sender, mut control) = start(Span::from_ms(10));
    for _ in 0..3 {
        round(&mut sender, &mut control, Echo::Clear);
        assert!((alpha(&control) - 1.0).abs() < 1e-12);
    }
    // A round with all bytes marked leaves 1; then 15/16 for each without a mark.
    round(&mut sender, &mut control, Echo::Congestion);
    assert!((alpha(&control) - 1.0).abs() < 1e-12);
    round(&mut sender, &mut control, Echo::Clear);
    assert!((alpha(&control) - 0.9375).abs() < 1e-12);
    round(&mut sender, &mut control, Echo::Clear);
    assert!((alpha(&control) - 0.878_906_25).abs() < 1e-12);
}

#[test]
fn from_the_fifth_round_on_it_grows_as_at_25_ms() {
    let grown = |rtt| {
        let (mut sender, mut control) = independent(rtt);
        // Windows are whole bytes: the growth of ten rounds.
        let before = cwnd(&control);
        for _ in 0..10 {
            round(&mut sender, &mut control, Echo::Clear);
        }
        (cwnd(&control) - before) as f64 / 10.0
    };
    // (10 / 25)^2 = 0.16 segments a round trip; one from 25 ms on.
    let short = grown(Span::from_ms(10));
    assert!((short - 160.0).abs() < 1.0, "{short}");
    for rtt in [25, 60] {
        let long = grown(Span::from_ms(rtt));
        assert!((long - 1_000.0).abs() < 1.0, "{long}");
    }
}

#[test]
fn from_then_on_it_reacts_and_learns_once_in_25_ms() {
    let (mut sender, mut control) = independent(Span::from_ms(10));
    let reactions: Vec<Reaction> = (0..6)
        .map(|_| round(&mut sender, &mut control, Echo::Congestion))
        .collect();
    assert_eq!(
        reactions,
        [Reduced, Ignored, Ignored, Reduced, Ignored, Ignored]
    );
    // alpha changes in every third round trip, too.
    let changes = (0..9).filter(|_| {
        let before = alpha(&control);
        round(&mut sender, &mut control, Echo::Clear);
        (alpha(&control) - before).abs() > 1e-12
    });
    assert_eq!(changes.count(), 3);
}

#[test]
fn a_loss_halves_the_flight() {
    let (mut sender, mut control) = independent(Span::from_ms(10));
    let flight = sender.snd_nxt - sender.snd_una;
    assert_eq!(sender.lose(&mut control), Reduced);
    assert_eq!(cwnd(&control), flight / 2);
    let before = control.state();
    sender.time_out(&mut control, 0);
    assert_eq!(cwnd(&control), MSS);
    // A needless timeout.
    control.restore(&before);
    assert_eq!(cwnd(&control), flight / 2);
}

#[test]
fn the_pacing_rate_is_the_window_per_round_trip() {
    let (mut sender, mut control) = start(Span::from_ms(10));
    assert_eq!(control.pacing(), None);
    let rate = |bits| Some(Rate::from_bits_per_second(bits));
    sender.ack(&mut control, MSS, Echo::Clear);
    // Slow start: 2 x 11,000 B x 8 / 10 ms = 17.6 Mbit/s.
    assert_eq!(control.pacing(), rate(17_600_000));
    // 5,500 B, but 8,000 B are outstanding: 6.4 Mbit/s.
    sender.ack(&mut control, MSS, Echo::Congestion);
    assert_eq!(control.pacing(), rate(6_400_000));
    sender.ack(&mut control, 8 * MSS, Echo::Clear);
    // 5,500 + 1,000 x 5,500 / 5,500.
    assert_eq!(control.pacing(), rate(5_200_000));
}

#[test]
fn below_two_segments_the_rate_falls_and_the_window_stays() {
    let (mut sender, mut control) = start(Span::from_us(100));
    for _ in 0..200 {
        round(&mut sender, &mut control, Echo::Congestion);
        sender.now += Span::from_ms(25);
        assert!(cwnd(&control) >= 2 * MSS);
    }
    assert_eq!(cwnd(&control), 2 * MSS);
    assert_eq!(control.pacing(), Some(Rate::from_bits_per_second(100_000)));
    // The window does not lead the rate: it grows by the fraction.
    assert!(sender.now > Time::ZERO);
    round(&mut sender, &mut control, Echo::Clear);
    assert_eq!(cwnd(&control), 2 * MSS);
}
