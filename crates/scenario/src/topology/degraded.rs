//! Degraded links: from `[network.degraded]` to the layout.

use incastle_units::Span;

use crate::language::degraded::{Degraded, Direction};
use crate::language::network::Network;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::between::{Chosen, Wanted};
use crate::topology::layout::DegradedBy;
use crate::topology::plan::Plan;

impl Plan {
    /// Enters an entry at its links; errors in it are reported.
    pub(super) fn degrade(&mut self, network: &Network, entry: usize, cx: &mut Context<'_>) {
        let (label, degraded) = &network.degraded[entry];
        let path = format!("network.degraded.{label}");
        let from = degraded.from;
        if let Some(until) = degraded.until.filter(|until| *until <= from) {
            let message = format!("until {until} is not after from {from}");
            cx.error_at(&format!("{path}.until"), message);
            return;
        }
        let wanted = Wanted {
            sets: &degraded.between,
            number: degraded.number,
            what: "a degraded link",
        };
        let chosen = self.between(&wanted, &path, cx);
        let Some(chosen) = chosen.filter(|chosen| self.is_worse(degraded, &path, chosen, cx))
        else {
            return;
        };
        for Chosen { link, forward } in chosen {
            let directions = match degraded.direction {
                Direction::Both => [true; 2],
                Direction::Forward => forward,
            };
            let by = DegradedBy { entry, directions };
            let others = self.links[link].degraded.iter();
            let overlapping = others.map(|other| (other, &network.degraded[other.entry]));
            let mut overlapping = overlapping.filter(|(other, (_, table))| {
                other.entry != entry && shares_direction(other, &by) && overlap(table, degraded)
            });
            if let Some((_, (other, _))) = overlapping.next() {
                let link = self.link_words(link);
                let message = format!("{link} is degraded by {} at the same time", quoted(other));
                cx.error_at(&path, message)
                    .help("one entry with the keys of both, or periods one after the other");
                return;
            }
            let entries = &mut self.links[link].degraded;
            entries.push(by);
            entries.sort_by_key(|by| network.degraded[by.entry].1.from);
        }
    }

    /// Whether every link is worse by its new rate and delay; reports the first that is not.
    fn is_worse(
        &self,
        degraded: &Degraded,
        path: &str,
        chosen: &[Chosen],
        cx: &mut Context<'_>,
    ) -> bool {
        for one in chosen {
            let link = &self.links[one.link];
            if let Some(rate) = degraded.rate.filter(|rate| *rate >= link.rate) {
                let words = self.link_words(one.link);
                let message = format!("{rate} is not below the rate of {words}, {}", link.rate);
                cx.error_at(&format!("{path}.rate"), message)
                    .help("a degraded link is slower than it is otherwise");
                return false;
            }
            if let Some(delay) = degraded.delay.filter(|delay| *delay <= link.delay) {
                let words = self.link_words(one.link);
                let message = format!("{delay} is not above the delay of {words}, {}", link.delay);
                cx.error_at(&format!("{path}.delay"), message)
                    .help("a degraded link is longer than it is otherwise");
                return false;
            }
        }
        true
    }
}

fn shares_direction(one: &DegradedBy, other: &DegradedBy) -> bool {
    let pairs = one.directions.iter().zip(other.directions);
    pairs.into_iter().any(|(one, other)| *one && other)
}

fn overlap(one: &Degraded, other: &Degraded) -> bool {
    let ends_after = |one: &Degraded, start: Span| one.until.is_none_or(|until| start < until);
    ends_after(one, other.from) && ends_after(other, one.from)
}
