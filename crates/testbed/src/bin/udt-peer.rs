//! `udt-peer`: one end of a UDT connection that sends and receives known data, and tells their hashes.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use incastle_testbed::application::Task;
use incastle_testbed::peer::{Opening, Peer, PeerError};
use incastle_testbed::socket;
use incastle_transport::udt::Config;
use incastle_transport::udt::wire::SocketKind;
use incastle_units::{Span, Time};
use serde::Serialize;

/// One end of a UDT connection. It says "ready" and its address in one line; at the end it writes as JSON what it sent
/// and received.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// How the connection begins
    how: How,
    /// Its own address
    own: SocketAddr,
    /// The address of the server, or of whom to meet
    #[arg(required_if_eq("how", "connect"), required_if_eq("how", "meet"))]
    peer: Option<SocketAddr>,
    /// Bytes to send
    #[arg(long, default_value_t = 0)]
    send: u64,
    /// Bytes to receive
    #[arg(long, default_value_t = 0)]
    receive: u64,
    /// What is sent, and this end's numbers, follow from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Send messages of so many bytes, not a stream
    #[arg(long)]
    message: Option<usize>,
    /// Who closes: this end once it has sent and received, or the other one
    #[arg(long, default_value = "first")]
    close: Close,
    /// Give up after so many seconds
    #[arg(long, default_value_t = 60)]
    limit: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum How {
    Listen,
    Connect,
    Meet,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Close {
    First,
    Last,
}

#[derive(Serialize)]
struct Report {
    sent: u64,
    sent_hash: String,
    received: u64,
    received_hash: String,
    messages: u64,
    peer_closed: bool,
    retransmissions: u64,
    timeouts: u64,
    naks_sent: u64,
    naks_received: u64,
    refused: String,
}

impl Report {
    fn of(peer: &Peer) -> Self {
        let stats = peer.stats().copied().unwrap_or_default();
        let done = peer.application();
        Self {
            sent: done.sent().bytes(),
            sent_hash: done.sent().hash(),
            received: done.received().bytes(),
            received_hash: done.received().hash(),
            messages: done.messages(),
            peer_closed: peer.peer_closed(),
            retransmissions: stats.retransmissions,
            timeouts: stats.timeouts,
            naks_sent: stats.naks_sent,
            naks_received: stats.naks_received,
            refused: format!("{:?}", stats.refused),
        }
    }
}

fn run(options: &Options) -> Result<Report, PeerError> {
    let socket = socket::bind(options.own)?;
    println!("ready {}", socket.local_addr()?);
    let config = Config {
        socket_kind: options
            .message
            .map_or(SocketKind::Stream, |_| SocketKind::Message),
        reads_at_once: false,
        connect_timeout: Span::from_secs(options.limit.clamp(1, 60)),
        burst_allowance: Span::from_ms(1),
        ..Config::default()
    };
    let task = Task {
        send: options.send,
        receive: options.receive,
        seed: options.seed,
        message: options.message,
    };
    let opening = match (options.how, options.peer) {
        (How::Connect, Some(server)) => Opening::Connect(server),
        (How::Meet, Some(other)) => Opening::Meet(other),
        _ => Opening::Listen,
    };
    let mut peer = Peer::new(socket, opening, config, task, options.close == Close::First)?;
    let limit = Time::ZERO.saturating_add(Span::from_secs(options.limit));
    peer.run(limit)?;
    Ok(Report::of(&peer))
}

fn main() -> ExitCode {
    let report = run(&Options::parse());
    match report.map(|report| serde_json::to_string(&report)) {
        Ok(Ok(text)) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Ok(Err(error)) => {
            eprintln!("udt-peer: {error}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("udt-peer: {error}");
            ExitCode::FAILURE
        }
    }
}
