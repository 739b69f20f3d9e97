//! QCN in the network: congestion points at switch ports, notifications on the reverse path, reaction
//! points in the NICs, under datagrams and under TCP.

use crate::common::{Algo, Bulk, Datagrams, ENDLESS, Gap, Star};
use incastle_congestion::ReactionPointConfig;
use incastle_engine::core::{FlowIndex, PortIndex};
use incastle_engine::flow::Application;
use incastle_engine::network::ReactionPointSettings;
use incastle_engine::{Simulation, Status};
use incastle_queueing::{CongestionPointConfig, PortBuffer};
use incastle_recorder::{Measurements, Recorder};
use incastle_units::{Amount, Bytes, Rate, Span, Time};

const LINE: Rate = Rate::from_bits_per_second(1_000_000_000);
const BUFFER: Bytes = Bytes::new(150_000);

/// Q_eq = 33 KB in a buffer of 150 KB, the standard's simulations.
fn congestion_point() -> CongestionPointConfig {
    CongestionPointConfig {
        set_point: Bytes::new(33_000),
        ..CongestionPointConfig::new(BUFFER)
    }
}

fn reaction_point(queue: u32) -> ReactionPointSettings {
    ReactionPointSettings {
        template: ReactionPointConfig::new(LINE),
        queue,
    }
}

fn star(senders: usize, queue: u32) -> Star {
    Star {
        senders,
        buffer: PortBuffer::Limited(Amount::Bytes(BUFFER)),
        congestion_point: Some(congestion_point()),
        reaction_point: Some(reaction_point(queue)),
        ..Star::default()
    }
}

fn bottleneck(senders: usize) -> PortIndex {
    PortIndex::from_index(2 * senders + 1)
}

fn run(
    star: Star,
    apps: Vec<Box<dyn Application>>,
    from: Time,
    until: Time,
) -> Simulation<Recorder> {
    let network = star.build();
    let (ports, hosts) = (network.ports().count(), network.host_count());
    let recorder = Recorder::new(Measurements::default(), ports, hosts);
    let mut simulation = Simulation::new(network, recorder);
    for app in apps {
        simulation.add_application(app);
    }
    simulation.measure_between(from, until);
    assert_eq!(simulation.run(until, u64::MAX), Ok(Status::Done));
    // Among others: notifications sent = received + dropped + inside.
    simulation.check_conservation();
    simulation
}

/// Datagrams of 1500 B on the wire at `rate` from one host to the last.
fn cbr(from: usize, to: usize, rate: Rate, until: Time) -> Box<dyn Application> {
    let gap = Gap::Constant(rate.span_of(Bytes::new(1500)));
    Box::new(Datagrams::new((from, to), 1472, gap, until))
}

#[test]
fn without_congestion_no_source_is_notified_or_limited() {
    let until = Time::ZERO + Span::from_ms(500);
    let simulation = run(star(1, 2), vec![cbr(0, 1, LINE, until)], Time::ZERO, until);
    let totals = simulation.totals();
    assert_eq!((totals.cnms_sent, totals.drops), (0, 0));
    // Packet k arrives at 74 us + 12 us k: k = 0 to floor(499,926 / 12) = 41,660.
    assert_eq!(totals.data_packets, 41_661);
}

#[test]
fn four_constant_sources_hold_the_queue_around_its_set_point() {
    // 4 times 1 Gbit/s offered to 1 Gbit/s: 802.1Qau's first test. The limiters find the share
    // within the first second; from then on the mean queue lies within half of Q_eq around Q_eq.
    let until = Time::ZERO + Span::from_secs(5);
    let apps = (0..4).map(|from| cbr(from, 4, LINE, until)).collect();
    let from = Time::ZERO + Span::from_secs(1);
    let simulation = run(star(4, 2), apps, from, until);
    let queue = simulation.probe().queue(bottleneck(4));
    let mean = queue.area() as f64 / Span::from_secs(4).as_ps() as f64 * 1500.0;
    assert!((16_500.0..49_500.0).contains(&mean), "mean queue {mean} B");
    let totals = simulation.totals();
    assert!(totals.cnms_sent > 100, "{totals:?}");
    assert_eq!(totals.cnms_dropped, 0, "nothing obstructs the CNMs");
    let delivered: u64 = (0..4)
        .map(|flow| {
            simulation
                .flow(FlowIndex::from_index(flow))
                .responder
                .delivered
        })
        .sum();
    let line = 5.0 * LINE.bytes_per_second_lossy() * 1472.0 / 1500.0;
    assert!(
        delivered as f64 > 0.95 * line,
        "the link stays busy: {delivered}"
    );
}

#[test]
fn a_limiter_pushes_back_and_drops_nothing() {
    for queue in [1, 2, 1000] {
        let until = Time::ZERO + Span::from_secs(1);
        let apps: Vec<Box<dyn Application>> = (0..8)
            .map(|from| {
                let bulk = Bulk::new((from, 8), Time::ZERO, ENDLESS, Algo::NewReno);
                Box::new(bulk) as Box<dyn Application>
            })
            .collect();
        let simulation = run(star(8, queue), apps, Time::ZERO, until);
        assert!(simulation.totals().cnms_received > 0);
        let network = simulation.network();
        for port in network.ports() {
            let dropped = network.counters(port).dropped;
            assert!(
                dropped == 0 || port == bottleneck(8),
                "{} dropped {dropped}",
                network.port_name(port)
            );
        }
    }
}

#[test]
fn hosts_without_reaction_points_ignore_notifications() {
    let until = Time::ZERO + Span::from_ms(200);
    let apps = |senders| {
        (0..senders)
            .map(|from| cbr(from, senders, LINE, until))
            .collect()
    };
    let deaf = Star {
        reaction_point: None,
        ..star(2, 2)
    };
    let deaf = run(deaf, apps(2), Time::ZERO, until);
    assert!(deaf.totals().cnms_received > 0);
    let hearing = run(star(2, 2), apps(2), Time::ZERO, until);
    assert!(deaf.totals().drops > 5 * hearing.totals().drops.max(1));
}

#[test]
fn the_same_seed_gives_the_same_notifications() {
    let until = Time::ZERO + Span::from_ms(300);
    let digest = |seed| {
        let star = Star { seed, ..star(4, 2) };
        let apps = (0..4).map(|from| cbr(from, 4, LINE, until)).collect();
        let simulation = run(star, apps, Time::ZERO, until);
        (simulation.digest(), simulation.totals().cnms_sent)
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1).0, digest(2).0, "sampling is random");
}
