//! How long each flow waits at a link.
//!
//! The delay of a flow is the difference between two runs of the network around the link: with all
//! flows on it, and with a link for each flow. So the time that flows of one host wait for each other at that
//! host is not counted at every link that they have in common, only at the host's own. A flow that
//! shares its host with no other while it lasts is alone in the second.

use std::collections::BTreeMap;

use incastle_units::{Rate, Time};

use super::alone::Alone;
use super::surroundings::{Sharing, Visit, Whole};
use crate::simulate::{Overseer, RunError};

/// What a link cost the flows that cross it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delays {
    /// By flow, in the order in which they begin: picoseconds; absent of one that was not complete at
    /// the end of the scenario. Below zero where other flows opened a window or moved a timer.
    pub of_flows: Vec<Option<i64>>,
    /// Packets received at the far ends of links in the run with all flows.
    pub packet_hops: u64,
}

/// The delays at a link, with flows at the rates of their hosts' links or at their own; absent if the
/// overseer ended it.
pub(super) fn delays(
    whole: &Whole<'_>,
    (link, rates): (usize, &[Option<Rate>]),
    overseer: &impl Overseer,
) -> Result<Option<Delays>, RunError> {
    let visits = visits(whole, link, rates);
    let Some(ran) = whole.run(link, (&visits, Sharing::Shared), overseer)? else {
        return Ok(None);
    };
    let mut alone = Alone::new(whole, link);
    let mut of_flows = vec![None; visits.len()];
    for group in groups(whole, link, (&visits, &ran.arrived)) {
        let members: Vec<Visit> = group.iter().map(|&place| visits[place]).collect();
        let by_itself = if let [visit] = members.as_slice() {
            let time = alone.time(visit, overseer)?;
            vec![time.map(|time| visit.at + time)]
        } else {
            let ran = whole.run(link, (&members, Sharing::OneEach), overseer)?;
            ran.map(|ran| ran.arrived).unwrap_or_default()
        };
        for (&place, before) in group.iter().zip(by_itself) {
            let both = ran.arrived[place].zip(before);
            of_flows[place] = both.map(|(with, without)| difference(with, without));
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
fn visits(whole: &Whole<'_>, link: usize, rates: &[Option<Rate>]) -> Vec<Visit> {
    let flows = whole.crossings.on(link);
    assert!(flows.len() == rates.len(), "a rate for each flow");
    let visits = flows.iter().zip(rates).map(|(&flow, &pace)| {
        let opening = &whole.flows[flow as usize];
        Visit {
            flow: flow as usize,
            at: opening.at,
            bytes: opening.bytes,
            pace,
        }
    });
    visits.collect()
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
    (visits, arrived): (&[Visit], &[Option<Time>]),
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
