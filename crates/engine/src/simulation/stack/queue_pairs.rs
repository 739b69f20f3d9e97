//! Queue pairs at their host: the NIC asks them for packets whenever its line is free.
//!
//! Source: see `network::queue_pairs`. Leaves out: who has its turn, in records.

use incastle_units::Time;

use super::{Fabric, HostStack};
use crate::core::{EndpointIndex, HostIndex};
use crate::layout::Slot;
use crate::network::{Network, Round};
use crate::probe::Probe;

impl<P: Probe> HostStack<P> {
    /// After an event at a queue pair: its control packets wait at its NIC, it joins the round robin if it has data,
    /// and the NIC sends what may leave.
    pub(super) fn pump_queue_pair(&mut self, index: EndpointIndex) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        let now = self.fabric.clock.now();
        let host = endpoint.host;
        if endpoint.packets_received == 0 && endpoint.transport.written() == 0 {
            // It was opened, and no event of its NIC.
            return;
        }
        let network = &mut self.fabric.network;
        let ns3 = network.is_ns3();
        let nic = network.hosts[host.index()]
            .queue_pairs
            .get_or_insert_default();
        let pool = &mut network.pool;
        let mut made = 0;
        loop {
            let slot = pool.reserve();
            if !endpoint.poll_control(&mut pool.at_mut(slot).packet) {
                pool.free(slot);
                break;
            }
            nic.control.push_back(slot);
            made += 1;
        }
        let recorded = endpoint.is_recorded();
        let pair = endpoint.queue_pair().expect("it is a queue pair");
        pair.forget_answered(&mut network.extras);
        if pair.joins(now) {
            nic.join(index);
        }
        if ns3 && pair.poll_moved() {
            // qbb-net-device.cc, UpdateNextAvail: an entered wake-up moves, but only to an earlier instant, also where the
            // queue pair has nothing left to send.
            let at = pair.paced_until().max(now);
            if nic.wakes_at.is_some_and(|wake| at < wake) {
                nic.wakes_at = Some(at);
                let events = &mut self.fabric.clock.events;
                network.enter_line_free(host, at, events);
            }
        }
        if recorded {
            self.trace_control(host, index, made);
        }
        self.serve(host);
        self.look_after(index);
    }

    /// The line of a NIC may be free, or the pacing of a queue pair over.
    pub(super) fn serve_if_due(&mut self, host: HostIndex) {
        let now = self.fabric.clock.now();
        self.fabric.network.turns.forget_before(now);
        let nic = self.fabric.network.nic(host);
        let woken = nic.wakes_at.take_if(|at| *at == now).is_some();
        let freed = nic.line_free_at.take_if(|at| *at == now).is_some();
        let resumed = nic.end_pauses(now);
        if resumed {
            let Fabric { network, clock, .. } = &mut self.fabric;
            network.follow_pauses(host, now, &mut clock.events);
        }
        if woken || freed || resumed {
            self.serve(host);
        }
    }

    /// The NIC of a host sends what may leave now.
    pub(super) fn serve(&mut self, host: HostIndex) {
        let now = self.fabric.clock.now();
        let mut sent = false;
        loop {
            let network = &mut self.fabric.network;
            let free_at = network.line_free_at(host);
            let ns3 = network.is_ns3();
            let nic = network.nic(host);
            // In ns-3 the line is busy until the event that ends a packet, even where sending takes no time.
            let busy = sent || nic.line_free_at.is_some_and(|at| at >= now);
            if free_at > now || (ns3 && busy) {
                if nic.is_busy() && nic.line_free_at != Some(free_at) {
                    nic.line_free_at = Some(free_at);
                    network.enter_line_free(host, free_at, &mut self.fabric.clock.events);
                }
                return;
            }
            let slot = match network.next_control(host) {
                Some(slot) => slot,
                None => match self.next_data(host, now) {
                    Round::Serve(index) => self.take_data(index, now),
                    Round::Idle(at) => return self.sleep(host, at),
                },
            };
            self.fabric.send(host, slot);
            sent = true;
        }
    }

    /// The queue pair whose turn it is.
    fn next_data(&mut self, host: HostIndex, now: Time) -> Round {
        let flows = &self.flows;
        let nic = self.fabric.network.nic(host);
        let paused = nic.paused();
        let round = nic.round(|index| flows.turn(index, now, paused));
        for index in nic.left.drain(..) {
            if let Some(pair) = self
                .flows
                .get(index)
                .and_then(|endpoint| endpoint.queue_pair())
            {
                pair.in_turn = false;
            }
        }
        round
    }

    /// The next packet of a queue pair that may send.
    fn take_data(&mut self, index: EndpointIndex, now: Time) -> Slot {
        let Network { pool, extras, .. } = &mut self.fabric.network;
        let slot = pool.reserve();
        let endpoint = self.flows.get(index).expect("a living endpoint sends");
        let made = if endpoint.is_recorded() {
            self.poll_recorded(index, slot)
        } else {
            endpoint.poll_transmit(now, extras, &mut pool.at_mut(slot).packet)
        };
        assert!(made, "a queue pair that may send has a packet");
        slot
    }

    /// No queue pair may send before `at`.
    fn sleep(&mut self, host: HostIndex, mut at: Time) {
        let now = self.fabric.clock.now();
        let ns3 = self.fabric.network.is_ns3();
        let nic = self.fabric.network.nic(host);
        if ns3 {
            // qbb-net-device.cc, DequeueAndTransmit: the earliest of all, those included that wait for their window or a
            // pause. If that is in the past there is no wake-up, and an entered one stays.
            let flows = &self.flows;
            at = nic.earliest(|index| flows.paced_until(index));
            if nic.wakes_at.is_some() || at <= now {
                return;
            }
        }
        if at == Time::NEVER {
            return;
        }
        if nic.wakes_at.is_none_or(|wake| at < wake) {
            nic.wakes_at = Some(at);
            self.fabric
                .network
                .enter_line_free(host, at, &mut self.fabric.clock.events);
        }
    }
}
