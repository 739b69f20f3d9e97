//! Collective operations: workloads in which all hosts of a group take part together.

use incastle_units::{Bytes, Span};

use crate::grammar::declare::{choice, table};
use crate::grammar::range::{above_to, between};
use crate::limits::Rounds;
use crate::network::MAX_HOSTS;
use crate::sizes::MAX_BYTES;

table! {
    /// All-reduce: each host has a vector, and gets the sum of all.
    pub struct AllReduce {
        /// Application bytes of the vector.
        value size: Bytes, in above_to(Bytes::ZERO, MAX_BYTES);
        /// The algorithm of the all-reduce.
        flat algorithm: Algorithm;
        /// The number of segments of each message; a segment is forwarded as soon as it has arrived.
        value segments: u32 = 1, in between(1, MAX_SEGMENTS);
        /// The time from a host's last segment to its next all-reduce.
        value think_time: Span = Span::ZERO;
        /// The number of all-reduces.
        value rounds: Rounds = Rounds::Unlimited;
    }
}

/// The most segments of a message.
const MAX_SEGMENTS: u32 = 100_000;

choice! {
    /// The algorithm of an all-reduce.
    pub enum Algorithm by algorithm = "ring" {
        /// each host to the next one of `from`: n - 1 steps that reduce, n - 1 that gather, a part of n each
        "ring" => Ring(Ring),
        /// up a tree of the hosts of `from` to the first one, and down again, all of it
        "tree" => Tree(Tree),
    }
}

table! {
    /// A ring has no parameters.
    pub struct Ring {}
}

table! {
    /// A tree.
    pub struct Tree {
        /// The number of children of each host; the last ones have fewer. 1 is a chain.
        value degree: u32 = 2, in between(1, MAX_HOSTS);
    }
}

impl AllReduce {
    /// In how many messages at least a vector is cut among `hosts`.
    pub fn parts(&self, hosts: usize) -> u64 {
        let parts = match self.algorithm {
            Algorithm::Ring(_) => hosts as u64,
            Algorithm::Tree(_) => 1,
        };
        parts * u64::from(self.segments)
    }
}
