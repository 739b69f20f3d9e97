//! The ideal FCT under a transfer's own transport and controller: the same transfer alone on the empty
//! network.
//!
//! Each is simulated, by the same engine, transport and applications, on a copy of its path alone. The copy has
//! its hosts, the switches between them and their links, as they are at the beginning. Transfers of one
//! size on paths of one kind have one time. A long flow whose own link is its bottleneck sends without
//! a pause once its window covers the path (`tail`). All longer ones follow from one a period long. Most flows
//! that differ in their last packet alone follow from a few (`last`).
//! Leaves out: jitter of hosts, later rates and failures of links, deadlines, and all but the first of several
//! shortest paths.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use incastle_engine::probe::NoProbe;
use incastle_engine::{Simulation, Status};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::overseer::RunError;
use incastle_scenario::Scenario;
use incastle_scenario::language::Capacity;
use incastle_scenario::language::flows::Size;
use incastle_scenario::topology::pairs::Pair;
use incastle_workload::Paths;
use incastle_workload::{Alone, Journal, Stack, TransferKind};

use super::path::{PathCopy, PathKey, Switches};
use super::tail::Tail;
use super::{Last, Wanted};

/// Events between two checks of the journal.
const SLICE: u64 = 64;

/// The ideal FCTs of a scenario's transfers.
pub struct OwnTransport<'a> {
    scenario: &'a Scenario,
    paths: Paths,
    switches: Switches<'a>,
    /// By group and kind, then by kind of path.
    classes: BTreeMap<(usize, TransferKind, PathKey), Class>,
    /// By hosts: the kind of their path.
    keys: BTreeMap<Pair, PathKey>,
    /// By kind of path: the first hosts with such a path among the requested ones.
    alike: BTreeMap<PathKey, Pair>,
}

/// Transfers that differ in their size alone.
struct Class {
    alone: Option<Alone>,
    path: PathCopy,
    tail: Tail,
    last: Option<Last>,
    /// By size, as far as simulated.
    times: BTreeMap<u64, Option<Span>>,
}

impl<'a> OwnTransport<'a> {
    /// The ideal FCTs of a scenario.
    pub fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            paths: Paths::new(scenario.shared_layout()),
            switches: Switches::new(scenario),
            classes: BTreeMap::new(),
            keys: BTreeMap::new(),
            alike: BTreeMap::new(),
        }
    }

    /// The first requested hosts with a path like that between these: transfers between them
    /// take the same times.
    pub fn alike(&mut self, hosts: Pair) -> Pair {
        let key = self.switches.key(&self.paths.path(hosts));
        *self.alike.entry(key).or_insert(hosts)
    }

    /// The ideal FCT of a transfer; absent for rounds, and where it would never complete.
    pub fn time(&mut self, wanted: &Wanted) -> Result<Option<Span>, RunError> {
        let Self {
            scenario,
            paths,
            switches,
            classes,
            keys,
            ..
        } = self;
        let hosts = wanted.hosts;
        let key = keys
            .entry(wanted.hosts)
            .or_insert_with(|| switches.key(&paths.path(hosts)))
            .clone();
        let class = classes
            .entry((wanted.group, wanted.kind, key))
            .or_insert_with(|| {
                let root = scenario.tables();
                let (_, group) = &root.flows[wanted.group];
                let alone = Alone::new(group, wanted.kind, root);
                let path = PathCopy::new(scenario, hosts, &paths.path(hosts));
                let lines = alone.as_ref().is_some_and(|alone| has_lines(alone, &path));
                Class {
                    alone,
                    path,
                    tail: Tail::default(),
                    last: lines.then(Last::default),
                    times: BTreeMap::new(),
                }
            });
        class.time(wanted.bytes)
    }
}

impl Class {
    fn time(&mut self, bytes: u64) -> Result<Option<Span>, RunError> {
        let Some(alone) = &self.alone else {
            return Ok(None);
        };
        let Some((bytes, more)) = self.tail.reduced(bytes, alone, &self.path)? else {
            return Ok(None);
        };
        let path = &self.path;
        let mut time = |bytes| -> Result<Option<Span>, RunError> {
            Ok(match self.times.entry(bytes) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(place) => *place.insert(simulated(alone, path, bytes)?),
            })
        };
        let found = match (&mut self.last, alone.flow()) {
            (Some(last), Some(stack)) => last.time(bytes, stack.payload(), time)?,
            _ => time(bytes)?,
        };
        let all = found.and_then(|found| found.as_ps().checked_add(more.as_ps()));
        Ok(all.map(Span::from_ps))
    }
}

/// Whether times of flows with one number of packets may lie on lines. This holds for TCP flows whose packets
/// leave one by one, never queue behind each other in a switch, and take whole picoseconds per byte.
fn has_lines(alone: &Alone, path: &PathCopy) -> bool {
    let Some(own) = path.rates().next() else {
        return false;
    };
    let host = &path.root().host;
    alone.flow().is_some_and(Stack::is_tcp)
        && host.tso_burst == 1
        && host.queue == Capacity::Unlimited
        && path.rates().all(|rate| rate >= own && is_whole(rate))
}

/// Whether a byte takes whole picoseconds.
fn is_whole(rate: Rate) -> bool {
    const BYTE: u64 = 8_000_000_000_000;
    BYTE.is_multiple_of(rate.bits_per_second().max(1))
}

/// The time of a transfer of `bytes`, by simulation.
fn simulated(alone: &Alone, path: &PathCopy, bytes: u64) -> Result<Option<Span>, RunError> {
    let journal = Journal::default();
    let mut simulation = Simulation::new(path.network(), NoProbe);
    let size = Size::Of(Bytes::new(bytes));
    simulation.add_application(alone.application(size, path.paths(), &journal));
    loop {
        let status = simulation.run(Time::NEVER, SLICE)?;
        let notes = journal.notes();
        if let Some(transfer) = notes.transfers.first()
            && let Some(completed) = transfer.completed
        {
            return Ok(Some(completed - transfer.started));
        }
        if status == Status::Done {
            return Ok(None);
        }
    }
}
