//! The commands, one file each. What they measure is in `bench`.

mod bench;
mod get;
mod key;
mod ping;
mod send;
mod serve;
mod tally;

use tokio::signal::unix::{SignalKind, signal};

use crate::arguments::Command;
use crate::error::Failure;

/// Runs a command. Gives the exit status; a failure of the whole has not been shown yet.
pub async fn run(command: Command) -> Result<u8, Failure> {
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

/// Resolves when the user or the system asks the program to stop (SIGINT, SIGTERM).
async fn stopped() {
    let signals = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else {
        // Without handlers the system ends the program at once; unfinished files stay as they are.
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
