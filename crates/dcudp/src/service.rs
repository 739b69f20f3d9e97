//! One connection at a server: requests in order, until the client leaves or has to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::bench::{Meter, flow};
use crate::disk::{Clash, Destination, Leaving, Root};
use crate::error::Failure;
use crate::places::Place;
use crate::protocol::{BenchDirection, BenchRequest, Channel, ErrorCode, Frame, Name, unexpected};
use crate::terminal::note;
use crate::transfer::{Moved, on_disk, receive_file, send_file};

/// The service of a server. Every server also answers pings.
pub enum Service {
    /// Files of a directory.
    Files {
        /// The directory.
        root: Arc<Root>,
        /// Senders may add files.
        writes: bool,
        /// Senders may replace files.
        replaces: bool,
    },
    /// Measurements.
    Measurements,
}

/// Serves one client in its place, and notes what was done and what failed.
pub async fn serve<R, W>(service: &Service, mut channel: Channel<R, W>, mut place: Place)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let ended = match converse(service, &mut channel, &mut place).await {
        Ok(End::Left) => Ok(()),
        Ok(End::Evicted) => {
            let failure = place.eviction();
            // If it does not get there, the client finds the connection closed.
            channel.send_failure(&failure).await.ok();
            Err(failure)
        }
        Err(failure) => Err(failure),
    };
    if let Err(failure) = ended {
        note(format_args!("{}: {failure}", place.peer()));
    }
}

/// Why a conversation without a failure is over.
enum End {
    /// The client closed, or a failure was logged.
    Left,
    /// The place is another's.
    Evicted,
}

async fn converse<R, W>(
    service: &Service,
    channel: &mut Channel<R, W>,
    place: &mut Place,
) -> Result<End, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    match place.idle(channel.greet()).await {
        Some(greeted) => greeted?,
        None => return Ok(End::Evicted),
    }
    loop {
        let Some(request) = place.idle(channel.next_request()).await else {
            return Ok(End::Evicted);
        };
        match request? {
            None => return Ok(End::Left),
            // No work: who only pings leaves where others wait.
            Some(Frame::Ping(bytes)) => channel.send(&Frame::Pong(bytes)).await?,
            Some(_) if !place.begin() => return Ok(End::Evicted),
            Some(request) => {
                let continues = respond(service, channel, request, place.peer()).await?;
                place.rest(Instant::now());
                if !continues {
                    return Ok(End::Left);
                }
            }
        }
    }
}

/// Returns whether the connection continues, or a failure that was not logged yet.
async fn respond<R, W>(
    service: &Service,
    channel: &mut Channel<R, W>,
    request: Frame,
    peer: SocketAddr,
) -> Result<bool, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let started = Instant::now();
    let (work, moved) = match request {
        Frame::Put {
            size,
            replace,
            name,
        } => {
            let work = Work::new("took in", "could not take in", &name);
            let destination = destination(service, name, replace).await;
            (work, put(channel, destination, size).await)
        }
        Frame::Get { name } => {
            let work = Work::new("gave", "could not give", &name);
            (work, get(service, channel, name).await)
        }
        Frame::Bench(wanted) => {
            measure(service, channel, wanted).await?;
            return Ok(true);
        }
        other => {
            let failure = unexpected(&other);
            channel.send_failure(&failure).await?;
            return Err(failure);
        }
    };
    Ok(work.note(peer, moved, started.elapsed()))
}

/// The operation on a file, for the log of the server.
struct Work {
    done: &'static str,
    not_done: &'static str,
    name: String,
}

impl Work {
    fn new(done: &'static str, not_done: &'static str, name: &Name) -> Self {
        Self {
            done,
            not_done,
            name: name.to_string(),
        }
    }

    /// Notes what became of it; gives whether the connection can go on.
    fn note(&self, peer: SocketAddr, moved: Result<Moved, Failure>, time: Duration) -> bool {
        let Self {
            done,
            not_done,
            name,
        } = self;
        match moved {
            Ok(moved) => {
                note(format_args!(
                    "{peer}: {done} {name}: {}",
                    moved.summary(time)
                ));
                true
            }
            Err(failure) => {
                note(format_args!("{peer}: {not_done} {name}: {failure}"));
                failure.leaves_connection()
            }
        }
    }
}

/// Where a client's file goes, which `replace` allows to take the place of another.
async fn destination(service: &Service, name: Name, replace: bool) -> Result<Destination, Failure> {
    match service {
        Service::Measurements => Err(no_files()),
        Service::Files { writes: false, .. } => {
            let message = "this server takes in no files (--read-only)";
            Err(Failure::here(ErrorCode::Denied, message))
        }
        Service::Files { root, replaces, .. } => {
            let root = Arc::clone(root);
            let clash = match (replaces, replace) {
                (true, true) => Clash::Replace,
                (true, false) => Clash::Refuse("send --force replaces it"),
                (false, _) => Clash::Refuse("this server was started without --replace"),
            };
            on_disk(move || Destination::new(&root, name, clash)).await
        }
    }
}

/// The client has a file.
async fn put<R, W>(
    channel: &mut Channel<R, W>,
    destination: Result<Destination, Failure>,
    size: u64,
) -> Result<Moved, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let destination = reported(channel, destination).await?;
    receive_file(channel, destination, size, &ProgressBar::hidden()).await
}

/// The client wants a file.
async fn get<R, W>(
    service: &Service,
    channel: &mut Channel<R, W>,
    name: Name,
) -> Result<Moved, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let file = match service {
        Service::Measurements => Err(no_files()),
        Service::Files { root, .. } => {
            let root = Arc::clone(root);
            on_disk(move || root.read(&name).and_then(Leaving::new)).await
        }
    };
    let file = reported(channel, file).await?;
    channel.send(&Frame::File { size: file.size() }).await?;
    send_file(channel, file, &ProgressBar::hidden()).await
}

/// The client wants to measure.
async fn measure<R, W>(
    service: &Service,
    channel: &mut Channel<R, W>,
    wanted: BenchRequest,
) -> Result<(), Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    if !matches!(service, Service::Measurements) {
        let message =
            "this server has files, and does not measure; start dcudp bench --serve there";
        let failure = Failure::here(ErrorCode::Unsupported, message);
        return channel.send_failure(&failure).await;
    }
    channel.send(&Frame::Begin { offset: 0 }).await?;
    let meter = Meter::default();
    match wanted.direction {
        BenchDirection::Up => flow::sink(channel, &meter).await?,
        BenchDirection::Down => flow::source(channel, &wanted, &meter).await?,
    };
    Ok(())
}

/// Sends a failure to the client before any other frame.
async fn reported<R, W, T>(
    channel: &mut Channel<R, W>,
    result: Result<T, Failure>,
) -> Result<T, Failure>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    if let Err(failure) = &result {
        channel.send_failure(failure).await?;
    }
    result
}

fn no_files() -> Failure {
    let message = "this server only measures; start dcudp serve there";
    Failure::here(ErrorCode::Unsupported, message)
}
