//! Workloads between the hosts of a network: `workload` decides when, `Endpoints` are the connections.
//!
//! `kernel` has the connections of the kernel's TCP. A socket belongs to the namespace in which it was made, so that one
//! thread serves all of them.

mod connections;
mod flow;
mod kernel;
pub mod plan;
mod rows;
mod settings;
mod tcp_info;
mod transfers;
mod workload;

pub use connections::{Endpoints, Happened, State, Totals};
pub use kernel::KernelTcp;
pub use plan::{ExperimentError, ExperimentPlan, FlowPlan};
pub use rows::Rows;
pub(crate) use settings::{apply, controls};
pub use workload::{Timeline, Workload};
