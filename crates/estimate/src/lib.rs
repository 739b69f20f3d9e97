//! Estimates of completion times where a network is too large for one event loop: each link is
//! simulated by itself with what crosses it, and the delays along a flow's path are added.
//!
//! After K. Zhao, P. Goyal, M. Alizadeh, T. E. Anderson, "Scalable tail latency estimation for data
//! center networks", NSDI 2023 (Parsimon). As there, links that are alike may be simulated by some of
//! them. Otherwise than there, all flows share all links as a fluid first. That gives the pace at which each
//! flow comes to a link, and links are asked only for what packets add to the fluid: queues, windows,
//! losses. A flow that the fluid holds up is timed around one link, where windows and marks decide about it;
//! at the others it waits as packets do there. Any other flow waits at each link of its path. Both directions of
//! a link are simulated together with the ACKs that cross them, and a flow keeps the delay that it had
//! itself wherever its own link was simulated.
//!
//! Leaves out: how the queues of several links on one path depend on each other (waits are added up); shares
//! that are not max-min fair; ACKs take the path of the data back, where ECMP would take another of the same
//! tier; memory of a switch that its other ports use; what `suited` refuses.
//!
//! A scenario's steps through this crate: `suited` (can it be estimated), `crossings` (which flow crosses
//! which link), `clusters` (which links are simulated), `fluid`, `watch` and `paces` (how all flows share all
//! links), `holds` (where flows are held up, and what they wait elsewhere), then link by link `surroundings`
//! and `discipline` (the network around a link), `run`, `alone` and `delays` (how long each flow waited there),
//! and `pools` and `combine`.

mod alone;
mod clusters;
mod combine;
mod crossings;
mod delays;
mod discipline;
mod estimation;
mod fluid;
mod holds;
mod paces;
mod pools;
mod run;
mod suited;
mod surroundings;
mod watch;
mod workers;

pub use delays::Delays;
pub use estimation::{EstimateError, Estimation};
pub use suited::Unsuited;
pub use workers::Workers;
