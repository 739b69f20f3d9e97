//! Datagrams: a sender that cuts the application's data into packets, and a receiver that counts.
//! Models UDP (RFC 768) as far as a network sees it, with a non-blocking socket's send buffer: a
//! write into a full buffer is refused. Leaves out: ports, checksums, content, and the socket's
//! memory other than the payload.

use std::collections::VecDeque;

use incastle_units::{Bytes, Time};

/// The header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// 0, 1, 2, ... in the order of sending.
    pub seq: u64,
    /// The time at which the NIC took it.
    pub sent_at: Time,
    /// Bytes of application data. As wide as a segment's sequence number, with which it shares memory
    /// in a simulated packet: halves would be copied apart and stall the reader.
    pub payload: u32,
}

/// The send buffer of a socket by default: Linux's net.core.wmem_default.
pub const DEFAULT_SEND_BUFFER: Bytes = Bytes::new(208 * 1024);

/// Writes that a full send buffer refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused {
    /// Datagrams.
    pub messages: u64,
    /// Their payload.
    pub bytes: Bytes,
}

/// An endpoint of a datagram flow.
#[derive(Debug, Clone, Default)]
pub struct Endpoint {
    /// Bytes that may wait; absent for no limit.
    send_buffer: Option<Bytes>,
    /// Payload sizes that the application wrote and that have not left.
    backlog: VecDeque<u16>,
    /// Their sum.
    waiting: Bytes,
    refused: Refused,
    next_seq: u64,
    sent: Bytes,
    received: Bytes,
}

impl Endpoint {
    /// An endpoint that has sent and received nothing, with a send buffer of that many bytes or an
    /// unlimited one.
    pub fn new(send_buffer: Option<Bytes>) -> Self {
        Self {
            send_buffer,
            ..Self::default()
        }
    }

    /// Writes one datagram of `payload` bytes; gives whether it was taken. One that does not fit
    /// into the rest of the buffer is refused; an empty buffer takes any.
    pub fn write(&mut self, payload: u16) -> bool {
        let bytes = Bytes::new(u64::from(payload));
        let fits = self
            .send_buffer
            .is_none_or(|size| self.waiting + bytes <= size);
        if !fits && !self.backlog.is_empty() {
            self.refused.messages += 1;
            self.refused.bytes += bytes;
            return false;
        }
        self.backlog.push_back(payload);
        self.waiting += bytes;
        assert!(
            self.backlog.len() == 1 || self.send_buffer.is_none_or(|size| self.waiting <= size),
            "the send buffer is bounded"
        );
        true
    }

    /// Forgets written data that have not left.
    pub fn stop(&mut self) {
        self.backlog.clear();
        self.waiting = Bytes::ZERO;
    }

    /// Whether nothing waits to be sent.
    pub fn is_quiet(&self) -> bool {
        self.backlog.is_empty()
    }

    /// A datagram arrived.
    pub fn handle(&mut self, datagram: &Datagram) {
        self.received += Bytes::new(u64::from(datagram.payload));
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        let payload = self.backlog.pop_front()?;
        let seq = self.next_seq;
        self.next_seq += 1;
        let bytes = Bytes::new(u64::from(payload));
        assert!(bytes <= self.waiting, "what leaves was waiting");
        self.waiting -= bytes;
        self.sent += bytes;
        Some(Datagram {
            seq,
            sent_at: now,
            payload: u32::from(payload),
        })
    }

    /// Application bytes sent so far.
    pub const fn sent(&self) -> Bytes {
        self.sent
    }

    /// Application bytes received so far.
    pub const fn delivered(&self) -> Bytes {
        self.received
    }

    /// Application bytes that wait to be sent.
    pub const fn waiting(&self) -> Bytes {
        self.waiting
    }

    /// Writes refused so far.
    pub const fn refused(&self) -> Refused {
        self.refused
    }

    /// Datagrams sent so far.
    pub const fn packets_sent(&self) -> u64 {
        self.next_seq
    }
}
