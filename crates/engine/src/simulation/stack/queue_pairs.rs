//! Queue pairs at their host: the NIC asks them for packets whenever its line is free.
//!
//! Source: see `network::queue_pairs`. Leaves out: who has its turn, in records.

use incastle_rdma::{Round, Turn};
use incastle_units::Time;

use super::handling::{EndpointHandling, Left};
use super::{Fabric, HostStack};
use crate::core::{EndpointIndex, Event, HostIndex, Kind};
use crate::flow::{Endpoint, RdmaEndpoint};
use crate::layout::Slot;
use crate::network::Network;
use crate::probe::Probe;

/// A queue pair's dealings with its NIC at an event.
struct Posted {
    host: HostIndex,
    /// Its control packets that wait there now.
    made: usize,
    /// It has joined the round robin, and gathers telemetry.
    gathers: bool,
    /// The NIC may send now.
    serves: bool,
    recorded: bool,
}

/// The rest of an event at a queue pair, left to the host stack.
enum Rest {
    /// Nothing leaves its NIC now.
    Left(Left),
    /// It is seen to after its NIC has sent.
    Posted(Posted),
}

impl<P: Probe> EndpointHandling<'_, P> {
    /// After an event at a queue pair.
    #[inline(never)]
    fn pump_pair(mut self) -> Rest {
        let posted = self.post();
        if posted.serves || posted.gathers || posted.recorded {
            return Rest::Posted(posted);
        }
        Rest::Left(self.look_after_pair())
    }

    /// After data of a message: all that may have changed is what the queue pair owes its peer. The first control packet
    /// leaves at once, where nothing is before it.
    #[inline(always)]
    fn answer(mut self) -> Rest {
        let owes = self.endpoint.owes_control();
        if self.endpoint.watched || (owes && !self.answers_at_once()) {
            return self.pump_pair();
        }
        if let Some(slot) = self.poll_control() {
            self.network
                .send_in_place(self.endpoint.host, self.now, slot, self.events);
        }
        if self.endpoint.owes_control() {
            return self.pump_pair();
        }
        self.forget_answered();
        Rest::Left(Left::finished(false))
    }

    /// Whether a control packet would leave the NIC now.
    fn answers_at_once(&self) -> bool {
        let host = self.endpoint.host;
        let nic = self.network.hosts[host.index()].queue_pairs.as_deref();
        nic.is_some_and(|nic| nic.control.is_empty() && nic.pauses.is_none())
            && self.network.sends_in_place(host)
            && self.network.line_free_at(host) <= self.now
            && !self.network.is_ns3()
    }

    /// As `look_after`, for a queue pair.
    #[inline(always)]
    fn look_after_pair(mut self) -> Left {
        self.report_control();
        self.enter_deadline(self.endpoint.pair_timeout());
        let pair = self.endpoint.queue_pair();
        Left::finished(pair.is_some_and(RdmaEndpoint::poll_finished))
    }

    /// The control packets of a queue pair wait at its NIC, and it joins the round robin if it has data.
    fn post(&mut self) -> Posted {
        let host = self.endpoint.host;
        let recorded = self.endpoint.is_recorded();
        let pair = self.endpoint.queue_pair().expect("it is a queue pair");
        let joins = pair.joins(self.now);
        let departs = pair.pair().departs_at();
        let mut posted = Posted {
            host,
            made: 0,
            gathers: joins && pair.gathers_telemetry(),
            serves: self.network.is_ns3(),
            recorded,
        };
        let owes = self.endpoint.owes_control();
        let host_state = &mut self.network.hosts[host.index()];
        let nic = host_state.queue_pairs.get_or_insert_default();
        if !(joins || owes || posted.serves) && nic.looks_by(departs) {
            self.forget_answered();
            return posted;
        }
        if joins {
            nic.pairs.join(self.index);
        }
        let wakes_at = nic.wakes_at;
        let free_at = self.network.line_free_at(host);
        // Otherwise the NIC has entered an instant for all others already.
        let looks = !posted.serves && wakes_at.is_none_or(|wake| wake > free_at);
        let at_once = looks && free_at <= self.now && !recorded && !posted.gathers;
        let left = owes && self.post_control(at_once, &mut posted);
        self.forget_answered();
        if left {
            return posted;
        }
        if posted.serves {
            self.move_wake_up();
        } else if looks {
            posted.serves = self.look(free_at);
        }
        posted
    }

    /// Telemetry that no control packet has taken is forgotten.
    fn forget_answered(&mut self) {
        if let Some(pair) = self.endpoint.queue_pair() {
            pair.forget_answered(&mut self.network.extras);
        }
    }

    /// The next control packet of the queue pair.
    #[inline(never)]
    fn poll_control(&mut self) -> Option<Slot> {
        if !self.endpoint.owes_control() {
            return None;
        }
        let pool = &mut self.network.pool;
        let slot = pool.reserve();
        if self.endpoint.poll_control(&mut pool.at_mut(slot).packet) {
            return Some(slot);
        }
        pool.free(slot);
        None
    }

    /// The control packets wait at the NIC. Returns whether the first has left `at_once`, as the next packet of the NIC.
    fn post_control(&mut self, at_once: bool, posted: &mut Posted) -> bool {
        let at_once = at_once && self.network.sends_in_place(posted.host);
        let mut leaves = None;
        while let Some(slot) = self.poll_control() {
            let nic = self.network.nic(posted.host);
            if at_once && posted.made == 0 && nic.control.is_empty() && nic.pauses.is_none() {
                leaves = Some(slot);
            } else {
                nic.control.push_back(slot);
            }
            posted.made += 1;
        }
        let Some(slot) = leaves else {
            return false;
        };
        posted.serves = self.network.nic(posted.host).is_busy();
        self.network
            .send_in_place(posted.host, self.now, slot, self.events);
        true
    }

    /// Returns whether the NIC, whose line is free at an instant, may send now. Else it enters the instant at which it may.
    fn look(&mut self, free_at: Time) -> bool {
        let nic = self.network.nic(self.endpoint.host);
        let turn = if nic.control.is_empty() {
            self.endpoint.turn(self.now, nic.paused())
        } else {
            Turn::Ready
        };
        let at = match turn {
            Turn::Later(at) => at,
            Turn::Blocked => Time::NEVER,
            // One that has finished leaves the round robin.
            Turn::Ready | Turn::Finished => self.now,
        };
        let at = at.max(free_at);
        if at > self.now {
            self.network
                .wake_nic_at(self.endpoint.host, at, self.events);
        }
        at <= self.now
    }

    /// qbb-net-device.cc, UpdateNextAvail: an entered wake-up moves, but only to an earlier instant, also where the queue
    /// pair has nothing left to send.
    fn move_wake_up(&mut self) {
        let pair = self.endpoint.queue_pair().expect("it is a queue pair");
        let (moved, at) = (pair.poll_moved(), pair.paced_until().max(self.now));
        let host = self.endpoint.host;
        if moved && self.network.nic(host).wakes_at.is_some() {
            self.network.wake_nic_at(host, at, self.events);
        }
    }
}

impl<P: Probe> HostStack<P> {
    /// A packet arrives for a queue pair that is not recorded.
    #[inline(never)]
    pub(super) fn deliver_to_pair(&mut self, index: EndpointIndex, slot: Slot) {
        let handling = self.handling(index);
        let mut handling = handling.expect("a living endpoint receives");
        let Network { pool, extras, .. } = &mut *handling.network;
        let packet = &pool.at(slot).packet;
        let is_message = packet.is_message();
        let [before, delivered] = (handling.endpoint).receive_as_pair(handling.now, packet, extras);
        pool.free(slot);
        if handling.note_progress(before, delivered) {
            self.notify(self.flows.arrival(index));
            self.pump_queue_pair(index);
        } else {
            let rest = if is_message {
                handling.answer()
            } else {
                handling.pump_pair()
            };
            self.see_to_pair(index, rest);
        }
        self.settle_lost();
    }

    /// After an event at a queue pair: its NIC sends what may leave.
    pub(super) fn pump_queue_pair(&mut self, index: EndpointIndex) {
        let Some(handling) = self.handling(index) else {
            return;
        };
        let endpoint = &handling.endpoint;
        if endpoint.packets_received == 0 && endpoint.transport.written() == 0 {
            // It was opened, and no event of its NIC.
            return;
        }
        let rest = handling.pump_pair();
        self.see_to_pair(index, rest);
    }

    fn see_to_pair(&mut self, index: EndpointIndex, rest: Rest) {
        let posted = match rest {
            Rest::Left(left) => return self.see_to(index, left),
            Rest::Posted(posted) => posted,
        };
        if posted.gathers {
            self.fabric.gather_telemetry();
        }
        if posted.recorded {
            self.trace_control(posted.host, index, posted.made);
        }
        if posted.serves {
            self.serve(posted.host);
        }
        if let Some(handling) = self.handling(index) {
            let left = handling.look_after_pair();
            self.see_to(index, left);
        }
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
        let in_place = self.fabric.network.sends_in_place(host);
        loop {
            let free_at = self.fabric.network.line_free_at(host);
            if free_at > now {
                return self.wake_after(host, free_at);
            }
            let Some(slot) = self.next_packet(host, now) else {
                return;
            };
            if in_place {
                let Fabric { network, clock, .. } = &mut self.fabric;
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
    #[inline(never)]
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
    #[inline(always)]
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
    #[inline(always)]
    fn next_data(&mut self, host: HostIndex, now: Time) -> Round<EndpointIndex> {
        let flows = &self.flows;
        let nic = self.fabric.network.nic(host);
        let paused = nic.paused();
        let round = nic.pairs.round(|index| flows.turn(index, now, paused));
        if nic.pairs.has_left() {
            for index in nic.pairs.take_left() {
                let endpoint = self.flows.get(index);
                if let Some(pair) = endpoint.and_then(Endpoint::queue_pair) {
                    pair.in_turn = false;
                }
            }
        }
        round
    }

    /// The next packet of a queue pair that may send.
    #[inline(always)]
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

    fn wake(&mut self, host: HostIndex, at: Time) {
        let Fabric { network, clock, .. } = &mut self.fabric;
        network.wake_nic_at(host, at, &mut clock.events);
    }
}
