//! Long TCP flows in whole networks against textbook formulas: goodput of one flow, the square-root
//! law under random marks, fair shares. Also the sawtooth of NewReno over buffers of a
//! bandwidth-delay product and less.
//!
//! `cargo test -p incastle-engine --test it long_flows -- --nocapture --test-threads 1` prints the
//! figures of docs/validation.md.

#![allow(clippy::print_stdout, reason = "the figures are for the documentation")]

use crate::common::{Algo, Bulk, ENDLESS, MSS, Star, marking_threshold, tcp_config};
use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, Node, PortIndex};
use incastle_engine::network::{HostConfig, LinkConfig, NetworkBuilder};
use incastle_engine::probe::NoProbe;
use incastle_queueing::{Arrival, Discipline, Marker, PortBuffer, QueueState, Verdict};
use incastle_recorder::{Measurements, Recorder};
use incastle_transport::tcp;
use incastle_units::{Amount, Ecn, Packets, Rate, Span, Time, random};
use rand_core::Rng;

/// The senders' own links: ten times the bottleneck, so that the queue is at the switch.
const FAST: Rate = Rate::from_bits_per_second(10_000_000_000);

fn seconds(value: u64) -> Time {
    Time::ZERO + Span::from_secs(value)
}

fn packets(count: u64) -> PortBuffer {
    PortBuffer::Limited(Amount::Packets(Packets::new(count)))
}

/// A star on which each sender has an endless flow, at time zero with a recorder.
fn long_flows(star: Star, algo: Algo, config: tcp::Config) -> Simulation<Recorder> {
    let senders = star.senders;
    let network = star.build();
    let recorder = Recorder::new(
        Measurements::default(),
        network.ports().count(),
        network.host_count(),
    );
    let mut simulation = Simulation::new(network, recorder);
    for from in 0..senders {
        let mut bulk = Bulk::new((from, senders), Time::ZERO, ENDLESS, algo);
        bulk.config = config;
        bulk.watched = true;
        simulation.add_application(Box::new(bulk));
    }
    simulation
}

/// In-order bytes of each flow at the receiver.
fn delivered(simulation: &Simulation<Recorder>) -> Vec<u64> {
    let flows = (0..simulation.flow_count()).map(FlowIndex::from_index);
    flows
        .map(|flow| simulation.flow(flow).responder.delivered)
        .collect()
}

/// The bytes that each flow delivers between two instants.
fn delivered_between(simulation: &mut Simulation<Recorder>, from: Time, to: Time) -> Vec<u64> {
    simulation.run(from, u64::MAX).expect("no loop");
    simulation.check_conservation();
    let before = delivered(simulation);
    simulation.run(to, u64::MAX).expect("no loop");
    simulation.check_conservation();
    let after = delivered(simulation);
    after
        .iter()
        .zip(before)
        .map(|(after, before)| after - before)
        .collect()
}

#[test]
fn a_lone_flow_fills_the_link_to_the_packet() {
    // 1 Gbit/s: a packet of 1500 B per 12 us, 1460 B of it data. The window of 40 packets is longer
    // than the path (8.3 + 2), so that nothing is lost and nothing idles.
    let star = Star {
        senders: 1,
        ..Star::default()
    };
    let config = tcp::Config {
        max_cwnd: Some(MSS * 40),
        ..tcp_config(Algo::NewReno)
    };
    let mut simulation = long_flows(star, Algo::NewReno, config);
    let (from, to) = (
        Time::ZERO + Span::from_ms(10),
        Time::ZERO + Span::from_ms(1_210),
    );
    let bytes = delivered_between(&mut simulation, from, to)[0];
    // 1.2 s / 12 us.
    assert_eq!(bytes, 100_000 * 1460);
}

/// The course of one flow's sawtooth.
struct Sawtooth {
    /// The greatest and the least window of congestion avoidance, in packets.
    window: (f64, f64),
    utilisation: f64,
    mean_queue: f64,
    longest_queue: u32,
}

/// One NewReno flow with SACK over a drop-tail buffer at 1 Gbit/s and 1 ms: C RTT = 83.3 packets and
/// a bit. The sender's own link is ten times as fast, so that the queue is at the switch.
fn reno_over(buffer: u64) -> Sawtooth {
    let star = Star {
        senders: 1,
        access: Some(FAST),
        delay: Span::from_us(250),
        buffer: packets(buffer),
        ..Star::default()
    };
    let mut simulation = long_flows(star, Algo::NewReno, tcp_config(Algo::NewReno));
    let (from, to) = (seconds(2), seconds(6));
    simulation.measure_between(from, to);
    let bytes = delivered_between(&mut simulation, from, to)[0];
    let probe = simulation.probe();
    let queue = probe.queue(PortIndex::from_index(3));
    let windows = || {
        let late = probe.windows.iter().filter(|sample| sample.at >= from);
        late.filter_map(|sample| sample.state.cwnd)
            .map(|cwnd| cwnd.count() as f64 / 1460.0)
    };
    Sawtooth {
        window: (
            windows().fold(0.0, f64::max),
            windows().fold(f64::INFINITY, f64::min),
        ),
        utilisation: bytes as f64 / 1460.0 * 12e-6 / 4.0,
        mean_queue: queue.area() as f64 / (to - from).as_ps() as f64,
        longest_queue: queue.longest(),
    }
}

#[test]
fn the_sawtooth_of_one_reno_flow_is_the_textbooks() {
    // With P = C RTT and B = b P the window swings between W = P + B and W / 2. Below P the rate is
    // window / RTT and the window grows one packet per RTT. Above P the link is full and the round
    // trip is window / C. Integrated over one tooth: utilisation = 3/4 (1 + b)^2 / (1 + b + b^2)
    // (3/4 without a buffer, 1 at b = 1).
    let p = (1_000.0 + 1.2 + 12.0 + 2.0 * 0.32) / 12.0;
    println!("buffer | W_max / P + B | W_min | utilisation, formula | mean queue, formula");
    for buffer in [10_u64, 21, 42, 63, 85, 170] {
        let measured = reno_over(buffer);
        let b = buffer as f64 / p;
        let largest = p + buffer as f64;
        let utilisation = if b < 1.0 {
            0.75 * (1.0 + b) * (1.0 + b) / (1.0 + b + b * b)
        } else {
            1.0
        };
        // Mean of W - P over the part of a tooth above P, where a window W lasts W / C.
        let low = (largest / 2.0).max(p);
        let squares = (largest * largest - low * low) / 2.0;
        let cubes = (largest * largest * largest - low * low * low) / 3.0;
        let below = p * (p - largest / 2.0).max(0.0);
        let queue = (cubes - p * squares) / (squares + below);
        println!(
            "{buffer:>6} | {:5.1} / {largest:5.1} | {:5.1} | {:.4}, {utilisation:.4} | {:5.1}, {queue:5.1}",
            measured.window.0, measured.window.1, measured.utilisation, measured.mean_queue,
        );
        assert!((measured.window.0 - largest).abs() < 3.0);
        assert!((measured.window.1 - largest / 2.0).abs() < 3.0);
        assert!((measured.utilisation - utilisation).abs() < 0.02);
        assert!((measured.mean_queue - queue).abs() < 0.05 * p);
        // The one being sent is stored too, but does not wait.
        assert_eq!(u64::from(measured.longest_queue), buffer - 1);
    }
}

/// Marks each ECN-capable packet with a constant probability.
struct Lottery(f64);

impl Discipline for Lottery {
    fn on_arrival(&mut self, _: &QueueState, packet: &Arrival, rng: &mut dyn Rng) -> Verdict {
        if packet.ecn != Ecn::NotEct && random::uniform(rng) < self.0 {
            Verdict::Mark
        } else {
            Verdict::Admit
        }
    }
}

/// The mean window, in packets, of one ECN flow on an idle path of 1 ms whose packets are marked with
/// probability `p`.
fn mean_window(p: f64, seed: u64) -> f64 {
    let rate = Rate::from_bits_per_second(10_000_000_000);
    let link = || LinkConfig::unlimited(rate, Span::from_us(250));
    let mut builder = NetworkBuilder::new(seed);
    let [a, b] = ["a", "b"].map(|name| Node::Host(builder.host(name, HostConfig::default())));
    let switch =
        Node::Switch(builder.switch("switch", incastle_engine::network::SwitchConfig::default()));
    builder.link(a, switch, link(), link());
    let marking = LinkConfig {
        marker: Marker::Custom(Box::new(Lottery(p))),
        ..link()
    };
    builder.link(switch, b, marking, link());
    let mut simulation = Simulation::new(builder.build().expect("connected"), NoProbe);
    let mut bulk = Bulk::new((0, 1), Time::ZERO, ENDLESS, Algo::NewReno);
    bulk.config.ecn = tcp::EcnMode::Classic;
    simulation.add_application(Box::new(bulk));
    let flow = FlowIndex::from_index(0);
    simulation.run(seconds(1), u64::MAX).expect("no loop");
    let before = simulation.flow(flow).responder.delivered;
    simulation.run(seconds(11), u64::MAX).expect("no loop");
    let packets = (simulation.flow(flow).responder.delivered - before) as f64 / 1460.0;
    let rtt = 1e-3 + 2.0 * 1.2e-6 + 2.0 * 0.032e-6;
    packets * rtt / 10.0
}

#[test]
fn random_marks_give_the_square_root_law() {
    // Mathis et al. 1997: W = sqrt(3 / (2 p)) = 1.22 / sqrt(p) for periodic marks; Ott et al. 1996:
    // 1.31 / sqrt(p) for random ones. The round trip per cycle in which ECE holds the window still,
    // of about W / 2, takes a partition away where windows are short.
    println!("p | W | W sqrt(p)");
    for p in [0.01_f64, 0.001, 0.0001] {
        let runs = [1, 2, 3, 4].map(|seed| mean_window(p, seed));
        let w = runs.iter().sum::<f64>() / 4.0;
        let constant = w * p.sqrt();
        println!("{p} | {w:.2} | {constant:.3}");
        assert!((1.0..1.4).contains(&constant), "p {p}: {constant}");
    }
}

/// Jain's index: 1 where all shares are equal, 1 / n where one has all.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares
        .iter()
        .map(|&share| share as f64 * share as f64)
        .sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn equal_round_trips_get_equal_shares() {
    println!("algorithm | N | Jain | least and greatest share of a fair one");
    let cases = [
        (
            "new-reno",
            Algo::NewReno,
            marking_threshold(1_000),
            packets(100),
        ),
        ("cubic", Algo::Cubic, marking_threshold(1_000), packets(100)),
        ("dctcp", Algo::DCTCP, marking_threshold(20), packets(200)),
    ];
    for (name, algo, queue, buffer) in cases {
        for senders in [2, 8] {
            let star = Star {
                senders,
                queue,
                buffer,
                jitter: Span::from_us(12),
                access: Some(FAST),
                ..Star::default()
            };
            let mut simulation = long_flows(star, algo, tcp_config(algo));
            let shares = delivered_between(&mut simulation, seconds(1), seconds(5));
            let index = jain(&shares);
            let fair = shares.iter().sum::<u64>() as f64 / senders as f64;
            let part = |share: Option<&u64>| share.map_or(0.0, |&share| share as f64 / fair);
            println!(
                "{name} | {senders} | {index:.4} | {:.3} {:.3}",
                part(shares.iter().min()),
                part(shares.iter().max()),
            );
            assert!(index > 0.98, "{name}, {senders} flows: {shares:?}");
            // 4 s at 1460 B per 12 us.
            let utilisation = fair * senders as f64 / 1460.0 * 12e-6 / 4.0;
            assert!(utilisation > 0.99, "{name}, {senders} flows: {utilisation}");
        }
    }
}

#[test]
fn a_shorter_round_trip_gets_more() {
    // Host 0 is further away. If both flows see marks or losses with the same probability, their
    // windows are alike and their rates go as 1 / RTT. If both are cut at the same instants, the
    // longer one grows less often too, up to 1 / RTT^2.
    println!("algorithm | detour | rates | round trips");
    let cases = [
        (
            "new-reno",
            Algo::NewReno,
            marking_threshold(1_000),
            packets(60),
        ),
        ("dctcp", Algo::DCTCP, marking_threshold(20), packets(200)),
    ];
    for (name, algo, queue, buffer) in cases {
        for detour in [100, 400] {
            let star = Star {
                detour: Span::from_us(detour),
                queue,
                buffer,
                jitter: Span::from_us(12),
                access: Some(FAST),
                ..Star::default()
            };
            let mut config = tcp_config(algo);
            // A timeout, not a round trip, would decide otherwise.
            config.rto.min = Span::from_ms(5);
            let mut simulation = long_flows(star, algo, config);
            simulation.measure_between(seconds(1), seconds(5));
            let shares = delivered_between(&mut simulation, seconds(1), seconds(5));
            let waiting = simulation.probe().queue(PortIndex::from_index(5)).area();
            let near = 114e-6 + waiting as f64 / 4e12 * 12e-6;
            let bias = (near + 2e-6 * detour as f64) / near;
            let ratio = shares[1] as f64 / shares[0] as f64;
            println!("{name} | {detour} us | {ratio:.2} | {bias:.2}");
            let (least, most) = (bias.sqrt(), bias * bias * bias.sqrt());
            assert!(
                (least..most).contains(&ratio),
                "{name}, {detour} us: {ratio}"
            );
        }
    }
}
