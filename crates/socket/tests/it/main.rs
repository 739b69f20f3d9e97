//! Endpoints on real sockets of the loopback interface, with honest, malicious and idle peers.

#![allow(clippy::unwrap_used)] // its exception for tests does not reach what they share

mod alone;
mod ended;
mod forged;
mod idle;
mod loopback;

use std::future::Future;
use std::time::Duration;

/// Runs a test on two threads. It fails if it hangs.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let minutes = Duration::from_secs(300);
        let outcome = tokio::time::timeout(minutes, test).await;
        outcome.expect("the test hangs");
    });
}
