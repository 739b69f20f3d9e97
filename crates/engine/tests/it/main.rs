//! Whole networks against theory, against each other, and against what must hold in all of them.
//!
//! One program for all files: it is linked once. Leaves out: scenarios, which have tests in their own
//! crate.

mod coalescing;
mod common;
mod congestion_trees;
mod d2tcp;
mod dctcp_theory;
mod degraded_links;
mod dt_cwa;
mod event_counts;
mod failures;
mod fair_queueing;
mod long_flows;
mod loss_laws;
mod nic_pauses;
mod paced;
mod parallel;
mod parallel_fabrics;
mod pause_storms;
mod pause_tables;
mod qcn;
mod queue_pairs;
mod queues;
mod random_fabrics;
mod random_networks;
mod rate_changes;
mod rdma_ports;
mod recording;
mod routes;
mod timeouts;
mod transfers;
mod udt;
