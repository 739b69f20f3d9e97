//! DCTCP in rate form, by hand and against a second computation.

use std::collections::VecDeque;

use incastle_cases::cases;
use incastle_congestion::{Controller, RateDctcp, RateDctcpConfig};
use proptest::prelude::*;

use super::{Feedback, GBIT, MBIT, acknowledge, alpha, bits, rate};
use crate::support::Sender;

const PACKET: u64 = 1_000;

fn start() -> (Sender, RateDctcp) {
    let config = RateDctcpConfig::hpcc_ns3(bits(10 * GBIT));
    let mut control = RateDctcp::new(config);
    let mut sender = Sender::default();
    sender.send(&mut control, 10 * PACKET);
    (sender, control)
}

/// One packet is acknowledged, and one sent before that.
fn ack(sender: &mut Sender, control: &mut RateDctcp, marked: bool) -> u64 {
    sender.send(control, PACKET);
    let feedback = Feedback {
        marked,
        ..Feedback::default()
    };
    acknowledge(sender, control, PACKET, feedback);
    rate(control)
}

#[test]
fn a_mark_cuts_once_in_a_window_and_stops_the_increase() {
    let (mut sender, mut control) = start();
    // The first acknowledgement begins the first round, and raises the rate, at most to the line rate.
    assert_eq!(ack(&mut sender, &mut control, false), 10 * GBIT);
    // alpha = 1: half. The cut lasts until data beyond 12,000 bytes are acknowledged.
    assert_eq!(ack(&mut sender, &mut control, true), 5 * GBIT);
    for acked in 3..=12 {
        assert_eq!(ack(&mut sender, &mut control, true), 5 * GBIT, "{acked}");
    }
    // The round of 11,000 bytes ended at the 12th. alpha <- 15/16 x 1 + 1/16 x min(1, 11 / (11,000 / 1,000 + 1)).
    assert!((alpha(&control) - (15.0 / 16.0 + 11.0 / 12.0 / 16.0)).abs() < 1e-12);
    // The 13th exceeds the cut; a mark cuts anew, by alpha / 2.
    let expected = (5e9 * (1.0 - alpha(&control) / 2.0)) as u64;
    assert_eq!(ack(&mut sender, &mut control, true), expected);
}

#[test]
fn each_round_without_a_cut_adds_r_ai() {
    let (mut sender, mut control) = start();
    ack(&mut sender, &mut control, true);
    assert_eq!(rate(&control), 5 * GBIT);
    // 11 in flight: rounds end with the 12th acknowledgement and each 11th after it.
    let mut rates = Vec::new();
    for acked in 2..=34 {
        let now = ack(&mut sender, &mut control, false);
        if [11, 12, 22, 23, 34].contains(&acked) {
            rates.push(now / MBIT);
        }
    }
    assert_eq!(rates, [5_000, 5_615, 5_615, 6_230, 6_845]);
    // The mark of the first acknowledgement counts in the first round: 1 of 12; then none.
    let kept = 15.0 / 16.0;
    let first = kept + 1.0 / 12.0 / 16.0;
    assert!((alpha(&control) - first * kept * kept).abs() < 1e-12);
}

#[test]
fn alpha_approaches_the_marked_fraction_by_one_sixteenth_a_round() {
    let (mut sender, mut control) = start();
    let mut rounds = 0;
    let mut last = alpha(&control);
    // Every other acknowledgement of a round of 11 is marked, 5 or 6. In the first round the divisor is 12.
    for index in 0..11 * 400 {
        ack(&mut sender, &mut control, index % 2 == 0);
        if (alpha(&control) - last).abs() > 0.0 {
            let before = last;
            last = alpha(&control);
            let fraction = (last - before * (15.0 / 16.0)) * 16.0;
            let marks = fraction * if rounds == 0 { 12.0 } else { 11.0 };
            assert!((marks - marks.round()).abs() < 1e-9);
            assert!(
                [5.0, 6.0].contains(&marks.round()) || rounds == 0,
                "{marks}"
            );
            rounds += 1;
        }
    }
    // Its fixed point is the mean fraction, 5.5 of 11.
    assert!(rounds > 350);
    assert!((last - 0.5).abs() < 0.5 / 11.0, "{last}");
}

#[test]
fn the_least_rate_stops_the_cuts() {
    let (mut sender, mut control) = start();
    for _ in 0..400 {
        ack(&mut sender, &mut control, true);
    }
    assert_eq!(rate(&control), GBIT);
}

/// The rule in packets: what the second computation counts is each packet's number.
struct Opinion {
    rate: f64,
    alpha: f64,
    marks: VecDeque<bool>,
    round_ends: u64,
    round_packets: f64,
    cut_ends: Option<u64>,
}

impl Opinion {
    fn ack(&mut self, una: u64, nxt: u64, marked: bool) {
        self.marks.push_back(marked);
        let ended = una > self.round_ends;
        if ended && self.round_ends > 0 {
            let count = self.marks.iter().filter(|mark| **mark).count() as f64;
            self.alpha += ((count / self.round_packets).min(1.0) - self.alpha) / 16.0;
            self.marks.clear();
        }
        if ended {
            let from = if self.round_ends == 0 { 0 } else { una };
            self.round_packets = ((nxt - from) / PACKET) as f64 + 1.0;
            self.round_ends = nxt;
        }
        self.cut_ends = self.cut_ends.filter(|end| una <= *end);
        if self.cut_ends.is_none() && marked {
            self.rate = (self.rate - self.rate * self.alpha / 2.0).max(1e9);
            self.cut_ends = Some(nxt);
        }
        if self.cut_ends.is_none() && ended {
            self.rate = (self.rate + 615e6).min(1e10);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1024)))]

    #[test]
    fn any_marks_give_what_a_second_computation_gives(
        steps in prop::collection::vec((0_u64..4, 1_u64..4, any::<bool>()), 1..400),
    ) {
        let (mut sender, mut control) = start();
        let mut opinion = Opinion {
            rate: 1e10,
            alpha: 1.0,
            marks: VecDeque::new(),
            round_ends: 0,
            round_packets: 0.0,
            cut_ends: None,
        };
        for (sent, acked, marked) in steps {
            sender.send(&mut control, sent * PACKET);
            let outstanding = sender.snd_nxt - sender.snd_una;
            let bytes = (acked * PACKET).min(outstanding);
            if bytes == 0 {
                continue;
            }
            acknowledge(&mut sender, &mut control, bytes, Feedback { marked, ..Feedback::default() });
            opinion.ack(sender.snd_una, sender.snd_nxt, marked);
            prop_assert!((alpha(&control) - opinion.alpha).abs() < 1e-9);
            // One bit/s for each rounding, on 1 Gbit/s at least.
            prop_assert!((rate(&control) as f64 / opinion.rate - 1.0).abs() < 1e-6);
            prop_assert!(control.pacing() >= Some(bits(GBIT)) && rate(&control) <= 10 * GBIT);
        }
    }
}
