//! Routes: for each switch and host, the ports that lie on a shortest path (in hops).
//!
//! All hosts at one switch share the ways to it, as hosts under one prefix share an entry in a router:
//! the table has an entry for each switch and each *last* switch, one that has hosts. Among several
//! equal ports `ecmp` chooses. Leaves out: weights, protocols that find routes, time to look them up.

mod ecmp;
mod graph;

pub use ecmp::Ecmp;
pub(crate) use graph::Edge;

use incastle_units::Time;

use crate::packet::Packet;
use crate::{HostIndex, Node, PortIndex, SwitchIndex};
use ecmp::Chooser;
use graph::Graph;

/// Marks a table entry that names a group of ports rather than one port.
const GROUP: u32 = 1 << 31;
/// No path.
const NONE: u32 = u32::MAX;

/// All routes of a network.
#[derive(Debug)]
pub(crate) struct Routes {
    /// By host.
    hosts: Vec<Attachment>,
    /// How many switches have hosts.
    columns: usize,
    /// By switch, then last switch.
    table: Vec<u32>,
    /// Of several equal ports.
    groups: Vec<Box<[PortIndex]>>,
    chooser: Chooser,
}

/// Where a host is: its last switch, the column of that switch in the table, the port to the host.
#[derive(Debug, Clone, Copy)]
struct Attachment {
    last: SwitchIndex,
    column: u32,
    port: PortIndex,
}

impl Attachment {
    /// At no switch.
    const NOWHERE: Self = Self {
        last: SwitchIndex(NONE),
        column: NONE,
        port: PortIndex(NONE),
    };
}

impl Routes {
    /// Shortest paths over `edges`; hosts do not forward.
    pub(crate) fn new(
        (hosts, switches): (usize, usize),
        edges: &[Edge],
        (ecmp, seed): (Ecmp, u64),
    ) -> Self {
        let mut routes = Self {
            hosts: vec![Attachment::NOWHERE; hosts],
            columns: 0,
            table: Vec::new(),
            groups: Vec::new(),
            chooser: Chooser::new(ecmp, switches, seed),
        };
        let last = routes.attach(switches, edges);
        routes.columns = last.len();
        routes.find(&Graph::new(switches, edges), &last);
        routes
    }

    /// Notes where each host is; gives the switches that have hosts.
    fn attach(&mut self, switches: usize, edges: &[Edge]) -> Vec<SwitchIndex> {
        let mut columns = vec![NONE; switches];
        let mut all = Vec::new();
        for edge in edges {
            let (Node::Switch(last), Node::Host(host)) = (edge.from, edge.to) else {
                continue;
            };
            let column = &mut columns[last.index()];
            if *column == NONE {
                *column = u32::try_from(all.len()).expect("fewer than 2^32 switches");
                all.push(last);
            }
            self.hosts[host.index()] = Attachment {
                last,
                column: *column,
                port: edge.port,
            };
        }
        all
    }

    /// Fills the table: one search for each last switch.
    fn find(&mut self, graph: &Graph, last: &[SwitchIndex]) {
        let switches = graph.len();
        self.table = vec![NONE; switches * self.columns];
        self.groups.clear();
        // By switch: its groups, of which most have one at the most.
        let mut known: Vec<Vec<u32>> = vec![Vec::new(); switches];
        let mut ports = Vec::new();
        for (column, last) in last.iter().enumerate() {
            let distance = graph.distances_to(last.index());
            for (switch, known) in known.iter_mut().enumerate() {
                graph.next_ports(switch, &distance, &mut ports);
                let entry = self.entry(&ports, known);
                self.table[switch * self.columns + column] = entry;
            }
        }
    }

    /// The entry of a switch for what leaves by these ports; `known` are its groups.
    fn entry(&mut self, ports: &[PortIndex], known: &mut Vec<u32>) -> u32 {
        match ports {
            [] => NONE,
            [port] => port.0,
            _ => {
                let same = |place: &&u32| *self.groups[**place as usize] == *ports;
                let place = known.iter().find(same).copied().unwrap_or_else(|| {
                    let place = u32::try_from(self.groups.len()).expect("fewer than 2^31 groups");
                    self.groups.push(ports.into());
                    known.push(place);
                    place
                });
                GROUP | place
            }
        }
    }

    /// A switch, and a host that it knows no way to, if there are such.
    pub(crate) fn first_unreachable(&self) -> Option<(SwitchIndex, HostIndex)> {
        let switches = self.chooser.switches();
        let missing = |switch: SwitchIndex| {
            let unknown = |host: &Attachment| {
                host.last != switch
                    && (host.column == NONE || self.table[self.place(switch, host)] == NONE)
            };
            let host = self.hosts.iter().position(unknown)?;
            Some((switch, HostIndex::from_index(host)))
        };
        (0..switches).map(SwitchIndex::from_index).find_map(missing)
    }

    #[inline]
    fn place(&self, switch: SwitchIndex, host: &Attachment) -> usize {
        switch.index() * self.columns + host.column as usize
    }

    /// The port by which a switch sends a packet on.
    #[inline]
    pub(crate) fn port(
        &mut self,
        switch: SwitchIndex,
        packet: &Packet,
        now: Time,
    ) -> Option<PortIndex> {
        let host = &self.hosts[packet.host.index()];
        if host.last == switch {
            return Some(host.port);
        }
        let entry = self.table[self.place(switch, host)];
        if entry & GROUP == 0 {
            return Some(PortIndex(entry));
        }
        self.choose(entry, switch, packet, now)
    }

    #[inline(never)]
    fn choose(
        &mut self,
        entry: u32,
        switch: SwitchIndex,
        packet: &Packet,
        now: Time,
    ) -> Option<PortIndex> {
        let group = self.groups.get((entry & !GROUP) as usize)?;
        Some(self.chooser.choose(group, switch, packet.to, now))
    }
}
