//! A scenario whose network is simulated in partitions: whether that is possible, and how they start and join.
//!
//! Applications decide by the clock alone, or by events at one endpoint of one flow (`incastle-engine`,
//! `parallel`). Leaves out: threads (`incastle-driver`).

use std::sync::Arc;

use incastle_engine::Simulation;
use incastle_engine::network::Network;
use incastle_engine::parallel::{PartitionError, Partitioning};
use incastle_rdma::Verb;
use incastle_recorder::Recorder;

use crate::network::network;
use crate::output::Output;
use crate::overseer::{Overseer, RunError};
use crate::prepared::Prepared;
use crate::record::{Finished, Passed, Record};
use incastle_scenario::Scenario;
use incastle_scenario::language::RunStop;
use incastle_scenario::language::flows::{Group, Size, Stop, Workload};
use incastle_scenario::language::measure::Sampling;
use incastle_workload::Journal;

/// The reason why a scenario needs one thread, as in "this scenario has ...", if there is one.
pub fn alone_because(scenario: &Scenario) -> Option<String> {
    // Where the network cannot be built, the run reports it.
    parted(scenario, 2).ok()?.err()
}

/// At most `parts` partitions of a scenario's network, with the network of the first; or the reason for none.
pub fn parted(
    scenario: &Scenario,
    parts: usize,
) -> Result<Result<(Arc<Partitioning>, Network), String>, RunError> {
    if let Some(reason) = decides_as_a_whole(scenario) {
        return Ok(Err(reason));
    }
    let network = network(scenario)?;
    if let Some(reason) = network.alone_because() {
        return Ok(Err(reason.to_owned()));
    }
    Ok(match network.partition(parts) {
        Ok(partition) => Ok((Arc::new(partition), network)),
        Err(PartitionError::OneSwitch) => Err("all hosts at one switch".to_owned()),
        Err(PartitionError::NoDelay) => Err("links without delay between its parts".to_owned()),
    })
}

fn decides_as_a_whole(scenario: &Scenario) -> Option<String> {
    if scenario.tables().run.stop == RunStop::WhenDone {
        return Some("run.stop = \"when-done\"".to_owned());
    }
    let measure = &scenario.tables().measure;
    let lists = [
        ("window", matches!(measure.window, Sampling::On(_))),
        ("dcudp", matches!(measure.dcudp, Sampling::On(_))),
        ("qcn", matches!(measure.qcn, Sampling::On(_))),
        ("timeouts", measure.timeouts),
        ("pcap", matches!(measure.pcap, Sampling::On(_))),
        ("events", matches!(measure.events, Sampling::On(_))),
    ];
    let list = lists.iter().find(|(_, is_sampled)| *is_sampled);
    let of_measure =
        list.map(|(key, _)| format!("measure.{key}, one list of what happens anywhere"));
    let mut groups = scenario.tables().flows.iter();
    let of_groups = groups.find_map(|(name, group)| {
        let closed = closed_loop(group)?;
        Some(format!("{closed} (flows.{name})"))
    });
    // An endpoint that has been released in one partition could not answer repetitions of the other.
    let reads = |(_, group): &(String, Group)| {
        let rdma = group.transport.rdma();
        rdma.is_some_and(|rdma| rdma.verb == Verb::Read)
    };
    let of_reads = scenario.tables().flows.iter().any(reads);
    let of_reads = of_reads.then(|| "RDMA READs".to_owned());
    let custom = !scenario.custom_controllers().is_empty();
    let of_controllers = custom.then(|| "custom controllers".to_owned());
    of_measure.or(of_controllers).or(of_reads).or(of_groups)
}

/// The property of a group by which it decides on more than the clock, if there is one.
fn closed_loop(group: &Group) -> Option<&'static str> {
    let until_stopped = |size: &Size| {
        let both = matches!(size, Size::Of(_)) && matches!(group.stop, Stop::At(_));
        both.then_some("finite flows that are stopped")
    };
    match &group.workload {
        Workload::Bulk(bulk) => until_stopped(&bulk.size),
        Workload::Permutation(one) => until_stopped(&one.size),
        Workload::FlowList(list) if list.transfers.counts().is_empty() => None,
        Workload::FlowList(_) => Some("transfers that wait for others"),
        Workload::AllReduce(_) => Some("an all-reduce"),
        Workload::BarrierIncast(_) | Workload::Query(_) | Workload::AllToAll(_) => Some("requests"),
        Workload::Cbr(_)
        | Workload::OnOff(_)
        | Workload::Poisson(_)
        | Workload::RandomIncast(_)
        | Workload::PoissonDatagrams(_) => None,
    }
}

/// Whether packets of any group gather telemetry (INT).
fn gathers_telemetry(scenario: &Scenario) -> bool {
    let groups = scenario.tables().flows.iter();
    let mut pairs = groups.filter_map(|(_, group)| group.transport.rdma());
    pairs.any(|pair| pair.telemetry)
}

/// The simulation of one partition, in a network that may exist already.
pub fn prepare_part(
    scenario: &Scenario,
    partition: &Arc<Partitioning>,
    index: usize,
    known: Option<Network>,
) -> Result<Prepared, RunError> {
    let has = |node| partition.of(node) == index;
    let mut network = known.map_or_else(|| network(scenario), Ok)?;
    if gathers_telemetry(scenario) {
        network.gather_telemetry();
    }
    let mut part = Prepared::new(scenario, network, has);
    part.simulation.become_partition(partition, index);
    Ok(part)
}

/// The partitions of a run after its end.
pub struct FinishedParts<'a> {
    /// In the order of the partition.
    pub simulations: Vec<Simulation<Recorder>>,
    /// Likewise.
    pub journals: &'a [Journal],
    /// The division of the network.
    pub partition: &'a Partitioning,
}

/// The result of a run in partitions.
pub fn join(
    scenario: &Scenario,
    overseer: &dyn Overseer,
    passed: Passed,
    parts: FinishedParts<'_>,
) -> Output {
    let FinishedParts {
        simulations,
        journals,
        partition,
    } = parts;
    assert_eq!(simulations.len(), journals.len(), "each part has a journal");
    let finished = Finished::new(simulations, |recorders, network| {
        Recorder::join(
            recorders,
            &partition.owners(network.ports().map(|port| network.owner(port))),
        )
    });
    let mut notes = std::mem::take(&mut *journals[0].notes());
    for journal in &journals[1..] {
        notes.add(&journal.notes());
    }
    let record = Record::new(scenario, passed, finished, notes);
    record.with_ideals(overseer).output()
}
