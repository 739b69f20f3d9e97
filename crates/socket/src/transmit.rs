//! Transmission of a connection's datagrams, and of batches that the socket refused.

use std::io;

use incastle_units::Time;
use quinn_udp::is_msg_size_err;

use crate::datagrams::{Refused, Shape};
use crate::port::Port;
use crate::shared::{Left, Phase, Shared, State};
use crate::{ConnectError, ConnectionError};

/// System calls for one connection before it is others' turn.
const MAX_BATCHES: usize = 16;

impl State {
    /// Sends what may leave.
    pub(crate) fn transmit(&mut self, shared: &Shared, port: &Port, now: Time) -> Left {
        if let Some(Refused { shape, bytes }) = self.refused.take() {
            let result = port.submit(shared.path(), shape, &bytes);
            if self.is_refused(shared, port, result) {
                self.refused = Some(Refused { shape, bytes });
                return Left::Blocked;
            }
        }
        assert!(self.refused.is_none(), "datagrams keep their order");
        for _ in 0..MAX_BATCHES {
            let most = port.segments(self.connection.core().packet_size());
            let Some(batch) = self.connection.poll_batch(now, most, &mut self.rng) else {
                return Left::Nothing;
            };
            let (segment, ecn) = (batch.segment, batch.ecn);
            let shape = Shape { segment, ecn };
            let bytes = self.connection.batch(&batch);
            let result = port.submit(shared.path(), shape, bytes);
            if result.is_ok() {
                continue;
            }
            let bytes = bytes.to_vec();
            if self.is_refused(shared, port, result) {
                self.refused = Some(Refused { shape, bytes });
                return Left::Blocked;
            }
        }
        Left::More
    }

    /// Whether the socket takes nothing now. Any other error loses what was to be sent.
    fn is_refused(&mut self, shared: &Shared, port: &Port, result: io::Result<()>) -> bool {
        match result {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(error) => {
                self.note_send_error(shared, port, error);
                false
            }
        }
    }

    /// A refused datagram counts as lost, unless it can never be sent.
    fn note_send_error(&mut self, shared: &Shared, port: &Port, error: io::Error) {
        tracing::debug!(peer = %shared.peer, %error, "a datagram was not sent");
        if is_msg_size_err(&error) {
            let packet_size = self.connection.core().packet_size() + port.overhead() as u32;
            self.give_up(shared, ConnectionError::PacketSize { packet_size });
        } else if self.phase == Phase::Connecting {
            self.refusal
                .get_or_insert(ConnectError::Unreachable(shared.peer, error));
            self.give_up(shared, ConnectionError::Closed);
        }
    }
}
