//! Tests of runs on threads, and of estimates.

mod batches;
mod combined;
#[path = "../../../experiment/tests/it/common.rs"]
mod common;
mod estimate;
mod extremes;
mod parts;
mod random_networks;
