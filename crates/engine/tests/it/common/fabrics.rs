//! Random networks of switches with priorities and PFC, and mixed traffic over them: queue pairs, TCP and datagrams.

use std::sync::Arc;

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, Hpcc, HpccConfig,
    Reaction, Window,
};
use incastle_engine::core::{HostIndex, Node, Side};
use incastle_engine::flow::{
    Actions, Application, FlowSpec, Framing, Notice, QueuePairSettings, TransportSpec,
};
use incastle_engine::network::{
    Degradation, Ecmp, HostConfig, JitterAppliesTo, LinkConfig, Network, NetworkBuilder, Outage,
    PriorityConfig, RateChange, SwitchConfig,
};
use incastle_queueing::{
    AccountingOptions, IngressPortConfig, LinearMarker, LinearMarkerConfig, LosslessConfig, Marker,
    PAUSE_FRAME_SIZE, PauseMode, PauseSenderConfig, PauseThreshold, PortBuffer, Priority,
    PriorityEcnConfig, PriorityMemoryConfig, PrioritySet, ReleaseAt, SchedulerConfig, SharedBuffer,
};
use incastle_rdma::{Config, Verb};
use incastle_units::{Amount, Bytes, Rate, Span, Time};
use proptest::prelude::*;

use super::shapes::{Shape, ecmps, shapes};
use super::{Algo, controller, degradations, tcp_config};

/// Two lossless priorities; number 6 is that of control packets, which take no memory; all others are lossy.
pub(crate) const LOSSLESS: PrioritySet = PrioritySet::from_bits(1 << 3 | 1 << 4);
const CONTROL: u8 = 6;
/// The largest packet: 4096 bytes of a WRITE with its headers.
const MTU: Bytes = Bytes::new(4_160);

/// The parameters of a random network.
#[derive(Debug, Clone)]
pub(crate) struct Fabric {
    pub(crate) shape: Shape,
    /// By host, then by link between switches.
    pub(crate) links: Vec<Line>,
    pub(crate) ecmp: Ecmp,
    /// Shared memory of a switch.
    pub(crate) shared: Bytes,
    pub(crate) threshold: PauseThreshold,
    pub(crate) mode: PauseMode,
    pub(crate) quanta: u16,
    pub(crate) scheduler: SchedulerConfig,
    pub(crate) jitter: Span,
    pub(crate) release_at: ReleaseAt,
    /// The share of the headroom that is needed, in percent.
    pub(crate) headroom: u64,
    pub(crate) seed: u64,
    /// Whether the ports of switches have one queue without priorities, whose buffer has the size of `shared`.
    pub(crate) fifo: bool,
}

/// A link, the same in both directions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub(crate) rate: Rate,
    pub(crate) delay: Span,
}

impl Line {
    /// The headroom of all lossless priorities: what the link still carries when a frame that pauses has waited for another
    /// one, the frame that has just begun at the peer, the pause frame, and the packet that reaches the threshold where
    /// shared memory is full.
    fn headroom(self) -> Bytes {
        let bits = u128::from(self.rate.bits_per_second()) * u128::from((self.delay * 2).as_ps());
        let on_link = Bytes::new(bits.div_ceil(8_000_000_000_000) as u64);
        (on_link + MTU * 3 + PAUSE_FRAME_SIZE) * LOSSLESS.count() as u64
    }

    fn link(self, priorities: Option<SchedulerConfig>) -> LinkConfig {
        LinkConfig {
            priorities: priorities.map(|scheduler| {
                Box::new(PriorityConfig {
                    scheduler,
                    ecn: PriorityEcnConfig::default(),
                })
            }),
            ..LinkConfig::unlimited(self.rate, self.delay)
        }
    }
}

impl Fabric {
    /// The links of a switch, in the order in which they are added.
    fn lines_of(&self, switch: usize) -> Vec<Line> {
        let hosts = self.shape.hosts.iter().map(|at| [*at, usize::MAX]);
        let links = self.shape.links.iter().map(|&(a, b)| [a, b]);
        let all = hosts.chain(links).zip(&self.links);
        all.filter(|(ends, _)| ends.contains(&switch))
            .map(|(_, line)| *line)
            .collect()
    }

    fn switch(&self, switch: usize) -> SwitchConfig {
        if self.fifo {
            let memory = self
                .seed
                .is_multiple_of(3)
                .then(|| SharedBuffer::new(self.shared, 1.0));
            return SwitchConfig {
                memory,
                ..SwitchConfig::default()
            };
        }
        let port = |line: Line| IngressPortConfig {
            headroom: Bytes::new(line.headroom().count() * self.headroom / 100),
            threshold: self.threshold,
        };
        let ports: Vec<_> = self.lines_of(switch).into_iter().map(port).collect();
        let headrooms = ports
            .iter()
            .fold(Bytes::ZERO, |sum, port| sum + port.headroom);
        SwitchConfig {
            memory: None,
            lossless: Some(LosslessConfig {
                memory: PriorityMemoryConfig {
                    capacity: headrooms + self.shared,
                    lossless: LOSSLESS,
                    uncounted: PrioritySet::from_bits(1 << CONTROL),
                    reserve: Bytes::ZERO,
                    egress_alpha: 1.0,
                    ports,
                    options: AccountingOptions::default(),
                },
                release_at: self.release_at,
                pause: Some(PauseSenderConfig {
                    mode: self.mode,
                    quanta: self.quanta,
                }),
                frame: PAUSE_FRAME_SIZE,
            }),
        }
    }

    /// The network, with links that fail, slow down or are degraded.
    pub(crate) fn build_changing(&self, changes: &[Changes]) -> Network {
        self.build_with(|number, link| {
            if let Some(of) = changes.get(number % changes.len().max(1)) {
                of.apply(link);
            }
        })
    }

    /// The same, with a FIFO queue at each port.
    pub(crate) fn build_fifo(&self, changes: &[Changes]) -> Network {
        let plain = Self {
            fifo: true,
            ..self.clone()
        };
        plain.build_changing(changes)
    }

    /// The network, with a change of the configuration of each direction of each link.
    fn build_with(&self, change: impl Fn(usize, &mut LinkConfig)) -> Network {
        let mut builder = NetworkBuilder::new(self.seed);
        builder.ecmp(self.ecmp);
        builder.pause_mode(self.mode);
        builder.convergence(Span::from_us(20));
        builder.record_pauses([0, 20, 100_000][self.seed as usize % 3]);
        builder.check_deadlocks(Span::from_us(7));
        let switches: Vec<Node> = (0..self.shape.switches)
            .map(|index| Node::Switch(builder.switch(format!("s{index}"), self.switch(index))))
            .collect();
        let config = HostConfig {
            jitter: self.jitter,
            jitter_applies_to: JitterAppliesTo::All,
            ..HostConfig::default()
        };
        let (of_hosts, between) = self.links.split_at(self.shape.hosts.len());
        for (index, (&switch, line)) in self.shape.hosts.iter().zip(of_hosts).enumerate() {
            let host = Node::Host(builder.host(format!("h{index}"), config));
            let [mut up, mut down] = [line.link(None), self.egress(*line)];
            change(index, &mut up);
            change(index, &mut down);
            builder.link(host, switches[switch], up, down);
        }
        for (number, (&(a, b), line)) in self.shape.links.iter().zip(between).enumerate() {
            let direction = || {
                let mut link = self.egress(*line);
                change(of_hosts.len() + number, &mut link);
                link
            };
            builder.link(switches[a], switches[b], direction(), direction());
        }
        builder.build().expect("a connected network")
    }

    /// The egress port of a switch.
    fn egress(&self, line: Line) -> LinkConfig {
        if !self.fifo {
            return line.link(Some(self.scheduler));
        }
        let marker = LinearMarkerConfig {
            k_min: Bytes::new(5_000),
            k_max: Bytes::new(50_000),
            p_max: 0.5,
        };
        let link = LinkConfig {
            buffer: PortBuffer::Limited(Amount::Bytes(self.shared)),
            ..line.link(None)
        };
        if self.seed.is_multiple_of(2) {
            return link;
        }
        LinkConfig {
            marker: Marker::Linear(Box::new(LinearMarker::new(marker))),
            ..link
        }
    }

    pub(crate) fn build(&self) -> Network {
        self.build_with(|_, _| {})
    }
}

/// The changes of a link in both directions.
#[derive(Debug, Clone)]
pub(crate) struct Changes {
    failures: Vec<Outage>,
    /// When it slows down to a third.
    slower: Option<Time>,
    degradations: Vec<Degradation>,
}

impl Changes {
    fn apply(&self, link: &mut LinkConfig) {
        link.failures.clone_from(&self.failures);
        link.degradations.clone_from(&self.degradations);
        let rate = Rate::from_bits_per_second(link.rate.bits_per_second() / 3);
        let slower = self.slower.iter();
        link.schedule = slower.map(|&at| RateChange { at, rate }).collect();
    }
}

/// Changes of links, in turn; often none.
pub(crate) fn changes() -> impl Strategy<Value = Vec<Changes>> {
    let outages = prop::collection::vec((1..200_u64, 1..100_u64), 1..4).prop_map(|spans| {
        let outage = |now: &mut u64, (up, down)| {
            let from = *now + up;
            *now = from + down;
            let [from, until] = [from, *now].map(|us| Time::ZERO + Span::from_us(us));
            Some(Outage { from, until })
        };
        spans.into_iter().scan(0, outage).collect()
    });
    let failures = prop_oneof![3 => Just(Vec::new()), 1 => outages];
    // Those of milliseconds, forty times sooner.
    let sooner = |at: Time| Time::ZERO + (at - Time::ZERO) / 40;
    let degradations = degradations().prop_map(move |periods| {
        let periods = periods.into_iter().map(|one| Degradation {
            from: sooner(one.from),
            until: sooner(one.until),
            extra_delay: one.extra_delay / 40,
            ..one
        });
        periods.collect()
    });
    let slower = prop_oneof![3 => Just(None), 1 => (0..300_u64).prop_map(Some)];
    let one = (failures, slower, degradations).prop_map(|(failures, slower, degradations)| {
        let slower = slower.map(|us| Time::ZERO + Span::from_us(us));
        Changes {
            failures,
            slower,
            degradations,
        }
    });
    prop::collection::vec(one, 1..6)
}

fn thresholds() -> impl Strategy<Value = PauseThreshold> {
    let fixed =
        (1_000..60_000_u64, 0..=100_u64).prop_map(|(xoff, percent)| PauseThreshold::Static {
            xoff: Bytes::new(xoff),
            xon: Bytes::new(xoff * percent / 100),
        });
    let dynamic = (0..6_u32, 0..6_000_u64).prop_map(|(shift, offset)| PauseThreshold::Dynamic {
        alpha: 1.0 / f64::from(1 << shift),
        resume_offset: Bytes::new(offset),
    });
    prop_oneof![fixed, dynamic]
}

fn schedulers() -> impl Strategy<Value = SchedulerConfig> {
    let quanta = SchedulerConfig::quanta([1, 2, 1, 3, 1, 1, 1, 4], MTU);
    prop_oneof![
        Just(SchedulerConfig::Strict),
        Just(SchedulerConfig::Dwrr { quanta }),
        Just(SchedulerConfig::Mixed {
            strict: PrioritySet::from_bits(1 << CONTROL),
            quanta,
        }),
    ]
}

fn lines() -> impl Strategy<Value = Line> {
    (0..4_usize, 100..4_000_u64).prop_map(|(rate, ns)| Line {
        rate: Rate::from_bits_per_second([10, 25, 40, 100][rate] * 1_000_000_000),
        delay: Span::from_ns(ns),
    })
}

/// Random networks whose headroom has this share of the need, in percent.
pub(crate) fn fabrics(headroom: std::ops::Range<u64>) -> impl Strategy<Value = Fabric> {
    let network = (shapes(1..6, 2..8), ecmps(3), headroom, 0..1_000_u64).prop_flat_map(
        |(shape, ecmp, headroom, seed)| {
            let count = shape.hosts.len() + shape.links.len();
            let links = prop::collection::vec(lines(), count);
            (Just(shape), links, Just((ecmp, headroom, seed)))
        },
    );
    let pauses = (
        prop_oneof![Just(PauseMode::Quanta), Just(PauseMode::OnOff)],
        prop_oneof![Just(2_000_u16), Just(u16::MAX)],
        prop_oneof![Just(ReleaseAt::End), Just(ReleaseAt::Begin)],
    );
    let memory = (5_000..300_000_u64, thresholds(), schedulers(), 0..3_u64);
    (network, pauses, memory).prop_map(|(network, (mode, quanta, release_at), memory)| {
        let (shape, links, (ecmp, headroom, seed)) = network;
        let (shared, threshold, scheduler, jitter) = memory;
        Fabric {
            shape,
            links,
            ecmp,
            shared: Bytes::new(shared),
            threshold,
            mode,
            quanta,
            scheduler,
            jitter: Span::from_us(jitter),
            release_at,
            headroom,
            seed,
            fifo: false,
        }
    })
}

/// A control that sends as fast as the line.
struct Unlimited;

impl Controller for Unlimited {
    fn on_ack(&mut self, _: &mut Context<'_>, _: &AckSample<'_>) {}

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

/// The transport of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Rdma(Verb),
    Tcp(Algo),
    Datagrams,
}

/// A flow that writes once.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) kind: Kind,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) bytes: u64,
    pub(crate) class: u8,
    pub(crate) start: Time,
    /// Whether its endpoints are freed when everything is acknowledged.
    pub(crate) releases: bool,
    opened: bool,
}

/// Between hosts of a network, numbers of which wrap.
pub(crate) fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let kind = prop_oneof![
        Just(Kind::Rdma(Verb::Write)),
        Just(Kind::Rdma(Verb::Send)),
        Just(Kind::Rdma(Verb::Read)),
        Just(Kind::Tcp(Algo::NewReno)),
        Just(Kind::Tcp(Algo::DCTCP)),
        Just(Kind::Datagrams),
    ];
    let class = prop_oneof![4 => Just(3_u8), 2 => Just(4_u8), 1 => Just(0_u8)];
    let flow = (
        kind,
        0..64_usize,
        1..64_usize,
        1..200_000_u64,
        class,
        0..100_u64,
    );
    let flow = flow.prop_map(|(kind, from, hop, bytes, class, start)| Flow {
        kind,
        from,
        to: from + hop,
        bytes,
        class,
        start: Time::ZERO + Span::from_us(start),
        releases: bytes % 3 > 0,
        opened: false,
    });
    prop::collection::vec(flow, 1..16)
}

impl Flow {
    /// The same flow between two of these many hosts.
    pub(crate) fn among(mut self, hosts: usize) -> Self {
        let hop = (self.to - self.from) % (hosts - 1) + 1;
        self.from %= hosts;
        self.to = (self.from + hop) % hosts;
        self
    }

    /// Whether a lossless network delivers all its packets.
    pub(crate) fn is_lossless(&self) -> bool {
        Priority::new(self.class).is_some_and(|priority| LOSSLESS.contains(priority))
    }

    /// The side of its data.
    fn sender(&self) -> Side {
        if self.kind == Kind::Rdma(Verb::Read) {
            Side::Responder
        } else {
            Side::Initiator
        }
    }

    fn gathers_telemetry(&self) -> bool {
        self.bytes.is_multiple_of(2)
    }

    /// HPCC with telemetry, whose rate shows every record.
    fn control(&self) -> Algorithm {
        if !self.gathers_telemetry() {
            return Algorithm::Custom(Box::new(Unlimited));
        }
        let line = Rate::from_bits_per_second(100_000_000_000);
        Hpcc::new(HpccConfig::sigcomm19(line, Span::from_us(20))).into()
    }

    fn transport(&self) -> TransportSpec {
        match self.kind {
            Kind::Rdma(verb) => TransportSpec::Rdma {
                config: Arc::new(Config {
                    framing: 0,
                    ..Config::default()
                }),
                controllers: Box::new([(); 2].map(|()| self.control())),
                settings: QueuePairSettings {
                    verb,
                    control_class: CONTROL,
                    telemetry: self.gathers_telemetry(),
                },
            },
            Kind::Tcp(algo) => TransportSpec::Tcp {
                config: Arc::new(tcp_config(algo)),
                controllers: Box::new([controller(algo), controller(algo)]),
            },
            Kind::Datagrams => TransportSpec::Datagram { send_buffer: None },
        }
    }
}

impl Application for Flow {
    fn handle(&mut self, _: Time, notice: Notice, actions: &mut Actions) {
        if let Notice::Finished(end) = notice
            && self.releases
            && end.side() == self.sender()
        {
            actions.release(end.flow());
        }
    }

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        self.opened = true;
        let flow = actions.open(FlowSpec {
            from: HostIndex::from_index(self.from),
            to: HostIndex::from_index(self.to),
            transport: self.transport(),
            framing: Framing {
                class: self.class,
                ..Framing::IP
            },
            watched: false,
            recorded: false,
        });
        let sender = self.sender();
        if self.kind != Kind::Datagrams {
            actions.expect(flow.endpoint(sender.peer()), self.bytes);
            return actions.write(flow.endpoint(sender), self.bytes);
        }
        for _ in 0..=self.bytes / 1_472 {
            actions.write(flow.endpoint(sender), 1_472);
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.opened).then_some(self.start)
    }
}
