//! Links whose rate changes: departures worked by hand, throughput, NICs, conservation.

use crate::common::{Algo, Bulk, Datagrams, ENDLESS, Gap};
use incastle_cases::cases;
use incastle_engine::core::{FlowIndex, HostIndex, Node, PortIndex};
use incastle_engine::flow::Application;
use incastle_engine::layout::PrefetchHints;
use incastle_engine::network::{
    HostConfig, LinkConfig, Network, NetworkBuilder, PortKind, RateChange, SwitchConfig,
};
use incastle_engine::probe::Probe;
use incastle_engine::{Simulation, Status};
use incastle_queueing::PortBuffer;
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};
use proptest::prelude::*;

type Schedule = Vec<(Time, Rate)>;

const DELAY: Span = Span::from_us(1);
/// IP and UDP headers.
const HEADERS: u64 = 28;
/// The first link made, and the port from the switch to the receiver.
const SENDERS_PORT: usize = 0;

fn mbit(megabits: u64) -> Rate {
    Rate::from_bits_per_second(megabits * 1_000_000)
}

fn at(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// When data reached applications, and how much waited where it was sampled.
#[derive(Default)]
struct Watch {
    deliveries: Vec<(Time, u64)>,
    samples: Vec<u64>,
}

impl PrefetchHints for Watch {}

impl Probe for Watch {
    fn delivered(&mut self, _: FlowIndex, _: HostIndex, at: Time, bytes: Bytes) {
        self.deliveries.push((at, bytes.count()));
    }

    fn sampled(&mut self, _: PortIndex, _: Time, _: u32, bytes: Bytes) {
        self.samples.push(bytes.count());
    }
}

/// Senders on fast links, a switch, and a receiver on a separate link.
struct Net {
    up: (Rate, Schedule),
    down: (Rate, Schedule),
    senders: usize,
    buffer: PortBuffer,
    kind: PortKind,
    jitter: Span,
}

impl Net {
    /// One sender.
    fn new(up: (Rate, Schedule), down: (Rate, Schedule)) -> Self {
        Self {
            up,
            down,
            senders: 1,
            buffer: PortBuffer::Unlimited,
            kind: PortKind::Fast,
            jitter: Span::ZERO,
        }
    }

    fn build(&self) -> Network {
        let mut builder = NetworkBuilder::new(1);
        let switch = Node::Switch(builder.switch("switch", SwitchConfig::default()));
        let host = HostConfig {
            jitter: self.jitter,
            ..HostConfig::default()
        };
        for index in 0..self.senders {
            let sender = Node::Host(builder.host(format!("sender:{index}"), host));
            let up = self.link(&self.up, PortBuffer::Unlimited);
            builder.link(sender, switch, up, self.link(&self.up, self.buffer));
        }
        let receiver = Node::Host(builder.host("receiver", host));
        let down = self.link(&self.down, self.buffer);
        let back = self.link(&self.down, PortBuffer::Unlimited);
        builder.link(switch, receiver, down, back);
        builder.build().expect("a star is connected")
    }

    fn link(&self, (rate, schedule): &(Rate, Schedule), buffer: PortBuffer) -> LinkConfig {
        LinkConfig {
            schedule: schedule
                .iter()
                .map(|&(at, rate)| RateChange { at, rate })
                .collect(),
            buffer,
            kind: self.kind,
            ..LinkConfig::unlimited(*rate, DELAY)
        }
    }

    /// The port to the receiver.
    fn bottleneck(&self) -> PortIndex {
        PortIndex::from_index(2 * self.senders)
    }

    fn run(&self, apps: Vec<Box<dyn Application>>, until: Time) -> Simulation<Watch> {
        let mut simulation = Simulation::new(self.build(), Watch::default());
        for app in apps {
            simulation.add_application(app);
        }
        assert_eq!(simulation.run(until, u64::MAX), Ok(Status::Done));
        simulation.check_conservation();
        simulation
    }
}

/// `count` datagrams of 1500 B on the wire, 1.2 us apart: back to back at 10 Gbit/s.
fn train(count: u64) -> Vec<Box<dyn Application>> {
    let stop = at(1_200 * (count - 1) + 1);
    let gap = Gap::Constant(Span::from_ns(1_200));
    vec![Box::new(Datagrams::new((0, 1), 1_472, gap, stop))]
}

fn arrivals(down: (Rate, Schedule), apps: Vec<Box<dyn Application>>) -> Vec<Time> {
    let net = Net::new((mbit(10_000), vec![]), down);
    let simulation = net.run(apps, at(10_000_000));
    let deliveries = &simulation.probe().deliveries;
    deliveries.iter().map(|(at, _)| *at).collect()
}

#[test]
fn the_packet_being_sent_ends_at_the_old_rate() {
    // The first packet is at the switch after 1.2 us + 1 us = 2.2 us. At 1 Gbit/s one takes 12 us:
    //   1: 2.2 to 14.2     2: to 26.2     3: to 38.2, over the change at 30 us.
    // At 500 Mbit/s one takes 24 us:
    //   4: to 62.2         5: to 86.2     6: to 110.2, over the change at 100 us.
    // At 2 Gbit/s one takes 6 us:
    //   7: to 116.2        8: to 122.2
    // and the last bit is at the receiver 1 us later.
    let schedule = vec![(at(30_000), mbit(500)), (at(100_000), mbit(2_000))];
    let departures = [
        14_200, 26_200, 38_200, 62_200, 86_200, 110_200, 116_200, 122_200,
    ];
    let expected = departures.map(|ns| at(ns) + DELAY);
    assert_eq!(arrivals((mbit(1_000), schedule), train(8)), expected);
}

#[test]
fn a_packet_that_begins_at_the_instant_of_the_change_goes_at_the_old_rate() {
    // Departures and arrivals come before the change. Packet 2 begins at 14.2 us, the change is
    // then: 24 us to the end only from packet 3 on.
    let arrived = |change| arrivals((mbit(1_000), vec![(change, mbit(500))]), train(3));
    let expected = [14_200, 26_200, 50_200].map(|ns| at(ns) + DELAY);
    assert_eq!(arrived(at(14_200)), expected);
    // A picosecond before it is in time for packet 2.
    let expected = [14_200, 38_200, 62_200].map(|ns| at(ns) + DELAY);
    assert_eq!(arrived(Time::from_ps(at(14_200).as_ps() - 1)), expected);
    // The same on an idle line: packet 1 arrives at 2.2 us.
    let expected = [14_200, 38_200, 62_200].map(|ns| at(ns) + DELAY);
    assert_eq!(arrived(at(2_200)), expected);
    let expected = [26_200, 50_200, 74_200].map(|ns| at(ns) + DELAY);
    assert_eq!(arrived(Time::from_ps(at(2_200).as_ps() - 1)), expected);
}

#[test]
fn a_change_at_time_zero_is_the_rate_of_the_link() {
    let rate = Rate::from_bits_per_second(333_333_333);
    let digest = |first: Rate, schedule: &Schedule| {
        let link = (first, schedule.clone());
        let mut net = Net::new(link.clone(), link);
        net.senders = 3;
        net.jitter = Span::from_us(2);
        net.buffer = PortBuffer::Limited(Amount::Packets(Packets::new(20)));
        net.kind = PortKind::General;
        net.run(mix(3), at(20_000_000)).digest()
    };
    let changed = digest(mbit(1_000), &vec![(Time::ZERO, rate)]);
    assert_eq!(changed, digest(rate, &vec![]));
    assert_ne!(changed, digest(mbit(1_000), &vec![]));
}

#[test]
fn the_throughput_is_the_rate_before_and_after() {
    // 2 Gbit/s are offered for 30 ms to a link of 1 Gbit/s that has 250 Mbit/s for 10 ms. Its
    // packets follow each other without a gap.
    let gap = Gap::Constant(Span::from_us(6));
    let app = Datagrams::new((0, 1), 1_472, gap, at(30_000_000));
    let schedule = vec![(at(10_000_000), mbit(250)), (at(20_000_000), mbit(1_000))];
    let net = Net::new((mbit(10_000), vec![]), (mbit(1_000), schedule));
    let simulation = net.run(vec![Box::new(app)], at(30_001_000));
    let within = |from: u64, to: u64| -> u64 {
        let deliveries = simulation.probe().deliveries.iter();
        let window = at(from) + DELAY..at(to) + DELAY;
        deliveries
            .filter(|(at, _)| window.contains(at))
            .map(|(_, bytes)| bytes + HEADERS)
            .sum()
    };
    // The packet in transmission at 20 ms continues at 250 Mbit/s for up to 48 us, in which the
    // link could carry 6000 B.
    for (from, to, rate, lost) in [
        (0, 10_000_000, 1_000, 1_500),
        (10_000_000, 20_000_000, 250, 1_500),
        (20_000_000, 30_000_000, 1_000, 6_000),
    ] {
        let carried = within(from, to);
        let capacity: u64 = rate * 1_000_000 / 8 / 100;
        println!("{rate} Mbit/s: {carried} of {capacity} B");
        assert!(capacity.abs_diff(carried) <= lost);
        let reported = simulation
            .network()
            .capacity_lossy(net.bottleneck(), at(from), at(to));
        assert!((reported - capacity as f64).abs() < 1e-6);
    }
    // Halves of two pieces, and a link that never changes.
    let capacity = |port, from, to| {
        let network = simulation.network();
        network.capacity_lossy(port, at(from), at(to))
    };
    let both = capacity(net.bottleneck(), 5_000_000, 15_000_000);
    assert!((both - (625_000.0 + 156_250.0)).abs() < 1e-6);
    let never = capacity(PortIndex::from_index(SENDERS_PORT), 0, 1_000);
    assert!((never - 1_250.0).abs() < 1e-6);
}

/// Two endless flows of one host, whose NIC's link changes its rate again and again.
fn nic(schedule: Schedule, until: Time) -> Simulation<Watch> {
    let net = Net::new((mbit(10_000), schedule), (mbit(40_000), vec![]));
    let mut simulation = Simulation::new(net.build(), Watch::default());
    for _ in 0..2 {
        let bulk = Bulk::new((0, 1), Time::ZERO, ENDLESS, Algo::NewReno);
        simulation.add_application(Box::new(bulk));
    }
    let ports = vec![PortIndex::from_index(SENDERS_PORT)];
    simulation.sample_queues(ports, Span::from_ns(97));
    assert_eq!(simulation.run(until, u64::MAX), Ok(Status::Done));
    simulation.check_conservation();
    simulation
}

#[test]
fn a_nic_is_never_idle_and_never_overfull() {
    // Twenty times slower, twenty times faster, at instants that fall anywhere within a packet.
    let changes: Schedule = (1..40)
        .map(|index| {
            let rate = if index % 2 == 1 { 500 } else { 10_000 };
            (at(1_000_000 * index + 137 * index), mbit(rate))
        })
        .collect();
    let simulation = nic(changes, at(40_000_000));
    let probe = simulation.probe();
    // Never dry: each packet has one rate or the other, and the next follows immediately. The link to
    // the receiver adds the same to all.
    let times: Vec<Time> = probe.deliveries.iter().map(|(at, _)| *at).collect();
    let warm = times.partition_point(|time| *time < at(500_000));
    let (fast, slow) = (Span::from_ns(1_200), Span::from_ns(24_000));
    for pair in times[warm..].windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap == fast || gap == slow, "{gap:?} before {:?}", pair[1]);
    }
    // Never full: two frames wait at most, in addition to the one being sent.
    let fullest = probe.samples.iter().max();
    assert!(fullest.is_some_and(|bytes| (1_500..=3_000).contains(bytes)));
}

#[test]
fn a_change_to_the_present_rate_changes_nothing() {
    let rate = Rate::from_bits_per_second(333_333_333);
    for jitter in [Span::ZERO, Span::from_us(2)] {
        let run = |schedule: &Schedule| {
            let link = (rate, schedule.clone());
            let mut net = Net::new(link.clone(), link);
            net.senders = 3;
            net.jitter = jitter;
            net.buffer = PortBuffer::Limited(Amount::Packets(Packets::new(20)));
            let simulation = net.run(mix(3), at(20_000_000));
            let deliveries = simulation.probe().deliveries.clone();
            (simulation.digest(), deliveries)
        };
        let same = run(&vec![(at(5_000_123), rate)]);
        assert_eq!(same, run(&vec![]));
    }
}

/// A bulk flow, a transfer and datagrams, each from a separate sender.
fn mix(senders: usize) -> Vec<Box<dyn Application>> {
    let datagrams = |from| {
        let gap = Gap::Exponential(Span::from_us(60));
        Datagrams::new((from, senders), 700, gap, at(20_000_000))
    };
    let mut apps: Vec<Box<dyn Application>> = vec![
        Box::new(Bulk::new((0, senders), Time::ZERO, ENDLESS, Algo::NewReno)),
        Box::new(Bulk::new(
            (1, senders),
            at(1_000_000),
            300_000,
            Algo::NewReno,
        )),
    ];
    for from in 2..senders {
        apps.push(Box::new(datagrams(from)));
    }
    apps
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let change = (1..4_000_u64, 50..3_000_u64);
    prop::collection::vec(change, 0..12).prop_map(|changes| {
        let mut now = 0;
        let steps = changes.into_iter().map(|(after, megabits)| {
            now += after * 1_009;
            (at(now), mbit(megabits))
        });
        steps.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn nothing_is_lost_whatever_the_rates(
        up in schedules(), down in schedules(), limit in 3..40_u64, jitter in 0..20_u64,
    ) {
        let run = || {
            let mut net = Net::new((mbit(1_000), up.clone()), (mbit(700), down.clone()));
            net.senders = 4;
            net.jitter = Span::from_us(jitter);
            net.buffer = PortBuffer::Limited(Amount::Packets(Packets::new(limit)));
            let simulation = net.run(mix(4), at(30_000_000));
            (simulation.digest(), simulation.totals())
        };
        prop_assert_eq!(run(), run());
    }
}
