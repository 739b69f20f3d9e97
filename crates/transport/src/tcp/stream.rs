//! The octets that the application writes: their number, whether a FIN follows, the deadline, and the
//! reason that holds the next of them back. Leaves out the octets themselves: a simulation sends
//! lengths.

use incastle_units::{Bytes, Time};

use super::limit::{Burst, SendLimit};

/// Written bytes from which on the rest counts as unlimited.
const UNLIMITED: u64 = u64::MAX / 4;
/// Sequence numbers stay below, for any amount written.
const LARGEST: u64 = u64::MAX / 2;

/// The content of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content {
    /// Bytes of data.
    pub(super) len: u16,
    /// Whether the FIN follows them.
    pub(super) fin: bool,
}

/// One direction's stream of octets.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    written: u64,
    closed: bool,
    /// The application's deadline for its data, or NEVER.
    pub(super) deadline: Time,
    pub(super) limit: SendLimit,
    pub(super) burst: Burst,
}

impl Stream {
    pub(super) const fn new() -> Self {
        Self {
            written: 0,
            closed: false,
            deadline: Time::NEVER,
            limit: SendLimit::new(),
            burst: Burst::new(),
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.limit.reconsider();
        assert!(!self.closed, "an application writes before it closes");
        self.written = self.written.saturating_add(bytes).min(LARGEST);
    }

    pub(super) fn close(&mut self) {
        self.limit.reconsider();
        self.closed = true;
    }

    /// Forgets everything from `max` on, which was never sent.
    pub(super) fn stop(&mut self, max: u64) {
        self.written = self.written.min(max);
    }

    #[inline]
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The end of the stream, FIN included.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.written + u64::from(self.closed)
    }

    /// Whether the acknowledged data up to `una` include the FIN.
    pub(super) fn fin_acknowledged(&self, una: u64) -> bool {
        self.closed && una == self.end()
    }

    /// Written bytes that are not acknowledged; absent where the stream is unlimited.
    #[inline]
    pub(super) fn remaining(&self, una: u64) -> Option<Bytes> {
        let remaining = self.written.saturating_sub(una);
        (self.written < UNLIMITED).then_some(Bytes::new(remaining))
    }

    /// Payload of the next segment from `from` on.
    #[inline]
    pub(super) fn payload_from(&self, from: u64, mss: u16) -> u64 {
        self.written.saturating_sub(from).min(u64::from(mss))
    }

    /// The content of the segment with octets `start..end`.
    #[inline]
    pub(super) fn content(&self, start: u64, end: u64) -> Content {
        let data_end = end.min(self.written);
        Content {
            len: data_end.saturating_sub(start) as u16,
            fin: self.closed && data_end == self.written,
        }
    }
}
