//! Datagrams: a sender that cuts what the application writes into packets, and a receiver that
//! counts. Models UDP (RFC 768) as far as a network sees it. Leaves out: ports, checksums, content.

use std::collections::VecDeque;

use incastle_units::{Bytes, Time};

/// What a datagram says besides its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// 0, 1, 2, ... in the order of sending.
    pub seq: u64,
    /// When it was handed to the adapter.
    pub sent_at: Time,
    /// Bytes of application data. As wide as a segment's sequence number, with which it shares memory
    /// in a simulated packet: halves would be copied apart and stall the reader.
    pub payload: u32,
}

/// Either end of a datagram flow.
#[derive(Debug, Clone, Default)]
pub struct Endpoint {
    /// Payload sizes that the application wrote and that have not left.
    backlog: VecDeque<u16>,
    next_seq: u64,
    sent: Bytes,
    received: Bytes,
}

impl Endpoint {
    /// An endpoint that has sent and received nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes one datagram of `payload` bytes.
    pub fn write(&mut self, payload: u16) {
        self.backlog.push_back(payload);
    }

    /// Forgets what was written and has not left.
    pub fn stop(&mut self) {
        self.backlog.clear();
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
        self.sent += Bytes::new(u64::from(payload));
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

    /// Datagrams sent so far.
    pub const fn packets_sent(&self) -> u64 {
        self.next_seq
    }
}
