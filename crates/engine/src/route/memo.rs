//! What routes said before: by the end of a flow that a packet is for and by the switch where it is, the port
//! that it takes there.
//!
//! A table, a group of equal ports and a hash are half a dozen places in memory; the ways of a flow's
//! packets lie here in one cache line. A record is overwritten when another end needs its place, and all are
//! forgotten when routes change. Each answer names its switch: the number of ports that a packet has passed
//! only says where to look first.

use crate::fetch::fetch_element;
use crate::{EndpointIndex, PortIndex, SwitchIndex};

/// Steps of a way that a record holds.
const STEPS: usize = 7;
/// The fewest records, 64 KB of them, and the most, 1 MB.
const COUNTS: (usize, usize) = (1 << 10, 1 << 14);

/// The port that a switch takes.
#[derive(Debug, Clone, Copy)]
struct Step {
    switch: SwitchIndex,
    port: PortIndex,
}

impl Step {
    /// Of no switch.
    const NONE: Self = Self {
        switch: SwitchIndex(u32::MAX),
        port: PortIndex::NONE,
    };
}

/// The way to an end of a flow.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Record {
    steps: [Step; STEPS],
    to: EndpointIndex,
}

impl Record {
    /// To nowhere.
    const EMPTY: Self = Self {
        steps: [Step::NONE; STEPS],
        to: EndpointIndex(u32::MAX),
    };
}

const _: () = assert!(size_of::<Record>() == 64);

/// The records: a power of two, or none where nothing may be remembered.
#[derive(Debug)]
pub(super) struct Memo {
    records: Vec<Record>,
}

impl Memo {
    /// Room for the ways of twice as many flows as there are hosts.
    pub(super) fn of_hosts(hosts: usize) -> Self {
        let (fewest, most) = COUNTS;
        let count = (4 * hosts).next_power_of_two().clamp(fewest, most);
        Self {
            records: vec![Record::EMPTY; count],
        }
    }

    /// It remembers nothing.
    pub(super) fn none() -> Self {
        Self {
            records: Vec::new(),
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.records.fill(Record::EMPTY);
    }

    /// The port that a switch takes to an end, if it is known.
    #[inline(always)]
    pub(super) fn port(
        &self,
        switch: SwitchIndex,
        (to, passed): (EndpointIndex, usize),
    ) -> Option<PortIndex> {
        let record = self.records.get(self.place(to))?;
        let step = record.steps.get(passed)?;
        (record.to == to && step.switch == switch).then_some(step.port)
    }

    /// The port that some switch takes to an end, perhaps the one that a packet comes to next, which has passed so
    /// many; beyond all ports where nothing is known.
    #[inline(always)]
    pub(super) fn guess(&self, (to, passed): (EndpointIndex, usize)) -> PortIndex {
        let record = self.records.get(self.place(to));
        let step = record.and_then(|record| record.steps.get(passed));
        step.map_or(PortIndex::NONE, |step| step.port)
    }

    /// Fetches what it knows of the way to an end.
    #[inline(always)]
    pub(super) fn fetch(&self, to: EndpointIndex) {
        fetch_element(&self.records, self.place(to));
    }

    /// Remembers it.
    pub(super) fn note(
        &mut self,
        switch: SwitchIndex,
        (to, passed): (EndpointIndex, usize),
        port: PortIndex,
    ) {
        let place = self.place(to);
        let Some(record) = self.records.get_mut(place) else {
            return;
        };
        if record.to != to {
            *record = Record {
                to,
                ..Record::EMPTY
            };
        }
        if let Some(step) = record.steps.get_mut(passed) {
            *step = Step { switch, port };
        }
    }

    #[inline(always)]
    fn place(&self, to: EndpointIndex) -> usize {
        to.index() & self.records.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use incastle_units::Time;
    use proptest::prelude::*;

    use super::*;
    use crate::packet::Packet;
    use crate::route::{Ecmp, Edge, Routes};
    use crate::{HostIndex, Node};

    /// Every switch has a host; the ports of links between switches come first, both directions of each.
    fn edges(links: &[(usize, usize)], switches: usize) -> Vec<Edge> {
        let switch = |index| Node::Switch(SwitchIndex::from_index(index));
        let host = |index| Node::Host(HostIndex::from_index(index));
        let between = links.iter().map(|&(a, b)| (switch(a), switch(b)));
        let below = (0..switches).map(|index| (host(index), switch(index)));
        let both = between.chain(below).flat_map(|(a, b)| [(a, b), (b, a)]);
        both.enumerate()
            .map(|(port, (from, to))| Edge {
                from,
                to,
                port: PortIndex::from_index(port),
            })
            .collect()
    }

    const SWITCHES: usize = 6;

    proptest! {
        // Whatever was asked before, and however many ports a packet says that it has passed, the answer is
        // that of routes which remember nothing; also after they have changed.
        #[test]
        fn what_is_remembered_is_what_routes_say(
            links in prop::collection::vec((0..SWITCHES, 0..SWITCHES), 5..20),
            down in prop::collection::vec(any::<bool>(), 20),
            asked in prop::collection::vec((0..SWITCHES, 0..8_u32, 0..3_u32, 0..10_usize), 1..200),
            changed_after in 0..200_usize,
        ) {
            let links: Vec<(usize, usize)> = links.into_iter().filter(|(a, b)| a != b).collect();
            let all = edges(&links, SWITCHES);
            let routes = || Routes::new((SWITCHES, SWITCHES), &all, (Ecmp::Flow, 1));
            let (mut routes, mut plain) = (routes(), routes());
            plain.memo = Memo::none();
            let places = routes.memo.records.len() as u32;
            for (count, (switch, end, turn, passed)) in asked.into_iter().enumerate() {
                if count == changed_after {
                    let up = all.iter().zip(down.iter().chain(std::iter::repeat(&false)));
                    let left: Vec<Edge> = up.filter(|(_, down)| !**down).map(|(edge, _)| *edge).collect();
                    routes.reroute(&left);
                    plain.reroute(&left);
                }
                // Ends whose records have one place, and others.
                let to = EndpointIndex(end + turn * places);
                let host = HostIndex((end + turn) % SWITCHES as u32);
                let mut packet = Packet { to, host, ..Packet::EMPTY };
                for _ in 0..passed {
                    packet.marks.pass();
                }
                let switch = SwitchIndex::from_index(switch);
                let expected = plain.port(switch, &packet, Time::ZERO);
                prop_assert_eq!(routes.port(switch, &packet, Time::ZERO), expected);
                let foreseen = plain.foresee(switch, &packet);
                prop_assert_eq!(routes.foresee(switch, &packet), foreseen);
            }
        }
    }
}
