//! Degraded links: what they lose and delay, in which order, and that all else is as it was.

use std::collections::BTreeMap;

use crate::common::{Algo, Bulk, Datagrams, Gap, degradations};
use incastle_cases::cases;
use incastle_engine::core::Node;
use incastle_engine::core::{EndpointIndex, HostIndex, PortIndex};
use incastle_engine::layout::PrefetchHints;
use incastle_engine::network::{
    Degradation, HostConfig, Jitter, JitterDistribution, LinkConfig, Loss, Network, NetworkBuilder,
    Outage, PortKind, SwitchConfig,
};
use incastle_engine::probe::{NoProbe, Probe, TraceEvent};
use incastle_engine::{Prefetch, Simulation};
use incastle_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

const RATE: Rate = Rate::from_bits_per_second(100_000_000);
const DELAY: Span = Span::from_us(10);

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Always.
const ALWAYS: Degradation = Degradation::none(Time::ZERO, Time::NEVER);

/// Two hosts at a switch; the links of host 1 are degraded, from the switch and to it.
fn pair(degraded: &[Degradation], failures: &[Outage], kind: PortKind, seed: u64) -> Network {
    let mut builder = NetworkBuilder::new(seed);
    let switch = Node::Switch(builder.switch("switch", SwitchConfig::default()));
    let link = || LinkConfig {
        kind,
        ..LinkConfig::unlimited(RATE, DELAY)
    };
    let bad = || LinkConfig {
        degradations: degraded.to_vec(),
        failures: failures.to_vec(),
        ..link()
    };
    for index in 0..2 {
        let host = Node::Host(builder.host(format!("host:{index}"), HostConfig::default()));
        if index == 0 {
            builder.link(host, switch, link(), link());
        } else {
            builder.link(host, switch, bad(), bad());
        }
    }
    builder.build().expect("a star is connected")
}

/// The port of the switch to host 1.
fn last() -> PortIndex {
    PortIndex::from_index(3)
}

/// The arrivals of datagrams at host 1.
#[derive(Default)]
struct Arrivals(Vec<Time>);

impl PrefetchHints for Arrivals {}

impl Probe for Arrivals {
    fn received(&mut self, host: HostIndex, now: Time, _: Bytes, _: Bytes) {
        if host.index() == 1 {
            self.0.push(now);
        }
    }
}

/// Datagrams of 1000 B, 80 us on each link, from host 0 to host 1 every 100 us until `stop`: they leave the switch at
/// 170 us, 270 us, ...
fn datagrams(stop: Time) -> Datagrams {
    Datagrams::new((0, 1), 972, Gap::Constant(Span::from_us(100)), stop)
}

fn arrivals(degraded: &[Degradation], count: u64) -> (Vec<Time>, Simulation<Arrivals>) {
    let network = pair(degraded, &[], PortKind::Fast, 1);
    let mut simulation = Simulation::new(network, Arrivals::default());
    simulation.add_application(Box::new(datagrams(at(100 * count - 50))));
    simulation
        .run(at(100 * count + 100_000), u64::MAX)
        .expect("no loop");
    simulation.check_conservation();
    (simulation.probe().0.clone(), simulation)
}

#[test]
fn a_longer_delay_holds_for_packets_that_leave_within_its_period() {
    // Packets leave at 170, 270, 370, 470 us. One that leaves at the first instant of the period is before it, one at
    // the last instant within it.
    let period = Degradation {
        extra_delay: Span::from_us(30),
        ..Degradation::none(at(170), at(370))
    };
    let (arrived, _) = arrivals(&[period], 4);
    assert_eq!(arrived, [at(180), at(310), at(410), at(480)]);
}

#[test]
fn a_delay_that_ends_keeps_the_order_unless_packets_may_overtake() {
    let period = Degradation {
        extra_delay: Span::from_us(250),
        ..Degradation::none(Time::ZERO, at(270))
    };
    // Without overtaking those of 370 and 470 us arrive with that of 270 us.
    let (arrived, _) = arrivals(&[period], 5);
    assert_eq!(arrived, [430, 530, 530, 530, 580].map(at));
    // An instant of the link may be overtaken only by packets that leave within a period that allows it.
    let after = Degradation {
        reorder: true,
        ..Degradation::none(at(270), Time::NEVER)
    };
    let (arrived, _) = arrivals(&[period, after], 5);
    assert_eq!(arrived, [380, 430, 480, 530, 580].map(at));
}

#[test]
fn losses_are_binomial_and_counted() {
    let lossy = Degradation {
        loss: Some(Loss::Independent(0.1)),
        ..ALWAYS
    };
    let (arrived, simulation) = arrivals(&[lossy], 10_000);
    let lost = 10_000 - arrived.len() as u64;
    // A standard deviation of sqrt(10000 x 0.1 x 0.9) = 30.
    assert!(lost.abs_diff(1_000) < 120, "{lost}");
    let totals = simulation.totals();
    assert_eq!((totals.drops, totals.lost_on_wire), (lost, lost));
    assert_eq!((totals.corrupted, totals.failure_drops), (0, 0));
    let network = simulation.network();
    let wire = network.wire_counters(last());
    assert_eq!((wire.lost, wire.corrupted), (lost, 0));
    // They have occupied the link: utilisation counts them.
    let counters = network.counters(last());
    assert_eq!(
        (counters.dropped, counters.accepted_bytes),
        (lost, 10_000_000)
    );
}

#[test]
fn corruption_is_a_matter_of_bits_and_counted_by_itself() {
    // 8000 bits: 1 - (1 - 1e-5)^8000 = 0.0769. A standard deviation of 27.
    let noisy = Degradation {
        bit_error_rate: 1e-5,
        ..ALWAYS
    };
    let (arrived, simulation) = arrivals(&[noisy], 10_000);
    let corrupted = 10_000 - arrived.len() as u64;
    assert!(corrupted.abs_diff(769) < 108, "{corrupted}");
    let totals = simulation.totals();
    assert_eq!((totals.drops, totals.corrupted), (corrupted, corrupted));
    assert_eq!(totals.lost_on_wire, 0);
    assert_eq!(
        simulation.network().wire_counters(last()).corrupted,
        corrupted
    );
}

#[test]
fn the_draws_of_losses_and_delays_are_independent() {
    let jitter = Some(Jitter {
        mean: Span::from_us(30),
        distribution: JitterDistribution::Uniform,
    });
    // Packets are 100 us apart: with delays of at most 60 us each arrives by itself.
    let delayed = Degradation { jitter, ..ALWAYS };
    let lossy = Degradation {
        loss: Some(Loss::Independent(0.2)),
        bit_error_rate: 1e-6,
        ..delayed
    };
    let (all, _) = arrivals(&[delayed], 2_000);
    let (some, _) = arrivals(&[lossy], 2_000);
    assert_eq!(all.len(), 2_000);
    assert!(some.len() < 1_700);
    assert!(
        some.iter()
            .all(|arrival| all.binary_search(arrival).is_ok())
    );
}

/// Counts packets that arrive after one that their endpoint sent later.
#[derive(Default)]
struct Overtaken {
    /// By sending endpoint: the instant of the last one sent so far.
    last: BTreeMap<EndpointIndex, Time>,
    late: u64,
    received: u64,
}

impl PrefetchHints for Overtaken {}

impl Probe for Overtaken {
    fn traced(&mut self, _: EndpointIndex, _: Time, event: &TraceEvent<'_>) {
        if let TraceEvent::Received(tag) = event {
            let last = self.last.entry(tag.endpoint).or_default();
            self.late += u64::from(tag.sent < *last);
            *last = tag.sent.max(*last);
            self.received += 1;
        }
    }
}

#[test]
fn packets_overtake_each_other_only_where_they_may() {
    for distribution in [
        JitterDistribution::Uniform,
        JitterDistribution::Normal,
        JitterDistribution::Exponential,
        JitterDistribution::Pareto,
    ] {
        for reorder in [false, true] {
            let mean = Span::from_us(300);
            let degraded = Degradation {
                jitter: Some(Jitter { mean, distribution }),
                reorder,
                ..ALWAYS
            };
            let network = pair(&[degraded], &[], PortKind::Fast, 1);
            let mut simulation = Simulation::new(network, Overtaken::default());
            let mut bulk = Bulk::new((0, 1), Time::ZERO, 500_000, Algo::NewReno);
            bulk.recorded = true;
            simulation.add_application(Box::new(bulk));
            simulation.run(at(5_000_000), u64::MAX).expect("no loop");
            simulation.check_conservation();
            let seen = simulation.probe();
            assert!(seen.received > 343, "{}", seen.received);
            assert_eq!(seen.late > 0, reorder, "{distribution:?}: {}", seen.late);
        }
    }
}

#[test]
fn a_period_without_effect_changes_nothing() {
    let digest = |degraded: &[Degradation]| {
        let mut simulation = Simulation::new(pair(degraded, &[], PortKind::Fast, 1), NoProbe);
        simulation.add_application(Box::new(Bulk::new(
            (0, 1),
            Time::ZERO,
            500_000,
            Algo::Cubic,
        )));
        simulation.run(at(1_000_000), u64::MAX).expect("no loop");
        simulation.digest()
    };
    let nothing = Degradation {
        loss: Some(Loss::Independent(0.0)),
        reorder: true,
        ..ALWAYS
    };
    assert_eq!(digest(&[nothing]), digest(&[]));
    let something = Degradation {
        loss: Some(Loss::Independent(0.01)),
        ..ALWAYS
    };
    assert_ne!(digest(&[something]), digest(&[]));
}

#[test]
fn the_seed_chooses_the_packets_that_are_lost() {
    let lossy = Degradation {
        loss: Some(Loss::Independent(0.1)),
        ..ALWAYS
    };
    let digest = |seed| {
        let mut simulation = Simulation::new(pair(&[lossy], &[], PortKind::Fast, seed), NoProbe);
        simulation.add_application(Box::new(datagrams(at(50_000))));
        simulation.run(at(100_000), u64::MAX).expect("no loop");
        simulation.digest()
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

/// The same results with any look-ahead, and conservation whenever it is asked.
fn check(
    degraded: &[Degradation],
    failures: &[Outage],
    kind: PortKind,
) -> Result<(), TestCaseError> {
    let run = |look_ahead, stops: &[u64]| {
        let mut simulation = Simulation::new(pair(degraded, failures, kind, 3), NoProbe);
        simulation.set_prefetch(look_ahead);
        for (from, to) in [(0, 1), (1, 0)] {
            let start = at(100 * from as u64);
            simulation.add_application(Box::new(Bulk::new(
                (from, to),
                start,
                300_000,
                Algo::Cubic,
            )));
        }
        simulation.add_application(Box::new(datagrams(at(30_000))));
        for &stop in stops {
            simulation.run(at(stop), u64::MAX).expect("no loop");
            simulation.check_conservation();
        }
        (simulation.digest(), simulation.totals())
    };
    let plain = run(Prefetch::Off, &[80_000]);
    prop_assert_eq!(plain, run(Prefetch::Next, &[80_000]));
    prop_assert_eq!(plain, run(Prefetch::Groups, &[777, 7_777, 17_777, 80_000]));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn nothing_is_unaccounted_for_on_degraded_links(
        degraded in degradations(),
        down in prop::option::of((1..20_000_u64, 1..5_000_u64)),
        kind in prop_oneof![Just(PortKind::Fast), Just(PortKind::General)],
    ) {
        let outage = |(from, length)| Outage { from: at(from), until: at(from + length) };
        let failures: Vec<Outage> = down.map(outage).into_iter().collect();
        check(&degraded, &failures, kind)?;
    }
}
