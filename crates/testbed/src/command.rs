//! The command line of both peers, and what they report at the end: the same words as peer.cc has in
//! tests/interop.

use std::net::SocketAddr;

use clap::{Parser, ValueEnum};
use incastle_transport::udt::Stats;
use serde::Serialize;

use crate::application::Task;
use crate::data::Tally;
use crate::peer::Opening;

/// One endpoint of a UDT connection. It prints "ready" and its address in one line; at the end it writes as JSON what it sent
/// and received.
#[derive(Parser)]
#[command(version)]
pub struct Options {
    /// How the connection begins
    pub how: How,
    /// Its own address
    pub own: SocketAddr,
    /// The address of the server, or of whom to meet
    #[arg(required_if_eq("how", "connect"), required_if_eq("how", "meet"))]
    pub peer: Option<SocketAddr>,
    /// Bytes to send
    #[arg(long, default_value_t = 0)]
    pub send: u64,
    /// Bytes to receive
    #[arg(long, default_value_t = 0)]
    pub receive: u64,
    /// Seed of the bytes sent and of this endpoint's random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Send messages of this many bytes, not a stream
    #[arg(long)]
    pub message: Option<usize>,
    /// The endpoint that closes: this one once it has sent and received, or its peer
    #[arg(long, default_value = "first")]
    pub close: Close,
    /// Give up after this many seconds
    #[arg(long, default_value_t = 60)]
    pub limit: u64,
}

/// How a connection begins.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum How {
    /// It waits for a client.
    Listen,
    /// It is a client.
    Connect,
    /// Both ask each other.
    Meet,
}

/// The endpoint that closes.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Close {
    /// This end, once it is done.
    First,
    /// The other one.
    Last,
}

/// The bytes sent and received.
#[derive(Serialize)]
pub struct Report {
    /// Bytes sent.
    pub sent: u64,
    /// Their hash.
    pub sent_hash: String,
    /// Bytes received.
    pub received: u64,
    /// Their hash.
    pub received_hash: String,
    /// Messages received.
    pub messages: u64,
    /// Whether the peer closed first.
    pub peer_closed: bool,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Times that EXP expired.
    pub timeouts: u64,
    /// Reports of losses that were sent.
    pub naks_sent: u64,
    /// Reports of losses that came.
    pub naks_received: u64,
    /// Packets that had no effect, by reason.
    pub refused: String,
}

impl Options {
    /// The task that the options describe.
    pub const fn task(&self) -> Task {
        Task {
            send: self.send,
            receive: self.receive,
            seed: self.seed,
            message: self.message,
        }
    }

    /// How it begins. Clap has seen to it that there is a peer where one is needed.
    pub const fn opening(&self) -> Opening {
        match (self.how, self.peer) {
            (How::Connect, Some(server)) => Opening::Connect(server),
            (How::Meet, Some(other)) => Opening::Meet(other),
            _ => Opening::Listen,
        }
    }
}

impl Report {
    /// Makes the report from a connection's counters and its application.
    pub fn new(stats: &Stats, sent: &Tally, received: &Tally) -> Self {
        Self {
            sent: sent.bytes(),
            sent_hash: sent.hash(),
            received: received.bytes(),
            received_hash: received.hash(),
            messages: stats.messages_delivered,
            peer_closed: false,
            retransmissions: stats.retransmissions,
            timeouts: stats.timeouts,
            naks_sent: stats.naks_sent,
            naks_received: stats.naks_received,
            refused: format!("{:?}", stats.refused),
        }
    }
}
