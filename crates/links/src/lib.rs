//! Links: their framing, and changes during a run as state machines: rates and failures by schedule; losses, corruption
//! and delays at random.
//!
//! Models one direction of a link: its rate over time, and the fate of each packet that enters it. Inputs are the time
//! and the size of a packet. Leaves out: the packets on a link and their order, and the events, which are in the
//! engine.

mod degraded;
mod delay;
mod failures;
mod framing;
mod loss;
mod rate_schedule;
mod transit;

pub use degraded::{Degradation, DegradedLink, Fate, WireCounters};
pub use delay::{Jitter, JitterDistribution};
pub use failures::{Failures, LinkChange, Outage};
pub use framing::Framing;
pub use loss::{GilbertElliott, Loss};
pub use rate_schedule::{RateChange, RateSchedule, area};
pub use transit::Transit;
