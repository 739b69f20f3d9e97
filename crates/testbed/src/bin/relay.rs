//! `relay`: a path over UDP that loses, repeats, delays and reorders packets.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::io::{self, Read};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::process::ExitCode;

use clap::Parser;
use incastle_softswitch::clock::Clock;
use incastle_softswitch::wait::readable;
use incastle_testbed::relay::{Counts, Path, PathConfig};
use incastle_testbed::socket;
use incastle_units::Span;
use serde::Serialize;

/// Carries UDP packets between two ends and damages them, each by itself.
///
/// Each side has a socket of the relay. What arrives at one leaves from the other, to that side's peer: the one
/// that was given, or else whoever was heard there last. The relay prints "ready" and both addresses in one line, runs until its
/// standard input ends, and then writes what it did as JSON.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  relay 127.0.0.1:9001 127.0.0.1:0=127.0.0.1:9000 --loss 0.01 < /dev/tty
      clients that connect to port 9001 reach the server at port 9000
  relay 127.0.0.1:9001=127.0.0.1:8001 127.0.0.1:9002=127.0.0.1:8002 --delay '1 ms' --reorder 0.05
      a rendezvous: port 8001 meets port 9001, port 8002 meets port 9002"
)]
struct Options {
    /// This side's socket and, after '=', its peer
    #[arg(value_name = "ADDRESS[=PEER]", value_parser = side)]
    left: Side,
    /// The other side's
    #[arg(value_name = "ADDRESS[=PEER]", value_parser = side)]
    right: Side,
    /// The probability that a packet is lost
    #[arg(long, default_value_t = 0.0, value_parser = probability)]
    loss: f64,
    /// The probability that it arrives twice
    #[arg(long, default_value_t = 0.0, value_parser = probability)]
    duplicate: f64,
    /// The probability that it is held back
    #[arg(long, default_value_t = 0.0, value_parser = probability)]
    reorder: f64,
    /// For how long it is held back
    #[arg(long, default_value = "1 ms")]
    held_back: Span,
    /// The delay of every packet in one direction
    #[arg(long, default_value = "0 s")]
    delay: Span,
    /// Equal seeds spoil the same packets of a sequence
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy)]
struct Side {
    address: SocketAddr,
    peer: Option<SocketAddr>,
}

fn side(text: &str) -> Result<Side, String> {
    let address = |text: &str| {
        let example = "not an address like 127.0.0.1:9000 or [::1]:9000";
        text.parse().map_err(|_| format!("{text:?} is {example}"))
    };
    Ok(match text.split_once('=') {
        Some((own, peer)) => Side {
            address: address(own)?,
            peer: Some(address(peer)?),
        },
        None => Side {
            address: address(text)?,
            peer: None,
        },
    })
}

fn probability(text: &str) -> Result<f64, String> {
    let valid = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    valid.ok_or_else(|| "not a number from 0 to 1".into())
}

/// One side, and the path that leads to it.
struct Half {
    socket: UdpSocket,
    peer: Option<SocketAddr>,
    path: Path,
}

#[derive(Serialize)]
struct Report<'a> {
    to_left: &'a Counts,
    to_right: &'a Counts,
}

impl Half {
    fn new(side: &Side, config: PathConfig, seed: u64) -> io::Result<Self> {
        let socket = socket::bind(side.address)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            peer: side.peer,
            path: Path::new(config, seed),
        })
    }

    /// Sends what is due; without a peer it is lost.
    fn send_due(&mut self, clock: &Clock) -> io::Result<()> {
        while let Some(packet) = self.path.depart(clock.now()) {
            if let Some(peer) = self.peer {
                socket::send(&self.socket, &packet, peer)?;
            }
        }
        Ok(())
    }
}

fn receive(clock: &Clock, from: &mut Half, to: &mut Half) -> io::Result<()> {
    let mut packet = vec![0; 1 << 16];
    // A bounded number, so that the other side has its turn.
    for _ in 0..64 {
        let Some((length, peer)) = socket::receive(&from.socket, &mut packet)? else {
            break;
        };
        from.peer = Some(peer);
        to.path.arrive(clock.now(), &packet[..length]);
    }
    Ok(())
}

fn run(options: &Options) -> io::Result<()> {
    let config = PathConfig {
        loss: options.loss,
        duplicate: options.duplicate,
        reorder: options.reorder,
        held_back: options.held_back,
        delay: options.delay,
    };
    let clock = Clock::start();
    // The two directions must not share their draws.
    let mut left = Half::new(&options.left, config, options.seed.wrapping_mul(2))?;
    let mut right = Half::new(&options.right, config, options.seed.wrapping_mul(2) + 1)?;
    println!(
        "ready {} {}",
        left.socket.local_addr()?,
        right.socket.local_addr()?
    );
    let input = io::stdin();
    loop {
        let next = [&left, &right].map(|half| half.path.next_departure());
        let sources = [left.socket.as_fd(), right.socket.as_fd(), input.as_fd()];
        let ready = readable(&clock, &sources, next.into_iter().flatten().min())?;
        if ready[2] && input.lock().read(&mut [0; 256])? == 0 {
            break;
        }
        receive(&clock, &mut left, &mut right)?;
        receive(&clock, &mut right, &mut left)?;
        left.send_due(&clock)?;
        right.send_due(&clock)?;
    }
    let report = Report {
        to_left: left.path.counts(),
        to_right: right.path.counts(),
    };
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("relay: {error}");
            ExitCode::FAILURE
        }
    }
}
