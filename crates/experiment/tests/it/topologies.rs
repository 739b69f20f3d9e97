//! Fabrics against their textbooks: numbers, names, hops, bisection; and what ECMP makes of them.

use std::collections::{BTreeSet, VecDeque};

use incastle_cases::cases;
use incastle_experiment::Output;
use incastle_scenario::{End, Layout};

use crate::common::{assert_near, result, scenario, text, whole};
use proptest::prelude::*;

/// A network, and one packet between each pair of its hosts.
fn all_pairs(network: &str) -> String {
    format!(
        r#"
[run]
duration = "1 s"
[network]
{network}
[switch]
buffer = "unlimited"
[flows.once]
workload = "cbr"
from = "all"
to = "all"
pairs = "all"
rate = "1 kbit/s"
stop = "1 us"
start_spread = "0 s"
transport = {{ kind = "udp", payload = "100 B" }}
"#
    )
}

fn layout(network: &str) -> Layout {
    scenario(&all_pairs(network), &[]).layout().clone()
}

fn leaf_spine(leaves: usize, spines: usize, hosts: usize) -> String {
    format!(
        "topology = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts}"
    )
}

fn fat_tree(k: usize) -> String {
    format!("topology = \"fat-tree\"\nk = {k}")
}

/// Pods, edges, aggregations, cores, hosts.
fn clos([pods, edges, aggregations, cores, hosts]: [usize; 5]) -> String {
    format!(
        "topology = \"clos\"\npods = {pods}\nedges_per_pod = {edges}\n\
         aggregations_per_pod = {aggregations}\ncores = {cores}\nhosts_per_edge = {hosts}"
    )
}

/// The links at each switch.
fn degrees(layout: &Layout) -> Vec<usize> {
    let mut degrees = vec![0; layout.switches.len()];
    for link in &layout.links {
        for end in [link.ends.0, link.ends.1] {
            if let End::Switch(switch) = end {
                degrees[switch] += 1;
            }
        }
    }
    degrees
}

fn count(layout: &Layout, role: &str) -> usize {
    let switches = layout.switches.iter();
    switches.filter(|name| name.role == role).count()
}

/// Every host is there once, from 0 on.
fn assert_hosts(layout: &Layout, hosts: usize) {
    let names: Vec<String> = layout.hosts.iter().map(ToString::to_string).collect();
    let expected: Vec<String> = (0..hosts).map(|host| format!("host:{host}")).collect();
    assert_eq!(names, expected);
    let switches: BTreeSet<String> = layout.switches.iter().map(ToString::to_string).collect();
    assert_eq!(switches.len(), layout.switches.len());
}

/// The bandwidth from the first half of the hosts to the second, in bits per second. It is the maximum flow,
/// by shortest augmenting paths (Edmonds and Karp).
fn bisection(layout: &Layout) -> u64 {
    let hosts = layout.hosts.len();
    let (source, sink) = (
        hosts + layout.switches.len(),
        hosts + layout.switches.len() + 1,
    );
    let node = |end: End| match end {
        End::Host(host) => host,
        End::Switch(switch) => hosts + switch,
    };
    // (from, to, room), each followed by its opposite.
    let mut arcs: Vec<(usize, usize, u64)> = Vec::new();
    for link in &layout.links {
        let (a, b) = (node(link.ends.0), node(link.ends.1));
        let rate = link.rate.bits_per_second();
        arcs.extend([(a, b, rate), (b, a, rate)]);
    }
    for host in 0..hosts {
        let (a, b) = if host < hosts / 2 {
            (source, host)
        } else {
            (host, sink)
        };
        arcs.extend([(a, b, u64::MAX / 4), (b, a, 0)]);
    }
    let mut at = vec![Vec::new(); sink + 1];
    for (arc, (from, ..)) in arcs.iter().enumerate() {
        at[*from].push(arc);
    }
    let mut flow = 0;
    loop {
        let mut came: Vec<Option<usize>> = vec![None; sink + 1];
        let mut reached = VecDeque::from([source]);
        while let Some(node) = reached.pop_front() {
            for &arc in &at[node] {
                let (_, to, room) = arcs[arc];
                if room > 0 && to != source && came[to].is_none() {
                    came[to] = Some(arc);
                    reached.push_back(to);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = sink;
        while let Some(arc) = came[node] {
            path.push(arc);
            node = arcs[arc].0;
        }
        let Some(room) = path.iter().map(|&arc| arcs[arc].2).min() else {
            return flow;
        };
        for arc in path {
            arcs[arc].2 -= room;
            arcs[arc ^ 1].2 += room;
        }
        flow += room;
    }
}

const GIGABIT: u64 = 1_000_000_000;

#[test]
fn a_fat_tree_has_the_numbers_of_its_paper() {
    for k in [2, 4, 6, 8, 16, 32] {
        let layout = layout_of_few_flows(&fat_tree(k));
        // Al-Fares et al., section 3.1: k^3/4 hosts, k pods of k switches, (k/2)^2 cores: 5k^2/4.
        assert_hosts(&layout, k * k * k / 4);
        assert_eq!(layout.switches.len(), 5 * k * k / 4);
        assert_eq!(count(&layout, "edge"), k * k / 2);
        assert_eq!(count(&layout, "aggregation"), k * k / 2);
        assert_eq!(count(&layout, "core"), k * k / 4);
        // Every switch has k ports, all in use.
        assert!(degrees(&layout).iter().all(|degree| *degree == k));
        assert_eq!(layout.links.len(), 3 * k * k * k / 4);
    }
}

/// The layout of a network without a flow for each pair of its hosts.
fn layout_of_few_flows(network: &str) -> Layout {
    let text = all_pairs(network).replace("pairs = \"all\"", "count = 1");
    scenario(&text, &[]).layout().clone()
}

#[test]
fn a_fat_tree_has_full_bisection_bandwidth() {
    for k in [2, 4, 6, 8] {
        let hosts = k * k * k / 4;
        let found = bisection(&layout_of_few_flows(&fat_tree(k)));
        assert_eq!(found, hosts as u64 / 2 * GIGABIT, "k = {k}");
    }
}

#[test]
fn the_bisection_of_a_leaf_spine_is_what_its_leaves_send_up() {
    // 4 leaves, 8 hosts each: 16 Gbit/s at the hosts, 2 leaves x spines upwards.
    for (spines, expected) in [(1, 2), (3, 6), (8, 16), (12, 16)] {
        let layout = layout(&leaf_spine(4, spines, 8));
        assert_hosts(&layout, 32);
        assert_eq!(
            (count(&layout, "leaf"), count(&layout, "spine")),
            (4, spines)
        );
        assert_eq!(bisection(&layout), expected * GIGABIT, "{spines} spines");
    }
}

#[test]
fn rates_per_tier_come_from_link_groups() {
    let network = leaf_spine(2, 2, 4)
        + "\n[network.links.hosts]\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\n\
           [network.links.leaf-spine]\nrate = \"40 Gbit/s\"\n";
    let layout = layout(&network);
    let rates = |switches: bool| {
        let links = layout.links.iter();
        let own = links.filter(move |link| matches!(link.ends.0, End::Switch(_)) == switches);
        own.map(|link| link.rate.bits_per_second() / GIGABIT)
            .collect::<BTreeSet<u64>>()
    };
    assert_eq!((rates(false), rates(true)), ([10].into(), [40].into()));
    // 2 x 40 up for 4 x 10 down: nothing is oversubscribed.
    assert_eq!(bisection(&layout), 40 * GIGABIT);
}

#[test]
fn oversubscription_makes_the_rates_of_the_upper_links() {
    // 12 hosts of 1 Gbit/s over 2 links at 3 to 1: 2 Gbit/s; 4 edges x 2 over 4 cores at 2 to 1: 1.
    let network =
        clos([4, 4, 2, 8, 12]) + "\nedge_oversubscription = 3\naggregation_oversubscription = 2\n";
    let layout = layout_of_few_flows(&network);
    let rates = |upper: &str| {
        let links = layout.links.iter();
        let own = links.filter(|link| layout.name(link.ends.1).role == upper);
        own.map(|link| link.rate.bits_per_second())
            .collect::<BTreeSet<u64>>()
    };
    assert_eq!(rates("edge"), [GIGABIT].into());
    assert_eq!(rates("aggregation"), [2 * GIGABIT].into());
    assert_eq!(rates("core"), [GIGABIT].into());
    // Half of 192 hosts may send 96 Gbit/s; both tiers together let a sixth of it through.
    assert_eq!(bisection(&layout), 16 * GIGABIT);
    // Without these keys every link has the network's rate.
    let plain = layout_of_few_flows(&clos([4, 4, 2, 8, 12]));
    assert!(
        plain
            .links
            .iter()
            .all(|link| link.rate.bits_per_second() == GIGABIT)
    );
    // 1 Gbit/s x 2 / (3 x 1) is no whole number of bits per second: the nearest is taken.
    let odd = layout_of_few_flows(&(clos([1, 1, 3, 3, 2]) + "\nedge_oversubscription = 1\n"));
    let third = odd
        .links
        .iter()
        .filter(|link| link.rate.bits_per_second() == 666_666_667);
    assert_eq!(third.count(), 3);
}

#[test]
fn a_fat_tree_is_a_clos_of_its_numbers() {
    for k in [2, 4, 6] {
        let half = k / 2;
        let clos = layout_of_few_flows(&clos([k, half, half, half * half, half]));
        assert_eq!(clos, layout_of_few_flows(&fat_tree(k)));
    }
}

/// Links between two hosts, as a packet passes them.
fn hops(network: &str, from: usize, to: usize) -> u64 {
    let sets = [
        ("flows.once.from", format!("host:{from}")),
        ("flows.once.to", format!("host:{to}")),
    ];
    let sets: Vec<(&str, &str)> = sets
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .collect();
    let output = result(&all_pairs(network), &sets);
    assert_eq!(output.totals.data_packets, 1);
    output.totals.packet_hops
}

#[test]
fn hops_are_those_of_the_textbook() {
    // k = 4: 2 hosts per edge, 4 per pod.
    let network = fat_tree(4);
    assert_eq!(
        [1, 2, 3, 4, 15].map(|to| hops(&network, 0, to)),
        [2, 4, 4, 6, 6]
    );
    let network = leaf_spine(3, 2, 2);
    assert_eq!([1, 2, 5].map(|to| hops(&network, 0, to)), [2, 4, 4]);
}

/// Packets by port, for ports of this name or these names.
fn packets(output: &Output, ports: &[String]) -> Vec<f64> {
    let names = text(output, "links", "port");
    let counts = whole(output, "links", "packets");
    let of = |port: &String| names.iter().position(|name| name == port);
    let rows = ports
        .iter()
        .map(|port| of(port).expect("a port of that name"));
    rows.map(|row| counts[row] as f64).collect()
}

#[test]
fn ecmp_shares_flows_among_the_spines() {
    // 32 hosts to 32 hosts, a packet each: 1024 draws among 4; five standard deviations of
    // sqrt(1024 x 1/4 x 3/4) = 13.9.
    let sets = [
        ("flows.once.from", "host:0..31"),
        ("flows.once.to", "host:32..63"),
    ];
    for ecmp in ["flow", "packet", "flowlet"] {
        let output = result(
            &all_pairs(&leaf_spine(2, 4, 32)),
            &[sets[0], sets[1], ("network.ecmp", ecmp)],
        );
        let ports = [0, 1, 2, 3].map(|spine| format!("leaf:0->spine:{spine}"));
        let shares = packets(&output, &ports);
        assert_near(shares.iter().sum(), 1024.0, 0.0);
        for share in &shares {
            assert_near(*share, 256.0, 5.0 * 13.9);
        }
    }
}

#[test]
fn edge_and_aggregation_switches_choose_independently() {
    // 2000 flows between two hosts of different pods, or packets of one: a quarter of them over each
    // core. A hash that were the same at both tiers would use two of the four.
    let flows = [
        ("flows.once.pairs", "round-robin"),
        ("flows.once.count", "2000"),
    ];
    let paced = [
        ("flows.once.rate", "8 Mbit/s"),
        ("flows.once.stop", "200 ms"),
    ];
    for (ecmp, sets) in [("flow", flows), ("packet", paced)] {
        let ends = [("flows.once.from", "host:0"), ("flows.once.to", "host:8")];
        let all = [ends[0], ends[1], sets[0], sets[1], ("network.ecmp", ecmp)];
        let output = result(&all_pairs(&fat_tree(4)), &all);
        assert_eq!(output.totals.data_packets, 2_000, "{ecmp}");
        let ports = [(0, 0), (0, 1), (1, 2), (1, 3)]
            .map(|(aggregation, core)| format!("aggregation:{aggregation}->core:{core}"));
        for share in packets(&output, &ports) {
            // Five standard deviations of sqrt(2000 x 1/4 x 3/4) = 19.4.
            assert_near(share, 500.0, 97.0);
        }
    }
}

const TRANSFERS: &str = r#"
[run]
duration = "20 ms"
[network]
topology = "leaf-spine"
leaves = 2
spines = 4
hosts_per_leaf = 8
rate = "1 Gbit/s"
delay = "5 us"
[switch]
buffer = "unlimited"
[flows.forth]
workload = "bulk"
from = "host:0..7"
to = "host:8..15"
size = "500 KB"
"#;

#[test]
fn spraying_reorders_and_the_transport_bears_it() {
    let run = |ecmp| result(TRANSFERS, &[("network.ecmp", ecmp)]);
    let [flow, packet, flowlet] = ["flow", "packet", "flowlet"].map(run);
    for output in [&flow, &packet, &flowlet] {
        assert_eq!((output.totals.drops, output.totals.transfers), (0, 8));
    }
    // Nothing is lost. By flow nothing is reordered, by packet TCP takes duplicate ACKs for losses.
    assert_eq!(flow.totals.retransmissions, 0);
    assert!(packet.totals.retransmissions > 0);
    assert_ne!(flow.digest, packet.digest);
    // No gap of these flows is longer than 20 ms: each is one flowlet on one path, like a flow.
    let long = [("network.ecmp", "flowlet"), ("network.flowlet_gap", "1 s")];
    assert_eq!(result(TRANSFERS, &long).totals.retransmissions, 0);
    assert_eq!(run("packet").digest, packet.digest);
    assert_eq!(run("flowlet").digest, flowlet.digest);
}

/// A network, as lines of a scenario, and the number of its hosts.
#[derive(Debug, Clone)]
struct Fabric {
    network: String,
    hosts: usize,
}

prop_compose! {
    fn leaf_spines()(leaves in 1..4_usize, spines in 1..4_usize, hosts in 1..4_usize) -> Fabric {
        Fabric { network: leaf_spine(leaves, spines, hosts), hosts: leaves * hosts }
    }
}

prop_compose! {
    fn clos_networks()(
        pods in 1..4_usize,
        edges in 1..4_usize,
        aggregations in 1..4_usize,
        share in 1..4_usize,
        hosts in 1..4_usize,
    ) -> Fabric {
        let numbers = [pods, edges, aggregations, aggregations * share, hosts];
        Fabric { network: clos(numbers), hosts: pods * edges * hosts }
    }
}

fn fabrics() -> impl Strategy<Value = Fabric> {
    let fat_trees = (1..3_usize).prop_map(|half| Fabric {
        network: fat_tree(2 * half),
        hosts: 2 * half * half * half,
    });
    prop_oneof![leaf_spines(), fat_trees, clos_networks()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn every_host_of_a_fabric_reaches_every_other(
        fabric in fabrics(),
        ecmp in proptest::sample::select(vec!["flow", "packet", "flowlet"]),
        seed in 0..100_u64,
    ) {
        let Fabric { network, hosts } = fabric;
        prop_assume!(hosts > 1);
        let seed = seed.to_string();
        let output = result(
            &all_pairs(&network),
            &[("network.ecmp", ecmp), ("run.seed", &seed)],
        );
        let pairs = (hosts * (hosts - 1)) as u64;
        prop_assert_eq!((output.totals.data_packets, output.totals.drops), (pairs, 0));
    }
}
