//! An endpoint with a key: every datagram is sealed before it goes to the socket and opened when it comes from
//! it (docs/models/dcudp-secure.md). Connections do not notice; to them a datagram that waits for a
//! handshake is one that takes long, or is lost. The sessions are in `secure`.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use incastle_secure::{OVERHEAD, Path, Sealed, Transmit};
use quinn_udp::Transmit as Datagrams;

use crate::ConnectError;
use crate::base::{ConnectionClock, count, lock};
use crate::config::EndpointTraits;
use crate::ecn::codepoint;
use crate::port::Port;
use crate::secure::{Secure, ready};

impl Port {
    /// Bytes that sealing adds to a datagram.
    pub(crate) fn overhead(&self) -> usize {
        if self.secure.is_some() { OVERHEAD } else { 0 }
    }

    /// The properties of its connections.
    pub(crate) fn traits(&self) -> EndpointTraits {
        EndpointTraits {
            sealing: self.overhead(),
            quantum: self.config.quantum / self.config.dilation.max(1),
        }
    }

    /// The clock of a connection that begins.
    pub(crate) fn clock(&self, now: Instant) -> ConnectionClock {
        ConnectionClock {
            epoch: now,
            dilation: self.config.dilation.max(1),
        }
    }

    /// Sends datagrams sealed. Those that wait for a handshake, or are dropped for want of room, have
    /// left as far as the caller is concerned.
    pub(crate) fn send_sealed(&self, secure: &Secure, datagrams: &Datagrams<'_>) -> io::Result<()> {
        let mut bytes = secure.take_buffer();
        let (sealed, handshakes) = secure.seal(datagrams, &mut bytes, Instant::now());
        let sent = self.send_handshakes(&handshakes);
        if !handshakes.is_empty() {
            // The driver has one more to watch over.
            self.wake();
        }
        let result = match sealed {
            Sealed::Ready => self.send_plain(&Datagrams {
                contents: &bytes,
                segment_size: datagrams.segment_size.map(|segment| segment + OVERHEAD),
                ..*datagrams
            }),
            // Where there is no path for a handshake, there is none for what waits for it.
            Sealed::Waiting => sent,
            Sealed::Dropped => Ok(()),
        };
        secure.give_buffer(bytes);
        result
    }

    /// Opens datagrams in place, and responds to handshakes among them; returns the plaintexts' ranges.
    pub(crate) fn open(
        &self,
        secure: &Secure,
        path: Path,
        bytes: &mut [u8],
        stride: usize,
        now: Instant,
    ) -> Vec<Range<usize>> {
        let mut plaintexts = Vec::with_capacity(bytes.len().div_ceil(stride));
        let handshakes = secure.open(path, bytes, stride, now, &mut plaintexts);
        // Reported to nobody: handshakes are repeated.
        let _ = self.send_handshakes(&handshakes);
        plaintexts
    }

    /// When the sessions have something to do.
    pub(crate) fn sessions_alarm(&self) -> Option<Instant> {
        let secure = self.secure.as_ref()?;
        let at = lock(&secure.sessions).poll_timeout()?;
        let ns = at.as_ps().div_ceil(1000);
        secure.epoch.checked_add(Duration::from_nanos(ns))
    }

    /// Lets the sessions act, if their time has come.
    pub(crate) fn expire_sessions(&self, now: Instant) {
        let Some(secure) = &self.secure else {
            return;
        };
        let time = secure.time(now);
        let handshakes = {
            let mut sessions = lock(&secure.sessions);
            if sessions.poll_timeout().is_none_or(|at| at > time) {
                return;
            }
            sessions.handle_timeout(time);
            ready(&mut sessions)
        };
        let _ = self.send_handshakes(&handshakes);
    }

    /// Sends what the sessions want to send. What the socket does not take is lost: handshakes are
    /// repeated, and so is what waited for them. Gives the last other error.
    fn send_handshakes(&self, transmits: &[Transmit]) -> io::Result<()> {
        let mut result = Ok(());
        for transmit in transmits {
            let sent = self.send_plain(&Datagrams {
                destination: transmit.path.peer,
                ecn: codepoint(transmit.ecn),
                contents: &transmit.bytes,
                segment_size: None,
                src_ip: transmit.path.source,
            });
            match sent {
                Ok(()) => {
                    count(&self.counters.datagrams_sent, 1);
                    count(&self.counters.sends, 1);
                }
                Err(error) => {
                    tracing::debug!(peer = %transmit.path.peer, %error, "a handshake was not sent");
                    if error.kind() != io::ErrorKind::WouldBlock {
                        result = Err(error);
                    }
                }
            }
        }
        result
    }

    /// Why nobody answered, as far as an endpoint with a key can find out.
    pub(crate) fn explain(&self, error: ConnectError) -> ConnectError {
        match (&self.secure, error) {
            (Some(secure), ConnectError::NoAnswer(peer)) => secure.explain(peer),
            (_, error) => error,
        }
    }
}
