//! Links whose rate changes at given instants.
//!
//! A change takes effect between packets: the one being sent ends at the old rate. Leaves out: rates of zero (links
//! that fail), and the effects of a change on a real link (training, loss).

use incastle_units::{Rate, Span, Time};

/// The rates of one link over time.
#[derive(Debug)]
pub struct RateSchedule {
    initial: Rate,
    changes: Vec<RateChange>,
    /// The number of past changes.
    past: usize,
}

/// A change of a link's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateChange {
    /// The instant.
    pub at: Time,
    /// The rate from then on.
    pub rate: Rate,
}

impl RateSchedule {
    /// Each change must be later than the one before it.
    pub fn new(initial: Rate, changes: Vec<RateChange>) -> Self {
        let ordered = changes.is_sorted_by(|first, second| first.at < second.at);
        assert!(ordered, "the changes of a rate are in order of time");
        let positive = changes
            .iter()
            .all(|change| change.rate.bits_per_second() > 0);
        assert!(positive, "a port sends at a rate above zero");
        Self {
            initial,
            changes,
            past: 0,
        }
    }

    /// The instant of the next change.
    pub fn next(&self) -> Option<Time> {
        self.changes.get(self.past).map(|change| change.at)
    }

    /// Takes the change that is due now.
    pub fn take(&mut self, now: Time) -> Rate {
        let RateChange { at, rate } = self.changes[self.past];
        assert!(at == now, "a rate changes at its event");
        self.past += 1;
        rate
    }

    /// Bits times picoseconds per second between two instants.
    pub fn area(&self, from: Time, to: Time) -> u128 {
        let initial = RateChange {
            at: Time::ZERO,
            rate: self.initial,
        };
        let pieces = std::iter::once(&initial).chain(&self.changes);
        let ends = self.changes.iter().map(|change| change.at);
        let ends = ends.chain(std::iter::once(Time::NEVER));
        pieces
            .zip(ends)
            .map(|(begin, end)| {
                let span = end.min(to).saturating_since(begin.at.max(from));
                area(begin.rate, span)
            })
            .sum()
    }
}

/// Bits times picoseconds per second.
pub fn area(rate: Rate, span: Span) -> u128 {
    u128::from(rate.bits_per_second()) * u128::from(span.as_ps())
}
