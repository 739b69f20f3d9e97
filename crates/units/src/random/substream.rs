//! Random substreams: one per (seed, kind of source, index, purpose).
//!
//! A change in one place of a scenario leaves all other draws unchanged, and runs of different algorithms at one seed
//! are paired.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::Digest;

/// The kind of the object that draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Source {
    /// A host, by its index.
    Host = 1,
    /// A port, by its index.
    Port = 2,
    /// An endpoint, by its index.
    Endpoint = 3,
    /// An application, by its index.
    Application = 4,
    /// The whole network; index 0.
    Network = 5,
    /// A switch, by its index.
    Switch = 6,
}

/// The purpose of the draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// A small random delay per send.
    Jitter = 1,
    /// Random early marking or dropping.
    Marking = 2,
    /// The draws of a transport and its controller.
    Transport = 3,
    /// The starts of flows.
    Starts = 4,
    /// The times between requests, flows or datagrams.
    Arrivals = 5,
    /// The sizes of flows.
    Sizes = 6,
    /// The pairs of hosts that communicate.
    Pairs = 7,
    /// The choice among equal paths.
    Paths = 8,
    /// The sampling intervals of a congestion point.
    Sampling = 9,
    /// The periods of a reaction point.
    RateLimiter = 10,
    /// The packets that a link loses.
    Loss = 11,
    /// The packets that a link corrupts.
    Corruption = 12,
    /// The random delay of packets on a link.
    Delay = 13,
}

/// The generator of one substream.
pub fn substream(seed: u64, source: Source, index: u64, purpose: Purpose) -> Xoshiro256PlusPlus {
    let mut digest = Digest::default();
    digest.mix(seed, source as u64);
    digest.mix(index, purpose as u64);
    Xoshiro256PlusPlus::seed_from_u64(digest.value())
}
