//! From a checked scenario to the engine's network.

mod degraded;

pub(crate) use degraded::rates;

use incastle_engine::core::{HostIndex, Node, SwitchIndex};
use incastle_engine::network::{
    BuildError, ClassifyBy, Coalescing, Ecmp, FairConfig, FairDrop, HostConfig, JitterAppliesTo,
    LinkConfig, Network, NetworkBuilder, Outage, PauseStorm, PortKind, PriorityConfig,
    ReactionPointSettings, SwitchConfig,
};
use incastle_queueing::{
    BufferConfig, CongestionPointConfig, MarkAt, PortBuffer, PriorityEcnConfig, SharedBuffer,
};
use incastle_units::{Span, Time};

use incastle_scenario::Scenario;
use incastle_scenario::language::network;
use incastle_scenario::language::pfc::priority_set;
use incastle_scenario::language::root::Compat;
use incastle_scenario::language::switch::{self as language, Queue, Switch};
use incastle_scenario::language::{JitterAppliesTo as Delayed, Root};
use incastle_scenario::lossless;
use incastle_scenario::topology::layout::{End, Layout, Link};

/// Pauses that are recorded at most.
const MAX_PAUSES: usize = 1_000_000;
/// The interval of checks for deadlocks; ten delays of the longest link where that is more.
const DEADLOCK_CHECKS: Span = Span::from_us(100);

/// The network of a scenario. Hosts and switches have the positions of the layout.
pub fn network(scenario: &Scenario) -> Result<Network, BuildError> {
    let (root, layout) = (scenario.tables(), scenario.layout());
    let parts = Parts {
        root,
        layout,
        switches: &scenario.switches(),
    };
    assemble(&parts, scenario.seed())
}

/// The network of these parts.
pub(super) fn assemble(parts: &Parts<'_>, seed: u64) -> Result<Network, BuildError> {
    let Parts {
        root,
        layout,
        switches,
    } = *parts;
    assert_eq!(
        layout.switches.len(),
        switches.len(),
        "a switch has parameters"
    );
    let mut builder = NetworkBuilder::new(seed);
    builder.ecmp(ecmp(&root.network.ecmp));
    builder.convergence(root.network.reconvergence_delay);
    builder.pause_mode(lossless::pause_mode(root));
    watch_pauses(&mut builder, parts);
    if root.run.compat == Some(Compat::HpccNs3) {
        builder.order_as_entered();
    }
    for name in &layout.hosts {
        builder.host(name.to_string(), host(root, switches));
    }
    for (number, (name, switch)) in layout.switches.iter().zip(switches).enumerate() {
        let config = SwitchConfig {
            lossless: lossless::memory(number, switch, root, layout),
            ..memory(switch)
        };
        builder.switch(name.to_string(), config);
    }
    for link in &layout.links {
        let (a, b) = link.ends;
        builder.link(
            node(a),
            node(b),
            port(a, b, link, parts),
            port(b, a, link, parts),
        );
    }
    for storm in pause_storms(parts) {
        builder.pause_storm(storm);
    }
    let network = builder.build()?;
    assert_eq!(network.host_count(), layout.hosts.len());
    assert_eq!(network.switch_count(), layout.switches.len());
    assert_eq!(
        network.ports().count(),
        2 * layout.links.len(),
        "two ports per link"
    );
    Ok(network)
}

/// Sets the record of pauses, the checks for deadlocks, and the watchdog.
fn watch_pauses(builder: &mut NetworkBuilder, parts: &Parts<'_>) {
    let mut pfc = parts
        .switches
        .iter()
        .filter_map(|switch| switch.pfc.as_ref())
        .peekable();
    if pfc.peek().is_none() {
        return;
    }
    if parts.root.measure.pauses {
        builder.record_pauses(MAX_PAUSES);
    }
    // HPCC's simulator has no such checks, and counts whole nanoseconds.
    if parts.root.run.compat.is_none() {
        let delays = parts.layout.links.iter().map(|link| link.delay);
        let longest = delays.max().unwrap_or(Span::ZERO);
        builder.check_deadlocks(DEADLOCK_CHECKS.max(longest * 10));
    }
    // A checked scenario has one watchdog for all.
    if let Some(watchdog) = pfc.find_map(|pfc| pfc.watchdog.as_ref()) {
        builder.watchdog(watchdog.to_config());
    }
}

/// The storms of pause frames, one for each host.
fn pause_storms<'a>(parts: &Parts<'a>) -> impl Iterator<Item = PauseStorm> + 'a {
    let hosts = parts.layout.hosts.iter().enumerate();
    let storms = parts.root.network.pause_storms.iter();
    storms.flat_map(move |(_, storm)| {
        let own = hosts.clone().filter(|(_, name)| storm.of.contains(name));
        own.map(|(host, _)| PauseStorm {
            host: HostIndex::from_index(host),
            priorities: priority_set(&storm.priorities),
            from: Time::ZERO + storm.from,
            until: storm.until.map_or(Time::NEVER, |until| Time::ZERO + until),
        })
    })
}

/// A switch with its memory, where its ports share one and have no priorities.
pub fn memory(switch: &Switch) -> SwitchConfig {
    let memory = match switch.buffer.to_config() {
        BufferConfig::PerPort(_) => None,
        BufferConfig::Shared(_) if lossless::has_priorities(switch) => None,
        BufferConfig::Shared(shared) => Some(SharedBuffer::new(shared.capacity, shared.alpha)),
    };
    SwitchConfig {
        memory,
        ..SwitchConfig::default()
    }
}

/// A host.
pub fn host(root: &Root, switches: &[&Switch]) -> HostConfig {
    let host = &root.host;
    let coalesces = host.tso_burst > 1 && host.interrupt_coalescing > Span::ZERO;
    HostConfig {
        jitter: host.jitter,
        jitter_applies_to: match host.jitter_applies_to {
            Delayed::Data => JitterAppliesTo::Data,
            Delayed::All => JitterAppliesTo::All,
        },
        coalescing: coalesces.then_some(Coalescing {
            packets: host.tso_burst,
            within: host.interrupt_coalescing,
        }),
        reaction_point: reaction_point(root, switches),
    }
}

/// The reaction point, if switches send notifications and hosts obey them.
fn reaction_point(root: &Root, switches: &[&Switch]) -> Option<ReactionPointSettings> {
    let qcn = &root.host.qcn;
    // A checked scenario has modification IV at all switches or at none.
    let points = switches.iter().find_map(|switch| switch.qcn.as_ref())?;
    let queue = u32::try_from(qcn.queue.count()).unwrap_or(u32::MAX);
    qcn.obey.then(|| ReactionPointSettings {
        template: qcn.to_config(&points.modifications),
        queue,
    })
}

fn ecmp(ecmp: &network::Ecmp) -> Ecmp {
    match ecmp {
        network::Ecmp::Flow(_) => Ecmp::Flow,
        network::Ecmp::Packet(_) => Ecmp::Packet,
        network::Ecmp::Flowlet(flowlet) => Ecmp::Flowlet {
            gap: flowlet.flowlet_gap,
        },
    }
}

fn node(end: End) -> Node {
    match end {
        End::Host(host) => Node::Host(HostIndex::from_index(host)),
        End::Switch(switch) => Node::Switch(SwitchIndex::from_index(switch)),
    }
}

/// The parameters of ports.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    /// The tables.
    pub root: &'a Root,
    /// Hosts, switches and links.
    pub layout: &'a Layout,
    /// The parameters of each switch.
    pub switches: &'a [&'a Switch],
}

/// The port of a link at `from`, towards `to`.
pub fn port(from: End, to: End, link: &Link, parts: &Parts<'_>) -> LinkConfig {
    let unlimited = LinkConfig::unlimited(link.rate, link.delay);
    let config = match from {
        End::Host(_) => LinkConfig {
            buffer: parts.root.host.queue.to_port_buffer(),
            ..unlimited
        },
        End::Switch(switch) => {
            let switch = parts.switches[switch];
            let queue = switch.queue_to(parts.layout.name(to));
            LinkConfig {
                buffer: match switch.buffer.to_config() {
                    BufferConfig::PerPort(buffer) => buffer,
                    // The shared memory alone limits the port.
                    BufferConfig::Shared(_) => PortBuffer::Unlimited,
                },
                marker: queue.to_config(link.rate).build(link.rate),
                kind: port_kind(queue),
                priorities: priorities(queue, link, parts.root.run.compat),
                congestion_point: congestion_point(switch, || parts.layout.port_name(from, link)),
                ..unlimited
            }
        }
    };
    let steps = rates(from, link, &parts.root.network);
    LinkConfig {
        rate: steps.initial,
        earlier: link.earlier,
        schedule: steps.changes,
        failures: failures(link),
        degradations: degraded::degradations(from, link, &parts.root.network),
        ns3_times: parts.root.run.compat == Some(Compat::HpccNs3),
        ..config
    }
}

/// The queues for priorities, where the port has them.
fn priorities(queue: &Queue, link: &Link, compat: Option<Compat>) -> Option<Box<PriorityConfig>> {
    let Queue::Priorities(priorities) = queue else {
        return None;
    };
    let ecn = priorities.markers(link.rate);
    Some(Box::new(PriorityConfig {
        scheduler: priorities.scheduler.to_config(),
        ecn: match compat {
            None => ecn,
            // switch-node.cc, SwitchNotifyDequeue.
            Some(Compat::HpccNs3) => PriorityEcnConfig {
                at: MarkAt::Dequeue,
                ..ecn
            },
        },
    }))
}

/// The congestion point of a switch's port, if it has one.
fn congestion_point(switch: &Switch, port: impl Fn() -> String) -> Option<CongestionPointConfig> {
    let points = switch.qcn.as_ref()?;
    let chosen = |name: &String| name == "all" || *name == port();
    let any = points.ports.iter().any(chosen);
    any.then(|| points.to_config(switch.buffer.bytes_per_port()))
}

/// The times when a link is down.
fn failures(link: &Link) -> Vec<Outage> {
    let at = |span| Time::ZERO + span;
    let failures = link.failures.iter();
    failures
        .map(|&(down, up)| Outage {
            from: at(down),
            until: up.map_or(Time::NEVER, at),
        })
        .collect()
}

/// The order in which a port sends.
fn port_kind(queue: &Queue) -> PortKind {
    match queue {
        Queue::Drr(drr) => PortKind::Fair(FairConfig {
            quantum: drr.quantum,
            drop: match drr.drop {
                language::FairDrop::Longest => FairDrop::Longest,
                language::FairDrop::Arriving => FairDrop::Arriving,
            },
            per: match drr.classify_by {
                language::ClassifyBy::Flow => ClassifyBy::Flow,
                language::ClassifyBy::TrafficClass => ClassifyBy::Class,
            },
        }),
        Queue::DualPi2(dual) => PortKind::Dual(dual.to_config()),
        Queue::DropTail(_)
        | Queue::Red(_)
        | Queue::Threshold(_)
        | Queue::DoubleThreshold(_)
        | Queue::Linear(_)
        | Queue::Priorities(_) => PortKind::Fast,
    }
}
