//! The overseer of a run, and the reasons why a run has no result.

use incastle_engine::RunError as EngineError;
use incastle_engine::network::BuildError;
use incastle_units::Time;

use crate::memory::{OutOfMemory, Shortage};

/// Events between two calls of the overseer: some milliseconds.
pub const SLICE: u64 = 100_000;

/// The reason why a run has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The network cannot be built.
    #[error("the network cannot be built: {0}")]
    Build(#[from] BuildError),
    /// A controller has no maker: see `Scenario::with_controllers`.
    #[error("nothing is known of the controller \"{0}\"")]
    UnknownController(String),
    /// The simulation cannot continue.
    #[error("the simulation stopped: {0}")]
    Engine(#[from] EngineError),
    /// There is not enough memory for its records.
    #[error(transparent)]
    OutOfMemory(Box<OutOfMemory>),
}

/// Watches a run.
pub trait Overseer {
    /// The run has reached `now`; returns whether it continues.
    fn continues(&self, now: Time) -> bool;

    /// Whether there is memory for `bytes`, which the run will still take. They replace those of the last
    /// call. Where free memory is unknown, there is.
    fn affords(&self, bytes: u64) -> Result<(), Shortage> {
        let _ = bytes;
        Ok(())
    }

    /// The maximum number of events between two calls of the overseer.
    fn slice(&self) -> u64 {
        SLICE
    }
}
