//! The choices of a scenario, checked here and turned into the discipline of a port.
//!
//! Leaves out: text. The scenario language parses into these types and reads their defaults.

use incastle_units::Rate;

use crate::{
    DropTail, Marker, PortBuffer, Red, RedConfig, RedError, SharedBufferConfig, SharedBufferError,
    Threshold, ThresholdConfig,
};

/// The discipline of a port's queue.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum QueueConfig {
    /// No marking.
    #[default]
    DropTail,
    /// Marking above a threshold.
    Threshold(ThresholdConfig),
    /// Random early detection.
    Red(RedConfig),
}

impl QueueConfig {
    /// The names that scenarios use, each with one line of explanation.
    pub const CATALOG: [(&'static str, &'static str); 3] = [
        ("drop-tail", "no marking; the buffer alone drops"),
        (
            "threshold",
            "mark when the instantaneous queue is above K (DCTCP, RFC 8257)",
        ),
        (
            "red",
            "mark or drop at random by the average queue (Floyd and Jacobson 1993)",
        ),
    ];

    /// The name of this discipline in the catalog.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::DropTail => Self::CATALOG[0].0,
            Self::Threshold(_) => Self::CATALOG[1].0,
            Self::Red(_) => Self::CATALOG[2].0,
        }
    }

    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), RedError> {
        match self {
            Self::DropTail | Self::Threshold(_) => Ok(()),
            Self::Red(config) => config.check(),
        }
    }

    /// The discipline of a port that sends at `rate`. The parameters must pass `check`.
    pub fn build(&self, rate: Rate) -> Marker {
        match self {
            Self::DropTail => Marker::DropTail(DropTail),
            Self::Threshold(config) => Marker::Threshold(Threshold::new(*config)),
            Self::Red(config) => Marker::Red(Red::new(config, rate)),
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

impl Default for BufferConfig {
    fn default() -> Self {
        Self::PerPort(PortBuffer::default())
    }
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
