//! D2TCP in whole networks: two flows through one port, one before a near deadline, one before a far
//! one. Theory: flows that see the same marks grow by the same amount between two cuts. So W_1 p_1 =
//! W_2 p_2 for the mean penalties p = alpha^d: bandwidth is shared as 1/p.
//!
//! `cargo test -p incastle-engine --test it d2tcp -- --nocapture` prints the table of
//! docs/models/d2tcp.md.

#![allow(clippy::print_stdout, reason = "the table is for the documentation")]

use crate::common::{Algo, Bulk, MSS, Star, marking_threshold};
use incastle_congestion::{Algorithm, D2tcp, D2tcpConfig};
use incastle_engine::Simulation;
use incastle_engine::core::FlowIndex;
use incastle_queueing::PortBuffer;
use incastle_recorder::{Measurements, Recorder};
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};

/// Two flows of a size at 10 Gbit/s and 100 us, K = 65, with a deadline each.
fn two_flows(bytes: u64, deadlines: [Option<Span>; 2], d2tcp: bool) -> Simulation<Recorder> {
    let star = Star {
        senders: 2,
        rate: Rate::from_bits_per_second(10_000_000_000),
        queue: marking_threshold(65),
        buffer: PortBuffer::Limited(Amount::Packets(Packets::new(1000))),
        jitter: Span::from_ns(1200),
        ..Star::default()
    };
    let network = star.build();
    let measurements = Measurements::default();
    let recorder = Recorder::new(measurements, network.ports().count(), network.host_count());
    let mut simulation = Simulation::new(network, recorder);
    for (from, deadline) in deadlines.into_iter().enumerate() {
        let mut bulk = Bulk::new((from, 2), Time::ZERO, bytes, Algo::DCTCP);
        bulk.deadline = deadline.map(|span| Time::ZERO + span);
        bulk.watched = true;
        if d2tcp {
            bulk.controller = Some(Algorithm::from(D2tcp::new(D2tcpConfig::new(MSS))));
        }
        simulation.add_application(Box::new(bulk));
    }
    simulation
}

fn delivered(simulation: &Simulation<Recorder>) -> [u64; 2] {
    [0, 1].map(|flow| {
        simulation
            .flow(FlowIndex::from_index(flow))
            .responder
            .delivered
    })
}

/// The time-weighted means of window (segments) and alpha of a flow from an instant on.
fn means(simulation: &Simulation<Recorder>, flow: usize, from: Time) -> (f64, f64) {
    let samples = simulation.probe().windows.iter();
    let own: Vec<_> = samples
        .filter(|sample| sample.flow == FlowIndex::from_index(flow) && sample.at >= from)
        .collect();
    let (mut time, mut window, mut alpha) = (0.0, 0.0, 0.0);
    for pair in own.windows(2) {
        let span = (pair[1].at - pair[0].at).as_secs_lossy();
        let cwnd = pair[0].state.cwnd.map_or(0, Bytes::count) as f64;
        time += span;
        window += span * cwnd / MSS.count() as f64;
        alpha += span * pair[0].state.alpha.unwrap_or(f64::NAN);
    }
    (window / time, alpha / time)
}

/// Two long flows with deadlines, from 100 to 500 ms.
struct Shares {
    /// Bytes of the first flow over those of the second.
    ratio: f64,
    /// Mean window and alpha of each.
    means: [(f64, f64); 2],
    utilisation: f64,
}

fn shares(deadlines: [Option<Span>; 2]) -> Shares {
    // 100 GB: far from complete, and far too much for a near deadline.
    let mut simulation = two_flows(100_000_000_000, deadlines, true);
    let [from, to] = [100, 500].map(|ms| Time::ZERO + Span::from_ms(ms));
    simulation.run(from, u64::MAX).expect("no loop");
    let before = delivered(&simulation);
    simulation.run(to, u64::MAX).expect("no loop");
    simulation.check_conservation();
    let after = delivered(&simulation);
    let [first, second] = [0, 1].map(|flow| (after[flow] - before[flow]) as f64);
    Shares {
        ratio: first / second,
        means: [0, 1].map(|flow| means(&simulation, flow, from)),
        utilisation: (first + second) * 8.0 * (1500.0 / 1460.0) / 10e9 / 0.4,
    }
}

#[test]
fn bandwidth_is_shared_by_the_penalties() {
    let square = |alpha: f64| alpha * alpha;
    // No deadline: d = 1. One that has passed: d = 2. One beyond all reach: d = 1/2.
    let none: (&str, Option<Span>, fn(f64) -> f64) = ("none", None, |alpha| alpha);
    let near: (&str, _, fn(f64) -> f64) = ("near", Some(Span::from_ms(1)), square);
    let far: (&str, _, fn(f64) -> f64) = ("far", Some(Span::from_secs(100_000)), f64::sqrt);
    for [first, second] in [
        [none, none],
        [near, near],
        [far, far],
        [near, none],
        [none, far],
        [near, far],
    ] {
        let found = shares([first.1, second.1]);
        let [(windows, alphas), (other_windows, other_alphas)] = found.means;
        let expected = second.2(other_alphas) / first.2(alphas);
        println!(
            "| {}, {} | {:.2} | {expected:.2} | {windows:.1}, {other_windows:.1} | {alphas:.3}, \
             {other_alphas:.3} | {:.4} |",
            first.0, second.0, found.ratio, found.utilisation,
        );
        // The smaller of two very different windows is a few segments, where whole packets count.
        let agreement = found.ratio / expected;
        assert!((0.9..1.8).contains(&agreement), "{agreement}");
        assert!(found.utilisation > 0.999);
    }
}

#[test]
fn a_near_deadline_is_met_that_equal_shares_would_miss() {
    // 40 MB each need 32.9 ms alone and 65.8 ms with equal shares.
    let bytes = 40_000_000;
    let deadlines = [50, 200].map(|ms| Some(Span::from_ms(ms)));
    let arrived = |d2tcp| {
        let mut simulation = two_flows(bytes, deadlines, d2tcp);
        let at = |simulation: &mut Simulation<Recorder>, ms| {
            let until = Time::ZERO + Span::from_ms(ms);
            simulation.run(until, u64::MAX).expect("no loop");
            delivered(simulation).map(|count| count as f64 / bytes as f64)
        };
        (at(&mut simulation, 50)[0], at(&mut simulation, 67)[1])
    };
    let (dctcp, d2tcp) = (arrived(false), arrived(true));
    println!(
        "by the near deadline: DCTCP {:.3}, D2TCP {:.3}",
        dctcp.0, d2tcp.0
    );
    assert!(dctcp.0 < 0.8);
    assert!((d2tcp.0 - 1.0).abs() < 1e-12);
    // The other one is no later for it: what the first does not need is its own.
    assert!((dctcp.1 - 1.0).abs() < 1e-12 && (d2tcp.1 - 1.0).abs() < 1e-12);
}
