//! The input of the applications of one group of flows: its plans, its random substreams.

use std::sync::Arc;

use crate::paths::Paths;
use incastle_engine::core::{Digest, Purpose, Source, substream};
use incastle_scenario::Scenario;
use incastle_scenario::language::flows::{Group, LoadOf, Spread, Stop, Workload};
use incastle_scenario::language::measure::Sampling;
use incastle_scenario::load;
use incastle_scenario::topology::pairs::Pair;
use incastle_units::{Bytes, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::journal::Journal;
use crate::plan::{Plan, Watch};
use crate::stack::Stack;

/// The groups of a scenario, in its order.
pub(crate) fn groups<'a>(
    scenario: &'a Scenario,
    paths: &'a Arc<Paths>,
    journal: &Journal,
) -> impl Iterator<Item = GroupContext<'a>> {
    let root = scenario.tables();
    let groups = root.flows.iter().enumerate();
    groups.map(move |(position, (name, group))| {
        let mut stack = Stack::new(&group.transport, root).within(paths);
        let all_at_once = matches!(
            group.workload,
            Workload::Bulk(_) | Workload::Permutation(_) | Workload::AllReduce(_)
        );
        if all_at_once {
            stack = stack.waiting_for_room();
        }
        GroupContext {
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

/// Makes the applications of one group.
pub(crate) struct GroupContext<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) position: usize,
    pub(crate) name: &'a str,
    pub(crate) group: &'a Group,
    pub(crate) stack: Arc<Stack>,
    pub(crate) paths: &'a Paths,
    pub(crate) journal: Journal,
}

impl GroupContext<'_> {
    /// The start of a flow between two hosts, or of the first of them.
    pub(crate) fn start(&self, index: u64, hosts: Pair) -> Time {
        let spread = match self.group.start_spread {
            Spread::Over(spread) => spread,
            Spread::Rtt => self.idle_rtt(hosts),
        };
        let mut rng = self.stream(index, Purpose::Starts);
        let late = spread.scale_lossy(random::uniform(&mut rng));
        let start = Time::ZERO.saturating_add(self.group.start);
        start.saturating_add(late)
    }

    pub(crate) fn plan(&self, index: u64, hosts: Pair) -> Plan {
        Plan {
            group: self.position,
            index,
            hosts: hosts.into(),
            start: self.start(index, hosts),
            stop: self.stop(),
            watched: self.watch().includes(index),
            recorded: self.record().includes(index),
            stack: Arc::clone(&self.stack),
            journal: self.journal.clone(),
        }
    }

    pub(crate) fn stop(&self) -> Time {
        match self.group.stop {
            Stop::End => Time::NEVER,
            Stop::At(stop) => Time::ZERO + stop,
        }
    }

    /// A round trip of one full packet and one without data on the empty network.
    pub(crate) fn idle_rtt(&self, hosts: Pair) -> Span {
        let (full, empty) = (
            self.stack.wire_size(self.stack.payload()),
            self.stack.wire_size(0),
        );
        self.paths
            .span(hosts, &[Bytes::new(full), Bytes::new(empty)])
    }

    pub(crate) fn watch(&self) -> Watch {
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

    pub(crate) fn record(&self) -> Watch {
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
    pub(crate) fn capacity(&self, load_of: LoadOf) -> f64 {
        load::capacity(self.group, load_of, self.scenario.layout())
    }

    pub(crate) fn stream(&self, index: u64, purpose: Purpose) -> Xoshiro256PlusPlus {
        let mut digest = Digest::default();
        for byte in self.name.bytes() {
            digest.mix(u64::from(byte), 0);
        }
        digest.mix(index, 1);
        let seed = self.scenario.seed();
        substream(seed, Source::Application, digest.value(), purpose)
    }
}
