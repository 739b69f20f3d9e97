//! Pauses at hosts: a closed NIC takes one packet at a time. See `network::nic_pauses`.

use incastle_queueing::{PauseFrame, PauseMode, PrioritySet};
use incastle_units::Time;

use super::{Fabric, HostStack};
use crate::core::{EndpointIndex, HostIndex};
use crate::network::PauseEvent;
use crate::probe::Probe;

impl<P: Probe> HostStack<P> {
    /// A pause frame has reached a host.
    #[cold]
    pub(super) fn paused(&mut self, host: HostIndex, frame: PauseFrame) {
        let Fabric {
            network,
            clock,
            probe,
            ..
        } = &mut self.fabric;
        let now = clock.now();
        let at = network.hosts[host.index()].port;
        if network.pause_mode == PauseMode::Ignored {
            return;
        }
        if network.ports[at.index()].has_priorities() {
            let events = &mut clock.events;
            let frame = PauseEvent::Frame(frame);
            let stormed = network.change_pauses(at, frame, now, events, probe);
            assert!(stormed.is_empty(), "hosts have no watchdog");
            return;
        }
        network.pause_nic(host, frame, now, &mut clock.events);
        // qbb-net-device.cc, Receive: only a frame that resumes makes the NIC look for a packet.
        if frame.quanta == 0 || !network.is_ns3() {
            self.serve(host);
        }
    }

    /// The line of a closed NIC may be free, or a packet may wait for it.
    #[cold]
    pub(super) fn dequeue_closed(&mut self, host: HostIndex) {
        let now = self.fabric.clock.now();
        let network = &mut self.fabric.network;
        let nic = &mut network.hosts[host.index()];
        if nic.dequeues_at == now {
            nic.dequeues_at = Time::NEVER;
        }
        let pair_was_last = network.nic_pauses(host).pair_was_last;
        let sent = pair_was_last && self.send_waiting(host);
        let free_at = self.fabric.network.line_free_at(host);
        self.serve_if_due(host);
        let served = self.fabric.network.line_free_at(host) > free_at;
        let sent = sent || self.send_waiting(host);
        let network = &mut self.fabric.network;
        if sent || served {
            network.nic_pauses(host).pair_was_last = served;
        }
        if network.hosts[host.index()].is_closed() && network.line_free_at(host) > now {
            network.enter_next_packet(host, now, &mut self.fabric.clock.events);
        }
    }

    /// Sends the next packet of a closed NIC that is not of a queue pair, if the line is free; returns whether there was
    /// one.
    fn send_waiting(&mut self, host: HostIndex) -> bool {
        let Fabric { network, clock, .. } = &mut self.fabric;
        let now = clock.now();
        if !network.hosts[host.index()].is_closed() || network.line_free_at(host) > now {
            return false;
        }
        if network.send_held(host, now, &mut clock.events) {
            return true;
        }
        let paused = network.nic(host).paused();
        while let Some(index) = self.pop_waiting(host, paused) {
            if let Some(endpoint) = self.flows.get(index)
                && let Some(slot) = endpoint.staged.take()
            {
                self.fabric.send(host, slot);
                self.pump(index);
                return true;
            }
        }
        false
    }

    /// The next endpoint whose packet may leave, or that has none any more.
    fn pop_waiting(&mut self, host: HostIndex, paused: PrioritySet) -> Option<EndpointIndex> {
        let (flows, network) = (&self.flows, &mut self.fabric.network);
        let pool = &network.pool;
        network.hosts[host.index()].pop_waiting_if(|index| {
            let staged = flows.peek(index).and_then(|endpoint| endpoint.staged);
            staged.is_none_or(|slot| !paused.contains(pool.at(slot).packet.priority()))
        })
    }
}
