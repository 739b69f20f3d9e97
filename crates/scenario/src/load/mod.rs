//! Offered load: the mean rate that groups of flows offer to links, over the rate of these links, before
//! anything is simulated.
//!
//! Groups that send at instants of their own have one (`demand`); it spreads over equally short paths evenly
//! (`spread`); what is above 100 % is warned of (`warn`). All rates are those of the beginning. Leaves out:
//! groups that adapt to the network, changes of rates, failures after the beginning.

mod demand;
mod offered;
mod spread;
mod warn;

pub use offered::{GroupLoad, LeftOut, OfferedLoad, TierLoad, capacity};
pub(crate) use warn::{check, check_tiers};
