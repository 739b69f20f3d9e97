//! How many rounds of requests, or of a collective operation.

use crate::grammar::declare::word_or;
use crate::grammar::range::at_least;

word_or! {
    /// A number of rounds.
    pub enum Rounds {
        /// As many as there is time for.
        "unlimited" => Unlimited,
        /// This many.
        Number(u64) in at_least(1),
    }
}
