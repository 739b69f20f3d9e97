//! A network in partitions gives the results of one simulation, to the last bit, for any partition and
//! any order of progress.
//!
//! Random: networks with every kind of port, marker, memory, path choice, jitter, coalescing, congestion
//! notification, failures, losses, delays that reorder and changing rates. Transfers have every loss recovery, free their
//! endpoints in the end, and have timeouts so short that segments are repeated needlessly.

use std::cell::RefCell;
use std::sync::Arc;

use crate::common::degradations;
use crate::common::shapes::{Shape, ecmps, shapes};
use crate::common::{Algo, Datagrams, Gap, MSS, marking_threshold, tcp_config};
use incastle_cases::cases;
use incastle_congestion::{
    Algorithm, Dctcp, DctcpConfig, NewReno, NewRenoConfig, ReactionPointConfig, Udt, UdtConfig,
};
use incastle_engine::core::{FlowIndex, HostIndex, Node, Side};
use incastle_engine::flow::{
    Actions, Application, FlowSpec, Framing, Notice, TransportSpec, UdtStart,
};
use incastle_engine::network::{
    ClassifyBy, Coalescing, Degradation, Ecmp, FairConfig, FairDrop, HostConfig, JitterAppliesTo,
    LinkConfig, Network, NetworkBuilder, Outage, PortKind, RateChange, ReactionPointSettings,
    SwitchConfig,
};
use incastle_engine::parallel::{Messages, PartitionError, Partitioning};
use incastle_engine::probe::NoProbe;
use incastle_engine::{AllPartitions, Finished, Simulation, finish};
use incastle_queueing::{
    CongestionPointConfig, PortBuffer, QueueConfig, RedAction, RedConfig, SharedBuffer,
};
use incastle_transport::tcp::Recovery;
use incastle_transport::{tcp, udt};
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};
use proptest::prelude::*;

const END: Time = Time::from_ps(30_000_000_000);

/// The parameters of a random network.
#[derive(Debug, Clone)]
struct Net {
    shape: Shape,
    /// By link between switches: its delay in microseconds.
    delays: Vec<u64>,
    kind: PortKind,
    queue: QueueConfig,
    /// Packets per port.
    limit: u64,
    shared: bool,
    ecmp: Ecmp,
    jitter: Span,
    coalescing: Option<Coalescing>,
    notified: bool,
    /// By link between switches: up for so long, then down for so long, and so on; in microseconds.
    failures: Vec<Vec<(u64, u64)>>,
    /// By link between switches: when it slows down to a third.
    slower: Vec<Option<u64>>,
    /// By link between switches.
    degraded: Vec<Vec<Degradation>>,
    seed: u64,
}

fn us(us: u64) -> Span {
    Span::from_us(us)
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

impl Net {
    fn build(&self) -> Network {
        let mut builder = NetworkBuilder::new(self.seed);
        builder.ecmp(self.ecmp);
        builder.convergence(us(40));
        let switches: Vec<Node> = (0..self.shape.switches)
            .map(|index| {
                let memory = SharedBuffer::new(Bytes::new(self.limit * 4_000), 1.0);
                let memory = (self.shared && index % 2 == 0).then_some(memory);
                Node::Switch(builder.switch(
                    format!("s{index}"),
                    SwitchConfig {
                        memory,
                        ..SwitchConfig::default()
                    },
                ))
            })
            .collect();
        let host = HostConfig {
            jitter: self.jitter,
            jitter_applies_to: JitterAppliesTo::All,
            coalescing: self.coalescing,
            reaction_point: self.notified.then_some(ReactionPointSettings {
                template: ReactionPointConfig::new(FAST),
                queue: 2,
            }),
        };
        for (index, &switch) in self.shape.hosts.iter().enumerate() {
            let host = Node::Host(builder.host(format!("h{index}"), host));
            let up = LinkConfig::unlimited(FAST, us(2));
            builder.link(host, switches[switch], up, self.port(switch, FAST, 2));
        }
        for (number, &(a, b)) in self.shape.links.iter().enumerate() {
            let direction = |from| {
                let failures = self.failures[number].iter();
                let failures = failures.scan(0, |now, (up, down)| {
                    let from = *now + up;
                    *now = from + down;
                    Some(Outage {
                        from: at(from),
                        until: at(*now),
                    })
                });
                let schedule = self.slower[number];
                let rate = Rate::from_bits_per_second(SLOW.bits_per_second() / 3);
                let slower = |from| RateChange { at: at(from), rate };
                LinkConfig {
                    failures: failures.collect(),
                    schedule: schedule.into_iter().map(slower).collect(),
                    degradations: self.degraded[number].clone(),
                    ..self.port(from, SLOW, self.delays[number])
                }
            };
            builder.link(switches[a], switches[b], direction(a), direction(b));
        }
        builder.build().expect("a connected network")
    }

    fn port(&self, switch: usize, rate: Rate, delay: u64) -> LinkConfig {
        let shared = self.shared && switch.is_multiple_of(2);
        let fair = matches!(self.kind, PortKind::Fair(_));
        LinkConfig {
            buffer: if shared {
                PortBuffer::Unlimited
            } else {
                PortBuffer::Limited(Amount::Packets(Packets::new(self.limit)))
            },
            marker: self.queue.build(rate),
            kind: if shared && fair {
                PortKind::Fast
            } else {
                self.kind
            },
            congestion_point: self
                .notified
                .then(|| CongestionPointConfig::new(Bytes::new(self.limit * 1_500))),
            ..LinkConfig::unlimited(rate, us(delay))
        }
    }
}

const FAST: Rate = Rate::from_bits_per_second(1_000_000_000);
const SLOW: Rate = Rate::from_bits_per_second(400_000_000);

fn fair() -> FairConfig {
    FairConfig {
        quantum: Bytes::new(1_500),
        drop: FairDrop::Longest,
        per: ClassifyBy::Flow,
    }
}

fn nets() -> impl Strategy<Value = Net> {
    let most = 30;
    let queue = prop_oneof![
        Just(QueueConfig::DropTail),
        (1..8_u64).prop_map(marking_threshold),
        Just(QueueConfig::Red(RedConfig {
            min_th: Amount::Packets(Packets::new(1)),
            max_th: Amount::Packets(Packets::new(6)),
            max_p: 0.2,
            w_q: 0.1,
            gentle: true,
            action: RedAction::Drop,
            ..RedConfig::default()
        })),
    ];
    let kind = prop_oneof![
        3 => Just(PortKind::Fast),
        1 => Just(PortKind::General),
        1 => Just(PortKind::Fair(fair())),
    ];
    let coalescing = prop::option::weighted(
        0.2,
        Just(Coalescing {
            packets: 3,
            within: us(15),
        }),
    );
    let failures = prop_oneof![
        7 => Just(Vec::new()),
        1 => prop::collection::vec((1..5_000_u64, 1..3_000_u64), 1..5),
        1 => prop::collection::vec((1..60_u64, 1..40_u64), 1..100),
    ];
    let events = (
        prop::collection::vec(failures, most),
        prop::collection::vec(prop::option::weighted(0.1, 1..20_000_u64), most),
        prop::collection::vec(degradations(), most),
    );
    let switches = (
        queue,
        kind,
        2..25_u64,
        any::<bool>(),
        ecmps(100),
        any::<bool>(),
    );
    let hosts = (0..4_u64, coalescing, 0..100_u64);
    let delays = prop::collection::vec(1..12_u64, most);
    (shapes(2..10, 2..10), delays, switches, hosts, events).prop_map(
        |(shape, delays, switches, hosts, (failures, slower, degraded))| {
            let (queue, kind, limit, shared, ecmp, notified) = switches;
            let (jitter, coalescing, seed) = hosts;
            Net {
                shape,
                delays,
                kind,
                queue,
                limit,
                shared,
                ecmp,
                jitter: us(jitter),
                coalescing,
                notified,
                failures,
                slower,
                degraded,
                seed,
            }
        },
    )
}

/// The transport of transfers.
#[derive(Debug, Clone, Copy)]
enum Stack {
    Tcp {
        handshake: bool,
        dctcp: bool,
        recovery: Recovery,
        /// Probes, duplicate reports, PRR and F-RTO, with RACK.
        mechanisms: [bool; 4],
    },
    Udt,
}

/// A transfer: when, from, to, bytes.
#[derive(Debug, Clone, Copy)]
struct Transfer {
    at: Time,
    hosts: (usize, usize),
    bytes: u64,
    stack: Stack,
}

fn transfers() -> impl Strategy<Value = Vec<Transfer>> {
    let recovery = prop_oneof![
        1 => Just(Recovery::Reno),
        1 => Just(Recovery::NewReno),
        1 => Just(Recovery::Sack),
        2 => Just(Recovery::RackTlp),
    ];
    let stack = prop_oneof![
        4 => (any::<bool>(), any::<bool>(), recovery, any::<[bool; 4]>())
            .prop_map(|(handshake, dctcp, recovery, mechanisms)| Stack::Tcp {
                handshake,
                dctcp,
                recovery,
                mechanisms,
            }),
        1 => Just(Stack::Udt),
    ];
    let one = (
        0..25_000_u64,
        (0..100_usize, 0..100_usize),
        1..120_000_u64,
        stack,
    );
    prop::collection::vec(one, 1..60).prop_map(|mut all| {
        all.sort_by_key(|one| one.0);
        let transfers = all
            .into_iter()
            .map(|(start, hosts, bytes, stack)| Transfer {
                at: at(start),
                hosts,
                bytes,
                stack,
            });
        transfers.collect()
    })
}

/// Begins transfers, and frees the endpoints of each when all of it is acknowledged.
struct Transfers {
    hosts: usize,
    rest: std::vec::IntoIter<Transfer>,
}

impl Transfers {
    fn open(&self, one: &Transfer, actions: &mut Actions) -> FlowIndex {
        let from = one.hosts.0 % self.hosts;
        let to = (from + 1 + one.hosts.1 % (self.hosts - 1)) % self.hosts;
        let transport = match one.stack {
            Stack::Tcp {
                handshake,
                dctcp,
                recovery,
                mechanisms,
            } => {
                let rack = recovery == Recovery::RackTlp;
                let [tail_loss_probe, dsack, prr, f_rto] = mechanisms.map(|on| on && rack);
                let controller = || {
                    if dctcp {
                        Algorithm::Dctcp(Dctcp::new(DctcpConfig::new(MSS)))
                    } else {
                        Algorithm::NewReno(NewReno::new(NewRenoConfig::new(MSS)))
                    }
                };
                let config = tcp::Config {
                    handshake,
                    recovery,
                    tail_loss_probe,
                    dsack,
                    prr,
                    f_rto,
                    delayed_ack_count: 2,
                    // Shorter than many a round trip.
                    rto: tcp::RtoConfig {
                        min: us(150),
                        granularity: us(10),
                        initial: us(300),
                        ..tcp::RtoConfig::default()
                    },
                    ..tcp_config(if dctcp { Algo::DCTCP } else { Algo::NewReno })
                };
                TransportSpec::Tcp {
                    config: Arc::new(config),
                    controllers: Box::new([controller(), controller()]),
                }
            }
            Stack::Udt => {
                let controller = || Algorithm::Udt(Udt::new(UdtConfig { packet: MSS }));
                TransportSpec::Udt {
                    config: Arc::new(udt::Config::default()),
                    controllers: Box::new([controller(), controller()]),
                    start: UdtStart::Handshake,
                    send_buffer: None,
                }
            }
        };
        actions.open(FlowSpec {
            from: HostIndex::from_index(from),
            to: HostIndex::from_index(to),
            transport,
            framing: Framing::ETHERNET,
            watched: false,
            recorded: false,
        })
    }
}

impl Application for Transfers {
    fn handle(&mut self, _: Time, notice: Notice, actions: &mut Actions) {
        if let Notice::Finished(end) = notice
            && end.side() == Side::Initiator
        {
            actions.release(end.flow());
        }
    }

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        let Some(one) = self.rest.next() else { return };
        let flow = self.open(&one, actions);
        actions.expect(flow.endpoint(Side::Responder), one.bytes);
        actions.write(flow.endpoint(Side::Initiator), one.bytes);
        if matches!(
            one.stack,
            Stack::Tcp {
                handshake: true,
                ..
            }
        ) {
            actions.close(flow.endpoint(Side::Initiator));
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.rest.as_slice().first().map(|one| one.at)
    }
}

fn simulation(net: &Net, transfers: &[Transfer]) -> Simulation<NoProbe> {
    let mut simulation = Simulation::new(net.build(), NoProbe);
    simulation.add_application(Box::new(Transfers {
        hosts: net.shape.hosts.len(),
        rest: Vec::from(transfers).into_iter(),
    }));
    let last = net.shape.hosts.len() - 1;
    let gap = Gap::Exponential(us(200));
    let datagrams = Datagrams::new((0, last), 700, gap, at(20_000));
    simulation.add_application(Box::new(datagrams));
    simulation
}

/// Runs the partitions one after the other, each for its next budget of events.
pub(crate) fn drive(parts: &mut [Simulation<NoProbe>], until: Time, budgets: &[u64]) {
    let count = parts.len();
    let outboxes: Vec<RefCell<Messages>> = (0..count * count).map(|_| RefCell::default()).collect();
    let mut budgets = budgets.iter().copied().cycle();
    loop {
        let mut all = Vec::new();
        for (from, part) in parts.iter_mut().enumerate() {
            all.push(part.hand_over(|to, messages| {
                outboxes[from * count + to].swap(&RefCell::new(std::mem::take(messages)));
            }));
        }
        let mut goes_on = false;
        for (own, part) in parts.iter_mut().enumerate() {
            for from in 0..count {
                part.receive(&mut outboxes[from * count + own].borrow_mut());
            }
            let budget = budgets.next().expect("a cycle does not end");
            goes_on |= part.run_window(&all, until, budget).expect("no loop");
        }
        if !goes_on {
            return;
        }
    }
}

pub(crate) fn parts(
    partition: &Arc<Partitioning>,
    make: impl Fn() -> Simulation<NoProbe>,
) -> Vec<Simulation<NoProbe>> {
    (0..partition.count())
        .map(|index| {
            let mut part = make();
            part.become_partition(partition, index);
            part
        })
        .collect()
}

/// All that tables are made of.
pub(crate) fn results(parts: Vec<Simulation<NoProbe>>) -> (u64, String) {
    let whole = AllPartitions::new(&parts);
    let digest = whole.digest();
    let totals = whole.totals();
    let now: Vec<Time> = parts.iter().map(Simulation::now).collect();
    assert!(now.iter().all(|at| *at == now[0]));
    let known = (0..whole.flow_count()).map(|flow| whole.flow(FlowIndex::from_index(flow)));
    let known: Vec<_> = known.collect();
    let Finished { network, flows, .. } = finish(parts);
    // Endpoints are freed while their counters are written.
    assert_eq!(format!("{flows:?}"), format!("{known:?}"));
    let ports: Vec<_> = network
        .ports()
        .map(|port| {
            let wire = network.wire_counters(port);
            (network.counters(port), wire, network.cnms(port))
        })
        .collect();
    let stored: Vec<_> = (0..network.switch_count())
        .map(|switch| network.max_stored(incastle_engine::core::SwitchIndex::from_index(switch)))
        .collect();
    (
        digest,
        format!(
            "{totals:?} {} {ports:?} {stored:?} {flows:?} {:?} {:?} {} {:?}",
            now[0].as_ps(),
            network.pause_table(now[0]),
            network.recorded_pauses(),
            network.unrecorded_pauses(),
            network.deadlocks(),
        ),
    )
}

pub(crate) fn alone(mut simulation: Simulation<NoProbe>, end: Time) -> (u64, String) {
    simulation.run(end, u64::MAX).expect("no loop");
    results(vec![simulation])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]

    #[test]
    fn parts_give_what_the_whole_gives(
        net in nets(),
        transfers in transfers(),
        count in 2..5_usize,
        budgets in prop::collection::vec(prop_oneof![Just(u64::MAX), 1..8_u64, 1..200_u64], 1..6),
    ) {
        let make = || simulation(&net, &transfers);
        let partition = match make().network().partition(count) {
            Ok(partition) => Arc::new(partition),
            Err(PartitionError::OneSwitch) => return Ok(()),
            Err(PartitionError::NoDelay) => unreachable!("every link has a delay"),
        };
        let mut parts = parts(&partition, make);
        // In two stages, as between the beginning and the end of what is measured.
        drive(&mut parts, Time::ZERO + us(7_000), &budgets);
        drive(&mut parts, END, &budgets);
        prop_assert_eq!(results(parts), alone(make(), END));
    }
}

/// A network of these links between switches, with a number of hosts at each of the first switches.
fn network(hosts: &[usize], links: &[(usize, usize)], delay: Span) -> Network {
    let mut builder = NetworkBuilder::new(1);
    let all = links.iter().map(|(a, b)| *a.max(b)).max().unwrap_or(0);
    let switches: Vec<Node> = (0..=all)
        .map(|index| Node::Switch(builder.switch(format!("s{index}"), SwitchConfig::default())))
        .collect();
    let link = |delay| LinkConfig::unlimited(FAST, delay);
    for (switch, count) in hosts.iter().enumerate() {
        for host in 0..*count {
            let config = HostConfig::default();
            let host = Node::Host(builder.host(format!("h{switch}-{host}"), config));
            builder.link(host, switches[switch], link(us(1)), link(us(1)));
        }
    }
    for &(a, b) in links {
        builder.link(switches[a], switches[b], link(delay), link(delay));
    }
    builder.build().expect("a connected network")
}

/// Links between two groups of switches: each to each.
fn mesh(lower: std::ops::Range<usize>, upper: std::ops::Range<usize>) -> Vec<(usize, usize)> {
    let all = lower.flat_map(|a| upper.clone().map(move |b| (a, b)));
    all.collect()
}

fn of_switches(partition: &Partitioning, count: usize) -> Vec<usize> {
    let node = |index| Node::Switch(incastle_engine::core::SwitchIndex::from_index(index));
    (0..count).map(|index| partition.of(node(index))).collect()
}

#[test]
fn pods_stay_whole_and_cores_are_shared_evenly() {
    // k = 4: edges 0 to 7, aggregations 8 to 15, cores 16 to 19.
    let mut links = Vec::new();
    for pod in 0..4 {
        links.extend(mesh(2 * pod..2 * pod + 2, 8 + 2 * pod..10 + 2 * pod));
        links.extend(mesh(8 + 2 * pod..9 + 2 * pod, 16..18));
        links.extend(mesh(9 + 2 * pod..10 + 2 * pod, 18..20));
    }
    let network = network(&[2; 8], &links, us(3));
    let partition = network.partition(2).expect("pods");
    assert_eq!((partition.count(), partition.lookahead()), (2, us(3)));
    let parts = of_switches(&partition, 20);
    for pod in 0..4 {
        let own = [2 * pod, 2 * pod + 1, 8 + 2 * pod, 9 + 2 * pod];
        assert!(own.iter().all(|switch| parts[*switch] == parts[2 * pod]));
    }
    assert_eq!(parts[..8].iter().sum::<usize>(), 4);
    assert_eq!(parts[16..].iter().sum::<usize>(), 2);
    // Each core has two of its four links to pods of the other partition.
    let cut = network
        .ports()
        .filter(|port| partition.is_cut(&network.edge(*port)));
    assert_eq!(cut.count(), 2 * 4 * 2);
    assert_eq!(network.partition(100).expect("edges").count(), 8);
}

#[test]
fn leaves_are_dealt_out_by_their_hosts() {
    // Leaves 0 to 3, spines 4 and 5.
    let links = mesh(0..4, 4..6);
    let parts = |hosts: &[usize]| {
        let partition = network(hosts, &links, us(3)).partition(2).expect("leaves");
        of_switches(&partition, 6)
    };
    let uneven = parts(&[2, 2, 2, 6]);
    assert!(uneven[..3].iter().all(|part| *part != uneven[3]));
    let even = parts(&[2; 4]);
    assert_eq!(even[..4].iter().sum::<usize>(), 2);
    assert_ne!(even[4], even[5]);
}

#[test]
fn networks_without_a_partition_return_the_reason() {
    let star = network(&[5], &[(0, 1)], us(3));
    assert_eq!(star.partition(2), Err(PartitionError::OneSwitch));
    let links = mesh(0..2, 2..3);
    let close = network(&[2, 2], &links, Span::ZERO);
    assert_eq!(close.partition(2), Err(PartitionError::NoDelay));
    let fabric = network(&[2, 2], &links, us(1));
    assert_eq!(fabric.partition(1), Err(PartitionError::OneSwitch));
}
