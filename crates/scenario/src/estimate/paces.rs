//! How fast each flow comes to a link, and how long all of them take as a fluid.
//!
//! A flow that other links hold up comes to a link more slowly, and queues less there, or not at all. The
//! NSDI paper lets every sender send at the full rate of its own link towards each link in question;
//! where many hosts are busy, or the links above them, that finds queues that are not there. Here all
//! flows share all links as a fluid first. At any time the least level of all other links on a flow's way
//! is the pace at which it comes to a link.
//!
//! A flow no longer than the initial window is sent before any congestion control could have a say: it
//! waits in queues, but has no share, and is no part of the fluid.

use std::collections::BTreeMap;

use incastle_units::{Bytes, Rate, Span, Time};

use super::fluid::{Fluid, Onlooker, Sight, Stream, duration};
use super::surroundings::Whole;

/// Rates of a pace within this factor become one: their mean over time, so that as much is sent.
const ALIKE: f64 = 1.1;

/// A rate from when on, until the next.
pub(super) type Pace = Vec<(Time, Rate)>;

/// At a link of a flow's way: it carried others when the flow began.
pub(super) const BUSY: u8 = 1;
/// It held up others then, or later.
pub(super) const FULL: u8 = 2;
/// It held up this flow.
pub(super) const HELD_UP: u8 = 4;
/// It would have held up this flow, had no other link done so.
const LIMITED: u8 = 8;

/// The paces of all flows.
pub(super) struct Paces {
    /// By flow: how much later than in reality it begins in the fluid, which knows neither round trips nor
    /// slow start, so that it ends there in time when it is alone. Absent of one that is no part of it.
    lags: Vec<Option<Span>>,
    /// By flow: how much longer it takes in the fluid than alone.
    longer: Vec<Span>,
    /// By flow and link of its way.
    marks: Vec<u8>,
    /// Likewise: bits that it could have sent besides, had that link not held it up.
    missed: Vec<f64>,
    /// By flow: which of the periods in which its host sends without a pause it belongs to.
    periods: Vec<u32>,
    /// By period: its flows.
    flows: Vec<Vec<u32>>,
    /// By link that is simulated: changes of paces there, of each flow in order of time.
    changes: BTreeMap<usize, Vec<(u32, Time, f64)>>,
}

impl Paces {
    /// From the fluid of all flows and their ideal times; paces at these links.
    pub(super) fn new(whole: &Whole<'_>, ideals: &[Option<Span>], links: &[usize]) -> Self {
        let lags = lags(whole, ideals);
        let mut watch = Watch::new(whole, links);
        watch.share(&lags);
        let longer = lags.iter().enumerate();
        let longer = longer.map(|(flow, &lag)| whole.longer((flow, lag), watch.ends[flow]));
        let longer = longer.collect();
        let (periods, flows) = periods(whole, &watch.ends);
        Self {
            lags,
            longer,
            marks: watch.marks,
            missed: watch.missed,
            periods,
            flows,
            changes: watch.changes,
        }
    }

    /// How much longer a flow takes in the fluid than alone.
    pub(super) fn longer(&self, flow: usize) -> Span {
        self.longer[flow]
    }

    /// How much longer flows take than alone that share their host's link and nothing else.
    pub(super) fn longer_at_host(&self, whole: &Whole<'_>, flows: &[usize]) -> Vec<Span> {
        let Some(&any) = flows.first() else {
            return Vec::new();
        };
        let capacity = whole.own_rate(any).bits_per_second() as f64;
        let mut fluid = Fluid::new(vec![capacity], 1);
        let mut ends = Ends(flows.iter().map(|&flow| whole.flows[flow].at).collect());
        let places = flows.iter().map(|&flow| (flow, self.lags[flow]));
        for (at, place, _) in events(whole, places).into_iter().filter(|event| event.2) {
            fluid.pass(at, &mut ends);
            let stream = whole.stream(flows[place]).expect("it is part of the fluid");
            let stream = Stream {
                way: vec![0],
                ..stream
            };
            fluid.come(at, place as u32, &stream, &mut ends);
        }
        fluid.pass(Time::NEVER, &mut ends);
        let longer = flows.iter().zip(ends.0);
        let longer = longer.map(|(&flow, end)| whole.longer((flow, self.lags[flow]), end));
        longer.collect()
    }

    /// What a link of a flow's way was to it.
    pub(super) fn mark(&self, whole: &Whole<'_>, (flow, hop): (usize, usize)) -> u8 {
        self.marks[whole.crossings.first(flow) + hop]
    }

    /// How many full packets a flow could have sent besides, had a link of its way not held it up: what of
    /// [`Self::longer`] is due to that link, in packets.
    pub(super) fn missed(&self, whole: &Whole<'_>, (flow, hop): (usize, usize)) -> f64 {
        let stack = whole.stack(flow);
        let bits = 8 * stack.wire_size(stack.payload());
        self.missed[whole.crossings.first(flow) + hop] / bits as f64
    }

    /// The paces at which flows come to a link that they all cross; absent where there is nothing that
    /// they would not meet there as well: all that the host sends meanwhile crosses the link, and no link
    /// but the host's holds any of it up.
    pub(super) fn at(&self, whole: &Whole<'_>, link: usize) -> Vec<Option<Pace>> {
        let mut own: BTreeMap<u32, Pace> = BTreeMap::new();
        for &(flow, at, rate) in &self.changes[&link] {
            let rate = Rate::from_bits_per_second((rate as u64).max(1));
            own.entry(flow).or_default().push((at, rate));
        }
        let flows = whole.crossings.on(link).iter();
        let pace = |&flow: &u32| {
            let shared = match whole.crossings.place(flow as usize, link) {
                0 => self.is_together(whole, flow),
                _ => self.is_shared(whole, flow, link),
            };
            (!shared).then(|| {
                let full = || vec![(Time::ZERO, whole.own_rate(flow as usize))];
                own.remove(&flow).unwrap_or_else(full)
            })
        };
        flows.map(pace).collect()
    }

    /// Whether all that a flow's host sends meanwhile crosses a link, and no other link but the host's
    /// holds any of it up.
    fn is_shared(&self, whole: &Whole<'_>, flow: u32, link: usize) -> bool {
        let period = &self.flows[self.periods[flow as usize] as usize];
        period.iter().all(|&flow| {
            let first = whole.crossings.first(flow as usize);
            let mut crosses = false;
            let free = whole
                .crossings
                .way(flow as usize)
                .enumerate()
                .all(|(hop, step)| {
                    crosses |= step.link == link;
                    step.link == link || hop == 0 || self.marks[first + hop] & LIMITED == 0
                });
            free && crosses
        })
    }

    /// Whether that is so at any link, so that what flows of the host do to each other is seen there, or
    /// nothing is to be seen.
    fn is_together(&self, whole: &Whole<'_>, flow: u32) -> bool {
        let alone = self.flows[self.periods[flow as usize] as usize].len() == 1;
        let mut later = whole.crossings.way(flow as usize).skip(1);
        alone || later.any(|step| self.is_shared(whole, flow, step.link))
    }
}

/// How much later flows begin in the fluid; absent of those that are no part of it.
fn lags(whole: &Whole<'_>, ideals: &[Option<Span>]) -> Vec<Option<Span>> {
    let lag = |(flow, ideal): (usize, &Option<Span>)| {
        let stream = whole.stream(flow)?;
        let alone = duration(stream.bits, stream.most);
        Some(ideal.map_or(Span::ZERO, |ideal| ideal.saturating_sub(alone)))
    };
    ideals.iter().enumerate().map(lag).collect()
}

/// Of flows with their lags: when each begins, and when it comes to the fluid; in order of time. Which
/// of these flows, and whether it comes.
fn events(
    whole: &Whole<'_>,
    flows: impl Iterator<Item = (usize, Option<Span>)>,
) -> Vec<(Time, usize, bool)> {
    let mut events = Vec::new();
    for (place, (flow, lag)) in flows.enumerate() {
        let at = whole.flows[flow].at;
        events.push((at, place, false));
        events.extend(lag.map(|lag| (at + lag, place, true)));
    }
    events.sort_unstable();
    events
}

/// The periods in which hosts send without a pause: by flow, and the flows of each.
fn periods(whole: &Whole<'_>, ends: &[Time]) -> (Vec<u32>, Vec<Vec<u32>>) {
    let hosts = whole.scenario.layout().hosts.len();
    // By host: its latest period, and until when that lasts.
    let mut latest: Vec<Option<(u32, Time)>> = vec![None; hosts];
    let (mut periods, mut flows) = (Vec::new(), Vec::<Vec<u32>>::new());
    for (flow, opening) in whole.flows.iter().enumerate() {
        let latest = &mut latest[opening.hosts.0];
        let (period, last) = match *latest {
            Some((period, last)) if opening.at <= last => (period, last.max(ends[flow])),
            _ => {
                flows.push(Vec::new());
                (flows.len() as u32 - 1, ends[flow])
            }
        };
        *latest = Some((period, last));
        flows[period as usize].push(flow as u32);
        periods.push(period);
    }
    (periods, flows)
}

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

/// The link that holds a flow up.
#[derive(Debug, Clone, Copy, Default)]
struct Hold {
    since: Time,
    hop: usize,
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
struct Watch<'a> {
    whole: &'a Whole<'a>,
    is_simulated: Vec<bool>,
    /// By flow.
    ends: Vec<Time>,
    /// By slot of the fluid: since when its flow is held up, and where.
    holds: Vec<Hold>,
    /// By flow and link of its way.
    missed: Vec<f64>,
    marks: Vec<u8>,
    /// By flow: at each link of its way that is simulated.
    open: Vec<Vec<Open>>,
    changes: BTreeMap<usize, Vec<(u32, Time, f64)>>,
}

impl<'a> Watch<'a> {
    fn new(whole: &'a Whole<'a>, links: &[usize]) -> Self {
        let mut is_simulated = vec![false; whole.scenario.layout().links.len()];
        for &link in links {
            is_simulated[link] = true;
        }
        Self {
            whole,
            is_simulated,
            ends: whole.flows.iter().map(|flow| flow.at).collect(),
            holds: Vec::new(),
            missed: vec![0.0; whole.crossings.first(whole.flows.len())],
            marks: vec![0; whole.crossings.first(whole.flows.len())],
            open: (0..whole.flows.len()).map(|_| Vec::new()).collect(),
            changes: links.iter().map(|&link| (link, Vec::new())).collect(),
        }
    }

    /// Lets all flows share all links.
    fn share(&mut self, lags: &[Option<Span>]) {
        let whole = self.whole;
        let rates = whole.scenario.layout().links.iter();
        let rates = rates.map(|link| link.rate.bits_per_second() as f64);
        let capacities = rates.flat_map(|rate| [rate; 2]).collect();
        let longest = (0..whole.flows.len()).map(|flow| whole.crossings.way(flow).len());
        let mut fluid = Fluid::new(capacities, longest.max().unwrap_or(0));
        for (at, flow, comes) in events(whole, lags.iter().copied().enumerate()) {
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

    /// A flow begins, and may be part of the fluid later: what the links of its way are to it.
    fn begin(&mut self, fluid: &Fluid, now: Time, flow: usize) {
        let first = self.whole.crossings.first(flow);
        for (hop, step) in self.whole.crossings.way(flow).enumerate() {
            if fluid.is_full(step.port()) {
                self.marks[first + hop] |= FULL;
            }
            if fluid.is_busy(step.port()) {
                self.marks[first + hop] |= BUSY;
            }
        }
        self.ends[flow] = now + self.whole.on_own_link(flow);
    }

    /// Another link holds a flow up, or it lacks more or less there.
    fn hold(&mut self, now: Time, sight: &Sight<'_>) {
        let hop = sight.holder();
        if self.holds.len() <= sight.slot {
            self.holds.resize(sight.slot + 1, Hold::default());
        }
        let hold = &mut self.holds[sight.slot];
        let mut missed = hold.until(now);
        if hop != hold.hop {
            let first = self.whole.crossings.first(sight.flow);
            self.missed[first + hold.hop] = missed;
            missed = self.missed[first + hop];
        }
        *hold = Hold {
            since: now,
            hop,
            lack: sight.most - sight.rate,
            missed,
        };
    }

    fn note(&mut self, flow: usize, link: usize, (from, rate): (Time, f64)) {
        let changes = self.changes.get_mut(&link).expect("the link is simulated");
        changes.push((flow as u32, from, rate));
    }
}

impl Sight<'_> {
    /// Which link of its way holds the flow up: the first if none does.
    fn holder(&self) -> usize {
        let mut levels = self.way.iter().map(|&port| self.levels[port as usize]);
        levels.position(|level| level <= self.rate).unwrap_or(0)
    }

    /// What a link of its way is to the flow.
    fn mark(&self, port: u32) -> u8 {
        let level = self.levels[port as usize];
        if level.is_infinite() {
            0
        } else if level >= self.most {
            FULL
        } else if level > self.rate {
            FULL | LIMITED
        } else {
            FULL | LIMITED | HELD_UP
        }
    }

    /// The rate that all other links leave it.
    fn besides(&self, port: u32) -> f64 {
        let others = self.way.iter().filter(|&&other| other != port);
        others.fold(self.most, |least, &other| {
            least.min(self.levels[other as usize])
        })
    }
}

impl Onlooker for Watch<'_> {
    fn changed(&mut self, now: Time, sight: &Sight<'_>) {
        let flow = sight.flow;
        self.hold(now, sight);
        let first = self.whole.crossings.first(flow);
        let mut number = 0;
        for (hop, &port) in sight.way.iter().enumerate() {
            self.marks[first + hop] |= sight.mark(port);
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

    fn ended(&mut self, now: Time, sight: &Sight<'_>) {
        self.ends[sight.flow] = now;
        let hold = std::mem::take(&mut self.holds[sight.slot]);
        let first = self.whole.crossings.first(sight.flow);
        self.missed[first + hold.hop] = hold.until(now);
        for open in std::mem::take(&mut self.open[sight.flow]) {
            self.note(sight.flow, open.link, (open.from, open.mean(now)));
        }
    }
}

impl Whole<'_> {
    /// A flow as a fluid; absent of one that is sent at once.
    fn stream(&self, flow: usize) -> Option<Stream> {
        if self.flows[flow].bytes <= self.stack(flow).initial_window() {
            return None;
        }
        let stack = self.stack(flow);
        let wire = self.packets(flow) * stack.wire_size(stack.payload());
        Some(Stream {
            bits: (8 * wire) as f64,
            most: self.most(flow),
            way: self
                .crossings
                .way(flow)
                .map(|step| step.port() as u32)
                .collect(),
        })
    }

    /// The rate of a flow that is alone.
    fn most(&self, flow: usize) -> f64 {
        let links = &self.scenario.layout().links;
        let rates = self.crossings.way(flow).map(|step| links[step.link].rate);
        rates.min().expect("a way has links").bits_per_second() as f64
    }

    /// How much longer than alone a flow takes that ends then.
    fn longer(&self, (flow, lag): (usize, Option<Span>), end: Time) -> Span {
        let Some((lag, stream)) = lag.zip(self.stream(flow)) else {
            return Span::ZERO;
        };
        let took = end.saturating_since(self.flows[flow].at + lag);
        took.saturating_sub(duration(stream.bits, stream.most))
    }

    /// How long the full packets of a flow take on its host's link.
    fn on_own_link(&self, flow: usize) -> Span {
        let stack = self.stack(flow);
        let wire = self.packets(flow) * stack.wire_size(stack.payload());
        self.own_rate(flow).span_of(Bytes::new(wire))
    }

    fn own_rate(&self, flow: usize) -> Rate {
        let own = self.scenario.layout().access(self.flows[flow].hosts.0);
        own.expect("every host of a flow has a link").rate
    }
}

/// When flows end.
struct Ends(Vec<Time>);

impl Onlooker for Ends {
    fn changed(&mut self, _: Time, _: &Sight<'_>) {}

    fn ended(&mut self, now: Time, sight: &Sight<'_>) {
        self.0[sight.flow] = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
