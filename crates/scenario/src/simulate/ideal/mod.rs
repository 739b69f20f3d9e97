//! Ideal completion times: the same transfer alone on the empty network.
//!
//! Each is simulated, by the same engine, transport and applications, on a copy of its path alone: its
//! hosts, the switches between them and their links, as they are at the beginning. Transfers of one
//! size on paths of one kind have one time. A long flow whose own link is its bottleneck sends without
//! a pause once its window covers the path (`tail`): all longer ones follow from one a period long.
//! Leaves out: jitter of hosts, rates that change later, links that fail later, deadlines; of several paths of the fewest
//! links the first is taken.

mod path;
mod tail;

use std::collections::BTreeMap;

use incastle_engine::{NoProbe, Simulation, Status};
use incastle_units::{Bytes, Span, Time};

use crate::language::flows::Size;
use crate::scenario::Scenario;
use crate::topology::paths::Paths;
use crate::workload::{Alone, Journal, TransferKind};

use path::{PathCopy, PathKey};
use tail::Tail;

/// Events between two looks at the journal.
const SLICE: u64 = 64;

/// A transfer: group, kind, hosts (from, to), bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) group: usize,
    pub(crate) kind: TransferKind,
    pub(crate) hosts: (usize, usize),
    pub(crate) bytes: u64,
}

/// The ideal times of a scenario's transfers.
pub(crate) struct Ideals<'a> {
    scenario: &'a Scenario,
    paths: Paths,
    /// By group and kind, then by kind of path.
    classes: BTreeMap<(usize, TransferKind, PathKey), Class>,
    /// By hosts: the kind of their path.
    keys: BTreeMap<(usize, usize), PathKey>,
}

/// Transfers that differ in their size alone.
struct Class {
    alone: Option<Alone>,
    path: PathCopy,
    tail: Tail,
    /// By size.
    times: BTreeMap<u64, Option<Span>>,
}

impl<'a> Ideals<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            paths: Paths::new(scenario.shared_layout()),
            classes: BTreeMap::new(),
            keys: BTreeMap::new(),
        }
    }

    /// The ideal time of a transfer; absent for rounds, and where it would never be complete.
    pub(crate) fn time(&mut self, wanted: &Wanted) -> Option<Span> {
        let Self {
            scenario,
            paths,
            classes,
            keys,
        } = self;
        let (from, to) = wanted.hosts;
        let key = keys
            .entry(wanted.hosts)
            .or_insert_with(|| PathKey::new(scenario, &paths.path(from, to)))
            .clone();
        let class = classes
            .entry((wanted.group, wanted.kind, key))
            .or_insert_with(|| {
                let root = scenario.tables();
                let (_, group) = &root.flows[wanted.group];
                Class {
                    alone: Alone::new(group, wanted.kind, root.host.burst),
                    path: PathCopy::new(scenario, (from, to), &paths.path(from, to)),
                    tail: Tail::default(),
                    times: BTreeMap::new(),
                }
            });
        class.time(wanted.bytes)
    }
}

impl Class {
    fn time(&mut self, bytes: u64) -> Option<Span> {
        let alone = self.alone.as_ref()?;
        let (bytes, more) = self.tail.reduced(bytes, alone, &self.path);
        let time = self
            .times
            .entry(bytes)
            .or_insert_with(|| simulated(alone, &self.path, bytes));
        Some((*time)? + more)
    }
}

/// The time of a transfer of so many bytes, by simulation.
fn simulated(alone: &Alone, path: &PathCopy, bytes: u64) -> Option<Span> {
    let journal = Journal::default();
    let mut simulation = Simulation::new(path.network(), NoProbe);
    let size = Size::Of(Bytes::new(bytes));
    simulation.add_application(alone.application(size, path.paths(), &journal));
    loop {
        let status = simulation.run(Time::NEVER, SLICE).ok()?;
        let notes = journal.notes();
        if let Some(transfer) = notes.transfers.first()
            && let Some(completed) = transfer.completed
        {
            return Some(completed - transfer.started);
        }
        if status == Status::Done {
            return None;
        }
    }
}
