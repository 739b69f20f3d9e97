//! The transfers of a scenario that begin independently of the network, before it is simulated.

use std::sync::Arc;

use crate::paths::Paths;
use incastle_engine::core::{EndpointIndex, FlowIndex, Side};
use incastle_scenario::Scenario;
use incastle_scenario::language::flows::Workload;
use incastle_scenario::topology::pairs::{GroupHosts, Pair};
use incastle_units::Time;

use crate::group::{GroupContext, groups};
use crate::journal::Journal;
use crate::open_loop::OpenLoop;
use crate::{list, poisson};

/// A transfer that will be opened.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// Its group's position in the scenario.
    pub group: usize,
    /// Its number within the group.
    pub index: u64,
    /// When it begins.
    pub at: Time,
    /// Its hosts.
    pub hosts: Pair,
    /// Application bytes.
    pub bytes: u64,
}

/// The transfers of a scenario until its end, in the order in which a simulation opens their flows. Absent if
/// a group has another kind of workload.
pub fn openings(scenario: &Scenario) -> Option<Vec<Opening>> {
    let paths = Arc::new(Paths::new(scenario.shared_layout()));
    let end = Time::ZERO + scenario.duration();
    let mut all = Vec::new();
    for context in groups(scenario, &paths, &Journal::default()) {
        let mut workload = context.open_loop()?;
        let starts = std::iter::from_fn(|| workload.take_next());
        let starts = starts.take_while(|start| start.at <= end).zip(0..);
        all.extend(starts.map(|(start, index)| Opening {
            group: context.position,
            index,
            at: start.at,
            hosts: start.pair.into(),
            bytes: start.bytes.count(),
        }));
    }
    // At one instant the engine calls the application of the first group first.
    all.sort_by_key(|one| (one.at, one.group, one.index));
    Some(all)
}

/// The receiving endpoint of the flow opened as number `place`.
pub fn data_end(place: usize) -> EndpointIndex {
    FlowIndex::from_index(place).endpoint(Side::Responder)
}

impl GroupContext<'_> {
    fn open_loop(&self) -> Option<Box<dyn OpenLoop>> {
        let hosts = GroupHosts::of(self.group, self.scenario.layout());
        match &self.group.workload {
            Workload::Poisson(poisson) => {
                let capacity = self.capacity(poisson.load_of);
                Some(Box::new(poisson::Poisson::new(
                    self, poisson, &hosts, capacity,
                )))
            }
            Workload::FlowList(list) => Some(Box::new(list::List::new(self, list, hosts.first()))),
            _ => None,
        }
    }
}
