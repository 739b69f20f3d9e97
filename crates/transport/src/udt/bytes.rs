//! The thin layer that gives a [`Connection`] bytes: wire encoding, what was written and may have to be
//! sent again, what arrived and was not taken.
//!
//! Its memory is bounded by the send buffer, and by the configuration's receive buffer times the packet
//! size. Leaves out: copying less; one copy is made on each side.

use std::collections::VecDeque;

use incastle_units::{Ecn, Span, Time};
use rand_core::Rng;
use thiserror::Error;

use super::connection::{Connection, Event};
use super::wire::{Content, IP_UDP_BYTES, WireError, parse, write};

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// It is empty.
    #[error("a message must hold at least one byte")]
    Empty,
    /// It could never be delivered whole.
    #[error("a message of {bytes} bytes is longer than the {most} that the peer's buffer takes")]
    Long {
        /// Its length.
        bytes: u64,
        /// The longest that could be sent.
        most: u64,
    },
    /// The send buffer has no room for it now.
    #[error("the send buffer is full")]
    Full,
    /// The connection was closed, or failed.
    #[error("the connection is over")]
    Over,
}

/// One end of a connection, with its bytes.
pub struct ByteConnection {
    core: Connection,
    /// What was written from offset `base` on.
    written: VecDeque<u8>,
    base: u64,
    send_buffer: usize,
    /// What arrived, from packet `first` on.
    arrived: VecDeque<Option<Box<[u8]>>>,
    first: u64,
    /// Bytes of the packet in line that were taken.
    taken: usize,
}

impl ByteConnection {
    /// Gives bytes to a connection that was just made and does not read at once. `send_buffer` is the
    /// most that may be written and not acknowledged, in bytes.
    pub fn new(core: Connection, send_buffer: usize) -> Self {
        assert!(!core.reads_at_once(), "the bytes are taken by their reader");
        assert!(
            core.unacknowledged() == 0,
            "nothing was written without bytes"
        );
        Self {
            core,
            written: VecDeque::new(),
            base: 0,
            send_buffer,
            arrived: VecDeque::new(),
            first: 0,
            taken: 0,
        }
    }

    /// The state machine inside.
    pub const fn core(&self) -> &Connection {
        &self.core
    }

    /// A datagram arrived, with the ECN field of its IP packet. What is no packet of this connection
    /// is counted and ignored; the error says what was wrong with the format.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        datagram: &[u8],
        ecn: Ecn,
        rng: &mut dyn Rng,
    ) -> Result<(), WireError> {
        let view = match self.parse(datagram) {
            Ok(view) => view,
            Err(error) => {
                self.core.stats_mut().refused.malformed[error.index()] += 1;
                return Err(error);
            }
        };
        let stored = self.core.handle(now, &view.packet, view.beside(), ecn, rng);
        if let Some(packet) = stored {
            self.store(packet, view.payload);
        }
        self.release();
        Ok(())
    }

    fn parse<'a>(&self, datagram: &'a [u8]) -> Result<super::wire::View<'a>, WireError> {
        // Longer than any packet that was agreed, whatever it says.
        let most = self.core.packet_size() - IP_UDP_BYTES;
        if datagram.len() > most as usize {
            return Err(WireError::Long(datagram.len()));
        }
        parse(datagram, self.core.dialect())
    }

    fn store(&mut self, packet: u64, payload: &[u8]) {
        if packet < self.first {
            return;
        }
        let index = (packet - self.first) as usize;
        if index >= self.arrived.len() {
            self.arrived.resize(index + 1, None);
        }
        self.arrived[index] = Some(payload.into());
    }

    /// Lets go of what nobody will ask for again.
    fn release(&mut self) {
        let base = self.core.received_base();
        while self.first < base {
            self.arrived.pop_front();
            self.first += 1;
        }
        let acknowledged = self.core.acknowledged_offset();
        self.written.drain(..(acknowledged - self.base) as usize);
        self.base = acknowledged;
    }

    /// The instant of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        self.core.handle_timeout(now, rng);
    }

    /// When to call [`Self::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        self.core.poll_timeout()
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.core.poll_event()
    }

    /// The next datagram that leaves now, written to `out`, and the ECN field of its IP packet.
    pub fn poll_transmit(
        &mut self,
        now: Time,
        out: &mut Vec<u8>,
        rng: &mut dyn Rng,
    ) -> Option<Ecn> {
        out.clear();
        self.append_transmit(now, out, rng)
    }

    /// The next datagram that leaves now, added to the end of `out`, where others may stand that leave
    /// in the same system call.
    pub fn append_transmit(
        &mut self,
        now: Time,
        out: &mut Vec<u8>,
        rng: &mut dyn Rng,
    ) -> Option<Ecn> {
        let transmit = self.core.poll_transmit(now, rng)?;
        // A handshake looks alike in both.
        let dialect = self.core.dialect();
        match &transmit.packet.content {
            Content::Control(_) => {
                write(&transmit.packet, self.core.beside(), &[], dialect, out);
            }
            Content::Data(header) => {
                let start = (transmit.offset - self.base) as usize;
                let end = start + usize::from(header.length);
                let payload = contiguous(&mut self.written, start..end);
                write(&transmit.packet, self.core.beside(), payload, dialect, out);
            }
        }
        Some(transmit.ecn)
    }

    /// Adds to the stream what the send buffer has room for; gives how much that was: 0 when it is
    /// full, and after the end.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if self.core.is_closing() || self.core.is_over() {
            return 0;
        }
        self.release();
        let room = self.send_buffer.saturating_sub(self.written.len());
        let count = bytes.len().min(room);
        self.written.extend(&bytes[..count]);
        self.core.write(count as u64);
        count
    }

    /// Adds a message, which is given up once `ttl` has passed. One that is not `in_order` may be taken
    /// before earlier ones.
    pub fn send_message(
        &mut self,
        now: Time,
        bytes: &[u8],
        ttl: Option<Span>,
        in_order: bool,
    ) -> Result<(), SendError> {
        if self.core.is_closing() || self.core.is_over() {
            return Err(SendError::Over);
        }
        if bytes.is_empty() {
            return Err(SendError::Empty);
        }
        let (length, most) = (bytes.len() as u64, self.core.max_message());
        if length > most {
            return Err(SendError::Long {
                bytes: length,
                most,
            });
        }
        self.release();
        if self.written.len() + bytes.len() > self.send_buffer.max(bytes.len()) {
            return Err(SendError::Full);
        }
        self.written.extend(bytes);
        self.core.write_message(now, length, ttl, in_order);
        Ok(())
    }

    /// Takes bytes of the stream; gives how many.
    pub fn read(&mut self, now: Time, out: &mut [u8]) -> usize {
        let (mut count, mut packets) = (0, 0);
        let readable = self.core.readable();
        while packets < readable && count < out.len() {
            let index = (self.core.received_base() + packets - self.first) as usize;
            let packet = self.arrived[index]
                .as_deref()
                .expect("a packet that arrived");
            let rest = &packet[self.taken..];
            let part = rest.len().min(out.len() - count);
            out[count..count + part].copy_from_slice(&rest[..part]);
            count += part;
            self.taken += part;
            if self.taken == packet.len() {
                self.taken = 0;
                packets += 1;
            }
        }
        self.core.consume(now, packets);
        self.release();
        count
    }

    /// Takes a complete message.
    pub fn receive_message(&mut self, now: Time) -> Option<Vec<u8>> {
        let message = self.core.next_message()?;
        let mut bytes = Vec::with_capacity(message.bytes as usize);
        for packet in message.first..=message.last {
            let index = (packet - self.first) as usize;
            bytes.extend_from_slice(
                self.arrived[index]
                    .as_deref()
                    .expect("a packet that arrived"),
            );
        }
        self.core.take_message(now);
        self.release();
        Some(bytes)
    }

    /// The most that may be written and not acknowledged, in bytes.
    pub const fn send_buffer(&self) -> usize {
        self.send_buffer
    }

    /// Bytes that were written and not acknowledged, or not yet forgotten.
    pub fn buffered(&self) -> usize {
        self.written.len()
    }

    /// The application has nothing more to say.
    pub fn close(&mut self, now: Time) {
        self.core.close(now);
    }

    /// Gives the connection up at once; the peer is told.
    pub fn abort(&mut self) {
        self.core.abort();
    }

    /// Takes what arrived and nobody wants any more.
    pub fn discard(&mut self, now: Time) {
        while self.core.take_message(now).is_some() {}
        self.taken = 0;
        self.core.consume(now, self.core.readable());
        self.release();
    }

    /// Packets that arrived and were not taken, those that wait for earlier ones included.
    pub fn held(&self) -> usize {
        self.arrived.len()
    }
}

/// A part of a ring in one piece.
fn contiguous(ring: &mut VecDeque<u8>, range: std::ops::Range<usize>) -> &[u8] {
    let split = ring.as_slices().0.len();
    if range.end <= split {
        return &ring.as_slices().0[range];
    }
    if range.start >= split {
        return &ring.as_slices().1[range.start - split..range.end - split];
    }
    // Once per round of the ring.
    &ring.make_contiguous()[range]
}
