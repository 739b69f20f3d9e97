//! The data that the application wrote and no packet carries yet: bytes of a stream, or messages. Works
//! with lengths and offsets; the bytes are elsewhere. Leaves out data cut at the borders of writes, as
//! in the library: packets are filled.

use std::collections::VecDeque;

use incastle_units::Time;

use super::wire::{Dialect, Place, SocketKind, max_message};

/// Unsent bytes from which on the rest counts as unlimited.
const UNLIMITED: u64 = u64::MAX / 4;

/// The payload of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Payload {
    /// Its beginning in the application's data.
    pub(super) offset: u64,
    /// When its message is given up, or NEVER.
    pub(super) expires: Time,
    pub(super) message: u32,
    pub(super) length: u16,
    pub(super) place: Place,
    pub(super) in_order: bool,
}

/// A message as the application writes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    /// In bytes.
    pub(super) length: u64,
    /// When it is given up, or NEVER.
    pub(super) expires: Time,
    pub(super) in_order: bool,
}

/// A message that was not sent, or not wholly.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    message: Message,
    sent: u64,
    number: u32,
}

impl Waiting {
    /// Bytes that were not sent.
    const fn left(&self) -> u64 {
        self.message.length - self.sent
    }
}

/// A message that is too old before all of it was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expired {
    /// Whether a part of it was sent, and under which number.
    pub(super) begun: bool,
    pub(super) number: u32,
}

/// The data that wait to be sent.
///
/// Invariant: on a message socket, `unsent` is the rest of `messages`; a stream has none.
#[derive(Debug)]
pub(super) struct Backlog {
    stream: bool,
    /// Bytes written and not sent.
    unsent: u64,
    /// Messages written and not wholly sent.
    messages: VecDeque<Waiting>,
    /// The beginning of the next new payload in the application's data.
    offset: u64,
    next_message: u32,
}

impl Backlog {
    pub(super) const fn new(kind: SocketKind) -> Self {
        Self {
            stream: matches!(kind, SocketKind::Stream),
            unsent: 0,
            messages: VecDeque::new(),
            offset: 0,
            next_message: 1,
        }
    }

    #[inline]
    pub(super) const fn unsent(&self) -> u64 {
        self.unsent
    }

    #[inline]
    pub(super) const fn is_unlimited(&self) -> bool {
        self.unsent >= UNLIMITED
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Adds bytes to a stream.
    pub(super) fn write(&mut self, bytes: u64) {
        assert!(self.stream, "a message socket sends messages");
        self.unsent = self.unsent.saturating_add(bytes).min(u64::MAX / 2);
    }

    /// Adds a message.
    pub(super) fn write_message(&mut self, message: Message) {
        assert!(!self.stream, "a stream socket has no messages");
        self.messages.push_back(Waiting {
            message,
            sent: 0,
            number: 0,
        });
        self.unsent += message.length;
    }

    /// Forgets data that were never sent; a message that was begun goes on.
    pub(super) fn forget(&mut self) {
        self.messages.retain(|message| message.sent > 0);
        let begun = self.messages.front();
        let left = begun.map_or(0, Waiting::left);
        assert!(left <= self.unsent, "a begun message is part of the rest");
        self.offset += self.unsent - left;
        self.unsent = left;
    }

    /// The first message, where it is too old.
    pub(super) fn expired(&self, now: Time) -> Option<Expired> {
        let waiting = self.messages.front()?;
        (waiting.message.expires <= now).then_some(Expired {
            begun: waiting.sent > 0,
            number: waiting.number,
        })
    }

    /// Forgets the rest of the first message.
    pub(super) fn forget_message(&mut self) {
        if let Some(waiting) = self.messages.pop_front() {
            let left = waiting.left();
            assert!(left <= self.unsent, "a message is part of the rest");
            self.unsent -= left;
            self.offset += left;
        }
    }

    /// Forgets the rest of a message that was given up: it will never be numbered.
    pub(super) fn forget_rest_of(&mut self, message: u32) {
        if let Some(waiting) = self.messages.front()
            && waiting.sent > 0
            && waiting.number == message
        {
            self.forget_message();
        }
    }

    /// The next payload, of at most `full` bytes; there is something to send.
    pub(super) fn take(&mut self, full: u16, dialect: Dialect) -> Payload {
        assert!(self.unsent > 0, "an empty packet is never sent");
        let payload = if self.stream {
            Payload {
                offset: self.offset,
                expires: Time::NEVER,
                message: self.next_message,
                length: self.unsent.min(u64::from(full)) as u16,
                place: Place::Only,
                in_order: true,
            }
        } else {
            self.take_part(full)
        };
        let bytes = u64::from(payload.length);
        self.offset += bytes;
        self.unsent -= bytes;
        if payload.place.is_last() {
            self.take_message_number(dialect);
        }
        payload
    }

    /// The next part of the first message.
    fn take_part(&mut self, full: u16) -> Payload {
        let waiting = self.messages.front_mut();
        let waiting = waiting.expect("unsent bytes are messages");
        let first = waiting.sent == 0;
        if first {
            waiting.number = self.next_message;
        }
        let left = waiting.left();
        let length = left.min(u64::from(full));
        assert!(length > 0, "a message that waits is not wholly sent");
        waiting.sent += length;
        let payload = Payload {
            offset: self.offset,
            expires: waiting.message.expires,
            message: self.next_message,
            length: length as u16,
            place: Place::of(first, length == left),
            in_order: waiting.message.in_order,
        };
        if length == left {
            self.messages.pop_front();
        }
        payload
    }

    /// The library's numbers skip 0 when they wrap.
    fn take_message_number(&mut self, dialect: Dialect) {
        self.next_message = if self.next_message == max_message(dialect) {
            1
        } else {
            self.next_message + 1
        };
    }
}
