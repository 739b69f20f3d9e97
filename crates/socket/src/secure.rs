//! The sessions of an endpoint with a key, which are sans-IO (`incastle_secure`), and buffers for what they
//! seal. They have one lock, which is held while a batch is sealed or opened, and not in a system call.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Mutex;
use std::time::Instant;

use getrandom::SysRng;
use incastle_secure::{
    Batch, HEADER_BYTES, Key, OVERHEAD, Opened, Path, Sealed, Sessions, Statistics, TAG_BYTES,
    Transmit,
};
use incastle_units::Time;
use quinn_udp::Transmit as Datagrams;
use rand_core::UnwrapErr;

use crate::ConnectError;
use crate::base::{lock, time_since};
use crate::ecn::ecn_of;

/// Buffers that are kept for batches.
const MAX_BUFFERS: usize = 16;

/// The sessions of an endpoint with a key.
pub(crate) struct Secure {
    pub(crate) epoch: Instant,
    pub(crate) sessions: Mutex<Sessions>,
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

    /// Opens datagrams of one length, the last of which may be shorter, in place; the ranges of their
    /// plaintexts.
    pub(crate) fn open(
        &self,
        path: Path,
        bytes: &mut [u8],
        stride: usize,
        now: Instant,
        plaintexts: &mut Vec<Range<usize>>,
    ) -> Vec<Transmit> {
        let time = self.time(now);
        let mut sessions = lock(&self.sessions);
        let mut start = 0;
        for datagram in bytes.chunks_mut(stride) {
            let length = datagram.len();
            match sessions.open(time, path, datagram, &mut UnwrapErr(SysRng)) {
                Opened::Plaintext(plaintext) => {
                    let begin = start + HEADER_BYTES;
                    assert!(
                        plaintext.len() <= length - OVERHEAD,
                        "a plaintext lies in its datagram"
                    );
                    plaintexts.push(begin..begin + plaintext.len());
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
    pub(crate) fn seal(
        &self,
        datagrams: &Datagrams<'_>,
        bytes: &mut Vec<u8>,
        now: Instant,
    ) -> (Sealed, Vec<Transmit>) {
        assert!(
            bytes.is_empty(),
            "a buffer is cleared before it is used again"
        );
        let longest = datagrams.segment_size.unwrap_or(datagrams.contents.len());
        for plaintext in datagrams.contents.chunks(longest.max(1)) {
            bytes.extend_from_slice(&[0; HEADER_BYTES]);
            bytes.extend_from_slice(plaintext);
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

    pub(crate) fn time(&self, now: Instant) -> Time {
        time_since(self.epoch, now)
    }

    pub(crate) fn take_buffer(&self) -> Vec<u8> {
        lock(&self.buffers).pop().unwrap_or_default()
    }

    pub(crate) fn give_buffer(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut buffers = lock(&self.buffers);
        if buffers.len() < MAX_BUFFERS {
            buffers.push(buffer);
        }
        assert!(buffers.len() <= MAX_BUFFERS, "few buffers are kept");
    }
}

/// The datagrams that the sessions have to send; usually none.
pub(crate) fn ready(sessions: &mut Sessions) -> Vec<Transmit> {
    std::iter::from_fn(|| sessions.poll_transmit()).collect()
}

impl Secure {
    /// Why nobody answered there.
    pub(crate) fn explain(&self, peer: SocketAddr) -> ConnectError {
        if lock(&self.sessions).is_established(peer) {
            ConnectError::NoListener(peer)
        } else {
            ConnectError::NoSession(peer)
        }
    }
}
