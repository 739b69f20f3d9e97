//! Equal-cost multi-path: the choice of one of several equal ports.
//!
//! By flow: RFC 2992's hash-threshold, with a better hash. By packet: random packet spraying (Dixit, Prakash, Hu,
//! Kompella, "On the impact of packet spraying in data center networks", INFOCOM 2013). By flowlet: LetFlow (Vanini et
//! al., "Let it flow: resilient asymmetric load balancing with flowlet switching", NSDI 2017). Each direction of a
//! flow is a separate flow. Leaves out: weights, flowlet tables of limited size (each flow has a separate entry: flows
//! never collide).

use std::collections::BTreeMap;

use incastle_units::random::{self, Purpose, Source, substream};
use incastle_units::{Digest, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{EndpointIndex, PortIndex, SwitchIndex};

/// The unit that takes one of several equal paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecmp {
    /// All packets of a flow's direction, by a seeded hash.
    #[default]
    Flow,
    /// Each packet, at random.
    Packet,
    /// The packets of a flow's direction that follow each other at a switch within a gap; after a longer one the next
    /// choice is random.
    Flowlet {
        /// Packets further apart belong to different flowlets.
        gap: Span,
    },
}

/// Chooses among equal ports.
#[derive(Debug)]
pub(crate) struct Chooser {
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
    pub(crate) fn new(ecmp: Ecmp, switches: usize, seed: u64) -> Self {
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

    /// The result of `choose`, where that draws no random number; else beyond all ports.
    #[inline(always)]
    pub(crate) fn without_draw(
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
    pub(crate) fn choose(
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

/// RFC 2992, hash-threshold: the range of the hash is divided evenly among the next hops.
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

/// The flowlets of a switch.
#[derive(Debug)]
struct Flowlets {
    gap: Span,
    /// By the endpoint that they are for.
    recent: BTreeMap<EndpointIndex, Flowlet>,
    /// The number of entries at which expired ones are removed.
    cleanup_at: usize,
}

/// A flowlet.
#[derive(Debug, Clone, Copy)]
struct Flowlet {
    /// The arrival of its last packet.
    last: Time,
    port: PortIndex,
}

/// The minimum number of entries for a cleanup.
const MIN_CLEANUP: usize = 64;

impl Flowlets {
    fn new(gap: Span) -> Self {
        Self {
            gap,
            recent: BTreeMap::new(),
            cleanup_at: MIN_CLEANUP,
        }
    }

    fn choose(
        &mut self,
        to: EndpointIndex,
        now: Time,
        group: &[PortIndex],
        draw: impl FnOnce() -> PortIndex,
    ) -> PortIndex {
        if let Some(flowlet) = self.recent.get_mut(&to) {
            // LetFlow: a flowlet ends with a gap without packets. A withdrawn port is not used
            // again.
            if now.saturating_since(flowlet.last) > self.gap || !group.contains(&flowlet.port) {
                flowlet.port = draw();
            }
            flowlet.last = now;
            return flowlet.port;
        }
        self.clean_up(now);
        let port = draw();
        self.recent.insert(to, Flowlet { last: now, port });
        port
    }

    /// Removes expired entries, whenever there are twice as many as after the last time.
    fn clean_up(&mut self, now: Time) {
        if self.recent.len() < self.cleanup_at {
            return;
        }
        let gap = self.gap;
        self.recent
            .retain(|_, flowlet| now.saturating_since(flowlet.last) <= gap);
        self.cleanup_at = MIN_CLEANUP.max(2 * self.recent.len());
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
    fn expired_flowlets_are_removed() {
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
        assert!(tables[0].recent.len() <= MIN_CLEANUP);
    }
}
