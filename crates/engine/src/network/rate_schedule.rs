//! Links whose rate changes at given instants.
//!
//! A change takes effect between packets: the one being sent endpoints at the old rate. Leaves out: rates
//! of zero (links fail in `failure`), and what a real link does to change its rate (training, loss).

use incastle_units::{Rate, Span, Time};

use crate::core::{Event, EventQueue, Kind, Node, PortIndex};
use crate::network::{Network, enter};

/// The rates of one link over time.
#[derive(Debug)]
pub(crate) struct RateSchedule {
    initial: Rate,
    changes: Vec<(Time, Rate)>,
    /// How many changes have happened.
    happened: usize,
}

impl RateSchedule {
    /// Each change must be later than the one before it.
    pub(crate) fn new(initial: Rate, changes: Vec<(Time, Rate)>) -> Self {
        let ordered = changes.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(ordered, "the changes of a rate are in order of time");
        let sends = changes.iter().all(|(_, rate)| rate.bits_per_second() > 0);
        assert!(sends, "a port sends at a rate above zero");
        Self {
            initial,
            changes,
            happened: 0,
        }
    }

    /// The instant of the next change.
    fn next(&self) -> Option<Time> {
        self.changes.get(self.happened).map(|(at, _)| *at)
    }

    /// The change that happens now.
    fn take(&mut self, now: Time) -> Rate {
        let (at, rate) = self.changes[self.happened];
        assert!(at == now, "a change of rate happens when its event says");
        self.happened += 1;
        rate
    }

    /// Bits times picoseconds per second between two instants.
    fn area(&self, from: Time, to: Time) -> u128 {
        let begins = self.changes.iter().map(|(at, _)| *at);
        let begins = std::iter::once(Time::ZERO).chain(begins);
        let ends = self.changes.iter().map(|(at, _)| *at);
        let ends = ends.chain(std::iter::once(Time::NEVER));
        let rates = self.changes.iter().map(|(_, rate)| *rate);
        let rates = std::iter::once(self.initial).chain(rates);
        let pieces = begins.zip(ends).zip(rates);
        pieces
            .map(|((begin, end), rate)| {
                let span = end.min(to).saturating_since(begin.max(from));
                area(rate, span)
            })
            .sum()
    }
}

fn area(rate: Rate, span: Span) -> u128 {
    u128::from(rate.bits_per_second()) * u128::from(span.as_ps())
}

impl Network {
    /// Bytes that a link can carry between two instants, changes of its rate included: what its
    /// utilisation is a share of.
    pub fn capacity_lossy(&self, port: PortIndex, from: Time, to: Time) -> f64 {
        let area = match self.schedules.get(&port) {
            Some(schedule) => schedule.area(from, to),
            None => area(self.rate(port), to.saturating_since(from)),
        };
        area as f64 / 8e12
    }

    /// Enters the first change of each link's rate, and of the links that are up.
    pub(crate) fn enter_changes(&self, events: &mut EventQueue) {
        for (port, schedule) in &self.schedules {
            if let Some(at) = schedule.next() {
                events.push(Event::new(at, Kind::Control, port.0));
            }
        }
        self.failures.enter_next(events);
    }

    /// A link changes its rate.
    #[cold]
    pub(crate) fn change_rate(&mut self, at: PortIndex, now: Time, events: &mut EventQueue) {
        let schedule = self.schedules.get_mut(&at);
        let schedule = schedule.expect("only links with a schedule change their rate");
        let rate = schedule.take(now);
        if let Some(next) = schedule.next() {
            events.push(Event::new(next, Kind::Control, at.0));
        }
        let wakes = self.ports[at.index()].change_rate(now, rate);
        enter(events, at, wakes);
        if let Node::Host(host) = self.owners[at.index()] {
            self.hosts[host.index()].set_rate(rate);
            self.move_dequeue(host, now, events);
        }
    }
}
