//! The language of scenarios: every table and key, its type, default, range and meaning, written once.
//!
//! [`Root`] has the tables, declared in the words of [`grammar`], which reads and writes them; [`manual`] describes
//! them to readers and editors. The shape is that of the complete example in docs/scenario-language.md.
//!
//! Leaves out: relations between the tables (`incastle-scenario`), and the simulation (`incastle-workload`,
//! `incastle-experiment`).

pub mod arrivals;
pub mod collective;
pub mod custom;
pub mod degraded;
pub mod dependence;
pub(crate) mod elsewhere;
pub mod flows;
pub mod grammar;
pub mod limits;
pub mod manual;
pub mod measure;
pub mod network;
pub mod pfc;
pub mod preset;
pub mod proportional;
pub mod qcn;
pub mod ratio;
pub mod rdma;
pub mod root;
pub mod selection;
pub mod sizes;
pub mod switch;
pub mod tcp;
pub mod transport;
pub mod udt;
pub mod window_control;
pub mod wire;

use incastle_text as text;

pub use limits::Capacity;
pub use root::{Host, JitterAppliesTo, Root, Run, RunStop};
