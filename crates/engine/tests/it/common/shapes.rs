//! Random connected networks: a tree of switches, more links among them, hosts anywhere; and what
//! chooses among their equal paths.

use std::ops::Range;

use incastle_engine::network::Ecmp;
use incastle_units::Span;
use proptest::prelude::*;

/// A network: the switch of each host, and the links between switches.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) switches: usize,
    pub(crate) hosts: Vec<usize>,
    pub(crate) links: Vec<(usize, usize)>,
}

/// A random tree of switches, some links more, hosts anywhere.
pub(crate) fn shapes(switches: Range<usize>, hosts: Range<usize>) -> impl Strategy<Value = Shape> {
    (switches, hosts).prop_flat_map(|(switches, hosts)| {
        let parents = prop::collection::vec(any::<prop::sample::Index>(), switches - 1);
        let more = prop::collection::vec((0..switches, 0..switches), 0..2 * switches);
        let places = prop::collection::vec(0..switches, hosts);
        (parents, more, places).prop_map(move |(parents, more, hosts)| {
            let trunk = parents.iter().enumerate();
            let trunk = trunk.map(|(child, parent)| (child + 1, parent.index(child + 1)));
            let more = more.into_iter().filter(|(a, b)| a != b);
            Shape {
                switches,
                hosts,
                links: trunk.chain(more).collect(),
            }
        })
    })
}

/// Every choice among equal paths, flowlets with gaps below a number of microseconds.
pub(crate) fn ecmps(gaps: u64) -> impl Strategy<Value = Ecmp> {
    prop_oneof![
        Just(Ecmp::Flow),
        Just(Ecmp::Packet),
        (0..gaps).prop_map(|us| Ecmp::Flowlet {
            gap: Span::from_us(us)
        }),
    ]
}
