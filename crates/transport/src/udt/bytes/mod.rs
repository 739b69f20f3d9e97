//! The thin layer that gives a [`Connection`] bytes: wire encoding, written data that may have to be
//! resent, arrived data that were not taken.
//!
//! Its memory is bounded by the send buffer, and by the configuration's receive buffer times the packet
//! size. One copy is made on each side: from the application, and to it.

mod arrived;
mod written;

use incastle_units::{Ecn, Time};
use rand_core::Rng;
use thiserror::Error;

use super::connection::{Connection, Event, MessageOptions, Transmit};
use super::received::Received;
use super::wire::{
    Content, HEADER_BYTES, IP_UDP_BYTES, WireError, data_header, data_sequence, parse, write,
};
use arrived::Arrived;
use written::{Location, Written};

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// It is empty.
    #[error("a message must hold at least one byte")]
    Empty,
    /// It could never be kept or delivered whole.
    #[error(
        "a message of {bytes} bytes is longer than the {most} that the buffers of both endpoints take"
    )]
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

/// Data packets that have come and gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Moved {
    received: u64,
    sent: u64,
}

/// One endpoint of a connection, with its bytes.
pub struct ByteConnection {
    core: Connection,
    written: Written,
    send_buffer: usize,
    arrived: Arrived,
    /// Bytes of the packet in line that were taken.
    taken: usize,
    /// A datagram outside of the written data: a control packet, data sent again.
    single: Vec<u8>,
    /// Such a datagram that was polled while a batch was gathered: it leaves next.
    waiting: Option<Ecn>,
    /// At the last timeout.
    moved: Moved,
}

/// Datagrams that leave together: all of one length but the last, which may be shorter, and all with
/// the same ECN field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The ECN field of their IP packets.
    pub ecn: Ecn,
    /// The length of all but the last.
    pub segment: usize,
    /// Their place in the written data; absent for a single one elsewhere.
    location: Option<Location>,
}

impl ByteConnection {
    /// Gives bytes to a connection that was just made and does not deliver immediately. `send_buffer`
    /// is the most that may be written and not acknowledged, in bytes.
    pub fn new(core: Connection, send_buffer: usize) -> Self {
        assert!(!core.reads_at_once(), "the bytes are taken by their reader");
        assert!(
            core.unacknowledged() == 0,
            "nothing was written without bytes"
        );
        Self {
            core,
            written: Written::default(),
            send_buffer,
            arrived: Arrived::default(),
            taken: 0,
            single: Vec::new(),
            waiting: None,
            moved: Moved::default(),
        }
    }

    /// The state machine inside.
    pub const fn core(&self) -> &Connection {
        &self.core
    }

    /// A datagram arrived, with the ECN field of its IP packet or with that and its time stamp. A
    /// datagram that is no packet of this connection is counted and ignored; the error is that of the
    /// format.
    pub fn handle_datagram(
        &mut self,
        now: Time,
        datagram: &[u8],
        received: impl Into<Received>,
        rng: &mut dyn Rng,
    ) -> Result<(), WireError> {
        let view = match self.parse(datagram) {
            Ok(view) => view,
            Err(error) => {
                self.core.stats_mut().refused.malformed[error.index()] += 1;
                return Err(error);
            }
        };
        let (packet, body) = (&view.packet, view.body());
        let stored = self.core.handle(now, packet, body, received, rng);
        if let Some(packet) = stored {
            self.arrived.store(packet, view.payload);
        }
        self.release();
        Ok(())
    }

    fn parse<'a>(&self, datagram: &'a [u8]) -> Result<super::wire::View<'a>, WireError> {
        // Longer than any packet that was agreed.
        let most = self.core.packet_size() - IP_UDP_BYTES;
        if datagram.len() > most as usize {
            return Err(WireError::Long(datagram.len()));
        }
        parse(datagram, self.core.dialect())
    }

    /// Releases data that will not be read or sent again.
    fn release(&mut self) {
        self.arrived.release(self.core.received_base());
        self.written.release(self.core.acknowledged_offset());
    }

    /// The instant of [`Self::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        self.core.handle_timeout(now, rng);
        let stats = self.core.stats();
        let moved = Moved {
            received: stats.packets_received,
            sent: stats.packets_sent,
        };
        if std::mem::replace(&mut self.moved, moved) == moved {
            // Nothing has moved between two timeouts: an idle connection is small.
            self.arrived.trim();
            self.written.trim();
            self.single = Vec::new();
        }
    }

    /// When to call [`Self::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        self.core.poll_timeout()
    }

    /// The next event.
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
        let batch = self.poll_batch(now, 1, rng)?;
        out.clear();
        out.extend_from_slice(self.batch(&batch));
        Some(batch.ecn)
    }

    /// The next datagrams that leave now, at most `most`; [`Self::batch`] has their bytes, until the next
    /// call.
    pub fn poll_batch(&mut self, now: Time, most: usize, rng: &mut dyn Rng) -> Option<Batch> {
        if let Some(ecn) = self.waiting.take() {
            return Some(self.single(ecn));
        }
        let transmit = self.core.poll_transmit(now, rng)?;
        let Some(first) = self.put_in_place(&transmit) else {
            self.put_aside(&transmit);
            return Some(self.single(transmit.ecn));
        };
        let (mut all, mut count) = (first, 1);
        let segment = first.end - first.start;
        while count < most && self.written.follows(all) {
            let Some(next) = self.core.poll_transmit(now, rng) else {
                break;
            };
            let fits = next.ecn == transmit.ecn && next.is_shorter_than(segment + 1);
            let place = if fits { self.put_in_place(&next) } else { None };
            let Some(location) = place.filter(|place| place.start == all.end) else {
                self.put_aside(&next);
                self.waiting = Some(next.ecn);
                break;
            };
            all.end = location.end;
            count += 1;
            if next.is_shorter_than(segment) {
                break;
            }
        }
        Some(Batch {
            ecn: transmit.ecn,
            segment,
            location: Some(all),
        })
    }

    /// The bytes of the batch polled last.
    pub fn batch(&self, batch: &Batch) -> &[u8] {
        match batch.location {
            Some(location) => self.written.packet(location),
            None => &self.single,
        }
    }

    fn single(&self, ecn: Ecn) -> Batch {
        Batch {
            ecn,
            segment: self.single.len(),
            location: None,
        }
    }

    /// Writes the header of data that leave for the first time where their payload lies.
    fn put_in_place(&mut self, transmit: &Transmit) -> Option<Location> {
        let Content::Data(header) = &transmit.packet.content else {
            return None;
        };
        if transmit.retransmission {
            return None;
        }
        let payload = self.core.payload();
        let location = self.written.first_time(payload, transmit.offset);
        let length = location.end - location.start;
        assert_eq!(length, HEADER_BYTES + usize::from(header.length));
        let header = data_header(&transmit.packet, header, self.core.dialect());
        self.written.put_header(location, header);
        Some(location)
    }

    /// Writes a separate datagram.
    fn put_aside(&mut self, transmit: &Transmit) {
        // A handshake looks alike in both.
        let dialect = self.core.dialect();
        let payload = match &transmit.packet.content {
            Content::Control(_) => &[],
            Content::Data(_) => {
                let location = self.written.again(transmit.offset);
                &self.written.packet(location)[HEADER_BYTES..]
            }
        };
        let body = self.core.body();
        self.single.clear();
        write(&transmit.packet, body, payload, dialect, &mut self.single);
    }

    /// Adds as much to the stream as the send buffer has room for. Returns the bytes added: 0 when
    /// it is full, and after the end.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        if self.core.is_closing() || self.core.is_over() {
            return 0;
        }
        self.release();
        let room = self.send_buffer.saturating_sub(self.written.bytes());
        let count = bytes.len().min(room);
        self.written.write(self.core.payload(), &bytes[..count]);
        self.core.write(count as u64);
        count
    }

    /// Adds a message. Both the send buffer and the peer's window must take it whole.
    pub fn send_message(
        &mut self,
        now: Time,
        bytes: &[u8],
        options: MessageOptions,
    ) -> Result<(), SendError> {
        if self.core.is_closing() || self.core.is_over() {
            return Err(SendError::Over);
        }
        if bytes.is_empty() {
            return Err(SendError::Empty);
        }
        let length = bytes.len() as u64;
        let most = self.core.max_message().min(self.send_buffer as u64);
        if length > most {
            return Err(SendError::Long {
                bytes: length,
                most,
            });
        }
        self.release();
        if self.written.bytes() + bytes.len() > self.send_buffer {
            return Err(SendError::Full);
        }
        self.written.write_message(self.core.payload(), bytes);
        self.core.write_message(now, length, options);
        Ok(())
    }

    /// Takes bytes of the stream; gives how many.
    pub fn read(&mut self, now: Time, out: &mut [u8]) -> usize {
        let (mut count, mut packets) = (0, 0);
        let readable = self.core.readable();
        while packets < readable && count < out.len() {
            let packet = self.arrived.payload(self.core.received_base() + packets);
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
            bytes.extend_from_slice(self.arrived.payload(packet));
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
        self.written.bytes()
    }

    /// The application has nothing more to send.
    pub fn close(&mut self, now: Time) {
        self.core.close(now);
    }

    /// Gives the connection up immediately and sends the peer a shutdown.
    pub fn abort(&mut self) {
        self.core.abort();
    }

    /// Discards arrived data that are not wanted any more.
    pub fn discard(&mut self, now: Time) {
        while self.core.take_message(now).is_some() {}
        self.taken = 0;
        self.core.consume(now, self.core.readable());
        self.release();
    }

    /// Packets that arrived and were not taken.
    pub const fn held(&self) -> usize {
        self.arrived.stored()
    }

    /// Whether this is the data packet that all later ones wait for.
    pub fn is_next(&self, datagram: &[u8]) -> bool {
        data_sequence(datagram) == Some(self.core.next_expected())
    }

    /// Whether the application has anything to take.
    pub fn has_something(&self) -> bool {
        self.core.readable() > 0 || self.core.next_message().is_some()
    }
}

impl Transmit {
    /// Whether its datagram is shorter than that.
    const fn is_shorter_than(&self, bytes: usize) -> bool {
        match &self.packet.content {
            Content::Data(header) => HEADER_BYTES + (header.length as usize) < bytes,
            Content::Control(_) => false,
        }
    }
}
