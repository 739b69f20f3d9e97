//! The delay of each flow at a link, beyond its time in the fluid.
//!
//! The delay of a flow without a bottleneck in the fluid is the difference between two runs of the
//! network around the link. One has all flows on it, the other a link for each flow. So mutual delays of flows of
//! one host are counted only at the host's own link, not at every link that they share. A flow that arrives
//! at its own pace, or shares its host with no other during its time, is alone in the second run.
//!
//! A flow with a bottleneck is timed around a single link, and has no delay at others. The delay is the
//! difference between the first run and the flow alone, minus its extra time in the fluid.

use std::collections::BTreeMap;

use incastle_units::{Span, Time};

use crate::alone::Alone;
use crate::crossings::FlowAtHop;
use crate::paces::{Decomposition, Paces, Rates};
use crate::surroundings::{Pace, Sharing, Visit, Whole};
use incastle_experiment::{Overseer, RunError};

/// The delays of flows at a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delays {
    /// By flow, in the order in which they begin, in picoseconds; absent for a flow that was not complete at
    /// the end of the scenario. Negative where the fluid expects more; zero for a flow timed around
    /// another link.
    pub of_flows: Vec<Option<i64>>,
    /// Packets received, summed over all links, in the run with all flows.
    pub packet_hops: u64,
}

/// The delays at a link, beyond those of the fluid; absent if the overseer ended it.
pub(super) fn delays(
    decomposition: Decomposition<'_>,
    link: usize,
    overseer: &impl Overseer,
) -> Result<Option<Delays>, RunError> {
    let Decomposition { whole, paces } = decomposition;
    let rates = paces.at(whole, link);
    let visits = visits(decomposition, link, &rates);
    let Some(ran) = whole.run(link, &visits, Sharing::Shared, overseer)? else {
        return Ok(None);
    };
    let mut site = Site {
        whole,
        paces,
        link,
        visits: &visits,
        arrived: &ran.arrived,
        alone: Alone::new(whole, link),
        of_flows: vec![None; visits.len()],
    };
    let done = site.time_bottlenecked(overseer)? && site.wait_for_others(overseer)?;
    let of_flows = site.of_flows;
    Ok(done.then_some(Delays {
        of_flows,
        packet_hops: ran.packet_hops,
    }))
}

/// A link after its run, and the delays there.
struct Site<'a> {
    whole: &'a Whole<'a>,
    paces: &'a Paces,
    link: usize,
    visits: &'a [Visit<'a>],
    arrived: &'a [Option<Time>],
    alone: Alone<'a>,
    of_flows: Vec<Option<i64>>,
}

impl Site<'_> {
    /// The delays of flows with a bottleneck; `false` if the overseer ended it.
    fn time_bottlenecked(&mut self, overseer: &impl Overseer) -> Result<bool, RunError> {
        for (place, visit) in self.visits.iter().enumerate() {
            let Some(timed) = self.paces.bottlenecks().timed_at(visit.flow) else {
                continue;
            };
            let arrived = self.arrived[place];
            if timed != self.whole.crossings.place(visit.flow, self.link) {
                self.of_flows[place] = arrived.map(|_| 0);
                continue;
            }
            let alone = self.alone.time(visit, overseer)?;
            let longer = signed(self.paces.longer(visit.flow));
            let both = arrived.zip(alone);
            self.of_flows[place] =
                both.map(|(with, alone)| difference(with, visit.at + alone).saturating_sub(longer));
        }
        Ok(self.continues(overseer))
    }

    /// The delays of all other flows.
    fn wait_for_others(&mut self, overseer: &impl Overseer) -> Result<bool, RunError> {
        let meets = meets(self.visits, self.arrived);
        for group in groups(self.whole, self.link, self.visits, self.arrived) {
            let is_bottlenecked = |place: usize| {
                let timed = self.paces.bottlenecks().timed_at(self.visits[place].flow);
                timed.is_some()
            };
            let waiting: Vec<usize> = group
                .iter()
                .copied()
                .filter(|&place| !is_bottlenecked(place))
                .collect();
            if let [place] = group[..]
                && self.visits[place].pace.is_some()
                && !meets[place]
                && !waiting.is_empty()
            {
                self.of_flows[place] = self.arrived[place].map(|_| 0);
            } else if !waiting.is_empty() {
                let without = self.without_others(&group, overseer)?;
                for place in waiting {
                    let at = group.iter().position(|&member| member == place);
                    let without = without[at.expect("it is one of the group")];
                    let both = self.arrived[place].zip(without);
                    self.of_flows[place] = both.map(|(with, without)| difference(with, without));
                }
            }
            if !self.continues(overseer) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The arrivals of one host's flows with a separate link for each.
    fn without_others(
        &mut self,
        group: &[usize],
        overseer: &impl Overseer,
    ) -> Result<Vec<Option<Time>>, RunError> {
        if let [place] = group {
            let visit = &self.visits[*place];
            let time = self.alone.time(visit, overseer)?;
            return Ok(vec![time.map(|time| visit.at + time)]);
        }
        let members = group.iter().map(|&place| self.visits[place].alone());
        let members: Vec<Visit<'_>> = members.collect();
        let ran = (self.whole).run(self.link, &members, Sharing::OneEach, overseer)?;
        Ok(ran.map_or_else(|| vec![None; group.len()], |ran| ran.arrived))
    }

    fn continues(&self, overseer: &impl Overseer) -> bool {
        overseer.continues(Time::ZERO + self.whole.scenario.duration())
    }
}

/// The flows on a link, in the order in which they begin.
fn visits<'a>(
    decomposition: Decomposition<'_>,
    link: usize,
    rates: &'a [Option<Rates>],
) -> Vec<Visit<'a>> {
    let Decomposition { whole, paces } = decomposition;
    let flows = whole.crossings.on(link);
    let visits = flows.iter().zip(rates).map(|(&flow, rates)| {
        let flow = flow as usize;
        let opening = &whole.flows[flow];
        let hop = whole.crossings.place(flow, link);
        let here = FlowAtHop { flow, hop };
        Visit {
            flow,
            at: opening.at,
            bytes: opening.bytes,
            pace: rates.as_deref().map(|rates| Pace {
                rates,
                part: paces.part(whole, here),
            }),
            // Without a pace, flows delay each other at their host's link. `without_others` subtracts that
            // delay at a later link, where no flow waits elsewhere.
            elsewhere: if here.hop == 0 && rates.is_none() {
                Span::ZERO
            } else {
                paces.bottlenecks().round_trip_wait(whole, here)
            },
        }
    });
    visits.collect()
}

/// Whether each flow is at the link together with any other, in either direction. A flow at its
/// own pace that is alone waits for no other.
fn meets(visits: &[Visit<'_>], arrived: &[Option<Time>]) -> Vec<bool> {
    let mut meets = vec![false; visits.len()];
    // The flow that is there the longest so far.
    let mut latest: Option<(usize, Time)> = None;
    for (place, visit) in visits.iter().enumerate() {
        let until = arrived[place].unwrap_or(Time::NEVER);
        if let Some((other, last)) = latest.filter(|(_, last)| visit.at <= *last) {
            meets[other] = true;
            meets[place] = true;
            if until <= last {
                continue;
            }
        }
        latest = Some((place, until));
    }
    meets
}

fn signed(span: Span) -> i64 {
    i64::try_from(span.as_ps()).unwrap_or(i64::MAX)
}

/// The difference in picoseconds, positive if `with` is later.
pub(super) fn difference(with: Time, without: Time) -> i64 {
    signed(with.saturating_since(without)) - signed(without.saturating_since(with))
}

/// The flows of each sender in one direction, divided where none of them is active: indices of
/// visits. At a host's access link, and at its own pace, each flow by itself.
fn groups(
    whole: &Whole<'_>,
    link: usize,
    visits: &[Visit<'_>],
    arrived: &[Option<Time>],
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // By direction and sender: its latest group with its end.
    let mut latest: BTreeMap<(usize, usize), (usize, Time)> = BTreeMap::new();
    for (place, visit) in visits.iter().enumerate() {
        let passage = whole.passage(visit, link);
        let until = arrived[place].unwrap_or(Time::NEVER);
        let key = (passage.direction, passage.hosts.from);
        let before = latest.get(&key).filter(|_| passage.is_shared());
        if let Some(&(group, last)) = before.filter(|(_, last)| visit.at <= *last) {
            groups[group].push(place);
            latest.insert(key, (group, last.max(until)));
            continue;
        }
        groups.push(vec![place]);
        if passage.is_shared() {
            latest.insert(key, (groups.len() - 1, until));
        }
    }
    groups
}
