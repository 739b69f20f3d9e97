//! Observes the fluid: ends of flows, their bottlenecks, the times when ports are full, and the paces at
//! which flows arrive at links.

use std::collections::BTreeMap;

use incastle_units::{Span, Time};

use crate::fluid::{FlowView, Fluid, Load, Observer};
use crate::surroundings::Whole;

/// Rates of a pace within this factor become one: their mean over time, so that as much is sent.
const ALIKE: f64 = 1.1;

/// A link of a flow's path carried other flows when the flow began.
pub(super) const BUSY: u8 = 1;
/// It was a bottleneck of others then, or later.
pub(super) const FULL: u8 = 2;
/// It would have been this flow's bottleneck, had no other link been.
pub(super) const LIMITED: u8 = 4;

/// A constant rate from an instant on, in bit/s.
#[derive(Debug, Clone, Copy)]
struct ConstantPace {
    from: Time,
    rate: f64,
}

/// A part of a pace that has not ended.
struct Open {
    link: usize,
    from: Time,
    /// Until when `bits` were sent, and the rate since.
    since: Time,
    bits: f64,
    rate: f64,
    min: f64,
    max: f64,
}

impl Open {
    fn new(link: usize, now: Time, rate: f64) -> Self {
        Self {
            link,
            from: now,
            since: now,
            bits: 0.0,
            rate,
            min: rate,
            max: rate,
        }
    }

    /// Continues at another rate. Returns the pace until now if the rate is too different for the same mean.
    fn continue_at(&mut self, now: Time, rate: f64) -> Option<ConstantPace> {
        if now == self.from {
            *self = Self::new(self.link, now, rate);
            return None;
        }
        let ended = self.ended(now);
        let (min, max) = (self.min.min(rate), self.max.max(rate));
        if max > ALIKE * min {
            *self = Self::new(self.link, now, rate);
            return Some(ended);
        }
        self.bits += self.rate * now.saturating_since(self.since).as_secs_lossy();
        (self.since, self.rate, self.min, self.max) = (now, rate, min, max);
        None
    }

    /// The pace until `now`, as its mean.
    fn ended(&self, now: Time) -> ConstantPace {
        ConstantPace {
            from: self.from,
            rate: self.mean(now),
        }
    }

    fn mean(&self, now: Time) -> f64 {
        if now == self.from {
            return self.rate;
        }
        let bits = self.bits + self.rate * now.saturating_since(self.since).as_secs_lossy();
        bits / now.saturating_since(self.from).as_secs_lossy()
    }
}

/// The bottleneck of an active flow.
#[derive(Debug, Clone, Copy, Default)]
struct Bottleneck {
    /// The index of its path's first link among those of all flows; absent until it is computed.
    first: Option<u32>,
    hop: u16,
    since: Time,
    /// The difference to the flow's rate when it is alone, in bit/s.
    lack: f64,
    /// The bits that it could have sent in addition until `since`, without that bottleneck.
    missed: f64,
}

impl Bottleneck {
    /// The bits that the flow has missed at that link until then.
    fn until(&self, now: Time) -> f64 {
        self.missed + self.lack * now.saturating_since(self.since).as_secs_lossy()
    }
}

/// Records the events of the fluid.
pub(super) struct Watch<'a> {
    whole: &'a Whole<'a>,
    is_simulated: Vec<bool>,
    /// By flow.
    pub(super) ends: Vec<Time>,
    /// By slot of the fluid.
    bottlenecks: Vec<Bottleneck>,
    /// By slot, `longest` each: the marks of the links of its flow's path since it arrived. Active flows alone are
    /// here, so that the list stays in the cache.
    since_it_came: Vec<u8>,
    longest: usize,
    /// By flow and link of its path: bits that it could have sent in addition, were that link no bottleneck.
    pub(super) missed: Vec<f64>,
    /// Likewise: the link's marks.
    pub(super) marks: Vec<u8>,
    /// Likewise, once the flow has ended: the shares of its time in which the port forward, and that back, were full.
    /// Until then the negated values of their clocks when it began.
    pub(super) full: Vec<[f64; 2]>,
    /// By port.
    clocks: Vec<Clock>,
    /// By flow: at each link of its path that is simulated.
    open: Vec<Vec<Open>>,
    pub(super) changes: BTreeMap<usize, Vec<(u32, Time, f64)>>,
}

/// The time that a port has been full.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// In seconds, without the current period.
    sum: f64,
    since: Option<Time>,
}

impl Clock {
    fn at(self, now: Time) -> f64 {
        let current = |since| now.saturating_since(since).as_secs_lossy();
        self.sum + self.since.map_or(0.0, current)
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
            bottlenecks: Vec::new(),
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
        for (at, flow, arrives) in events(whole, lags) {
            fluid.pass(at, self);
            if arrives {
                let stream = whole.stream(flow).expect("it is part of the fluid");
                fluid.arrive(at, flow as u32, &stream, self);
            } else {
                self.begin(&fluid, at, flow);
            }
        }
        fluid.pass(Time::NEVER, self);
    }

    /// Marks the links of a flow's path when it begins; it may join the fluid later.
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

    /// The state of a flow since it arrived.
    fn state_of(&mut self, view: &FlowView<'_>) -> (&mut Bottleneck, &mut [u8], u32) {
        if self.bottlenecks.len() <= view.slot {
            self.bottlenecks
                .resize(view.slot + 1, Bottleneck::default());
            let count = self.bottlenecks.len() * self.longest;
            self.since_it_came.resize(count, 0);
        }
        let bottleneck = &mut self.bottlenecks[view.slot];
        let first = *bottleneck.first.get_or_insert_with(|| {
            let first = self.whole.crossings.first(view.flow);
            u32::try_from(first).expect("paths have fewer than 2^32 links")
        });
        let marks = &mut self.since_it_came[view.slot * self.longest..][..view.path.len()];
        (bottleneck, marks, first)
    }

    /// Updates a flow's marks and its bottleneck.
    fn update(&mut self, now: Time, view: &FlowView<'_>) {
        let hop = view.bottleneck();
        let (bottleneck, marks, first) = self.state_of(view);
        for (mark, &port) in marks.iter_mut().zip(view.path) {
            *mark |= view.mark(port);
        }
        let missed = bottleneck.until(now);
        let before = std::mem::replace(
            bottleneck,
            Bottleneck {
                first: Some(first),
                since: now,
                hop: hop as u16,
                lack: view.rate_alone - view.rate,
                missed,
            },
        );
        if hop != usize::from(before.hop) {
            let first = first as usize;
            self.missed[first + usize::from(before.hop)] = missed;
            self.bottlenecks[view.slot].missed = self.missed[first + hop];
        }
    }

    /// Computes the share of a flow's time in which the ports of its path were full.
    fn end_clocks(&mut self, now: Time, view: &FlowView<'_>) {
        let first = self.whole.crossings.first(view.flow);
        let began = self.whole.flows[view.flow].at;
        let took = now.saturating_since(began).as_secs_lossy();
        for (hop, &port) in view.path.iter().enumerate() {
            let clocks = both_ways(port as usize).map(|port| self.clocks[port].at(now));
            for (full, clock) in self.full[first + hop].iter_mut().zip(clocks) {
                *full = (*full + clock) / took;
            }
        }
    }

    fn push_change(&mut self, flow: usize, link: usize, pace: ConstantPace) {
        let changes = self.changes.get_mut(&link).expect("the link is simulated");
        changes.push((flow as u32, pace.from, pace.rate));
    }
}

/// The events of flows with these lags, in order of time. Each flow begins (`false`), and enters the fluid (`true`)
/// after its lag, if it has one.
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

impl FlowView<'_> {
    /// The index on its path of its bottleneck; 0 without one.
    fn bottleneck(&self) -> usize {
        let mut levels = self.path.iter().map(|&port| self.level(port));
        levels.position(|level| level <= self.rate).unwrap_or(0)
    }

    /// The marks of a link of its path.
    fn mark(&self, port: u32) -> u8 {
        let level = self.level(port);
        if level.is_infinite() {
            0
        } else if level >= self.rate_alone {
            FULL
        } else {
            FULL | LIMITED
        }
    }

    /// The rate that all other links leave it.
    fn without(&self, port: u32) -> f64 {
        let others = self.path.iter().filter(|&&other| other != port);
        others.fold(self.rate_alone, |min, &other| min.min(self.level(other)))
    }
}

impl Observer for Watch<'_> {
    fn changed(&mut self, now: Time, view: &FlowView<'_>) {
        let flow = view.flow;
        self.update(now, view);
        let mut number = 0;
        for &port in view.path {
            let link = port as usize / 2;
            if !self.is_simulated[link] {
                continue;
            }
            let pace = view.without(port);
            if let Some(open) = self.open[flow].get_mut(number) {
                if let Some(ended) = open.continue_at(now, pace) {
                    self.push_change(flow, link, ended);
                }
            } else {
                self.open[flow].push(Open::new(link, now, pace));
            }
            number += 1;
        }
    }

    fn load_changed(&mut self, now: Time, port: usize, load: Load) {
        self.clocks[port] = Clock {
            sum: self.clocks[port].at(now),
            since: (load == Load::Full).then_some(now),
        };
    }

    fn ended(&mut self, now: Time, view: &FlowView<'_>) {
        self.ends[view.flow] = now;
        self.end_clocks(now, view);
        let bottleneck = std::mem::take(&mut self.bottlenecks[view.slot]);
        let first = self.whole.crossings.first(view.flow);
        self.missed[first + usize::from(bottleneck.hop)] = bottleneck.until(now);
        let seen = &mut self.since_it_came[view.slot * self.longest..][..view.path.len()];
        for (mark, seen) in self.marks[first..].iter_mut().zip(seen) {
            *mark |= std::mem::take(seen);
        }
        for open in std::mem::take(&mut self.open[view.flow]) {
            self.push_change(view.flow, open.link, open.ended(now));
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
        assert!(open.continue_at(us(20), 9.5e9).is_none(), "alike");
        // 10 us at 10 Gbit/s, then 30 us at 9.5.
        let ended = open.continue_at(us(50), 5e9).expect("it is half as fast");
        let ConstantPace { from, rate: mean } = ended;
        assert_eq!(from, us(10));
        assert!((mean - 9.625e9).abs() < 1.0, "{mean}");
        assert!(
            open.continue_at(us(50), 4e9).is_none(),
            "nothing was sent at 5"
        );
        assert!((open.mean(us(60)) - 4e9).abs() < 1.0);
    }
}
