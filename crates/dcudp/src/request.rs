//! A client's requests: it sends or receives one file.

use std::fs::File;

use indicatif::ProgressBar;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::disk::{Clash, Destination, Leaving, Root};
use crate::error::Failure;
use crate::protocol::{Channel, Frame, Name, unexpected};
use crate::transfer::{Moved, receive_file, send_file};

/// The treatment of an existing file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays.
    Keep,
    /// The new file takes its place (`--force`).
    Replace,
}

impl Existing {
    /// From `--force`.
    pub const fn of(force: bool) -> Self {
        if force { Self::Replace } else { Self::Keep }
    }
}

/// Sends an open file to the server, under a name there.
pub async fn put<R, W>(
    channel: &mut Channel<R, W>,
    file: File,
    name: &Name,
    existing: Existing,
    bar: impl FnOnce(u64) -> ProgressBar,
) -> Result<Moved, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let leaving = Leaving::new(file)?;
    let request = Frame::Put {
        size: leaving.size(),
        replace: existing == Existing::Replace,
        name: name.clone(),
    };
    channel.send(&request).await?;
    let bar = bar(leaving.size());
    let moved = send_file(channel, leaving, &bar).await;
    bar.finish_and_clear();
    moved
}

/// Gets a file of the server's into a directory here, under the last part of its name.
pub async fn get<R, W>(
    channel: &mut Channel<R, W>,
    root: &Root,
    name: &Name,
    existing: Existing,
    bar: impl FnOnce(u64) -> ProgressBar,
) -> Result<Moved, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let clash = match existing {
        Existing::Replace => Clash::Replace,
        Existing::Keep => Clash::Refuse("get --force replaces it"),
    };
    let destination = Destination::new(root, name.to_base(), clash)?;
    channel.send(&Frame::Get { name: name.clone() }).await?;
    let size = match channel.receive().await? {
        Frame::File { size } => size,
        other => return Err(unexpected(&other)),
    };
    let bar = bar(size);
    let moved = receive_file(channel, destination, size, &bar).await;
    bar.finish_and_clear();
    moved
}
