//! Who watches a run, and why there may be no result.

use incastle_engine::RunError as EngineError;
use incastle_engine::network::BuildError;
use incastle_units::Time;

use crate::memory::{OutOfMemory, Shortage};

/// Events between two looks at the overseer: some milliseconds.
pub const SLICE: u64 = 100_000;

/// Why a run gave no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The network cannot be built.
    #[error("the network cannot be built: {0}")]
    Build(#[from] BuildError),
    /// Nobody has said what makes a controller: see `Scenario::with_controllers`.
    #[error("nothing is known of the controller \"{0}\"")]
    UnknownController(String),
    /// The simulation cannot go on.
    #[error("the simulation stopped: {0}")]
    Engine(#[from] EngineError),
    /// There is not enough memory for what it keeps.
    #[error(transparent)]
    OutOfMemory(Box<OutOfMemory>),
}

/// Who watches a run.
pub trait Overseer {
    /// The run has come to `now`; gives whether it goes on.
    fn goes_on(&self, now: Time) -> bool;

    /// Whether there is memory for so many bytes, which the run will still take; they are in the place of
    /// those that it asked for before. Where nobody knows, there is.
    fn affords(&self, bytes: u64) -> Result<(), Shortage> {
        let _ = bytes;
        Ok(())
    }

    /// Events between two looks at the overseer, at the most.
    fn slice(&self) -> u64 {
        SLICE
    }
}
