//! Links that fail and recover or lose packets at random, and the packets that they lose.

use incastle_queueing::{DropCause, Verdict};
use incastle_routing::Routes;

use super::Fabric;
use crate::core::{Event, Kind, Node, PortIndex};
use crate::network::{FAILURES, LinkChange, Network, Packet, PauseTimer, STORM, enter_failure};
use crate::probe::Probe;

/// The verdict on a packet that is lost with its link.
const LOST: Verdict = Verdict::Drop(DropCause::LinkDown);

impl<P: Probe> Fabric<P> {
    /// A link changes its rate, links fail or recover, or a timer of pauses has come.
    #[cold]
    #[inline(never)]
    pub(in crate::simulation) fn control(&mut self, source: u32) {
        if source == FAILURES {
            self.links_change();
        } else if let Some(timer) = PauseTimer::of(source) {
            let now = self.clock.now();
            let (events, probe) = (&mut self.clock.events, &mut self.probe);
            let stormed = self.network.pause_timer(timer, now, events, probe);
            for (at, packet) in stormed
                .iter()
                .flat_map(|(at, all)| all.iter().map(|one| (*at, one)))
            {
                self.lose_packet(at, STORM, packet);
            }
        } else {
            let at = PortIndex(source);
            self.network
                .change_rate(at, self.clock.now(), &mut self.clock.events);
        }
    }

    /// Links fail or recover at this instant, or routes converge.
    fn links_change(&mut self) {
        // Another packet is the first on a link once that has failed.
        self.network.clear_next_hops();
        let mut converged = false;
        while let Some(change) = self.network.failures.take(self.clock.now()) {
            match change {
                LinkChange::Down(port) => self.link_goes_down(port),
                LinkChange::Up(port) => self.link_comes_up(port),
                LinkChange::Withdraw(port) => self.network.failures.withdraw(port),
                LinkChange::Restore(port) => self.network.failures.restore(port),
            }
            converged |= matches!(change, LinkChange::Withdraw(_) | LinkChange::Restore(_));
        }
        if converged {
            self.network.reroute();
        }
        enter_failure(&self.network.failures, &mut self.clock.events);
    }

    fn link_comes_up(&mut self, at: PortIndex) {
        if !self.has(self.network.owner(at)) {
            return;
        }
        let buffer = self.network.failures.buffers.remove(&at);
        let buffer = buffer.expect("a link that recovers was down");
        self.network.ports[at.index()].gate.reopen(buffer);
        if let Node::Host(host) = self.network.owners[at.index()] {
            let now = self.clock.now();
            self.network.wake_nic(host, now, &mut self.clock.events);
        }
    }

    fn link_goes_down(&mut self, at: PortIndex) {
        if self.cut_off(at) {
            self.cut_port(at);
        }
        let now = self.clock.now();
        for end in [at, Network::reverse(at)] {
            if self.has(self.network.owner(end)) {
                let (events, probe) = (&mut self.clock.events, &mut self.probe);
                self.network.forget_pauses(end, now, events, probe);
            }
        }
        let (events, probe) = (&mut self.clock.events, &mut self.probe);
        self.network.send_pauses(at, now, events, probe);
    }

    /// The packets in a port and on its link are lost.
    fn cut_port(&mut self, at: PortIndex) {
        let now = self.clock.now();
        let begun = self.network.ports[at.index()].sends_by_priority();
        let (pool, probe) = (&mut self.network.pool, &mut self.probe);
        let cut = self.network.ports[at.index()].go_down(now, pool, probe);
        let is_cut = self.network.ports[at.index()].is_cut();
        if let Some(arrival) = cut.arrival.filter(|_| !is_cut) {
            self.clock
                .events
                .remove(Event::new(arrival, Kind::Arrival, at.0));
        }
        self.network.failures.buffers.insert(at, cut.buffer);
        let mut held = Vec::new();
        match self.network.owners[at.index()] {
            Node::Switch(switch) => {
                for packet in &cut.stored {
                    self.network.release(switch, packet.size());
                }
                let stored = &cut.stored;
                self.network.release_cut(switch, at, stored, begun, now);
            }
            Node::Host(host) => held = self.network.take_held(host, now),
        }
        for packet in cut.stored.iter().chain(&cut.on_the_wire).chain(&held) {
            self.lose_packet(at, LOST, packet);
        }
    }

    /// A packet is lost with its extras.
    fn lose_packet(&mut self, at: PortIndex, verdict: Verdict, packet: &Packet) {
        packet.forget_extra(&mut self.network.extras);
        self.lose(at, verdict, packet);
    }

    /// A packet is lost on the wire.
    #[cold]
    #[inline(never)]
    pub(super) fn lose_on_wire(&mut self, at: PortIndex, cause: DropCause, packet: &Packet) {
        self.lose_packet(at, Verdict::Drop(cause), packet);
    }

    /// A packet is lost at a port. Out of line: `judged` is expanded on every packet's path.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, at: PortIndex, verdict: Verdict, packet: &Packet) {
        self.trace_dropped(verdict, at, packet);
        self.judged(verdict, at, packet);
    }

    /// Drops a packet that has no path left, at the port of its former path.
    #[cold]
    #[inline(never)]
    pub(super) fn drop_unreachable(&mut self, route: PortIndex, packet: &Packet) {
        let before = Routes::before(route).expect("a route has a port, or had one");
        let gate = &mut self.network.ports[before.index()].gate;
        gate.refuse(self.clock.now(), packet);
        packet.forget_extra(&mut self.network.extras);
        self.lose(before, LOST, packet);
    }
}
