//! The applications of a scenario, group by group.

use std::sync::Arc;

use crate::paths::Paths;
use incastle_engine::core::Purpose;
use incastle_engine::flow::Application;
use incastle_scenario::Scenario;
use incastle_scenario::language::collective;
use incastle_scenario::language::flows::Workload;
use incastle_scenario::topology::pairs::{GroupHosts, Pair, group_pairs};

use crate::group::{GroupContext, groups};
use crate::journal::Journal;
use crate::permutation::derangement;
use crate::plan::Plan;
use crate::{
    all_reduce, all_to_all, barrier, bulk, datagrams, incast, list, paced, pattern, poisson,
};

/// An application of a group.
pub struct Recruit {
    /// The state machine.
    pub application: Box<dyn Application>,
    /// Whether its work is finite.
    pub is_finite: bool,
}

/// The applications of a scenario, in the order of its groups.
pub fn applications(scenario: &Scenario, journal: &Journal) -> Vec<Recruit> {
    let paths = Arc::new(Paths::new(scenario.shared_layout()));
    let mut all = Vec::new();
    for context in groups(scenario, &paths, journal) {
        let mut of_group = Vec::new();
        context.recruit(&mut of_group);
        let is_finite = context.group.is_finite();
        all.extend(of_group.into_iter().map(|application| Recruit {
            application,
            is_finite,
        }));
    }
    all
}

impl GroupContext<'_> {
    fn recruit(&self, all: &mut Vec<Box<dyn Application>>) {
        let hosts = GroupHosts::of(self.group, self.scenario.layout());
        match self.as_one(&hosts) {
            Some(application) => all.push(application),
            None if self.group.workload.is_requests() => all.extend(self.clients(&hosts)),
            None => self.recruit_for_each_flow(&hosts, all),
        }
    }

    /// The application that makes all flows of a group, where there is one.
    fn as_one(&self, hosts: &GroupHosts) -> Option<Box<dyn Application>> {
        Some(match &self.group.workload {
            Workload::Poisson(poisson) => {
                let capacity = self.capacity(poisson.load_of);
                Box::new(poisson::Poisson::new(self, poisson, hosts, capacity))
            }
            Workload::RandomIncast(incast) => {
                let capacity = self.capacity(incast.load_of);
                Box::new(incast::Incast::new(self, incast, hosts, capacity))
            }
            Workload::FlowList(list) => Box::new(list::List::new(self, list, hosts.first())),
            Workload::AllReduce(all) => Box::new(self.all_reduce(all, &hosts.from)),
            Workload::AllToAll(requests) => {
                let clients = self.clients_asking(hosts, || requests.into());
                Box::new(all_to_all::AllToAll::new(clients, requests.think_time))
            }
            _ => return None,
        })
    }

    fn recruit_for_each_flow(&self, hosts: &GroupHosts, all: &mut Vec<Box<dyn Application>>) {
        let pairs = match &self.group.workload {
            Workload::Permutation(_) => derangement(hosts, &mut self.stream(0, Purpose::Pairs)),
            _ => hosts.pairs(self.group),
        };
        let capacity = match &self.group.workload {
            Workload::PoissonDatagrams(poisson) => self.capacity(poisson.load_of),
            _ => 0.0,
        };
        for (index, &pair) in pairs.iter().enumerate() {
            let plan = self.plan(index as u64, pair);
            all.push(match &self.group.workload {
                Workload::Bulk(bulk) => Box::new(bulk::Bulk::new(plan, bulk.size, bulk.deadline)),
                Workload::Permutation(one) => {
                    Box::new(bulk::Bulk::new(plan, one.size, one.deadline))
                }
                Workload::Cbr(cbr) => Box::new(paced::Paced::cbr(plan, cbr)),
                Workload::OnOff(on_off) => {
                    let rng = self.stream(index as u64, Purpose::Arrivals);
                    Box::new(paced::Paced::on_off(plan, on_off, rng))
                }
                Workload::PoissonDatagrams(poisson) => {
                    let rng = self.stream(index as u64, Purpose::Arrivals);
                    let share = datagrams::Share {
                        capacity,
                        flows: pairs.len(),
                    };
                    Box::new(datagrams::Datagrams::new(plan, poisson, share, rng))
                }
                Workload::BarrierIncast(_)
                | Workload::Query(_)
                | Workload::AllToAll(_)
                | Workload::Poisson(_)
                | Workload::RandomIncast(_)
                | Workload::FlowList(_)
                | Workload::AllReduce(_) => unreachable!("these have no application for each flow"),
            });
        }
    }

    /// One for each client.
    fn clients(&self, hosts: &GroupHosts) -> Vec<Box<dyn Application>> {
        let clients = self.clients_asking(hosts, || match &self.group.workload {
            Workload::BarrierIncast(barrier) => barrier.into(),
            Workload::Query(query) => query.into(),
            _ => unreachable!("all others make requests as one, or none"),
        });
        let clients = clients.into_iter();
        clients
            .map(|client| Box::new(client) as Box<dyn Application>)
            .collect()
    }

    /// One for each client, with a connection to each of its servers.
    fn clients_asking(
        &self,
        hosts: &GroupHosts,
        requests: impl Fn() -> barrier::Requests,
    ) -> Vec<barrier::Client> {
        let mut clients = Vec::new();
        let mut first = 0;
        for (number, &client) in hosts.to.iter().enumerate() {
            let servers = group_pairs(self.group, &hosts.from, &[client]);
            if servers.is_empty() {
                continue;
            }
            let plans: Vec<Plan> = servers
                .iter()
                .enumerate()
                .map(|(index, &pair)| self.plan(first + index as u64, pair))
                .collect();
            first += servers.len() as u64;
            let number = number as u64;
            let rng = self.stream(number, Purpose::Arrivals);
            clients.push(barrier::Client::new(number, plans, requests(), rng));
        }
        clients
    }

    /// All hosts of a collective operation.
    fn all_reduce(&self, all: &collective::AllReduce, hosts: &[usize]) -> all_reduce::AllReduce {
        let pairs = group_pairs(self.group, hosts, hosts);
        let plans = (0..).zip(pairs).map(|(index, pair)| self.plan(index, pair));
        let next = hosts.iter().copied().cycle().skip(1);
        let around = (0..).zip(hosts.iter().copied().zip(next));
        let starts = around.map(|(index, (from, to))| self.start(index, Pair { from, to }));
        let pattern = pattern::Pattern::new(all, hosts.len());
        all_reduce::AllReduce::new(all, pattern, plans.collect(), starts.collect())
    }
}
