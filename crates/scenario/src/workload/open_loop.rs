//! Transfers that begin whatever happens in the network: known before it is simulated.

use std::sync::Arc;

use incastle_engine::{EndpointIndex, FlowIndex, HostIndex, Side};
use incastle_units::{Bytes, Time};

use super::{Crew, Journal, crews, list, poisson};
use crate::language::flows::Workload;
use crate::scenario::Scenario;
use crate::topology::pairs::group_hosts;
use crate::topology::paths::Paths;

/// A workload whose transfers begin at instants of their own.
pub(super) trait OpenLoop {
    /// The next one; none when there are no more.
    fn take_next(&mut self) -> Option<Start>;
}

/// What begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) at: Time,
    /// From, to.
    pub(super) pair: (HostIndex, HostIndex),
    pub(super) bytes: Bytes,
}

/// A transfer that will be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) group: usize,
    /// Its number within the group.
    pub(crate) index: u64,
    pub(crate) at: Time,
    /// From, to.
    pub(crate) hosts: (usize, usize),
    pub(crate) bytes: u64,
}

/// The transfers of a scenario until its end, in the order in which a simulation opens their flows;
/// absent if a group has another kind of workload.
pub(crate) fn openings(scenario: &Scenario) -> Option<Vec<Opening>> {
    let paths = Arc::new(Paths::new(scenario.shared_layout()));
    let end = Time::ZERO + scenario.duration();
    let mut all = Vec::new();
    for crew in crews(scenario, &paths, &Journal::default()) {
        let mut workload = crew.open_loop()?;
        let starts = std::iter::from_fn(|| workload.take_next());
        let starts = starts.take_while(|start| start.at <= end).zip(0..);
        all.extend(starts.map(|(start, index)| Opening {
            group: crew.position,
            index,
            at: start.at,
            hosts: (start.pair.0.index(), start.pair.1.index()),
            bytes: start.bytes.count(),
        }));
    }
    // Of one instant the engine calls the application of the first group first.
    all.sort_by_key(|one| (one.at, one.group, one.index));
    Some(all)
}

/// The end that the data of the flow opened as number `place` is for.
pub(crate) fn data_end(place: usize) -> EndpointIndex {
    FlowIndex::from_index(place).end(Side::Far)
}

impl Crew<'_> {
    fn open_loop(&self) -> Option<Box<dyn OpenLoop>> {
        let (from, to) = group_hosts(self.group, self.scenario.layout());
        match &self.group.workload {
            Workload::Poisson(poisson) => {
                let capacity = self.capacity(poisson.load_of);
                let hosts = (&*from, &*to);
                Some(Box::new(poisson::Poisson::new(
                    self, poisson, hosts, capacity,
                )))
            }
            Workload::FlowList(list) => {
                Some(Box::new(list::List::new(self, list, (from[0], to[0]))))
            }
            _ => None,
        }
    }
}
