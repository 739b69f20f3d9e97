//! The control traits carry every algorithm that is planned: compact implementations of their
//! laws against the traits, held against numbers that are worked out in comments.
//!
//! These are proofs of the interface, not the models: variants, safeguards and parameters are left
//! to those. `docs/control-traits.md` tells the same story in prose.

#[path = "../support/mod.rs"]
mod support;

mod dcudp;
mod udt;
