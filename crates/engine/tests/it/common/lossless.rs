//! Networks of switches with priorities, of which number 3 is lossless.

use incastle_engine::core::{Node, PortIndex};
use incastle_engine::network::{
    HostConfig, LinkConfig, Network, NetworkBuilder, Outage, PriorityConfig, SwitchConfig,
};
use incastle_queueing::{
    AccountingOptions, IngressPortConfig, LinearMarkerConfig, LosslessConfig, PauseMode,
    PauseSenderConfig, PauseThreshold, PortBuffer, PriorityEcnConfig, PriorityMemoryConfig,
    PrioritySet, ReleaseAt,
};
use incastle_units::{Bytes, Rate, Span, Time};

/// 80 ps per byte.
pub(crate) const RATE: Rate = Rate::from_bits_per_second(100_000_000_000);
pub(crate) const DELAY: Span = Span::from_us(1);

/// One switch with priorities, `senders` hosts and a receiver.
#[derive(Clone, Copy)]
pub(crate) struct Lossless {
    pub(crate) senders: usize,
    pub(crate) memory: Bytes,
    pub(crate) headroom: Bytes,
    pub(crate) threshold: PauseThreshold,
    /// The rate of the links to the senders.
    pub(crate) rate: Rate,
    /// The rate of the link to the receiver.
    pub(crate) last_rate: Rate,
    /// The time of a pause frame; absent: the switch sends none.
    pub(crate) quanta: Option<u16>,
    pub(crate) host: HostConfig,
    /// The capacity of NICs.
    pub(crate) nic: PortBuffer,
    /// Marks at dequeue.
    pub(crate) marker: Option<LinearMarkerConfig>,
    /// When the link of host 0 is down, in both directions: from and until, in microseconds.
    pub(crate) outage: Option<[u16; 2]>,
}

impl Default for Lossless {
    /// Headroom for what is on both links at the pause, and the packets in between.
    fn default() -> Self {
        Self {
            senders: 8,
            memory: Bytes::new(1_000_000),
            headroom: Bytes::new(50_000),
            threshold: PauseThreshold::Dynamic {
                alpha: 0.125,
                resume_offset: Bytes::new(3_000),
            },
            rate: RATE,
            last_rate: RATE,
            quanta: Some(u16::MAX),
            host: HostConfig::default(),
            nic: PortBuffer::Unlimited,
            marker: None,
            outage: None,
        }
    }
}

impl Lossless {
    pub(crate) fn switch(self, ports: usize) -> SwitchConfig {
        let port = IngressPortConfig {
            headroom: self.headroom,
            threshold: self.threshold,
        };
        let memory = PriorityMemoryConfig {
            capacity: self.memory,
            lossless: PrioritySet::from_bits(1 << 3),
            uncounted: PrioritySet::EMPTY,
            reserve: Bytes::ZERO,
            egress_alpha: 8.0,
            ports: vec![port; ports],
            options: AccountingOptions::default(),
        };
        SwitchConfig {
            memory: None,
            lossless: Some(LosslessConfig {
                memory,
                release_at: ReleaseAt::End,
                pause: self.quanta.map(|quanta| PauseSenderConfig {
                    mode: PauseMode::Quanta,
                    quanta,
                }),
                frame: Bytes::new(64),
            }),
        }
    }

    /// The link of a host, and its switch's direction of it.
    pub(crate) fn link(self, host: usize) -> (LinkConfig, LinkConfig) {
        let rate = if host == self.senders {
            self.last_rate
        } else {
            self.rate
        };
        let at = |us| Time::ZERO + Span::from_us(u64::from(us));
        let outages = self.outage.filter(|_| host == 0);
        let outages = outages.map(|[from, until]| Outage {
            from: at(from),
            until: at(until),
        });
        let nic = LinkConfig {
            buffer: self.nic,
            failures: outages.into_iter().collect(),
            ..LinkConfig::unlimited(rate, DELAY)
        };
        let port = LinkConfig {
            failures: outages.into_iter().collect(),
            ..self.port(rate)
        };
        (nic, port)
    }

    fn port(self, rate: Rate) -> LinkConfig {
        let mut port = port_of_switch(rate);
        if let (Some(config), Some(marker)) = (&mut port.priorities, self.marker) {
            config.ecn = PriorityEcnConfig::hpcc_ns3(marker);
        }
        port
    }

    pub(crate) fn build(self) -> Network {
        let mut builder = NetworkBuilder::new(1);
        let switch = Node::Switch(builder.switch("switch", self.switch(self.senders + 1)));
        for host in 0..=self.senders {
            let name = format!("host:{host}");
            let node = Node::Host(builder.host(name, self.host));
            let (forth, back) = self.link(host);
            builder.link(node, switch, forth, back);
        }
        builder.build().expect("every host is reachable")
    }

    /// The receiver is at a second switch. Also returns the port of the trunk towards it.
    pub(crate) fn behind_a_trunk(self) -> (Network, PortIndex) {
        self.behind_a_trunk_with(|_| {})
    }

    /// The same, with a change of the builder.
    pub(crate) fn behind_a_trunk_with(
        self,
        change: impl FnOnce(&mut NetworkBuilder),
    ) -> (Network, PortIndex) {
        let mut builder = NetworkBuilder::new(1);
        change(&mut builder);
        let first = Node::Switch(builder.switch("first", self.switch(self.senders + 1)));
        let second = Node::Switch(builder.switch("second", self.switch(2)));
        builder.link(first, second, self.port(RATE), self.port(RATE));
        for host in 0..=self.senders {
            let name = format!("host:{host}");
            let node = Node::Host(builder.host(name, self.host));
            let switch = if host == self.senders { second } else { first };
            let (forth, back) = self.link(host);
            builder.link(node, switch, forth, back);
        }
        let network = builder.build().expect("every host is reachable");
        let trunk = network.ports().next().expect("the trunk was added first");
        (network, trunk)
    }
}

pub(crate) fn port_of_switch(rate: Rate) -> LinkConfig {
    let mut port = LinkConfig::unlimited(rate, DELAY);
    port.priorities = Some(Box::new(PriorityConfig::default()));
    port
}
