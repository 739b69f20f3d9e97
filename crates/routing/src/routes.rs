//! Routes: for each switch and host, the ports on a shortest path (in hops).
//!
//! All hosts at one switch share the routes to it, as hosts under one prefix share an entry in a router. The table has
//! an entry for each switch and each *last* switch, one with hosts. `ecmp` chooses among equal ports. When links fail
//! the routes are computed again. Leaves out: weights, routing protocols, the time of a lookup.

use incastle_units::Time;

use crate::ecmp::{Chooser, Ecmp};
use crate::graph::{Edge, Graph};
use crate::next_hop_cache::{Hop, NextHopCache};
use crate::table::{Entry, Table};
use crate::{EndpointIndex, HostIndex, Node, PortIndex, SwitchIndex};

/// A switch that has no path to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreachable {
    /// The switch.
    pub switch: SwitchIndex,
    /// The host.
    pub host: HostIndex,
}

/// The destination of a packet, as lookups need it.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// The host; beyond all hosts for a pause frame.
    pub host: HostIndex,
    /// The endpoint at the host, and the place of the packet on the path there.
    pub hop: Hop,
}

/// All routes of a network.
#[derive(Debug)]
pub struct Routes {
    /// By host.
    hosts: Vec<Attachment>,
    switches: usize,
    /// By column of the table: the switch with hosts.
    last: Vec<SwitchIndex>,
    table: Table,
    chooser: Chooser,
    next_hops: NextHopCache,
}

/// The parameters of routes.
#[derive(Debug, Clone, Copy)]
pub struct RoutesConfig {
    /// The number of hosts.
    pub hosts: usize,
    /// The number of switches.
    pub switches: usize,
    /// The unit that takes one of several equal paths.
    pub ecmp: Ecmp,
    /// The seed of the run.
    pub seed: u64,
}

/// The attachment of a host: its last switch, the column of that switch in the table, the port to the host.
#[derive(Debug, Clone, Copy)]
struct Attachment {
    last: SwitchIndex,
    column: u32,
    port: PortIndex,
}

impl Attachment {
    /// At no switch.
    const NOWHERE: Self = Self {
        last: SwitchIndex(u32::MAX),
        column: u32::MAX,
        port: PortIndex(u32::MAX),
    };
}

impl Routes {
    /// Shortest paths over `edges`; hosts do not forward.
    pub fn new(
        RoutesConfig {
            hosts,
            switches,
            ecmp,
            seed,
        }: RoutesConfig,
        edges: &[Edge],
    ) -> Self {
        let mut routes = Self {
            hosts: vec![Attachment::NOWHERE; hosts],
            switches,
            last: Vec::new(),
            table: Table::default(),
            chooser: Chooser::new(ecmp, switches, seed),
            // Random choices cannot be cached.
            next_hops: if ecmp == Ecmp::Flow {
                NextHopCache::of_hosts(hosts)
            } else {
                NextHopCache::disabled()
            },
        };
        routes.attach(edges);
        routes.reroute(edges);
        routes
    }

    /// Enters the attachment of each host, and the switches with hosts.
    fn attach(&mut self, edges: &[Edge]) {
        let mut columns = vec![None; self.switches];
        for edge in edges {
            let (Node::Switch(last), Node::Host(host)) = (edge.from, edge.to) else {
                continue;
            };
            let all = &mut self.last;
            let column = *columns[last.index()].get_or_insert_with(|| {
                all.push(last);
                u32::try_from(all.len() - 1).expect("fewer than 2^32 switches")
            });
            self.hosts[host.index()] = Attachment {
                last,
                column,
                port: edge.port,
            };
        }
    }

    /// Shortest paths over other edges, between the same nodes. Where no path is left, the former one is kept.
    pub fn reroute(&mut self, edges: &[Edge]) {
        let graph = Graph::new(self.switches, edges);
        self.table = Table::new(&graph, &self.last, &self.table);
        self.next_hops.clear();
    }

    /// A switch without a path to a host, and that host, if there are such.
    pub fn first_unreachable(&self) -> Option<Unreachable> {
        let attached = self.hosts.iter().all(|host| host.column != u32::MAX);
        let missing = |switch: SwitchIndex| {
            let known = |column| self.table.entry(switch, column).is_reachable();
            // Hosts are many, switches with hosts few.
            let mut columns = (0..).zip(&self.last);
            if attached && columns.all(|(column, last)| *last == switch || known(column)) {
                return None;
            }
            let unknown = |host: &Attachment| {
                host.last != switch && (host.column == u32::MAX || !known(host.column))
            };
            let host = self.hosts.iter().position(unknown)?;
            let host = HostIndex::from_index(host);
            Some(Unreachable { switch, host })
        };
        (0..self.switches)
            .map(SwitchIndex::from_index)
            .find_map(missing)
    }

    /// The port by which a switch forwards a packet; beyond all ports where no path is left, and for a pause frame.
    #[inline(always)]
    pub fn port(&mut self, switch: SwitchIndex, packet: Destination, now: Time) -> PortIndex {
        // The only switch has all hosts.
        if self.switches == 1 {
            let host = self.hosts.get(packet.host.index());
            return host.map_or(PortIndex::NONE, |host| host.port);
        }
        match self.next_hops.port(switch, packet.hop) {
            Some(port) => port,
            None => self.find(switch, packet, Some(now)),
        }
    }

    /// The result of `port`, where that draws no random number; else beyond all ports.
    #[inline(always)]
    pub fn without_draw(&mut self, switch: SwitchIndex, packet: Destination) -> PortIndex {
        match self.next_hops.port(switch, packet.hop) {
            Some(port) => port,
            None => self.find(switch, packet, None),
        }
    }

    /// Prefetches the cached next hops of packets for an endpoint.
    #[inline(always)]
    pub fn prefetch(&self, to: EndpointIndex) {
        self.next_hops.prefetch(to);
    }

    /// A guess of the next result of `port` for a packet; beyond all ports without one.
    #[inline(always)]
    pub fn guess(&self, hop: Hop) -> PortIndex {
        self.next_hops.guess(hop)
    }

    /// The port by which a switch forwards packets for an endpoint at a host, with ECMP by flow.
    pub fn of_flow(&self, switch: SwitchIndex, host: HostIndex, to: EndpointIndex) -> PortIndex {
        let host = &self.hosts[host.index()];
        if host.last == switch {
            return host.port;
        }
        let entry = self.table.entry(switch, host.column);
        let group = || self.table.group(entry).expect("every switch has a path");
        let choose = || self.chooser.without_draw(group(), switch, to);
        entry.port().unwrap_or_else(choose)
    }

    /// The former port of a route beyond all ports.
    pub fn before(route: PortIndex) -> Option<PortIndex> {
        Entry::of_route(route).before()
    }

    /// As `port`; without an instant, as `without_draw`.
    #[inline(never)]
    fn find(&mut self, switch: SwitchIndex, packet: Destination, now: Option<Time>) -> PortIndex {
        // A pause frame is for no host.
        let Some(host) = self.hosts.get(packet.host.index()) else {
            return PortIndex::NONE;
        };
        let entry = self.table.entry(switch, host.column);
        let port = if host.last == switch {
            host.port
        } else if let Some(port) = entry.port() {
            port
        } else {
            match (self.table.group(entry), now) {
                (Some(group), Some(now)) => self.chooser.choose(group, switch, packet.hop.to, now),
                (Some(group), None) => self.chooser.without_draw(group, switch, packet.hop.to),
                (None, Some(_)) => return entry.to_route(),
                (None, None) => return PortIndex::NONE,
            }
        };
        self.next_hops.note(switch, packet.hop, port);
        port
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        // After any lookups, and for any number of ports passed, the result is that of routes without a cache; also
        // after a change.
        #[test]
        fn cached_next_hops_are_those_of_the_routes(
            links in prop::collection::vec((0..SWITCHES, 0..SWITCHES), 5..20),
            down in prop::collection::vec(any::<bool>(), 20),
            lookups in prop::collection::vec((0..SWITCHES, 0..8_u32, 0..3_u32, 0..10_usize), 1..200),
            changed_after in 0..200_usize,
        ) {
            let links: Vec<(usize, usize)> = links.into_iter().filter(|(a, b)| a != b).collect();
            let all = edges(&links, SWITCHES);
            let config = RoutesConfig { hosts: SWITCHES, switches: SWITCHES, ecmp: Ecmp::Flow, seed: 1 };
            let routes = || Routes::new(config, &all);
            let (mut routes, mut plain) = (routes(), routes());
            plain.next_hops = NextHopCache::disabled();
            let places = routes.next_hops.len() as u32;
            for (count, (switch, end, turn, passed)) in lookups.into_iter().enumerate() {
                if count == changed_after {
                    let up = all.iter().zip(down.iter().chain(std::iter::repeat(&false)));
                    let left: Vec<Edge> = up.filter(|(_, down)| !**down).map(|(edge, _)| *edge).collect();
                    routes.reroute(&left);
                    plain.reroute(&left);
                }
                // Endpoints whose records have one place, and others.
                let to = EndpointIndex(end + turn * places);
                let host = HostIndex((end + turn) % SWITCHES as u32);
                let packet = Destination { host, hop: Hop { to, passed } };
                let switch = SwitchIndex::from_index(switch);
                let expected = plain.port(switch, packet, Time::ZERO);
                prop_assert_eq!(routes.port(switch, packet, Time::ZERO), expected);
                let cached_next_hop = plain.without_draw(switch, packet);
                prop_assert_eq!(routes.without_draw(switch, packet), cached_next_hop);
            }
        }
    }
}
