//! Checks that a scenario can be decomposed into links.

use incastle_scenario::Scenario;
use incastle_scenario::language::arrivals::Arrival;
use incastle_scenario::language::flows::{Group, Workload};
use incastle_scenario::language::network::Ecmp;
use incastle_scenario::language::{Root, RunStop};

use incastle_scenario::language::switch::Queue;
use incastle_scenario::language::tcp::Congestion;

/// A part of a scenario that single links cannot represent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct Unsuited {
    /// The key in question.
    pub key: String,
    /// Its description.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// Refuses a scenario that cannot be decomposed, for the first reason.
pub(super) fn check(scenario: &Scenario) -> Result<(), Unsuited> {
    let root = scenario.tables();
    let layout = scenario.layout();
    if !matches!(root.network.ecmp, Ecmp::Flow(_)) {
        return refuse(
            "network.ecmp",
            "an estimate needs flows that keep to one path",
            "ecmp = \"flow\"",
        );
    }
    if layout.links.iter().any(|link| !link.failures.is_empty()) {
        return refuse(
            "network.failures",
            "an estimate supports no links that fail",
            "leave the links out, or use `incastle run`",
        );
    }
    if layout.links.iter().any(|link| !link.schedule.is_empty()) {
        return refuse(
            "network.links",
            "an estimate supports no links whose rate changes",
            "give each link one rate, or use `incastle run`",
        );
    }
    if let Some((label, _)) = root.network.degraded.first() {
        return refuse(
            &format!("network.degraded.{label}"),
            "an estimate supports no degraded links",
            "leave the entry out, or use `incastle run`",
        );
    }
    let mut switches = root.switches.iter();
    if root.switch.qcn.is_some() || switches.any(|(_, group)| group.switch.qcn.is_some()) {
        return refuse(
            "switch.qcn",
            "an estimate supports no congestion notifications",
            "leave qcn out, or use `incastle run`",
        );
    }
    let mut queues = queues(root);
    if queues.any(|queue| matches!(queue, Queue::DualPi2(_))) {
        return refuse(
            "switch.queue.kind",
            "an estimate supports no coupled queues (dualpi2)",
            "another discipline, or `incastle run`",
        );
    }
    if self::queues(root).any(|queue| matches!(queue, Queue::Priorities(_))) {
        return refuse(
            "switch.queue.kind",
            "an estimate supports no priorities and no PFC",
            "another discipline, or `incastle run`",
        );
    }
    let endless = root.flows.iter().any(|(_, group)| !group.is_finite());
    if root.run.stop == RunStop::WhenDone && endless {
        return refuse(
            "run.stop",
            "an estimate ends with its duration where a group of flows has no end",
            "stop = \"duration\", or a `stop` for each group",
        );
    }
    for (name, group) in &root.flows {
        check_group(name, group)?;
    }
    Ok(())
}

/// The disciplines of all switches and ports.
fn queues(root: &Root) -> impl Iterator<Item = &Queue> {
    let groups = root.switches.iter().map(|(_, group)| &group.switch);
    let switches = std::iter::once(&root.switch).chain(groups);
    switches.flat_map(|switch| {
        let ports = switch.ports.iter().map(|(_, ports)| &ports.queue);
        std::iter::once(&switch.queue).chain(ports)
    })
}

fn check_group(name: &str, group: &Group) -> Result<(), Unsuited> {
    if !matches!(group.workload, Workload::Poisson(_) | Workload::FlowList(_)) {
        return refuse(
            &format!("flows.{name}.workload"),
            "an estimate needs flows that begin whatever the network does",
            "\"poisson\" or \"flow-list\"",
        );
    }
    if let Workload::FlowList(list) = &group.workload
        && list.transfers.list().iter().any(Arrival::waits)
    {
        return refuse(
            &format!("flows.{name}.transfers"),
            "an estimate supports no transfers that wait for others",
            "transfers that begin at instants of their own",
        );
    }
    if group.transport.tcp().is_none() {
        return refuse(
            &format!("flows.{name}.transport.kind"),
            "an estimate supports TCP alone",
            "kind = \"tcp\"",
        );
    }
    let tcp = group.transport.tcp();
    if tcp.is_some_and(|tcp| matches!(tcp.congestion, Congestion::Swift(_))) {
        return refuse(
            &format!("flows.{name}.transport.congestion"),
            "an estimate supports no target for the delay of a whole path (swift)",
            "another congestion control, or `incastle run`",
        );
    }
    if group.transport.custom().is_some() {
        return refuse(
            &format!("flows.{name}.transport.congestion"),
            "an estimate supports no custom controllers",
            "another congestion control, or `incastle run`",
        );
    }
    Ok(())
}

fn refuse(key: &str, message: &str, help: &str) -> Result<(), Unsuited> {
    Err(Unsuited {
        key: key.to_owned(),
        message: message.to_owned(),
        help: help.to_owned(),
    })
}
