//! Hosts, switches and links by name and by position, and the pairs of hosts of flows.

mod between;
mod degraded;
mod fabric;
mod failures;
mod graph;
pub mod layout;
pub mod pairs;
pub(crate) mod plan;
pub(crate) mod routes;
mod shapes;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod tier;
