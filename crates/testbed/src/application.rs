//! The application at one endpoint of a test connection. It sends and receives a number of known bytes, as a
//! stream or as messages of equal length.

use incastle_transport::udt::{ByteConnection, MessageOptions, SendError};
use incastle_units::Time;

use crate::data::{Source, Tally};

/// Bytes that are written or read at once.
const PIECE: usize = 1 << 16;

/// The task of an application.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// Bytes to send.
    pub send: u64,
    /// Bytes to receive.
    pub receive: u64,
    /// The seed of the bytes sent.
    pub seed: u64,
    /// The length of messages; absent for a stream.
    pub message: Option<usize>,
}

/// An application and its progress.
pub struct Application {
    task: Task,
    source: Source,
    /// Made and not yet taken by the connection.
    pending: Vec<u8>,
    /// Read last.
    piece: Vec<u8>,
    sent: Tally,
    received: Tally,
}

impl Application {
    /// Nothing done yet.
    pub fn new(task: Task) -> Self {
        Self {
            task,
            source: Source::new(task.seed),
            pending: Vec::new(),
            piece: vec![0; PIECE],
            sent: Tally::default(),
            received: Tally::default(),
        }
    }

    /// The bytes that the connection accepted.
    pub const fn sent(&self) -> &Tally {
        &self.sent
    }

    /// The bytes received.
    pub const fn received(&self) -> &Tally {
        &self.received
    }

    /// Whether all is written and all is received.
    pub const fn is_done(&self) -> bool {
        self.sent.bytes() == self.task.send && self.received.bytes() >= self.task.receive
    }

    /// Reads what there is and writes what there is room for.
    pub fn work(&mut self, now: Time, connection: &mut ByteConnection) -> Result<(), SendError> {
        while self.read(now, connection) {}
        while self.write(now, connection)? {}
        Ok(())
    }

    fn read(&mut self, now: Time, connection: &mut ByteConnection) -> bool {
        if self.task.message.is_some() {
            let Some(message) = connection.receive_message(now) else {
                return false;
            };
            self.received.add(&message);
            return true;
        }
        let count = connection.read(now, &mut self.piece);
        self.received.add(&self.piece[..count]);
        count > 0
    }

    fn write(&mut self, now: Time, connection: &mut ByteConnection) -> Result<bool, SendError> {
        if self.pending.is_empty() {
            let rest = self.task.send - self.sent.bytes();
            let length = rest.min(self.task.message.unwrap_or(PIECE) as u64);
            self.pending.resize(length as usize, 0);
            self.source.fill(&mut self.pending);
        }
        if self.pending.is_empty() {
            return Ok(false);
        }
        let taken = self.give(now, connection)?;
        self.sent.add(&self.pending[..taken]);
        self.pending.drain(..taken);
        Ok(taken > 0)
    }

    fn give(&self, now: Time, connection: &mut ByteConnection) -> Result<usize, SendError> {
        if self.task.message.is_none() {
            return Ok(connection.write(&self.pending));
        }
        match connection.send_message(now, &self.pending, MessageOptions::default()) {
            Ok(()) => Ok(self.pending.len()),
            Err(SendError::Full) => Ok(0),
            Err(error) => Err(error),
        }
    }
}
