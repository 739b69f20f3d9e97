//! The sender's side of one file.

use indicatif::ProgressBar;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::{AHEAD, Moved, can_report, on_disk};
use crate::disk::Leaving;
use crate::error::Failure;
use crate::protocol::{Channel, Chunk, ErrorCode, Frame, Hash, unexpected};

/// A message from the thread that reads the disk.
enum Step {
    Data(Chunk),
    End(Hash),
}

/// Sends a file whose length the receiver has.
pub async fn send_file<R, W>(
    channel: &mut Channel<R, W>,
    mut file: Leaving,
    progress: &ProgressBar,
) -> Result<Moved, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (bytes, hash) = match channel.receive().await? {
        Frame::Have { bytes, hash } => (bytes, hash),
        other => return Err(unexpected(&other)),
    };
    let size = file.size();
    let work = on_disk(move || file.skip(bytes, &hash).map(|offset| (file, offset)));
    let sent = match channel.while_busy(work).await? {
        Ok((file, offset)) => {
            channel.send(&Frame::Begin { offset }).await?;
            progress.set_position(offset);
            let moved = Moved {
                size,
                resumed: offset,
            };
            send_bytes(channel, file, progress).await.map(|()| moved)
        }
        Err(failure) => Err(failure),
    };
    if let Err(failure) = &sent {
        // If this fails too, the first failure is reported.
        end_early(channel, failure).await.ok();
    }
    let moved = sent?;
    match channel.receive().await? {
        Frame::Done => Ok(moved),
        other => Err(unexpected(&other)),
    }
}

async fn send_bytes<R, W>(
    channel: &mut Channel<R, W>,
    file: Leaving,
    progress: &ProgressBar,
) -> Result<(), Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (parts, mut steps) = mpsc::channel(AHEAD);
    // It ends by itself: at the end of the file, or when nobody takes its parts any more.
    drop(spawn_blocking(move || read_all(file, &parts)));
    loop {
        match steps.recv().await {
            Some(Ok(Step::Data(chunk))) => {
                channel.send_chunk(&chunk).await?;
                progress.inc(chunk.len() as u64);
            }
            Some(Ok(Step::End(hash))) => return channel.send(&Frame::End { hash }).await,
            Some(Err(failure)) => return Err(failure),
            None => unreachable!("the reader's last step is the end or a failure"),
        }
    }
}

fn read_all(mut file: Leaving, parts: &mpsc::Sender<Result<Step, Failure>>) {
    loop {
        let step = match file.next_chunk() {
            Ok(Some(chunk)) => Ok(Step::Data(chunk)),
            Ok(None) => file.finish().map(Step::End),
            Err(failure) => Err(failure),
        };
        let last = !matches!(step, Ok(Step::Data(_)));
        if parts.blocking_send(step).is_err() || last {
            return;
        }
    }
}

/// The receiver waits for the rest of the file: it gets an error in its place.
async fn end_early<R, W>(channel: &mut Channel<R, W>, failure: &Failure) -> Result<(), Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match failure {
        Failure::There { .. } => {
            let message = "ended, as the receiver asked for";
            channel
                .send_failure(&Failure::here(ErrorCode::Stopped, message))
                .await
        }
        Failure::Here { .. } => {
            channel.send_failure(failure).await?;
            match channel.receive().await {
                Err(Failure::There { .. }) => Ok(()),
                Err(lost) => Err(lost),
                Ok(other) => Err(unexpected(&other)),
            }
        }
        failure if can_report(failure) => channel.send_failure(failure).await,
        _ => Ok(()),
    }
}
