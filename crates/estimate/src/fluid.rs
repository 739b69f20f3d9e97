//! Flows as a fluid: rates that share the links' capacities max-min fairly, from event to event.
//!
//! D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, section 6.5.2: rates are max-min fair if each
//! flow has a full link on which no flow is faster. So a full link has a level, the rate of
//! its bottlenecked flows, and a flow's rate is the minimum level on its path. When a flow arrives or leaves,
//! the levels of its links are computed again, then those that depend on them, until none changes.
//! (After A. Charny, D. Clark, R. Jain, "Congestion control with explicit rate indication", ICC 1995.) A
//! change of a level by less than `TOLERANCE` is not propagated.
//!
//! Leaves out: packets, queues, round trips, slow start, and the rest of congestion control.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incastle_units::{Span, Time};

/// A relative change of a level below this is not propagated to other links.
const TOLERANCE: f64 = 1.0 / 64.0;

/// An upper bound of the rounding error of a sum of rates that changes term by term, as a share of the capacity.
const ROUNDING: f64 = 1e-9;

/// The maximum number of links checked per event and link of the flow that arrived or left. No event has come
/// near it; it ensures that rounding cannot make levels oscillate for ever.
const MAX_CHECKS: usize = 1024;

/// A flow that arrives.
pub(super) struct Stream {
    /// On the wire.
    pub(super) bits: f64,
    /// Its rate when it is alone.
    pub(super) rate_alone: f64,
    /// The links on its path.
    pub(super) path: Vec<u32>,
}

/// The rates that the links on its path leave a flow. Separate from `Active`, because all levels are computed
/// from them, again and again.
#[derive(Clone, Copy)]
struct Available {
    /// The minimum level on the path, at most the flow's rate when it is alone.
    min: f64,
    /// The same without the link of the minimum level.
    second: f64,
    /// The flow's rate when it is alone.
    rate_alone: f64,
    /// The link of the minimum level.
    at: u32,
    /// Links on its path.
    hops: u16,
    touched: bool,
}

/// An active flow.
struct Active {
    flow: u32,
    rate: f64,
    /// Bits left at `since`.
    bits: f64,
    since: Time,
    end: Time,
    /// Its next entry among the departures.
    queued: Time,
}

/// The input of levels. Separate from the rest of a link, for the same reason.
#[derive(Clone, Copy)]
struct Link {
    /// The rate of its bottlenecked flows; infinite without any.
    level: f64,
    /// The amount by which the demands of its flows may grow before it becomes full. Other links change these demands
    /// all the time; as long as they fit, the flows of the link need no check.
    spare: f64,
}

/// Links and active flows. Few of all flows are active at once. Each has a slot, which is used again when
/// it is complete, so that the state in constant use is compact in memory.
pub(super) struct Fluid {
    capacities: Vec<f64>,
    links: Vec<Link>,
    /// By link: slots of its flows.
    members: Vec<Vec<u32>>,
    /// By slot.
    flows: Vec<Active>,
    available: Vec<Available>,
    /// By slot, `longest` each.
    paths: Vec<u32>,
    longest: usize,
    free: Vec<u32>,
    /// Instant, flow and slot.
    departures: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Links whose levels must be computed.
    stale: VecDeque<u32>,
    is_stale: Vec<bool>,
    /// Slots of flows with a changed level on their paths.
    touched: Vec<u32>,
    demands: Vec<f64>,
}

/// An active flow, and its possible bottlenecks.
pub(super) struct FlowView<'a> {
    pub(super) flow: usize,
    /// Its slot among the active flows, which others use after it.
    pub(super) slot: usize,
    /// Its rate when it is alone.
    pub(super) rate_alone: f64,
    /// Its rate.
    pub(super) rate: f64,
    /// The links on its path.
    pub(super) path: &'a [u32],
    links: &'a [Link],
}

impl FlowView<'_> {
    /// The rate of a link's bottlenecked flows; infinite without any.
    pub(super) fn level(&self, link: u32) -> f64 {
        self.links[link as usize].level
    }
}

/// Whether a link is a bottleneck of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Full,
    Spare,
}

/// The treatment of links whose level may change with that of another link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dependents {
    /// Compute their levels again.
    Recheck,
    /// Keep their levels: the limit of recomputations is reached.
    Keep,
}

/// Receives the events of the fluid.
pub(super) trait Observer {
    /// A level on the flow's path has changed, and with it perhaps its rate or its bottleneck.
    fn changed(&mut self, now: Time, view: &FlowView<'_>);

    /// A link becomes a bottleneck of flows, or ceases to be one.
    fn load_changed(&mut self, now: Time, link: usize, load: Load);

    /// A flow is complete.
    fn ended(&mut self, now: Time, view: &FlowView<'_>);
}

impl Fluid {
    /// Links with these capacities, for flows over at most `longest` of them.
    pub(super) fn new(capacities: Vec<f64>, longest: usize) -> Self {
        let count = capacities.len();
        let idle = |&capacity: &f64| Link {
            level: f64::INFINITY,
            spare: room(capacity),
        };
        Self {
            links: capacities.iter().map(idle).collect(),
            capacities,
            members: vec![Vec::new(); count],
            flows: Vec::new(),
            available: Vec::new(),
            paths: Vec::new(),
            longest,
            free: Vec::new(),
            departures: BinaryHeap::new(),
            stale: VecDeque::new(),
            is_stale: vec![false; count],
            touched: Vec::new(),
            demands: Vec::new(),
        }
    }

    /// Whether a link is the bottleneck of any of its flows.
    pub(super) fn is_full(&self, link: usize) -> bool {
        self.links[link].level.is_finite()
    }

    /// Whether a link has flows.
    pub(super) fn is_busy(&self, link: usize) -> bool {
        !self.members[link].is_empty()
    }

    /// Removes all flows that are complete until then.
    pub(super) fn pass(&mut self, until: Time, observer: &mut impl Observer) {
        while let Some(&Reverse((at, flow, slot))) = self.departures.peek()
            && at <= until
        {
            self.departures.pop();
            let active = &mut self.flows[slot as usize];
            if active.flow != flow || active.queued != at {
                continue;
            }
            if active.end > at {
                active.queued = active.end;
                let place = (active.end, flow, slot);
                self.departures.push(Reverse(place));
                continue;
            }
            self.depart(slot);
            observer.ended(at, &self.view(slot));
            self.settle(at, observer);
        }
    }

    /// A flow arrives; flows that are complete before have been removed.
    pub(super) fn arrive(
        &mut self,
        now: Time,
        flow: u32,
        stream: &Stream,
        observer: &mut impl Observer,
    ) {
        let slot = self.free_slot();
        let place = slot as usize;
        self.flows[place] = Active::new(now, flow, stream.bits);
        self.available[place] = Available::new(stream.rate_alone, stream.path.len());
        self.paths[place * self.longest..][..stream.path.len()].copy_from_slice(&stream.path);
        self.read_levels(slot);
        self.touched.push(slot);
        for &link in &stream.path {
            self.members[link as usize].push(slot);
            self.links[link as usize].spare -= self.available[place].without(link);
            self.recheck(link);
        }
        self.settle(now, observer);
    }

    fn free_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let slot = self.flows.len() as u32;
            self.flows.push(Active::new(Time::ZERO, 0, 0.0));
            self.available.push(Available::new(0.0, 0));
            self.paths.resize(self.paths.len() + self.longest, 0);
            slot
        })
    }

    fn depart(&mut self, slot: u32) {
        // No departure is at that time.
        self.flows[slot as usize].queued = Time::NEVER;
        self.free.push(slot);
        for hop in 0..usize::from(self.available[slot as usize].hops) {
            let link = self.paths[slot as usize * self.longest + hop];
            let members = &mut self.members[link as usize];
            let place = members.iter().position(|&other| other == slot);
            members.swap_remove(place.expect("it is a member of its links"));
            let port = &mut self.links[link as usize];
            port.spare += self.available[slot as usize].without(link);
            if members.is_empty() {
                // Sums of rounded rates do not return to zero by themselves.
                port.spare = room(self.capacities[link as usize]);
            }
            // A link that is no bottleneck does not become one with one flow less.
            if self.is_full(link as usize) {
                self.recheck(link);
            }
        }
    }

    fn path(&self, slot: u32) -> &[u32] {
        let slot = slot as usize;
        &self.paths[slot * self.longest..][..usize::from(self.available[slot].hops)]
    }

    fn view(&self, slot: u32) -> FlowView<'_> {
        FlowView {
            flow: self.flows[slot as usize].flow as usize,
            slot: slot as usize,
            rate_alone: self.available[slot as usize].rate_alone,
            rate: self.available[slot as usize].min,
            path: self.path(slot),
            links: &self.links,
        }
    }

    /// Stores the levels on a flow's path.
    fn read_levels(&mut self, slot: u32) {
        let available = &mut self.available[slot as usize];
        let path = &self.paths[slot as usize * self.longest..][..usize::from(available.hops)];
        (available.min, available.second, available.at) =
            (available.rate_alone, available.rate_alone, u32::MAX);
        for &link in path {
            let level = self.links[link as usize].level;
            if level < available.min {
                (available.min, available.second, available.at) = (level, available.min, link);
            } else {
                available.second = available.second.min(level);
            }
        }
    }

    fn recheck(&mut self, link: u32) {
        if !self.is_stale[link as usize] {
            self.is_stale[link as usize] = true;
            self.stale.push_back(link);
        }
    }

    /// Computes levels until none changes, then the rates of all flows that depend on them.
    fn settle(&mut self, now: Time, observer: &mut impl Observer) {
        let mut checks = MAX_CHECKS * self.stale.len();
        while let Some(link) = self.stale.pop_front() {
            self.is_stale[link as usize] = false;
            checks = checks.saturating_sub(1);
            let Link { level: old, spare } = self.links[link as usize];
            if old.is_infinite() && spare >= 0.0 {
                continue;
            }
            let new = self.level(link);
            if is_close(old, new) {
                continue;
            }
            self.links[link as usize].level = new;
            self.fetch_members(link);
            if old.is_finite() != new.is_finite() {
                let load = if new.is_finite() {
                    Load::Full
                } else {
                    Load::Spare
                };
                observer.load_changed(now, link as usize, load);
            }
            let dependents = if checks > 0 {
                Dependents::Recheck
            } else {
                Dependents::Keep
            };
            for member in 0..self.members[link as usize].len() {
                let slot = self.members[link as usize][member];
                self.update_path(slot, link, dependents);
            }
        }
        for slot in std::mem::take(&mut self.touched) {
            let available = &mut self.available[slot as usize];
            available.touched = false;
            let active = &mut self.flows[slot as usize];
            if let Some(end) = active.adapt(now, available.min) {
                let place = (end, active.flow, slot);
                self.departures.push(Reverse(place));
            }
            observer.changed(now, &self.view(slot));
        }
    }

    /// Prefetches the state of a link's flows and of the links on their paths. It is scattered in memory, and
    /// cache misses one by one would take most of the time.
    fn fetch_members(&self, link: u32) {
        let members = &self.members[link as usize];
        for &slot in members {
            incastle_memory::prefetch::element(&self.paths, slot as usize * self.longest);
            incastle_memory::prefetch::element(&self.flows, slot as usize);
        }
        for &other in members.iter().flat_map(|&slot| self.path(slot)) {
            incastle_memory::prefetch::element(&self.links, other as usize);
        }
    }

    /// A level on a flow's path has changed: updates the spare rate of the other links, and queues those whose
    /// level may change with it.
    fn update_path(&mut self, slot: u32, changed: u32, dependents: Dependents) {
        let before = self.available[slot as usize];
        if !before.touched {
            self.available[slot as usize].touched = true;
            self.touched.push(slot);
        }
        self.read_levels(slot);
        let now = self.available[slot as usize];
        if before.is_same(&now) {
            return;
        }
        for hop in 0..usize::from(now.hops) {
            let link = self.paths[slot as usize * self.longest + hop];
            let (before, after) = (before.without(link), now.without(link));
            if link == changed || before.to_bits() == after.to_bits() {
                continue;
            }
            let port = &mut self.links[link as usize];
            port.spare += before - after;
            let depends = if port.level.is_finite() {
                // Not where the link is the bottleneck before and after.
                before.min(after) < port.level
            } else {
                after > before
            };
            if depends && dependents == Dependents::Recheck {
                self.recheck(link);
            }
        }
    }

    /// The level of a link, given those of all others.
    fn level(&mut self, link: u32) -> f64 {
        self.demands.clear();
        let members = self.members[link as usize].iter();
        let demands = members.map(|&slot| self.available[slot as usize].without(link));
        self.demands.extend(demands);
        level(self.capacities[link as usize], &mut self.demands)
    }
}

/// The sum of demands up to which a link is certainly no bottleneck.
fn room(capacity: f64) -> f64 {
    capacity * (1.0 + TOLERANCE) * (1.0 - ROUNDING)
}

impl Available {
    fn new(rate_alone: f64, hops: usize) -> Self {
        Self {
            min: rate_alone,
            second: rate_alone,
            rate_alone,
            at: u32::MAX,
            hops: u16::try_from(hops).expect("a path has fewer than 65,536 links"),
            touched: true,
        }
    }

    /// Whether `without` is the same for every link.
    fn is_same(&self, other: &Self) -> bool {
        let rates = |available: &Self| [available.min, available.second].map(f64::to_bits);
        rates(self) == rates(other) && self.at == other.at
    }

    /// The minimum level of all links on the path but this one.
    fn without(&self, link: u32) -> f64 {
        if self.at == link {
            self.second
        } else {
            self.min
        }
    }
}

impl Active {
    fn new(now: Time, flow: u32, bits: f64) -> Self {
        Self {
            flow,
            rate: 0.0,
            bits,
            since: now,
            end: Time::NEVER,
            queued: Time::NEVER,
        }
    }

    /// Sets the rate that its links leave; returns when it is complete, if that is earlier than its entry
    /// among the departures.
    fn adapt(&mut self, now: Time, rate: f64) -> Option<Time> {
        if rate.to_bits() == self.rate.to_bits() {
            return None;
        }
        let sent = self.rate * now.saturating_since(self.since).as_secs_lossy();
        self.bits = (self.bits - sent).max(0.0);
        self.rate = rate;
        self.since = now;
        self.end = now.saturating_add(duration(self.bits, rate));
        (self.end < self.queued).then(|| {
            self.queued = self.end;
            self.end
        })
    }
}

fn is_close(old: f64, new: f64) -> bool {
    old.to_bits() == new.to_bits() || old.is_finite() && (new - old).abs() <= TOLERANCE * old
}

/// The time of `bits` at a rate, in whole picoseconds and never too short.
pub(super) fn duration(bits: f64, rate: f64) -> Span {
    Span::from_ps((bits / rate * 1e12) as u64 + 1)
}

/// The rate at which a full link limits the flows with a higher demand; infinite if it is not full.
fn level(capacity: f64, demands: &mut Vec<f64>) -> f64 {
    if demands.iter().sum::<f64>() <= capacity * (1.0 + TOLERANCE) {
        return f64::INFINITY;
    }
    let mut left = capacity;
    loop {
        let share = left / demands.len() as f64;
        let before = demands.len();
        demands.retain(|&demand| {
            let held_up = demand > share;
            if !held_up {
                left -= demand;
            }
            held_up
        });
        if demands.len() == before || demands.is_empty() {
            return share;
        }
    }
}

#[cfg(test)]
mod tests;
