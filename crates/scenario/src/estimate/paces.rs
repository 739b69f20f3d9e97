//! How fast each flow comes to a link.
//!
//! A flow that waits at other links comes to a link more slowly, and queues less there, or not at all: at
//! links before, and at links behind, whose ACKs come back no faster. The NSDI paper lets every sender
//! send at the full rate of its own link towards each link in question; where many hosts are busy, or
//! the links above them, that finds queues that are not there. Here links are simulated in several
//! passes: what flows waited in some gives their paces in the next. A pace is the time of a flow's packets
//! on its host's link, over that time and what it waited at all other links.
//!
//! What a flow waits at a link is then what that adds to all others, and waits that no pass changes any
//! more add up to its time: two links at which it has half the rate cost it half a time each, not one. A
//! pass from the waits of the one before alone would find all of it at both and then none, by turns;
//! from the mean of two it comes half as near each time.

use std::collections::BTreeMap;

use incastle_units::{Bytes, Rate, Span, Time};

use super::surroundings::Whole;

/// Paces are this many steps per factor of two below the rate of the link, so that flows at the same
/// pace can be told alike.
const STEPS: u8 = 4;

/// No pace is lower than the rate by more steps than this: a factor of 64.
const LOWEST: u8 = 6 * STEPS;

/// The paces of all flows.
pub struct Paces {
    /// By flow and link of its way: how long it waited there.
    waits: Vec<Span>,
    /// By flow: which of the periods in which its host sends without a pause it belongs to.
    periods: Vec<u32>,
    /// By period: how many flows it has.
    flows: Vec<u32>,
}

impl Paces {
    /// From what each flow waited at the links of its way, as far as that is known; absent where it did
    /// not get beyond a link.
    pub(super) fn new(whole: &Whole<'_>, waited: impl Fn(usize, usize) -> Option<Span>) -> Self {
        let hosts = whole.scenario.layout().hosts.len();
        // By host: its latest period, and until when that lasts.
        let mut latest: Vec<Option<(u32, Time)>> = vec![None; hosts];
        let mut paces = Self {
            waits: Vec::new(),
            periods: Vec::new(),
            flows: Vec::new(),
        };
        for (flow, opening) in whole.flows.iter().enumerate() {
            for hop in 0..whole.crossings.way(flow).len() {
                let waited = waited(flow, hop);
                paces.waits.push(waited.unwrap_or(Span::from_ps(u64::MAX)));
            }
            let own = waited(flow, 0);
            let until = own.map_or(Time::NEVER, |waited| {
                opening.at + whole.on_own_link(flow) + waited
            });
            let latest = &mut latest[opening.hosts.0];
            let (period, last) = match *latest {
                Some((period, last)) if opening.at <= last => (period, last.max(until)),
                _ => {
                    paces.flows.push(0);
                    (paces.flows.len() as u32 - 1, until)
                }
            };
            *latest = Some((period, last));
            paces.flows[period as usize] += 1;
            paces.periods.push(period);
        }
        paces
    }

    /// The paces at which flows come to a link that they all cross; absent where there is nothing that
    /// they would not meet there as well: all that the host sends meanwhile crosses the link, and no link
    /// but the host's holds the flow up.
    pub(super) fn at(&self, whole: &Whole<'_>, link: usize) -> Vec<Option<Rate>> {
        let flows = whole.crossings.on(link);
        let mut counts = BTreeMap::new();
        for &flow in flows {
            *counts.entry(self.periods[flow as usize]).or_insert(0_u32) += 1;
        }
        let pace = |flow: usize| {
            let place = whole.crossings.place(flow, link);
            let elsewhere = self.elsewhere(whole, flow, |hop| hop != place);
            let period = self.periods[flow];
            let all = counts[&period] == self.flows[period as usize];
            let held_up = self.elsewhere(whole, flow, |hop| hop != place && hop > 0);
            let steps = steps(whole.on_own_link(flow), elsewhere);
            (held_up > Span::ZERO || !all).then(|| paced(whole.own_rate(flow), steps))
        };
        flows.iter().map(|&flow| pace(flow as usize)).collect()
    }

    /// How long a flow waited at some links of its way.
    fn elsewhere(&self, whole: &Whole<'_>, flow: usize, counts: impl Fn(usize) -> bool) -> Span {
        let first = whole.crossings.first(flow);
        let mut sum = 0_u64;
        for hop in (0..whole.crossings.way(flow).len()).filter(|&hop| counts(hop)) {
            sum = sum.saturating_add(self.waits[first + hop].as_ps());
        }
        Span::from_ps(sum)
    }
}

/// A rate that is lower by so many steps.
fn paced(rate: Rate, steps: u8) -> Rate {
    let share = (0..steps).fold(1.0, |share, _| share / step());
    let bits = rate.bits_per_second() as f64 * share;
    Rate::from_bits_per_second((bits as u64).max(1))
}

/// The fourth root of two.
fn step() -> f64 {
    2.0_f64.sqrt().sqrt()
}

/// The steps by which a time on the wire is prolonged when so much is waited.
fn steps(wire: Span, waited: Span) -> u8 {
    let longer = (wire.as_secs_lossy() + waited.as_secs_lossy()) / wire.as_secs_lossy();
    let (mut steps, mut factor) = (0, step().sqrt());
    while longer >= factor && steps < LOWEST {
        steps += 1;
        factor *= step();
    }
    steps
}

impl Whole<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_time_is_half_the_pace() {
        let us = Span::from_us;
        assert_eq!(steps(us(10), us(0)), 0);
        assert_eq!(steps(us(10), us(10)), 4);
        // Half a step is a factor of 2^(1/8) = 1.0905.
        assert_eq!(steps(us(1_000), us(90)), 0);
        assert_eq!(steps(us(1_000), us(91)), 1);
        assert_eq!(steps(us(1), us(1_000_000)), 24);
        let rate = Rate::from_bits_per_second(1_000_000_000);
        assert_eq!(paced(rate, 0), rate);
        assert!(paced(rate, 4).bits_per_second().abs_diff(500_000_000) <= 1);
    }
}
