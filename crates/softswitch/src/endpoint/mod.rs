//! Workloads over the kernel's TCP between the namespaces of a network.
//!
//! A socket belongs to the namespace in which it was made, so that one thread serves all of them.

mod flow;
pub mod plan;
mod rows;
mod settings;
mod tcp_info;
mod workload;

pub use plan::{ExperimentError, ExperimentPlan, FlowPlan};
pub use rows::Rows;
pub(crate) use settings::{apply, controls};
pub use workload::{Timeline, Workload};
