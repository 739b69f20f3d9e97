//! Queue pairs and switches with priorities: times by hand, lossless incasts, telemetry, and TCP at the same hosts.

use std::sync::{Arc, Mutex};

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, HopTelemetry,
    Reaction, Window,
};
use incastle_engine::core::{FlowIndex, HostIndex, PortIndex, Side};
use incastle_engine::flow::{
    Actions, Application, FlowSpec, Framing, Notice, QueuePairSettings, TransportSpec,
};
use incastle_engine::network::Network;
use incastle_engine::probe::{NoProbe, Probe, SentContent};
use incastle_engine::{Simulation, Totals};
use incastle_queueing::{LinearMarkerConfig, PauseThreshold, Priority};
use incastle_rdma::{Config, Verb};
use incastle_recorder::{EventKind, Measurements, Recorder};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::common::lossless::{DELAY, Lossless, RATE};
use crate::common::{Algo, Bulk};

/// A control that sends as fast as the line, and keeps the telemetry of each acknowledgement.
#[derive(Default)]
struct Unlimited(Arc<Mutex<Vec<Vec<HopTelemetry>>>>);

impl Controller for Unlimited {
    fn on_ack(&mut self, _: &mut Context<'_>, ack: &AckSample<'_>) {
        let mut seen = self.0.lock().expect("no test has panicked");
        seen.push(ack.hops.to_vec());
    }

    fn on_congestion(&mut self, _: &mut Context<'_>, _: CongestionEvent) -> Reaction {
        Reaction::Ignored
    }

    fn window(&self) -> Window {
        Window::Unlimited
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

/// A message from one host to another at time zero.
struct Message {
    from: usize,
    to: usize,
    verb: Verb,
    bytes: u64,
    telemetry: bool,
    recorded: bool,
    control: Option<Unlimited>,
    done: Arc<Mutex<Vec<Time>>>,
}

impl Message {
    fn new(from: usize, to: usize, verb: Verb, bytes: u64) -> Self {
        Self {
            from,
            to,
            verb,
            bytes,
            telemetry: false,
            recorded: false,
            control: Some(Unlimited::default()),
            done: Arc::default(),
        }
    }
}

impl Application for Message {
    fn handle(&mut self, now: Time, notice: Notice, _: &mut Actions) {
        if let Notice::Delivered(_) = notice {
            self.done.lock().expect("no test has panicked").push(now);
        }
    }

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        let control = self.control.take().expect("the message is posted once");
        let controllers = [control, Unlimited::default()];
        let spec = FlowSpec {
            from: HostIndex::from_index(self.from),
            to: HostIndex::from_index(self.to),
            transport: TransportSpec::Rdma {
                config: Arc::new(Config {
                    framing: 0,
                    ..Config::default()
                }),
                controllers: Box::new(
                    controllers.map(|control| Algorithm::Custom(Box::new(control))),
                ),
                settings: QueuePairSettings {
                    verb: self.verb,
                    control_class: 6,
                    telemetry: self.telemetry,
                },
            },
            framing: Framing {
                class: 3,
                ..Framing::IP
            },
            watched: false,
            recorded: self.recorded,
        };
        let flow = actions.open(spec);
        // The receiver of its data posts a READ.
        let [sender, receiver] = match self.verb {
            Verb::Read => [Side::Responder, Side::Initiator],
            Verb::Write | Verb::Send => Side::BOTH,
        };
        actions.expect(flow.endpoint(receiver), self.bytes);
        actions.write(flow.endpoint(sender), self.bytes);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.control.is_some().then_some(Time::ZERO)
    }
}

/// Runs applications for a simulated second.
fn run(network: Network, applications: Vec<Box<dyn Application>>) -> (Totals, u64) {
    let simulation = simulate(network, NoProbe, applications);
    (simulation.totals(), simulation.digest())
}

fn simulate<P: Probe>(
    network: Network,
    probe: P,
    applications: Vec<Box<dyn Application>>,
) -> Simulation<P> {
    let mut simulation = Simulation::new(network, probe);
    for application in applications {
        simulation.add_application(application);
    }
    // In steps, so that packets of all kinds are inside at some checks.
    for step in 1..=100 {
        let until = Time::ZERO + Span::from_us(10_000) * step;
        simulation.run(until, u64::MAX).expect("time goes on");
        simulation.check_conservation();
    }
    simulation
}

fn boxed(messages: Vec<Message>) -> Vec<Box<dyn Application>> {
    let boxed = |message| Box::new(message) as Box<dyn Application>;
    messages.into_iter().map(boxed).collect()
}

/// The end of the only message.
fn end_of(message: Message) -> Time {
    let done = Arc::clone(&message.done);
    run(Lossless::default().build(), boxed(vec![message]));
    let done = done.lock().expect("no test has panicked");
    assert_eq!(done.len(), 1, "the message ends once");
    done[0]
}

#[test]
fn a_write_takes_the_time_of_its_packets() {
    // 10,000 bytes: packets of 4156 (with the RETH), 4140 and 1852 bytes, 80 ps per byte. The first reaches the switch
    // whole, 1 us after its end; from then on the switch sends without a gap, since each is no shorter than the next.
    let bytes = 4_156 + (4_156 + 4_140 + 1_852);
    let expected = Time::ZERO + DELAY * 2 + Span::from_ps(bytes * 80);
    assert_eq!(end_of(Message::new(0, 8, Verb::Write, 10_000)), expected);
}

#[test]
fn a_send_has_no_address() {
    let bytes = 4_140 + (4_140 + 4_140 + 1_852);
    let expected = Time::ZERO + DELAY * 2 + Span::from_ps(bytes * 80);
    assert_eq!(end_of(Message::new(0, 8, Verb::Send, 10_000)), expected);
}

#[test]
fn a_read_asks_first() {
    // The request has 60 bytes; the first and the last response have an AETH of 4.
    let request = DELAY * 2 + Span::from_ps(2 * 60 * 80);
    let bytes = 4_144 + (4_144 + 4_140 + 1_856);
    let expected = Time::ZERO + request + DELAY * 2 + Span::from_ps(bytes * 80);
    assert_eq!(end_of(Message::new(0, 8, Verb::Read, 10_000)), expected);
}

#[test]
fn telemetry_is_that_of_the_egress_port() {
    let seen = Unlimited::default();
    let hops = Arc::clone(&seen.0);
    let message = Message {
        telemetry: true,
        control: Some(seen),
        ..Message::new(0, 8, Verb::Write, 10_000)
    };
    end_of(message);
    let hops = hops.lock().expect("no test has panicked");
    let ps = |at: u64| Time::from_ps(at);
    // The second packet waits for the end of the first, and the third for the end of the second.
    let first = 4_156 * 80 + 1_000_000;
    let hop = |at, sent, queue| HopTelemetry {
        rate: RATE,
        at,
        sent: Bytes::new(sent),
        queue: Bytes::new(queue),
    };
    let expected = [
        hop(ps(first), 0, 0),
        hop(ps(first + 4_156 * 80), 4_156, 0),
        hop(ps(first + (4_156 + 4_140) * 80), 8_296, 0),
    ];
    let seen: Vec<HopTelemetry> = hops.iter().flatten().copied().collect();
    assert_eq!(seen, expected);
}

/// Each sender writes to the receiver at once.
fn incast(network: Lossless, bytes: u64) -> (Totals, usize) {
    let writes = (0..network.senders).map(|from| {
        let to = network.senders;
        Message::new(from, to, Verb::Write, bytes)
    });
    let messages: Vec<Message> = writes.collect();
    let done: Vec<_> = messages
        .iter()
        .map(|message| Arc::clone(&message.done))
        .collect();
    let (totals, _) = run(network.build(), boxed(messages));
    let ended = |done: &Arc<Mutex<Vec<Time>>>| done.lock().expect("no test has panicked").len();
    (totals, done.iter().map(ended).sum())
}

#[test]
fn an_incast_with_headroom_loses_nothing() {
    let (totals, ended) = incast(Lossless::default(), 2_000_000);
    assert_eq!((totals.drops, ended), (0, 8));
}

#[test]
fn a_pause_and_its_end_to_the_picosecond() {
    // Twelve packets of 4140 bytes: 331.2 ns each at the sender, 3312 ns to the receiver. The third reaches the switch at
    // 1993.6 ns and XOFF with it; a frame of 5.12 ns and 1 us later the tenth is being sent, and is finished. The switch is
    // empty when these ten have left, at 1331.2 + 33,120 = 34,451.2 ns, and resumes: the eleventh leaves at 35,456.32 ns,
    // is whole at the switch at 36,787.52 ns, and the twelfth follows it to the receiver.
    let network = Lossless {
        threshold: PauseThreshold::Static {
            xoff: Bytes::new(12_000),
            xon: Bytes::ZERO,
        },
        last_rate: Rate::from_bits_per_second(10_000_000_000),
        ..Lossless::default()
    };
    let expected = Time::from_ps(36_787_520 + 2 * 3_312_000 + 1_000_000);
    // Of a hundred quanta, 512 ns: the pause lasts by its refreshes, none of which is in the way of the end.
    for quanta in [u16::MAX, 100] {
        let network = Lossless {
            quanta: Some(quanta),
            ..network
        };
        let message = Message::new(0, 8, Verb::Send, 12 * 4_096);
        let done = Arc::clone(&message.done);
        run(network.build(), boxed(vec![message]));
        assert_eq!(*done.lock().expect("no test has panicked"), [expected]);
    }
}

#[test]
fn pauses_spread_over_switches_and_do_not_expire() {
    let network = Lossless {
        quanta: Some(500),
        last_rate: Rate::from_bits_per_second(25_000_000_000),
        ..Lossless::default()
    };
    let (network, trunk) = network.behind_a_trunk();
    let writes = (0..8).map(|from| Message::new(from, 8, Verb::Write, 1_000_000));
    let messages: Vec<Message> = writes.collect();
    let done: Vec<_> = messages
        .iter()
        .map(|message| Arc::clone(&message.done))
        .collect();
    let mut simulation = Simulation::new(network, NoProbe);
    for message in boxed(messages) {
        simulation.add_application(message);
    }
    let end = Time::ZERO + Span::from_us(10_000);
    simulation.run(end, u64::MAX).expect("time goes on");
    simulation.check_conservation();
    let ended = |done: &Arc<Mutex<Vec<Time>>>| done.lock().expect("no test has panicked").len();
    assert_eq!(done.iter().map(ended).sum::<usize>(), 8);
    assert_eq!(simulation.totals().drops, 0);
    let priority = Priority::new(3).expect("it is one of eight");
    let pauses = simulation.network().pauses(trunk, priority, end);
    let pauses = pauses.expect("a port with priorities");
    assert!(
        pauses.pauses > 0 && pauses.pause_frames > pauses.pauses,
        "{pauses:?}"
    );
    assert_eq!((pauses.expired, pauses.pauses), (0, pauses.resume_frames));
    // Eight megabytes at 25 Gbit/s take 2.56 ms and a little for headers; the trunk could send them in a quarter.
    assert!(pauses.paused_for > Span::from_us(1_500), "{pauses:?}");
}

/// Marks are counted when their packets leave, also of those that began after a pause.
#[test]
fn every_mark_at_dequeue_is_one_ports_at_any_time() {
    let network = Lossless {
        last_rate: Rate::from_bits_per_second(25_000_000_000),
        marker: Some(LinearMarkerConfig::step(Bytes::ZERO)),
        ..Lossless::default()
    };
    let (network, trunk) = network.behind_a_trunk();
    let writes = (0..8).map(|from| Message::new(from, 8, Verb::Write, 200_000));
    let mut simulation = Simulation::new(network, NoProbe);
    for message in boxed(writes.collect()) {
        simulation.add_application(message);
    }
    for step in 1..=1_000 {
        let until = Time::ZERO + Span::from_ns(1_000) * step;
        simulation.run(until, u64::MAX).expect("time goes on");
        let network = simulation.network();
        let of_ports = network.ports().map(|port| network.counters(port).marked);
        assert_eq!(of_ports.sum::<u64>(), simulation.totals().marks);
    }
    assert!(simulation.network().counters(trunk).marked > 100);
}

#[test]
fn without_headroom_packets_are_lost_and_repeated() {
    let network = Lossless {
        headroom: Bytes::ZERO,
        ..Lossless::default()
    };
    let (totals, ended) = incast(network, 2_000_000);
    assert!(totals.drops > 0, "the pause comes too late");
    assert_eq!(ended, 8, "go-back-N repeats what was lost");
}

#[test]
fn without_pauses_headroom_only_delays_the_loss() {
    let network = Lossless {
        quanta: None,
        ..Lossless::default()
    };
    let (totals, ended) = incast(network, 2_000_000);
    assert!(totals.drops > 0, "nothing stops the senders");
    assert_eq!(ended, 8, "go-back-N repeats what was lost");
}

#[test]
fn runs_are_equal() {
    let once = || {
        let writes = (0..8).map(|from| Message::new(from, 8, Verb::Write, 500_000 + from as u64));
        run(Lossless::default().build(), boxed(writes.collect()))
    };
    assert_eq!(once(), once());
}

#[test]
fn a_queue_pair_goes_on_when_its_link_recovers() {
    let network = Lossless {
        outage: Some([20, 300]),
        ..Lossless::default()
    };
    let message = Message::new(0, 8, Verb::Write, 1_000_000);
    let done = Arc::clone(&message.done);
    let (totals, _) = run(network.build(), boxed(vec![message]));
    let done = done.lock().expect("no test has panicked");
    assert!(
        done.len() == 1 && done[0] > Time::ZERO + Span::from_us(300),
        "{done:?}"
    );
    // While the link is down the NIC sends nothing: no more is lost than was on the link, and ACKs.
    assert!(
        totals.failure_drops > 0 && totals.failure_drops < 20,
        "{totals:?}"
    );
}

#[test]
fn a_record_changes_nothing_and_has_every_packet() {
    for verb in [Verb::Write, Verb::Send, Verb::Read] {
        for quanta in [Some(u16::MAX), None] {
            let network = Lossless {
                quanta,
                ..Lossless::default()
            };
            let messages = |recorded| {
                let message = |from| Message {
                    recorded: recorded && from < 2,
                    ..Message::new(from, 8, verb, 1_000_000)
                };
                boxed((0..8).map(message).collect())
            };
            let (totals, digest) = run(network.build(), messages(false));
            let recorder = Recorder::new(
                Measurements {
                    events: 1_000_000,
                    ..Measurements::default()
                },
                network.build().ports().count(),
                9,
            );
            let recording = simulate(network.build(), recorder, messages(true));
            assert_eq!((recording.totals(), recording.digest()), (totals, digest));
            check_record(&recording, 2);
        }
    }
}

/// Every packet of the first flows was sent once, then received or dropped once.
fn check_record(simulation: &Simulation<Recorder>, recorded: usize) {
    let events = &simulation.probe().record.events;
    for flow in (0..recorded).map(FlowIndex::from_index) {
        let of_flow = || events.iter().filter(|one| one.endpoint.flow() == flow);
        let count = |kind: fn(&EventKind) -> bool| of_flow().filter(|one| kind(&one.kind)).count();
        let sent = count(|kind| matches!(kind, EventKind::Sent { .. }));
        let received = count(|kind| matches!(kind, EventKind::Received));
        let dropped = count(|kind| matches!(kind, EventKind::Dropped { .. }));
        let record = simulation.flow(flow);
        let packets = record.initiator.packets_sent + record.responder.packets_sent;
        assert_eq!((sent as u64, dropped as u64), (packets, record.dropped));
        assert_eq!(sent, received + dropped, "nothing is left in the network");
        let repeated = count(|kind| matches!(kind, EventKind::Sent { repeated: true, .. }));
        let went_back = count(|kind| {
            matches!(
                kind,
                EventKind::Nak | EventKind::AckTimeout(_) | EventKind::ReadRetry
            )
        });
        assert_eq!(repeated > 0, went_back > 0, "go-back-N has its reason");
        assert!(count(|kind| matches!(kind, EventKind::Ready)) > 0);
    }
}

#[test]
fn queue_pairs_and_tcp_share_a_nic() {
    let write = Message::new(0, 8, Verb::Write, 3_000_000);
    let done = Arc::clone(&write.done);
    let mut tcp = Bulk::new((0, 8), Time::ZERO, 3_000_000, Algo::NewReno);
    tcp.close = true;
    let applications: Vec<Box<dyn Application>> = vec![Box::new(write), Box::new(tcp)];
    let (totals, _) = run(Lossless::default().build(), applications);
    assert_eq!(done.lock().expect("no test has panicked").len(), 1);
    // 733 packets of the message, 2055 segments.
    assert!(totals.data_packets >= 733 + 2_055);
}

/// The packets that a captured incast over a trunk with pauses has sent; the digest with and without captures.
fn captured() -> (Simulation<Recorder>, [u64; 2]) {
    let network = || {
        let network = Lossless {
            quanta: Some(500),
            last_rate: Rate::from_bits_per_second(25_000_000_000),
            ..Lossless::default()
        };
        network.behind_a_trunk().0
    };
    let writes = || {
        let writes = (0..8).map(|from| Message {
            telemetry: from == 0,
            ..Message::new(from, 8, Verb::Write, 100_000)
        });
        boxed(writes.collect())
    };
    let (_, plain) = run(network(), writes());
    let network = network();
    let ports: Vec<PortIndex> = network.ports().collect();
    let recorder = Recorder::new(Measurements::default(), ports.len(), network.host_count());
    let mut simulation = Simulation::new(network, recorder);
    simulation.capture(&ports);
    for message in writes() {
        simulation.add_application(message);
    }
    let end = Time::ZERO + Span::from_us(10_000);
    simulation.run(end, u64::MAX).expect("time goes on");
    let seen = simulation.digest();
    (simulation, [plain, seen])
}

#[test]
fn captured_ports_report_every_packet_and_pause() {
    let (simulation, [plain, seen]) = captured();
    assert_eq!(plain, seen, "captures change nothing");
    let sent = &simulation.probe().sent;
    assert_eq!(sent.len() as u64, simulation.totals().packet_hops);
    let (mut passed, mut pauses) = ([0; 3], 0);
    for one in sent {
        match &one.packet.content {
            SentContent::Rdma(packet, telemetry) => {
                let of_first = one.packet.to.flow().index() == 0;
                assert!(of_first || telemetry.is_empty());
                if packet.is_data() && of_first {
                    passed[telemetry.len()] += 1;
                }
                assert_eq!(one.packet.class, if packet.is_data() { 3 } else { 6 });
            }
            SentContent::Pause(frame) => {
                pauses += 1;
                assert_eq!(frame.priorities.bits(), 1 << 3);
            }
            other => panic!("nobody sends {other:?}"),
        }
    }
    // 25 packets leave their host without telemetry, each switch with that of one port more.
    assert_eq!(passed, [25; 3]);
    assert!(pauses > 0);
}
