//! The pace at which each flow arrives at a link, and the times of all flows as a fluid.
//!
//! A flow with its bottleneck elsewhere arrives at a link more slowly, and queues less there, or not at all. The
//! NSDI paper lets every sender send at the full rate of its access link towards each link in question.
//! Where many hosts are busy, or the links above them, that produces queues that do not exist. Here all
//! flows share all links as a fluid first. At any time the minimum level of all other links on a flow's path
//! is the pace at which it arrives at a link.
//!
//! A flow no longer than the initial window is sent before congestion control can act. It waits in queues,
//! but is not part of the fluid.

use std::collections::BTreeMap;

use incastle_units::{Bytes, Rate, Span, Time};

use crate::bottlenecks::Bottlenecks;
use crate::crossings::FlowAtHop;
use crate::discipline::Discipline;
use crate::fluid::{Stream, duration};
use crate::surroundings::Whole;
use crate::watch::{LIMITED, Watch};

/// Rates, each from an instant until the next.
pub(super) type Rates = Vec<(Time, Rate)>;

/// The paces of all flows.
pub(super) struct Paces {
    /// By flow: its time in the fluid minus that alone.
    longer: Vec<Span>,
    /// By flow and link of its path.
    marks: Vec<u8>,
    bottlenecks: Bottlenecks,
    /// By flow: its period among those in which its host sends without a pause.
    periods: Vec<u32>,
    /// By period: its flows.
    flows: Vec<Vec<u32>>,
    /// By simulated link: changes of paces there, of each flow in order of time.
    changes: BTreeMap<usize, Vec<(u32, Time, f64)>>,
}

/// A decomposed scenario, with the paces at which flows arrive at links.
#[derive(Clone, Copy)]
pub(super) struct Decomposition<'a> {
    pub(super) whole: &'a Whole<'a>,
    pub(super) paces: &'a Paces,
}

impl Paces {
    /// From the fluid of all flows and their ideal times; paces at these links.
    pub(super) fn new(whole: &Whole<'_>, ideals: &[Option<Span>], links: &[usize]) -> Self {
        let lags = lags(whole, ideals);
        let mut watch = Watch::new(whole, links);
        watch.share(&lags);
        let longer = lags.iter().enumerate();
        let longer = longer.map(|(flow, &lag)| whole.longer(flow, lag, watch.ends[flow]));
        let longer = longer.collect();
        let (periods, flows) = periods(whole, &watch.ends);
        let mut paces = Self {
            longer,
            marks: watch.marks,
            bottlenecks: Bottlenecks::default(),
            periods,
            flows,
            changes: watch.changes,
        };
        let is_shared = |flow: usize, link| paces.is_shared(whole, flow as u32, link);
        paces.bottlenecks = Bottlenecks::new(whole, watch.missed, watch.full, is_shared);
        paces
    }

    /// The bottlenecks of flows.
    pub(super) fn bottlenecks(&self) -> &Bottlenecks {
        &self.bottlenecks
    }

    /// The flow's own part of its bottleneck elsewhere, seen from a link of its path.
    pub(super) fn part(&self, whole: &Whole<'_>, here: FlowAtHop) -> Option<Discipline> {
        let flow = here.flow;
        let stream = whole.stream(flow)?;
        let alone = duration(stream.bits, stream.rate_alone);
        let rate = stream.bits / (alone + self.longer[flow]).as_secs_lossy();
        self.bottlenecks.part(whole, here, rate)
    }

    /// A flow's time in the fluid minus that alone.
    pub(super) fn longer(&self, flow: usize) -> Span {
        self.longer[flow]
    }

    /// The marks of a link of a flow's path.
    pub(super) fn mark(&self, whole: &Whole<'_>, at: FlowAtHop) -> u8 {
        self.marks[whole.crossings.first(at.flow) + at.hop]
    }

    /// The number of full packets that a flow could have sent in addition without bottlenecks.
    pub(super) fn missed(&self, whole: &Whole<'_>, flow: usize) -> f64 {
        let stack = whole.stack(flow);
        let bits = 8 * stack.wire_size(stack.payload());
        self.longer[flow].as_secs_lossy() * whole.rate_alone(flow) / bits as f64
    }

    /// The paces at which flows arrive at a link that they all cross. Absent where the network around that link
    /// contains all that they meet. Then all current flows of the host cross the link, and only the host's link is
    /// another bottleneck of any.
    pub(super) fn at(&self, whole: &Whole<'_>, link: usize) -> Vec<Option<Rates>> {
        let mut own: BTreeMap<u32, Rates> = BTreeMap::new();
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

    /// Whether all flows of a flow's host at that time cross a link, and no other link but the host's
    /// is a bottleneck of any.
    fn is_shared(&self, whole: &Whole<'_>, flow: u32, link: usize) -> bool {
        let period = &self.flows[self.periods[flow as usize] as usize];
        period.iter().all(|&flow| {
            let first = whole.crossings.first(flow as usize);
            let mut crosses = false;
            let free = whole
                .crossings
                .path(flow as usize)
                .enumerate()
                .all(|(hop, step)| {
                    crosses |= step.link == link;
                    step.link == link || hop == 0 || self.marks[first + hop] & LIMITED == 0
                });
            free && crosses
        })
    }

    /// Whether that holds at any link, so that the mutual delays of the host's flows appear there, or
    /// there are none.
    fn is_together(&self, whole: &Whole<'_>, flow: u32) -> bool {
        let alone = self.flows[self.periods[flow as usize] as usize].len() == 1;
        let mut later = whole.crossings.path(flow as usize).skip(1);
        alone || later.any(|step| self.is_shared(whole, flow, step.link))
    }
}

/// By flow: the lag of its start in the fluid behind that in the scenario. The fluid has neither round trips nor
/// slow start: with the lag, a flow that is alone ends in time. Absent for flows outside the fluid.
fn lags(whole: &Whole<'_>, ideals: &[Option<Span>]) -> Vec<Option<Span>> {
    let lag = |(flow, ideal): (usize, &Option<Span>)| {
        let stream = whole.stream(flow)?;
        let alone = duration(stream.bits, stream.rate_alone);
        Some(ideal.map_or(Span::ZERO, |ideal| ideal.saturating_sub(alone)))
    };
    ideals.iter().enumerate().map(lag).collect()
}

/// The periods in which hosts send without a pause: by flow, and the flows of each.
fn periods(whole: &Whole<'_>, ends: &[Time]) -> (Vec<u32>, Vec<Vec<u32>>) {
    let hosts = whole.scenario.layout().hosts.len();
    // By host: its latest period with its end.
    let mut latest: Vec<Option<(u32, Time)>> = vec![None; hosts];
    let (mut periods, mut flows) = (Vec::new(), Vec::<Vec<u32>>::new());
    for (flow, opening) in whole.flows.iter().enumerate() {
        let latest = &mut latest[opening.hosts.from];
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

impl Whole<'_> {
    /// A flow as a fluid; absent for one that is sent at once.
    pub(super) fn stream(&self, flow: usize) -> Option<Stream> {
        if self.flows[flow].bytes <= self.stack(flow).initial_window() {
            return None;
        }
        let stack = self.stack(flow);
        let wire = self.packets(flow) * stack.wire_size(stack.payload());
        Some(Stream {
            bits: (8 * wire) as f64,
            rate_alone: self.rate_alone(flow),
            path: self
                .crossings
                .path(flow)
                .map(|step| step.port() as u32)
                .collect(),
        })
    }

    /// The rate of a flow that is alone.
    fn rate_alone(&self, flow: usize) -> f64 {
        let links = &self.scenario.layout().links;
        let rates = self.crossings.path(flow).map(|step| links[step.link].rate);
        rates.min().expect("a path has links").bits_per_second() as f64
    }

    /// The extra time of a flow with this end, over its time alone.
    fn longer(&self, flow: usize, lag: Option<Span>, end: Time) -> Span {
        let Some((lag, stream)) = lag.zip(self.stream(flow)) else {
            return Span::ZERO;
        };
        let took = end.saturating_since(self.flows[flow].at + lag);
        took.saturating_sub(duration(stream.bits, stream.rate_alone))
    }

    /// The time of a flow's full packets on its host's link.
    pub(super) fn on_own_link(&self, flow: usize) -> Span {
        let stack = self.stack(flow);
        let wire = self.packets(flow) * stack.wire_size(stack.payload());
        self.own_rate(flow).span_of(Bytes::new(wire))
    }

    fn own_rate(&self, flow: usize) -> Rate {
        let own = self.scenario.layout().access(self.flows[flow].hosts.from);
        own.expect("every host of a flow has a link").rate
    }
}
