//! An event at an endpoint: the endpoint handles it, sends permitted packets, and enters its next
//! deadline.
//!
//! This concerns the endpoint, its host's NIC, the event queue and the probe: the endpoint is looked up once. The
//! rest, above all notices to applications, is left to the host stack.

use incastle_units::{Bytes, Time};

use super::HostStack;
use crate::core::{EndpointIndex, Event, EventQueue, Kind};
use crate::flow::{Addressed, Endpoint, Notice};
use crate::layout::Slot;
use crate::network::Network;
use crate::probe::Probe;

/// An endpoint at one instant, with the parts that it acts upon.
pub(super) struct EndpointHandling<'a, P: Probe> {
    pub(super) now: Time,
    pub(super) index: EndpointIndex,
    pub(super) endpoint: &'a mut Endpoint,
    pub(super) network: &'a mut Network,
    pub(super) events: &'a mut EventQueue,
    probe: &'a mut P,
}

/// The progress of an endpoint that sends its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// Every packet that may be sent was sent.
    Done,
    /// Its packets have to wait for the NIC, or pass a queue there.
    Queued,
    /// It has a limiter, or is recorded.
    SlowPath,
}

/// The rest of an event at an endpoint, left to the host stack.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    sending: Sending,
    /// The bytes that the application expects have arrived.
    reached: bool,
    /// Everything written is acknowledged.
    finished: bool,
}

impl Left {
    const NOTHING: Self = Self {
        sending: Sending::Done,
        reached: false,
        finished: false,
    };

    #[inline(always)]
    pub(super) const fn finished(finished: bool) -> Self {
        Self {
            finished,
            ..Self::NOTHING
        }
    }
}

impl<P: Probe> EndpointHandling<'_, P> {
    /// The endpoint receives a packet, which leaves its slot, and sends permitted packets.
    #[inline(always)]
    pub(super) fn receive(self, slot: Slot) -> Left {
        let before = self.endpoint.transport.delivered();
        let Network { pool, extras, .. } = &mut *self.network;
        let packet = &pool.at(slot).packet;
        self.endpoint.receive_in_place(self.now, packet, extras);
        pool.free(slot);
        self.after_receive(before)
    }

    /// Reports the delivered bytes to the probe, and sends.
    #[inline(always)]
    fn after_receive(mut self, before: u64) -> Left {
        let reached = self.note_delivered(before);
        Left {
            reached,
            ..self.pump()
        }
    }

    /// Reports the delivered bytes to the probe; returns whether as many have arrived as the application expects.
    #[inline(always)]
    pub(super) fn note_delivered(&mut self, before: u64) -> bool {
        self.note_progress(before, self.endpoint.transport.delivered())
    }

    /// As [`Self::note_delivered`], with the bytes delivered by now.
    #[inline(always)]
    pub(super) fn note_progress(&mut self, before: u64, delivered: u64) -> bool {
        if delivered == before {
            return false;
        }
        let endpoint = &mut *self.endpoint;
        let bytes = Bytes::new(delivered - before);
        self.probe
            .delivered(self.index.flow(), endpoint.host, self.now, bytes);
        let reached = delivered >= endpoint.expect;
        if reached {
            endpoint.reach();
        }
        reached
    }

    /// Sends the packets that the endpoint may send, on the fast path where the NIC has it, and
    /// enters the next deadline. Further packets than the first are sent out of line: a loop at this place makes the
    /// compiler keep a dozen addresses on the stack, at the cost of every event.
    #[inline(always)]
    fn pump(mut self) -> Left {
        if self.endpoint.sends_on_slow_path() {
            return self.leave(Sending::SlowPath);
        }
        if self.may_send() {
            let Some(slot) = self.network.reserve_in_place(self.endpoint.host, self.now) else {
                return self.leave(Sending::Queued);
            };
            if self.send(slot) && self.may_send() {
                return self.pump_further();
            }
        }
        self.look_after()
    }

    /// As [`Self::pump`], outside of the path of every packet.
    #[inline(never)]
    fn pump_aside(self) -> Left {
        if self.endpoint.sends_on_slow_path() {
            return self.leave(Sending::SlowPath);
        }
        self.pump_further()
    }

    #[inline(never)]
    fn pump_further(mut self) -> Left {
        while self.may_send() {
            let Some(slot) = self.network.reserve_in_place(self.endpoint.host, self.now) else {
                return self.leave(Sending::Queued);
            };
            if !self.send(slot) {
                break;
            }
        }
        self.look_after()
    }

    #[inline(always)]
    fn may_send(&mut self) -> bool {
        self.endpoint.staged.is_none() && !self.endpoint.transport.is_quiet(self.now)
    }

    #[expect(clippy::unused_self, reason = "the event is handled")]
    fn leave(self, sending: Sending) -> Left {
        Left {
            sending,
            ..Left::NOTHING
        }
    }

    /// Sends the next packet, in this slot, straight onto the wire; returns whether there was one.
    #[inline(always)]
    fn send(&mut self, slot: Slot) -> bool {
        let (now, host) = (self.now, self.endpoint.host);
        let Network { pool, extras, .. } = &mut *self.network;
        let packet = &mut pool.at_mut(slot).packet;
        let made = (self.endpoint).poll_transmit_in_place(now, extras, packet);
        if made {
            self.network.send_in_place(host, now, slot, self.events);
        } else {
            pool.free(slot);
        }
        made
    }

    /// After sending: reports to the probe, enters the deadline, and checks whether everything is acknowledged.
    #[inline(always)]
    pub(super) fn look_after(mut self) -> Left {
        self.report_control();
        self.enter_deadline(self.endpoint.poll_timeout());
        Left::finished(self.endpoint.transport.poll_finished())
    }

    /// Reports the state of congestion control, where it is watched.
    #[inline(always)]
    pub(super) fn report_control(&mut self) {
        if self.endpoint.watched
            && let Some(control) = self.endpoint.transport.control()
        {
            let flow = self.index.flow();
            self.probe
                .control(flow, self.now, &control.state, control.rtt);
        }
    }

    /// Enters the next deadline, if it is earlier than the entered one.
    #[inline(always)]
    pub(super) fn enter_deadline(&mut self, deadline: Option<Time>) {
        if let Some(deadline) = deadline
            && deadline < self.endpoint.wake
        {
            self.endpoint.wake = deadline;
            let at = self.network.turns.next(deadline.max(self.now));
            self.events.push(Event::new(at, Kind::Timer, self.index.0));
        }
    }
}

impl<P: Probe> HostStack<P> {
    /// An endpoint with the parts that it acts upon, if it is alive.
    #[inline(always)]
    pub(super) fn handling(&mut self, index: EndpointIndex) -> Option<EndpointHandling<'_, P>> {
        Some(EndpointHandling {
            now: self.fabric.clock.now(),
            index,
            endpoint: self.flows.get(index)?,
            network: &mut self.fabric.network,
            events: &mut self.fabric.clock.events,
            probe: &mut self.fabric.probe,
        })
    }

    /// Sends the packets that an endpoint may send.
    pub(super) fn pump(&mut self, index: EndpointIndex) {
        if let Some(handling) = self.handling(index) {
            let left = handling.pump_aside();
            self.see_to(index, left);
        }
    }

    /// As [`EndpointHandling::look_after`].
    pub(super) fn look_after(&mut self, index: EndpointIndex) {
        if let Some(handling) = self.handling(index) {
            let left = handling.look_after();
            self.see_to(index, left);
        }
    }

    /// As [`EndpointHandling::after_receive`].
    pub(super) fn after_receive(&mut self, index: EndpointIndex, before: u64) {
        if let Some(mut handling) = self.handling(index) {
            let reached = handling.note_delivered(before);
            let left = Left {
                reached,
                ..handling.pump_aside()
            };
            self.see_to(index, left);
        }
    }

    /// Does the rest of an event at an endpoint.
    #[inline(always)]
    pub(super) fn see_to(&mut self, index: EndpointIndex, left: Left) {
        if left != Left::NOTHING {
            self.see_to_rest(index, left);
        }
    }

    #[inline(never)]
    fn see_to_rest(&mut self, index: EndpointIndex, left: Left) {
        if left.reached {
            self.notify(self.flows.arrival(index));
        }
        match left.sending {
            Sending::Done => {}
            Sending::Queued => {
                self.send_queued::<false>(index);
                self.look_after(index);
            }
            Sending::SlowPath => self.pump_slowly(index),
        }
        if left.finished
            && let Some(endpoint) = self.flows.peek(index)
        {
            let app = endpoint.app;
            // The sender of the data may not be the one that posts.
            let notice = Notice::Finished(self.flows.poster(index));
            self.notify(Some(Addressed { app, notice }));
        }
        self.settle_lost();
    }
}
