//! Flows as a fluid: rates that share the links' capacities max-min fairly, from event to event.
//!
//! D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, section 6.5.2: rates are max-min fair if each
//! flow has a link that is full and on which no flow is faster. So a full link has a level, the rate of
//! the flows that it holds up, and a flow's rate is the least level on its path. When a flow comes or goes,
//! the levels of its links are found anew, then those of links whose flows that concerns, and so on until
//! none changes (in the manner of A. Charny, D. Clark, R. Jain, "Congestion control with explicit rate
//! indication", ICC 1995). A change of a level by less than `TOLERANCE` is not carried further.
//!
//! Leaves out: packets, queues, round trips, slow start, and whatever congestion control does else.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use incastle_units::{Span, Time};

/// Of a level: a change that is not worth a look at other links.
const TOLERANCE: f64 = 1.0 / 64.0;

/// Of a capacity: more than sums of rates are off by that were changed one by one.
const ROUNDING: f64 = 1e-9;

/// Looks at links per event and link of the flow that came or went: a bound that no event has come near,
/// so that no rounding can make levels swing for ever.
const LOOKS: usize = 1024;

/// A flow that comes.
pub(super) struct Stream {
    /// On the wire.
    pub(super) bits: f64,
    /// The rate that it has when it is alone.
    pub(super) most: f64,
    /// The links on its path.
    pub(super) path: Vec<u32>,
}

/// What the links on its path leave a flow. Apart from the rest of it, because levels are found from this.
#[derive(Clone, Copy)]
struct Left {
    /// The least level, or the rate that it has when it is alone.
    least: f64,
    /// The least of all links but that of the least level.
    second: f64,
    /// The rate that it has when it is alone.
    most: f64,
    /// The link of the least level.
    at: u32,
    /// Links on its path.
    hops: u16,
    touched: bool,
}

/// A flow under way.
struct Active {
    flow: u32,
    rate: f64,
    /// Left at `since`.
    bits: f64,
    since: Time,
    end: Time,
    /// Its next place among the departures.
    queued: Time,
}

/// What levels are found from all the time. Apart from the rest of a link, for the same reason.
#[derive(Clone, Copy)]
struct Link {
    /// The rate of the flows that it holds up; infinite where it holds none.
    level: f64,
    /// How much more its flows could want of it without being held up. Others leave a flow more or less all the
    /// time; where that fits, nobody needs to look at all flows of the link.
    spare: f64,
}

/// Links and the flows under way. These are few of all that come: each has a slot, which is used again when
/// it is complete, so that what is looked at all the time lies close together.
pub(super) struct Fluid {
    capacities: Vec<f64>,
    links: Vec<Link>,
    /// By link: slots of its flows.
    members: Vec<Vec<u32>>,
    /// By slot.
    flows: Vec<Active>,
    lefts: Vec<Left>,
    /// By slot, `longest` each.
    paths: Vec<u32>,
    longest: usize,
    free: Vec<u32>,
    /// When, which flow, in which slot.
    departures: BinaryHeap<Reverse<(Time, u32, u32)>>,
    /// Links whose levels are to be found.
    stale: VecDeque<u32>,
    is_stale: Vec<bool>,
    /// Slots of flows that levels changed for.
    touched: Vec<u32>,
    demands: Vec<f64>,
}

/// A flow under way, and what holds it up, or could.
pub(super) struct Sight<'a> {
    pub(super) flow: usize,
    /// Its place among those under way, which others have after it.
    pub(super) slot: usize,
    /// The rate that it has when it is alone.
    pub(super) most: f64,
    /// The rate that it has.
    pub(super) rate: f64,
    /// The links on its path.
    pub(super) path: &'a [u32],
    links: &'a [Link],
}

impl Sight<'_> {
    /// The rate of the flows that a link holds up; infinite where it holds none.
    pub(super) fn level(&self, link: u32) -> f64 {
        self.links[link as usize].level
    }
}

/// Who looks on.
pub(super) trait Onlooker {
    /// Something on a flow's path has changed: its own rate, or what holds it up.
    fn changed(&mut self, now: Time, sight: &Sight<'_>);

    /// A link holds flows up from now on, or does so no more.
    fn filled(&mut self, now: Time, link: usize, is_full: bool);

    /// A flow is complete.
    fn ended(&mut self, now: Time, sight: &Sight<'_>);
}

impl Fluid {
    /// Links with these capacities, for flows over at most so many of them.
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
            lefts: Vec::new(),
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

    /// Whether a link holds up any of its flows.
    pub(super) fn is_full(&self, link: usize) -> bool {
        self.links[link].level.is_finite()
    }

    /// Whether a link has flows.
    pub(super) fn is_busy(&self, link: usize) -> bool {
        !self.members[link].is_empty()
    }

    /// Lets all flows go that are complete until then.
    pub(super) fn pass(&mut self, until: Time, onlooker: &mut impl Onlooker) {
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
            self.leave(slot);
            onlooker.ended(at, &self.sight(slot));
            self.settle(at, onlooker);
        }
    }

    /// A flow comes; those that are complete before have been let go.
    pub(super) fn come(
        &mut self,
        now: Time,
        flow: u32,
        stream: &Stream,
        onlooker: &mut impl Onlooker,
    ) {
        let slot = self.free_slot();
        let place = slot as usize;
        self.flows[place] = Active::new(now, flow, stream.bits);
        self.lefts[place] = Left::new(stream.most, stream.path.len());
        self.paths[place * self.longest..][..stream.path.len()].copy_from_slice(&stream.path);
        self.see(slot);
        self.touched.push(slot);
        for &link in &stream.path {
            self.members[link as usize].push(slot);
            self.links[link as usize].spare -= self.lefts[place].besides(link);
            self.look_again(link);
        }
        self.settle(now, onlooker);
    }

    fn free_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let slot = self.flows.len() as u32;
            self.flows.push(Active::new(Time::ZERO, 0, 0.0));
            self.lefts.push(Left::new(0.0, 0));
            self.paths.resize(self.paths.len() + self.longest, 0);
            slot
        })
    }

    fn leave(&mut self, slot: u32) {
        // No departure is at that time.
        self.flows[slot as usize].queued = Time::NEVER;
        self.free.push(slot);
        for hop in 0..usize::from(self.lefts[slot as usize].hops) {
            let link = self.paths[slot as usize * self.longest + hop];
            let members = &mut self.members[link as usize];
            let place = members.iter().position(|&other| other == slot);
            members.swap_remove(place.expect("it is a member of its links"));
            let port = &mut self.links[link as usize];
            port.spare += self.lefts[slot as usize].besides(link);
            if members.is_empty() {
                // Sums of rounded rates do not come back to nothing by themselves.
                port.spare = room(self.capacities[link as usize]);
            }
            // A link that holds nobody up does so no more with one flow less.
            if self.is_full(link as usize) {
                self.look_again(link);
            }
        }
    }

    fn path(&self, slot: u32) -> &[u32] {
        let slot = slot as usize;
        &self.paths[slot * self.longest..][..usize::from(self.lefts[slot].hops)]
    }

    fn sight(&self, slot: u32) -> Sight<'_> {
        Sight {
            flow: self.flows[slot as usize].flow as usize,
            slot: slot as usize,
            most: self.lefts[slot as usize].most,
            rate: self.lefts[slot as usize].least,
            path: self.path(slot),
            links: &self.links,
        }
    }

    /// Takes note of the levels on a flow's path.
    fn see(&mut self, slot: u32) {
        let left = &mut self.lefts[slot as usize];
        let path = &self.paths[slot as usize * self.longest..][..usize::from(left.hops)];
        (left.least, left.second, left.at) = (left.most, left.most, u32::MAX);
        for &link in path {
            let level = self.links[link as usize].level;
            if level < left.least {
                (left.least, left.second, left.at) = (level, left.least, link);
            } else {
                left.second = left.second.min(level);
            }
        }
    }

    fn look_again(&mut self, link: u32) {
        if !self.is_stale[link as usize] {
            self.is_stale[link as usize] = true;
            self.stale.push_back(link);
        }
    }

    /// Finds levels until none changes, then the rates of all flows that this concerns.
    fn settle(&mut self, now: Time, onlooker: &mut impl Onlooker) {
        let mut looks = LOOKS * self.stale.len();
        while let Some(link) = self.stale.pop_front() {
            self.is_stale[link as usize] = false;
            looks = looks.saturating_sub(1);
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
                onlooker.filled(now, link as usize, new.is_finite());
            }
            for member in 0..self.members[link as usize].len() {
                let slot = self.members[link as usize][member];
                self.concern(slot, link, looks > 0);
            }
        }
        for slot in std::mem::take(&mut self.touched) {
            let left = &mut self.lefts[slot as usize];
            left.touched = false;
            let active = &mut self.flows[slot as usize];
            if let Some(end) = active.adapt(now, left.least) {
                let place = (end, active.flow, slot);
                self.departures.push(Reverse(place));
            }
            onlooker.changed(now, &self.sight(slot));
        }
    }

    /// Asks the processor for what is known of a link's flows, and of the links on their paths, ahead of need:
    /// it lies here and there, and fetched one by one it would take most of the time.
    fn fetch_members(&self, link: u32) {
        let members = &self.members[link as usize];
        for &slot in members {
            incastle_prefetch::element(&self.paths, slot as usize * self.longest);
            incastle_prefetch::element(&self.flows, slot as usize);
        }
        for &other in members.iter().flat_map(|&slot| self.path(slot)) {
            incastle_prefetch::element(&self.links, other as usize);
        }
    }

    /// A level on a flow's path has changed: which other links have to be looked at. Those are concerned
    /// that the flow now leaves more or less of than before.
    fn concern(&mut self, slot: u32, changed: u32, further: bool) {
        let before = self.lefts[slot as usize];
        if !before.touched {
            self.lefts[slot as usize].touched = true;
            self.touched.push(slot);
        }
        self.see(slot);
        let now = self.lefts[slot as usize];
        if before.is_same(&now) {
            return;
        }
        for hop in 0..usize::from(now.hops) {
            let link = self.paths[slot as usize * self.longest + hop];
            let (before, after) = (before.besides(link), now.besides(link));
            if link == changed || before.to_bits() == after.to_bits() {
                continue;
            }
            let port = &mut self.links[link as usize];
            port.spare += before - after;
            let concerned = if port.level.is_finite() {
                // Not where the link holds it up, before and after.
                before.min(after) < port.level
            } else {
                after > before
            };
            if concerned && further {
                self.look_again(link);
            }
        }
    }

    /// The level of a link, given those of all others.
    fn level(&mut self, link: u32) -> f64 {
        self.demands.clear();
        let members = self.members[link as usize].iter();
        let demands = members.map(|&slot| self.lefts[slot as usize].besides(link));
        self.demands.extend(demands);
        level(self.capacities[link as usize], &mut self.demands)
    }
}

/// What flows can want of a link that holds up none of them, for certain.
fn room(capacity: f64) -> f64 {
    capacity * (1.0 + TOLERANCE) * (1.0 - ROUNDING)
}

impl Left {
    fn new(most: f64, hops: usize) -> Self {
        Self {
            least: most,
            second: most,
            most,
            at: u32::MAX,
            hops: u16::try_from(hops).expect("a path has fewer than 65,536 links"),
            touched: true,
        }
    }

    /// Whether links leave the flow the same, each for itself.
    fn is_same(&self, other: &Self) -> bool {
        let rates = |left: &Self| [left.least, left.second].map(f64::to_bits);
        rates(self) == rates(other) && self.at == other.at
    }

    /// The least level of all links on the path but this one.
    fn besides(&self, link: u32) -> f64 {
        if self.at == link {
            self.second
        } else {
            self.least
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

    /// Takes the rate that its links leave it; gives when it is complete, if that is earlier than it has
    /// a place among the departures.
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

/// How long so many bits take, in whole picoseconds that are not too few.
pub(super) fn duration(bits: f64, rate: f64) -> Span {
    Span::from_ps((bits / rate * 1e12) as u64 + 1)
}

/// The rate at which those are held up that want more, so that a link is full; infinite if it is not.
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
mod tests {
    use super::*;

    /// When flows ended, in whole microseconds.
    #[derive(Default)]
    struct Notes {
        ends: Vec<(usize, u64)>,
        filled: Vec<(usize, u64, bool)>,
    }

    impl Onlooker for Notes {
        fn changed(&mut self, _: Time, _: &Sight<'_>) {}

        fn filled(&mut self, now: Time, link: usize, is_full: bool) {
            let us = now.as_ps() / 1_000_000;
            self.filled.push((link, us, is_full));
        }

        fn ended(&mut self, now: Time, sight: &Sight<'_>) {
            self.ends.push((sight.flow, now.as_ps() / 1_000_000));
        }
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn stream(bits: f64, path: &[u32]) -> Stream {
        Stream {
            bits,
            most: 10e9,
            path: path.to_vec(),
        }
    }

    #[test]
    fn flows_on_a_link_share_it() {
        let (mut fluid, mut notes) = (Fluid::new(vec![10e9], 1), Notes::default());
        // 1 Mbit takes 100 us alone. The second comes after 50 us; the first has half of its bits left,
        // takes 100 us for them, and leaves the second half of its own.
        fluid.come(us(0), 0, &stream(1e6, &[0]), &mut notes);
        assert!(fluid.is_busy(0) && !fluid.is_full(0));
        fluid.pass(us(50), &mut notes);
        fluid.come(us(50), 1, &stream(1e6, &[0]), &mut notes);
        assert!(fluid.is_full(0));
        fluid.pass(Time::NEVER, &mut notes);
        assert_eq!(notes.ends, [(0, 150), (1, 200)]);
        assert_eq!(notes.filled, [(0, 50, true), (0, 150, false)]);
        assert!(!fluid.is_busy(0) && !fluid.is_full(0));
    }

    #[test]
    fn rates_are_max_min_fair() {
        let (mut fluid, mut notes) = (Fluid::new(vec![10e9; 4], 2), Notes::default());
        for (flow, path) in [&[0_u32, 1][..], &[0], &[0], &[1, 2], &[2, 3]]
            .iter()
            .enumerate()
        {
            fluid.come(us(0), flow as u32, &stream(1e9, path), &mut notes);
        }
        let rate = |flow: usize| fluid.flows[flow].rate;
        let rates = (0..5).map(|flow| (rate(flow) / 1e6) as u64);
        // Three on the first link have a third each. The fourth has half of the third link, which it
        // shares with the fifth, and so less than the two thirds that are left of the second.
        assert_eq!(
            rates.collect::<Vec<_>>(),
            [3_333, 3_333, 3_333, 5_000, 5_000]
        );
        assert_eq!(
            [0, 1, 2, 3].map(|link| fluid.is_full(link)),
            [true, false, true, false]
        );
    }

    #[test]
    fn what_links_can_spare_is_what_flows_leave_of_them() {
        let (mut fluid, mut notes) = (Fluid::new(vec![10e9; 7], 3), Notes::default());
        for flow in 0..400_u32 {
            let at = us(u64::from(flow) * 37);
            fluid.pass(at, &mut notes);
            let path = [flow % 7, (flow / 3) % 7, (flow / 11) % 7];
            let different = path[0] != path[1] && path[1] != path[2] && path[0] != path[2];
            let path = if different { &path[..] } else { &path[..1] };
            let bits = f64::from(flow % 13 + 1) * 1e5;
            fluid.come(at, flow, &stream(bits, path), &mut notes);
            for link in 0..7_u32 {
                let wanted: f64 = fluid.members[link as usize]
                    .iter()
                    .map(|&slot| fluid.lefts[slot as usize].besides(link))
                    .sum();
                let Link { level, spare } = fluid.links[link as usize];
                assert!((spare - (room(10e9) - wanted)).abs() < 1.0, "link {link}");
                assert!(level.is_finite() || spare >= -100.0, "link {link}");
            }
        }
        assert!(notes.filled.len() > 100, "links were full now and then");
    }

    #[test]
    fn a_level_divides_what_the_others_leave() {
        let level = |demands: &[f64]| level(10.0, &mut demands.to_vec());
        assert!(level(&[4.0, 6.0]).is_infinite());
        // 2 is less than a share; the two others have 4 each.
        assert!((level(&[2.0, 9.0, 9.0]) - 4.0).abs() < 1e-9);
        assert!((level(&[9.0, 9.0, 9.0, 9.0]) - 2.5).abs() < 1e-9);
    }
}
