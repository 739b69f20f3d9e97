//! `udt-peer`: one endpoint of a UDT connection that sends and receives known data, and prints their hashes.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::process::ExitCode;

use clap::Parser;
use incastle_testbed::command::{Close, Options, Report};
use incastle_testbed::peer::{Peer, PeerError};
use incastle_testbed::socket;
use incastle_transport::udt::Config;
use incastle_transport::udt::wire::SocketKind;
use incastle_units::{Span, Time};

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
    let (opening, task) = (options.opening(), options.task());
    let first = options.close == Close::First;
    let mut peer = Peer::new(socket, opening, config, task, first)?;
    let limit = Time::ZERO.saturating_add(Span::from_secs(options.limit));
    peer.run(limit)?;
    let stats = peer.stats().copied().unwrap_or_default();
    let done = peer.application();
    let peer_closed = peer.peer_closed();
    Ok(Report {
        peer_closed,
        ..Report::new(&stats, done.sent(), done.received())
    })
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
