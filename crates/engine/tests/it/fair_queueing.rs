//! Deficit round robin against its theorems, and what pushing out does to flows and counters.

use crate::common::{Algo, Bulk, Datagrams, ENDLESS, Gap};
use incastle_cases::cases;
use incastle_engine::core::{FlowIndex, HostIndex, Node, PortIndex};
use incastle_engine::flow::Application;
use incastle_engine::layout::PrefetchHints;
use incastle_engine::network::{
    ClassifyBy, FairConfig, FairDrop, HostConfig, LinkConfig, Network, NetworkBuilder, PortKind,
    RateChange, SwitchConfig,
};
use incastle_engine::probe::Probe;
use incastle_engine::{Simulation, Status};
use incastle_queueing::{PortBuffer, QueueConfig, SharedBuffer};
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};
use proptest::prelude::*;

/// IP and UDP headers.
const HEADERS: u64 = 28;

fn fair(quantum: u64, drop: FairDrop) -> PortKind {
    let quantum = Bytes::new(quantum);
    let per = ClassifyBy::Flow;
    PortKind::Fair(FairConfig { quantum, drop, per })
}

fn packets(count: u64) -> PortBuffer {
    PortBuffer::Limited(Amount::Packets(Packets::new(count)))
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// The deliveries to applications.
#[derive(Default)]
struct Deliveries(Vec<Delivery>);

/// In-order bytes of a flow.
struct Delivery {
    at: Time,
    flow: FlowIndex,
    bytes: u64,
}

impl PrefetchHints for Deliveries {}

impl Probe for Deliveries {
    fn delivered(&mut self, flow: FlowIndex, _: HostIndex, at: Time, bytes: Bytes) {
        let bytes = bytes.count();
        self.0.push(Delivery { at, flow, bytes });
    }
}

impl Deliveries {
    fn bytes(&self, flow: usize) -> u64 {
        let of_flow = self.0.iter().filter(|one| one.flow.index() == flow);
        of_flow.map(|one| one.bytes).sum()
    }

    fn times(&self) -> Vec<Time> {
        self.0.iter().map(|one| one.at).collect()
    }
}

/// Senders at 10 Gbit/s, one receiver at 1 Gbit/s. The receiver's link has the queue and the buffer
/// that are tested; others hold everything.
fn network(senders: usize, kind: PortKind, buffer: PortBuffer) -> Network {
    let rate = |gigabits: u64| Rate::from_bits_per_second(gigabits * 1_000_000_000);
    let delay = Span::from_us(5);
    let mut builder = NetworkBuilder::new(3);
    let switch = Node::Switch(builder.switch("switch", SwitchConfig::default()));
    for index in 0..senders {
        let sender = builder.host(format!("sender:{index}"), HostConfig::default());
        let link = || LinkConfig::unlimited(rate(10), delay);
        builder.link(Node::Host(sender), switch, link(), link());
    }
    let receiver = Node::Host(builder.host("receiver", HostConfig::default()));
    let down = LinkConfig {
        kind,
        buffer,
        ..LinkConfig::unlimited(rate(1), delay)
    };
    let back = LinkConfig::unlimited(rate(1), delay);
    builder.link(switch, receiver, down, back);
    builder.build().expect("a star is connected")
}

fn bottleneck(senders: usize) -> PortIndex {
    PortIndex::from_index(2 * senders)
}

fn run(network: Network, apps: Vec<Box<dyn Application>>, until: Time) -> Simulation<Deliveries> {
    let mut simulation = Simulation::new(network, Deliveries::default());
    for app in apps {
        simulation.add_application(app);
    }
    assert_eq!(simulation.run(until, u64::MAX), Ok(Status::Done));
    simulation.check_conservation();
    check_drops(&simulation);
    simulation
}

/// The drops counted by flows, ports and the whole run are the same.
fn check_drops<P: Probe>(simulation: &Simulation<P>) {
    let flows = (0..simulation.flow_count()).map(FlowIndex::from_index);
    let by_flow: u64 = flows.map(|flow| simulation.flow(flow).dropped).sum();
    let network = simulation.network();
    let by_port: u64 = network
        .ports()
        .map(|port| network.counters(port).dropped)
        .sum();
    let totals = simulation.totals().drops;
    assert_eq!((by_flow, by_port), (totals, totals));
}

/// Datagrams at a constant rate of bytes on the wire.
fn constant(from: usize, senders: usize, size: u64, megabits: u64, stop: Time) -> Datagrams {
    let gap = Gap::Constant(Span::from_ns(size * 8_000 / megabits));
    Datagrams::new((from, senders), size - HEADERS, gap, stop)
}

#[test]
fn backlogged_flows_share_bytes_whatever_their_packets() {
    // Shreedhar and Varghese, lemmas 1 and 2: after m turns a backlogged flow has sent between m Q
    // - (Max - 1) and m Q bytes. Two of them are at most one turn apart. In any interval the
    // difference is at most Q + 2 Max, from the beginning of both backlogs at most Q + Max.
    let sizes = [(1_500, 300), (1_500, 1_100), (1_300, 700)];
    for (quantum, (large, small)) in [1_500, 3_000, 500, 9_000]
        .into_iter()
        .zip(sizes.into_iter().cycle())
    {
        let kind = fair(quantum, FairDrop::Longest);
        let network = network(2, kind, PortBuffer::Unlimited);
        let end = us(20_000);
        let apps: Vec<Box<dyn Application>> = vec![
            Box::new(constant(0, 2, large, 2_000, end)),
            Box::new(constant(1, 2, small, 1_500, end)),
        ];
        let simulation = run(network, apps, end);
        // From the instant on at which both wait.
        let mut lead: i64 = 0;
        let mut leads = vec![];
        let served = simulation.probe().0.iter().filter(|one| one.at > us(50));
        for Delivery { flow, bytes, .. } in served {
            let sign = if flow.index() == 0 { 1 } else { -1 };
            lead += sign * (bytes + HEADERS).cast_signed();
            leads.push(lead);
        }
        let (most, least) = (leads.iter().max(), leads.iter().min());
        let spread = most.zip(least).map(|(most, least)| most.abs_diff(*least));
        println!("quantum {quantum}, {large} and {small} B: apart by {spread:?} B at the most");
        assert!(spread.is_some_and(|spread| spread <= quantum + 2 * large));
        assert!(leads.len() > 1_500, "{} packets", leads.len());
        // And from the beginning.
        let [a, b] = [(0, large), (1, small)].map(|(flow, size)| {
            let payload = simulation.probe().bytes(flow);
            payload / (size - HEADERS) * size
        });
        assert!(a.abs_diff(b) <= quantum + large, "{a} B and {b} B");
    }
}

/// Shares of the link: (hog, TCP) in 400 ms.
fn hog_and_tcp(kind: PortKind) -> (f64, f64) {
    let end = us(400_000);
    let network = network(2, kind, packets(100));
    let apps: Vec<Box<dyn Application>> = vec![
        // Three times its fair share of 500 Mbit/s.
        Box::new(constant(0, 2, 1_500, 1_500, end)),
        Box::new(Bulk::new((1, 2), Time::ZERO, ENDLESS, Algo::NewReno)),
    ];
    let simulation = run(network, apps, end);
    let capacity = 0.4 * 125e6;
    let share = |flow| simulation.probe().bytes(flow) as f64 / capacity;
    (share(0), share(1))
}

#[test]
fn a_hog_does_not_take_a_tcp_flows_half() {
    let (hog, tcp) = hog_and_tcp(fair(1_500, FairDrop::Longest));
    println!("deficit round robin: hog {hog:.3}, TCP {tcp:.3}");
    // The hog's datagrams carry 1472 of 1500 B, TCP's segments 1460: halves are 0.491 and 0.487. TCP
    // keeps its half only while it is backlogged, hence the percent.
    assert!((hog - 0.491).abs() < 0.01, "{hog}");
    assert!((tcp - 0.487).abs() < 0.01, "{tcp}");
    let (hog, tcp) = hog_and_tcp(PortKind::General);
    println!("one queue: hog {hog:.3}, TCP {tcp:.3}");
    assert!(tcp < 0.05 && hog > 0.9, "{hog}, {tcp}");
}

#[test]
fn pushing_out_from_the_longest_queue_protects_a_small_flow() {
    let end = us(100_000);
    let dropped = |drop| {
        let gap = Gap::Exponential(Span::from_us(200));
        let apps: Vec<Box<dyn Application>> = vec![
            Box::new(constant(0, 2, 1_500, 3_000, end)),
            Box::new(Datagrams::new((1, 2), 972, gap, end)),
        ];
        let simulation = run(network(2, fair(1_500, drop), packets(20)), apps, end);
        [0, 1].map(|flow| simulation.flow(FlowIndex::from_index(flow)).dropped)
    };
    // The small flow brings 40 Mbit/s of its 500, so its queue is never the longest.
    let [hog, small] = dropped(FairDrop::Longest);
    assert!(hog > 10_000 && small == 0, "{hog} and {small} drops");
    // Without it the hog takes each place soon after it is free.
    let [hog, small] = dropped(FairDrop::Arriving);
    assert!(hog > 10_000 && small > 250, "{hog} and {small} drops");
}

#[test]
fn a_pushed_out_packet_is_its_own_flows_drop() {
    // A port for four packets. Flow 0 brings five of 1500 B, at 6.2, 7.4, 8.6, 9.8 and 11.0 us. One
    // is sent until 18.2 us, three wait, the fifth finds its own queue the longest and is refused.
    // Flow 1 brings one of 1000 B (0.8 us + 5 us after 6 us): it takes the place of the fourth.
    let stop = Time::ZERO + Span::from_ns(4_801);
    let kind = fair(1_500, FairDrop::Longest);
    let mut simulation = Simulation::new(network(2, kind, packets(4)), Deliveries::default());
    simulation.add_application(Box::new(constant(0, 2, 1_500, 10_000, stop)));
    simulation.run(us(6), u64::MAX).expect("no loop");
    let once = Gap::Constant(Span::from_secs(1));
    simulation.add_application(Box::new(Datagrams::new((1, 2), 972, once, us(6))));
    let drops_at = |simulation: &mut Simulation<Deliveries>, ns| {
        let until = Time::ZERO + Span::from_ns(ns);
        simulation.run(until, u64::MAX).expect("no loop");
        simulation.check_conservation();
        check_drops(simulation);
        [0, 1].map(|flow| simulation.flow(FlowIndex::from_index(flow)).dropped)
    };
    assert_eq!(drops_at(&mut simulation, 11_799), [1, 0]);
    assert_eq!(drops_at(&mut simulation, 11_800), [2, 0]);
    assert_eq!(drops_at(&mut simulation, 100_000), [2, 0]);
    // Flow 0 is first in turn: its second ends at 30.2 us, flow 1's packet at 38.2 us, flow 0's
    // third at 50.2 us.
    let expected = [(23_200, 0), (35_200, 0), (43_200, 1), (55_200, 0)];
    let served = simulation.probe().0.iter();
    let served: Vec<_> = served
        .map(|one| ((one.at - Time::ZERO).as_ps() / 1_000, one.flow.index()))
        .collect();
    assert_eq!(served, expected);
    // Accepted bytes are those that were sent in the end.
    let counters = simulation.network().counters(bottleneck(2));
    assert_eq!((counters.offered, counters.dropped), (6, 2));
    assert_eq!(counters.accepted_bytes, 3 * 1_500 + 1_000);
}

#[test]
fn the_line_works_whenever_something_waits() {
    // Packets of one size: the instants of the departures are those of one queue, whosoever goes
    // first. Packets of several sizes: each busy period is as long.
    let end = us(30_000);
    let times = |kind, sizes: [u64; 3]| {
        let apps = sizes.iter().enumerate().map(|(from, size)| {
            let gap = Gap::Exponential(Span::from_ns(size * 30));
            Box::new(Datagrams::new((from, 3), size - HEADERS, gap, end)) as Box<dyn Application>
        });
        let network = network(3, kind, PortBuffer::Unlimited);
        run(network, apps.collect(), us(60_000)).probe().times()
    };
    for quantum in [100, 1_500, 4_000] {
        let kind = fair(quantum, FairDrop::Longest);
        let equal = times(kind, [900; 3]);
        assert_eq!(equal, times(PortKind::General, [900; 3]));
        let mixed = [
            times(kind, [1_500, 700, 100]),
            times(PortKind::General, [1_500, 700, 100]),
        ];
        assert_eq!(mixed[0].len(), mixed[1].len());
        assert_eq!(mixed[0].last(), mixed[1].last());
    }
}

#[test]
fn a_single_flow_sees_no_difference() {
    // Push-outs too: its own queue is always the longest, so what arrives is refused.
    for drop in [FairDrop::Longest, FairDrop::Arriving] {
        let digest = |kind| {
            let bulk = Bulk::new((0, 1), Time::ZERO, ENDLESS, Algo::NewReno);
            let simulation = run(
                network(1, kind, packets(20)),
                vec![Box::new(bulk)],
                us(100_000),
            );
            assert!(simulation.totals().drops > 0);
            (simulation.digest(), simulation.probe().times())
        };
        assert_eq!(digest(fair(1_500, drop)), digest(PortKind::General));
        assert_eq!(digest(fair(40, drop)), digest(PortKind::General));
    }
}

#[test]
fn a_fair_port_bears_a_rate_that_changes() {
    let mut builder = NetworkBuilder::new(1);
    let switch = Node::Switch(builder.switch("switch", SwitchConfig::default()));
    let rate = |megabits: u64| Rate::from_bits_per_second(megabits * 1_000_000);
    let link = || LinkConfig::unlimited(rate(10_000), Span::from_us(1));
    for name in ["sender", "receiver"] {
        let host = Node::Host(builder.host(name, HostConfig::default()));
        let down = LinkConfig {
            kind: fair(1_500, FairDrop::Longest),
            schedule: vec![RateChange {
                at: us(30),
                rate: rate(500),
            }],
            ..LinkConfig::unlimited(rate(1_000), Span::from_us(1))
        };
        builder.link(host, switch, link(), down);
    }
    let gap = Gap::Constant(Span::from_ns(1_200));
    let app = Datagrams::new((0, 1), 1_472, gap, us(5));
    let network = builder.build().expect("connected");
    let simulation = run(network, vec![Box::new(app)], us(1_000));
    // As in rate_changes: from 2.2 us on 12 us each, 24 us for what begins after 30 us.
    let expected = [15_200, 27_200, 39_200, 63_200, 87_200];
    let expected = expected.map(|ns| Time::ZERO + Span::from_ns(ns));
    assert_eq!(simulation.probe().times(), expected);
}

fn build_fair_with(memory: Option<SharedBuffer>, queue: &QueueConfig, at_host: bool) {
    let rate = Rate::from_bits_per_second(1_000_000_000);
    let mut builder = NetworkBuilder::new(1);
    let switch = Node::Switch(builder.switch(
        "switch",
        SwitchConfig {
            memory,
            ..SwitchConfig::default()
        },
    ));
    let host = Node::Host(builder.host("host", HostConfig::default()));
    let fair = LinkConfig {
        kind: fair(1_500, FairDrop::Longest),
        marker: queue.build(rate),
        ..LinkConfig::unlimited(rate, Span::ZERO)
    };
    let other = LinkConfig::unlimited(rate, Span::ZERO);
    if at_host {
        builder.link(host, switch, fair, other);
    } else {
        builder.link(switch, host, fair, other);
    }
}

#[test]
#[should_panic(expected = "queues of several lanes have a memory per port")]
fn a_shared_memory_is_refused() {
    let memory = SharedBuffer::new(Bytes::new(100_000), 1.0);
    build_fair_with(Some(memory), &QueueConfig::DropTail, false);
}

#[test]
#[should_panic(expected = "queues of several lanes are at switches")]
fn a_fair_nic_is_refused() {
    build_fair_with(None, &QueueConfig::DropTail, true);
}

fn buffers() -> impl Strategy<Value = PortBuffer> {
    prop_oneof![
        (1..30_u64).prop_map(packets),
        (100..30_000_u64).prop_map(|bytes| PortBuffer::Limited(Amount::Bytes(Bytes::new(bytes)))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(32)))]

    #[test]
    fn nothing_is_lost_but_what_is_dropped(
        buffer in buffers(),
        quantum in prop_oneof![1..100_u64, 100..10_000_u64],
        longest: bool,
        sizes in prop::collection::vec((30..1_500_u64, 2_000..60_000_u64), 1..6),
        transfers in prop::collection::vec((0..5_000_u64, 1_000..400_000_u64), 0..4),
    ) {
        let drop = if longest { FairDrop::Longest } else { FairDrop::Arriving };
        let end = us(20_000);
        let senders = sizes.len() + transfers.len();
        let once = || {
            let mut apps: Vec<Box<dyn Application>> = vec![];
            for (from, &(size, gap)) in sizes.iter().enumerate() {
                let gap = Gap::Exponential(Span::from_ns(gap));
                apps.push(Box::new(Datagrams::new((from, senders), size - HEADERS, gap, end)));
            }
            for (index, &(start, bytes)) in transfers.iter().enumerate() {
                let ends = (sizes.len() + index, senders);
                apps.push(Box::new(Bulk::new(ends, us(start), bytes, Algo::NewReno)));
            }
            let simulation = run(network(senders, fair(quantum, drop), buffer), apps, end);
            (simulation.digest(), simulation.totals())
        };
        prop_assert_eq!(once(), once());
    }
}
