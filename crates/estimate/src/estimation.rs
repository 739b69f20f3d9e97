//! The decomposition of a scenario, and its estimate.

use std::collections::BTreeMap;

use incastle_units::Span;

use incastle_experiment::Output;
use incastle_experiment::ideal::{LineRate, OwnTransport, Wanted};
use incastle_experiment::network::network;
use incastle_experiment::{Overseer, RunError};
use incastle_scenario::Scenario;
use incastle_workload::{Opening, TransferKind, openings};

use crate::clusters::Clusters;
use crate::combine;
use crate::crossings::Crossings;
use crate::delays::{self, Delays};
use crate::paces::{Decomposition, Paces};
use crate::pools::Simulated;
use crate::suited::{self, Unsuited};
use crate::surroundings::Whole;
use crate::workers::Workers;

/// The reason why a scenario has no estimate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EstimateError {
    /// The scenario has something that single links cannot represent.
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    /// The network cannot be built, or a link cannot be simulated.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A decomposed scenario: its flows, the links that they cross, and the simulated ones among these.
pub struct Estimation {
    scenario: Scenario,
    flows: Vec<Opening>,
    crossings: Crossings,
    clusters: Clusters,
    paces: Paces,
    /// By flow: its time alone, under its own transport.
    ideals: Vec<Option<Span>>,
    /// By flow: the lower bound of its time under any transport.
    minimum: Vec<Option<Span>>,
}

impl Estimation {
    /// Decomposes a scenario. At most about `per_class` links of each class are simulated; all of them,
    /// if that is absent.
    pub fn new(
        scenario: &Scenario,
        per_class: Option<usize>,
        workers: &impl Workers,
    ) -> Result<Self, EstimateError> {
        suited::check(scenario)?;
        let flows = openings(scenario).expect("a suited scenario has no other workloads");
        let crossings = || -> Result<Crossings, RunError> {
            let whole = network(scenario)?;
            Ok(Crossings::new(&whole, scenario.layout(), &flows))
        };
        let (ideals, crossings) = workers.both(|| ideals(scenario, &flows), crossings);
        let (ideals, crossings) = (ideals?, crossings?);
        let minimum = minimum(scenario, &flows);
        let clusters = Clusters::new(scenario, &flows, &crossings, per_class);
        let whole = Whole::new(scenario, &flows, &crossings);
        let paces = Paces::new(&whole, &ideals, clusters.simulated());
        Ok(Self {
            ideals,
            minimum,
            scenario: scenario.clone(),
            flows,
            crossings,
            clusters,
            paces,
        })
    }

    /// The number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The links that flows cross.
    pub fn crossed(&self) -> usize {
        self.clusters.crossed()
    }

    /// The links to simulate, by their indices in the layout.
    pub fn links(&self) -> &[usize] {
        self.clusters.simulated()
    }

    /// The name of a link.
    pub fn name(&self, link: usize) -> String {
        combine::link_name(self.scenario.layout(), link)
    }

    /// The work of a link: bytes that cross it.
    pub fn work(&self, link: usize) -> u64 {
        self.clusters.carried(link)
    }

    /// Whether these can be the delays of a link.
    pub fn fits(&self, link: usize, delays: &Delays) -> bool {
        self.clusters.simulated().contains(&link)
            && delays.of_flows.len() == self.crossings.on(link).len()
    }

    /// The delay of each flow at a link. Absent if the overseer ended it.
    pub fn delays(
        &self,
        link: usize,
        overseer: &impl Overseer,
    ) -> Result<Option<Delays>, RunError> {
        let decomposition = Decomposition {
            whole: &self.whole(),
            paces: &self.paces,
        };
        delays::delays(decomposition, link, overseer)
    }

    /// The estimate, from the delays at all simulated links.
    pub fn output(&self, delays: &BTreeMap<usize, Delays>, workers: &impl Workers) -> Output {
        let decomposition = Decomposition {
            whole: &self.whole(),
            paces: &self.paces,
        };
        let simulated = Simulated {
            clusters: &self.clusters,
            delays,
            ideals: &self.ideals,
        };
        combine::output(decomposition, simulated, &self.minimum, workers)
    }

    fn whole(&self) -> Whole<'_> {
        Whole::new(&self.scenario, &self.flows, &self.crossings)
    }
}

/// By line rate, the ideal FCTs of flows.
fn minimum(scenario: &Scenario, flows: &[Opening]) -> Vec<Option<Span>> {
    let mut ideals = LineRate::new(scenario);
    let times = flows.iter().map(|flow| {
        ideals.time(&Wanted {
            group: flow.group,
            kind: TransferKind::Flow,
            hosts: flow.hosts,
            bytes: flow.bytes,
        })
    });
    times.collect()
}

/// The times of flows alone, under their own transports.
fn ideals(scenario: &Scenario, flows: &[Opening]) -> Result<Vec<Option<Span>>, RunError> {
    let mut ideals = OwnTransport::new(scenario);
    let mut times = vec![None; flows.len()];
    let mut by_size: Vec<usize> = (0..flows.len()).collect();
    by_size.sort_by_key(|&flow| flows[flow].bytes);
    for flow in by_size {
        let Opening {
            group,
            bytes,
            hosts,
            ..
        } = flows[flow];
        let hosts = ideals.alike(hosts);
        let kind = TransferKind::Flow;
        times[flow] = ideals.time(&Wanted {
            group,
            kind,
            hosts,
            bytes,
        })?;
    }
    Ok(times)
}
