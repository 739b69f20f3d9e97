//! Queue pairs at their host: the NIC asks them for packets whenever its line is free.
//!
//! Source: see `network::queue_pairs`. Leaves out: who has its turn, in records.

use incastle_rdma::{Round, Turn};
use incastle_units::Time;

use super::handling::EndpointHandling;
use super::{Fabric, HostStack};
use crate::core::{EndpointIndex, Event, HostIndex, Kind};
use crate::layout::Slot;
use crate::network::Network;
use crate::probe::Probe;

/// A queue pair's dealings with its NIC at an event.
struct Posted {
    /// Its control packets that wait there now.
    made: usize,
    /// It has joined the round robin, and gathers telemetry.
    gathers: bool,
    /// The NIC may send now.
    serves: bool,
}

impl<P: Probe> EndpointHandling<'_, P> {
    /// A packet arrives at a queue pair that is not recorded, and leaves its slot.
    fn receive_as_pair(&mut self, slot: Slot) -> bool {
        let before = self.endpoint.transport.delivered();
        let Network { pool, extras, .. } = &mut *self.network;
        let packet = &pool.at(slot).packet;
        self.endpoint.receive_as_pair(self.now, packet, extras);
        pool.free(slot);
        self.note_delivered(before)
    }

    /// The control packets of a queue pair wait at its NIC, and it joins the round robin if it has data.
    fn post(&mut self) -> Posted {
        let (now, host) = (self.now, self.endpoint.host);
        let ns3 = self.network.is_ns3();
        let free_at = self.network.line_free_at(host);
        let Network {
            pool,
            extras,
            hosts,
            ..
        } = &mut *self.network;
        let nic = hosts[host.index()].queue_pairs.get_or_insert_default();
        let mut made = 0;
        while self.endpoint.owes_control() {
            let slot = pool.reserve();
            if !self.endpoint.poll_control(&mut pool.at_mut(slot).packet) {
                pool.free(slot);
                break;
            }
            nic.control.push_back(slot);
            made += 1;
        }
        let pair = self.endpoint.queue_pair().expect("it is a queue pair");
        pair.forget_answered(extras);
        let joins = pair.joins(now);
        let gathers = joins && pair.gathers_telemetry();
        if joins {
            nic.pairs.join(self.index);
        }
        let mut posted = Posted {
            made,
            gathers,
            serves: ns3,
        };
        let mut wake = None;
        if ns3 {
            // qbb-net-device.cc, UpdateNextAvail: an entered wake-up moves, but only to an earlier instant, also where the
            // queue pair has nothing left to send.
            let at = pair.paced_until().max(now);
            wake = Some(at)
                .filter(|at| pair.poll_moved() && nic.wakes_at.is_some_and(|wake| *at < wake));
        } else if nic.wakes_at.is_none_or(|wake| wake > free_at) {
            // Otherwise the NIC has entered an instant for all others already.
            let turn = if nic.control.is_empty() {
                self.endpoint.turn(now, nic.paused())
            } else {
                Turn::Ready
            };
            let at = match turn {
                Turn::Later(at) => at,
                Turn::Blocked => Time::NEVER,
                // One that has finished leaves the round robin.
                Turn::Ready | Turn::Finished => now,
            };
            posted.serves = at.max(free_at) <= now;
            let at = at.max(free_at);
            wake = Some(at).filter(|at| *at > now && *at < nic.wakes_at.unwrap_or(Time::NEVER));
        }
        if let Some(at) = wake {
            nic.wakes_at = Some(at);
            self.network.enter_line_free(host, at, self.events);
        }
        posted
    }
}

impl<P: Probe> HostStack<P> {
    /// A packet arrives at a queue pair that is not recorded.
    #[inline(never)]
    pub(super) fn deliver_to_pair(&mut self, index: EndpointIndex, slot: Slot) {
        let Some(mut handling) = self.handling(index) else {
            return;
        };
        if handling.receive_as_pair(slot) {
            self.notify(self.flows.arrival(index));
        }
        self.pump_queue_pair(index);
        self.settle_lost();
    }

    /// After an event at a queue pair: its NIC sends what may leave.
    pub(super) fn pump_queue_pair(&mut self, index: EndpointIndex) {
        let Some(mut handling) = self.handling(index) else {
            return;
        };
        let endpoint = &handling.endpoint;
        if endpoint.packets_received == 0 && endpoint.transport.written() == 0 {
            // It was opened, and no event of its NIC.
            return;
        }
        let (host, recorded) = (endpoint.host, endpoint.is_recorded());
        let posted = handling.post();
        if !posted.serves && !posted.gathers && !recorded {
            let left = handling.look_after();
            return self.see_to(index, left);
        }
        if posted.gathers {
            self.fabric.gather_telemetry();
        }
        if recorded {
            self.trace_control(host, index, posted.made);
        }
        if posted.serves {
            self.serve(host);
        }
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

    /// The NIC of a host sends what may leave now, and enters the instant at which it looks for the next packet.
    pub(super) fn serve(&mut self, host: HostIndex) {
        let now = self.fabric.clock.now();
        if self.fabric.network.is_ns3() {
            return self.serve_as_in_ns3(host, now);
        }
        loop {
            let free_at = self.fabric.network.line_free_at(host);
            if free_at > now {
                return self.wake_after(host, free_at);
            }
            let Some(slot) = self.next_packet(host, now) else {
                return;
            };
            let Fabric { network, clock, .. } = &mut self.fabric;
            if network.sends_in_place(host) {
                network.send_in_place(host, now, slot, &mut clock.events);
            } else {
                self.fabric.send(host, slot);
            }
        }
    }

    /// The line is busy until an instant, at which a packet may be there, or later.
    fn wake_after(&mut self, host: HostIndex, free_at: Time) {
        let flows = &self.flows;
        let nic = self.fabric.network.nic(host);
        if nic.wakes_at.is_some_and(|wake| wake <= free_at) {
            return;
        }
        let paused = nic.paused();
        let at = if nic.control.is_empty() {
            nic.pairs
                .first_turn(|index| flows.turn(index, free_at, paused))
        } else {
            Time::ZERO
        };
        self.wake(host, at.max(free_at));
    }

    /// In ns-3 the line is busy until the event that ends a packet, even where sending takes no time.
    fn serve_as_in_ns3(&mut self, host: HostIndex, now: Time) {
        let mut sent = false;
        loop {
            let network = &mut self.fabric.network;
            let free_at = network.line_free_at(host);
            let nic = network.nic(host);
            let busy = sent || nic.line_free_at.is_some_and(|at| at >= now);
            if free_at > now || busy {
                if nic.is_busy() && nic.line_free_at != Some(free_at) {
                    nic.line_free_at = Some(free_at);
                    network.enter_line_free(host, free_at, &mut self.fabric.clock.events);
                }
                return;
            }
            let Some(slot) = self.next_packet(host, now) else {
                return;
            };
            self.fabric.send(host, slot);
            sent = true;
        }
    }

    /// The next packet of a NIC whose line is free; without one, the NIC sleeps.
    fn next_packet(&mut self, host: HostIndex, now: Time) -> Option<Slot> {
        if let Some(slot) = self.fabric.network.next_control(host) {
            return Some(slot);
        }
        match self.next_data(host, now) {
            Round::Serve(index) => Some(self.take_data(index, now)),
            Round::Idle(at) => {
                self.sleep(host, at);
                None
            }
        }
    }

    /// The queue pair whose turn it is.
    fn next_data(&mut self, host: HostIndex, now: Time) -> Round<EndpointIndex> {
        let flows = &self.flows;
        let nic = self.fabric.network.nic(host);
        let paused = nic.paused();
        let round = nic.pairs.round(|index| flows.turn(index, now, paused));
        for index in nic.pairs.take_left() {
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
        let mut endpoint = self.flows.get(index).expect("a living endpoint sends");
        let made = if endpoint.is_recorded() {
            let made = self.poll_recorded(index, slot);
            endpoint = self.flows.get(index).expect("it has just sent");
            made
        } else {
            endpoint.poll_data(now, extras, &mut pool.at_mut(slot).packet)
        };
        assert!(made, "a queue pair that may send has a packet");
        // The retransmission timer may have started, and no event of the queue pair follows if all packets are lost.
        let pair = endpoint.queue_pair().expect("it is a queue pair").pair();
        let deadline = pair.retry_at();
        if deadline < endpoint.wake {
            endpoint.wake = deadline;
            let Fabric { network, clock, .. } = &mut self.fabric;
            let at = network.turns.next(deadline);
            clock.events.push(Event::new(at, Kind::Timer, index.0));
        }
        slot
    }

    /// No queue pair may send before `at`.
    fn sleep(&mut self, host: HostIndex, at: Time) {
        let network = &mut self.fabric.network;
        if !network.is_ns3() {
            return self.wake(host, at);
        }
        // qbb-net-device.cc, DequeueAndTransmit: the earliest of all, those included that wait for their window or a
        // pause. If that is in the past there is no wake-up, and an entered one stays.
        let flows = &self.flows;
        let nic = network.nic(host);
        let at = nic.pairs.earliest(|index| flows.paced_until(index));
        if nic.wakes_at.is_none() && at > self.fabric.clock.now() {
            self.wake(host, at);
        }
    }

    /// Enters an instant at which the NIC looks for packets, unless an earlier one is entered, or it is never.
    fn wake(&mut self, host: HostIndex, at: Time) {
        let network = &mut self.fabric.network;
        let nic = network.nic(host);
        if at < nic.wakes_at.unwrap_or(Time::NEVER) {
            nic.wakes_at = Some(at);
            network.enter_line_free(host, at, &mut self.fabric.clock.events);
        }
    }
}
