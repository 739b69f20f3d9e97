//! The messages that an application posted and that are not complete: their places in the space of PSNs
//! and in the stream of payload bytes.
//!
//! A WRITE or SEND takes a PSN for each of its packets. A READ takes one for each packet of its responses,
//! and none of the stream's bytes. Every message lies behind those posted before it.

use std::collections::VecDeque;

use crate::config::Config;

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Data to memory of the responder.
    Write,
    /// Data to a receive buffer of the responder.
    Send,
    /// Data from memory of the responder.
    Read,
}

/// The number of a message: 0 for the first posted at this endpoint, then 1, ...
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// A message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) verb: Verb,
    pub(crate) bytes: u64,
    /// Its first PSN.
    pub(crate) first: u64,
    /// The PSN after its last one.
    pub(crate) end: u64,
    /// The payload bytes of the WRITEs and SENDs before it.
    offset: u64,
}

impl Message {
    /// The payload bytes of WRITEs and SENDs before this PSN, which lies in the message or at its end.
    pub(crate) fn bytes_before(&self, psn: u64, config: &Config) -> u64 {
        assert!(self.first <= psn && psn <= self.end, "a PSN of the message");
        match self.verb {
            Verb::Read => self.offset,
            Verb::Write | Verb::Send => {
                let sent = (psn - self.first).saturating_mul(u64::from(config.mtu));
                self.offset + sent.min(self.bytes)
            }
        }
    }

    /// The payload of its packet with this PSN.
    pub(crate) fn payload(&self, psn: u64, config: &Config) -> u16 {
        config.payload(self.bytes, psn - self.first)
    }
}

/// The messages, in the order of posting.
#[derive(Debug)]
pub(crate) struct Messages {
    queue: VecDeque<Message>,
    /// Messages that were complete.
    completed: u64,
    /// The PSN after the last posted message.
    end: u64,
    /// The payload bytes of all posted WRITEs and SENDs.
    bytes: u64,
}

impl Messages {
    pub(crate) fn new(initial_psn: u64) -> Self {
        Self {
            queue: VecDeque::new(),
            completed: 0,
            end: initial_psn,
            bytes: 0,
        }
    }

    pub(crate) fn post(&mut self, verb: Verb, bytes: u64, config: &Config) -> MessageId {
        assert!(bytes > 0, "a message has one byte or more");
        let id = MessageId(self.completed + self.queue.len() as u64);
        let end = self.end + config.packets(bytes);
        self.queue.push_back(Message {
            verb,
            bytes,
            first: self.end,
            end,
            offset: self.bytes,
        });
        self.end = end;
        if verb != Verb::Read {
            self.bytes += bytes;
        }
        id
    }

    /// The oldest message that is not complete.
    pub(crate) fn front(&self) -> Option<&Message> {
        self.queue.front()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Message> {
        self.queue.get(index)
    }

    /// The oldest message is complete.
    pub(crate) fn complete(&mut self) -> MessageId {
        self.queue.pop_front().expect("a message is complete");
        let id = MessageId(self.completed);
        self.completed += 1;
        id
    }

    /// The message that has this PSN, which is not before the oldest.
    pub(crate) fn containing(&self, psn: u64) -> Option<&Message> {
        let found = self.queue.partition_point(|message| message.end <= psn);
        self.queue.get(found).filter(|message| message.first <= psn)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The PSN after the last posted message.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// The payload bytes of all posted WRITEs and SENDs.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
