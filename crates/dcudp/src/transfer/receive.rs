//! The receiver's side of one file.

use bytes::Bytes;
use indicatif::ProgressBar;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::{AHEAD, Moved, can_report, joined, on_disk};
use crate::disk::{Arriving, Destination, Found};
use crate::error::Failure;
use crate::protocol::{Channel, Frame, Hash, unexpected};

/// A failure, and whether the sender is in the middle of the file and has to be waited for.
struct Broken {
    failure: Failure,
    in_the_middle: bool,
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            in_the_middle: false,
        }
    }
}

const fn in_the_middle(failure: Failure) -> Broken {
    Broken {
        failure,
        in_the_middle: true,
    }
}

/// Receives a file whose length the sender announced.
pub async fn receive_file<R, W>(
    channel: &mut Channel<R, W>,
    destination: Destination,
    size: u64,
    progress: &ProgressBar,
) -> Result<Moved, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match receive(channel, destination, size, progress).await {
        Ok(moved) => channel.send(&Frame::Done).await.map(|()| moved),
        Err(broken) => {
            // If this fails too, the first failure is reported.
            end_early(channel, &broken).await.ok();
            Err(broken.failure)
        }
    }
}

/// The last word on a file that did not arrive.
async fn end_early<R, W>(channel: &mut Channel<R, W>, broken: &Broken) -> Result<(), Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    if can_report(&broken.failure) {
        channel.send_failure(&broken.failure).await?;
    }
    if broken.in_the_middle && broken.failure.leaves_connection() {
        channel.skip_file().await?;
    }
    Ok(())
}

async fn receive<R, W>(
    channel: &mut Channel<R, W>,
    destination: Destination,
    size: u64,
    progress: &ProgressBar,
) -> Result<Moved, Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let look = on_disk(move || (destination.look(size), destination));
    let (found, destination) = channel.while_busy(look).await?;
    match found? {
        Found::Whole(hash) => {
            let whole = Whole { size, hash };
            compare(channel, destination, whole, progress).await
        }
        Found::Part(arriving) => {
            let have = Frame::Have {
                bytes: arriving.written(),
                hash: arriving.hash(),
            };
            channel.send(&have).await?;
            let resumed = begin(channel).await?;
            write_bytes(channel, arriving, resumed, progress).await?;
            Ok(Moved { size, resumed })
        }
    }
}

/// A file that is there already.
struct Whole {
    size: u64,
    hash: Hash,
}

/// A file of this length is there: the sender sees whether it is the same.
async fn compare<R, W>(
    channel: &mut Channel<R, W>,
    destination: Destination,
    Whole { size, hash }: Whole,
    progress: &ProgressBar,
) -> Result<Moved, Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    channel.send(&Frame::Have { bytes: size, hash }).await?;
    let resumed = begin(channel).await?;
    if resumed != size {
        let place = on_disk(move || destination.replace(size));
        let arriving = channel.while_busy(place).await?.map_err(in_the_middle)?;
        write_bytes(channel, arriving, resumed, progress).await?;
        return Ok(Moved { size, resumed });
    }
    match channel.receive().await? {
        Frame::End { hash: sent } if sent == hash => Ok(Moved { size, resumed }),
        Frame::End { .. } => Err(destination.in_the_way().into()),
        other => Err(unexpected(&other).into()),
    }
}

async fn begin<R, W>(channel: &mut Channel<R, W>) -> Result<u64, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match channel.receive().await? {
        Frame::Begin { offset } => Ok(offset),
        other => Err(unexpected(&other)),
    }
}

/// Writes what comes from `offset` on behind what is there, and finishes the file.
async fn write_bytes<R, W>(
    channel: &mut Channel<R, W>,
    mut arriving: Arriving,
    offset: u64,
    progress: &ProgressBar,
) -> Result<(), Broken>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    arriving.begin(offset).map_err(in_the_middle)?;
    progress.set_position(offset);
    let (parts, queue) = mpsc::channel(AHEAD);
    let writer = spawn_blocking(move || write_all(arriving, queue));
    let end = take_all(channel, &parts, progress).await;
    drop(parts);
    // All that came goes to the disk, whatever happened after it.
    let written = channel.while_busy(async { joined(writer.await) }).await?;
    match (end, written) {
        (Ok(Some(hash)), Ok(arriving)) => {
            let work = on_disk(move || arriving.finish(&hash));
            Ok(channel.while_busy(work).await??)
        }
        (Ok(None), Err(failure)) => Err(in_the_middle(failure)),
        (Ok(None), Ok(_)) => unreachable!("the writer ends early by a failure only"),
        (Err(failure), _) | (Ok(Some(_)), Err(failure)) => Err(failure.into()),
    }
}

/// Hands what comes to the writer; gives the hash at the end, or `None` where the writer gave up.
async fn take_all<R, W>(
    channel: &mut Channel<R, W>,
    parts: &mpsc::Sender<Bytes>,
    progress: &ProgressBar,
) -> Result<Option<Hash>, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        match channel.receive().await? {
            Frame::Data(bytes) => {
                let count = bytes.len() as u64;
                // A disk may take its time: the sender hears that it goes on.
                if channel.while_busy(parts.send(bytes)).await?.is_err() {
                    return Ok(None);
                }
                progress.inc(count);
                channel.keep_alive().await?;
            }
            Frame::End { hash } => return Ok(Some(hash)),
            other => return Err(unexpected(&other)),
        }
    }
}

fn write_all(
    mut arriving: Arriving,
    mut queue: mpsc::Receiver<Bytes>,
) -> Result<Arriving, Failure> {
    while let Some(bytes) = queue.blocking_recv() {
        arriving.write(&bytes)?;
    }
    Ok(arriving)
}
