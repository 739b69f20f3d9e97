//! Flows as a fluid: rates that share the links' capacities max-min fairly, from event to event.
//!
//! D. Bertsekas, R. Gallager, "Data Networks", 2nd edition, section 6.5.2: rates are max-min fair if each
//! flow has a link that is full and on which no flow is faster. So a full link has a level, the rate of
//! the flows that it holds up, and a flow's rate is the least level on its way. When a flow comes or goes,
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

/// Looks at links per event and link of the flow that came or went: a bound that no event has come near,
/// so that no rounding can make levels swing for ever.
const LOOKS: usize = 1024;

/// A flow that comes.
pub(super) struct Stream {
    /// On the wire.
    pub(super) bits: f64,
    /// The rate that it has when it is alone.
    pub(super) most: f64,
    /// The links on its way.
    pub(super) way: Vec<u32>,
}

/// A flow under way.
struct Active {
    stream: Stream,
    rate: f64,
    /// Until when `stream.bits` are left.
    since: Time,
    end: Time,
    /// Its next place among the departures.
    queued: Time,
    touched: bool,
}

/// Links and the flows under way.
pub(super) struct Fluid {
    capacities: Vec<f64>,
    /// By link: the rate of the flows that it holds up; infinite where it holds none.
    levels: Vec<f64>,
    members: Vec<Vec<u32>>,
    flows: Vec<Option<Active>>,
    departures: BinaryHeap<Reverse<(Time, u32)>>,
    /// Links whose levels are to be found.
    stale: VecDeque<u32>,
    is_stale: Vec<bool>,
    /// Flows that levels changed for.
    touched: Vec<u32>,
    demands: Vec<f64>,
}

/// Who looks on.
pub(super) trait Onlooker {
    /// Something on a flow's way has changed: its own rate, or what holds it up.
    fn changed(&mut self, now: Time, flow: usize, levels: &[f64]);

    /// A flow is complete.
    fn ended(&mut self, now: Time, flow: usize);
}

impl Fluid {
    /// Links with these capacities, for so many flows.
    pub(super) fn new(capacities: Vec<f64>, flows: usize) -> Self {
        let count = capacities.len();
        Self {
            capacities,
            levels: vec![f64::INFINITY; count],
            members: vec![Vec::new(); count],
            flows: (0..flows).map(|_| None).collect(),
            departures: BinaryHeap::new(),
            stale: VecDeque::new(),
            is_stale: vec![false; count],
            touched: Vec::new(),
            demands: Vec::new(),
        }
    }

    /// Whether a link holds up any of its flows.
    pub(super) fn is_full(&self, link: usize) -> bool {
        self.levels[link].is_finite()
    }

    /// Whether a link has flows.
    pub(super) fn is_busy(&self, link: usize) -> bool {
        !self.members[link].is_empty()
    }

    /// Lets all flows go that are complete until then.
    pub(super) fn pass(&mut self, until: Time, onlooker: &mut impl Onlooker) {
        while let Some(&Reverse((at, flow))) = self.departures.peek()
            && at <= until
        {
            self.departures.pop();
            let Some(active) = &mut self.flows[flow as usize] else {
                continue;
            };
            if active.queued != at {
                continue;
            }
            if active.end > at {
                active.queued = active.end;
                self.departures.push(Reverse((active.end, flow)));
                continue;
            }
            self.leave(flow);
            onlooker.ended(at, flow as usize);
            self.settle(at, onlooker);
        }
    }

    /// A flow comes; those that are complete before have been let go.
    pub(super) fn come(
        &mut self,
        now: Time,
        flow: u32,
        stream: Stream,
        onlooker: &mut impl Onlooker,
    ) {
        for &link in &stream.way {
            self.members[link as usize].push(flow);
        }
        let way = stream.way.clone();
        self.flows[flow as usize] = Some(Active {
            stream,
            rate: 0.0,
            since: now,
            end: Time::NEVER,
            queued: Time::NEVER,
            touched: true,
        });
        self.touched.push(flow);
        for link in way {
            self.look_again(link);
        }
        self.settle(now, onlooker);
    }

    fn leave(&mut self, flow: u32) {
        let active = self.flows[flow as usize].take().expect("it is under way");
        for &link in &active.stream.way {
            let members = &mut self.members[link as usize];
            let place = members.iter().position(|&other| other == flow);
            members.swap_remove(place.expect("it is a member of its links"));
            // A link that holds nobody up does so no more with one flow less.
            if self.is_full(link as usize) {
                self.look_again(link);
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
            let (old, new) = (self.levels[link as usize], self.level(link));
            looks = looks.saturating_sub(1);
            if is_close(old, new) {
                continue;
            }
            self.levels[link as usize] = new;
            for member in 0..self.members[link as usize].len() {
                let flow = self.members[link as usize][member];
                self.concern(flow, link, (old, new), looks > 0);
            }
        }
        for flow in std::mem::take(&mut self.touched) {
            let Some(active) = &mut self.flows[flow as usize] else {
                continue;
            };
            active.touched = false;
            if let Some(end) = active.adapt(now, &self.levels) {
                self.departures.push(Reverse((end, flow)));
            }
            onlooker.changed(now, flow as usize, &self.levels);
        }
    }

    /// A level on a flow's way has changed: which other links have to be looked at. Those are concerned
    /// that the flow now leaves more or less of than before.
    fn concern(&mut self, flow: u32, changed: u32, (old, new): (f64, f64), further: bool) {
        let active = self.flows[flow as usize]
            .as_mut()
            .expect("members are under way");
        if !active.touched {
            active.touched = true;
            self.touched.push(flow);
        }
        if !further {
            return;
        }
        let Stream { way, most, .. } = &active.stream;
        for &link in way.iter().filter(|&&link| link != changed) {
            if self.is_stale[link as usize] {
                continue;
            }
            let others = way
                .iter()
                .filter(|&&other| other != link && other != changed);
            let least = others.fold(*most, |least, &other| {
                least.min(self.levels[other as usize])
            });
            let (before, after, level) =
                (least.min(old), least.min(new), self.levels[link as usize]);
            let concerned = if level.is_finite() {
                // Not where the link holds it up, before and after.
                before.min(after) < level
            } else {
                after > before
            };
            if concerned && before.to_bits() != after.to_bits() {
                self.is_stale[link as usize] = true;
                self.stale.push_back(link);
            }
        }
    }

    /// The level of a link, given those of all others.
    fn level(&mut self, link: u32) -> f64 {
        let mut demands = std::mem::take(&mut self.demands);
        demands.clear();
        for &flow in &self.members[link as usize] {
            let active = self.flows[flow as usize]
                .as_ref()
                .expect("members are under way");
            let others = active.stream.way.iter().filter(|&&other| other != link);
            let most = active.stream.most;
            demands.push(others.fold(most, |least, &other| least.min(self.levels[other as usize])));
        }
        let level = level(self.capacities[link as usize], &mut demands);
        self.demands = demands;
        level
    }
}

impl Active {
    /// Takes the rate that its links leave it; gives when it is complete, if that is earlier than it has
    /// a place among the departures.
    fn adapt(&mut self, now: Time, levels: &[f64]) -> Option<Time> {
        let Stream { way, most, .. } = &self.stream;
        let rate = way
            .iter()
            .fold(*most, |least, &link| least.min(levels[link as usize]));
        if rate.to_bits() == self.rate.to_bits() {
            return None;
        }
        let sent = self.rate * now.saturating_since(self.since).as_secs_lossy();
        self.stream.bits = (self.stream.bits - sent).max(0.0);
        self.rate = rate;
        self.since = now;
        self.end = now.saturating_add(duration(self.stream.bits, rate));
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
    }

    impl Onlooker for Notes {
        fn changed(&mut self, _: Time, _: usize, _: &[f64]) {}

        fn ended(&mut self, now: Time, flow: usize) {
            self.ends.push((flow, now.as_ps() / 1_000_000));
        }
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn stream(bits: f64, way: &[u32]) -> Stream {
        Stream {
            bits,
            most: 10e9,
            way: way.to_vec(),
        }
    }

    #[test]
    fn flows_on_a_link_share_it() {
        let (mut fluid, mut notes) = (Fluid::new(vec![10e9], 2), Notes::default());
        // 1 Mbit takes 100 us alone. The second comes after 50 us; the first has half of its bits left,
        // takes 100 us for them, and leaves the second half of its own.
        fluid.come(us(0), 0, stream(1e6, &[0]), &mut notes);
        assert!(fluid.is_busy(0) && !fluid.is_full(0));
        fluid.pass(us(50), &mut notes);
        fluid.come(us(50), 1, stream(1e6, &[0]), &mut notes);
        assert!(fluid.is_full(0));
        fluid.pass(Time::NEVER, &mut notes);
        assert_eq!(notes.ends, [(0, 150), (1, 200)]);
        assert!(!fluid.is_busy(0) && !fluid.is_full(0));
    }

    #[test]
    fn rates_are_max_min_fair() {
        let (mut fluid, mut notes) = (Fluid::new(vec![10e9; 4], 5), Notes::default());
        for (flow, way) in [&[0_u32, 1][..], &[0], &[0], &[1, 2], &[2, 3]]
            .iter()
            .enumerate()
        {
            fluid.come(us(0), flow as u32, stream(1e9, way), &mut notes);
        }
        let rate = |flow: usize| fluid.flows[flow].as_ref().map_or(0.0, |active| active.rate);
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
    fn a_level_divides_what_the_others_leave() {
        let level = |demands: &[f64]| level(10.0, &mut demands.to_vec());
        assert!(level(&[4.0, 6.0]).is_infinite());
        // 2 is less than a share; the two others have 4 each.
        assert!((level(&[2.0, 9.0, 9.0]) - 4.0).abs() < 1e-9);
        assert!((level(&[9.0, 9.0, 9.0, 9.0]) - 2.5).abs() < 1e-9);
    }
}
