//! The choices of a scenario, checked here and turned into the discipline of a port.
//!
//! Leaves out: parsing, names and a scenario's default choice. The scenario language has them, and
//! reads the parameters' defaults from here.

use incastle_units::Rate;

use crate::{
    DoubleThreshold, DoubleThresholdConfig, DoubleThresholdError, DropTail, LinearMarker,
    LinearMarkerConfig, LinearMarkerError, Marker, PortBuffer, Red, RedConfig, RedError,
    SharedBufferConfig, SharedBufferError, Threshold, ThresholdConfig,
};

/// The discipline of a port's queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueueConfig {
    /// No marking.
    DropTail,
    /// Marking above a threshold.
    Threshold(ThresholdConfig),
    /// Marking from one threshold to another.
    DoubleThreshold(DoubleThresholdConfig),
    /// Marking with a probability that grows with the instantaneous queue.
    Linear(LinearMarkerConfig),
    /// Random early detection.
    Red(RedConfig),
}

/// An error in a [`QueueConfig`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum QueueError {
    /// An error of the two thresholds.
    #[error(transparent)]
    DoubleThreshold(#[from] DoubleThresholdError),
    /// An error of the linear marker.
    #[error(transparent)]
    Linear(#[from] LinearMarkerError),
    /// An error of RED.
    #[error(transparent)]
    Red(#[from] RedError),
}

impl QueueConfig {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), QueueError> {
        match self {
            Self::DropTail | Self::Threshold(_) => {}
            Self::DoubleThreshold(config) => config.check()?,
            Self::Linear(config) => config.check()?,
            Self::Red(config) => config.check()?,
        }
        Ok(())
    }

    /// The discipline of a port that sends at `rate`. The parameters must pass `check`.
    pub fn build(&self, rate: Rate) -> Marker {
        match self {
            Self::DropTail => Marker::DropTail(DropTail),
            Self::Threshold(config) => Marker::Threshold(Threshold::new(*config)),
            Self::DoubleThreshold(config) => {
                Marker::DoubleThreshold(Box::new(DoubleThreshold::new(*config)))
            }
            Self::Linear(config) => Marker::Linear(Box::new(LinearMarker::new(*config))),
            Self::Red(config) => Marker::Red(Box::new(Red::new(config, rate))),
        }
    }
}

/// The memory of a switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BufferConfig {
    /// Each port has its own.
    PerPort(PortBuffer),
    /// All ports share one, with Dynamic Thresholds.
    Shared(SharedBufferConfig),
}

impl BufferConfig {
    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), SharedBufferError> {
        match self {
            Self::PerPort(_) => Ok(()),
            Self::Shared(config) => config.check(),
        }
    }
}
