//! DT-CWA's sender (Sreekumari 2018) in its readings, number by number.

#![allow(
    clippy::float_cmp,
    reason = "defaults are compared with the literals that they are"
)]

use incastle_congestion::{
    AckSample, Controller, CwaExtremes, CwaReaction, DctcpConfig, DtCwa, DtCwaConfig, Echo,
    Reaction,
};
use incastle_units::Bytes;

use crate::support::{Sender, cwnd, sample, ssthresh};

const MSS: u64 = 1000;

fn config(reaction: CwaReaction) -> DtCwaConfig {
    let mut config = DtCwaConfig {
        reaction,
        ..DtCwaConfig::new(Bytes::new(MSS))
    };
    config.dctcp.window.initial_window = Bytes::new(2 * MSS);
    config
}

fn marked(sender: &mut Sender, control: &mut DtCwa, segments: u32) -> Reaction {
    let ack = AckSample {
        segments,
        ..sample(u64::from(segments) * MSS, Echo::Congestion)
    };
    sender.ack_with(control, ack)
}

/// Nine ACKs of slow start have brought the window from 2 to 11 segments; 20 were sent, 11 are
/// outstanding. CW_max = 11, CW_min = 2: a spread of 9.
fn after_slow_start(reaction: CwaReaction) -> (Sender, DtCwa) {
    let (mut sender, mut control) = (Sender::default(), DtCwa::new(config(reaction)));
    sender.send(&mut control, 20 * MSS);
    for _ in 0..9 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    assert_eq!((cwnd(&control), ssthresh(&control)), (11 * MSS, None));
    (sender, control)
}

#[test]
fn the_defaults_are_those_of_the_paper() {
    let defaults = DtCwaConfig::new(Bytes::new(MSS));
    assert_eq!(
        (defaults.b, defaults.reaction),
        (0.2, CwaReaction::Subtract)
    );
    assert_eq!(defaults.extremes, CwaExtremes::Episode);
    assert_eq!(defaults.dctcp, DctcpConfig::new(Bytes::new(MSS)));
    assert_eq!(defaults.dctcp.window.min_cwnd, Bytes::new(2 * MSS));
}

#[test]
fn each_echo_takes_its_share_and_the_end_of_the_episode_gives_back() {
    let (mut sender, mut control) = after_slow_start(CwaReaction::Subtract);
    // The first notification finds a = 11 outstanding: 11000 - 9000/11 = 10181.8, the division
    // rounded down. Slow start is over, CWR requested.
    assert_eq!(marked(&mut sender, &mut control, 1), Reaction::Reduced);
    assert_eq!((cwnd(&control), ssthresh(&control)), (10_182, Some(10_182)));
    // An ACK of two segments takes twice as much, 18000/11 = 1636.4, and no CWR.
    assert_eq!(marked(&mut sender, &mut control, 2), Reaction::Ignored);
    assert_eq!(cwnd(&control), 8546);
    // ACKs without a mark grow the window as ever: congestion avoidance, 1000 x 1000 / 8546 = 117.
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 8663);
    // The 20th segment ends the data of the episode: + 0.2 x 9000 = 10463. The ACK itself covers
    // seven segments: 7000 x 1000 / 10463 = 669 on top.
    sender.send(&mut control, 5 * MSS);
    sender.ack(&mut control, 7 * MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 11_132);
    // Equation 2 was that: the next ACK adds congestion avoidance's 1000 x 1000 / 11132 = 89, with
    // what the division before it left (0.02).
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 11_221);
}

#[test]
fn full_marking_takes_the_whole_spread_and_gives_a_fifth_back() {
    let (mut sender, mut control) = after_slow_start(CwaReaction::Subtract);
    // F = 1: eleven echoes take 11 x floor(9000 / 11) = 11 x 818 = 8998, to CW_min but for the
    // rounding. The last one ends the episode: 2002 + 1800 = 3802.
    for left in (1..=11).rev() {
        let first = left == 11;
        let reaction = marked(&mut sender, &mut control, 1);
        assert_eq!(reaction == Reaction::Reduced, first);
        let expected = if left == 1 {
            3802
        } else {
            11_000 - 818 * (12 - left)
        };
        assert_eq!(cwnd(&control), expected);
    }
}

#[test]
fn a_marked_fraction_of_b_is_in_balance() {
    let mut config = config(CwaReaction::Subtract);
    config.dctcp.window.initial_window = Bytes::new(10 * MSS);
    let (mut sender, mut control) = (Sender::default(), DtCwa::new(config));
    // Ten ACKs: 10 -> 20 segments, spread 10; twenty outstanding.
    sender.send(&mut control, 30 * MSS);
    for _ in 0..10 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    // 4 of 20 echoes take 4 x 500 = 2000 = b x 10000; the other ACKs do not use the window, so that
    // nothing grows.
    for echoed in (0..20).map(|index| index % 5 == 0) {
        let ack = AckSample {
            limited_by: incastle_congestion::LimitedBy::Application,
            ..sample(
                MSS,
                if echoed {
                    Echo::Congestion
                } else {
                    Echo::Clear
                },
            )
        };
        sender.ack_with(&mut control, ack);
    }
    assert_eq!(cwnd(&control), 20 * MSS);
}

#[test]
fn extremes_begin_anew_after_an_episode() {
    let (mut sender, mut control) = after_slow_start(CwaReaction::Subtract);
    for _ in 0..11 {
        marked(&mut sender, &mut control, 1);
    }
    assert_eq!(cwnd(&control), 3802);
    // Under marks without end the window has not moved since. The spread is 0, nothing is taken or
    // given back, but it is an episode (with CWR) all the same.
    sender.send(&mut control, 4 * MSS);
    assert_eq!(marked(&mut sender, &mut control, 1), Reaction::Reduced);
    for _ in 0..3 {
        assert_eq!(marked(&mut sender, &mut control, 1), Reaction::Ignored);
    }
    assert_eq!(cwnd(&control), 3802);
    // One clear window of four segments: 1000 x 1000 x (1 + ...) / 3802: four ACKs grow it by 263,
    // 246, 232 and 220, the remainders carried. The spread is that growth.
    sender.send(&mut control, 8 * MSS);
    for _ in 0..4 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    let grown = cwnd(&control) - 3802;
    assert_eq!(grown, 961);
    // Four outstanding: 961 / 4 = 240 for each.
    marked(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), 3802 + 961 - 240);
}

/// The window after a second episode under full marking, where the first one, from slow start, took
/// 8998 of 11000 bytes and gave 1800 back.
fn after_two_episodes(extremes: CwaExtremes) -> u64 {
    let mut control = DtCwa::new(DtCwaConfig {
        extremes,
        ..config(CwaReaction::Subtract)
    });
    let mut sender = Sender::default();
    sender.send(&mut control, 20 * MSS);
    for _ in 0..9 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    for _ in 0..11 {
        marked(&mut sender, &mut control, 1);
    }
    assert_eq!(cwnd(&control), 3802);
    // Four outstanding, and all of them marked; the fourth ends the episode.
    sender.send(&mut control, 4 * MSS);
    for _ in 0..4 {
        marked(&mut sender, &mut control, 1);
    }
    cwnd(&control)
}

#[test]
fn the_time_of_the_extremes_is_a_setting() {
    // Since the end of the first episode: 3802 - 3802, nothing.
    assert_eq!(after_two_episodes(CwaExtremes::Episode), 3802);
    // Since its first notification: from 11000 down to 2002, a spread of 8998. The first step of
    // 8998 / 4 reaches the floor. Then + 0.2 x 8998 = 1799.6.
    assert_eq!(after_two_episodes(CwaExtremes::Notification), 3799);
    // Since the start: the initial window of 2000 is the least, a spread of 9000.
    assert_eq!(after_two_episodes(CwaExtremes::Loss), 3800);
}

#[test]
fn a_loss_begins_all_extremes_anew() {
    for extremes in [
        CwaExtremes::Episode,
        CwaExtremes::Notification,
        CwaExtremes::Loss,
    ] {
        let mut control = DtCwa::new(DtCwaConfig {
            extremes,
            ..config(CwaReaction::Subtract)
        });
        let mut sender = Sender::default();
        sender.send(&mut control, 20 * MSS);
        for _ in 0..9 {
            sender.ack(&mut control, MSS, Echo::Clear);
        }
        sender.lose(&mut control);
        sender.ack(&mut control, 11 * MSS, Echo::Clear);
        let window = cwnd(&control);
        sender.send(&mut control, 5 * MSS);
        // The growth since the loss: one segment, the most that an ACK gives beyond ssthresh.
        assert_eq!(window, 6500);
        marked(&mut sender, &mut control, 1);
        // A spread of 1000, five outstanding.
        assert_eq!(cwnd(&control), 6300);
    }
}

#[test]
fn the_printed_equation_falls_to_the_floor_immediately() {
    let (mut sender, mut control) = after_slow_start(CwaReaction::Printed);
    // 9/11 - 11 < 0, and so on: 9/11 - 2 < 0.
    assert_eq!(marked(&mut sender, &mut control, 1), Reaction::Reduced);
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (2 * MSS, Some(2 * MSS))
    );
    for _ in 0..9 {
        marked(&mut sender, &mut control, 1);
        assert_eq!(cwnd(&control), 2 * MSS);
    }
    // Its end gives 0.2 x 9 back.
    marked(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), 3800);
}

#[test]
fn the_printed_equation_can_widen_a_small_window() {
    let (mut sender, mut control) = (Sender::default(), DtCwa::new(config(CwaReaction::Printed)));
    // 20 segments at a window of 22, of which only two are outstanding: (22 - 2) / 2 - 22 < 0, the
    // floor of 2. The next echo: 10 - 2 = 8 segments. It ends the episode: + 0.2 x 20.
    sender.send(&mut control, 22 * MSS);
    for _ in 0..20 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    marked(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), 2 * MSS);
    marked(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), 12 * MSS);
}

#[test]
fn absolute_values_differ_where_more_is_echoed_than_was_outstanding() {
    let run = |reaction| {
        let (mut sender, mut control) = after_slow_start(reaction);
        let mut windows = Vec::new();
        for _ in 0..10 {
            marked(&mut sender, &mut control, 1);
            windows.push(cwnd(&control));
        }
        // Three duplicates with ECE, each for nine segments: 9 x 9000 / 11 = 7363 taken.
        for _ in 0..3 {
            let duplicate = AckSample {
                segments: 9,
                ..sample(0, Echo::Congestion)
            };
            sender.ack_with(&mut control, duplicate);
            windows.push(cwnd(&control));
        }
        windows
    };
    let (subtract, absolute) = (run(CwaReaction::Subtract), run(CwaReaction::Absolute));
    assert_eq!(subtract[..10], absolute[..10]);
    assert_eq!(subtract[9], 11_000 - 10 * 818);
    // 2820 - 7363 < 0: the floor here, |...| there: 4543, then 2820 again, then 4543.
    assert_eq!(subtract[10..], [2000, 2000, 2000]);
    assert_eq!(absolute[10..], [4543, 2820, 4543]);
}

#[test]
fn the_floor_is_a_setting() {
    for (floor, window) in [(1, 1000), (3, 3000)] {
        let mut config = config(CwaReaction::Printed);
        config.dctcp.window.min_cwnd = Bytes::new(floor * MSS);
        config.dctcp.window.initial_window = Bytes::new(10 * MSS);
        let (mut sender, mut control) = (Sender::default(), DtCwa::new(config));
        sender.send(&mut control, 10 * MSS);
        marked(&mut sender, &mut control, 1);
        assert_eq!(cwnd(&control), window);
    }
}

#[test]
fn a_loss_halves_and_ends_the_episode_without_giving_back() {
    let (mut sender, mut control) = after_slow_start(CwaReaction::Subtract);
    marked(&mut sender, &mut control, 1);
    marked(&mut sender, &mut control, 1);
    // NewReno's halving, of the eleven in flight before the episode.
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    assert_eq!((cwnd(&control), ssthresh(&control)), (5500, Some(5500)));
    // Marks of that window of data have had their reaction, and its end gives nothing back.
    for _ in 0..9 {
        assert_eq!(marked(&mut sender, &mut control, 1), Reaction::Ignored);
    }
    assert_eq!(cwnd(&control), 5500);
    // The extremes have begun anew: nothing has grown, nothing is taken.
    sender.send(&mut control, 5 * MSS);
    assert_eq!(marked(&mut sender, &mut control, 1), Reaction::Reduced);
    assert_eq!(cwnd(&control), 5500);
}

#[test]
fn after_a_timeout_the_extremes_begin_at_one_segment() {
    let (mut sender, mut control) = after_slow_start(CwaReaction::Subtract);
    sender.time_out(&mut control, 0);
    assert_eq!(cwnd(&control), MSS);
    // Slow start again from one segment, after the timeout's window of data. 11 segments are
    // outstanding; one ACK for all: two segments at most.
    sender.ack(&mut control, 11 * MSS, Echo::Clear);
    assert_eq!(cwnd(&control), 3 * MSS);
    sender.send(&mut control, 4 * MSS);
    // Spread 2, a = 4: 3000 - 2000 / 4.
    marked(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), 2500);
}

#[test]
fn a_mark_does_not_raise_the_window_of_a_timeout_to_the_floor() {
    let (mut sender, mut control) = after_slow_start(CwaReaction::Subtract);
    sender.time_out(&mut control, 0);
    marked(&mut sender, &mut control, 11);
    sender.send(&mut control, MSS);
    assert_eq!(marked(&mut sender, &mut control, 1), Reaction::Reduced);
    assert_eq!(cwnd(&control), MSS);
}

#[test]
fn alpha_is_dctcps_and_changes_nothing() {
    let run = |initial_alpha: f64| {
        let mut config = config(CwaReaction::Subtract);
        config.dctcp.initial_alpha = initial_alpha;
        let (mut sender, mut control) = (Sender::default(), DtCwa::new(config));
        sender.send(&mut control, 10 * MSS);
        let mut windows = Vec::new();
        for index in 0..10 {
            let echo = if index % 3 == 2 {
                Echo::Congestion
            } else {
                Echo::Clear
            };
            sender.ack(&mut control, MSS, echo);
            windows.push(cwnd(&control));
        }
        (windows, control.state().alpha)
    };
    let (zero, one) = (run(0.0), run(1.0));
    assert_eq!(zero.0, one.0);
    // The first ACK passes the end of the first window, without a mark: 15/16 of the estimate.
    assert_eq!((zero.1, one.1), (Some(0.0), Some(0.9375)));
}
