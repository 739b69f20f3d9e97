//! The goodput of one flow under random loss, against the laws for each control: Mathis, Semke, Mahdavi and Ott, "The
//! macroscopic behavior of the TCP congestion avoidance algorithm", CCR 27(3), 1997, and RFC 9438, section 5.

use crate::common::{Algo, Bulk, ENDLESS, MSS};
use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, Node};
use incastle_engine::network::{
    Degradation, HostConfig, LinkConfig, Loss, Network, NetworkBuilder, SwitchConfig,
};
use incastle_engine::probe::NoProbe;
use incastle_transport::tcp;
use incastle_units::{Bytes, Rate, Span, Time};

/// Two hosts at a switch, whose link to host 1 loses packets. Nothing waits.
fn network(rtt: Span, loss: f64) -> Network {
    let mut builder = NetworkBuilder::new(1);
    let switch = Node::Switch(builder.switch("switch", SwitchConfig::default()));
    let quarter = Span::from_ps(rtt.as_ps() / 4);
    let link = || LinkConfig::unlimited(Rate::from_bits_per_second(100_000_000_000), quarter);
    let lossy = LinkConfig {
        degradations: vec![Degradation {
            loss: Some(Loss::Independent(loss)),
            ..Degradation::none(Time::ZERO, Time::NEVER)
        }],
        ..link()
    };
    let hosts = [0, 1]
        .map(|index| Node::Host(builder.host(format!("host:{index}"), HostConfig::default())));
    builder.link(switch, hosts[0], link(), link());
    builder.link(switch, hosts[1], lossy, link());
    builder.build().expect("a star is connected")
}

/// The window in packets that a flow's goodput amounts to: its bytes per round trip. Until about `losses` losses, after
/// a tenth of them.
fn window(algo: Algo, rtt: Span, loss: f64, losses: f64, law: f64) -> f64 {
    let mut simulation = Simulation::new(network(rtt, loss), NoProbe);
    let mut bulk = Bulk::new((0, 1), Time::ZERO, ENDLESS, algo);
    bulk.config = tcp::Config {
        receive_window: Bytes::new(1 << 30),
        ..bulk.config
    };
    simulation.add_application(Box::new(bulk));
    let round_trips = losses / loss / law;
    let mut delivered = |round_trips: f64| {
        let end = Time::ZERO + rtt.scale_lossy(round_trips);
        simulation.run(end, u64::MAX).expect("no loop");
        simulation
            .flow(FlowIndex::from_index(0))
            .responder
            .delivered
    };
    let before = delivered(round_trips / 10.0);
    let bytes = delivered(round_trips) - before;
    bytes as f64 / MSS.count() as f64 / (0.9 * round_trips)
}

fn check(algo: Algo, rtt: Span, loss: f64, losses: f64, law: f64) {
    let found = window(algo, rtt, loss, losses, law);
    let ratio = found / law;
    assert!(
        (0.85..1.15).contains(&ratio),
        "{algo:?}, RTT {rtt}, loss {loss}: {found:.1} packets, law {law:.1}, ratio {ratio:.3}"
    );
}

/// Losses at random, and an ACK for each packet: W = C / sqrt(p) with C = 1.31 (Mathis et al., the table of C).
#[test]
fn new_reno_follows_mathis() {
    for loss in [0.0003_f64, 0.001, 0.003] {
        let law = 1.31 / loss.sqrt();
        check(Algo::NewReno, Span::from_ms(20), loss, 1_000.0, law);
    }
}

/// Section 5.1, the cubic region: W = (C (3 + b) / (4 (1 - b)))^(1/4) RTT^(3/4) / p^(3/4), with C = 0.4 and b = 0.7.
/// It has no recovery: losses must be many round trips apart, which they are not at 1 s and 0.001.
#[test]
fn cubic_follows_its_law_on_long_paths() {
    for (rtt, loss) in [(100, 0.0001), (200, 0.0001), (200, 0.0003)] {
        let rtt = Span::from_ms(rtt);
        let ratio = rtt.as_secs_lossy() / loss;
        let law = (0.4_f64 * 3.7 / (4.0 * 0.3)).sqrt().sqrt() * ratio.sqrt() * ratio.sqrt().sqrt();
        check(Algo::Cubic, rtt, loss, 600.0, law);
    }
}

/// Section 4.3, the Reno-friendly region: the window is Reno's, sqrt(3/2) / sqrt(p) for periodic losses, 1.31 / sqrt(p)
/// for random ones.
#[test]
fn cubic_is_reno_friendly_on_short_paths() {
    for loss in [0.001_f64, 0.003] {
        let law = 1.31 / loss.sqrt();
        check(Algo::Cubic, Span::from_ms(2), loss, 1_000.0, law);
    }
}
