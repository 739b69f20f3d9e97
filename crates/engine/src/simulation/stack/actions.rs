//! Actions of applications: opening, writing, waiting, releasing.

use incastle_units::{Bytes, Time};

use super::HostStack;
use crate::core::{AppIndex, EndpointIndex, FlowIndex, Side};
use crate::flow::{Action, Endpoint, FlowAccount, FlowSpec, Opening};
use crate::network::Packet;
use crate::probe::Probe;

/// Bytes behind which another byte cannot be seen: two of the largest bursts that leave as one.
const ENOUGH: u64 = 2 * 65_536;

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
            Action::WriteOn(index, bytes) => {
                let poster = self.flows.poster(index);
                self.with(poster, |endpoint| endpoint.transport.write(bytes));
                if let Some(until) = self.is_busy_until(poster) {
                    self.applications.may_rest(app, until);
                }
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
            Action::Wait(count, value, tag) => {
                let clock = &mut self.fabric.clock;
                self.applications.wait((app, tag), count, value, clock);
            }
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

    /// An instant before which an endpoint has more than enough to send, whatever its peer permits: its NIC cannot take
    /// all of it by then.
    fn is_busy_until(&self, index: EndpointIndex) -> Option<Time> {
        let endpoint = self.flows.peek(index)?;
        // A probe sees each event of some.
        if endpoint.watched || endpoint.sends_on_slow_path() {
            return None;
        }
        let more = endpoint.transport.unseen().checked_sub(ENOUGH)?;
        let now = self.fabric.clock.now();
        self.fabric
            .network
            .takes_at_least_until(endpoint.host, now, Bytes::new(more))
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
