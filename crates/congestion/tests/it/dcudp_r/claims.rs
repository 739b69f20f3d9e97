//! The claims of docs/models/dcudp-r.md on one link, in its order. They were committed before the first run.
#![allow(clippy::print_stdout, reason = "the figures are for the documentation")]

use incastle_congestion::{Algorithm, DcudpR, DcudpRConfig};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::support::shared::{Bin, Link, PAYLOAD, Plan, Record, Shared, Totals};

const BIN: Span = Span::from_us(50);

fn ten_gigabit() -> Link {
    Link {
        rate: Rate::from_bits_per_second(10_000_000_000),
        marking_threshold: 65,
        capacity: 1000,
        loss: 0,
    }
}

fn run(link: Link, plans: &[Plan], end: Span) -> Record {
    let control = || Algorithm::from(DcudpR::new(DcudpRConfig::new(Bytes::new(PAYLOAD))));
    Shared::new(link, plans, control).run(end, BIN)
}

fn together(flows: usize) -> Vec<Plan> {
    vec![Plan::lasting(Span::from_us(100)); flows]
}

fn second_half(link: Link, plans: &[Plan], end: Span) -> Totals {
    run(link, plans, end).between(end / 2, end)
}

const MS: Span = Span::from_ms(1);

/// Claims 1, 9 and 10: full use, a short queue, equal shares.
fn assert_gates(link: Link, totals: &Totals) {
    let packets = link.marking_threshold as f64;
    println!(
        "{} flows: use {:.4}, queue {:.1} ({} to {}), index {:.4}, marked {:.4}, lost {:.4}",
        totals.rates.len(),
        totals.utilisation,
        totals.mean_queue,
        totals.shortest_queue,
        totals.longest_queue,
        totals.index(),
        totals.marked,
        totals.lost
    );
    assert!(totals.utilisation >= 0.95);
    assert!(totals.mean_queue < 2.0 * packets);
    assert!(totals.index() > 0.95);
}

#[test]
fn claim_1_two_and_four_flows_share_a_full_link_with_a_short_queue() {
    for flows in [2, 4] {
        let totals = second_half(ten_gigabit(), &together(flows), MS * 200);
        assert_gates(ten_gigabit(), &totals);
    }
}

#[test]
fn claim_2_one_to_twenty_flows_fill_the_link() {
    for flows in 1..=20 {
        let totals = second_half(ten_gigabit(), &together(flows), MS * 200);
        assert!(totals.utilisation >= 0.95, "{flows}");
        assert!(totals.mean_queue < 130.0, "{flows}");
    }
}

#[test]
fn claim_3_a_burst_drains_at_once() {
    let record = run(ten_gigabit(), &together(20), MS * 20);
    let all = record.between(Span::ZERO, MS * 20);
    assert!(all.lost == 0.0 && all.longest_queue > 500);
    let peak = |bin: &Bin| bin.queue_max == all.longest_queue;
    let first = record.bins.iter().position(peak).expect("a peak");
    let drained = record.bins[first..].iter();
    let drained = first + drained.take_while(|bin| bin.queue_min >= 85).count();
    println!(
        "peak {}, drained after {:?}",
        all.longest_queue,
        BIN * drained as u64
    );
    assert!(BIN * (drained as u64 + 1) <= Span::from_us(1500));
    let longest = record.bins[drained + 1..].iter().map(|bin| bin.queue_max);
    assert!(longest.max() < Some(130));
}

#[test]
fn claim_4_freed_bandwidth_is_taken_at_once() {
    for (flows, within) in [(2, 3), (20, 5)] {
        let mut plans = together(flows);
        for plan in &mut plans[1..] {
            plan.stop = Time::ZERO + MS * 100;
        }
        let record = run(ten_gigabit(), &plans, MS * 120);
        let after = record.between(MS * (100 + within), MS * 120);
        println!("1 of {flows}: {:.4}", after.utilisation);
        assert!(after.utilisation > 0.9 && after.rates[1] == 0.0);
    }
}

#[test]
fn claim_5_a_joining_flow_gets_its_share() {
    let mut plans = together(2);
    plans[1].start = Time::ZERO + MS * 100;
    let record = run(ten_gigabit(), &plans, MS * 250);
    let first = record.between(MS * 100, MS * 150);
    let share = first.rates[1] / first.rates.iter().sum::<f64>();
    let index = record.between(MS * 200, MS * 250).index();
    println!("share of the second {share:.3}, then an index of {index:.4}");
    assert!(share >= 0.35 && index > 0.95);
}

#[test]
fn claim_6_random_loss_is_no_congestion() {
    let link = Link {
        loss: 10,
        ..ten_gigabit()
    };
    for flows in [1, 2] {
        let totals = second_half(link, &together(flows), MS * 200);
        assert!(totals.lost > 0.009);
        assert_gates(link, &totals);
    }
}

#[test]
fn claim_7_rates_do_not_follow_the_round_trips() {
    let plans = [50, 200].map(|us| Plan::lasting(Span::from_us(us)));
    let totals = second_half(ten_gigabit(), &plans, MS * 400);
    let ratio = totals.rates[0] / totals.rates[1];
    println!("near to far {ratio:.3}");
    assert!(ratio < 1.25 && ratio > 0.8);
}

/// One flow has no fixed point: its own interface is the limit, and nothing is marked.
#[test]
fn claim_8_the_marked_share_is_that_of_the_fixed_point() {
    for flows in [2, 4, 10, 20] {
        let w: f64 = 10e9 / 12_000.0 * 1e-3 / flows as f64;
        let theory = 1.0 / (1.0 + 0.25 * w.sqrt());
        let marked = second_half(ten_gigabit(), &together(flows), MS * 200).marked;
        println!("{flows} flows: marked {marked:.3}, theory {theory:.3}");
        assert!((marked / theory - 1.0).abs() < 0.3);
    }
}

#[test]
fn claim_9_a_hundred_gigabit() {
    let link = Link {
        rate: Rate::from_bits_per_second(100_000_000_000),
        marking_threshold: 200,
        capacity: 4000,
        loss: 0,
    };
    for flows in [2, 4] {
        assert_gates(link, &second_half(link, &together(flows), MS * 400));
    }
}

#[test]
fn claim_10_a_hundred_megabit() {
    let link = Link {
        rate: Rate::from_bits_per_second(100_000_000),
        marking_threshold: 20,
        capacity: 200,
        loss: 0,
    };
    for flows in [2, 4] {
        let plans = vec![Plan::lasting(MS); flows];
        assert_gates(link, &second_half(link, &plans, MS * 4000));
    }
}

#[test]
fn claim_11_a_buffer_without_marks() {
    let link = Link {
        marking_threshold: 100,
        capacity: 100,
        ..ten_gigabit()
    };
    let totals = second_half(link, &together(2), MS * 200);
    println!(
        "use {:.4}, lost {:.4}, index {:.4}",
        totals.utilisation,
        totals.lost,
        totals.index()
    );
    assert!(totals.utilisation >= 0.8 && totals.lost < 0.1);
}
