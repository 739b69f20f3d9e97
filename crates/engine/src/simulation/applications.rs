//! Applications inside a simulation: what they are told, when they are called, and how what they want
//! is carried out.

use incastle_units::Time;

use super::Simulation;
use crate::core::{AppIndex, EndpointIndex, EventCountIndex, FlowIndex, Side};
use crate::core::{Event, Kind};
use crate::flow::Action;
use crate::flow::Endpoint;
use crate::flow::{Actions, Application, Notice};
use crate::network::{Body, Packet};
use crate::probe::Probe;

/// An application with what it has not been told yet.
pub(super) struct AppSlot {
    pub(super) app: Box<dyn Application>,
    pub(super) inbox: Vec<Notice>,
    /// The earliest event of this application in the event queue.
    pub(super) wake: Time,
    /// Whether the simulation goes on until it is over, and it is not.
    awaited: bool,
}

impl AppSlot {
    pub(super) fn new(app: Box<dyn Application>) -> Self {
        Self {
            app,
            inbox: Vec::new(),
            wake: Time::NEVER,
            awaited: false,
        }
    }
}

impl<P: Probe> Simulation<P> {
    pub(super) fn notify(&mut self, app: AppIndex, notice: Notice) {
        let slot = &mut self.apps[app.index()];
        slot.inbox.push(notice);
        if slot.wake > self.now {
            slot.wake = self.now;
            self.events
                .push(Event::new(self.now, Kind::Application, app.0));
        }
    }

    pub(super) fn application(&mut self, index: AppIndex) {
        let slot = &mut self.apps[index.index()];
        if slot.wake > self.now {
            return;
        }
        slot.wake = Time::NEVER;
        let list = std::mem::take(&mut self.actions);
        let mut actions = Actions::reuse(list, self.flows.next(), self.counts.len());
        for notice in slot.inbox.drain(..) {
            slot.app.handle(self.now, notice, &mut actions);
        }
        if slot.app.poll_timeout().is_some_and(|at| at <= self.now) {
            slot.app.handle_timeout(self.now, &mut actions);
        }
        for action in actions.list.drain(..) {
            self.perform(index, action);
        }
        self.actions = actions.list;
        self.arm_application(index);
        self.end_if_last(index);
    }

    /// Lets the simulation end as soon as this application, and all others that this was said of, are over.
    pub fn end_with(&mut self, index: AppIndex) {
        let slot = &mut self.apps[index.index()];
        assert!(!slot.awaited, "said once of each application");
        if !slot.app.is_over() {
            slot.awaited = true;
            self.awaited += 1;
        }
    }

    /// Whether it has ended before its time, as [`Self::end_with`] has it.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// If this was the last application that the simulation was to end with: nothing happens any more.
    fn end_if_last(&mut self, index: AppIndex) {
        let slot = &mut self.apps[index.index()];
        if slot.awaited && slot.app.is_over() {
            slot.awaited = false;
            self.awaited -= 1;
            if self.awaited == 0 {
                self.over = true;
                self.forget_what_is_to_come();
            }
        }
    }

    pub(super) fn arm_application(&mut self, index: AppIndex) {
        let slot = &mut self.apps[index.index()];
        if let Some(at) = slot.app.poll_timeout()
            && at < slot.wake
        {
            slot.wake = at;
            let at = at.max(self.now);
            self.events.push(Event::new(at, Kind::Application, index.0));
        }
    }

    fn perform(&mut self, app: AppIndex, action: Action) {
        let now = self.now;
        match action {
            Action::Open(spec) => {
                let flow = FlowIndex(self.flows.next());
                let recorded = spec.recorded;
                let here = self.has_hosts([spec.from, spec.to]);
                self.flows.open(*spec, now, app, (self.network.seed, here));
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
            Action::Count => self.counts.add(),
            Action::Advance(count) => self.advance(count),
            Action::Wait(count, value, tag) => {
                if self.counts.wait((count, value), (app, tag)) {
                    self.notify(app, Notice::Reached(tag));
                }
            }
        }
    }

    /// Tells the application when so many in-order bytes are at an endpoint; datagrams that were lost are not
    /// waited for.
    fn expect(&mut self, index: EndpointIndex, total: u64) {
        let lost = self.shortfalls.get(&index).copied().unwrap_or(0);
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
        self.flows.stop(index.peer(), self.now);
        let Some(endpoint) = self.flows.get(index).filter(|_| self.awaited > 0) else {
            return;
        };
        let (written, other) = (endpoint.written(), index.peer());
        let lost = self.shortfalls.get(&other).copied().unwrap_or(0);
        if let Some(other_end) = self.flows.get(other)
            && other_end.expects_more_than(written - lost)
        {
            self.shortfalls.insert(other, lost);
            self.expect(other, written);
        }
    }

    /// A packet of a flow was dropped: a datagram is not sent again, and not waited for.
    #[cold]
    pub(super) fn expect_without(&mut self, packet: &Packet) {
        if self.awaited == 0 || !matches!(packet.body, Body::Datagram(_)) {
            return;
        }
        let payload = u64::from(packet.payload());
        *self.shortfalls.entry(packet.to).or_default() += payload;
        if let Some(endpoint) = self.flows.get(packet.to)
            && let Some(left) = endpoint.expected()
        {
            endpoint.expect = left - payload;
            self.reach(packet.to);
        }
    }

    /// Adds one to an event count, and tells those who have waited for that.
    fn advance(&mut self, count: EventCountIndex) {
        self.counts.advance(count);
        while let Some((app, tag)) = self.counts.take_reached(count) {
            self.notify(app, Notice::Reached(tag));
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
