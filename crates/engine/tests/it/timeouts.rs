//! Losses as probes see them: every drop with its place and sequence number, every timeout with its
//! kind. They are compared on an incast whose only losses lie at one port.

use crate::common::{Algo, Bulk, Datagrams, Gap, Star};
use incastle_engine::core::{FlowIndex, HostIndex, PortIndex, Side};
use incastle_engine::flow::{Actions, Application, FlowSpec, Framing, Notice, TransportSpec};
use incastle_engine::network::PortKind;
use incastle_engine::probe::{NoProbe, Probe};
use incastle_engine::{Simulation, Status};
use incastle_queueing::PortBuffer;
use incastle_recorder::{Loss, Measurements, Recorder, Timeout};
use incastle_transport::tcp::{Recovery, TimeoutKind};
use incastle_units::{Amount, Bytes, Rate, Span, Time};

const SENDERS: usize = 24;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// The switch's port to the receiver.
fn bottleneck(senders: usize) -> PortIndex {
    PortIndex::from_index(2 * senders + 1)
}

fn star(kind: PortKind) -> Star {
    Star {
        senders: SENDERS,
        kind,
        buffer: PortBuffer::Limited(Amount::Bytes(Bytes::new(32_768))),
        ..Star::default()
    }
}

/// Two dozen senders respond simultaneously, into 32 KiB of buffer.
fn incast<P: Probe>(kind: PortKind, recovery: Recovery, bytes: u64, probe: P) -> Simulation<P> {
    let mut simulation = Simulation::new(star(kind).build(), probe);
    for from in 0..SENDERS {
        let mut bulk = Bulk::new((from, SENDERS), Time::ZERO, bytes, Algo::NewReno);
        bulk.config.recovery = recovery;
        bulk.config.tail_loss_probe = recovery == Recovery::RackTlp;
        bulk.config.prr = recovery == Recovery::RackTlp;
        bulk.config.initial_window = Bytes::new(2 * 1460);
        simulation.add_application(Box::new(bulk));
    }
    assert_eq!(simulation.run(at(20_000), u64::MAX), Ok(Status::Done));
    simulation
}

fn recorder(measurements: Measurements) -> Recorder {
    // Two ports for each host.
    Recorder::new(measurements, 2 * (SENDERS + 1), SENDERS + 1)
}

fn with_timeouts() -> Measurements {
    Measurements {
        timeouts: true,
        silence: Some(Span::from_us(100)),
        ..Measurements::default()
    }
}

/// Where among what was outstanding these losses of the timeout's sender lie, until it.
fn places(timeout: &Timeout, losses: &[Loss]) -> Vec<u64> {
    let own = losses.iter().filter(|loss| {
        let from = (loss.lost.flow, loss.lost.from);
        loss.at <= timeout.at && from == (timeout.flow, timeout.side)
    });
    let seqs = own.map(|loss| u32::try_from(loss.lost.seq).expect("32 bits"));
    seqs.filter_map(|seq| timeout.report.outstanding(seq))
        .collect()
}

#[test]
fn every_timeout_has_its_loss() {
    for kind in [PortKind::Fast, PortKind::General] {
        let mut seen = [0; 4];
        for recovery in [
            Recovery::Reno,
            Recovery::NewReno,
            Recovery::Sack,
            Recovery::RackTlp,
        ] {
            for bytes in [256_000, 32_000, 4_000] {
                let simulation = incast(kind, recovery, bytes, recorder(with_timeouts()));
                let reported = &simulation.probe().timeouts;
                for timeout in reported {
                    check(timeout, &simulation.probe().losses, recovery, bytes);
                    seen[timeout.report.kind as usize] += 1;
                }
                let flows = (0..SENDERS).map(FlowIndex::from_index);
                let counted = flows.map(|flow| simulation.flow(flow).initiator.tcp.timeouts);
                assert_eq!(reported.len() as u64, counted.sum::<u64>());
            }
        }
        // The collapse has all kinds.
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }
}

/// The network's events explain the sender's conclusions.
fn check(timeout: &Timeout, losses: &[Loss], recovery: Recovery, bytes: u64) {
    let report = &timeout.report;
    assert_eq!(timeout.side, Side::Initiator);
    let places = places(timeout, losses);
    // The ACK path carries nothing else, and 200 ms are longer than any queue: no timeout is spurious.
    let head = places.iter().filter(|place| **place == report.una).count();
    assert!(head >= 1, "{timeout:?}");
    match report.kind {
        TimeoutKind::LostRetransmission => {
            // NewReno's timer may also end a recovery whose retransmission is under way.
            assert!(head >= 2 || recovery == Recovery::NewReno, "{timeout:?}");
        }
        TimeoutKind::FullWindow => {
            let mut distinct = places;
            distinct.sort_unstable();
            distinct.dedup();
            let outstanding = (report.max - report.una).div_ceil(1460);
            // Without SACK the rest may have arrived before the recovery ended.
            assert!(
                distinct.len() as u64 == outstanding || !recovery.uses_sack(),
                "{timeout:?}"
            );
        }
        TimeoutKind::LastPacket => assert_eq!(report.max, bytes),
        TimeoutKind::FewDuplicates => {
            assert!(report.dup_acks > 0 || recovery.uses_sack(), "{timeout:?}");
        }
    }
}

#[test]
fn detection_by_time_has_fewer_timeouts() {
    let timeouts = |recovery| {
        let simulation = incast(PortKind::Fast, recovery, 256_000, NoProbe);
        let flows = (0..SENDERS).map(FlowIndex::from_index);
        let counted = flows.map(|flow| simulation.flow(flow).initiator.tcp.timeouts);
        counted.sum::<u64>()
    };
    let [sack, rack] = [Recovery::Sack, Recovery::RackTlp].map(timeouts);
    assert!(2 * rack < sack, "{rack} of {sack}");
}

#[test]
fn every_drop_is_reported_once() {
    let simulation = incast(
        PortKind::Fast,
        Recovery::NewReno,
        256_000,
        recorder(with_timeouts()),
    );
    let losses = &simulation.probe().losses;
    assert_eq!(losses.len() as u64, simulation.totals().drops);
    for loss in losses {
        assert_eq!(loss.port, bottleneck(SENDERS));
        assert_eq!(loss.lost.from, Side::Initiator);
        assert_eq!(loss.lost.octets, loss.lost.payload);
    }
    for index in (0..SENDERS).map(FlowIndex::from_index) {
        let own = losses.iter().filter(|loss| loss.lost.flow == index);
        assert_eq!(own.count() as u64, simulation.flow(index).dropped);
    }
    assert!(losses.is_sorted_by_key(|loss| loss.at));
}

#[test]
fn silences_are_the_gaps_between_arrivals() {
    let simulation = incast(
        PortKind::Fast,
        Recovery::NewReno,
        256_000,
        recorder(with_timeouts()),
    );
    let probe = simulation.probe();
    let receiver = HostIndex::from_index(SENDERS);
    let own = probe.silences.iter().filter(|one| one.host == receiver);
    let (mut silent, mut until) = (Span::ZERO, Time::ZERO);
    for silence in own {
        assert!(silence.from >= until && silence.to - silence.from >= Span::from_us(100));
        silent += silence.to - silence.from;
        until = silence.to;
    }
    // Most of 200 ms passes in silence while everybody waits for a timer.
    assert!(silent > Span::from_ms(150), "{silent:?}");
    // A gap of less than 100 us before a packet is no silence.
    let packets = simulation.totals().data_packets;
    let rest = until - Time::ZERO - silent;
    assert!(rest <= Span::from_us(100 * packets));
}

#[test]
fn nothing_is_recorded_unless_requested_and_nothing_changes() {
    let recording = incast(
        PortKind::Fast,
        Recovery::NewReno,
        256_000,
        recorder(with_timeouts()),
    );
    let quiet = recorder(Measurements::default());
    let quiet = incast(PortKind::Fast, Recovery::NewReno, 256_000, quiet);
    assert!(quiet.probe().timeouts.is_empty() && quiet.probe().losses.is_empty());
    assert!(quiet.probe().silences.is_empty());
    assert!(!recording.probe().timeouts.is_empty());
    let unseen = incast(PortKind::Fast, Recovery::NewReno, 256_000, NoProbe);
    assert_eq!(recording.digest(), quiet.digest());
    assert_eq!(recording.digest(), unseen.digest());
}

#[test]
fn lost_datagrams_are_counted() {
    // Two senders of the line rate each into three packets of buffer: about half is dropped.
    let star = Star {
        buffer: PortBuffer::Limited(Amount::Bytes(Bytes::new(4_500))),
        ..Star::default()
    };
    let network = star.build();
    let recorder = Recorder::new(with_timeouts(), network.ports().count(), 3);
    let mut simulation = Simulation::new(network, recorder);
    for from in 0..2 {
        let gap = Gap::Constant(Span::from_us(12));
        let app = Datagrams::new((from, 2), 1472, gap, at(10));
        simulation.add_application(Box::new(app));
    }
    assert_eq!(simulation.run(at(20), u64::MAX), Ok(Status::Done));
    let losses = &simulation.probe().losses;
    assert_eq!(losses.len() as u64, simulation.totals().drops);
    assert!(losses.len() > 500);
    for flow in (0..2).map(FlowIndex::from_index) {
        let own = losses.iter().filter(|loss| loss.lost.flow == flow);
        let seqs: Vec<u64> = own.map(|loss| loss.lost.seq).collect();
        assert!(seqs.is_sorted() && seqs.iter().all(|seq| *seq < 834));
        let far = simulation.flow(flow).responder.packets_received;
        assert_eq!(834, far + seqs.len() as u64);
    }
}

/// Writes a number of datagrams together, twice.
struct Eager {
    times: Vec<Time>,
    flow: Option<FlowIndex>,
}

impl Application for Eager {
    fn handle(&mut self, _: Time, _: Notice, _: &mut Actions) {}

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        self.times.remove(0);
        let flow = *self.flow.get_or_insert_with(|| {
            actions.open(FlowSpec {
                from: HostIndex::from_index(0),
                to: HostIndex::from_index(1),
                transport: TransportSpec::Datagram {
                    send_buffer: Some(Bytes::new(10_000)),
                },
                framing: Framing::IP,
                watched: false,
                recorded: false,
            })
        });
        for _ in 0..30 {
            actions.write(flow.endpoint(Side::Initiator), 1_000);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.times.first().copied()
    }
}

#[test]
fn a_send_buffer_refuses_what_the_nic_cannot_send() {
    let star = Star {
        senders: 1,
        rate: Rate::from_bits_per_second(1_000_000_000),
        ..Star::default()
    };
    let mut simulation = Simulation::new(star.build(), NoProbe);
    simulation.add_application(Box::new(Eager {
        times: vec![at(1), at(2)],
        flow: None,
    }));
    assert_eq!(simulation.run(at(10), u64::MAX), Ok(Status::Done));
    simulation.check_conservation();
    // Each time the NIC takes a few immediately, and ten fill the buffer; the others are refused.
    let near = simulation.flow(FlowIndex::from_index(0)).initiator;
    let taken = near.packets_sent;
    assert!((2 * 11..=2 * 15).contains(&taken), "{taken}");
    assert_eq!(near.refused.messages, 60 - taken);
    assert_eq!(near.refused.bytes, Bytes::new(1_000 * (60 - taken)));
}
