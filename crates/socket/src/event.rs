//! Events that a connection reports to its application, other than data.

use std::collections::VecDeque;
use std::task::Waker;

use incastle_congestion::TransmissionMode;

use crate::ConnectionError;

/// Events that are kept for an application that does not poll; older ones are forgotten.
const MAX_EVENTS: usize = 64;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The peer has not what the control needs, DCUDP or accurate ACKs: UDT's control is run.
    Fallback,
    /// The path carries ECT, so marks can come.
    EcnVerified,
    /// The path clears ECT or drops packets that carry it: in DCUDP's place UDT's control is run, another goes on
    /// without marks.
    EcnFailed,
    /// DCUDP went over to another mode.
    Mode(TransmissionMode),
    /// The peer closed.
    PeerClosed,
    /// The connection is over: everything was delivered, or why not.
    Over(Option<ConnectionError>),
}

/// A bounded queue of events.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Event>,
    pub(crate) wakers: Vec<Waker>,
    pub(crate) over: bool,
}

impl Queue {
    /// Adds an event; nothing follows [`Event::Over`].
    pub(crate) fn push(&mut self, event: Event) {
        if self.over {
            return;
        }
        if self.waiting.len() == MAX_EVENTS {
            self.waiting.pop_front();
        }
        self.over = matches!(event, Event::Over(_));
        self.waiting.push_back(event);
        assert!(self.waiting.len() <= MAX_EVENTS, "the events are bounded");
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.waiting.pop_front()
    }
}
