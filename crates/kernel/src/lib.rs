//! Our congestion controls in the kernel's TCP, by eBPF.
//!
//! `control` registers DCTCP, whose rules are in bpf/dctcp.h. `bridge` has controllers of `congestion`, in this process,
//! decide for the kernel's connections. `python` is the module `incastle._kernel`.

mod bridge;
mod control;
// Classes of Python behind the trait `Controller`: the very same code as in `incastle._engine`.
#[cfg(feature = "python")]
#[path = "../../python/src/controllers/mod.rs"]
mod controllers;
mod delays;
#[cfg(feature = "python")]
mod python;
mod wire;

pub use bridge::{Bridge, Maker, Statistics};
pub use control::{Control, KernelError};
pub use delays::Delays;
