//! Builds a [`Network`] from hosts, switches and links.

use std::collections::BTreeMap;

use incastle_links::{Degradation, DegradedLink, RateChange, RateSchedule};
use incastle_queueing::{
    CongestionPointConfig, DropTail, DualPi2Config, Lossless, LosslessConfig, Marker, PauseMode,
    PauseRecorder, PortBuffer, SharedBuffer, WatchdogConfig,
};
use incastle_routing::{Routes, RoutesConfig, Unreachable};
use incastle_units::{Rate, Span};

use crate::core::{HostIndex, Node, Order, PortIndex, Purpose, Source, SwitchIndex, substream};
use crate::network::{
    Ecmp, EgressQueue, Extras, Failures, FairConfig, Gate, Host, HostConfig, Network, Outage,
    PauseStorm, Pausing, Pool, Port, PriorityConfig, Sampler, SharedMemory, Storm, Switch, Turns,
    Wire, edges,
};

/// The parameters of a switch.
#[derive(Debug, Default)]
pub struct SwitchConfig {
    /// A memory shared by all ports.
    pub memory: Option<SharedBuffer>,
    /// Priorities with their memory, at a switch whose ports all have [`LinkConfig::priorities`].
    pub lossless: Option<LosslessConfig>,
}

/// The queue of a port.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum PortKind {
    /// FIFO without departure events.
    #[default]
    Fast,
    /// FIFO with departure events.
    General,
    /// One queue per flow or class, served by deficit round robin, at switches with memory per port. A marker judges by
    /// the packet's own queue.
    Fair(FairConfig),
    /// The two queues of DualPI2, at switches with memory per port.
    Dual(DualPi2Config),
}

/// One direction of a link, and the port that feeds it.
pub struct LinkConfig {
    /// The line rate.
    pub rate: Rate,
    /// The one-way propagation delay.
    pub delay: Span,
    /// The buffer of the port.
    pub buffer: PortBuffer,
    /// The queue discipline.
    pub marker: Marker,
    /// The queue of the port.
    pub kind: PortKind,
    /// One queue per priority instead, at switches with priorities.
    pub priorities: Option<Box<PriorityConfig>>,
    /// A congestion point at the port, which must be a switch's.
    pub congestion_point: Option<CongestionPointConfig>,
    /// Changes of the rate, in order of time. The packet being sent at that instant, or beginning to be, ends at the old
    /// rate. A port with a schedule has departure events, also where its kind is fast.
    pub schedule: Vec<RateChange>,
    /// Outages of this direction, in order of time. A port with outages has departure events, also where its kind is
    /// fast.
    pub failures: Vec<Outage>,
    /// The number of links between the same nodes that stand before it, which the port's name has.
    pub earlier: u32,
    /// Whether transmission times are cut to nanoseconds as in ns-3.
    pub ns3_times: bool,
    /// Periods in which this direction is degraded, in order of time. A degraded port has departure events, also where its
    /// kind is fast.
    pub degradations: Vec<Degradation>,
}

impl LinkConfig {
    /// A link with an unlimited drop-tail queue.
    pub fn unlimited(rate: Rate, delay: Span) -> Self {
        Self {
            rate,
            delay,
            buffer: PortBuffer::Unlimited,
            marker: Marker::DropTail(DropTail),
            kind: PortKind::Fast,
            priorities: None,
            congestion_point: None,
            schedule: Vec::new(),
            failures: Vec::new(),
            earlier: 0,
            ns3_times: false,
            degradations: Vec::new(),
        }
    }

    /// Whether a fast port serves.
    fn is_steady(&self) -> bool {
        self.schedule.is_empty() && self.failures.is_empty() && self.degradations.is_empty()
    }
}

/// Why a network cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A host without a link.
    #[error("host {0:?} has no link")]
    NoLink(String),
    /// A host with more than one link.
    #[error("host {0:?} has more than one link; a host has one NIC")]
    SeveralLinks(String),
    /// A host that cannot be reached from a switch.
    #[error("host {host:?} cannot be reached from switch {switch:?}")]
    Unreachable {
        /// The host.
        host: String,
        /// The switch.
        switch: String,
    },
}

/// A network under construction.
pub struct NetworkBuilder {
    seed: u64,
    ecmp: Ecmp,
    hosts: Vec<(String, HostConfig)>,
    switches: Vec<(String, SwitchConfig)>,
    ports: Vec<Port>,
    owners: Vec<Node>,
    schedules: BTreeMap<PortIndex, RateSchedule>,
    failures: BTreeMap<PortIndex, Vec<Outage>>,
    wires: BTreeMap<PortIndex, Wire>,
    earlier: BTreeMap<PortIndex, u32>,
    convergence: Span,
    order: Order,
    pause_mode: PauseMode,
    watchdog: Option<WatchdogConfig>,
    /// The limit of recorded pauses.
    recorded_pauses: usize,
    deadlock_checks: Option<Span>,
    storms: Vec<PauseStorm>,
}

impl NetworkBuilder {
    /// An empty network. `seed` is the seed of every random substream of the run.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            ecmp: Ecmp::default(),
            hosts: Vec::new(),
            switches: Vec::new(),
            ports: Vec::new(),
            owners: Vec::new(),
            schedules: BTreeMap::new(),
            failures: BTreeMap::new(),
            wires: BTreeMap::new(),
            earlier: BTreeMap::new(),
            convergence: Span::ZERO,
            order: Order::default(),
            pause_mode: PauseMode::default(),
            watchdog: None,
            recorded_pauses: 0,
            deadlock_checks: None,
            storms: Vec::new(),
        }
    }

    /// Sets the unit that takes one of several equal paths.
    pub fn ecmp(&mut self, ecmp: Ecmp) {
        self.ecmp = ecmp;
    }

    /// Sets the time from a failure or recovery of a link to the change of the routes.
    pub fn convergence(&mut self, convergence: Span) {
        self.convergence = convergence;
    }

    /// Sets the end of pauses: expiry, or a frame that resumes alone.
    pub fn pause_mode(&mut self, mode: PauseMode) {
        self.pause_mode = mode;
    }

    /// Sets a watchdog of pauses at all ports of switches with priorities. Its configuration must pass
    /// [`WatchdogConfig::check`].
    pub fn watchdog(&mut self, config: WatchdogConfig) {
        self.watchdog = Some(config);
    }

    /// Records pauses with their roots, at most this number ([`Network::recorded_pauses`]).
    pub fn record_pauses(&mut self, limit: usize) {
        self.recorded_pauses = limit;
    }

    /// Looks for deadlocks of pauses at this interval ([`Network::deadlocks`]), above zero. It should exceed the time of a
    /// pause frame over the longest link.
    pub fn check_deadlocks(&mut self, every: Span) {
        self.deadlock_checks = Some(every);
    }

    /// Adds a storm of pause frames from a host.
    pub fn pause_storm(&mut self, storm: PauseStorm) {
        self.storms.push(storm);
    }

    /// Events of one instant come in the order in which they were entered, as in ns-3. All times have to be whole
    /// nanoseconds: those of links ([`LinkConfig::ns3_times`]), of queue pairs, and of applications.
    pub fn order_as_entered(&mut self) {
        self.order = Order::AsEntered;
    }

    /// Adds a host.
    pub fn host(&mut self, name: impl Into<String>, config: HostConfig) -> HostIndex {
        self.hosts.push((name.into(), config));
        HostIndex::from_index(self.hosts.len() - 1)
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: impl Into<String>, config: SwitchConfig) -> SwitchIndex {
        self.switches.push((name.into(), config));
        SwitchIndex::from_index(self.switches.len() - 1)
    }

    /// Adds a link: `forth` from `a` to `b`, `back` from `b` to `a`.
    pub fn link(&mut self, a: Node, b: Node, forth: LinkConfig, back: LinkConfig) {
        self.port(a, b, forth);
        self.port(b, a, back);
    }

    fn port(&mut self, from: Node, to: Node, mut config: LinkConfig) {
        let index = PortIndex::from_index(self.ports.len());
        let steady = config.is_steady();
        let rng = || {
            let index = u64::from(index.0);
            substream(self.seed, Source::Port, index, Purpose::Marking)
        };
        if self.is_limited_nic(from, to, config.buffer) {
            config.priorities = Some(Box::default());
        }
        let gate = Gate::new(config.buffer, config.marker, rng());
        let mut port = Port::new(index, to, config.rate, config.delay, gate);
        if config.ns3_times {
            port = port.with_ns3_times();
        }
        port = match (config.priorities, config.kind) {
            (Some(priorities), _) => port.with_priorities(&priorities, rng(), self.pause_mode),
            (None, PortKind::Dual(config)) => {
                self.check_lanes(from);
                port.dual(config)
            }
            (None, PortKind::Fair(config)) => {
                self.check_lanes(from);
                port.fair(config)
            }
            (None, PortKind::Fast) if steady => port,
            (None, PortKind::Fast | PortKind::General) => port.general(),
        };
        if !config.schedule.is_empty() {
            let schedule = RateSchedule::new(config.rate, config.schedule);
            self.schedules.insert(index, schedule);
        }
        if !config.failures.is_empty() {
            self.failures.insert(index, config.failures);
        }
        if config.earlier > 0 {
            self.earlier.insert(index, config.earlier);
        }
        if !config.degradations.is_empty() {
            let link = DegradedLink::new(self.seed, index.0, config.degradations);
            let order = crate::layout::Order::default();
            self.wires.insert(index, Wire { link, order });
        }
        if let Node::Switch(switch) = from {
            port.observed = true;
            if self.switches[switch.index()].1.memory.is_some() {
                port.gate.judge_all();
            }
        }
        if let Some(point) = config.congestion_point {
            assert!(port.observed, "congestion points are at switches");
            let index = u64::from(index.0);
            let rng = substream(self.seed, Source::Port, index, Purpose::Sampling);
            port = port.sampled(Sampler::new(point, rng));
        }
        self.ports.push(port.unwatched_if_open());
        self.owners.push(from);
    }

    /// Whether a port is a NIC with a capacity that may be paused. It takes packets at once, so that pauses hold them in a
    /// queue for each priority.
    fn is_limited_nic(&self, from: Node, to: Node, buffer: PortBuffer) -> bool {
        let (Node::Host(_), Node::Switch(switch)) = (from, to) else {
            return false;
        };
        let lossless = &self.switches[switch.index()].1.lossless;
        let pauses = lossless
            .as_ref()
            .is_some_and(|config| config.pause.is_some());
        pauses && buffer != PortBuffer::Unlimited
    }

    /// A fair queue has no shared memory, and does not suit a NIC, which serves its endpoints by round robin anyway.
    fn check_lanes(&self, from: Node) {
        let Node::Switch(switch) = from else {
            panic!("queues of several lanes are at switches");
        };
        let memory = &self.switches[switch.index()].1.memory;
        assert!(
            memory.is_none(),
            "queues of several lanes have a memory per port"
        );
    }

    /// Computes the routes.
    pub fn build(mut self) -> Result<Network, BuildError> {
        self.add_watchdogs();
        let recorder = self.recorder();
        let host_ports = self.host_ports()?;
        let edges = edges(&self.ports, &self.owners, |_| true);
        let seed = self.seed;
        let routes = Routes::new(
            RoutesConfig {
                hosts: self.hosts.len(),
                switches: self.switches.len(),
                ecmp: self.ecmp,
                seed,
            },
            &edges,
        );
        let numbering = Numbering::of(&self.owners, self.switches.len());
        for (port, number) in self.ports.iter_mut().zip(&numbering.numbers) {
            port.set_number(*number);
        }
        let hosts = self.hosts.iter().zip(host_ports).enumerate();
        let hosts = hosts.map(|(index, ((_, config), port))| {
            let rng = substream(seed, Source::Host, index as u64, Purpose::Jitter);
            let rate = self.ports[port.index()].rate();
            Host::new(port, rate, *config, rng)
        });
        let switch_names = self.switches.iter().map(|(name, _)| name.clone()).collect();
        let switches = self.switches.into_iter().zip(&numbering.ports_of);
        let switches = switches.map(|((_, config), ports)| Switch {
            memory: config.memory.map(SharedMemory::new),
            lossless: config.lossless.map(|config| {
                let rates = ports.iter().map(|port| self.ports[port.index()].rate());
                let rates: Vec<Rate> = rates.collect();
                Box::new(Pausing::new(Lossless::new(&config, &rates)))
            }),
        });
        let switches = switches.collect();
        let mut network = Network {
            seed,
            order: self.order,
            pause_mode: self.pause_mode,
            recorder,
            notes: None,
            storms: self.storms.into_iter().map(Storm::from).collect(),
            turns: Turns::new(self.order),
            numbers: numbering.numbers,
            ports_of: numbering.ports_of,
            hosts: hosts.collect(),
            host_names: self.hosts.iter().map(|(name, _)| name.clone()).collect(),
            switch_names,
            switches,
            ports: self.ports,
            owners: self.owners,
            schedules: self.schedules,
            failures: Failures::new(&self.failures, self.convergence),
            wires: self.wires,
            earlier: self.earlier,
            routes,
            captured: Vec::new(),
            pool: Pool::default(),
            extras: Extras::default(),
            late_departures: 0,
            added_departures: 0,
            telemetry: false,
        };
        network.check_reachability()?;
        network.begin_late();
        Ok(network)
    }

    /// The recorder of pauses, if anything is recorded.
    fn recorder(&self) -> Option<Box<PauseRecorder<EgressQueue>>> {
        let (limit, every) = (self.recorded_pauses, self.deadlock_checks);
        let any = limit > 0 || every.is_some();
        any.then(|| Box::new(PauseRecorder::new(limit, every)))
    }

    fn add_watchdogs(&mut self) {
        let Some(config) = self.watchdog else { return };
        for (port, owner) in self.ports.iter_mut().zip(&self.owners) {
            if matches!(owner, Node::Switch(_)) {
                port.watch(config);
            }
        }
    }

    /// The one port of each host.
    fn host_ports(&self) -> Result<Vec<PortIndex>, BuildError> {
        let mut ports = vec![None; self.hosts.len()];
        for (port, owner) in self.ports.iter().zip(&self.owners) {
            let Node::Host(host) = owner else { continue };
            if ports[host.index()].replace(port.index).is_some() {
                return Err(BuildError::SeveralLinks(self.hosts[host.index()].0.clone()));
            }
        }
        let names = self.hosts.iter().map(|(name, _)| name);
        ports
            .into_iter()
            .zip(names)
            .map(|(port, name)| port.ok_or_else(|| BuildError::NoLink(name.clone())))
            .collect()
    }
}

/// The numbers of ports at their nodes.
struct Numbering {
    numbers: Vec<u32>,
    ports_of: Vec<Vec<PortIndex>>,
}

impl Numbering {
    fn of(owners: &[Node], switches: usize) -> Self {
        let mut ports_of = vec![Vec::new(); switches];
        let number = |(index, owner): (usize, &Node)| match owner {
            Node::Host(_) => 0,
            Node::Switch(switch) => {
                let ports: &mut Vec<PortIndex> = &mut ports_of[switch.index()];
                ports.push(PortIndex::from_index(index));
                ports.len() as u32 - 1
            }
        };
        let numbers = owners.iter().enumerate().map(number).collect();
        Self { numbers, ports_of }
    }
}

impl Network {
    /// Every switch must have a route to every host.
    fn check_reachability(&self) -> Result<(), BuildError> {
        let Some(Unreachable { switch, host }) = self.routes.first_unreachable() else {
            return Ok(());
        };
        Err(BuildError::Unreachable {
            host: self.host_names[host.index()].clone(),
            switch: self.switch_names[switch.index()].clone(),
        })
    }
}
