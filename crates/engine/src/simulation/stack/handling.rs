//! An event at an endpoint: it takes in what happened, sends what it may, and enters its next deadline.
//!
//! All of that concerns the endpoint, its host's NIC, the event queue and the probe: the endpoint is
//! looked up once. What concerns others, applications above all, is left to the simulation.

use incastle_transport::tcp::Batch;
use incastle_units::{Bytes, Time};

use super::HostStack;
use crate::core::{EndpointIndex, Event, EventQueue, Kind};
use crate::flow::{Addressed, Endpoint, Notice, control_state};
use crate::layout::Slot;
use crate::network::Network;
use crate::probe::Probe;

/// An endpoint at one instant, with what it acts upon.
pub(super) struct EndpointHandling<'a, P: Probe> {
    now: Time,
    index: EndpointIndex,
    pub(super) endpoint: &'a mut Endpoint,
    network: &'a mut Network,
    events: &'a mut EventQueue,
    probe: &'a mut P,
}

/// How far an endpoint has come with what it has to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// Everything has left that may.
    Done,
    /// Its packets have to wait for the NIC, or to pass a queue there.
    Queued,
    /// Its frames may have to pass a limiter, or a probe is told of each.
    SlowPath,
}

/// What an event at an endpoint leaves to the simulation.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    sending: Sending,
    /// What the application expects is here.
    reached: bool,
    /// All that it wrote is acknowledged.
    finished: bool,
}

impl Left {
    const NOTHING: Self = Self {
        sending: Sending::Done,
        reached: false,
        finished: false,
    };
}

impl<P: Probe> EndpointHandling<'_, P> {
    /// A packet has arrived: the endpoint takes it out of its slot, and answers.
    #[inline(always)]
    pub(super) fn receive(self, slot: Slot) -> Left {
        let before = self.endpoint.delivered();
        let Network { pool, extras, .. } = &mut *self.network;
        let packet = &pool.at(slot).packet;
        self.endpoint.receive(self.now, packet, extras, Batch::Last);
        pool.free(slot);
        self.after_receive(before)
    }

    /// Tells the probe what the endpoint has received, and lets it send.
    #[inline(always)]
    pub(super) fn after_receive(self, before: u64) -> Left {
        let endpoint = &mut *self.endpoint;
        let delivered = endpoint.delivered();
        if delivered == before {
            return self.pump();
        }
        let bytes = Bytes::new(delivered - before);
        self.probe
            .delivered(self.index.flow(), endpoint.host, self.now, bytes);
        let reached = delivered >= endpoint.expect;
        if reached {
            endpoint.reach();
        }
        Left {
            reached,
            ..self.pump()
        }
    }

    /// Lets an endpoint send what it may, straight onto the wire where the NIC lets it, and enters
    /// its next deadline.
    #[inline(always)]
    pub(super) fn pump(mut self) -> Left {
        if self.endpoint.sends_on_slow_path() {
            return self.leave(Sending::SlowPath);
        }
        while self.endpoint.staged.is_none() && !self.endpoint.is_quiet(self.now) {
            match self.send() {
                Some(true) => {}
                Some(false) => break,
                None => return self.leave(Sending::Queued),
            }
        }
        self.look_after()
    }

    #[expect(clippy::unused_self, reason = "the event is handled")]
    fn leave(self, sending: Sending) -> Left {
        Left {
            sending,
            ..Left::NOTHING
        }
    }

    /// The next packet, straight onto the wire; returns whether there was one, or that the fast path is closed.
    #[inline(always)]
    fn send(&mut self) -> Option<bool> {
        let (endpoint, now) = (&mut *self.endpoint, self.now);
        self.network
            .send_in_place(endpoint.host, now, self.events, |packet, extras| {
                endpoint.poll_transmit(now, extras, packet)
            })
    }

    /// What follows when an endpoint has sent: the probe's look, its deadline, its news.
    #[inline(always)]
    pub(super) fn look_after(self) -> Left {
        let endpoint = self.endpoint;
        if endpoint.watched
            && let Some((state, rtt)) = control_state(endpoint)
        {
            self.probe.control(self.index.flow(), self.now, &state, rtt);
        }
        if let Some(deadline) = endpoint.poll_timeout()
            && deadline < endpoint.wake
        {
            endpoint.wake = deadline;
            let at = deadline.max(self.now);
            self.events.push(Event::new(at, Kind::Timer, self.index.0));
        }
        Left {
            finished: endpoint.poll_finished(),
            ..Left::NOTHING
        }
    }
}

impl<P: Probe> HostStack<P> {
    /// An endpoint with what it acts upon, if it is alive.
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

    /// Lets an endpoint send what it may.
    #[inline]
    pub(super) fn pump(&mut self, index: EndpointIndex) {
        if let Some(handling) = self.handling(index) {
            let left = handling.pump();
            self.see_to(index, left);
        }
    }

    /// What follows when an endpoint has sent.
    pub(super) fn look_after(&mut self, index: EndpointIndex) {
        if let Some(handling) = self.handling(index) {
            let left = handling.look_after();
            self.see_to(index, left);
        }
    }

    /// As [`EndpointHandling::after_receive`].
    pub(super) fn after_receive(&mut self, index: EndpointIndex, before: u64) {
        if let Some(handling) = self.handling(index) {
            let left = handling.after_receive(before);
            self.see_to(index, left);
        }
    }

    /// Does what an event at an endpoint has left.
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
            let (app, notice) = (endpoint.app, Notice::Finished(index));
            self.notify(Some(Addressed { app, notice }));
        }
        self.settle_lost();
    }
}
