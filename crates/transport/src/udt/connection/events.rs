//! The events that a connection reports to its application. Leaves out the data, which are polled
//! for.

use std::collections::VecDeque;

/// Why a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No response to the handshake came.
    NoResponse,
    /// The peer refused: another version or kind of socket, or an impossible packet size.
    Refused,
    /// The peer was silent for too long; this many bytes were not acknowledged.
    Silent(u64),
    /// The linger time of a closed connection ran out; this many bytes were not acknowledged.
    Linger(u64),
    /// The application gave it up; this many bytes were not acknowledged.
    Aborted(u64),
    /// The peer gave it up; this many bytes were not acknowledged.
    Gone(u64),
}

/// An event for the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Data can flow.
    Connected,
    /// The endpoint offered DCUDP, but the peer supports UDT alone: UDT is used, under the
    /// fallback's control.
    Fallback,
    /// The path does not carry ECT: the fallback controls from here on.
    NoEcn,
    /// Data, or a complete message, can be taken. Comes again with later data.
    Readable,
    /// Everything written is acknowledged. Comes again after each further write.
    Finished,
    /// The peer closed.
    PeerClosed,
    /// This endpoint is closed, and everything was delivered: the connection may be forgotten.
    Closed,
    /// The connection is over.
    Failed(Failure),
}

/// The events that wait.
#[derive(Debug, Clone, Default)]
pub(super) struct Events {
    queue: VecDeque<Event>,
    /// Data were written that no Finished covers.
    unfinished: bool,
}

impl Events {
    pub(super) fn raise(&mut self, event: Event) {
        // Events about data bring nothing new the second time.
        if !self.queue.contains(&event) {
            self.queue.push_back(event);
        }
    }

    pub(super) fn poll(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }

    /// The application wrote something, or nothing.
    pub(super) fn on_write(&mut self, bytes: u64) {
        self.unfinished |= bytes > 0;
    }

    /// Everything written is acknowledged.
    pub(super) fn finish(&mut self) {
        if std::mem::take(&mut self.unfinished) {
            self.raise(Event::Finished);
        }
    }
}
