//! The two directions of a stream, as tokio's traits want them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Connection;
use crate::shared::remember;
use crate::{ConnectionError, SocketKind};

/// Full packets that one write takes: as many as leave in one system call.
const WRITE_PACKETS: usize = 44;
/// Bytes that one read takes: the connection is locked meanwhile.
const READ_BYTES: usize = 1 << 18;

/// Writes to a connection's stream. `flush` returns at once: what was written leaves as soon as it may.
/// `shutdown` waits until everything written is acknowledged; the peer learns of the end by
/// [`Connection::close`], since UDT has no half-closed connection.
#[derive(Debug, Clone)]
pub struct SendStream {
    connection: Connection,
}

/// Reads from a connection's stream. It ends where the peer closed.
#[derive(Debug, Clone)]
pub struct RecvStream {
    connection: Connection,
}

impl Connection {
    /// The sending side of the stream.
    pub fn send_stream(&self) -> Result<SendStream, ConnectionError> {
        self.expect(SocketKind::Stream)?;
        let connection = self.clone();
        Ok(SendStream { connection })
    }

    /// The receiving side of the stream.
    pub fn recv_stream(&self) -> Result<RecvStream, ConnectionError> {
        self.expect(SocketKind::Stream)?;
        let connection = self.clone();
        Ok(RecvStream { connection })
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.connection.change(|state, _| {
            if let Some(error) = state.write_error() {
                return Poll::Ready(Err(error.into()));
            }
            // Whole packets, of what does not fit into one write: the rest comes at once.
            let packets = WRITE_PACKETS * usize::from(state.connection.core().payload());
            let most = packets.min(state.room());
            let count = state.connection.write(&bytes[..bytes.len().min(most)]);
            assert!(count <= most, "a write takes what it was given");
            if count == 0 && !bytes.is_empty() {
                remember(&mut state.writers, cx.waker());
                return Poll::Pending;
            }
            Poll::Ready(Ok(count))
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.poll_flush(cx).map_err(io::Error::from)
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let shared = self.connection.shared();
        let mut state = shared.lock();
        let now = Instant::now();
        let most = out.remaining().min(READ_BYTES);
        let room = out.initialize_unfilled_to(most);
        let count = state.connection.read(shared.time(now), room);
        assert!(count <= most, "a read gives what has room");
        out.advance(count);
        if count > 0 {
            self.connection.pump(&mut state, now);
            return Poll::Ready(Ok(()));
        }
        if most == 0 {
            return Poll::Ready(Ok(()));
        }
        if let Some(end) = state.read_end() {
            return Poll::Ready(end.map_err(io::Error::from));
        }
        remember(&mut state.readers, cx.waker());
        Poll::Pending
    }
}
