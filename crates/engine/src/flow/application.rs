//! What applications are to the engine: state machines that open flows, write and wait.
//!
//! An application is told what happened ([`Notice`]) and when its time has come, and answers with
//! [`Actions`], which the engine carries out after the call. It holds no reference to the network.

use std::sync::Arc;

use incastle_congestion::Algorithm;
use incastle_transport::{tcp, udt};
use incastle_units::{Bytes, Time};

use crate::core::{EndpointIndex, EventCountIndex, FlowIndex, HostIndex};
use crate::flow::{UdtStart, Wait};

/// The transport of a new flow.
pub enum TransportSpec {
    /// A TCP connection; controllers for the near and the far endpoint.
    Tcp {
        /// Its parameters, shared by all flows of a group.
        config: Arc<tcp::Config>,
        /// The controller of each endpoint: near, far.
        controllers: Box<[Algorithm; 2]>,
    },
    /// Datagrams.
    Datagram {
        /// Bytes that may wait at each endpoint; what does not fit is refused. Absent for no limit.
        send_buffer: Option<Bytes>,
    },
    /// A UDT or DCUDP connection, a stream; controllers for the near and the far endpoint.
    Udt {
        /// Its parameters, shared by all flows of a group.
        config: Arc<udt::Config>,
        /// The controller of each endpoint: near, far.
        controllers: Box<[Algorithm; 2]>,
        /// How it begins.
        start: UdtStart,
        /// Bytes that may be written and not sent at each endpoint; what does not fit is refused. Absent for
        /// no limit.
        send_buffer: Option<Bytes>,
    },
}

/// A new flow.
pub struct FlowSpec {
    /// The host of its near endpoint, which opens it.
    pub from: HostIndex,
    /// The host of its far endpoint.
    pub to: HostIndex,
    /// How data travel.
    pub transport: TransportSpec,
    /// Bytes that the link layer adds to each packet, and the minimum size of a frame with them.
    pub framing: Framing,
    /// Whether a probe watches the controller of its near endpoint.
    pub watched: bool,
    /// Whether a probe is told of every event of it.
    pub recorded: bool,
}

/// What the link layer adds to an IP packet, and the class that it writes into the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Added to every packet.
    pub overhead: u16,
    /// The minimum size on the wire.
    pub minimum: u16,
    /// The traffic class (802.1Q's priority), for fair queues of classes.
    pub class: u8,
}

impl Framing {
    /// IP packets only.
    pub const IP: Self = Self {
        overhead: 0,
        minimum: 0,
        class: 0,
    };
    /// Ethernet: header 14, FCS 4, preamble 8, gap 12; at least 84 bytes in all.
    pub const ETHERNET: Self = Self {
        overhead: 38,
        minimum: 84,
        class: 0,
    };
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// In-order data at an endpoint reached the total that was expected there.
    Delivered(EndpointIndex),
    /// All that will ever arrive at an endpoint is there, and it is less than was expected: the rest was
    /// lost, or was never sent ([`Actions::drain`]).
    Drained(EndpointIndex),
    /// All that an endpoint wrote is acknowledged (and its FIN, if it closed).
    Finished(EndpointIndex),
    /// A wait is over ([`Actions::wait`]): what its application calls it.
    Reached(u32),
}

/// What an application wants done.
pub(crate) enum Action {
    Open(Box<FlowSpec>),
    Write(EndpointIndex, u64),
    Expect(EndpointIndex, u64),
    Stop(EndpointIndex),
    Drain(EndpointIndex),
    Close(EndpointIndex),
    Deadline(EndpointIndex, Time),
    Watch(EndpointIndex),
    Release(FlowIndex),
    Count,
    Advance(EventCountIndex),
    Wait(Wait),
}

/// The list of what an application wants done, carried out in order after its call returns.
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

    /// Opens a flow and says which it will be.
    pub fn open(&mut self, spec: FlowSpec) -> FlowIndex {
        let flow = self.next_flow;
        self.next_flow.0 += 1;
        self.list.push(Action::Open(Box::new(spec)));
        flow
    }

    /// Sends `bytes` more from an endpoint; on a datagram flow, one datagram of that size, which a full
    /// send buffer refuses.
    pub fn write(&mut self, endpoint: EndpointIndex, bytes: u64) {
        self.list.push(Action::Write(endpoint, bytes));
    }

    /// Prefetches a notice when an endpoint has received `total` in-order bytes since it was opened.
    pub fn expect(&mut self, endpoint: EndpointIndex, total: u64) {
        self.list.push(Action::Expect(endpoint, total));
    }

    /// Forgets what an endpoint has written and not yet sent.
    pub fn stop(&mut self, endpoint: EndpointIndex) {
        self.list.push(Action::Stop(endpoint));
    }

    /// Says that the application has no more to send from an endpoint: what has arrived by now is noted
    /// ([`FlowRecord::stopped`](crate::flow::FlowRecord::stopped)). Where the simulation ends with its applications
    /// ([`Simulation::end_with`](crate::Simulation::end_with)), asks for a notice when the rest is at the other endpoint:
    /// `Notice::Delivered` if that is as much as was expected there, otherwise `Notice::Drained`.
    pub fn drain(&mut self, endpoint: EndpointIndex) {
        self.list.push(Action::Drain(endpoint));
    }

    /// Ends an endpoint's data after what it wrote (FIN).
    pub fn close(&mut self, endpoint: EndpointIndex) {
        self.list.push(Action::Close(endpoint));
    }

    /// Tells the controller of an endpoint when its data are wanted at the other endpoint; datagrams
    /// have none.
    pub fn deadline(&mut self, endpoint: EndpointIndex, at: Time) {
        self.list.push(Action::Deadline(endpoint, at));
    }

    /// Lets a probe watch the controller of an endpoint (of a response, the far endpoint's).
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

    /// Prefetches a notice, `Notice::Reached(tag)`, when an event count has reached `value`, or at once
    /// if it has. Of those that wait for one count the lowest value is told first, of equal ones the
    /// first to wait.
    pub fn wait(&mut self, count: EventCountIndex, value: u64, tag: u32) {
        self.list.push(Action::Wait(Wait { count, value, tag }));
    }
}

/// An application.
pub trait Application: Send {
    /// Something that it asked for has happened.
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions);

    /// The instant of `poll_timeout` has come.
    fn handle_timeout(&mut self, now: Time, actions: &mut Actions);

    /// When it wants to be called next; asked after each call and at the start.
    fn poll_timeout(&self) -> Option<Time>;

    /// Whether nothing is left of what it is there for: nothing to begin, nothing to wait for. Once over it
    /// stays over; asked after each call.
    fn is_over(&self) -> bool {
        false
    }
}
