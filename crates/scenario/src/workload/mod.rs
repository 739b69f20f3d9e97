//! What the flows of a scenario do: applications for the engine, one file per workload.
//!
//! Each application is a state machine that opens its flows itself, when their time has come, and
//! writes in the journal what result tables need to know of them. Every random draw comes from the
//! substream of its group's name and its index in the group, so that no other group moves it.

mod all_reduce;
mod all_to_all;
mod alone;
mod barrier;
mod bulk;
mod datagrams;
mod incast;
mod journal;
mod list;
mod open_loop;
mod paced;
mod pattern;
mod poisson;
mod replay;
mod stack;
mod transfers;

use std::sync::Arc;

use incastle_engine::{
    Actions, Application, Digest, EndpointIndex, HostIndex, Purpose, Source, substream,
};
use incastle_units::{Bytes, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::language::collective;
use crate::language::flows::{self, Group, LoadOf, Spread, Stop, Workload};
use crate::language::measure::Sampling;
use crate::language::selection::{Name, Selection};
use crate::load;
use crate::scenario::Scenario;
use crate::topology::pairs::{derangement, group_hosts, group_pairs};
use crate::topology::paths::Paths;

pub(crate) use alone::Alone;
pub(crate) use journal::{FlowNote, Journal, Notes, TransferKind, TransferNote};
pub(crate) use open_loop::{Opening, data_end, openings};
pub(crate) use replay::{Replay, Row};
pub(crate) use stack::Stack;

/// One flow to be, or the connections of one client.
pub(crate) struct Plan {
    /// The group's position in the scenario.
    pub(crate) group: usize,
    /// The flow's number within the group.
    pub(crate) index: u64,
    /// The host that sends the data.
    pub(crate) from: HostIndex,
    /// The host that receives them.
    pub(crate) to: HostIndex,
    /// When it starts.
    pub(crate) start: Time,
    /// When it stops sending new data.
    pub(crate) stop: Time,
    /// Whether its controller is watched.
    pub(crate) watched: bool,
    /// Whether its events are recorded.
    pub(crate) recorded: bool,
    pub(crate) stack: Arc<Stack>,
    pub(crate) journal: Journal,
}

/// An application of a group.
pub(crate) struct Recruit {
    pub(crate) application: Box<dyn Application>,
    /// Whether its work has an end of its own.
    pub(crate) is_finite: bool,
}

/// The applications of a scenario, in the order of its groups.
pub(crate) fn applications(scenario: &Scenario, journal: &Journal) -> Vec<Recruit> {
    let paths = Arc::new(Paths::new(scenario.shared_layout()));
    let mut all = Vec::new();
    for crew in crews(scenario, &paths, journal) {
        let mut of_group = Vec::new();
        crew.recruit(&mut of_group);
        let is_finite = crew.group.is_finite();
        all.extend(of_group.into_iter().map(|application| Recruit {
            application,
            is_finite,
        }));
    }
    all
}

fn crews<'a>(
    scenario: &'a Scenario,
    paths: &'a Arc<Paths>,
    journal: &Journal,
) -> impl Iterator<Item = Crew<'a>> {
    let root = scenario.tables();
    let groups = root.flows.iter().enumerate();
    groups.map(move |(position, (name, group))| {
        let mut stack = Stack::new(&group.transport, root.host.tso_burst).within(paths);
        let all_at_once = matches!(
            group.workload,
            Workload::Bulk(_) | Workload::Permutation(_) | Workload::AllReduce(_)
        );
        if all_at_once {
            stack = stack.waiting_for_room();
        }
        Crew {
            scenario,
            position,
            name,
            group,
            stack: Arc::new(stack),
            paths,
            journal: journal.clone(),
        }
    })
}

/// Which flows of a group a probe looks at.
struct Watch {
    group: String,
    flows: Vec<Selection>,
}

impl Watch {
    fn includes(&self, index: u64) -> bool {
        let name = || Name {
            role: self.group.clone(),
            index: Some(index as u32),
        };
        self.flows.iter().any(|flows| flows.contains(&name()))
    }
}

/// Makes the applications of one group.
struct Crew<'a> {
    scenario: &'a Scenario,
    position: usize,
    name: &'a str,
    group: &'a Group,
    stack: Arc<Stack>,
    paths: &'a Paths,
    journal: Journal,
}

impl Crew<'_> {
    fn recruit(&self, all: &mut Vec<Box<dyn Application>>) {
        let (from, to) = group_hosts(self.group, self.scenario.layout());
        match self.as_one(&from, &to) {
            Some(application) => all.push(application),
            None if self.group.workload.is_requests() => all.extend(self.clients(&from, &to)),
            None => self.recruit_for_each_flow((&from, &to), all),
        }
    }

    /// The application that makes all flows of a group, where there is one.
    fn as_one(&self, from: &[usize], to: &[usize]) -> Option<Box<dyn Application>> {
        let hosts = (from, to);
        Some(match &self.group.workload {
            Workload::Poisson(poisson) => {
                let capacity = self.capacity(poisson.load_of);
                Box::new(poisson::Poisson::new(self, poisson, hosts, capacity))
            }
            Workload::RandomIncast(incast) => {
                let capacity = self.capacity(incast.load_of);
                Box::new(incast::Incast::new(self, incast, hosts, capacity))
            }
            Workload::FlowList(list) => Box::new(list::List::new(self, list, (from[0], to[0]))),
            Workload::AllReduce(all) => Box::new(self.all_reduce(all, from)),
            Workload::AllToAll(requests) => {
                let clients = self.clients_asking(hosts, || requests.into());
                Box::new(all_to_all::AllToAll::new(clients, requests.think_time))
            }
            _ => return None,
        })
    }

    fn recruit_for_each_flow(
        &self,
        (from, to): (&[usize], &[usize]),
        all: &mut Vec<Box<dyn Application>>,
    ) {
        let pairs = match &self.group.workload {
            Workload::Permutation(_) => derangement(from, to, &mut self.stream(0, Purpose::Pairs)),
            _ => group_pairs(self.group, from, to),
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
                    let share = (capacity, pairs.len());
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
    fn clients(&self, from: &[usize], to: &[usize]) -> Vec<Box<dyn Application>> {
        let clients = self.clients_asking((from, to), || match &self.group.workload {
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
        (from, to): (&[usize], &[usize]),
        asking: impl Fn() -> barrier::Asking,
    ) -> Vec<barrier::Client> {
        let mut clients = Vec::new();
        let mut first = 0;
        for (number, &client) in to.iter().enumerate() {
            let servers = group_pairs(self.group, from, &[client]);
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
            clients.push(barrier::Client::new(number, plans, asking(), rng));
        }
        clients
    }

    /// All hosts of a collective operation.
    fn all_reduce(&self, all: &collective::AllReduce, hosts: &[usize]) -> all_reduce::AllReduce {
        let pairs = group_pairs(self.group, hosts, hosts);
        let plans = (0..).zip(pairs).map(|(index, pair)| self.plan(index, pair));
        let next = hosts.iter().copied().cycle().skip(1);
        let around = (0..).zip(hosts.iter().copied().zip(next));
        let starts = around.map(|(index, pair)| self.start(index, pair));
        let pattern = pattern::Pattern::new(all, hosts.len());
        all_reduce::AllReduce::new(all, pattern, plans.collect(), starts.collect())
    }

    /// When a flow between two hosts, or the first of them, starts.
    fn start(&self, index: u64, (from, to): (usize, usize)) -> Time {
        let spread = match self.group.start_spread {
            Spread::Over(spread) => spread,
            Spread::Rtt => self.idle_rtt(from, to),
        };
        let mut rng = self.stream(index, Purpose::Starts);
        let late = spread.scale_lossy(random::uniform(&mut rng));
        let start = Time::ZERO.saturating_add(self.group.start);
        start.saturating_add(late)
    }

    fn plan(&self, index: u64, (from, to): (usize, usize)) -> Plan {
        Plan {
            group: self.position,
            index,
            from: HostIndex::from_index(from),
            to: HostIndex::from_index(to),
            start: self.start(index, (from, to)),
            stop: self.stop(),
            watched: self.watch().includes(index),
            recorded: self.record().includes(index),
            stack: Arc::clone(&self.stack),
            journal: self.journal.clone(),
        }
    }

    fn stop(&self) -> Time {
        match self.group.stop {
            Stop::End => Time::NEVER,
            Stop::At(stop) => Time::ZERO + stop,
        }
    }

    /// A round trip of one full packet and one without data on the empty network.
    fn idle_rtt(&self, from: usize, to: usize) -> Span {
        let (full, empty) = (
            self.stack.wire_size(self.stack.payload()),
            self.stack.wire_size(0),
        );
        self.paths
            .span(from, to, &[Bytes::new(full), Bytes::new(empty)])
    }

    fn watch(&self) -> Watch {
        let measure = &self.scenario.tables().measure;
        let mut flows = Vec::new();
        if let Sampling::On(window) = &measure.window {
            flows.push(window.flows.clone());
        }
        if let Sampling::On(dcudp) = &measure.dcudp {
            flows.push(dcudp.flows.clone());
        }
        Watch {
            group: self.name.to_owned(),
            flows,
        }
    }

    fn record(&self) -> Watch {
        let flows = match &self.scenario.tables().measure.events {
            Sampling::On(events) => vec![events.flows.clone()],
            Sampling::Off => Vec::new(),
        };
        Watch {
            group: self.name.to_owned(),
            flows,
        }
    }

    /// The bytes per second that a load of 1 of these links means.
    fn capacity(&self, load_of: LoadOf) -> f64 {
        load::capacity(self.group, load_of, self.scenario.layout())
    }

    fn stream(&self, index: u64, purpose: Purpose) -> Xoshiro256PlusPlus {
        let mut digest = Digest::default();
        for byte in self.name.bytes() {
            digest.mix(u64::from(byte), 0);
        }
        digest.mix(index, 1);
        let seed = self.scenario.seed();
        substream(seed, Source::Application, digest.value(), purpose)
    }
}

/// The gaps between random instants.
#[derive(Clone, Copy)]
struct Interarrival {
    mean: Span,
    /// Of log-normal gaps the parameter; absent for a Poisson process.
    sigma: Option<f64>,
}

impl Interarrival {
    fn new(per_second: f64, gaps: &flows::InterarrivalDistribution) -> Self {
        Self {
            mean: Span::from_secs_lossy(1.0 / per_second).max(Span::from_ps(1)),
            sigma: match gaps {
                flows::InterarrivalDistribution::Exponential(_) => None,
                flows::InterarrivalDistribution::LogNormal(log_normal) => Some(log_normal.sigma),
            },
        }
    }

    /// The next gap, at least 1 ps.
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> Span {
        let Some(sigma) = self.sigma else {
            return exponential_span(self.mean, rng);
        };
        let gap = self.mean.scale_lossy(random::log_normal(sigma, rng));
        gap.max(Span::from_ps(1))
    }
}

/// A span from U(0, ...) with the exponential distribution of this mean, at least 1 ps.
fn exponential_span(mean: Span, rng: &mut Xoshiro256PlusPlus) -> Span {
    mean.scale_lossy(random::exponential(rng))
        .max(Span::from_ps(1))
}

/// The instant of a deadline, which the controller at `end` is told.
fn wanted(
    now: Time,
    deadline: Option<Span>,
    end: EndpointIndex,
    actions: &mut Actions,
) -> Option<Time> {
    let at = now.saturating_add(deadline?);
    actions.deadline(end, at);
    Some(at)
}
