//! Ideal flow completion times: the duration of a transfer alone in the network.
//!
//! `Ideals` computes them for the result tables, by one of two definitions that `[measure] ideal` names.
//! `line_rate` is the same for every transport and controller, and no transfer is faster. `own_transport`
//! simulates the lone transfer under its own transport and controller.
//! Leaves out: rounds, which are many transfers.

mod last;
mod line_rate;
mod own_transport;
mod path;
mod profiles;
mod tail;

use incastle_units::Span;

use crate::overseer::RunError;
use incastle_scenario::Scenario;
use incastle_scenario::language::measure::Ideal;
use incastle_scenario::topology::pairs::Pair;
use incastle_workload::TransferKind;

pub(crate) use last::Last;
pub use line_rate::LineRate;
pub use own_transport::OwnTransport;

/// FCT over ideal FCT, in whole picoseconds: a quotient of rounded seconds could be below 1.
pub fn slowdown(fct: Span, ideal: Span) -> f64 {
    fct.as_ps() as f64 / ideal.as_ps() as f64
}

/// A transfer.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The group's position in the scenario.
    pub group: usize,
    /// Its kind.
    pub kind: TransferKind,
    /// Its hosts.
    pub hosts: Pair,
    /// Application bytes.
    pub bytes: u64,
}

/// The ideal FCTs of a scenario's transfers, as its `[measure] ideal` defines them.
pub(crate) enum Ideals<'a> {
    LineRate(LineRate<'a>),
    OwnTransport(OwnTransport<'a>),
}

impl<'a> Ideals<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        match scenario.tables().measure.ideal {
            Ideal::LineRate => Self::LineRate(LineRate::new(scenario)),
            Ideal::OwnTransport => Self::OwnTransport(OwnTransport::new(scenario)),
        }
    }

    /// The ideal FCT of a transfer; absent for rounds, and where it would never complete.
    pub(crate) fn time(&mut self, wanted: &Wanted) -> Result<Option<Span>, RunError> {
        match self {
            Self::LineRate(ideals) => Ok(ideals.time(wanted)),
            Self::OwnTransport(ideals) => ideals.time(wanted),
        }
    }
}
