//! Frames over the two halves of a stream, with patience that ends.
//!
//! It is generic over the halves, so that tests can put anything at the peer.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;

use bytes::BytesMut;
use incastle_socket::ConnectionError;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::{Chunk, Decoder, ErrorCode, Frame, VERSION};
use crate::error::Failure;
use crate::printable::reason;

/// How long an endpoint waits for a frame of the peer, or for room to send one. Whoever works longer than
/// that sends [`Frame::Busy`].
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often it does.
const BUSY_EVERY: Duration = Duration::from_secs(5);

/// How long the last frames before the end may take to be read.
const FINAL_ERROR_TIMEOUT: Duration = Duration::from_secs(1);

/// One endpoint of the conversation.
pub struct Channel<R, W> {
    incoming: Incoming<R>,
    writer: W,
    scratch: BytesMut,
    patience: Duration,
    last_sent: Instant,
}

/// The half that listens.
struct Incoming<R> {
    reader: R,
    decoder: Decoder,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Channel<R, W> {
    /// Nothing was sent yet.
    pub fn new(reader: R, writer: W, patience: Duration) -> Self {
        Self {
            incoming: Incoming {
                reader,
                decoder: Decoder::default(),
            },
            writer,
            scratch: BytesMut::new(),
            patience,
            last_sent: Instant::now(),
        }
    }

    /// The first frame of both endpoints.
    pub async fn greet(&mut self) -> Result<(), Failure> {
        self.send(&Frame::Hello { version: VERSION }).await?;
        match self.receive().await? {
            Frame::Hello { version: VERSION } => Ok(()),
            Frame::Hello { version } => {
                let message = format!(
                    "the peer speaks version {version} of the file protocol, \
                     this program version {VERSION}; install the same dcudp on both"
                );
                let failure = Failure::here(ErrorCode::Version, message);
                self.send_failure(&failure).await?;
                Err(failure)
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Sends one frame.
    pub async fn send(&mut self, frame: &Frame) -> Result<(), Failure> {
        self.scratch.clear();
        frame.encode(&mut self.scratch);
        self.last_sent = Instant::now();
        let written = write(&mut self.writer, &self.scratch, self.patience).await;
        match written {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.incoming.final_error(failure).await),
        }
    }

    /// Sends a failure of this endpoint to the peer.
    pub async fn send_failure(&mut self, failure: &Failure) -> Result<(), Failure> {
        let code = match failure {
            Failure::Here { code, .. } | Failure::There { code, .. } => *code,
            _ => ErrorCode::Protocol,
        };
        let message = failure.to_string();
        self.send(&Frame::Error { code, message }).await
    }

    /// Sends data. An error that the peer sends meanwhile is given once all of it was sent.
    pub async fn send_chunk(&mut self, chunk: &Chunk) -> Result<(), Failure> {
        let mut received = Ok(());
        let mut writing = pin!(write(&mut self.writer, chunk.wire(), self.patience));
        let written = loop {
            tokio::select! {
                biased;
                written = &mut writing => break written,
                frame = self.incoming.next_frame(), if received.is_ok() => {
                    received = frame.and_then(only_error);
                }
            }
        };
        match written {
            Err(failure) if received.is_ok() => Err(self.incoming.final_error(failure).await),
            _ => received,
        }
    }

    /// The next frame, which must come. An error that the peer sends is an error.
    pub async fn receive(&mut self) -> Result<Frame, Failure> {
        loop {
            match self.incoming.within(self.patience).await? {
                Some(Frame::Busy) => {}
                Some(Frame::Error { code, message }) => {
                    return Err(Failure::There { code, message });
                }
                Some(frame) => return Ok(frame),
                None => return Err(Failure::Connection("the peer left".to_owned())),
            }
        }
    }

    /// The next frame, or `None` where the peer sends nothing more.
    pub async fn next_request(&mut self) -> Result<Option<Frame>, Failure> {
        self.incoming.within(self.patience).await
    }

    /// After an error of ours in the middle of a file: leaves out the rest of it.
    pub async fn skip_file(&mut self) -> Result<(), Failure> {
        loop {
            match self.receive().await {
                Ok(Frame::Data(_)) => {}
                Ok(Frame::End { .. }) | Err(Failure::There { .. }) => return Ok(()),
                Ok(other) => return Err(unexpected(&other)),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// For an endpoint that receives for long: shows the peer that it does. Much may be in flight, and
    /// the answer to it far.
    pub async fn keep_alive(&mut self) -> Result<(), Failure> {
        if self.last_sent.elapsed() < BUSY_EVERY {
            return Ok(());
        }
        self.send(&Frame::Busy).await
    }

    /// Waits for long work, and shows the peer that it goes on.
    pub async fn while_busy<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let mut work = pin!(work);
        let mut ticks = interval(BUSY_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                _ = ticks.tick() => self.send(&Frame::Busy).await?,
            }
        }
    }
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    async fn within(&mut self, patience: Duration) -> Result<Option<Frame>, Failure> {
        match timeout(patience, self.next_frame()).await {
            Ok(frame) => frame,
            Err(_) => Err(silent(patience)),
        }
    }

    /// Returns the error that the peer sent before it left, or else the failure of the write.
    async fn final_error(&mut self, failure: Failure) -> Failure {
        loop {
            match timeout(FINAL_ERROR_TIMEOUT, self.next_frame()).await {
                Ok(Ok(Some(Frame::Error { code, message }))) => {
                    return Failure::There { code, message };
                }
                Ok(Ok(Some(_))) => {}
                _ => return failure,
            }
        }
    }

    /// Loses nothing when it is given up.
    async fn next_frame(&mut self) -> Result<Option<Frame>, Failure> {
        loop {
            if let Some(frame) = self.decoder.next_frame()? {
                return Ok(Some(frame));
            }
            let read = self.reader.read_buf(self.decoder.buffer()).await;
            if read.map_err(|error| broken(&error))? == 0 {
                if self.decoder.is_empty() {
                    return Ok(None);
                }
                let message = "the peer left in the middle: it was stopped, or failed";
                return Err(Failure::Connection(message.to_owned()));
            }
        }
    }
}

async fn write<W>(writer: &mut W, bytes: &[u8], patience: Duration) -> Result<(), Failure>
where
    W: AsyncWrite + Unpin,
{
    match timeout(patience, writer.write_all(bytes)).await {
        Ok(written) => written.map_err(|error| broken(&error)),
        Err(_) => Err(silent(patience)),
    }
}

/// While a file is sent, its receiver sends nothing but that it cannot go on.
fn only_error(frame: Option<Frame>) -> Result<(), Failure> {
    match frame {
        Some(Frame::Busy) => Ok(()),
        Some(Frame::Error { code, message }) => Err(Failure::There { code, message }),
        Some(other) => Err(unexpected(&other)),
        None => Err(Failure::Connection("the peer left".to_owned())),
    }
}

/// The peer sent something that is not due.
pub fn unexpected(frame: &Frame) -> Failure {
    let name = format!("{frame:?}");
    let name = name.split(['(', ' ']).next().unwrap_or_default();
    Failure::Protocol(format!("'{name}' is not due now"))
}

fn broken(error: &io::Error) -> Failure {
    let inside = error.get_ref().and_then(|inner| inner.downcast_ref());
    let why = match inside {
        Some(ConnectionError::Silent { lost: 0 }) => "the peer is silent".to_owned(),
        Some(ConnectionError::PeerClosed { lost: 0 }) => "the peer closed it".to_owned(),
        Some(ConnectionError::PacketSize { packet_size }) => format!(
            "packets of {packet_size} bytes do not fit this machine's interface: \
             give a smaller --mtu, at either endpoint"
        ),
        _ => reason(error),
    };
    Failure::Connection(format!("the connection is lost: {why}"))
}

fn silent(patience: Duration) -> Failure {
    let seconds = patience.as_secs_f64();
    Failure::Connection(format!("nothing from the peer for {seconds} s"))
}
