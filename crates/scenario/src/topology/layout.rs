//! Named hosts, switches and the links between them.
//!
//! Leaves out: the topologies that make them (`plan`), ports (`incastle-experiment`) and routes
//! (engine).

use std::collections::{BTreeMap, BTreeSet};

use incastle_units::{Bytes, Rate, Span};

use crate::language::selection::Name;

/// Hosts, switches and the links between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The hosts' names.
    pub hosts: Vec<Name>,
    /// The switches' names.
    pub switches: Vec<Name>,
    /// The links.
    pub links: Vec<Link>,
    /// By host: the place of its link.
    access: Vec<Option<usize>>,
}

/// A host or a switch, by its position in the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A host.
    Host(usize),
    /// A switch.
    Switch(usize),
}

/// A link; its parameters apply to both directions.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its nodes.
    pub ends: (End, End),
    /// The number of links between its nodes that stand before it: parallel links of a graph.
    pub earlier: u32,
    /// The link group of the topology it belongs to.
    pub group: &'static str,
    /// The rate of either direction.
    pub rate: Rate,
    /// The delay of either direction.
    pub delay: Span,
    /// The largest IP packet of either direction.
    pub mtu: Bytes,
    /// The later rates of both directions, in order of time.
    pub schedule: Vec<(Span, Rate)>,
    /// The periods in which both directions are down: start and end, for good without an end. In
    /// order of time, each later than the one before.
    pub failures: Vec<(Span, Option<Span>)>,
    /// The entries of `[network.degraded]` that degrade it, in order of time.
    pub degraded: Vec<DegradedBy>,
}

/// An entry of `[network.degraded]` at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DegradedBy {
    /// Its place among the entries.
    pub entry: usize,
    /// By direction, as of the link's nodes: whether it applies.
    pub directions: [bool; 2],
}

impl Link {
    /// Whether it is down at an instant.
    pub fn is_down(&self, at: Span) -> bool {
        let mut failures = self.failures.iter();
        failures.any(|&(down, up)| down <= at && up.is_none_or(|up| at < up))
    }

    /// Whether it is ever up before `end`.
    pub fn is_ever_up(&self, end: Span) -> bool {
        let first = self.failures.first();
        !first.is_some_and(|&(down, up)| down == Span::ZERO && up.is_none_or(|up| up >= end))
    }

    /// The highest rate that it has before `end`.
    pub fn highest_rate(&self, end: Span) -> Rate {
        let later = self.schedule.iter().filter(|(at, _)| *at < end);
        later.map(|(_, rate)| *rate).fold(self.rate, Rate::max)
    }
}

impl Layout {
    /// A layout of these hosts, switches and links.
    pub fn of(hosts: Vec<Name>, switches: Vec<Name>, links: Vec<Link>) -> Self {
        let mut access = vec![None; hosts.len()];
        for (place, link) in links.iter().enumerate().rev() {
            for end in [link.ends.0, link.ends.1] {
                if let End::Host(host) = end {
                    access[host] = Some(place);
                }
            }
        }
        Self {
            hosts,
            switches,
            links,
            access,
        }
    }

    /// The name of a node.
    pub fn name(&self, end: End) -> &Name {
        match end {
            End::Host(host) => &self.hosts[host],
            End::Switch(switch) => &self.switches[switch],
        }
    }

    /// The position of each host by its name.
    pub fn host_numbers(&self) -> BTreeMap<&Name, usize> {
        self.hosts.iter().zip(0..).collect()
    }

    /// The access link of a host.
    pub fn access(&self, host: usize) -> Option<&Link> {
        self.access[host].map(|place| &self.links[place])
    }

    /// The place of a host's access link.
    pub fn access_place(&self, host: usize) -> Option<usize> {
        self.access[host]
    }

    /// Hosts and switches in one row.
    pub fn position(&self, end: End) -> usize {
        match end {
            End::Host(host) => host,
            End::Switch(switch) => self.hosts.len() + switch,
        }
    }

    /// For each host the number of its connected component of the network.
    pub fn parts(&self) -> Vec<usize> {
        self.parts_without(|_| false)
    }

    /// The same without some links.
    pub fn parts_without(&self, left_out: impl Fn(&Link) -> bool) -> Vec<usize> {
        let mut parts = self.all_parts(left_out);
        parts.truncate(self.hosts.len());
        parts
    }

    /// The instants at which links fail or come up, the beginning included, in order.
    pub fn changes(&self) -> Vec<Span> {
        let failures = self.links.iter().flat_map(|link| &link.failures);
        let ends = failures.flat_map(|&(down, up)| [Some(down), up]).flatten();
        let mut changes: Vec<Span> = std::iter::once(Span::ZERO).chain(ends).collect();
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// A switch, and a host that is unreachable from it, if there are any.
    pub fn apart(&self) -> Option<(usize, usize)> {
        let parts = self.all_parts(|_| false);
        let (hosts, switches) = parts.split_at(self.hosts.len());
        switches.iter().enumerate().find_map(|(switch, part)| {
            let host = hosts.iter().position(|other| other != part)?;
            Some((switch, host))
        })
    }

    /// For each host and then each switch the number of its connected component.
    fn all_parts(&self, left_out: impl Fn(&Link) -> bool) -> Vec<usize> {
        let count = self.hosts.len() + self.switches.len();
        let mut part: Vec<usize> = (0..count).collect();
        for link in self.links.iter().filter(|link| !left_out(link)) {
            let a = root(&mut part, self.position(link.ends.0));
            let b = root(&mut part, self.position(link.ends.1));
            part[a] = b;
        }
        (0..count).map(|node| root(&mut part, node)).collect()
    }

    /// The name of a link's port at `from`, as in result tables.
    pub fn port_name(&self, from: End, link: &Link) -> String {
        let to = if from == link.ends.0 {
            link.ends.1
        } else {
            link.ends.0
        };
        let name = format!("{}->{}", self.name(from), self.name(to));
        match link.earlier {
            0 => name,
            earlier => format!("{name}#{}", earlier + 1),
        }
    }

    /// The names of all ports of switches.
    pub fn switch_ports(&self) -> Vec<String> {
        let of_switches = self
            .directions()
            .filter(|(from, _)| matches!(from, End::Switch(_)));
        of_switches
            .map(|(from, link)| self.port_name(from, link))
            .collect()
    }

    /// The names of all ports, of hosts too.
    pub fn ports(&self) -> BTreeSet<String> {
        let directions = self.directions();
        directions
            .map(|(from, link)| self.port_name(from, link))
            .collect()
    }

    /// Both directions of each link, by the node that sends.
    fn directions(&self) -> impl Iterator<Item = (End, &Link)> {
        let links = self.links.iter();
        links.flat_map(|link| [(link.ends.0, link), (link.ends.1, link)])
    }
}

/// The representative of a node's component, with path compression.
fn root(part: &mut [usize], mut node: usize) -> usize {
    while part[node] != node {
        part[node] = part[part[node]];
        node = part[node];
    }
    node
}
