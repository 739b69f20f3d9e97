//! From packets to system calls: datagrams of one size and one ECN field that leave together go to the
//! kernel as one (GSO), the last of which may be shorter.

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
/// What UDT's packet sizes count around a datagram: IPv4 and UDP.
const HEADERS: usize = 28;

/// What the socket did not take: a batch, and its datagrams.
pub(crate) type Refused = Option<(Shape, Vec<u8>)>;

/// Datagrams that leave in one system call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// The length of all but the last.
    segment: usize,
    ecn: Ecn,
}

impl State {
    /// Sends what may leave. Gives whether the socket takes no more, and whether there is more to send.
    pub(crate) fn transmit(&mut self, shared: &Shared, inner: &Inner, now: Time) -> (bool, bool) {
        if let Some((shape, bytes)) = self.refused.take() {
            let result = inner.submit(shared, shape, &bytes);
            if self.is_refused(shared, inner, result) {
                self.refused = Some((shape, bytes));
                return (true, false);
            }
        }
        for _ in 0..MAX_BATCHES {
            let most = inner.segments(self.connection.core().packet_size());
            let Some(batch) = self.connection.poll_batch(now, most, &mut self.rng) else {
                return (false, false);
            };
            let (segment, ecn) = (batch.segment, batch.ecn);
            let shape = Shape { segment, ecn };
            let bytes = self.connection.batch(&batch);
            let result = inner.submit(shared, shape, bytes);
            if result.is_ok() {
                continue;
            }
            let bytes = bytes.to_vec();
            if self.is_refused(shared, inner, result) {
                self.refused = Some((shape, bytes));
                return (true, false);
            }
        }
        (false, true)
    }

    /// Whether the socket takes nothing now. Any other error loses what was to be sent.
    fn is_refused(&mut self, shared: &Shared, inner: &Inner, result: io::Result<()>) -> bool {
        match result {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(error) => {
                self.note_send_error(shared, inner, error);
                false
            }
        }
    }

    /// What the socket refused counts as lost, unless it can never be sent.
    fn note_send_error(&mut self, shared: &Shared, inner: &Inner, error: io::Error) {
        tracing::debug!(peer = %shared.peer, %error, "a datagram was not sent");
        if is_msg_size_err(&error) {
            let packet_size = self.connection.core().packet_size() + inner.overhead() as u32;
            self.give_up(shared, ConnectionError::PacketSize { packet_size });
        } else if self.phase == Phase::Connecting {
            self.refusal
                .get_or_insert(ConnectError::Unreachable(shared.peer, error));
            self.give_up(shared, ConnectionError::Closed);
        }
    }
}

impl Inner {
    /// How many datagrams of a connection the kernel takes in one call.
    fn segments(&self, packet_size: u32) -> usize {
        if !self.config.offload {
            return 1;
        }
        let longest = packet_size as usize - HEADERS + self.overhead();
        self.udp.max_gso_segments().min(MAX_PAYLOAD / longest)
    }

    /// Sends a connection's datagrams.
    fn submit(&self, shared: &Shared, shape: Shape, bytes: &[u8]) -> io::Result<()> {
        let transmit = Transmit {
            destination: shared.peer,
            ecn: codepoint(shape.ecn),
            contents: bytes,
            segment_size: (bytes.len() > shape.segment).then_some(shape.segment),
            src_ip: shared.source,
        };
        self.send(&transmit)?;
        let datagrams = bytes.len().div_ceil(shape.segment);
        count(&self.counters.datagrams_sent, datagrams as u64);
        count(&self.counters.sends, 1);
        Ok(())
    }

    /// Sends, sealed if this endpoint has a key.
    pub(crate) fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match &self.secure {
            Some(secure) => self.send_sealed(secure, transmit),
            None => self.send_plain(transmit),
        }
    }

    /// Sends; an error that an earlier datagram brought back says nothing of this one.
    pub(crate) fn send_plain(&self, transmit: &Transmit<'_>) -> io::Result<()> {
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
