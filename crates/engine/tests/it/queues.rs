//! Ports against queueing theory: D/D/1 and M/D/1, and the fast queue against the general one.

use crate::common::{Datagrams, Gap, Star, marking_threshold};
use incastle_cases::cases;
use incastle_engine::core::PortIndex;
use incastle_engine::network::PortKind;
use incastle_engine::{Simulation, Status};
use incastle_queueing::{PortBuffer, SharedBuffer};
use incastle_recorder::{Measurements, Recorder};
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};
use proptest::prelude::*;

/// The port of the star's switch to its last host: links are made host by host, up then down.
fn bottleneck(senders: usize) -> PortIndex {
    PortIndex::from_index(2 * senders + 1)
}

fn run(star: Star, apps: Vec<Datagrams>, until: Time) -> Simulation<Recorder> {
    let network = star.build();
    let recorder = Recorder::new(
        Measurements::default(),
        network.ports().count(),
        network.host_count(),
    );
    let mut simulation = Simulation::new(network, recorder);
    for app in apps {
        simulation.add_application(Box::new(app));
    }
    simulation.measure_between(Time::ZERO, until);
    assert_eq!(simulation.run(until, u64::MAX), Ok(Status::Done));
    simulation.check_conservation();
    simulation
}

#[test]
fn a_single_packet_takes_serialisation_and_propagation_to_the_picosecond() {
    // 1500 B at 1 Gbit/s: 12 us per link; two links of 25 us: 74 us in all.
    let app = Datagrams::new(
        (0, 2),
        1472,
        Gap::Constant(Span::from_secs(1)),
        Time::from_ps(1),
    );
    let until = Time::ZERO + Span::from_us(74);
    let almost = run(Star::default(), vec![], Time::ZERO);
    assert_eq!(almost.totals().packet_hops, 0);
    let network = Star::default().build();
    let mut simulation = Simulation::new(network, incastle_engine::probe::NoProbe);
    simulation.add_application(Box::new(app));
    simulation
        .run(until - Span::from_ps(1), u64::MAX)
        .expect("no loop");
    assert_eq!(simulation.totals().packet_hops, 1);
    simulation.run(until, u64::MAX).expect("no loop");
    assert_eq!(simulation.totals().packet_hops, 2);
}

#[test]
fn constant_arrivals_below_the_rate_never_wait() {
    // D/D/1 with load 0.96: the queue is empty at every arrival.
    let gap = Gap::Constant(Span::from_ns(12_500));
    let end = Time::ZERO + Span::from_ms(100);
    let simulation = run(
        Star::default(),
        vec![Datagrams::new((0, 2), 1472, gap, end)],
        end,
    );
    assert_eq!(simulation.probe().queue(bottleneck(2)).longest(), 0);
}

#[test]
fn constant_arrivals_above_the_rate_queue_linearly() {
    // Two senders at 0.8 of the rate each: every 15 us two packets come and 15/12 leave. After
    // 100 ms 2 * 6667 have come and 100 ms / 12 us = 8333 have left.
    let apps = (0..2).map(|from| {
        let gap = Gap::Constant(Span::from_us(15));
        Datagrams::new((from, 2), 1472, gap, Time::ZERO + Span::from_ms(100))
    });
    let end = Time::ZERO + Span::from_us(100_037 + 25);
    let simulation = run(Star::default(), apps.collect(), end);
    let longest = simulation.probe().queue(bottleneck(2)).longest();
    assert!((4_990..=5_010).contains(&longest), "{longest}");
}

#[test]
fn poisson_arrivals_wait_as_in_m_d_1() {
    // M/D/1: mean number waiting = rho^2 / (2 (1 - rho)). The uplink must not shape the arrivals, so
    // each of 50 senders offers 1/50 of the load.
    for load in [0.5_f64, 0.7, 0.8] {
        let senders = 50;
        let service = Span::from_us(12);
        let mean = service.scale_lossy(senders as f64 / load);
        let end = Time::ZERO + Span::from_secs(4);
        let apps = (0..senders)
            .map(|from| Datagrams::new((from, senders), 1472, Gap::Exponential(mean), end));
        let star = Star {
            senders,
            ..Star::default()
        };
        let simulation = run(star, apps.collect(), end);
        let queue = simulation.probe().queue(bottleneck(senders));
        let measured = queue.area() as f64 / (end.as_ps() as f64);
        let theory = load * load / (2.0 * (1.0 - load));
        println!("load {load}: {measured:.3} packets wait, theory {theory:.3}");
        assert!(
            (measured / theory - 1.0).abs() < 0.05,
            "load {load}: {measured} packets wait, theory {theory}"
        );
    }
}

/// A bursty mix of sources that fills buffers and crosses thresholds.
fn mix(seed: u64, end: Time) -> Vec<Datagrams> {
    (0..5)
        .map(|from| {
            let payload = 100 + 1_300 * ((seed + from as u64) % 2);
            let gap = Span::from_ns(20_000 + 3_100 * (from as u64 + seed % 7));
            Datagrams::new((from, 5), payload, Gap::Exponential(gap), end)
        })
        .collect()
}

fn digest_of(
    kind: PortKind,
    memory: Option<SharedBuffer>,
    seed: u64,
    buffer: PortBuffer,
) -> (u64, Vec<(u64, Span)>) {
    let end = Time::ZERO + Span::from_ms(20);
    let star = Star {
        senders: 5,
        kind,
        memory,
        buffer,
        // An odd rate, so that remainders are carried.
        rate: Rate::from_bits_per_second(333_333_333),
        queue: marking_threshold(5),
        jitter: Span::from_us(2),
        seed,
        ..Star::default()
    };
    let simulation = run(star, mix(seed, end), end);
    let bins = simulation
        .probe()
        .queue(bottleneck(5))
        .bins()
        .map(|bin| (bin.packets, bin.span))
        .collect();
    (simulation.digest(), bins)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn the_fast_port_equals_the_general_port(seed in 0..1_000_u64, limit in 2..40_u64) {
        let buffer = PortBuffer::Limited(Amount::Packets(Packets::new(limit)));
        let fast = digest_of(PortKind::Fast, None, seed, buffer);
        let general = digest_of(PortKind::General, None, seed, buffer);
        prop_assert_eq!(fast, general);
    }

    #[test]
    fn fast_equals_general_with_48_ports_on_a_shared_memory(seed in 0..1_000_u64, kilobytes in 5..60_u64) {
        let run = |kind| {
            let memory = SharedBuffer::new(Bytes::new(kilobytes * 1_000), 0.3);
            let star = Star { senders: 47, kind, memory: Some(memory), seed, ..Star::default() };
            let end = Time::ZERO + Span::from_ms(3);
            // Every host sends to two others; some ports are overloaded.
            let apps = (0..48).flat_map(|from| {
                [(from * 7 + 3) % 48, (from / 9 + seed as usize) % 48].map(|to| {
                    let gap = Span::from_ns(9_000 + 500 * from as u64);
                    Datagrams::new((from, to), 972, Gap::Exponential(gap), end)
                })
            });
            let simulation = run(star, apps.collect(), end);
            (simulation.digest(), simulation.totals().drops)
        };
        let (fast, general) = (run(PortKind::Fast), run(PortKind::General));
        prop_assert_eq!(fast, general);
        prop_assert!(fast.1 > 0, "the memory never filled");
    }

    #[test]
    fn a_shared_memory_that_never_fills_changes_nothing(seed in 0..1_000_u64) {
        let memory = SharedBuffer::new(Bytes::new(1_000_000_000), 1.0);
        let shared = digest_of(PortKind::Fast, Some(memory), seed, PortBuffer::Unlimited);
        let fast = digest_of(PortKind::Fast, None, seed, PortBuffer::Unlimited);
        prop_assert_eq!(shared, fast);
    }

    #[test]
    fn the_same_seed_gives_the_same_digest_and_another_does_not(seed in 0..1_000_u64) {
        let once = digest_of(PortKind::Fast, None, seed, PortBuffer::Unlimited);
        let twice = digest_of(PortKind::Fast, None, seed, PortBuffer::Unlimited);
        prop_assert_eq!(&once, &twice);
        prop_assert_ne!(once.0, digest_of(PortKind::Fast, None, seed + 1, PortBuffer::Unlimited).0);
    }
}
