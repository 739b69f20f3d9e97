//! Bytes that a task writes to a connection, as many as have been requested.

use std::sync::Mutex;

use incastle_socket::SendStream;
use tokio::io::{self, AsyncWriteExt};
use tokio::sync::Notify;

/// Bytes that are written at once.
const PIECE: usize = 1 << 16;
/// The data.
static ZEROS: [u8; PIECE] = [0; PIECE];

/// The bytes of one direction.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    bytes: Mutex<Counts>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Counts {
    /// To be written in all.
    wanted: u64,
    written: u64,
}

impl Pipe {
    /// More bytes are to be written; `u64::MAX` are all that fit.
    pub(crate) fn send(&self, bytes: u64) {
        let mut counts = self.counts();
        counts.wanted = counts.wanted.saturating_add(bytes);
        drop(counts);
        self.more.notify_one();
    }

    /// Nothing new is written.
    pub(crate) fn stop(&self) {
        let mut counts = self.counts();
        counts.wanted = counts.written;
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.bytes
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Writes what is to be written, for ever.
    pub(crate) async fn serve(&self, mut stream: SendStream) -> io::Result<()> {
        loop {
            let piece = {
                let counts = self.counts();
                usize::try_from(counts.wanted - counts.written).unwrap_or(PIECE)
            };
            if piece == 0 {
                self.more.notified().await;
                continue;
            }
            let count = stream.write(&ZEROS[..piece.min(PIECE)]).await?;
            let mut counts = self.counts();
            counts.written += count as u64;
            // It may have been stopped meanwhile.
            counts.wanted = counts.wanted.max(counts.written);
        }
    }
}
