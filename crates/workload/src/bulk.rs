//! Bulk transfer: as much as the transport can send from start to stop, or a number of bytes.

use incastle_engine::core::{EndpointIndex, FlowIndex, Side};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Span, Time};

use crate::hosts::HostPair;
use crate::journal::TransferKind;
use crate::journal::{FlowNote, Transfer, TransferNote};
use crate::plan::{Plan, wanted};
use incastle_scenario::language::flows::Size;

/// More bytes than any run can send.
const UNLIMITED: u64 = 1 << 62;

/// One bulk flow.
pub(super) struct Bulk {
    plan: Plan,
    size: Option<u64>,
    deadline: Option<Span>,
    state: State,
}

enum State {
    Waiting,
    Sending {
        flow: FlowIndex,
        transfer: Option<Transfer>,
        /// Whether it has been stopped; its data in flight still arrive.
        stopped: bool,
    },
    Over,
}

impl Bulk {
    pub(super) fn new(plan: Plan, size: Size, deadline: Option<Span>) -> Self {
        Self {
            plan,
            size: match size {
                Size::Unlimited => None,
                Size::Of(size) => Some(size.count()),
            },
            deadline,
            state: State::Waiting,
        }
    }

    fn begin(&mut self, now: Time, actions: &mut Actions) {
        let flow = self.plan.open(now, actions);
        let near = flow.endpoint(Side::Initiator);
        let deadline = wanted(now, self.deadline, near, actions);
        self.plan
            .write(near, self.size.unwrap_or(UNLIMITED), actions);
        let transfer = self.size.map(|bytes| {
            actions.expect(flow.endpoint(Side::Responder), bytes);
            if self.plan.stack.has_handshake() {
                actions.close(near);
            }
            self.plan.begun(flow, now, deadline, bytes)
        });
        self.state = State::Sending {
            flow,
            transfer,
            stopped: false,
        };
    }
}

impl Application for Bulk {
    fn handle(&mut self, now: Time, notice: Notice, _: &mut Actions) {
        let State::Sending { transfer, .. } = self.state else {
            return;
        };
        match notice {
            Notice::Delivered(_) => {
                if let Some(transfer) = transfer {
                    self.plan.journal.completed(transfer, now);
                }
                self.state = State::Over;
            }
            Notice::Drained(_) => self.state = State::Over,
            Notice::Finished(_) | Notice::Reached(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        match &mut self.state {
            State::Waiting => self.begin(now, actions),
            State::Sending { flow, stopped, .. } => {
                actions.stop(flow.endpoint(Side::Initiator));
                actions.drain(flow.endpoint(Side::Initiator));
                *stopped = true;
            }
            State::Over => {}
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self.state {
            State::Waiting => Some(self.plan.start),
            State::Sending { stopped, .. } => {
                (!stopped && self.plan.stop < Time::NEVER).then_some(self.plan.stop)
            }
            State::Over => None,
        }
    }
}

impl Plan {
    /// Opens the flow, with the sender of the data at its initiator.
    pub(super) fn open(&self, now: Time, actions: &mut Actions) -> FlowIndex {
        self.open_from(Side::Initiator, now, actions)
    }

    /// Opens the flow, with the sender of the data at this endpoint.
    pub(super) fn open_from(&self, sender: Side, now: Time, actions: &mut Actions) -> FlowIndex {
        let HostPair { from, to } = self.hosts;
        let hosts = match sender {
            Side::Initiator => self.hosts,
            Side::Responder => HostPair { from: to, to: from },
        };
        let flow = self.stack.open(hosts, self.recorded, actions);
        if self.watched {
            actions.watch(flow.endpoint(sender));
        }
        self.journal.opened(FlowNote {
            flow,
            group: self.group,
            index: self.index,
            sender,
            started: now,
        });
        flow
    }

    /// Records the start of the flow's one transfer.
    pub(super) fn begun(
        &self,
        flow: FlowIndex,
        now: Time,
        deadline: Option<Time>,
        bytes: u64,
    ) -> Transfer {
        self.journal.begun(TransferNote {
            group: self.group,
            index: self.index,
            kind: TransferKind::Flow,
            flow,
            started: now,
            deadline,
            completed: None,
            bytes,
        })
    }

    /// Writes `bytes`, as full datagrams where there is no stream.
    fn write(&self, end: EndpointIndex, bytes: u64, actions: &mut Actions) {
        if !self.stack.is_datagram() {
            actions.write(end, bytes);
            return;
        }
        let mut left = bytes;
        while left > 0 {
            let datagram = left.min(self.stack.payload());
            actions.write(end, datagram);
            left -= datagram;
        }
    }
}
