//! From packets to system calls: datagrams of one size and one ECN field that leave together go to the
//! kernel as one (GSO), the last of which may be shorter.

use std::collections::VecDeque;
use std::io;

use incastle_units::{Ecn, Time};
use quinn_udp::{EcnCodepoint, Transmit, is_msg_size_err};
use tokio::io::Interest;

use crate::inner::{Inner, count};
use crate::shared::{Phase, Shared, State};
use crate::{ConnectError, ConnectionError};

/// System calls for one connection before it is others' turn.
const MAX_BATCHES: usize = 16;
/// The longest UDP payload over IPv4.
const MAX_PAYLOAD: usize = 65_507;

/// What the socket did not take.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    waiting: VecDeque<(Shape, Vec<u8>)>,
}

/// Datagrams that leave in one system call.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// The length of all but the last.
    segment: usize,
    ecn: Ecn,
    /// Bytes of all.
    end: usize,
}

/// Datagrams that are put together: one batch, and the datagram that did not fit into it.
struct Assembly {
    bytes: Vec<u8>,
    carried: Option<(usize, Ecn)>,
}

/// What became of a batch.
#[derive(PartialEq, Eq)]
enum Sent {
    Gone,
    Blocked,
}

impl State {
    /// Sends what may leave. Gives whether the socket takes no more, and whether there is more to send.
    pub(crate) fn transmit(&mut self, shared: &Shared, inner: &Inner, now: Time) -> (bool, bool) {
        while let Some((shape, bytes)) = self.outgoing.waiting.pop_front() {
            if self.send(shared, inner, shape, &bytes) == Sent::Blocked {
                self.outgoing.waiting.push_front((shape, bytes));
                return (true, false);
            }
        }
        let mut assembly = Assembly {
            bytes: inner.take_buffer(),
            carried: None,
        };
        let mut batches = 0;
        let ended = loop {
            let Some(shape) = self.assemble(inner, now, &mut assembly) else {
                break (false, false);
            };
            if self.send(shared, inner, shape, &assembly.bytes[..shape.end]) == Sent::Blocked {
                self.keep(shape, &assembly);
                break (true, false);
            }
            assembly.bytes.drain(..shape.end);
            batches += 1;
            if batches >= MAX_BATCHES && assembly.carried.is_none() {
                break (false, true);
            }
        };
        inner.give_buffer(assembly.bytes);
        ended
    }

    /// Puts the next batch together; nothing where nothing may leave.
    fn assemble(&mut self, inner: &Inner, now: Time, assembly: &mut Assembly) -> Option<Shape> {
        let (segment, ecn) = match assembly.carried.take() {
            Some(carried) => carried,
            None => self.append(now, &mut assembly.bytes)?,
        };
        let most = inner.segments().min(MAX_PAYLOAD / segment);
        let mut count = 1;
        while count < most {
            let end = assembly.bytes.len();
            let Some((length, next)) = self.append(now, &mut assembly.bytes) else {
                break;
            };
            if next != ecn || length > segment {
                assembly.carried = Some((length, next));
                return Some(Shape { segment, ecn, end });
            }
            count += 1;
            if length < segment {
                break;
            }
        }
        let end = assembly.bytes.len();
        Some(Shape { segment, ecn, end })
    }

    fn append(&mut self, now: Time, bytes: &mut Vec<u8>) -> Option<(usize, Ecn)> {
        let before = bytes.len();
        let ecn = self.connection.append_transmit(now, bytes, &mut self.rng)?;
        Some((bytes.len() - before, ecn))
    }

    /// Keeps what the socket does not take now.
    fn keep(&mut self, shape: Shape, assembly: &Assembly) {
        let (first, rest) = assembly.bytes.split_at(shape.end);
        self.outgoing.waiting.push_back((shape, first.to_vec()));
        if let Some((segment, ecn)) = assembly.carried {
            let end = segment;
            let shape = Shape { segment, ecn, end };
            self.outgoing.waiting.push_back((shape, rest.to_vec()));
        }
    }

    fn send(&mut self, shared: &Shared, inner: &Inner, shape: Shape, bytes: &[u8]) -> Sent {
        let transmit = Transmit {
            destination: shared.peer,
            ecn: codepoint(shape.ecn),
            contents: bytes,
            segment_size: (bytes.len() > shape.segment).then_some(shape.segment),
            src_ip: shared.source,
        };
        match inner.send(&transmit) {
            Ok(()) => {
                let datagrams = bytes.len().div_ceil(shape.segment);
                count(&inner.counters.datagrams_sent, datagrams as u64);
                count(&inner.counters.sends, 1);
                Sent::Gone
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Sent::Blocked,
            Err(error) => {
                self.note_send_error(shared, error);
                Sent::Gone
            }
        }
    }

    /// What the socket refused counts as lost, unless it can never be sent.
    fn note_send_error(&mut self, shared: &Shared, error: io::Error) {
        tracing::debug!(peer = %shared.peer, %error, "a datagram was not sent");
        if is_msg_size_err(&error) {
            let packet_size = self.connection.core().packet_size();
            self.give_up(shared, ConnectionError::PacketSize { packet_size });
        } else if self.phase == Phase::Connecting {
            self.refusal
                .get_or_insert(ConnectError::Unreachable(shared.peer, error));
            self.give_up(shared, ConnectionError::Closed);
        }
    }
}

impl Inner {
    /// How many datagrams the kernel takes in one call.
    fn segments(&self) -> usize {
        if self.config.offload {
            self.udp.max_gso_segments()
        } else {
            1
        }
    }

    /// Sends; an error that an earlier datagram brought back says nothing of this one.
    pub(crate) fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let attempt = || {
            let send = || self.udp.try_send((&self.socket).into(), transmit);
            self.socket.try_io(Interest::WRITABLE, send)
        };
        match attempt() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock && self.take_errors() => {
                attempt()
            }
            result => result,
        }
    }
}

pub(crate) fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

/// ECT(1) is sent by none of ours: a path that writes it is not to be trusted with marks (RFC 9000,
/// section 13.4.2.1).
pub(crate) fn ecn_of(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None | Some(EcnCodepoint::Ect1) => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
