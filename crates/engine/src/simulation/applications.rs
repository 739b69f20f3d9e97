//! An application's actions, and how each is carried out.

use incastle_units::Time;

use super::Simulation;
use crate::core::{AppIndex, EndpointIndex, FlowIndex, Side};
use crate::flow::{Action, Endpoint, Opening};
use crate::network::{Body, Packet};
use crate::probe::Probe;

impl<P: Probe> Simulation<P> {
    /// Calls an application and carries out its actions.
    pub(super) fn application(&mut self, index: AppIndex) {
        let (now, next_flow) = (self.clock.now(), self.flows.next());
        let Some(mut actions) = self.apps.call(index, next_flow, now) else {
            return;
        };
        for action in actions.drain(..) {
            self.perform(index, action);
        }
        if self.apps.finish_call(index, actions, &mut self.clock) {
            self.forget_what_is_to_come();
        }
    }

    /// Lets the simulation end as soon as this application, and all others that this was called for, are
    /// over.
    pub fn end_with(&mut self, index: AppIndex) {
        self.apps.end_with(index);
    }

    /// Whether it has ended before its time, as [`Self::end_with`] has it.
    pub fn is_over(&self) -> bool {
        self.apps.is_over()
    }

    fn perform(&mut self, app: AppIndex, action: Action) {
        let now = self.clock.now();
        match action {
            Action::Open(spec) => {
                let flow = FlowIndex(self.flows.next());
                let recorded = spec.recorded;
                let here = self.has_hosts([spec.from, spec.to]);
                let opening = Opening {
                    now,
                    app,
                    seed: self.network.seed,
                    here,
                };
                self.flows.open(*spec, opening);
                if recorded {
                    self.begin_record(flow);
                }
                self.pump(flow.endpoint(Side::Near));
            }
            Action::Write(index, bytes) => self.with(index, |endpoint| endpoint.write(bytes)),
            Action::Stop(index) => self.with(index, |endpoint| endpoint.stop(now)),
            Action::Close(index) => self.with(index, |endpoint| endpoint.close(now)),
            Action::Expect(index, total) => self.expect(index, total),
            Action::Drain(index) => self.drain(index),
            Action::Deadline(index, at) => {
                if let Some(endpoint) = self.flows.get(index) {
                    endpoint.set_deadline(at);
                }
            }
            Action::Watch(index) => self.with(index, |endpoint| endpoint.watched = true),
            Action::Release(flow) => {
                self.release_at(flow, now);
                self.tell_of_release(flow);
            }
            Action::Count => self.apps.add_count(),
            Action::Advance(count) => self.apps.advance(count, &mut self.clock),
            Action::Wait(wait) => self.apps.wait(app, wait, &mut self.clock),
        }
    }

    /// Tells the application when so many in-order bytes are at an endpoint; datagrams that were lost are not
    /// waited for.
    fn expect(&mut self, index: EndpointIndex, total: u64) {
        let lost = self.apps.shortfall(index);
        if let Some(endpoint) = self.flows.get(index) {
            endpoint.expect = total - lost;
            self.reach(index);
        }
    }

    /// If all that is expected at an endpoint is there: tells the application.
    fn reach(&mut self, index: EndpointIndex) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.delivered() >= endpoint.expect {
            endpoint.reach();
            self.tell_of_arrival(index);
        }
    }

    /// An endpoint's application has no more to send: lets the other endpoint expect no more than that.
    fn drain(&mut self, index: EndpointIndex) {
        self.flows.stop(index.peer(), self.clock.now());
        let Some(endpoint) = self.flows.get(index).filter(|_| self.apps.is_awaited()) else {
            return;
        };
        let (written, other) = (endpoint.written(), index.peer());
        let lost = self.apps.shortfall(other);
        if let Some(other_end) = self.flows.get(other)
            && other_end.expects_more_than(written - lost)
        {
            self.apps.add_shortfall(other, 0);
            self.expect(other, written);
        }
    }

    /// A packet of a flow was dropped: a datagram is not sent again, and not waited for.
    #[cold]
    pub(super) fn expect_without(&mut self, packet: &Packet) {
        if !self.apps.is_awaited() || !matches!(packet.body, Body::Datagram(_)) {
            return;
        }
        let payload = u64::from(packet.payload());
        self.apps.add_shortfall(packet.to, payload);
        if let Some(endpoint) = self.flows.get(packet.to)
            && let Some(left) = endpoint.expected()
        {
            endpoint.expect = left - payload;
            self.reach(packet.to);
        }
    }

    /// Frees a flow's endpoints. What still waits at its hosts will not be sent or handed over.
    pub(crate) fn release_at(&mut self, flow: FlowIndex, at: Time) {
        let at_hosts = self.flows.at_hosts(flow, &self.network.pool);
        let left: Vec<Packet> = at_hosts.copied().collect();
        for packet in &left {
            self.stray(packet);
        }
        for side in [Side::Near, Side::Far] {
            let staged = self
                .flows
                .get(flow.endpoint(side))
                .and_then(|end| end.staged.take());
            if let Some(slot) = staged {
                self.network.pool.free(slot);
            }
        }
        self.flows.release(flow, at);
    }

    fn with(&mut self, index: EndpointIndex, act: impl FnOnce(&mut Endpoint)) {
        if let Some(endpoint) = self.flows.get(index) {
            act(endpoint);
            self.pump(index);
        }
    }
}
