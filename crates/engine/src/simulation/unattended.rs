//! Applications that are left alone.
//!
//! Where a paced sender is slower than its application, each message would be an event that changes
//! nothing but the length of what waits. So an application that only writes sleeps while its endpoint
//! waits for its next packet's time; before anything happens at that endpoint, it says what it would
//! have written. Nothing is different but the number of events (tests/unattended.rs).

use incastle_transport::tcp::Batch;
use incastle_units::{Span, Time};

use super::Simulation;
use crate::core::EndpointIndex;
use crate::core::{Event, Kind};
use crate::network::Packet;
use crate::probe::Probe;

impl<P: Probe> Simulation<P> {
    /// Lets the application of a waiting endpoint sleep, if all that it does is to write.
    pub(super) fn leave_alone(&mut self, index: EndpointIndex) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        let app = endpoint.app;
        let slot = &mut self.apps[app.index()];
        let Some(until) = slot.app.only_writes_until() else {
            return;
        };
        endpoint.leave_alone();
        slot.asleep = Some(index);
        slot.wake = until;
        if until != slot.alone_until {
            slot.alone_until = until;
            self.events
                .push(Event::new(until, Kind::Application, app.0));
        }
    }

    /// Writes what the application of an endpoint, left alone, has missed before `before`.
    pub(super) fn catch_up(&mut self, index: EndpointIndex, before: Time) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        let slot = &mut self.apps[endpoint.app.index()];
        while let Some(bytes) = slot.app.catch_up(before) {
            endpoint.write(bytes);
        }
    }

    /// Writes what has been missed until now, if anything can have been.
    pub(super) fn catch_up_if_unattended(&mut self, index: EndpointIndex) {
        if self
            .flows
            .get(index)
            .is_some_and(|endpoint| endpoint.is_unattended())
        {
            self.catch_up(index, self.now);
        }
    }

    /// Wakes the application of an endpoint, which has caught up; it is not entered anywhere yet.
    pub(super) fn attend(&mut self, index: EndpointIndex) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        endpoint.attend();
        self.apps[endpoint.app.index()].asleep = None;
    }

    /// After something has happened at an endpoint whose application was left alone: leaves it so, or
    /// enters its next call.
    #[inline(never)]
    pub(super) fn look_for_application(&mut self, index: EndpointIndex) {
        let now = self.now;
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.has_unsent() && endpoint.is_waiting(now) {
            return;
        }
        let app = endpoint.app;
        self.attend(index);
        self.arm_application(app);
    }

    /// What applications that were left alone have written by the end, `until` included.
    pub(super) fn catch_up_all(&mut self, until: Time) {
        let before = until.saturating_add(Span::from_ps(1));
        for app in 0..self.apps.len() {
            if let Some(endpoint) = self.apps[app].asleep {
                self.catch_up(endpoint, before);
            }
        }
    }

    /// A packet for an endpoint whose application is left alone.
    #[inline(never)]
    pub(super) fn deliver_unattended(&mut self, packet: &Packet) {
        self.catch_up(packet.to, self.now);
        if let Some(endpoint) = self.flows.get(packet.to) {
            let before = endpoint.delivered();
            endpoint.receive(self.now, packet, &mut self.network.extras, Batch::Last);
            self.after_receive(packet.to, before);
        }
    }
}
