//! A link goes down or comes up, and what that does to packets.

use incastle_queueing::{DropCause, Verdict};

use super::Simulation;
use crate::core::{Event, Kind, Node, PortIndex};
use crate::network::{Change, FAILURES, Packet, Routes};
use crate::probe::Probe;

/// What becomes of a packet that a failed link takes with it.
const LOST: Verdict = Verdict::Drop(DropCause::LinkDown);

impl<P: Probe> Simulation<P> {
    /// A link changes its rate, or links fail or come up.
    #[cold]
    #[inline(never)]
    pub(super) fn control(&mut self, source: u32) {
        if source == FAILURES {
            self.links_change();
        } else {
            let at = PortIndex(source);
            self.network
                .change_rate(at, self.clock.now(), &mut self.clock.events);
        }
    }

    /// Links fail or come up at this instant, or routes learn of it.
    fn links_change(&mut self) {
        // A packet that comes first on a link is another one when the link is cut.
        self.look_again();
        let mut converged = false;
        while let Some(change) = self.network.failures.take(self.clock.now()) {
            match change {
                Change::Down(port) => self.link_goes_down(port),
                Change::Up(port) => self.link_comes_up(port),
                Change::Avoid(port) => self.network.avoid(port, true),
                Change::Use(port) => self.network.avoid(port, false),
            }
            converged |= matches!(change, Change::Avoid(_) | Change::Use(_));
        }
        if converged {
            self.network.reroute();
        }
        self.network.failures.enter_next(&mut self.clock.events);
    }

    fn link_comes_up(&mut self, at: PortIndex) {
        if !self.has(self.network.ends(at).0) {
            return;
        }
        let buffer = self.network.failures.buffers.remove(&at);
        let buffer = buffer.expect("a link that comes up was down");
        self.network.ports[at.index()].gate.reopen(buffer);
    }

    fn link_goes_down(&mut self, at: PortIndex) {
        if !self.cut_off(at) {
            return;
        }
        let (pool, probe) = (&mut self.network.pool, &mut self.observer.probe);
        let cut = self.network.ports[at.index()].go_down(self.clock.now(), pool, probe);
        let is_cut = self.network.ports[at.index()].is_cut();
        if let Some(arrival) = cut.arrival.filter(|_| !is_cut) {
            self.clock
                .events
                .remove(Event::new(arrival, Kind::Arrival, at.0));
        }
        self.network.failures.buffers.insert(at, cut.buffer);
        if let Node::Switch(switch) = self.network.owners[at.index()] {
            for packet in &cut.stored {
                self.network.release(switch, packet.size());
            }
        }
        for packet in cut.stored.iter().chain(&cut.on_the_wire) {
            packet.forget_extra(&mut self.network.extras);
            self.lost(at, packet);
        }
    }

    /// A packet is lost at a port. Beside the calls of `judged` on every packet's path, not to grow them.
    #[cold]
    #[inline(never)]
    fn lost(&mut self, at: PortIndex, packet: &Packet) {
        self.note_dropped(LOST, at, packet);
        self.judged(LOST, at, packet);
    }

    /// A packet that no path is left for, at the port that it took before.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_unreachable(&mut self, route: PortIndex, packet: &Packet) {
        let before = Routes::before(route).expect("a route leads to a port, or did so before");
        let gate = &mut self.network.ports[before.index()].gate;
        gate.refuse(self.clock.now(), packet);
        packet.forget_extra(&mut self.network.extras);
        self.lost(before, packet);
    }
}
