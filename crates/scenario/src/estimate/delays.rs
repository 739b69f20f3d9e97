//! How long each flow waits at a link, beyond what the fluid says.
//!
//! The delay of a flow is the difference between two runs of the network around the link: with all
//! flows on it, and with a link for each flow. So the time that flows of one host wait for each other at that
//! host is not counted at every link that they have in common, only at the host's own. A flow that comes at
//! its own pace, or shares its host with no other while it lasts, is alone in the second. From that the
//! same difference in the fluid is taken away: what the fluid knows is counted once for the whole way.

use std::collections::BTreeMap;

use incastle_units::{Span, Time};

use super::alone::Alone;
use super::paces::{Pace, Paces};
use super::surroundings::{Sharing, Visit, Whole};
use crate::simulate::{Overseer, RunError};

/// What a link cost the flows that cross it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delays {
    /// By flow, in the order in which they begin: picoseconds; absent of one that was not complete at
    /// the end of the scenario. Below zero where the fluid expects more.
    pub of_flows: Vec<Option<i64>>,
    /// Packets received at the far ends of links in the run with all flows.
    pub packet_hops: u64,
}

/// The delays at a link, beyond those of the fluid; absent if the overseer ended it.
pub(super) fn delays(
    (whole, paces): (&Whole<'_>, &Paces),
    link: usize,
    overseer: &impl Overseer,
) -> Result<Option<Delays>, RunError> {
    let own_paces = paces.at(whole, link);
    let visits = visits(whole, link, &own_paces);
    let Some(ran) = whole.run(link, (&visits, Sharing::Shared), overseer)? else {
        return Ok(None);
    };
    let at_host = at_host((whole, paces), link, &visits);
    let meets = meets(&visits, &ran.arrived);
    let mut alone = Alone::new(whole, link);
    let mut of_flows = vec![None; visits.len()];
    for group in groups(whole, link, (&visits, &ran.arrived)) {
        if let [place] = group[..]
            && visits[place].pace.is_some()
            && !meets[place]
        {
            of_flows[place] = ran.arrived[place].map(|_| 0);
            continue;
        }
        let members: Vec<Visit<'_>> = group.iter().map(|&place| visits[place]).collect();
        let flows: Vec<usize> = members.iter().map(|visit| visit.flow).collect();
        let (by_itself, fluid) = if let [visit] = members.as_slice() {
            let time = alone.time(visit, overseer)?;
            let at_pace = alone.start(visit, overseer)?;
            (vec![time.map(|time| visit.at + time)], vec![-at_pace])
        } else {
            let ran = whole.run(link, (&members, Sharing::OneEach), overseer)?;
            let arrived = ran.map(|ran| ran.arrived).unwrap_or_default();
            let longer = paces.longer_at_host(whole, &flows).into_iter().map(signed);
            (arrived, longer.collect())
        };
        for ((&place, before), fluid) in group.iter().zip(by_itself).zip(fluid) {
            let both = ran.arrived[place].zip(before);
            let longer = at_host.get(&place).copied();
            let longer = longer.unwrap_or_else(|| paces.longer(visits[place].flow));
            let expected = signed(longer) - fluid;
            of_flows[place] = both.map(|(with, without)| difference(with, without) - expected);
        }
        if !overseer.goes_on(Time::ZERO + whole.scenario.duration()) {
            return Ok(None);
        }
    }
    Ok(Some(Delays {
        of_flows,
        packet_hops: ran.packet_hops,
    }))
}

/// The flows on a link, in the order in which they begin.
fn visits<'a>(whole: &Whole<'_>, link: usize, paces: &'a [Option<Pace>]) -> Vec<Visit<'a>> {
    let flows = whole.crossings.on(link);
    let visits = flows.iter().zip(paces).map(|(&flow, pace)| {
        let opening = &whole.flows[flow as usize];
        Visit {
            flow: flow as usize,
            at: opening.at,
            bytes: opening.bytes,
            pace: pace.as_deref(),
        }
    });
    visits.collect()
}

/// Of flows that meet nothing but others of their own host at that host's link: how much longer each
/// takes in the fluid of these.
fn at_host(
    (whole, paces): (&Whole<'_>, &Paces),
    link: usize,
    visits: &[Visit<'_>],
) -> BTreeMap<usize, Span> {
    let mut all = BTreeMap::new();
    for direction in [0, 1] {
        let places = (0..visits.len()).filter(|&place| {
            let passage = whole.passage(&visits[place], link);
            passage.before.is_none() && passage.pace.is_none() && passage.direction == direction
        });
        let places: Vec<usize> = places.collect();
        let flows: Vec<usize> = places.iter().map(|&place| visits[place].flow).collect();
        all.extend(places.into_iter().zip(paces.longer_at_host(whole, &flows)));
    }
    all
}

/// Whether each flow is at the link together with any other, in either direction. One that comes at its
/// own pace and is not has nothing to wait for.
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
    span.as_ps().cast_signed()
}

fn difference(with: Time, without: Time) -> i64 {
    let later = with.saturating_since(without).as_ps().cast_signed();
    later - without.saturating_since(with).as_ps().cast_signed()
}

/// The flows of each sender in one direction, parted where none of them is under way: places of
/// visits. At a host's own link, and at its own pace, each flow by itself.
fn groups(
    whole: &Whole<'_>,
    link: usize,
    (visits, arrived): (&[Visit<'_>], &[Option<Time>]),
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // By direction and sender: its latest group, and until when that lasts.
    let mut latest: BTreeMap<(usize, usize), (usize, Time)> = BTreeMap::new();
    for (place, visit) in visits.iter().enumerate() {
        let passage = whole.passage(visit, link);
        let until = arrived[place].unwrap_or(Time::NEVER);
        let key = (passage.direction, passage.hosts.0);
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
