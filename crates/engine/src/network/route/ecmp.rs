//! Equal-cost multi-path: which of several equal ports a packet takes.
//!
//! By flow (RFC 2992's hash-threshold, with a better hash), by packet (random packet spraying: Dixit,
//! Prakash, Hu, Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013),
//! or by flowlet (LetFlow: Vanini et al., "Let it flow: resilient asymmetric load balancing with
//! flowlet switching", NSDI 2017). A direction of a flow is a flow of its own. Leaves out: weights,
//! flowlet tables of limited size (each flow has an entry of its own, so that flows never collide).

use std::collections::BTreeMap;

use incastle_units::{Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::core::{Digest, EndpointIndex, PortIndex, Purpose, Source, SwitchIndex, substream};

/// What takes one of several equal paths together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecmp {
    /// All packets of a flow's direction: a seeded hash chooses.
    #[default]
    Flow,
    /// Each packet by itself, at random.
    Packet,
    /// The packets of a flow's direction that follow each other at a switch within a gap; after a
    /// longer one the next is chosen at random.
    Flowlet {
        /// Packets that are further apart belong to different flowlets.
        gap: Span,
    },
}

/// Chooses among equal ports.
#[derive(Debug)]
pub(super) struct Chooser {
    seed: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Flow,
    Packet {
        /// By switch.
        draws: Vec<Xoshiro256PlusPlus>,
    },
    Flowlet {
        /// By switch.
        draws: Vec<Xoshiro256PlusPlus>,
        tables: Vec<Flowlets>,
    },
}

impl Chooser {
    pub(super) fn new(ecmp: Ecmp, switches: usize, seed: u64) -> Self {
        let draws = || {
            let draws = |switch| substream(seed, Source::Switch, switch, Purpose::Paths);
            (0..switches as u64).map(draws).collect()
        };
        let kind = match ecmp {
            Ecmp::Flow => Kind::Flow,
            Ecmp::Packet => Kind::Packet { draws: draws() },
            Ecmp::Flowlet { gap } => Kind::Flowlet {
                draws: draws(),
                tables: (0..switches).map(|_| Flowlets::new(gap)).collect(),
            },
        };
        Self { seed, kind }
    }

    /// What `choose` would say, where nothing is drawn for that; else beyond all ports.
    #[inline(always)]
    pub(super) fn without_draw(
        &self,
        group: &[PortIndex],
        switch: SwitchIndex,
        to: EndpointIndex,
    ) -> PortIndex {
        match self.kind {
            Kind::Flow => by_flow(self.seed, group, switch, to),
            Kind::Packet { .. } | Kind::Flowlet { .. } => PortIndex::NONE,
        }
    }

    /// The port that a packet for an endpoint takes at a switch.
    pub(super) fn choose(
        &mut self,
        group: &[PortIndex],
        switch: SwitchIndex,
        to: EndpointIndex,
        now: Time,
    ) -> PortIndex {
        match &mut self.kind {
            Kind::Flow => by_flow(self.seed, group, switch, to),
            Kind::Packet { draws } => draw(group, &mut draws[switch.index()]),
            Kind::Flowlet { draws, tables } => {
                let draws = &mut draws[switch.index()];
                let table = &mut tables[switch.index()];
                table.choose(to, now, group, || draw(group, draws))
            }
        }
    }
}

/// RFC 2992, hash-threshold: the range of the hash is parted evenly among the next hops.
#[inline(always)]
fn by_flow(seed: u64, group: &[PortIndex], switch: SwitchIndex, to: EndpointIndex) -> PortIndex {
    let mut hash = Digest::default();
    hash.mix(seed ^ u64::from(switch.0), u64::from(to.0));
    hash.mix(0, 0);
    let choice = (u128::from(hash.value()) * group.len() as u128) >> 64;
    group[choice as usize]
}

fn draw(group: &[PortIndex], draws: &mut Xoshiro256PlusPlus) -> PortIndex {
    group[random::below(draws, group.len() as u64) as usize]
}

/// The flowlets that a switch remembers.
#[derive(Debug)]
struct Flowlets {
    gap: Span,
    /// By the endpoint that they are for: when the last packet came, and its port.
    recent: BTreeMap<EndpointIndex, (Time, PortIndex)>,
    /// Entries that are over are thrown out when there are so many.
    most: usize,
}

/// The fewest entries worth a look for those that are over.
const FEW: usize = 64;

impl Flowlets {
    fn new(gap: Span) -> Self {
        Self {
            gap,
            recent: BTreeMap::new(),
            most: 0,
        }
    }

    fn choose(
        &mut self,
        to: EndpointIndex,
        now: Time,
        group: &[PortIndex],
        draw: impl FnOnce() -> PortIndex,
    ) -> PortIndex {
        if let Some((last, port)) = self.recent.get_mut(&to) {
            // LetFlow: a flowlet is over when nothing of it has come for the gap. A port that routes
            // no longer know is left at once.
            if now.saturating_since(*last) > self.gap || !group.contains(port) {
                *port = draw();
            }
            *last = now;
            return *port;
        }
        self.forget(now);
        let port = draw();
        self.recent.insert(to, (now, port));
        port
    }

    /// Throws out what is over, whenever there is twice as much as after the last time.
    fn forget(&mut self, now: Time) {
        let gap = self.gap;
        if self.recent.len() < self.most.max(FEW) {
            return;
        }
        let lasts =
            |_: &EndpointIndex, entry: &mut (Time, PortIndex)| now.saturating_since(entry.0) <= gap;
        self.recent.retain(lasts);
        self.most = 2 * self.recent.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(count: u32) -> Vec<PortIndex> {
        (0..count).map(PortIndex).collect()
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_flowlet_keeps_its_port_and_a_gap_ends_it() {
        let gap = Span::from_us(50);
        let mut chooser = Chooser::new(Ecmp::Flowlet { gap }, 1, 1);
        let group = ports(64);
        let mut choose = |us| chooser.choose(&group, SwitchIndex(0), EndpointIndex(3), at(us));
        let first = choose(0);
        // 50 us are within the gap, 51 us are not: one of 64 ports by another draw.
        let later: Vec<PortIndex> = [50, 100, 150].into_iter().map(&mut choose).collect();
        assert_eq!(later, [first; 3]);
        let others: Vec<PortIndex> = (1..=8).map(|n| choose(150 + 51 * n)).collect();
        assert!(others.iter().any(|port| *port != first), "{others:?}");
        assert!(others.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_flowlet_leaves_a_port_that_is_no_longer_equal() {
        let gap = Span::from_us(50);
        let mut chooser = Chooser::new(Ecmp::Flowlet { gap }, 1, 1);
        let first = chooser.choose(&ports(8), SwitchIndex(0), EndpointIndex(0), at(0));
        let rest: Vec<PortIndex> = ports(8).into_iter().filter(|port| *port != first).collect();
        let next = chooser.choose(&rest, SwitchIndex(0), EndpointIndex(0), at(1));
        assert!(rest.contains(&next));
    }

    #[test]
    fn flowlets_that_are_over_are_forgotten() {
        let gap = Span::from_us(1);
        let mut chooser = Chooser::new(Ecmp::Flowlet { gap }, 1, 1);
        for flow in 0..100_000 {
            chooser.choose(
                &ports(2),
                SwitchIndex(0),
                EndpointIndex(flow),
                at(10 * u64::from(flow)),
            );
        }
        let Kind::Flowlet { tables, .. } = &chooser.kind else {
            unreachable!("it was made so");
        };
        assert!(tables[0].recent.len() <= FEW);
    }
}
