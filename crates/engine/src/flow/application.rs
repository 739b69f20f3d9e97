//! The interface of applications: state machines that open flows, write and wait.
//!
//! An application handles notices ([`Notice`]) and timeouts and returns [`Actions`], which the engine carries out after
//! the call. It holds no reference to the network.

use std::sync::Arc;

use incastle_congestion::Algorithm;
use incastle_transport::{tcp, udt};
use incastle_units::{Bytes, Time};

use crate::core::{EndpointIndex, EventCountIndex, FlowIndex, HostIndex};
use crate::flow::{Framing, QueuePairSettings, UdtStart};

/// The transport of a new flow.
pub enum TransportSpec {
    /// A TCP connection.
    Tcp {
        /// Its parameters, shared by all flows of a group.
        config: Arc<tcp::Config>,
        /// The controllers: initiator, responder.
        controllers: Box<[Algorithm; 2]>,
    },
    /// Datagrams.
    Datagram {
        /// Bytes that may wait at each endpoint; a message that does not fit is refused. Absent for no limit.
        send_buffer: Option<Bytes>,
    },
    /// A UDT or DCUDP connection, a stream.
    Udt {
        /// Its parameters, shared by all flows of a group.
        config: Arc<udt::Config>,
        /// The controllers: initiator, responder.
        controllers: Box<[Algorithm; 2]>,
        /// Its beginning.
        start: UdtStart,
        /// Unsent bytes at each endpoint; a message that does not fit is refused. Absent for no limit.
        send_buffer: Option<Bytes>,
    },
    /// A queue pair of RoCEv2.
    Rdma {
        /// Its parameters, shared by all flows of a group.
        config: Arc<incastle_rdma::Config>,
        /// The controllers: initiator, responder.
        controllers: Box<[Algorithm; 2]>,
        /// Its settings in addition.
        settings: QueuePairSettings,
    },
}

/// A new flow.
pub struct FlowSpec {
    /// The host of its initiator.
    pub from: HostIndex,
    /// The host of its responder.
    pub to: HostIndex,
    /// Its transport.
    pub transport: TransportSpec,
    /// Its framing on the link layer.
    pub framing: Framing,
    /// Whether a probe watches the initiator's controller.
    pub watched: bool,
    /// Whether its every event is reported to the probe.
    pub recorded: bool,
}

/// A notice to an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// In-order data at an endpoint reached the total that was expected there.
    Delivered(EndpointIndex),
    /// All bytes that will ever arrive at an endpoint are there, fewer than expected: the others were lost, or never
    /// sent ([`Actions::drain`]).
    Drained(EndpointIndex),
    /// Everything that an endpoint wrote is acknowledged (and its FIN, if it closed).
    Finished(EndpointIndex),
    /// A wait is over ([`Actions::wait`]), with its tag.
    Reached(u32),
}

/// An action of an application.
pub(crate) enum Action {
    Open(Box<FlowSpec>),
    Write(EndpointIndex, u64),
    WriteOn(EndpointIndex, u64),
    Expect(EndpointIndex, u64),
    Stop(EndpointIndex),
    Drain(EndpointIndex),
    Close(EndpointIndex),
    Deadline(EndpointIndex, Time),
    Watch(EndpointIndex),
    Release(FlowIndex),
    Count,
    Advance(EventCountIndex),
    /// For a count to reach a value, with the application's own number of the wait.
    Wait(EventCountIndex, u64, u32),
}

/// The actions of an application, carried out in order after its call returns.
pub struct Actions {
    pub(crate) list: Vec<Action>,
    next_flow: FlowIndex,
    next_count: u32,
}

impl Actions {
    /// An empty list, in the memory of an earlier one.
    pub(crate) fn reuse(list: Vec<Action>, next_flow: FlowIndex, next_count: u32) -> Self {
        assert!(list.is_empty(), "an earlier list was carried out");
        Self {
            list,
            next_flow,
            next_count,
        }
    }

    /// Opens a flow; returns its index.
    pub fn open(&mut self, spec: FlowSpec) -> FlowIndex {
        let flow = self.next_flow;
        self.next_flow.0 += 1;
        self.list.push(Action::Open(Box::new(spec)));
        flow
    }

    /// Writes `bytes` at an endpoint; on a datagram flow, one datagram of that size, which a full send buffer refuses.
    pub fn write(&mut self, endpoint: EndpointIndex, bytes: u64) {
        self.list.push(Action::Write(endpoint, bytes));
    }

    /// As [`Self::write`]. Where so much waits to be sent that the next writes can change nothing yet, the application
    /// learns until when ([`Application::may_rest`]).
    pub fn write_on(&mut self, endpoint: EndpointIndex, bytes: u64) {
        self.list.push(Action::WriteOn(endpoint, bytes));
    }

    /// Requests a notice when an endpoint has received `total` in-order bytes since it was opened.
    pub fn expect(&mut self, endpoint: EndpointIndex, total: u64) {
        self.list.push(Action::Expect(endpoint, total));
    }

    /// Discards the unsent bytes of an endpoint.
    pub fn stop(&mut self, endpoint: EndpointIndex) {
        self.list.push(Action::Stop(endpoint));
    }

    /// Declares that the application has no more to send from an endpoint: the bytes delivered by now are recorded
    /// ([`FlowRecord::stopped`](crate::flow::FlowRecord::stopped)). If the simulation ends with its applications
    /// ([`Simulation::end_with`](crate::Simulation::end_with)), requests a notice when the others have reached the peer.
    /// It is `Notice::Delivered` if these are as many as expected there, otherwise `Notice::Drained`.
    pub fn drain(&mut self, endpoint: EndpointIndex) {
        self.list.push(Action::Drain(endpoint));
    }

    /// Closes an endpoint after the bytes written (FIN).
    pub fn close(&mut self, endpoint: EndpointIndex) {
        self.list.push(Action::Close(endpoint));
    }

    /// Sets the deadline of the data of an endpoint, for its controller; datagrams have none.
    pub fn deadline(&mut self, endpoint: EndpointIndex, at: Time) {
        self.list.push(Action::Deadline(endpoint, at));
    }

    /// Lets a probe watch the controller of an endpoint (of a response, the responder's).
    pub fn watch(&mut self, endpoint: EndpointIndex) {
        self.list.push(Action::Watch(endpoint));
    }

    /// Frees the endpoints of a finished flow; stray packets for it are ignored from then on.
    pub fn release(&mut self, flow: FlowIndex) {
        self.list.push(Action::Release(flow));
    }

    /// A new event count, at zero. Any application may advance it and wait for it.
    pub fn event_count(&mut self) -> EventCountIndex {
        let count = EventCountIndex(self.next_count);
        self.next_count += 1;
        self.list.push(Action::Count);
        count
    }

    /// Adds one to an event count.
    pub fn advance(&mut self, count: EventCountIndex) {
        self.list.push(Action::Advance(count));
    }

    /// Requests a notice, `Notice::Reached(tag)`, when an event count has reached `value`, or immediately if it has.
    /// Waiters for one count are notified by value, lowest first, then in the order of their waits.
    pub fn wait(&mut self, count: EventCountIndex, value: u64, tag: u32) {
        self.list.push(Action::Wait(count, value, tag));
    }
}

/// An application.
pub trait Application: Send {
    /// Handles a notice.
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions);

    /// The instant of `poll_timeout` has come.
    fn handle_timeout(&mut self, now: Time, actions: &mut Actions);

    /// After [`Actions::write_on`]: whatever it would write there before this instant may as well be written then.
    fn may_rest(&mut self, _until: Time) {}

    /// Its next timeout; polled after each call and at the start.
    fn poll_timeout(&self) -> Option<Time>;

    /// Whether it is over: nothing to begin, nothing to wait for. Once over it stays over; polled after each call.
    fn is_over(&self) -> bool {
        false
    }
}
