//! Random networks with priorities, PFC and mixed traffic: packets are conserved, lossless priorities lose nothing with
//! enough headroom, and what they lose with too little is counted where it came in.

use crate::common::fabrics::{Fabric, Flow, changes, fabrics, flows};
use incastle_cases::cases;
use incastle_engine::core::{FlowIndex, Node, PortIndex, SwitchIndex};
use incastle_engine::layout::PrefetchHints;
use incastle_engine::network::{Network, PortPauses};
use incastle_engine::probe::{Lost, Probe};
use incastle_engine::{Finished, Simulation, Status, Totals, finish};
use incastle_queueing::ReleaseAt;
use incastle_units::{Span, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

/// Drops by flow.
#[derive(Debug, Clone, Default)]
struct Drops(Vec<(FlowIndex, PortIndex)>);

impl PrefetchHints for Drops {}

impl Probe for Drops {
    fn dropped(&mut self, port: PortIndex, _: Time, lost: &Lost) {
        self.0.push((lost.flow, port));
    }
}

/// The result of a run.
struct Outcome {
    /// All drops, in their order.
    drops: Vec<(FlowIndex, PortIndex)>,
    /// Drops of lossless flows, and of others.
    lossless: u64,
    lossy: u64,
    totals: Totals,
    digest: u64,
    network: Network,
    end: Time,
}

/// Runs flows over a network, and checks conservation on the way.
fn run(network: Network, flows: &[Flow]) -> Outcome {
    run_capturing(network, flows, |_, _| false)
}

/// The same; ports that are captured have departure events in any case.
fn run_capturing(
    network: Network,
    flows: &[Flow],
    captures: impl Fn(&Network, PortIndex) -> bool,
) -> Outcome {
    let captured: Vec<PortIndex> = network
        .ports()
        .filter(|at| captures(&network, *at))
        .collect();
    let hosts = network.host_count();
    let flows: Vec<Flow> = flows.iter().map(|flow| flow.clone().among(hosts)).collect();
    let mut simulation = Simulation::new(network, Drops::default());
    simulation.capture(&captured);
    for flow in &flows {
        simulation.add_application(Box::new(flow.clone()));
    }
    // Flows have the numbers in which they start.
    let mut started: Vec<&Flow> = flows.iter().collect();
    started.sort_by_key(|flow| flow.start);
    let mut end = Time::ZERO;
    for step in [40, 41, 90, 250, 600] {
        end = Time::ZERO + Span::from_us(step);
        simulation.run(end, u64::MAX).expect("time goes on");
        simulation.check_conservation();
    }
    let (totals, digest) = (simulation.totals(), simulation.digest());
    let Finished {
        network, probes, ..
    } = finish(vec![simulation]);
    let drops = probes[0].0.clone();
    let lossless = drops
        .iter()
        .filter(|(flow, _)| started[flow.index()].is_lossless());
    let lossless = lossless.count() as u64;
    Outcome {
        lossless,
        lossy: drops.len() as u64 - lossless,
        drops,
        totals,
        digest,
        network,
        end,
    }
}

/// The invariants of every network with PFC: drops are counted by cause, and every frame that was sent is received or on its
/// way.
fn check(outcome: &Outcome) -> Vec<PortPauses> {
    let table = outcome.network.pause_table(outcome.end);
    let overflows: u64 = table.iter().map(|row| row.headroom_drops).sum();
    assert_eq!(
        outcome.lossless, overflows,
        "a lossless packet is lost for want of headroom"
    );
    assert_eq!(outcome.totals.drops, outcome.lossless + outcome.lossy);
    for row in &table {
        let other = PortIndex(row.port.0 ^ 1);
        let received = outcome.network.pauses(other, row.priority, outcome.end);
        let received = received.unwrap_or_default();
        let sent = row.sent.pauses + row.sent.refreshes;
        // Where each packet pauses and resumes, a long link carries some frames.
        assert!(
            (received.pause_frames..received.pause_frames + 100).contains(&sent),
            "{row:?}"
        );
        assert_eq!(received.expired, 0, "refreshes come in time");
        assert!(row.sent.pauses == 0 || matches!(outcome.network.owner(row.port), Node::Switch(_)));
    }
    table
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(10_000)))]

    #[test]
    fn with_enough_headroom_nothing_lossless_is_lost(
        fabric in fabrics(100..101), flows in flows(),
    ) {
        let outcome = run(fabric.build(), &flows);
        prop_assert_eq!(outcome.lossless, 0);
        check(&outcome);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1_000)))]

    #[test]
    fn with_too_little_headroom_every_loss_is_counted(
        fabric in fabrics(0..60), flows in flows(),
    ) {
        check(&run(fabric.build(), &flows));
    }

    #[test]
    fn links_that_change_keep_packets_and_accounts(
        fabric in fabrics(20..120), flows in flows(), changes in changes(),
    ) {
        let once = || run(fabric.build_changing(&changes), &flows);
        let (one, other) = (once(), once());
        prop_assert_eq!((one.digest, one.totals), (other.digest, other.totals));
    }

    #[test]
    fn two_runs_are_equal(fabric in fabrics(20..120), flows in flows()) {
        let once = || run(fabric.build(), &flows);
        let (one, other) = (once(), once());
        prop_assert_eq!((one.digest, one.totals), (other.digest, other.totals));
    }
}

/// Everything that is counted.
fn counts(outcome: &Outcome) -> String {
    let network = &outcome.network;
    let switches = (0..network.switch_count()).map(SwitchIndex::from_index);
    format!(
        "{:?}",
        (
            outcome.digest,
            outcome.totals,
            &outcome.drops,
            network.pause_table(outcome.end),
            (network.ports().map(|at| network.counters(at))).collect::<Vec<_>>(),
            (switches.map(|switch| network.max_stored(switch))).collect::<Vec<_>>(),
        )
    )
}

/// Departures need no events where packets leave their accounts with them.
fn may_be_late(fabric: Fabric) -> Fabric {
    Fabric {
        release_at: ReleaseAt::End,
        ..fabric
    }
}

/// A port of a switch.
fn is_of_switch(network: &Network, port: PortIndex) -> bool {
    matches!(network.owner(port), Node::Switch(_))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2_000)))]

    #[test]
    fn departures_without_events_change_nothing(
        fabric in fabrics(0..120), flows in flows(), some in 1_usize..4,
    ) {
        let fabric = may_be_late(fabric);
        let all = run_capturing(fabric.build(), &flows, is_of_switch);
        let none = run(fabric.build(), &flows);
        let parts = run_capturing(fabric.build(), &flows, |network, port| {
            is_of_switch(network, port) && port.index() % some == 0
        });
        prop_assert_eq!(counts(&all), counts(&none));
        prop_assert_eq!(counts(&all), counts(&parts));
    }
}

/// Without captures many departures have no events: a budget of events lasts longer.
#[test]
fn many_departures_have_no_events() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut slices = [0, 0];
    for _ in 0..20 {
        let tree = (fabrics(20..120), flows()).new_tree(&mut runner);
        let (fabric, flows) = tree.expect("a random network").current();
        let fabric = may_be_late(fabric);
        for (captured, slices) in [false, true].into_iter().zip(&mut slices) {
            let network = fabric.build();
            let ports = network
                .ports()
                .filter(|at| captured && is_of_switch(&network, *at));
            let ports: Vec<PortIndex> = ports.collect();
            let hosts = network.host_count();
            let mut simulation = Simulation::new(network, Drops::default());
            simulation.capture(&ports);
            for flow in &flows {
                simulation.add_application(Box::new(flow.clone().among(hosts)));
            }
            let end = Time::ZERO + Span::from_us(600);
            while simulation.run(end, 100).expect("time goes on") == Status::Paused {
                *slices += 1;
            }
        }
    }
    let [late, all] = slices;
    assert!(late * 10 < all * 9, "{late} and {all} hundred events");
}

/// The tests above see pauses, and losses where headroom is too small.
#[test]
fn the_random_networks_have_pauses_and_losses() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut paused, mut lost) = (0, 0);
    for _ in 0..100 {
        let tree = (fabrics(0..30), flows()).new_tree(&mut runner);
        let (fabric, flows) = tree.expect("a random network").current();
        let enough = Fabric {
            headroom: 100,
            ..fabric.clone()
        };
        let table = check(&run(enough.build(), &flows));
        paused += u32::from(table.iter().any(|row| row.sent.pauses > 0));
        lost += u32::from(run(fabric.build(), &flows).lossless > 0);
    }
    assert!(
        paused > 30 && lost > 15,
        "{paused} with pauses, {lost} with losses"
    );
}
