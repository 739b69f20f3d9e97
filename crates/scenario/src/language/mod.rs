//! The tables of the language: every key, its type, default, range and meaning, written once.
//!
//! The shape is that of the complete example in docs/scenario-language.md. Leaves out: relations between
//! the tables (`check`), and the simulation (`incastle-workload`, `incastle-experiment`).

pub mod arrivals;
pub mod collective;
pub mod custom;
pub mod degraded;
pub mod dependence;
pub(crate) mod elsewhere;
pub mod flows;
pub mod limits;
pub mod measure;
pub mod network;
pub mod preset;
pub mod qcn;
pub mod ratio;
pub(crate) mod root;
pub mod selection;
pub mod sizes;
pub mod switch;
pub mod tcp;
pub mod transport;
pub mod udt;
pub mod wire;

pub use limits::Capacity;
pub use root::{Host, JitterAppliesTo, Root, Run, RunStop};
