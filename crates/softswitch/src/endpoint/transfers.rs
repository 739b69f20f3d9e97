//! The transfers of one connection: those that have begun, and the bytes that have arrived.

use std::collections::VecDeque;

use incastle_units::Time;

/// A transfer: a number of bytes that begins at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    /// The round of its request; none where no request came before.
    pub(super) round: Option<u64>,
    /// The instant of the request, or the start.
    pub(super) started: Time,
    /// Its bytes.
    pub(super) bytes: u64,
    /// The connection's bytes up to its last.
    ends_at: u64,
}

/// Those of a connection, in their order.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    /// Bytes of all transfers that have begun: with requests, some wait for theirs.
    expected: u64,
    /// Bytes that the receiver has read.
    pub(super) received: u64,
    /// Transfers that have begun and are not complete.
    open: VecDeque<Transfer>,
    /// Bytes of requests that the sender has read.
    requested: u64,
    /// Transfers that are complete.
    done: u64,
}

impl Transfers {
    /// A transfer begins; its bytes are not to be sent yet.
    pub(super) fn begin(&mut self, started: Time, bytes: u64, round: Option<u64>) {
        self.expected += bytes;
        self.open.push_back(Transfer {
            round,
            started,
            bytes,
            ends_at: self.expected,
        });
    }

    /// Bytes of requests of this size have arrived; gives how many requests are complete by them.
    pub(super) const fn requested(&mut self, bytes: u64, size: u64) -> u64 {
        let before = self.requested / size;
        self.requested += bytes;
        self.requested / size - before
    }

    /// When the last of the requests of this size was due at the client that the sender has read.
    pub(super) fn asked_at(&self, size: u64) -> Option<Time> {
        let place = (self.requested / size).checked_sub(self.done + 1)?;
        self.open.get(place as usize).map(|one| one.started)
    }

    /// Transfers that have begun and are not complete.
    pub(super) fn open(&self) -> impl Iterator<Item = &Transfer> {
        self.open.iter()
    }

    /// The next transfer that the receiver has read completely.
    pub(super) fn completed(&mut self) -> Option<Transfer> {
        let first = *self.open.front()?;
        if first.ends_at > self.received {
            return None;
        }
        self.done += 1;
        self.open.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use incastle_units::Span;

    use super::*;

    #[test]
    fn transfers_and_requests_are_complete_with_their_last_byte() {
        let mut all = Transfers::default();
        all.begin(Time::ZERO, 10, Some(0));
        all.begin(Time::ZERO, 5, Some(1));
        all.received = 9;
        assert_eq!(all.completed(), None);
        all.received = 14;
        assert_eq!(all.completed().map(|one| one.round), Some(Some(0)));
        assert_eq!(all.completed(), None);
        assert_eq!(all.open().count(), 1);
        // Requests of 4 bytes: 3 + 6 are two and a part, 3 more complete the third.
        assert_eq!(all.requested(3, 4), 0);
        assert_eq!(all.requested(6, 4), 2);
        assert_eq!(all.requested(3, 4), 1);
    }

    #[test]
    fn a_response_is_due_at_its_request() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut all = Transfers::default();
        for ms in [10, 20, 30] {
            all.begin(at(ms), 100, Some(ms));
        }
        assert_eq!(all.asked_at(4), None);
        all.requested(8, 4);
        assert_eq!(all.asked_at(4), Some(at(20)));
        all.received = 100;
        assert!(all.completed().is_some());
        assert_eq!(all.asked_at(4), Some(at(20)));
        all.requested(4, 4);
        assert_eq!(all.asked_at(4), Some(at(30)));
    }
}
