//! Tiers: links of a network that have the same place in it, and their two directions.
//!
//! Leaves out: tiers of an explicit graph, whose links between switches are always one tier.

use crate::language::flows::LoadOf;
use crate::topology::fabric::{AGGREGATION_CORE, EDGE_AGGREGATION, LEAF_SPINE};
use crate::topology::layout::{End, Layout, Link};
use crate::topology::shapes::{BOTTLENECK, TRUNKS};

/// Links with the same place in a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// The access links of hosts.
    Hosts,
    /// From leaves to spines, or from edge to aggregation switches.
    Uplinks,
    /// From aggregation to core switches.
    Core,
    /// Between the switches of a dumbbell or of a tree.
    Trunk,
    /// Between the switches of a graph.
    Links,
}

/// A direction of a link, as its number within its tier and layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Away from hosts; of a trunk to the root, or to the right.
    Up,
    /// To hosts; of a trunk from the root, or to the left.
    Down,
    /// Any direction of a graph, which has no up.
    Any,
}

impl Tier {
    /// All of them, from the hosts.
    pub(crate) const ALL: [Self; 5] = [
        Self::Hosts,
        Self::Uplinks,
        Self::Core,
        Self::Trunk,
        Self::Links,
    ];

    /// The tier of a link.
    pub(crate) fn of(link: &Link) -> Self {
        match (link.ends, link.group) {
            ((End::Host(_), _) | (_, End::Host(_)), _) => Self::Hosts,
            (_, LEAF_SPINE | EDGE_AGGREGATION) => Self::Uplinks,
            (_, AGGREGATION_CORE) => Self::Core,
            (_, BOTTLENECK | TRUNKS) => Self::Trunk,
            _ => Self::Links,
        }
    }

    /// Its name in results.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Hosts => "hosts",
            Self::Uplinks => "uplinks",
            Self::Core => "core",
            Self::Trunk => "trunk",
            Self::Links => "links",
        }
    }

    /// Its links, in messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Hosts => "host links",
            Self::Uplinks => "uplinks",
            Self::Core => "core links",
            Self::Trunk => "trunk",
            Self::Links => "links between switches",
        }
    }

    /// Its name as a `load_of`, if it can be one.
    pub(crate) fn load_of(self) -> Option<LoadOf> {
        match self {
            Self::Hosts => Some(LoadOf::Hosts),
            Self::Uplinks => Some(LoadOf::Uplinks),
            Self::Core => Some(LoadOf::Core),
            Self::Trunk => Some(LoadOf::Trunk),
            Self::Links => None,
        }
    }

    /// The tiers of a network, from the hosts.
    pub(crate) fn among(layout: &Layout) -> Vec<Self> {
        let mut there = [false; Self::ALL.len()];
        for link in &layout.links {
            there[Self::of(link) as usize] = true;
        }
        let there = Self::ALL.into_iter().filter(|tier| there[*tier as usize]);
        there.collect()
    }

    /// Its directions.
    pub(crate) fn directions(self) -> &'static [Direction] {
        match self {
            Self::Links => &[Direction::Any],
            _ => &[Direction::Up, Direction::Down],
        }
    }
}

impl Direction {
    /// The direction of a link from its node number `near` to the other.
    pub(crate) fn of(link: &Link, near: usize) -> Self {
        let (first, second) = link.ends;
        let from = if near == 0 { first } else { second };
        match (Tier::of(link), from) {
            (Tier::Links, _) => Self::Any,
            (Tier::Hosts, End::Host(_)) => Self::Up,
            (Tier::Hosts, End::Switch(_)) => Self::Down,
            // Topologies make these links from the lower switch to the upper, and from left to right.
            _ if near == 0 => Self::Up,
            _ => Self::Down,
        }
    }

    /// Its name in results.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Any => "any",
        }
    }
}
