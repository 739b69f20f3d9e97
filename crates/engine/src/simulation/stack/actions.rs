//! Actions of applications: opening, writing, waiting, releasing.

use incastle_units::Time;

use super::HostStack;
use crate::core::{AppIndex, EndpointIndex, FlowIndex, Side};
use crate::flow::{Action, Endpoint, FlowAccount, FlowSpec, Opening};
use crate::network::Packet;
use crate::probe::Probe;

impl<P: Probe> HostStack<P> {
    /// Carries out an action of an application.
    pub(in crate::simulation) fn perform(&mut self, app: AppIndex, action: Action) {
        let now = self.fabric.clock.now();
        match action {
            Action::Open(spec) => self.open(app, *spec),
            Action::Write(index, bytes) => {
                let poster = self.flows.poster(index);
                self.with(poster, |endpoint| endpoint.transport.write(bytes));
            }
            Action::Stop(index) => {
                let poster = self.flows.poster(index);
                self.with(poster, |endpoint| endpoint.transport.stop(now));
            }
            Action::Close(index) => {
                let poster = self.flows.poster(index);
                self.with(poster, |endpoint| endpoint.transport.close(now));
            }
            Action::Expect(index, total) => {
                let due = self.flows.expect(index, total);
                self.notify(due);
            }
            Action::Drain(index) => {
                self.flows.stop(index.peer(), now);
                if self.applications.is_awaited() {
                    let due = self.flows.drain(index);
                    self.notify(due);
                }
            }
            Action::Deadline(index, at) => {
                if let Some(endpoint) = self.flows.get(index) {
                    endpoint.transport.set_deadline(at);
                }
            }
            Action::Watch(index) => self.with(index, |endpoint| endpoint.watched = true),
            Action::Release(flow) => {
                self.release(flow, now);
                self.fabric.announce_release(flow);
            }
            Action::Count => self.applications.add_count(),
            Action::Advance(count) => self.applications.advance(count, &mut self.fabric.clock),
            Action::Wait(wait) => self.applications.wait(app, wait, &mut self.fabric.clock),
        }
    }

    fn open(&mut self, app: AppIndex, spec: FlowSpec) {
        let flow = self.flows.next();
        let account = FlowAccount::new(&spec);
        let opening = Opening {
            now: self.fabric.clock.now(),
            app,
            seed: self.fabric.network.seed,
            here: self.fabric.has_hosts(account.hosts),
        };
        self.flows.open(spec, opening);
        if account.recorded {
            self.fabric.begin_record();
        }
        self.fabric.accounts.push(account);
        self.pump(flow.endpoint(Side::Initiator));
    }

    fn with(&mut self, index: EndpointIndex, act: impl FnOnce(&mut Endpoint)) {
        if let Some(endpoint) = self.flows.get(index) {
            act(endpoint);
            self.pump(index);
        }
    }

    /// Frees a flow's endpoints. Packets that wait at its hosts are not sent or delivered any more.
    pub(in crate::simulation) fn release(&mut self, flow: FlowIndex, at: Time) {
        let at_hosts = self.flows.at_hosts(flow, &self.fabric.network.pool);
        let left: Vec<Packet> = at_hosts.copied().collect();
        for packet in &left {
            self.fabric.stray(packet);
        }
        for side in Side::BOTH {
            if let Some(endpoint) = self.flows.get(flow.endpoint(side)) {
                for slot in endpoint.take_waiting() {
                    self.fabric.network.pool.free(slot);
                }
            }
        }
        self.flows.release(flow, at);
    }
}
