//! The soft switch against an oracle that computes each verdict from the arrivals alone: in virtual time, and with
//! real packets between network namespaces.

use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::Duration;

use incastle_queueing::{Arrival, Discipline, PortBuffer, QueueState, Verdict};
use incastle_softswitch::address;
use incastle_softswitch::clock::Clock;
use incastle_softswitch::graph::{Graph, GraphError, GraphPort};
use incastle_softswitch::namespace::Namespace;
use incastle_softswitch::network::Network;
use incastle_softswitch::plan::{FramingPlan, NetworkPlan};
use incastle_softswitch::port::{Outcome, Port, PortConfig, Recorded};
use incastle_softswitch::switch::Switch;
use incastle_softswitch::tun::Tun;
use incastle_units::{Bytes, Ecn, Packets, Serializer, Span, Time};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

const QUEUES: [&str; 5] = [
    r#"{"kind": "drop-tail"}"#,
    r#"{"kind": "threshold", "marking_threshold": "4 packets", "drop_not_ect": true}"#,
    r#"{"kind": "double-threshold", "k1": "6 packets", "k2": "3 packets"}"#,
    r#"{"kind": "linear", "k_min": "3 KB", "k_max": "9 KB", "p_max": 0.5}"#,
    r#"{"kind": "red", "min_th": "2 packets", "max_th": "6 packets", "max_p": 0.5, "w_q": 0.25,
        "mean_packet_size": "1000 B"}"#,
];

/// A star of three hosts, whose port to the last has this queue and is recorded.
fn star(queue: &str) -> NetworkPlan {
    let port = |from: &str, to: &str, more: &str| {
        format!(r#"{{"from": "{from}", "to": "{to}", "rate": "20 Mbit/s", "delay": "1 ms"{more}}}"#)
    };
    let bottleneck = format!(r#", "buffer": "10 packets", "queue": {queue}, "record": true"#);
    let ports = [
        port("a", "s", ""),
        port("b", "s", ""),
        port("c", "s", ""),
        port("s", "a", ""),
        port("s", "b", ""),
        port("s", "c", &bottleneck),
    ];
    let text = format!(
        r#"{{"hosts": ["a", "b", "c"], "switches": ["s"], "ports": [{}], "seed": 7}}"#,
        ports.join(", ")
    );
    serde_json::from_str(&text).expect("a right plan")
}

/// The recorded port of a star.
const BOTTLENECK: usize = 5;

/// When a packet's sending begins and ends, and its size.
type Sending = (Time, Time, u64);

/// What becomes of each arrival, from the arrivals alone: the whole list of packets is looked at each time.
fn replay(config: &PortConfig, arrivals: &[Recorded], seed: u64) -> Vec<Outcome> {
    let mut discipline = config.queue.build(config.rate);
    let mut serializer = Serializer::new(config.rate);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sendings: Vec<Sending> = Vec::new();
    arrivals
        .iter()
        .map(|&Recorded { at, size, ecn, .. }| {
            let free_at = sendings.last().map_or(Time::ZERO, |last| last.1);
            let sum = |list: &[Sending]| list.iter().map(|one| one.2).sum::<u64>();
            let waiting: Vec<Sending> = sendings.iter().copied().filter(|one| one.0 > at).collect();
            let stored: Vec<Sending> = sendings.iter().copied().filter(|one| one.1 > at).collect();
            let state = QueueState {
                now: at,
                waiting_packets: Packets::new(waiting.len() as u64),
                waiting_bytes: Bytes::new(sum(&waiting)),
                idle_since: (free_at <= at).then_some(free_at),
            };
            let arrival = Arrival { size, ecn };
            let PortBuffer::Limited(incastle_units::Amount::Packets(limit)) = config.buffer else {
                panic!("a buffer in packets");
            };
            if stored.len() as u64 >= limit.count() {
                discipline.on_refused(&state, &arrival);
                return Outcome::DroppedFull;
            }
            let outcome = match discipline.on_arrival(&state, &arrival, &mut rng) {
                Verdict::Admit => Outcome::Stored,
                Verdict::Mark => Outcome::Marked,
                Verdict::Drop(_) => return Outcome::DroppedEarly,
            };
            let begins = free_at.max(at);
            sendings.push((begins, begins + serializer.span(size), size.count()));
            outcome
        })
        .collect()
}

fn outcomes(record: &[Recorded]) -> Vec<Outcome> {
    record.iter().map(|one| one.outcome).collect()
}

/// An IPv4 packet without a valid checksum: nobody here looks.
fn packet(from: usize, to: usize, size: usize, ecn: Ecn) -> Vec<u8> {
    let mut packet = vec![0; size];
    packet[0] = 0x45;
    packet[1] = if ecn.is_capable() { 2 } else { 0 };
    packet[12..16].copy_from_slice(&address::of(from).octets());
    packet[16..20].copy_from_slice(&address::of(to).octets());
    packet
}

fn bottleneck(plan: &NetworkPlan) -> PortConfig {
    let graph = plan.graph().expect("a right plan");
    *graph.ports().nth(BOTTLENECK).expect("six ports")
}

proptest! {
    #[test]
    fn a_port_has_the_oracle_s_verdicts(
        queue in 0..QUEUES.len(),
        arrivals in prop::collection::vec((0_u64..700, 40_usize..1_500, any::<bool>()), 1..200),
    ) {
        let config = bottleneck(&star(QUEUES[queue]));
        let mut port = Port::new(&config);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut now = Time::ZERO;
        for (gap, size, ect) in arrivals {
            now += Span::from_us(gap);
            let ecn = if ect { Ecn::Ect0 } else { Ecn::NotEct };
            while port.depart(now).is_some() {}
            port.arrive(now, packet(0, 2, size, ecn), &mut rng);
        }
        prop_assert_eq!(outcomes(port.record()), replay(&config, port.record(), 7));
    }
}

#[test]
fn a_packet_passes_two_ports_at_exact_instants() {
    let mut network = Network::new(star(QUEUES[0]).graph().expect("a right plan"));
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let start = Time::from_ps(5_000_000);
    network.arrive(start, 0, 2, packet(0, 2, 1_000, Ecn::Ect0), &mut rng);
    network.arrive(start, 1, 2, packet(1, 2, 1_000, Ecn::Ect0), &mut rng);
    // 1000 bytes take 400 us at 20 Mbit/s: each packet 2 * 400 us and 2 * 1 ms, the second 400 us more. The machine is
    // late, and the instants are exact.
    let late = start + Span::from_ms(50);
    let due =
        |one: Option<incastle_softswitch::network::Delivery>| one.map(|one| (one.host, one.due));
    assert_eq!(network.next_event(), Some(start + Span::from_us(1_400)));
    let first = due(network.deliver(late, &mut rng));
    assert_eq!(first, Some((2, start + Span::from_us(2_800))));
    let second = due(network.deliver(late, &mut rng));
    assert_eq!(second, Some((2, start + Span::from_us(3_200))));
    assert!(network.deliver(late, &mut rng).is_none());
    let lateness = network.lateness(BOTTLENECK).summary();
    assert!((lateness.max_us - 47_200.0).abs() < 1e-6);
}

#[test]
fn dilation_divides_rates_and_multiplies_times() {
    let plan = NetworkPlan {
        dilation: 10,
        ..star(QUEUES[0])
    };
    let config = bottleneck(&plan);
    assert_eq!(config.rate.bits_per_second(), 2_000_000);
    assert_eq!(config.delay, Span::from_ms(10));
}

#[test]
fn frames_count_at_the_port() {
    let framed = |framing| NetworkPlan {
        framing,
        ..star(QUEUES[0])
    };
    // 20 Mbit/s are 2.5 bytes in a microsecond; Ethernet adds 38 bytes, and fills up to 84.
    for (framing, ip_bytes, wire_bytes) in [
        (FramingPlan::Ip, 1_462, 1_462),
        (FramingPlan::Ethernet, 1_462, 1_500),
        (FramingPlan::Ethernet, 40, 84),
    ] {
        let mut port = Port::new(&bottleneck(&framed(framing)));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let _ = port.arrive(Time::ZERO, packet(0, 2, ip_bytes, Ecn::NotEct), &mut rng);
        let sent = Span::from_ns(wire_bytes * 400);
        let due = Time::ZERO + sent + Span::from_ms(1);
        assert_eq!(port.next_departure(), Some(due));
        assert_eq!(port.max_stored_bytes(), wire_bytes);
        assert_eq!(
            port.depart(due).map(|(_, packet)| packet.len()),
            Some(ip_bytes)
        );
        assert_eq!(port.counts().left_bytes, wire_bytes);
    }
}

#[test]
fn graphs_without_one_path_are_refused() {
    let config = bottleneck(&star(QUEUES[0]));
    let graph = |links: &[(usize, usize)]| {
        let both = links.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        let ports = both.map(|(from, to)| GraphPort { from, to, config });
        let names = ["a", "b", "left", "right"].map(str::to_owned).to_vec();
        Graph::new(names, 2, ports.collect()).map(|_| ())
    };
    assert_eq!(graph(&[(0, 2), (2, 3), (3, 1)]), Ok(()));
    let none = Err(GraphError::NoPath("b".into(), "a".into()));
    assert_eq!(graph(&[(0, 2), (3, 1)]), none);
    let many = Err(GraphError::ManyPaths("b".into(), "a".into()));
    assert_eq!(graph(&[(0, 2), (0, 3), (2, 1), (3, 1)]), many);
    let parallel = Err(GraphError::Parallel("a".into(), "left".into()));
    assert_eq!(graph(&[(0, 2), (0, 2), (2, 1)]), parallel);
}

/// Real packets: two hosts send bursts to the third, and each verdict is the oracle's.
#[test]
fn real_arrivals_have_the_oracle_s_verdicts() {
    for queue in [QUEUES[1], QUEUES[4]] {
        let plan = star(queue);
        let hosts: std::io::Result<Vec<(Namespace, Tun)>> = (0..3)
            .map(|host| {
                let place = Namespace::new()?;
                let device = Tun::make(&place, "tun0", address::of(host), 1_500)?;
                Ok((place, device))
            })
            .collect();
        let hosts = match hosts {
            Ok(hosts) => hosts,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let (places, devices): (Vec<Namespace>, Vec<Tun>) = hosts.into_iter().unzip();
        let network = Network::new(plan.graph().expect("a right plan"));
        let mut switch =
            Switch::new(Clock::start(), network, devices, plan.seed).expect("it starts");
        thread::scope(|scope| {
            for place in &places[..2] {
                let socket = place.within(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)));
                let socket = socket.expect("a socket");
                scope.spawn(move || {
                    for _ in 0..20 {
                        for size in 0..12 {
                            let to = (address::of(2), 9);
                            socket.send_to(&[0; 1_400][size * 50..], to).expect("room");
                        }
                        thread::sleep(Duration::from_millis(7));
                    }
                });
            }
            let end = switch.clock().now() + Span::from_ms(500);
            switch.run(Some(end), None).expect("it runs");
        });
        let port = switch.network().port(BOTTLENECK);
        assert_eq!(port.counts().arrived, 480);
        assert!(port.counts().dropped_early > 0, "{:?}", port.counts());
        let record = port.record();
        assert_eq!(
            outcomes(record),
            replay(&bottleneck(&plan), record, plan.seed)
        );
    }
}
