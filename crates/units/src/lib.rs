//! Exact units: the only place in Incastle where units are converted.
//!
//! Models: instants and spans of simulated time (picoseconds), amounts of data (bytes, packets) and
//! bit rates, all unsigned integers. A string has its unit ("10 Gbit/s", "25 us", "64 KiB"). Inexact
//! functions end in `_lossy`. Random draws and running hashes are here too, because every crate
//! must compute the same ones. Leaves out: calendar time, negative quantities, fractions of a
//! picosecond (a [`Serializer`] carries them instead).

mod data;
mod digest;
mod ecn;
pub mod ns3;
mod parse;
mod quotient;
pub mod random;
mod rate;
pub mod rounded;
mod text;
mod time;

pub use data::{Amount, Bytes, Packets};
pub use digest::Digest;
pub use ecn::Ecn;
pub use parse::{ParseUnitError, UnitProblem};
pub use quotient::mul_div;
pub use rate::{Rate, Serializer};
pub use text::Quantity;
pub use time::{Span, Time};
