//! The program `dcudp`: files, measurements and pings over UDT and DCUDP.
//!
//! A library, so that the binary and the Python package run the very same [`run`]. It leaves out what
//! the crates below have: the protocol of the connection, its control, its encryption.

pub mod address;
pub mod arguments;
pub mod bench;
pub mod commands;
pub mod disk;
pub mod error;
pub mod key;
pub mod link;
pub mod places;
pub mod printable;
pub mod protocol;
pub mod request;
pub mod service;
pub mod terminal;
pub mod transfer;

use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;
use incastle_socket::OwnControl;
use tracing_subscriber::filter::LevelFilter;

use crate::arguments::Arguments;
use crate::error::{BAD_INPUT, DONE, FAILED};

/// How long the disk may take for what had arrived when the program was stopped.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Runs the program with what was typed, its own name first. Gives the exit status.
pub fn run(typed: impl IntoIterator<Item = OsString>) -> u8 {
    run_with(typed, None)
}

/// The same with a control of the program that calls.
pub fn run_with(typed: impl IntoIterator<Item = OsString>, own: Option<OwnControl>) -> u8 {
    let mut arguments = match Arguments::try_parse_from(typed) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are printed here too, to standard output and with status 0.
            terminal::check_output(error.print());
            return complete(u8::try_from(error.exit_code()).unwrap_or(BAD_INPUT));
        }
    };
    trace(arguments.verbose);
    if let Some(link) = arguments.command.link_mut() {
        link.own = own;
    }
    // One thread for the network, which needs no locks then; disks have separate threads.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(commands::run(arguments.command));
            // A disk that hashes or writes for somebody who was interrupted is not waited for long.
            runtime.shutdown_timeout(LAST_WRITES);
            result
        }
        Err(error) => Err(error::disk(&error)),
    };
    complete(result.unwrap_or_else(|failure| {
        terminal::error(&failure);
        failure.status()
    }))
}

/// The exit status: what was done, and could not be written down, has failed.
fn complete(status: u8) -> u8 {
    if status == DONE && !terminal::output_is_whole() {
        return FAILED;
    }
    status
}

/// Writes the trace of the libraries to standard error.
fn trace(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let installed = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .without_time()
        .try_init();
    // A program around this one may have installed another.
    installed.ok();
}
