//! Estimates of completion times where a network is too large for one event loop. Each link is
//! simulated by itself with its flows, and the delays along a flow's path are added.
//!
//! After K. Zhao, P. Goyal, M. Alizadeh, T. E. Anderson, "Scalable tail latency estimation for data
//! center networks", NSDI 2023 (Parsimon). As there, some of a class of equal links may represent all of
//! them. Unlike there, all flows share all links as a fluid first. That gives the pace at which each
//! flow arrives at a link, and links add only the effects of packets: queues, windows,
//! losses. A flow with a bottleneck in the fluid is timed around one link, where windows and marks determine its
//! time. At other links it waits as packets do there. Any other flow waits at each link of its path. Both
//! directions of a link are simulated together with the ACKs that cross them. A flow keeps its own delay
//! wherever its own link was simulated.
//!
//! Leaves out:
//!
//! - the correlation of queues along one path (waits are added up);
//! - shares that are not max-min fair;
//! - the ACKs' path (they follow the data, where ECMP would choose another path of the same tier);
//! - switch memory that other ports use;
//! - the scenarios that `suited` refuses.
//!
//! The modules in the order of an estimate:
//!
//! - `suited`: whether a scenario can be estimated;
//! - `crossings`: flows by link;
//! - `clusters`: the simulated links;
//! - `fluid`, `watch` and `paces`: all flows share all links;
//! - `bottlenecks`: bottlenecks, and waits elsewhere;
//! - `surroundings` and `discipline`: the network around one link;
//! - `run`, `alone` and `delays`: the delay of each flow there;
//! - `pools` and `combine`: the flow completion times.

mod alone;
mod bottlenecks;
mod clusters;
mod combine;
mod crossings;
mod delays;
mod discipline;
mod estimation;
mod fluid;
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
