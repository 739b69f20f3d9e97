//! Small networks and applications that the tests share.
#![allow(dead_code, reason = "each test file uses its part")]

mod degraded;
pub(crate) mod fabrics;
pub(crate) mod lossless;
pub(crate) mod sawtooth;
pub(crate) mod shapes;

pub(crate) use degraded::degradations;

use std::sync::Arc;

use incastle_congestion::{
    AckSample, Algorithm, Bbr, BbrConfig, CongestionEvent, Context, ControlState, Controller,
    Cubic, CubicConfig, Dctcp, DctcpConfig, NewReno, NewRenoConfig, Prague, PragueConfig, Reaction,
    SlowStart, Swift, SwiftConfig, Window,
};
use incastle_engine::core::{FlowIndex, HostIndex, Node, Purpose, Side, Source, substream};
use incastle_engine::flow::{Actions, Application, FlowSpec, Framing, Notice, TransportSpec};
use incastle_engine::network::{
    Ecmp, HostConfig, LinkConfig, Network, NetworkBuilder, PortKind, ReactionPointSettings,
    SwitchConfig,
};
use incastle_queueing::{
    CongestionPointConfig, PortBuffer, QueueConfig, SharedBuffer, ThresholdConfig,
};
use incastle_transport::tcp;
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A star: hosts 0 to n-1 send, host n receives.
pub(crate) struct Star {
    pub(crate) senders: usize,
    pub(crate) rate: Rate,
    pub(crate) delay: Span,
    pub(crate) kind: PortKind,
    pub(crate) buffer: PortBuffer,
    pub(crate) memory: Option<SharedBuffer>,
    pub(crate) queue: QueueConfig,
    pub(crate) jitter: Span,
    pub(crate) seed: u64,
    /// The rate of the links from the senders, where it is not `rate`.
    pub(crate) access: Option<Rate>,
    /// How much longer than `delay` host 0's link is, in each direction.
    pub(crate) detour: Span,
    /// Congestion points at all ports of the switch.
    pub(crate) congestion_point: Option<CongestionPointConfig>,
    /// Reaction points in all hosts.
    pub(crate) reaction_point: Option<ReactionPointSettings>,
}

impl Default for Star {
    fn default() -> Self {
        Self {
            senders: 2,
            rate: Rate::from_bits_per_second(1_000_000_000),
            delay: Span::from_us(25),
            kind: PortKind::Fast,
            buffer: PortBuffer::Unlimited,
            memory: None,
            queue: QueueConfig::DropTail,
            jitter: Span::ZERO,
            seed: 1,
            access: None,
            detour: Span::ZERO,
            congestion_point: None,
            reaction_point: None,
        }
    }
}

/// Marks above `packets`.
pub(crate) fn marking_threshold(packets: u64) -> QueueConfig {
    QueueConfig::Threshold(ThresholdConfig::new(Amount::Packets(Packets::new(packets))))
}

impl Star {
    pub(crate) fn build(self) -> Network {
        let mut builder = NetworkBuilder::new(self.seed);
        let switch = builder.switch(
            "switch",
            SwitchConfig {
                memory: self.memory,
                ..SwitchConfig::default()
            },
        );
        let config = HostConfig {
            jitter: self.jitter,
            reaction_point: self.reaction_point,
            ..HostConfig::default()
        };
        for index in 0..=self.senders {
            let host = builder.host(format!("host:{index}"), config);
            let delay = if index == 0 {
                self.delay + self.detour
            } else {
                self.delay
            };
            let up = LinkConfig {
                kind: self.kind,
                ..LinkConfig::unlimited(self.access.unwrap_or(self.rate), delay)
            };
            let down = LinkConfig {
                rate: self.rate,
                delay,
                buffer: self.buffer,
                marker: self.queue.build(self.rate),
                kind: self.kind,
                congestion_point: self.congestion_point,
                ..LinkConfig::unlimited(self.rate, delay)
            };
            builder.link(Node::Host(host), Node::Switch(switch), up, down);
        }
        builder.build().expect("a star is connected")
    }
}

/// Two hosts at two switches with two links between them, one of them longer. Each packet takes either,
/// so that those on the short one overtake others.
pub(crate) fn sprayed(detour: Span) -> Network {
    let mut builder = NetworkBuilder::new(1);
    builder.ecmp(Ecmp::Packet);
    let link = |delay| LinkConfig::unlimited(Rate::from_bits_per_second(1_000_000_000), delay);
    let near = Span::from_us(1);
    let switches = ["left", "right"].map(|name| {
        let switch = Node::Switch(builder.switch(name, SwitchConfig::default()));
        let host = Node::Host(builder.host(format!("host:{name}"), HostConfig::default()));
        builder.link(host, switch, link(near), link(near));
        switch
    });
    for delay in [near, near + detour] {
        builder.link(switches[0], switches[1], link(delay), link(delay));
    }
    builder.build().expect("a connected network")
}

/// The time until the next datagram.
pub(crate) enum Gap {
    Constant(Span),
    Exponential(Span),
}

/// Sends datagrams of one size from one host to another, from the start until a stop.
pub(crate) struct Datagrams {
    from: HostIndex,
    to: HostIndex,
    payload: u64,
    gap: Gap,
    next: Option<Time>,
    stop: Time,
    pub(crate) class: u8,
    flow: Option<FlowIndex>,
    rng: Xoshiro256PlusPlus,
}

impl Datagrams {
    pub(crate) fn new((from, to): (usize, usize), payload: u64, gap: Gap, stop: Time) -> Self {
        Self {
            from: HostIndex::from_index(from),
            to: HostIndex::from_index(to),
            payload,
            gap,
            next: Some(Time::ZERO),
            stop,
            class: 0,
            flow: None,
            rng: substream(7, Source::Application, from as u64, Purpose::Arrivals),
        }
    }

    fn gap(&mut self) -> Span {
        match self.gap {
            Gap::Constant(gap) => gap,
            Gap::Exponential(mean) => mean.scale_lossy(random::exponential(&mut self.rng)),
        }
    }
}

impl Application for Datagrams {
    fn handle(&mut self, _: Time, _: Notice, _: &mut Actions) {}

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        let (from, to, class) = (self.from, self.to, self.class);
        let flow = *self.flow.get_or_insert_with(|| {
            actions.open(FlowSpec {
                from,
                to,
                transport: TransportSpec::Datagram { send_buffer: None },
                framing: Framing {
                    class,
                    ..Framing::IP
                },
                watched: false,
                recorded: false,
            })
        });
        actions.write(flow.endpoint(Side::Initiator), self.payload);
        let next = now + self.gap();
        self.next = (next < self.stop).then_some(next);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next
    }
}

/// The algorithm of a bulk flow's sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Algo {
    NewReno,
    Cubic,
    /// CUBIC with Linux's HyStart.
    Hystart,
    /// NewReno with HyStart++.
    HystartPlusPlus,
    Prague,
    Swift,
    Bbr,
    Dctcp(DctcpConfig),
    /// DCTCP that reacts to one crossing of the threshold by one cut.
    OneCut(DctcpConfig),
}

/// Payload bytes of a full segment.
pub(crate) const MSS: Bytes = Bytes::new(1460);

impl Algo {
    /// DCTCP with its defaults.
    pub(crate) const DCTCP: Self = Self::Dctcp(DctcpConfig::new(MSS));
}

/// TCP parameters of the theory's world: established connections, one ACK per packet.
pub(crate) fn tcp_config(algo: Algo) -> tcp::Config {
    let ecn = match algo {
        Algo::NewReno
        | Algo::Cubic
        | Algo::Hystart
        | Algo::HystartPlusPlus
        | Algo::Swift
        | Algo::Bbr => tcp::EcnMode::Off,
        Algo::Dctcp(_) | Algo::OneCut(_) | Algo::Prague => {
            tcp::EcnMode::Dctcp(tcp::CeChange::Linux)
        }
    };
    tcp::Config {
        ecn,
        ect_on_control: ecn.default_ect_on_control(),
        handshake: false,
        l4s: algo == Algo::Prague,
        delayed_ack_count: 1,
        recovery: if algo == Algo::Bbr {
            tcp::Recovery::RackTlp
        } else {
            tcp::Recovery::Sack
        },
        ..tcp::Config::default()
    }
}

pub(crate) fn controller(algo: Algo) -> Algorithm {
    match algo {
        Algo::NewReno => Algorithm::NewReno(NewReno::new(NewRenoConfig::new(MSS))),
        Algo::Cubic => Algorithm::from(Cubic::new(CubicConfig::new(MSS))),
        Algo::Hystart => Algorithm::from(Cubic::new(CubicConfig {
            window: starting(SlowStart::Hystart),
            ..CubicConfig::new(MSS)
        })),
        Algo::HystartPlusPlus => {
            Algorithm::NewReno(NewReno::new(starting(SlowStart::HystartPlusPlus)))
        }
        Algo::Prague => Algorithm::from(Prague::new(PragueConfig::new(MSS))),
        Algo::Swift => Algorithm::from(Swift::new(SwiftConfig::new(MSS))),
        Algo::Bbr => Algorithm::from(Bbr::new(BbrConfig::new(MSS))),
        Algo::Dctcp(config) => Algorithm::Dctcp(Dctcp::new(config)),
        Algo::OneCut(config) => Algorithm::Custom(Box::new(OneCut {
            inner: Dctcp::new(config),
            deaf_until: Time::ZERO,
        })),
    }
}

const fn starting(slow_start: SlowStart) -> NewRenoConfig {
    NewRenoConfig {
        slow_start,
        ..NewRenoConfig::new(MSS)
    }
}

/// DCTCP that ignores marks for two round trips after each cut. The fluid theory assumes that: a
/// cut takes effect immediately, and the marks still in flight do not count.
struct OneCut {
    inner: Dctcp,
    deaf_until: Time,
}

impl Controller for OneCut {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.inner.on_ack(cx, ack);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        if event == CongestionEvent::Ecn && cx.now < self.deaf_until {
            return Reaction::Ignored;
        }
        let reaction = self.inner.on_congestion(cx, event);
        if reaction == Reaction::Reduced {
            self.deaf_until = cx.now + cx.smoothed_rtt.unwrap_or(Span::ZERO) * 2;
        }
        reaction
    }

    fn window(&self) -> Window {
        self.inner.window()
    }

    fn state(&self) -> ControlState {
        self.inner.state()
    }
}

/// One flow that sends a number of bytes (or without end) from an instant on.
pub(crate) struct Bulk {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) start: Time,
    pub(crate) bytes: u64,
    pub(crate) algo: Algo,
    pub(crate) config: tcp::Config,
    pub(crate) watched: bool,
    pub(crate) recorded: bool,
    pub(crate) close: bool,
    /// The sender's controller, where it is not that of `algo`.
    pub(crate) controller: Option<Algorithm>,
    /// When the data are wanted.
    pub(crate) deadline: Option<Time>,
    pub(crate) class: u8,
    done: bool,
}

/// More than any run sends.
pub(crate) const ENDLESS: u64 = u64::MAX / 4;

impl Bulk {
    pub(crate) fn new((from, to): (usize, usize), start: Time, bytes: u64, algo: Algo) -> Self {
        let config = tcp_config(algo);
        Self {
            from,
            to,
            start,
            bytes,
            algo,
            config,
            watched: false,
            recorded: false,
            close: false,
            controller: None,
            deadline: None,
            class: 0,
            done: false,
        }
    }
}

impl Application for Bulk {
    fn handle(&mut self, _: Time, _: Notice, _: &mut Actions) {}

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        self.done = true;
        let near = self.controller.take();
        let near = near.unwrap_or_else(|| controller(self.algo));
        let controllers = Box::new([near, controller(self.algo)]);
        let flow = actions.open(FlowSpec {
            from: HostIndex::from_index(self.from),
            to: HostIndex::from_index(self.to),
            transport: TransportSpec::Tcp {
                config: Arc::new(self.config),
                controllers,
            },
            framing: Framing {
                class: self.class,
                ..Framing::IP
            },
            watched: self.watched,
            recorded: self.recorded,
        });
        if let Some(deadline) = self.deadline {
            actions.deadline(flow.endpoint(Side::Initiator), deadline);
        }
        actions.write(flow.endpoint(Side::Initiator), self.bytes);
        if self.close {
            actions.close(flow.endpoint(Side::Initiator));
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.done).then_some(self.start)
    }
}
