//! `dcudp-capture`: writes a capture of DCUDP packets, and what our parser reads in each.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that reports"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use incastle_testbed::capture;

/// Writes a pcapng file with a session of two DCUDP endpoints and one packet of each kind. On standard output, it writes the
/// fields of each packet by Incastle's parser, as one line of JSON per packet.
#[derive(Parser)]
#[command(version)]
struct Options {
    /// The file
    file: PathBuf,
    /// The session follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let mut packets = capture::session(options.seed);
    packets.extend(capture::examples());
    if let Err(error) = std::fs::write(&options.file, capture::pcapng(&packets)) {
        eprintln!("dcudp-capture: {}: {error}", options.file.display());
        return ExitCode::FAILURE;
    }
    for packet in &packets {
        println!("{}", capture::fields(packet));
    }
    ExitCode::SUCCESS
}
