//! Applications that write at a steady pace over UDT and DCUDP, slower or faster than their endpoints.
//! Their data are sent, refused or waiting, and a run in steps equals a single run.

use std::sync::Arc;

use crate::common::{Star, marking_threshold};
use incastle_cases::cases;
use incastle_congestion::{Algorithm, Dcudp, DcudpConfig, ReactionPointConfig, Udt, UdtConfig};
use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, HostIndex, Side};
use incastle_engine::flow::{
    Actions, Application, FlowSpec, Framing, Notice, TransportSpec, UdtStart,
};
use incastle_engine::network::ReactionPointSettings;
use incastle_engine::probe::NoProbe;
use incastle_queueing::{CongestionPointConfig, PortBuffer};
use incastle_transport::udt::Config;
use incastle_units::{Amount, Bytes, Rate, Span, Time};
use proptest::prelude::*;

const GIGABIT: Rate = Rate::from_bits_per_second(1_000_000_000);
const PAYLOAD: u64 = 1456;

/// Messages of one size at equal times, from a host to the last one.
#[derive(Debug, Clone)]
struct Writer {
    dcudp: bool,
    from: usize,
    to: usize,
    message: u64,
    gap: Span,
    next: Time,
    stop: Time,
    send_buffer: Option<Bytes>,
    handshake: bool,
    flow: Option<FlowIndex>,
    over: bool,
}

impl Writer {
    fn spec(&self) -> FlowSpec {
        let packet = Bytes::new(PAYLOAD);
        let rate = Rate::from_bits_per_second(GIGABIT.bits_per_second() / 1500 * PAYLOAD);
        let config = if self.dcudp {
            Config::dcudp(GIGABIT)
        } else {
            Config::default()
        };
        let controller = || {
            if self.dcudp {
                Algorithm::from(Dcudp::new(DcudpConfig::new(packet, rate)))
            } else {
                Algorithm::Udt(Udt::new(UdtConfig { packet }))
            }
        };
        FlowSpec {
            from: HostIndex::from_index(self.from),
            to: HostIndex::from_index(self.to),
            transport: TransportSpec::Udt {
                config: Arc::new(config),
                controllers: Box::new([controller(), controller()]),
                start: if self.handshake {
                    UdtStart::Handshake
                } else {
                    UdtStart::Connected(Span::from_us(100))
                },
                send_buffer: self.send_buffer,
            },
            framing: Framing::IP,
            watched: false,
            recorded: false,
        }
    }
}

impl Application for Writer {
    fn handle(&mut self, _: Time, _: Notice, _: &mut Actions) {}

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        let flow = match self.flow {
            Some(flow) => flow,
            None => *self.flow.insert(actions.open(self.spec())),
        };
        if now >= self.stop {
            actions.stop(flow.endpoint(Side::Initiator));
            self.over = true;
            return;
        }
        actions.write(flow.endpoint(Side::Initiator), self.message);
        self.next = now + self.gap;
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.over).then(|| self.next.min(self.stop))
    }
}

/// A network, and who writes across it.
#[derive(Debug, Clone)]
struct World {
    writers: Vec<Writer>,
    buffer: u64,
    jitter: Span,
    qcn: bool,
    /// The length of the run's steps.
    step: Span,
}

/// Its 20 ms.
fn run(world: &World) -> Simulation<NoProbe> {
    let senders = world.writers.len();
    let star = Star {
        senders,
        queue: marking_threshold(15),
        buffer: PortBuffer::Limited(Amount::Bytes(Bytes::new(world.buffer))),
        jitter: world.jitter,
        access: Some(Rate::from_bits_per_second(10_000_000_000)),
        congestion_point: world
            .qcn
            .then(|| CongestionPointConfig::new(Bytes::new(world.buffer))),
        reaction_point: world.qcn.then(|| ReactionPointSettings {
            template: ReactionPointConfig::new(Rate::from_bits_per_second(10_000_000_000)),
            queue: 100,
        }),
        ..Star::default()
    };
    let mut simulation = Simulation::new(star.build(), NoProbe);
    for writer in &world.writers {
        simulation.add_application(Box::new(writer.clone()));
    }
    let end = Time::ZERO + Span::from_ms(20);
    while simulation.now() < end {
        let next = (simulation.now() + world.step).min(end);
        simulation.run(next, u64::MAX).expect("time passes");
        simulation.check_conservation();
    }
    simulation
}

/// The result, as a string.
fn outcome(world: &World) -> String {
    let simulation = run(world);
    let records: Vec<String> = (0..simulation.flow_count())
        .map(|flow| format!("{:?}", simulation.flow(FlowIndex::from_index(flow))))
        .collect();
    let totals = simulation.totals();
    format!("{:x} {totals:?} {records:#?}", simulation.digest())
}

/// As many senders of DCUDP as that, each at this rate.
fn overloaded(senders: usize, rate: u64) -> World {
    let gap = Span::from_ps(PAYLOAD * 8 * (1_000_000_000_000 / rate));
    let writer = |from| Writer {
        dcudp: true,
        from,
        to: senders,
        message: PAYLOAD,
        gap,
        next: Time::ZERO + Span::from_us(3) * from as u64,
        stop: Time::NEVER,
        send_buffer: None,
        handshake: false,
        flow: None,
        over: false,
    };
    World {
        writers: (0..senders).map(writer).collect(),
        buffer: 4_000_000,
        jitter: Span::from_us(1),
        qcn: false,
        step: Span::from_ms(1),
    }
}

/// Asserts that the pieces of a run make no difference.
fn assert_same(world: &World) {
    let pieces = outcome(world);
    let one = outcome(&World {
        step: Span::from_ms(20),
        ..world.clone()
    });
    assert!(pieces == one, "in pieces:\n{pieces}\nin one:\n{one}");
}

#[test]
fn what_is_refused_is_counted_to_the_last_message() {
    let mut world = overloaded(4, 1_600_000_000);
    for writer in &mut world.writers {
        writer.send_buffer = Some(Bytes::new(20_000));
    }
    assert_same(&world);
    // 2748 messages of each in 20 ms at 1.6 Gbit/s; what is neither sent nor refused waits in the buffer.
    let simulation = run(&world);
    for flow in (0..4).map(FlowIndex::from_index) {
        let record = simulation.flow(flow).initiator;
        let sent = record.payload_sent / PAYLOAD;
        let written = 2_748 - record.refused.messages;
        assert!(
            (sent..sent + 15).contains(&written),
            "{written} written, {sent} sent"
        );
    }
}

#[test]
fn a_stop_ends_what_waits() {
    let mut world = overloaded(4, 1_600_000_000);
    for (place, writer) in world.writers.iter_mut().enumerate() {
        writer.stop = Time::ZERO + Span::from_us(5_003) * (place as u64 + 1);
    }
    assert_same(&world);
}

/// A writer without its place yet.
fn writer() -> impl Strategy<Value = Writer> {
    (
        any::<[bool; 2]>(),
        1_u64..5_000,
        500_u64..40_000,
        (0_u64..2_000, 1_u64..40),
        prop::option::of(1_000_u64..60_000),
    )
        .prop_map(
            |([dcudp, handshake], message, gap_ns, (start_us, stop_ms), room)| Writer {
                dcudp,
                from: 0,
                to: 0,
                message,
                gap: Span::from_ns(gap_ns),
                next: Time::ZERO + Span::from_us(start_us),
                stop: Time::ZERO + Span::from_ms(stop_ms),
                send_buffer: room.map(Bytes::new),
                handshake,
                flow: None,
                over: false,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn a_run_in_pieces_is_that_in_one(
        mut writers in prop::collection::vec(writer(), 1..5),
        (buffer, jitter_ns, qcn, step_us) in (3_000_u64..400_000, 0_u64..3_000, any::<bool>(), 1_u64..3_000),
    ) {
        let to = writers.len();
        for (from, writer) in writers.iter_mut().enumerate() {
            (writer.from, writer.to) = (from, to);
        }
        let world = World {
            writers,
            buffer,
            jitter: Span::from_ns(jitter_ns),
            qcn,
            step: Span::from_us(step_us),
        };
        assert_same(&world);
    }
}
