//! Changes of links during a run: rates by schedule, routes after failures.

use incastle_links::area;
use incastle_units::Time;

use crate::core::{Event, EventQueue, Kind, Node, PortIndex};
use crate::network::{Network, edges, enter, enter_failure};

impl Network {
    /// Bytes that a link can carry between two instants, changes of its rate included: the base of its utilisation.
    pub fn capacity_lossy(&self, port: PortIndex, from: Time, to: Time) -> f64 {
        let area = match self.schedules.get(&port) {
            Some(schedule) => schedule.area(from, to),
            None => area(self.rate(port), to.saturating_since(from)),
        };
        area as f64 / 8e12
    }

    /// Enters the first change of each link's rate, the first failure, and the first frame of each storm of pauses.
    pub(crate) fn enter_changes(&self, events: &mut EventQueue) {
        for (port, schedule) in &self.schedules {
            if let Some(at) = schedule.next() {
                events.push(Event::new(at, Kind::Control, port.0));
            }
        }
        enter_failure(&self.failures, events);
        self.enter_storms(events);
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
        if let Node::Switch(switch) = self.owners[at.index()]
            && let Some(pausing) = &mut self.switches[switch.index()].lossless
        {
            let number = self.numbers[at.index()] as usize;
            pausing.lossless.change_rate(number, rate);
        }
        if let Node::Host(host) = self.owners[at.index()] {
            self.change_rate_of_pauses(host, rate);
            self.hosts[host.index()].set_rate(rate);
            self.move_dequeue(host, now, events);
        }
    }

    /// Computes the routes without the withdrawn ports.
    pub(crate) fn reroute(&mut self) {
        let failures = &self.failures;
        let edges = edges(&self.ports, &self.owners, |port| {
            !failures.has_withdrawn(port)
        });
        self.routes.reroute(&edges);
    }
}
