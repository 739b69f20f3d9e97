//! A port whose link changes: its rate, or a failure. It has departure events.
//!
//! Leaves out: degraded links, which are in `degraded`.

use incastle_units::{Rate, Time};

use super::exchange::{Cut, Wakes};
use super::{Port, pace};
use crate::network::Pool;
use crate::probe::Probe;

impl Port {
    /// Changes the rate; the packet being sent ends at the old one. The carried fraction of a picosecond restarts at
    /// zero.
    pub(crate) fn change_rate(&mut self, now: Time, rate: Rate) -> Wakes {
        if rate == self.line.rate() {
            return Wakes::default();
        }
        *self.line = self.line.at_rate(rate);
        self.pace = pace(&self.line);
        let Some(queue) = &mut self.scheduled else {
            unreachable!("a port with a schedule has departure events")
        };
        let departure = queue.change_rate(now, &mut self.line);
        Wakes {
            arrival: None,
            departure,
        }
    }

    /// The link fails: all packets inside are lost, and none passes until it recovers.
    pub(crate) fn go_down<P: Probe>(&mut self, now: Time, pool: &mut Pool, probe: &mut P) -> Cut {
        let Some(queue) = &mut self.scheduled else {
            unreachable!("a port whose link fails has departure events")
        };
        if self.observed && queue.backlog().waiting_packets > 0 {
            probe.queue_changed(self.index, now, 0);
        }
        let stored = queue.cut(now, pool);
        let arrival = self.row.first_arrival();
        let mut on_the_wire = Vec::new();
        while let Some(first) = self.row.pop(pool) {
            on_the_wire.push(pool.take(first.slot));
        }
        for packet in &stored {
            self.gate.lose_stored(now, packet);
        }
        for packet in &on_the_wire {
            self.gate.lose(now, packet);
        }
        Cut {
            stored,
            on_the_wire,
            arrival,
            buffer: self.gate.shut(),
        }
    }
}
