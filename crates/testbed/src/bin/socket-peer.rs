//! `socket-peer`: one endpoint of a UDT connection on the socket library, that sends and receives known data,
//! and prints their hashes.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use incastle_socket::{
    Connection, ConnectionConfig, ConnectionError, Control, Endpoint, EndpointConfig, Event,
    MessageOptions, SocketKind,
};
use incastle_testbed::command::{Close, Options, Report};
use incastle_testbed::data::{Source, Tally};
use incastle_testbed::peer::Opening;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes that are written or read at once.
const PIECE: usize = 1 << 16;

type Anything = Box<dyn Error + Send + Sync>;

async fn open(endpoint: &Endpoint, options: &Options) -> Result<Connection, Anything> {
    let config = ConnectionConfig {
        control: Control::Udt,
        kind: options
            .message
            .map_or(SocketKind::Stream, |_| SocketKind::Message),
        connect_timeout: Duration::from_secs(30),
        ..ConnectionConfig::default()
    };
    Ok(match options.opening() {
        Opening::Listen => {
            let listener = endpoint.listen(config, 1)?;
            listener.accept().await.ok_or("the endpoint closed")?
        }
        Opening::Connect(server) => endpoint.connect(server, &config).await?,
        Opening::Meet(other) => endpoint.rendezvous(other, &config).await?,
    })
}

async fn send(connection: &Connection, options: &Options) -> Result<Tally, Anything> {
    let (mut source, mut sent) = (Source::new(options.seed), Tally::default());
    let mut piece = Vec::new();
    while sent.bytes() < options.send {
        let most = options.message.unwrap_or(PIECE) as u64;
        piece.resize((options.send - sent.bytes()).min(most) as usize, 0);
        source.fill(&mut piece);
        if options.message.is_some() {
            let message = piece.clone().into();
            connection
                .send_message(message, MessageOptions::default())
                .await?;
        } else {
            connection.send_stream()?.write_all(&piece).await?;
        }
        sent.add(&piece);
    }
    Ok(sent)
}

/// Receives a piece or message; gives whether the peer is still there.
async fn receive_some(
    connection: &Connection,
    options: &Options,
    received: &mut Tally,
) -> Result<bool, Anything> {
    if options.message.is_some() {
        let message = connection.recv_message().await?;
        received.add(message.as_deref().unwrap_or_default());
        return Ok(message.is_some());
    }
    let mut piece = vec![0; PIECE];
    let count = connection.recv_stream()?.read(&mut piece).await?;
    received.add(&piece[..count]);
    Ok(count > 0)
}

async fn receive(connection: &Connection, options: &Options) -> Result<Tally, Anything> {
    let mut received = Tally::default();
    while received.bytes() < options.receive {
        if !receive_some(connection, options, &mut received).await? {
            return Err("the peer closed early".into());
        }
    }
    Ok(received)
}

/// The endpoint that closes last waits for the peer's shutdown, or for its silence.
async fn wait_for_peer(connection: &Connection) {
    let mut events = connection.events();
    while let Some(event) = events.next().await {
        if matches!(event, Event::PeerClosed | Event::Over(_)) {
            return;
        }
    }
}

async fn exchange(options: &Options) -> Result<Report, Anything> {
    let endpoint = Endpoint::bind(options.own, EndpointConfig::default())?;
    println!("ready {}", endpoint.local_addr()?);
    let connection = open(&endpoint, options).await?;
    let (sent, received) =
        tokio::try_join!(send(&connection, options), receive(&connection, options))?;
    let last = options.close == Close::Last;
    if last {
        wait_for_peer(&connection).await;
    }
    match connection.close().await {
        // The library may close without acknowledging what it took; the hashes show it.
        Ok(()) => {}
        Err(ConnectionError::Silent { .. }) if last => {}
        Err(error) => return Err(error.into()),
    }
    let stats = connection.statistics().protocol;
    Ok(Report {
        peer_closed: last,
        ..Report::new(&stats, &sent, &received)
    })
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let limit = Duration::from_secs(options.limit);
    let done = match tokio::time::timeout(limit, exchange(&options)).await {
        Ok(done) => done,
        Err(_) => Err("not done in time".into()),
    };
    match done.and_then(|report| Ok(serde_json::to_string(&report)?)) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("socket-peer: {error}");
            ExitCode::FAILURE
        }
    }
}
