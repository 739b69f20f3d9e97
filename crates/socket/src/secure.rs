//! An endpoint with a key: every datagram is sealed before it goes to the socket and opened when it comes from
//! it, by the sans-IO sessions of `incastle_secure` (docs/models/dcudp-secure.md). Connections do not know
//! of it; to them a datagram that waits for a handshake is one that takes long, or is lost.
//!
//! The sessions have one lock, which is held while a batch is sealed or opened, and not in a system call.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use getrandom::SysRng;
use incastle_secure::{
    Batch, HEADER_BYTES, Key, OVERHEAD, Opened, Path, Sealed, Sessions, Statistics, TAG_BYTES,
    Transmit,
};
use incastle_units::Time;
use quinn_udp::Transmit as Datagrams;
use rand_core::UnwrapErr;

use crate::ConnectError;
use crate::config::EndpointTraits;
use crate::inner::{Inner, count, lock, time_since};
use crate::transmit::{codepoint, ecn_of};

/// Buffers that are kept for batches.
const MAX_BUFFERS: usize = 16;

/// The sessions of an endpoint with a key.
pub(crate) struct Secure {
    epoch: Instant,
    sessions: Mutex<Sessions>,
    /// Buffers in which batches are sealed.
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl Secure {
    /// Fails where the system gives no random numbers.
    pub(crate) fn new(key: &Key, max_sessions: usize) -> io::Result<Self> {
        getrandom::fill(&mut [0; 32])?;
        Ok(Self {
            epoch: Instant::now(),
            sessions: Mutex::new(Sessions::new(key, max_sessions)),
            buffers: Mutex::default(),
        })
    }

    pub(crate) fn statistics(&self) -> Statistics {
        lock(&self.sessions).statistics()
    }

    /// Opens datagrams of one length, the last of which may be shorter, in place: where the texts are.
    fn open(
        &self,
        path: Path,
        bytes: &mut [u8],
        stride: usize,
        now: Instant,
        texts: &mut Vec<Range<usize>>,
    ) -> Vec<Transmit> {
        let time = self.time(now);
        let mut sessions = lock(&self.sessions);
        let mut start = 0;
        for datagram in bytes.chunks_mut(stride) {
            let length = datagram.len();
            match sessions.open(time, path, datagram, &mut UnwrapErr(SysRng)) {
                Opened::Text(text) => {
                    let begin = start + HEADER_BYTES;
                    texts.push(begin..begin + text.len());
                }
                Opened::Handshake => {}
                Opened::Ignored(reason) => {
                    tracing::debug!(peer = %path.peer, ?reason, "a datagram was ignored");
                }
            }
            start += length;
        }
        ready(&mut sessions)
    }

    /// Seals a batch, in a buffer that has room around each text.
    fn seal(
        &self,
        datagrams: &Datagrams<'_>,
        bytes: &mut Vec<u8>,
        now: Instant,
    ) -> (Sealed, Vec<Transmit>) {
        let longest = datagrams.segment_size.unwrap_or(datagrams.contents.len());
        for text in datagrams.contents.chunks(longest.max(1)) {
            bytes.extend_from_slice(&[0; HEADER_BYTES]);
            bytes.extend_from_slice(text);
            bytes.extend_from_slice(&[0; TAG_BYTES]);
        }
        let path = Path {
            peer: datagrams.destination,
            source: datagrams.src_ip,
        };
        let mut batch = Batch {
            bytes,
            segment: longest + OVERHEAD,
            ecn: ecn_of(datagrams.ecn),
        };
        let time = self.time(now);
        let mut sessions = lock(&self.sessions);
        let sealed = sessions.seal(time, path, &mut batch, &mut UnwrapErr(SysRng));
        (sealed, ready(&mut sessions))
    }

    fn time(&self, now: Instant) -> Time {
        time_since(self.epoch, now)
    }

    fn take_buffer(&self) -> Vec<u8> {
        lock(&self.buffers).pop().unwrap_or_default()
    }

    fn give_buffer(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut buffers = lock(&self.buffers);
        if buffers.len() < MAX_BUFFERS {
            buffers.push(buffer);
        }
    }
}

/// What the sessions want to send; mostly nothing.
fn ready(sessions: &mut Sessions) -> Vec<Transmit> {
    std::iter::from_fn(|| sessions.poll_transmit()).collect()
}

impl Inner {
    /// Bytes that sealing adds to a datagram.
    pub(crate) fn overhead(&self) -> usize {
        if self.secure.is_some() { OVERHEAD } else { 0 }
    }

    /// What its connections are made with.
    pub(crate) fn traits(&self) -> EndpointTraits {
        EndpointTraits {
            sealing: self.overhead(),
            quantum: self.config.quantum,
        }
    }

    /// Sends datagrams sealed. Those that wait for a handshake, or are dropped for want of room, have
    /// left as far as the caller is concerned.
    pub(crate) fn send_sealed(&self, secure: &Secure, datagrams: &Datagrams<'_>) -> io::Result<()> {
        let mut bytes = secure.take_buffer();
        let (sealed, handshakes) = secure.seal(datagrams, &mut bytes, Instant::now());
        let told = self.send_handshakes(&handshakes);
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
            Sealed::Waiting => told,
            Sealed::Dropped => Ok(()),
        };
        secure.give_buffer(bytes);
        result
    }

    /// Opens datagrams in place, and answers handshakes among them: where the texts are.
    pub(crate) fn open(
        &self,
        secure: &Secure,
        path: Path,
        bytes: &mut [u8],
        stride: usize,
        now: Instant,
    ) -> Vec<Range<usize>> {
        let mut texts = Vec::with_capacity(bytes.len().div_ceil(stride));
        let handshakes = secure.open(path, bytes, stride, now, &mut texts);
        // Told to nobody: whoever it concerns asks again.
        let _ = self.send_handshakes(&handshakes);
        texts
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

    /// Why nobody answered, as far as an endpoint with a key can tell.
    pub(crate) fn explain(&self, error: ConnectError) -> ConnectError {
        match (&self.secure, error) {
            (Some(secure), ConnectError::NoAnswer(peer)) => secure.explain(peer),
            (_, error) => error,
        }
    }
}

impl Secure {
    fn explain(&self, peer: SocketAddr) -> ConnectError {
        if lock(&self.sessions).is_established(peer) {
            ConnectError::NoListener(peer)
        } else {
            ConnectError::NoSession(peer)
        }
    }
}
