//! The commands, one file each. What they measure is in `bench`.

mod bench;
mod get;
mod key;
mod ping;
mod send;
mod serve;
mod tally;

use std::pin::Pin;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::address::HostPort;
use crate::arguments::{Command, LinkArguments};
use crate::error::Failure;
use crate::link::Link;
use crate::terminal::note;

/// Runs a command. Gives the exit status; a failure of the whole has not been shown yet.
pub async fn run(command: Command) -> Result<u8, Failure> {
    // A limit on the size of files (ulimit -f) is an error of the write, not the end of the program.
    let limit = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
    let result = dispatch(command).await;
    drop(limit);
    result
}

async fn dispatch(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Serve(arguments) => serve::files(arguments).await,
        Command::Send(arguments) => send::run(arguments).await,
        Command::Get(arguments) => get::run(arguments).await,
        Command::Bench(arguments) if arguments.serve => serve::measurements(arguments).await,
        Command::Bench(arguments) => bench::run(arguments).await,
        Command::Ping(arguments) => ping::run(arguments).await,
        Command::Key => key::run(),
    }
}

/// Calls the server. `None` where the user stops that, who has seen a note.
async fn call(
    peer: &HostPort,
    arguments: &LinkArguments,
    stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<Option<Link>, Failure> {
    tokio::select! {
        link = Link::call(peer, arguments) => link.map(Some),
        () = stop => {
            note(format_args!("interrupted before {peer} answered"));
            Ok(None)
        }
    }
}

/// Resolves when the user or the system asks the program to stop (SIGINT, SIGTERM). From the call on
/// neither of them ends the program by itself.
fn stopped() -> impl Future<Output = ()> {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    async {
        let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
            // Without handlers the system ends the program; unfinished files stay as they are.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}
