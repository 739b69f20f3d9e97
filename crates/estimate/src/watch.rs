//! What is to be known of the fluid: when flows end, what holds them up, when ports are full, and the paces at
//! which flows come to links.

use std::collections::BTreeMap;

use incastle_units::{Span, Time};

use crate::fluid::{Fluid, Onlooker, Sight};
use crate::surroundings::Whole;

/// Rates of a pace within this factor become one: their mean over time, so that as much is sent.
const ALIKE: f64 = 1.1;

/// At a link of a flow's path: it carried others when the flow began.
pub(super) const BUSY: u8 = 1;
/// It held up others then, or later.
pub(super) const FULL: u8 = 2;
/// It would have held up this flow, had no other link done so.
pub(super) const LIMITED: u8 = 4;

/// A part of a pace that has not ended.
struct Open {
    link: usize,
    from: Time,
    /// Until when `bits` were sent, and the rate since.
    since: Time,
    bits: f64,
    rate: f64,
    least: f64,
    most: f64,
}

impl Open {
    fn new(link: usize, now: Time, rate: f64) -> Self {
        Self {
            link,
            from: now,
            since: now,
            bits: 0.0,
            rate,
            least: rate,
            most: rate,
        }
    }

    /// Goes on at another rate; gives the mean until now if that is too different.
    fn turn(&mut self, now: Time, rate: f64) -> Option<(Time, f64)> {
        if now == self.from {
            *self = Self::new(self.link, now, rate);
            return None;
        }
        let ended = (self.from, self.mean(now));
        let (least, most) = (self.least.min(rate), self.most.max(rate));
        if most > ALIKE * least {
            *self = Self::new(self.link, now, rate);
            return Some(ended);
        }
        self.bits += self.rate * now.saturating_since(self.since).as_secs_lossy();
        (self.since, self.rate, self.least, self.most) = (now, rate, least, most);
        None
    }

    fn mean(&self, now: Time) -> f64 {
        if now == self.from {
            return self.rate;
        }
        let bits = self.bits + self.rate * now.saturating_since(self.since).as_secs_lossy();
        bits / now.saturating_since(self.from).as_secs_lossy()
    }
}

/// A flow under way, and the link that holds it up.
#[derive(Debug, Clone, Copy, Default)]
struct Hold {
    /// Where the links of its path begin among those of all flows; absent until it is known.
    first: Option<u32>,
    hop: u16,
    since: Time,
    /// What the flow lacks of its rate when it is alone, in bit/s.
    lack: f64,
    /// What it could have sent besides until `since`, had that link not held it up, in bits.
    missed: f64,
}

impl Hold {
    /// What the flow has missed at that link until then.
    fn until(&self, now: Time) -> f64 {
        self.missed + self.lack * now.saturating_since(self.since).as_secs_lossy()
    }
}

/// Looks on at the fluid.
pub(super) struct Watch<'a> {
    whole: &'a Whole<'a>,
    is_simulated: Vec<bool>,
    /// By flow.
    pub(super) ends: Vec<Time>,
    /// By slot of the fluid.
    holds: Vec<Hold>,
    /// By slot, `longest` each: what the links of its flow's path have been to it since it came. With that of few
    /// others, so that it is at hand.
    since_it_came: Vec<u8>,
    longest: usize,
    /// By flow and link of its path: bits that it could have sent besides, had that link not held it up.
    pub(super) missed: Vec<f64>,
    /// Likewise: what the link was to it.
    pub(super) marks: Vec<u8>,
    /// Likewise, once the flow has ended: for which share of its time the ports forth and back were full.
    /// Until then what their clocks said when it began, below zero.
    pub(super) full: Vec<[f64; 2]>,
    /// By port.
    clocks: Vec<Clock>,
    /// By flow: at each link of its path that is simulated.
    open: Vec<Vec<Open>>,
    pub(super) changes: BTreeMap<usize, Vec<(u32, Time, f64)>>,
}

/// How long a port has been full.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// In seconds, but for the period that goes on.
    sum: f64,
    since: Option<Time>,
}

impl Clock {
    fn at(self, now: Time) -> f64 {
        let goes_on = |since| now.saturating_since(since).as_secs_lossy();
        self.sum + self.since.map_or(0.0, goes_on)
    }
}

impl<'a> Watch<'a> {
    pub(super) fn new(whole: &'a Whole<'a>, links: &[usize]) -> Self {
        let longest = (0..whole.flows.len()).map(|flow| whole.crossings.path(flow).len());
        let mut is_simulated = vec![false; whole.scenario.layout().links.len()];
        for &link in links {
            is_simulated[link] = true;
        }
        Self {
            whole,
            is_simulated,
            ends: whole.flows.iter().map(|flow| flow.at).collect(),
            holds: Vec::new(),
            since_it_came: Vec::new(),
            longest: longest.max().unwrap_or(0),
            missed: vec![0.0; whole.crossings.first(whole.flows.len())],
            marks: vec![0; whole.crossings.first(whole.flows.len())],
            full: vec![[0.0; 2]; whole.crossings.first(whole.flows.len())],
            clocks: vec![Clock::default(); 2 * whole.scenario.layout().links.len()],
            open: (0..whole.flows.len()).map(|_| Vec::new()).collect(),
            changes: links.iter().map(|&link| (link, Vec::new())).collect(),
        }
    }

    /// Lets all flows share all links.
    pub(super) fn share(&mut self, lags: &[Option<Span>]) {
        let whole = self.whole;
        let rates = whole.scenario.layout().links.iter();
        let rates = rates.map(|link| link.rate.bits_per_second() as f64);
        let capacities = rates.flat_map(|rate| [rate; 2]).collect();
        let mut fluid = Fluid::new(capacities, self.longest);
        for (at, flow, comes) in events(whole, lags) {
            fluid.pass(at, self);
            if comes {
                let stream = whole.stream(flow).expect("it is part of the fluid");
                fluid.come(at, flow as u32, &stream, self);
            } else {
                self.begin(&fluid, at, flow);
            }
        }
        fluid.pass(Time::NEVER, self);
    }

    /// A flow begins, and may be part of the fluid later: what the links of its path are to it.
    fn begin(&mut self, fluid: &Fluid, now: Time, flow: usize) {
        let first = self.whole.crossings.first(flow);
        for (hop, step) in self.whole.crossings.path(flow).enumerate() {
            if fluid.is_full(step.port()) {
                self.marks[first + hop] |= FULL;
            }
            if fluid.is_busy(step.port()) {
                self.marks[first + hop] |= BUSY;
            }
            self.full[first + hop] = both_ways(step.port()).map(|port| -self.clocks[port].at(now));
        }
        self.ends[flow] = now + self.whole.on_own_link(flow);
    }

    /// What is known of a flow since it came.
    fn hold_of(&mut self, sight: &Sight<'_>) -> (&mut Hold, &mut [u8], u32) {
        if self.holds.len() <= sight.slot {
            self.holds.resize(sight.slot + 1, Hold::default());
            let count = self.holds.len() * self.longest;
            self.since_it_came.resize(count, 0);
        }
        let hold = &mut self.holds[sight.slot];
        let first = *hold.first.get_or_insert_with(|| {
            let first = self.whole.crossings.first(sight.flow);
            u32::try_from(first).expect("paths have fewer than 2^32 links")
        });
        let marks = &mut self.since_it_came[sight.slot * self.longest..][..sight.path.len()];
        (hold, marks, first)
    }

    /// Links are something else to a flow, and another may hold it up, or it may lack more or less there.
    fn hold(&mut self, now: Time, sight: &Sight<'_>) {
        let hop = sight.holder();
        let (hold, marks, first) = self.hold_of(sight);
        for (mark, &port) in marks.iter_mut().zip(sight.path) {
            *mark |= sight.mark(port);
        }
        let missed = hold.until(now);
        let before = std::mem::replace(
            hold,
            Hold {
                first: Some(first),
                since: now,
                hop: hop as u16,
                lack: sight.most - sight.rate,
                missed,
            },
        );
        if hop != usize::from(before.hop) {
            let first = first as usize;
            self.missed[first + usize::from(before.hop)] = missed;
            self.holds[sight.slot].missed = self.missed[first + hop];
        }
    }

    /// For which share of a flow's time the ports of its path were full.
    fn end_clocks(&mut self, now: Time, sight: &Sight<'_>) {
        let first = self.whole.crossings.first(sight.flow);
        let began = self.whole.flows[sight.flow].at;
        let took = now.saturating_since(began).as_secs_lossy();
        for (hop, &port) in sight.path.iter().enumerate() {
            let clocks = both_ways(port as usize).map(|port| self.clocks[port].at(now));
            for (full, clock) in self.full[first + hop].iter_mut().zip(clocks) {
                *full = (*full + clock) / took;
            }
        }
    }

    fn note(&mut self, flow: usize, link: usize, (from, rate): (Time, f64)) {
        let changes = self.changes.get_mut(&link).expect("the link is simulated");
        changes.push((flow as u32, from, rate));
    }
}

/// Flows of the given lags: when each begins, and when it comes to the fluid, in order of time; and whether it
/// comes.
fn events(whole: &Whole<'_>, lags: &[Option<Span>]) -> Vec<(Time, usize, bool)> {
    let mut events = Vec::new();
    for (flow, lag) in lags.iter().enumerate() {
        let at = whole.flows[flow].at;
        events.push((at, flow, false));
        events.extend(lag.map(|lag| (at + lag, flow, true)));
    }
    events.sort_unstable();
    events
}

/// A port, and the one that sends in the other direction of its link.
fn both_ways(port: usize) -> [usize; 2] {
    [port, port ^ 1]
}

impl Sight<'_> {
    /// Which link of its path holds the flow up: the first if none does.
    fn holder(&self) -> usize {
        let mut levels = self.path.iter().map(|&port| self.level(port));
        levels.position(|level| level <= self.rate).unwrap_or(0)
    }

    /// What a link of its path is to the flow.
    fn mark(&self, port: u32) -> u8 {
        let level = self.level(port);
        if level.is_infinite() {
            0
        } else if level >= self.most {
            FULL
        } else {
            FULL | LIMITED
        }
    }

    /// The rate that all other links leave it.
    fn besides(&self, port: u32) -> f64 {
        let others = self.path.iter().filter(|&&other| other != port);
        others.fold(self.most, |least, &other| least.min(self.level(other)))
    }
}

impl Onlooker for Watch<'_> {
    fn changed(&mut self, now: Time, sight: &Sight<'_>) {
        let flow = sight.flow;
        self.hold(now, sight);
        let mut number = 0;
        for &port in sight.path {
            let link = port as usize / 2;
            if !self.is_simulated[link] {
                continue;
            }
            let pace = sight.besides(port);
            if let Some(open) = self.open[flow].get_mut(number) {
                if let Some(ended) = open.turn(now, pace) {
                    self.note(flow, link, ended);
                }
            } else {
                self.open[flow].push(Open::new(link, now, pace));
            }
            number += 1;
        }
    }

    fn filled(&mut self, now: Time, port: usize, is_full: bool) {
        self.clocks[port] = Clock {
            sum: self.clocks[port].at(now),
            since: is_full.then_some(now),
        };
    }

    fn ended(&mut self, now: Time, sight: &Sight<'_>) {
        self.ends[sight.flow] = now;
        self.end_clocks(now, sight);
        let hold = std::mem::take(&mut self.holds[sight.slot]);
        let first = self.whole.crossings.first(sight.flow);
        self.missed[first + usize::from(hold.hop)] = hold.until(now);
        let seen = &mut self.since_it_came[sight.slot * self.longest..][..sight.path.len()];
        for (mark, seen) in self.marks[first..].iter_mut().zip(seen) {
            *mark |= std::mem::take(seen);
        }
        for open in std::mem::take(&mut self.open[sight.flow]) {
            self.note(sight.flow, open.link, (open.from, open.mean(now)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_runs_while_its_port_is_full() {
        let us = |us| Time::ZERO + Span::from_us(us);
        let clock = Clock {
            sum: 3e-6,
            since: Some(us(10)),
        };
        assert!((clock.at(us(12)) - 5e-6).abs() < 1e-12);
        let stopped = Clock {
            since: None,
            ..clock
        };
        assert!((stopped.at(us(12)) - 3e-6).abs() < 1e-12);
    }

    #[test]
    fn a_pace_sends_as_much_as_the_rates_that_it_stands_for() {
        let us = |us| Time::ZERO + Span::from_us(us);
        let mut open = Open::new(0, us(10), 10e9);
        assert_eq!(open.turn(us(20), 9.5e9), None, "alike");
        // 10 us at 10 Gbit/s, then 30 us at 9.5.
        let (from, mean) = open.turn(us(50), 5e9).expect("it is half as fast");
        assert_eq!(from, us(10));
        assert!((mean - 9.625e9).abs() < 1.0, "{mean}");
        assert_eq!(open.turn(us(50), 4e9), None, "nothing was sent at 5");
        assert!((open.mean(us(60)) - 4e9).abs() < 1.0);
    }
}
