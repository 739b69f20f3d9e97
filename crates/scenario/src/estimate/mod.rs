//! Estimates of completion times where a network is too large for one event loop: each link is
//! simulated by itself with what crosses it, and the delays along a flow's way are added.
//!
//! After K. Zhao, P. Goyal, M. Alizadeh, T. E. Anderson, "Scalable tail latency estimation for data
//! center networks", NSDI 2023 (Parsimon). As there, links that are alike may be simulated by some of
//! them. Otherwise than there, both directions of a link are simulated together with the ACKs that
//! cross them; what a flow waits for others of its own host is taken out of all links but that host's;
//! and a flow keeps the delay that it had itself wherever its own link was simulated, so that only
//! delays at other links are drawn.
//!
//! Leaves out: how the queues of several links on one way depend on each other (their delays are
//! added, also for long flows, which only wait for the slowest); ACKs take the way of the data back,
//! where ECMP would take another of the same tier; memory of a switch that its other ports use; what
//! `suited` refuses.
//!
//! A scenario's way through this folder: `suited` (can it be estimated), `crossings` (which flow crosses
//! which link), `clusters` (which links are simulated), then link by link `surroundings` (the network
//! around a link), `run`, `alone` and `delays` (how long each flow waited
//! there), and `pools` and `combine`.

mod alone;
mod clusters;
mod combine;
mod crossings;
mod delays;
mod paces;
mod pools;
mod run;
mod suited;
mod surroundings;

use std::collections::BTreeMap;

use incastle_units::{Rate, Span};

use crate::scenario::Scenario;
use crate::simulate::ideal::{Ideals, Wanted};
use crate::simulate::network::network;
use crate::simulate::output::Output;
use crate::simulate::{Overseer, RunError};
use crate::topology::layout::End;
use crate::workload::{Opening, TransferKind, openings};

use clusters::Clusters;
use combine::Combination;
use crossings::Crossings;
use surroundings::Whole;

pub use delays::Delays;
pub use paces::Paces;
pub use suited::Unsuited;

/// Passes over the links: with senders at the rate of their own links, at the pace that they have after
/// their own links, and twice at the pace that all other links leave them.
pub const PASSES: u8 = 4;

/// Flows between two looks at the overseer.
const SLICE: usize = 64;

/// Why there is no estimate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EstimateError {
    /// The scenario has something that single links cannot show.
    #[error(transparent)]
    Unsuited(#[from] Unsuited),
    /// The network cannot be built, or a link cannot be simulated.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A scenario taken apart: its flows, the links that they cross, and those that are to be simulated.
pub struct Estimation {
    scenario: Scenario,
    flows: Vec<Opening>,
    crossings: Crossings,
    clusters: Clusters,
    /// All flows, the smallest first.
    by_size: Vec<usize>,
    /// By flow: hosts whose flows take the same ideal times.
    alike: Vec<(usize, usize)>,
}

impl Estimation {
    /// Takes a scenario apart. Of alike links at most about `per_class` are simulated; all, if that is
    /// absent.
    pub fn new(scenario: &Scenario, per_class: Option<usize>) -> Result<Self, EstimateError> {
        suited::check(scenario)?;
        let flows = openings(scenario).expect("a suited scenario has no other workloads");
        let whole = network(scenario).map_err(RunError::from)?;
        let crossings = Crossings::new(&whole, scenario.layout(), &flows);
        let clusters = Clusters::new(scenario, (&flows, &crossings), per_class);
        let mut by_size: Vec<usize> = (0..flows.len()).collect();
        by_size.sort_by_key(|&flow| flows[flow].bytes);
        let mut ideals = Ideals::new(scenario);
        let alike = flows.iter().map(|flow| ideals.alike(flow.hosts));
        Ok(Self {
            by_size,
            alike: alike.collect(),
            scenario: scenario.clone(),
            flows,
            crossings,
            clusters,
        })
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The links that flows cross.
    pub fn crossed(&self) -> usize {
        self.clusters.crossed()
    }

    /// The links that are to be simulated, by their places in the layout.
    pub fn links(&self) -> &[usize] {
        self.clusters.simulated()
    }

    /// The name of a link.
    pub fn name(&self, link: usize) -> String {
        combine::link_name(self.scenario.layout(), link)
    }

    /// How much work a link is: bytes that cross it.
    pub fn work(&self, link: usize) -> u64 {
        self.clusters.carried(link)
    }

    /// Whether these can be the delays of a link.
    pub fn fits(&self, link: usize, delays: &Delays) -> bool {
        self.clusters.simulated().contains(&link)
            && delays.of_flows.len() == self.crossings.on(link).len()
    }

    /// Whether these can be the rates at which flows come to a link.
    pub fn takes(&self, link: usize, rates: &[Option<Rate>]) -> bool {
        self.clusters.simulated().contains(&link) && rates.len() == self.crossings.on(link).len()
    }

    /// The links of a pass: first those that hosts are at, then, with paces, all.
    pub fn links_of(&self, pass: u8) -> Vec<usize> {
        let layout = self.scenario.layout();
        let at_host = |link: &&usize| {
            let (a, b) = layout.links[**link].ends;
            [a, b].iter().any(|end| matches!(end, End::Host(_)))
        };
        let links = self.links().iter();
        links
            .filter(|link| pass > 0 || at_host(link))
            .copied()
            .collect()
    }

    /// The rates at which flows come to a link, in the order in which they begin; absent of one that
    /// comes as its host's other flows let it, and of all where there are no paces yet.
    pub fn rates(&self, link: usize, paces: Option<&Paces>) -> Vec<Option<Rate>> {
        match paces {
            Some(paces) => paces.at(&self.whole(), link),
            None => vec![None; self.crossings.on(link).len()],
        }
    }

    /// How long each flow waited at a link, coming to it at these rates. Absent if the overseer ended it.
    pub fn delays(
        &self,
        (link, rates): (usize, &[Option<Rate>]),
        overseer: &impl Overseer,
    ) -> Result<Option<Delays>, RunError> {
        delays::delays(&self.whole(), (link, rates), overseer)
    }

    /// The paces of all flows for the pass after these, the first one's delays first. After the first
    /// they follow from what flows waited at their own hosts alone, later from the mean of all passes
    /// but that one.
    pub fn paces(&self, passes: &[BTreeMap<usize, Delays>]) -> Paces {
        let whole = self.whole();
        let first = passes.len() == 1;
        let known = if first { passes } else { &passes[1..] };
        let known = known.iter();
        let known = known.map(|delays| Combination::new(&whole, &self.clusters, delays));
        let known: Vec<Combination<'_>> = known.collect();
        let waited = |flow: usize, hop: usize| {
            if first && hop > 0 {
                return Some(Span::ZERO);
            }
            let mut sum = 0;
            for pass in &known {
                sum += pass.delay(flow, hop)?.max(0).cast_unsigned() / known.len() as u64;
            }
            Some(Span::from_ps(sum))
        };
        Paces::new(&whole, waited)
    }

    /// The ideal times of the flows in one of several shares of about as much work, by flow; absent if
    /// the overseer ended it.
    pub fn ideals(
        &self,
        (share, shares): (usize, usize),
        overseer: &impl Overseer,
    ) -> Option<Vec<(usize, Option<Span>)>> {
        let order = &self.by_size;
        let part = |share| share * order.len() / shares;
        let mut ideals = Ideals::new(&self.scenario);
        let mut times = Vec::new();
        for (number, &flow) in order[part(share)..part(share + 1)].iter().enumerate() {
            if number % SLICE == 0 && !overseer.goes_on(self.flows[flow].at) {
                return None;
            }
            let Opening { group, bytes, .. } = self.flows[flow];
            let time = ideals.time(&Wanted {
                group,
                kind: TransferKind::Flow,
                hosts: self.alike[flow],
                bytes,
            });
            times.push((flow, time));
        }
        Some(times)
    }

    /// The estimate, from the delays at all links that were to be simulated and the ideal times by flow.
    pub fn output(&self, delays: &BTreeMap<usize, Delays>, ideals: &[Option<Span>]) -> Output {
        combine::output(&self.whole(), &self.clusters, (delays, ideals))
    }

    fn whole(&self) -> Whole<'_> {
        Whole::new(&self.scenario, &self.flows, &self.crossings)
    }
}
