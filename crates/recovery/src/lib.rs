//! The mechanisms of TCP's loss recovery as separate state machines: RACK and tail loss probes (RFC 8985),
//! proportional rate reduction (RFC 9937), F-RTO (RFC 5682), the undoing of needless reactions, and samples of
//! the delivery rate (draft-ietf-ccwg-bbr). Inputs are
//! acknowledgements and the time; sequence numbers are offsets that do not wrap.
//!
//! Leaves out: the sender that joins them, its timers and its segments, which are in the transport.

mod f_rto;
mod flight;
mod prr;
mod rack;
mod ranges;
mod rate_sampler;
mod tail_loss_probe;
mod undo;

pub use f_rto::{FRto, Signs};
pub use flight::{Fate, Flight, Record, Transmission};
pub use prr::{Acknowledged, Prr};
pub use rack::{Delivery, Detection, Rack, Reordering};
pub use ranges::{Gap, Interval, RangeSet};
pub use tail_loss_probe::{ProbeAck, TailLossProbe, probe_timeout};
pub use undo::Undo;
