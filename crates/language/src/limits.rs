//! Limits that may be `"unlimited"`: of a store, of a socket, of a number of rounds.

use incastle_units::{Amount, Bytes};

use crate::grammar::declare::word_or;
use crate::grammar::range::at_least;

word_or! {
    /// A limit of stored data.
    pub enum Capacity {
        /// Everything.
        "unlimited" => Unlimited,
        /// At most this.
        Limited(Amount),
    }
}

word_or! {
    /// A limit of a send buffer.
    pub enum SendBuffer {
        /// Everything.
        "unlimited" => Unlimited,
        /// At most this.
        Limited(Bytes),
    }
}

impl SendBuffer {
    /// The bytes that may wait, unless there is no limit.
    pub(crate) fn limit(self) -> Option<Bytes> {
        match self {
            SendBuffer::Unlimited => None,
            SendBuffer::Limited(bytes) => Some(bytes),
        }
    }
}

word_or! {
    /// A number of rounds.
    pub enum Rounds {
        /// As many as there is time for.
        "unlimited" => Unlimited,
        /// This many.
        Number(u64) in at_least(1),
    }
}
