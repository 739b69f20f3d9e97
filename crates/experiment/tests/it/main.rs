//! Tests of runs: small scenarios, and their result tables.

mod bbr;
mod captures;
mod collectives;
mod common;
mod custom;
mod deadlines;
mod degraded;
mod dependences;
mod failures;
mod ideal;
mod l4s;
mod line_rate;
mod list;
mod load;
mod memory;
mod ports;
mod qcn;
mod requests;
mod runs;
mod slow_start;
mod swift;
mod timeouts;
mod topologies;
mod udt;
mod when_done;
mod workloads;
