//! Offered load: the mean rate that groups of flows offer to links, over the rate of these links, without
//! a simulation.
//!
//! Groups that begin independently of the network have a demand (`demand`). It spreads evenly over equally short
//! paths (`spread`); above 100 % there is a warning (`warn`). All rates are those of the beginning. Leaves out:
//! groups that adapt to the network, changes of rates, failures after the beginning.

mod demand;
mod offered;
mod spread;
mod warn;

pub use offered::{GroupLoad, LeftOut, OfferedLoad, TierLoad, capacity};
pub(crate) use warn::{check, check_tiers};
