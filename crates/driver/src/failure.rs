//! The reasons why a run on threads gave no result.

use incastle_experiment::RunError;

use crate::panics::Panic;

/// The reason why one run of several gave no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The engine refused it.
    #[error(transparent)]
    Refused(#[from] RunError),
    /// A defect of Incastle.
    #[error(transparent)]
    Panicked(#[from] Panic),
}
