//! World `sockets`: the flows of a scenario over our transport on real UDP sockets, through the soft switch.
//!
//! The transport and its controls are the objects of the simulation, made from the same tables of the scenario. A
//! connection's clock is divided by the dilation, so that timers and controls live in the scenario's time.
//!
//! Leaves out: connections without a handshake, `send_buffer`, framing: real ones have none of these.

mod connections;
mod pipe;
mod transports;

use std::ffi::OsString;
use std::io;

use incastle_softswitch::endpoint::{ExperimentPlan, Timeline};
use incastle_softswitch::experiment::Medium;
use incastle_softswitch::namespace::Namespace;

pub use connections::Sockets;
pub use transports::Transports;

/// Runs the program `softswitch` with experiments over our sockets: the flows of a plan name these transports.
pub fn run(typed: impl IntoIterator<Item = OsString>, transports: Transports) -> u8 {
    incastle_softswitch::run_over(typed, transports)
}

impl Medium for Transports {
    type Connections = Sockets;

    fn check(&self, plan: &ExperimentPlan) -> Result<(), String> {
        plan.check_controls(&self.names())
            .map_err(|error| error.to_string())
    }

    fn prepare(
        self,
        plan: &ExperimentPlan,
        places: &[Namespace],
        _time: Timeline,
    ) -> io::Result<(Sockets, Vec<String>)> {
        Ok((Sockets::prepare(plan, places, &self)?, Vec::new()))
    }
}
