//! UDT and DCUDP across a network: the connection of real sockets, with time and links simulated.

use std::sync::Arc;

use crate::common::{Star, marking_threshold, sprayed};
use incastle_congestion::{Algorithm, Dcudp, DcudpConfig, Udt, UdtConfig};
use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, HostIndex, Side};
use incastle_engine::flow::{
    Actions, Application, FlowRecord, FlowSpec, Framing, Notice, TransportSpec, UdtCounters,
    UdtStart,
};
use incastle_engine::network::PortKind;
use incastle_engine::probe::NoProbe;
use incastle_queueing::PortBuffer;
use incastle_transport::udt::{self, Config, ExitRuleConfig, Protocol};
use incastle_units::{Amount, Bytes, Rate, Span, Time};

const GIGABIT: Rate = Rate::from_bits_per_second(1_000_000_000);
/// Four links of 25 us, there and back.
const IDLE_RTT: Span = Span::from_us(100);
/// Bytes of payload in a packet of 1500.
const PAYLOAD: u64 = 1456;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Udt,
    Dcudp,
}

/// A flow to the last host of a star: `bytes` in one write, or `bytes` every `gap`; perhaps until
/// `stop`.
#[derive(Clone)]
struct Flow {
    kind: Kind,
    from: usize,
    to: usize,
    bytes: u64,
    gap: Option<Span>,
    stop: Time,
    start: UdtStart,
    close: bool,
    next: Time,
    opened: Option<FlowIndex>,
    over: bool,
    /// K of the exit rule.
    k: usize,
}

impl Flow {
    fn endless(kind: Kind, from: usize, to: usize) -> Self {
        Self {
            kind,
            from,
            to,
            bytes: u64::MAX / 4,
            gap: None,
            stop: Time::NEVER,
            start: UdtStart::Connected(IDLE_RTT),
            close: false,
            next: Time::ZERO,
            opened: None,
            over: false,
            k: ExitRuleConfig::default().k,
        }
    }

    /// Application data of this rate, a packet at a time.
    fn constant(mut self, rate: u64) -> Self {
        self.bytes = PAYLOAD;
        self.gap = Some(Span::from_ps(PAYLOAD * 8 * (1_000_000_000_000 / rate)));
        self
    }

    fn spec(&self) -> FlowSpec {
        let payload = Rate::from_bits_per_second(GIGABIT.bits_per_second() / 1500 * PAYLOAD);
        let packet = Bytes::new(PAYLOAD);
        let config = match self.kind {
            Kind::Udt => Config::default(),
            Kind::Dcudp => Config {
                protocol: Protocol::Dcudp(udt::Dcudp {
                    exit_rule: ExitRuleConfig {
                        k: self.k,
                        ..ExitRuleConfig::default()
                    },
                    ..udt::Dcudp::new(GIGABIT)
                }),
                ..Config::dcudp(GIGABIT)
            },
        };
        let controller = || match self.kind {
            Kind::Udt => Algorithm::Udt(Udt::new(UdtConfig { packet })),
            Kind::Dcudp => Algorithm::from(Dcudp::new(DcudpConfig::new(packet, payload))),
        };
        FlowSpec {
            from: HostIndex::from_index(self.from),
            to: HostIndex::from_index(self.to),
            transport: TransportSpec::Udt {
                config: Arc::new(config),
                controllers: Box::new([controller(), controller()]),
                start: self.start,
                send_buffer: None,
            },
            framing: Framing::IP,
            watched: false,
            recorded: false,
        }
    }
}

impl Application for Flow {
    fn handle(&mut self, _: Time, notice: Notice, actions: &mut Actions) {
        if let Notice::Finished(end) = notice
            && self.close
            && end.side() == Side::Initiator
        {
            actions.release(end.flow());
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        let flow = match self.opened {
            Some(flow) => flow,
            None => *self.opened.insert(actions.open(self.spec())),
        };
        let near = flow.endpoint(Side::Initiator);
        if now >= self.stop {
            actions.stop(near);
            self.over = true;
            return;
        }
        actions.write(near, self.bytes);
        if self.close {
            actions.close(near);
        }
        self.next = match self.gap {
            Some(gap) => (now + gap).min(self.stop),
            None => self.stop,
        };
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.over && self.next < Time::NEVER).then_some(self.next)
    }
}

/// A star of 1 Gbit/s with links of 25 us, and flows to its last host.
fn star(star: Star, flows: &[Flow]) -> Simulation<NoProbe> {
    let mut simulation = Simulation::new(star.build(), NoProbe);
    for flow in flows {
        simulation.add_application(Box::new(flow.clone()));
    }
    simulation
}

/// Runs with conservation checked every millisecond.
fn run(simulation: &mut Simulation<NoProbe>, until: Time) {
    while simulation.now() < until {
        let next = (simulation.now() + Span::from_ms(1)).min(until);
        simulation.run(next, u64::MAX).expect("time passes");
        simulation.check_conservation();
    }
}

fn ms(count: u64) -> Time {
    Time::ZERO + Span::from_ms(count)
}

fn delivered(simulation: &Simulation<NoProbe>, flow: usize) -> u64 {
    simulation
        .flow(FlowIndex::from_index(flow))
        .responder
        .delivered
}

fn sender(record: &FlowRecord) -> &UdtCounters {
    record.initiator.udt.as_ref().expect("a flow of UDT")
}

fn receiver(record: &FlowRecord) -> &UdtCounters {
    record.responder.udt.as_ref().expect("a flow of UDT")
}

/// Jain's index of what flows have delivered since `before`.
fn jain(simulation: &Simulation<NoProbe>, before: &[u64]) -> f64 {
    let shares = before.iter().enumerate();
    let shares: Vec<f64> = shares
        .map(|(flow, before)| (delivered(simulation, flow) - before) as f64)
        .collect();
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

fn all(simulation: &Simulation<NoProbe>, flows: usize) -> Vec<u64> {
    (0..flows).map(|flow| delivered(simulation, flow)).collect()
}

#[test]
fn one_dcudp_sender_fills_the_link() {
    let flow = Flow::endless(Kind::Dcudp, 0, 1);
    let network = Star {
        senders: 1,
        queue: marking_threshold(15),
        ..Star::default()
    };
    let mut simulation = star(network, &[flow]);
    run(&mut simulation, ms(100));
    // 100 ms at 1 Gbit/s are 8333 packets of 1500 bytes; the first takes 62 us, five packet times. An
    // ACK2 of the sender (48 bytes) goes between the data every 10 ms.
    let packets = delivered(&simulation, 0) / PAYLOAD;
    assert!((8_320..=8_333).contains(&packets), "{packets} packets");
    let record = simulation.flow(FlowIndex::from_index(0));
    assert_eq!(record.dropped + record.marked, 0);
    assert_eq!(sender(&record).stats.retransmissions, 0);
    // UDP mode: full ACKs every 10 ms, at 10, 20, ..., 100 ms.
    assert_eq!(sender(&record).congested, Span::ZERO);
    assert!((9..=10).contains(&receiver(&record).stats.acks_sent));
}

#[test]
fn reordered_packets_are_counted() {
    for kind in [Kind::Udt, Kind::Dcudp] {
        let mut simulation = Simulation::new(sprayed(Span::from_us(14)), NoProbe);
        simulation.add_application(Box::new(Flow::endless(kind, 0, 1)));
        let mut waited = 0;
        for us in 1..500 {
            let until = Time::ZERO + Span::from_us(us);
            simulation.run(until, u64::MAX).expect("time passes");
            simulation.check_conservation();
            let record = simulation.flow(FlowIndex::from_index(0));
            let received = receiver(&record).stats.packets_received * PAYLOAD;
            // Nothing is repeated until the first NAK is back.
            let first = sender(&record).stats.retransmissions == 0;
            waited += u64::from(first && received > record.responder.delivered);
        }
        assert!(
            waited > 5,
            "{waited} instants at which a packet waits for another"
        );
    }
}

#[test]
fn a_handshake_takes_two_round_trips() {
    let flow = Flow {
        bytes: 1000,
        start: UdtStart::Handshake,
        ..Flow::endless(Kind::Dcudp, 0, 1)
    };
    let mut simulation = star(
        Star {
            senders: 1,
            ..Star::default()
        },
        &[flow],
    );
    // Two round trips of 100 us, and 50 us to the receiver; serialization of small packets comes on top.
    simulation
        .run(Time::ZERO + Span::from_us(250), u64::MAX)
        .expect("time passes");
    assert_eq!(delivered(&simulation, 0), 0);
    simulation
        .run(Time::ZERO + Span::from_us(275), u64::MAX)
        .expect("time passes");
    assert_eq!(delivered(&simulation, 0), 1000);
    simulation.check_conservation();
}

#[test]
fn twenty_dcudp_senders_share_a_marking_link_without_loss() {
    // 60 Mbit/s of application data each, 1.24 Gbit/s with headers; a K so long that congestion mode
    // lasts. With K = 8 it ends every few milliseconds, and what has piled up leaves at C.
    let flows: Vec<Flow> = (0..20)
        .map(|from| Flow {
            k: 1024,
            next: Time::ZERO + Span::from_us(7) * from as u64,
            ..Flow::endless(Kind::Dcudp, from, 20).constant(60_000_000)
        })
        .collect();
    let network = Star {
        senders: 20,
        queue: marking_threshold(15),
        buffer: PortBuffer::Limited(Amount::Bytes(Bytes::new(4_000_000))),
        jitter: Span::from_us(1),
        ..Star::default()
    };
    let mut simulation = star(network, &flows);
    run(&mut simulation, ms(500));
    let before = all(&simulation, 20);
    run(&mut simulation, ms(1_000));
    assert_eq!(simulation.totals().drops, 0);
    assert!(simulation.totals().marks > 0);
    for flow in 0..20 {
        let record = simulation.flow(FlowIndex::from_index(flow));
        assert_eq!(sender(&record).stats.retransmissions, 0);
        assert_eq!(sender(&record).stats.congestion_modes, 1);
        assert!(sender(&record).congested > Span::from_ms(900));
    }
    let jain = jain(&simulation, &before);
    assert!(jain > 0.99, "{jain}");
    // The link is full: of data, and of an ACK2 of 48 bytes per sender and round trip. With a window of
    // one packet they leave 1500 / 1548 = 0.969 to the data, with longer ones more.
    let bytes: u64 = all(&simulation, 20).iter().sum::<u64>() - before.iter().sum::<u64>();
    let share = bytes as f64 / PAYLOAD as f64 * 1500.0 * 8.0 / 0.5e9;
    assert!((0.96..0.995).contains(&share), "{share}");
}

#[test]
fn udt_over_drop_tail_loses_and_repairs() {
    let flows: Vec<Flow> = (0..4)
        .map(|from| Flow {
            bytes: 10_000_000,
            close: true,
            ..Flow::endless(Kind::Udt, from, 4)
        })
        .collect();
    let network = Star {
        senders: 4,
        buffer: PortBuffer::Limited(Amount::Bytes(Bytes::new(60_000))),
        jitter: Span::from_us(1),
        ..Star::default()
    };
    let mut simulation = star(network, &flows);
    run(&mut simulation, ms(5_000));
    assert!(simulation.totals().drops > 0);
    for flow in 0..4 {
        let record = simulation.flow(FlowIndex::from_index(flow));
        assert_eq!(record.responder.delivered, 10_000_000, "flow {flow}");
        let stats = &sender(&record).stats;
        assert!(stats.naks_received > 0 && stats.retransmissions > 0);
        // UDT marks nothing and has no congestion mode.
        assert_eq!(record.marked + stats.congestion_modes, 0);
        assert!(!sender(&record).failed && !receiver(&record).failed);
    }
}

#[test]
fn what_has_piled_up_leaves_after_the_congestion() {
    let constant = Flow {
        stop: ms(600),
        ..Flow::endless(Kind::Dcudp, 0, 2).constant(800_000_000)
    };
    let other = Flow {
        stop: ms(100),
        ..Flow::endless(Kind::Dcudp, 1, 2)
    };
    let network = Star {
        queue: marking_threshold(15),
        jitter: Span::from_us(1),
        ..Star::default()
    };
    let mut simulation = star(network, &[constant, other]);
    let behind = |simulation: &Simulation<NoProbe>| {
        let seconds = simulation
            .now()
            .saturating_since(Time::ZERO)
            .as_secs_lossy();
        let written = (seconds * 1e8 / PAYLOAD as f64).ceil() as u64 * PAYLOAD;
        written - delivered(simulation, 0)
    };
    // The flows have split the link: half of 100 ms of 800 Mbit/s waits, give or take a partition.
    run(&mut simulation, ms(100));
    assert!(behind(&simulation) > 4_000_000);
    // In UDP mode again it leaves at what the link takes beyond what is written: 1 Gbit/s x 1456 / 1500
    // - 800 Mbit/s = 170.7 Mbit/s, 1.067 MB in 50 ms. An ACK2 every 10 ms is next to nothing.
    run(&mut simulation, ms(200));
    let then = behind(&simulation);
    run(&mut simulation, ms(250));
    let left = then - behind(&simulation);
    assert!((1_055_000..1_068_000).contains(&left), "{left} bytes");
    run(&mut simulation, ms(590));
    // In flight: five packets in 62 us, and what jitter and pacing hold.
    let behind = behind(&simulation);
    assert!(behind <= 8 * PAYLOAD, "{behind} bytes wait");
    let record = simulation.flow(FlowIndex::from_index(0));
    let congested = sender(&record).congested;
    assert!(congested > Span::from_ms(80) && congested < Span::from_ms(120));
}

#[test]
fn a_run_repeats_bit_for_bit_on_either_kind_of_port() {
    let digest = |kind, seed| {
        let flows: Vec<Flow> = (0..4)
            .map(|from| Flow {
                start: UdtStart::Handshake,
                ..Flow::endless(Kind::Dcudp, from, 4)
            })
            .collect();
        let network = Star {
            senders: 4,
            queue: marking_threshold(15),
            jitter: Span::from_us(1),
            kind,
            seed,
            ..Star::default()
        };
        let mut simulation = star(network, &flows);
        run(&mut simulation, ms(20));
        simulation.digest()
    };
    let first = digest(PortKind::Fast, 1);
    assert_eq!(first, digest(PortKind::Fast, 1));
    assert_eq!(first, digest(PortKind::General, 1));
    assert_ne!(first, digest(PortKind::Fast, 2));
}

#[test]
fn flows_of_one_host_share_its_nic_by_round_robin() {
    // Two flows that would each fill the line of their host, and a third that brings congestion. Packets
    // wait for the NIC while timers, OBS-change among them, fall due.
    let mut flows: Vec<Flow> = [0, 0, 1]
        .map(|from| Flow::endless(Kind::Dcudp, from, 2))
        .to_vec();
    flows[2].next = ms(20);
    let network = Star {
        queue: marking_threshold(15),
        jitter: Span::from_us(1),
        ..Star::default()
    };
    let mut simulation = star(network, &flows);
    run(&mut simulation, ms(10));
    // Before the congestion each has half of the line, within a few packets of the first round trip.
    let [first, second] = [0, 1].map(|flow| delivered(&simulation, flow) / PAYLOAD);
    assert!(first.abs_diff(second) <= 2, "{first} and {second} packets");
    assert!((820..=833).contains(&(first + second)), "{first} {second}");
    run(&mut simulation, ms(60));
    assert!(simulation.totals().marks > 0);
    for flow in 0..2 {
        let record = simulation.flow(FlowIndex::from_index(flow));
        let stats = &sender(&record).stats;
        assert!(stats.congestion_modes > 0 && stats.changes_sent >= stats.congestion_modes);
    }
}

#[test]
fn what_is_closed_before_it_is_connected_is_delivered_first() {
    for kind in [Kind::Udt, Kind::Dcudp] {
        let flow = Flow {
            bytes: 100_000,
            start: UdtStart::Handshake,
            close: true,
            ..Flow::endless(kind, 0, 1)
        };
        let network = Star {
            senders: 1,
            ..Star::default()
        };
        let mut simulation = star(network, &[flow]);
        run(&mut simulation, ms(1000));
        let record = simulation.flow(FlowIndex::from_index(0));
        assert_eq!(record.responder.delivered, 100_000);
        assert!(!sender(&record).failed && !receiver(&record).failed);
        // The flow was released: nothing of it happens any more.
        let events = simulation.totals().events;
        run(&mut simulation, ms(3000));
        assert!(simulation.totals().events - events < 5);
    }
}
