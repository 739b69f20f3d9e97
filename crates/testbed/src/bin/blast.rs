//! How fast a connection is, and what it costs: one process receives, another sends.
//!
//! ```text
//! blast serve 127.0.0.1:9000
//! blast send 127.0.0.1:9000 [udt|dcudp] [seconds] [capacity in Gbit/s]
//! blast ping 127.0.0.1:9000 [udt|dcudp] [count]
//! ```
//!
//! `send` prints goodput and this process's processor seconds per GB; `ping` the median and the 99th
//! percentile of the round trip of 64 bytes. Both ends print what the connection saw.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a program whose purpose is to print

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use incastle_socket::{
    Connection, ConnectionConfig, Control, Endpoint, EndpointConfig, Rate, SocketKind,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

type Outcome = Result<(), Box<dyn Error>>;

const USAGE: &str = "blast serve|send|ping ADDRESS [udt|dcudp] [SECONDS|COUNT] [GBITS]";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [what, address, rest @ ..] = &words[..] else {
        return Err(USAGE.into());
    };
    let address: SocketAddr = address.parse()?;
    let mut config = ConnectionConfig::default();
    if rest.first() == Some(&"udt") {
        config.control = Control::Udt;
    }
    if let Some(gbits) = rest.get(2) {
        let bits = gbits.parse::<u64>()? * 1_000_000_000;
        config.capacity = Some(Rate::from_bits_per_second(bits));
    }
    let number = rest.get(1).map_or(Ok(3), |text| text.parse())?;
    match *what {
        "serve" => serve(address, config).await,
        "send" => send(address, &config, Duration::from_secs(number)).await,
        "ping" => ping(address, &config, number.max(100)).await,
        _ => Err(USAGE.into()),
    }
}

fn any(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0u16; 8], 0).into(),
    }
}

async fn serve(address: SocketAddr, config: ConnectionConfig) -> Outcome {
    assert_eq!(config.kind, SocketKind::Stream, "streams by default");
    let endpoint = Endpoint::bind(address, EndpointConfig::default())?;
    let listener = endpoint.listen(config, 16)?;
    while let Some(connection) = listener.accept().await {
        tokio::spawn(async move {
            if let Err(error) = receive(&connection).await {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}

/// The first byte says what is wanted: everything swallowed, or 64 bytes sent back each time.
async fn receive(connection: &Connection) -> Outcome {
    let mut stream = connection.recv_stream()?;
    let mut back = connection.send_stream()?;
    let mut buffer = vec![0; 1 << 18];
    let echoes = stream.read_u8().await? == b'p';
    let (begun, used) = (Instant::now(), processor_seconds());
    let mut bytes = 0;
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        bytes += count;
        if echoes {
            back.write_all(&buffer[..count]).await?;
        }
    }
    connection.close().await?;
    report("received", bytes, begun, used);
    println!("{:?}", connection.statistics());
    Ok(())
}

async fn send(address: SocketAddr, config: &ConnectionConfig, long: Duration) -> Outcome {
    let endpoint = Endpoint::bind(any(address), EndpointConfig::default())?;
    let connection = endpoint.connect(address, config).await?;
    let mut stream = connection.send_stream()?;
    let block = vec![7; 1 << 18];
    stream.write_u8(b's').await?;
    let (begun, used) = (Instant::now(), processor_seconds());
    let mut bytes = 0;
    while begun.elapsed() < long {
        bytes += stream.write(&block).await?;
        // Tokio's budget for one task is not drawn on by streams that are always ready.
        tokio::task::yield_now().await;
    }
    connection.flush().await?;
    report("sent", bytes, begun, used);
    println!("{:?}", connection.statistics());
    connection.close().await?;
    println!("{:?}", endpoint.statistics());
    Ok(())
}

async fn ping(address: SocketAddr, config: &ConnectionConfig, count: u64) -> Outcome {
    let endpoint = Endpoint::bind(any(address), EndpointConfig::default())?;
    let connection = endpoint.connect(address, config).await?;
    let mut stream = connection.send_stream()?;
    let mut back = connection.recv_stream()?;
    stream.write_u8(b'p').await?;
    let mut buffer = [0; 64];
    let mut times = Vec::new();
    for _ in 0..count {
        let begun = Instant::now();
        stream.write_all(&buffer).await?;
        back.read_exact(&mut buffer).await?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("p50 {:?}  p99 {:?}  max {:?}", at(0.5), at(0.99), at(1.0));
    println!("{:?}", connection.statistics());
    connection.close().await?;
    Ok(())
}

fn report(what: &str, bytes: usize, begun: Instant, used_before: f64) {
    let seconds = begun.elapsed().as_secs_f64();
    let gigabytes = bytes as f64 / 1e9;
    let used = processor_seconds() - used_before;
    println!(
        "{what} {gigabytes:.3} GB in {seconds:.2} s: {:.2} Gbit/s, {:.3} s of processor per GB",
        8.0 * gigabytes / seconds,
        used / gigabytes
    );
}

/// User and system time of this process, from /proc (in ticks of 10 ms).
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    ticks / 100.0
}
