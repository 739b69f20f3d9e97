//! Pauses at hosts, for every transport: times by hand, priorities that are not paused, incasts without loss.

use std::sync::Arc;

use crate::common::lossless::Lossless;
use crate::common::{Algo, Bulk, Datagrams, ENDLESS, Gap};
use incastle_congestion::{Algorithm, Udt, UdtConfig};
use incastle_engine::core::{FlowIndex, HostIndex, PortIndex, Side};
use incastle_engine::flow::{
    Actions, Application, FlowSpec, Framing, Notice, TransportSpec, UdtStart,
};
use incastle_engine::layout::PrefetchHints;
use incastle_engine::network::{HostConfig, JitterAppliesTo};
use incastle_engine::probe::{NoProbe, Probe};
use incastle_engine::{Simulation, Totals};
use incastle_queueing::{PauseThreshold, PortBuffer, Priority};
use incastle_transport::udt;
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};

const GIGABIT: Rate = Rate::from_bits_per_second(1_000_000_000);
const LOSSLESS: u8 = 3;

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// The instants at which each flow delivers data, in nanoseconds.
#[derive(Default)]
struct Deliveries(Vec<(usize, u64)>);

impl PrefetchHints for Deliveries {}

impl Probe for Deliveries {
    fn delivered(&mut self, flow: FlowIndex, _: HostIndex, at: Time, _: Bytes) {
        self.0.push((flow.index(), at.as_ps()));
    }
}

/// Senders at 1 Gbit/s, the last host at a tenth; the third packet of 1500 bytes in an account pauses, and the last one
/// that leaves resumes.
fn slow_receiver() -> Lossless {
    Lossless {
        senders: 2,
        rate: GIGABIT,
        last_rate: Rate::from_bits_per_second(100_000_000),
        threshold: PauseThreshold::Static {
            xoff: Bytes::new(4_000),
            xon: Bytes::ZERO,
        },
        ..Lossless::default()
    }
}

fn tcp(from: usize, to: usize, bytes: u64) -> Bulk {
    let mut bulk = Bulk::new((from, to), Time::ZERO, bytes, Algo::NewReno);
    bulk.class = LOSSLESS;
    bulk
}

/// Runs applications for some milliseconds and checks conservation on the way.
fn run<P: Probe>(
    simulation: &mut Simulation<P>,
    applications: Vec<Box<dyn Application>>,
    ms: u64,
) -> Totals {
    for application in applications {
        simulation.add_application(application);
    }
    for step in 1..=100 {
        let until = Time::ZERO + Span::from_us(10 * ms) * step;
        simulation.run(until, u64::MAX).expect("time goes on");
        simulation.check_conservation();
    }
    simulation.totals()
}

/// The deliveries of one TCP flow of ten segments, and the pauses of its host.
fn ten_segments(network: Lossless, captured: bool) -> Vec<u64> {
    let network = network.build();
    let nic = network.ports().next().expect("host 0 was linked first");
    let mut simulation = Simulation::new(network, Deliveries::default());
    if captured {
        simulation.capture(&[nic]);
    }
    run(&mut simulation, vec![Box::new(tcp(0, 2, 14_600))], 10);
    let priority = Priority::new(LOSSLESS).expect("it is one of eight");
    let pauses = simulation.network().pauses(nic, priority, simulation.now());
    let pauses = pauses.expect("the host was paused");
    // From 38,512 ns to 494,512 ns, and from 533,024 ns to 989,024 ns.
    assert_eq!((pauses.pauses, pauses.expired), (2, 0));
    assert_eq!(pauses.paused_for, Span::from_ns(456_000 + 456_000));
    let deliveries = simulation.probe().0.iter();
    deliveries.map(|(_, at)| *at).collect()
}

/// Segments of 12 us each. The third is whole at the switch at 37 us; a frame of 512 ns and 1 us later the fourth is being
/// sent, and is finished; the NIC has the fifth ahead, and takes it back. The switch sends each segment in 120 us, from
/// 13 us on: at 493 us the fourth has left, and 1512 ns later the fifth begins at the host. The next pause comes 38,512 ns
/// after that, and so on.
fn by_hand() -> Vec<u64> {
    let first = [134_000, 254_000, 374_000, 494_000];
    let starts = [0, 494_512, 989_024];
    let all = starts
        .iter()
        .flat_map(|start| first.map(|at| (start + at) * 1_000));
    all.take(10).collect()
}

#[test]
fn a_pause_stops_tcp_at_the_boundary_of_frames() {
    assert_eq!(ten_segments(slow_receiver(), false), by_hand());
}

#[test]
fn a_port_with_departure_events_gives_the_same_times() {
    assert_eq!(ten_segments(slow_receiver(), true), by_hand());
}

#[test]
fn a_nic_with_a_capacity_gives_the_same_times() {
    let limited = Lossless {
        nic: PortBuffer::Limited(Amount::Packets(Packets::new(20))),
        ..slow_receiver()
    };
    assert_eq!(ten_segments(limited, false), by_hand());
}

#[test]
fn a_pause_of_a_host_lasts_by_its_refreshes() {
    // A hundred quanta are 51.2 us at 1 Gbit/s: each pause is refreshed 17 times, and ends when it did before.
    let brief = Lossless {
        quanta: Some(100),
        ..slow_receiver()
    };
    assert_eq!(ten_segments(brief, false), by_hand());
}

/// Datagrams of 1500 bytes back to back in another priority, from the host that is paused to another one.
#[test]
fn another_priority_has_the_line_meanwhile() {
    let mut other = Datagrams::new((0, 1), 1_472, Gap::Constant(Span::from_us(12)), at_us(400));
    other.class = 0;
    let network = slow_receiver().build();
    let mut simulation = Simulation::new(network, Deliveries::default());
    let applications: Vec<Box<dyn Application>> =
        vec![Box::new(tcp(0, 2, 14_600)), Box::new(other)];
    run(&mut simulation, applications, 10);
    let of = |flow| {
        let deliveries = simulation.probe().0.iter();
        deliveries.filter(move |one| one.0 == flow).map(|one| one.1)
    };
    assert_eq!(of(0).count(), 10);
    // While TCP waits, each datagram follows another on the line: 12 us apart.
    let paused = 150_000_000..400_000_000;
    let meanwhile: Vec<u64> = of(1).filter(|at| paused.contains(at)).collect();
    assert!(meanwhile.len() > 18, "{meanwhile:?}");
    assert!(
        meanwhile
            .windows(2)
            .all(|pair| pair[1] - pair[0] == 12_000_000),
        "{meanwhile:?}"
    );
}

/// A UDT flow that writes once.
struct UdtBulk {
    from: usize,
    to: usize,
    bytes: Option<u64>,
}

impl Application for UdtBulk {
    fn handle(&mut self, _: Time, _: Notice, _: &mut Actions) {}

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        let packet = Bytes::new(1_456);
        let controller = || Algorithm::Udt(Udt::new(UdtConfig { packet }));
        let flow = actions.open(FlowSpec {
            from: HostIndex::from_index(self.from),
            to: HostIndex::from_index(self.to),
            transport: TransportSpec::Udt {
                config: Arc::new(udt::Config::default()),
                controllers: Box::new([controller(), controller()]),
                start: UdtStart::Connected(Span::from_us(10)),
                send_buffer: None,
            },
            framing: Framing {
                class: LOSSLESS,
                ..Framing::IP
            },
            watched: false,
            recorded: false,
        });
        let bytes = self.bytes.take().expect("it writes once");
        actions.write(flow.endpoint(Side::Initiator), bytes);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.bytes.is_some().then_some(Time::ZERO)
    }
}

/// From each of the eight senders a flow to the last host: TCP, UDT and datagrams.
fn senders() -> Vec<Box<dyn Application>> {
    let datagrams = |from| {
        let mut app = Datagrams::new(
            (from, 8),
            1_472,
            Gap::Constant(Span::from_ns(150)),
            at_us(2_000),
        );
        app.class = LOSSLESS;
        app
    };
    let each = |from| -> Box<dyn Application> {
        match from % 3 {
            0 => Box::new(tcp(from, 8, ENDLESS)),
            1 => Box::new(UdtBulk {
                from,
                to: 8,
                bytes: Some(50_000_000),
            }),
            _ => Box::new(datagrams(from)),
        }
    };
    (0..8).map(each).collect()
}

/// The drops of an incast of all transports behind a trunk, and the hosts that were paused.
fn incast(network: Lossless) -> (u64, Vec<usize>) {
    let (network, trunk) = network.behind_a_trunk();
    let mut simulation = Simulation::new(network, NoProbe);
    let totals = run(&mut simulation, senders(), 5);
    let paused = |port| pauses(&simulation, port) > 0;
    assert!(paused(trunk), "the trunk is paused");
    let hosts = (0..8).filter(|host| paused(PortIndex::from_index(2 + 2 * host)));
    (totals.drops, hosts.collect())
}

fn pauses<P: Probe>(simulation: &Simulation<P>, port: PortIndex) -> u64 {
    let priority = Priority::new(LOSSLESS).expect("it is one of eight");
    let now = simulation.now();
    let pauses = simulation.network().pauses(port, priority, now);
    pauses.map_or(0, |one| one.pauses)
}

#[test]
fn an_incast_of_all_transports_loses_nothing() {
    let slow = Lossless {
        last_rate: Rate::from_bits_per_second(25_000_000_000),
        ..Lossless::default()
    };
    // UDT is slow in its first milliseconds.
    assert_eq!(incast(slow), (0, vec![0, 2, 3, 5, 6]));
    // Jitter delays packets before the NIC, which stops them all the same.
    let jittery = Lossless {
        host: HostConfig {
            jitter: Span::from_us(20),
            jitter_applies_to: JitterAppliesTo::All,
            ..HostConfig::default()
        },
        ..slow
    };
    assert_eq!(incast(jittery).0, 0);
    let unpaused = Lossless {
        quanta: None,
        ..slow
    };
    let mut simulation = Simulation::new(unpaused.behind_a_trunk().0, NoProbe);
    let totals = run(&mut simulation, senders(), 5);
    assert!(totals.drops > 0, "without pauses the senders are too fast");
}

#[test]
fn udt_and_datagrams_are_paused_too() {
    let udt = UdtBulk {
        from: 0,
        to: 2,
        bytes: Some(145_600),
    };
    let mut datagrams = Datagrams::new(
        (0, 2),
        1_472,
        Gap::Constant(Span::from_us(12)),
        at_us(1_200),
    );
    datagrams.class = LOSSLESS;
    let applications: [Box<dyn Application>; 2] = [Box::new(udt), Box::new(datagrams)];
    for application in applications {
        let network = slow_receiver().build();
        let nic = network.ports().next().expect("host 0 was linked first");
        let mut simulation = Simulation::new(network, Deliveries::default());
        let totals = run(&mut simulation, vec![application], 50);
        assert_eq!(totals.drops, 0);
        assert!(pauses(&simulation, nic) > 10);
        assert_eq!(simulation.probe().0.len(), 100, "every packet is delivered");
    }
}

#[test]
fn a_nic_with_a_capacity_drops_in_its_place() {
    // Datagrams do not wait at a NIC of twenty packets: what the pauses hold is lost there, and nothing in a switch.
    let limited = Lossless {
        last_rate: Rate::from_bits_per_second(25_000_000_000),
        nic: PortBuffer::Limited(Amount::Packets(Packets::new(20))),
        ..Lossless::default()
    };
    let network = limited.build();
    let mut simulation = Simulation::new(network, NoProbe);
    let totals = run(&mut simulation, senders(), 5);
    assert!(totals.drops > 0);
    let network = simulation.network();
    let at_switch = network.ports().filter(|port| port.index() % 2 == 1);
    assert_eq!(
        at_switch
            .map(|port| network.counters(port).dropped)
            .sum::<u64>(),
        0
    );
}

#[test]
fn a_link_that_fails_forgets_its_pauses() {
    // Host 0 is paused from 38,512 ns on; its link fails at 60 us, and recovers at 100 us. The switch sends what it has,
    // until 494 us, and the account pauses nobody; TCP sends the rest after its timeout.
    let failing = Lossless {
        outage: Some([60, 100]),
        ..slow_receiver()
    };
    let network = failing.build();
    let nic = network.ports().next().expect("host 0 was linked first");
    let mut simulation = Simulation::new(network, Deliveries::default());
    let mut transfer = tcp(0, 2, 14_600);
    transfer.config.rto.min = Span::from_us(700);
    transfer.config.rto.initial = Span::from_us(700);
    run(&mut simulation, vec![Box::new(transfer)], 10);
    let at = simulation.probe().0.iter().map(|(_, at)| *at / 1_000);
    let at: Vec<u64> = at.collect();
    assert_eq!(at[..4], [134_000, 254_000, 374_000, 494_000]);
    assert_eq!(at.len(), 10, "everything is delivered: {at:?}");
    let priority = Priority::new(LOSSLESS).expect("it is one of eight");
    let pauses = simulation.network().pauses(nic, priority, simulation.now());
    let pauses = pauses.expect("the host was paused");
    // The first pause ended with the link.
    assert_eq!(pauses.pauses, pauses.resume_frames + 1);
    assert!(pauses.paused_for >= Span::from_ns(60_000 - 38_512));
}
