//! From a topology to named hosts, switches and links.
//!
//! Leaves out: what ports are made of (`simulate`) and routes (engine).

use std::collections::BTreeMap;

use incastle_units::{Bytes, Rate, Span};

use crate::language::network::{
    Dumbbell, Graph, LinkGroup, MOST_HOSTS, Network, Star, Topology, Tree,
};
use crate::language::selection::{Name, Selection};
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::text::node::quoted;
use crate::text::suggest::{choices, did_you_mean};

/// Hosts, switches and the links between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The hosts' names.
    pub hosts: Vec<Name>,
    /// The switches' names.
    pub switches: Vec<Name>,
    /// The links.
    pub links: Vec<Link>,
}

/// A host or a switch, by its position in the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A host.
    Host(usize),
    /// A switch.
    Switch(usize),
}

/// A link, both directions alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its ends.
    pub ends: (End, End),
    /// The link group of the topology it belongs to.
    group: &'static str,
    /// The rate of either direction.
    pub rate: Rate,
    /// The delay of either direction.
    pub delay: Span,
    /// The largest IP packet of either direction.
    pub mtu: Bytes,
    /// The rates that both directions take later, in order of time.
    pub schedule: Vec<(Span, Rate)>,
}

impl Layout {
    /// The layout of `[network]`; what is wrong with it is reported.
    pub(crate) fn new(network: &Network, cx: &mut Context<'_>) -> Option<Self> {
        let mut plan = Plan::new(network);
        match &network.topology {
            Topology::Star(star) => plan.star(star),
            Topology::Dumbbell(dumbbell) => plan.dumbbell(dumbbell),
            Topology::Tree(tree) => plan.tree(tree, cx)?,
            Topology::Graph(graph) => return plan.graph(graph, network, cx),
        }
        for (label, group) in &network.links {
            plan.adjust(label, group, cx);
        }
        Some(plan.layout)
    }

    /// The name of an end.
    pub fn name(&self, end: End) -> &Name {
        match end {
            End::Host(host) => &self.hosts[host],
            End::Switch(switch) => &self.switches[switch],
        }
    }

    /// The position of each host by its name.
    pub(crate) fn host_numbers(&self) -> BTreeMap<&Name, usize> {
        self.hosts.iter().zip(0..).collect()
    }

    /// The access link of a host.
    pub fn access(&self, host: usize) -> Option<&Link> {
        let end = End::Host(host);
        self.links
            .iter()
            .find(|link| link.ends.0 == end || link.ends.1 == end)
    }

    /// Hosts and switches in one row.
    pub(crate) fn position(&self, end: End) -> usize {
        match end {
            End::Host(host) => host,
            End::Switch(switch) => self.hosts.len() + switch,
        }
    }

    /// For each host the number of its connected part of the network.
    pub(crate) fn parts(&self) -> Vec<usize> {
        let mut parts = self.all_parts();
        parts.truncate(self.hosts.len());
        parts
    }

    /// A switch, and a host that no links lead to from there, if there are such.
    pub(crate) fn apart(&self) -> Option<(usize, usize)> {
        let parts = self.all_parts();
        let (hosts, switches) = parts.split_at(self.hosts.len());
        switches.iter().enumerate().find_map(|(switch, part)| {
            let host = hosts.iter().position(|other| other != part)?;
            Some((switch, host))
        })
    }

    /// For each host and then each switch the number of its connected part.
    fn all_parts(&self) -> Vec<usize> {
        let count = self.hosts.len() + self.switches.len();
        let mut part: Vec<usize> = (0..count).collect();
        for link in &self.links {
            let a = root(&mut part, self.position(link.ends.0));
            let b = root(&mut part, self.position(link.ends.1));
            part[a] = b;
        }
        (0..count).map(|node| root(&mut part, node)).collect()
    }

    /// The name of the port at the first end of a link, as result tables have it.
    pub(crate) fn port_name(&self, from: End, to: End) -> String {
        format!("{}->{}", self.name(from), self.name(to))
    }

    /// The names of all ports of switches.
    pub(crate) fn switch_ports(&self) -> Vec<String> {
        let mut ports = Vec::new();
        for link in &self.links {
            for (from, to) in [(link.ends.0, link.ends.1), (link.ends.1, link.ends.0)] {
                if matches!(from, End::Switch(_)) {
                    ports.push(self.port_name(from, to));
                }
            }
        }
        ports
    }
}

/// The representative of a node's part, with the way to it shortened.
fn root(part: &mut [usize], mut node: usize) -> usize {
    while part[node] != node {
        part[node] = part[part[node]];
        node = part[node];
    }
    node
}

/// The changes of rate of a link group.
fn changes(group: &LinkGroup) -> Vec<(Span, Rate)> {
    let changes = group.schedule.iter().flat_map(|schedule| &schedule.0);
    changes.map(|change| (change.at, change.rate)).collect()
}

/// A layout while it grows.
struct Plan {
    layout: Layout,
    rate: Rate,
    delay: Span,
    mtu: Bytes,
}

impl Plan {
    fn new(network: &Network) -> Self {
        Self {
            layout: Layout {
                hosts: Vec::new(),
                switches: Vec::new(),
                links: Vec::new(),
            },
            rate: network.rate,
            delay: network.delay,
            mtu: network.mtu,
        }
    }

    fn host(&mut self, role: &str, index: Option<u32>) -> End {
        self.layout.hosts.push(Name {
            role: role.to_owned(),
            index,
        });
        End::Host(self.layout.hosts.len() - 1)
    }

    fn switch(&mut self, role: &str, index: Option<u32>) -> End {
        self.layout.switches.push(Name {
            role: role.to_owned(),
            index,
        });
        End::Switch(self.layout.switches.len() - 1)
    }

    fn link(&mut self, a: End, b: End, group: &'static str) {
        self.layout.links.push(Link {
            ends: (a, b),
            group,
            rate: self.rate,
            delay: self.delay,
            mtu: self.mtu,
            schedule: Vec::new(),
        });
    }

    fn senders(&mut self, first: u32, count: u32, switch: End) {
        for index in first..first + count {
            let host = self.host("sender", Some(index));
            self.link(host, switch, "senders");
        }
    }

    /// A single receiver needs no number.
    fn receivers(&mut self, count: u32, switch: End) {
        for index in 0..count {
            let host = self.host("receiver", (count > 1).then_some(index));
            self.link(switch, host, "receivers");
        }
    }

    fn star(&mut self, star: &Star) {
        let switch = self.switch("switch", None);
        self.senders(0, star.senders, switch);
        self.receivers(star.receivers, switch);
    }

    fn dumbbell(&mut self, dumbbell: &Dumbbell) {
        let left = self.switch("left", None);
        let right = self.switch("right", None);
        self.senders(0, dumbbell.senders, left);
        self.link(left, right, "bottleneck");
        self.receivers(dumbbell.receivers, right);
    }

    /// Switches are numbered level by level from the root.
    fn tree(&mut self, tree: &Tree, cx: &mut Context<'_>) -> Option<()> {
        let hosts = tree
            .fanout
            .iter()
            .try_fold(1_u32, |product, &branches| product.checked_mul(branches));
        let fits = hosts.is_some_and(|hosts| (1..=MOST_HOSTS).contains(&hosts));
        let Some((&leaves, levels)) = tree.fanout.split_last().filter(|_| fits) else {
            cx.error_at(
                "network.fanout",
                format!(
                    "a tree needs from 1 to {MOST_HOSTS} senders, and no level without branches"
                ),
                Some("[3, 3] is a root with 3 switches of 3 senders each".to_owned()),
            );
            return None;
        };
        let root = self.switch("switch", Some(0));
        let mut level = vec![root];
        let mut next = 1;
        for &branches in levels {
            let mut below = Vec::new();
            for &parent in &level {
                for _ in 0..branches {
                    let child = self.switch("switch", Some(next));
                    next += 1;
                    self.link(child, parent, "trunks");
                    below.push(child);
                }
            }
            level = below;
        }
        for (position, &switch) in level.iter().enumerate() {
            self.senders(position as u32 * leaves, leaves, switch);
        }
        self.receivers(tree.receivers, root);
        Some(())
    }

    /// Changes the links that a link group means.
    fn adjust(&mut self, label: &str, group: &LinkGroup, cx: &mut Context<'_>) {
        let path = format!("network.links.{label}");
        if group.between.is_some() {
            cx.error_at(
                &format!("{path}.between"),
                "`between` makes links in a graph; this topology has its links already".to_owned(),
                Some("choose existing links with `of`".to_owned()),
            );
            return;
        }
        let chosen = match &group.of {
            Some(of) => self.links_of(of, &format!("{path}.of"), cx),
            None => self.links_of(&Selection::named(label), &path, cx),
        };
        for position in chosen.unwrap_or_default() {
            let link = &mut self.layout.links[position];
            link.rate = group.rate.unwrap_or(link.rate);
            link.delay = group.delay.unwrap_or(link.delay);
            link.mtu = group.mtu.unwrap_or(link.mtu);
            if group.schedule.is_some() {
                link.schedule = changes(group);
            }
        }
    }

    fn links_of(
        &self,
        selection: &Selection,
        key: &str,
        cx: &mut Context<'_>,
    ) -> Option<Vec<usize>> {
        let terms = selection.terms();
        let links = self.layout.links.iter().enumerate();
        if let [word] = terms.as_slice() {
            let group: Vec<usize> = links
                .clone()
                .filter(|(_, link)| link.group == word)
                .map(|(position, _)| position)
                .collect();
            if !group.is_empty() {
                return Some(group);
            }
        }
        let mut quiet = Context::new(&NoFiles);
        let Some(hosts) = selection.resolve(&self.layout.hosts, "hosts", key, &mut quiet) else {
            self.report_no_links(selection, key, cx);
            return None;
        };
        let touches = |link: &Link, host: usize| {
            link.ends.0 == End::Host(host) || link.ends.1 == End::Host(host)
        };
        Some(
            links
                .filter(|(_, link)| hosts.iter().any(|&host| touches(link, host)))
                .map(|(position, _)| position)
                .collect(),
        )
    }

    fn report_no_links(&self, selection: &Selection, key: &str, cx: &mut Context<'_>) {
        let mut groups: Vec<&str> = self.layout.links.iter().map(|link| link.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let wanted = selection.terms().join(", ");
        let near = did_you_mean(&wanted, &groups)
            .map(|near| format!("did you mean {}? ", quoted(near)))
            .unwrap_or_default();
        cx.error_at(
            key,
            format!(
                "no link group {}, and no hosts of that name",
                quoted(&wanted)
            ),
            Some(format!(
                "{near}the link groups are {}; single links go by their host, as in of = {}",
                choices(&groups),
                quoted(&self.layout.hosts[0].to_string())
            )),
        );
    }

    fn graph(mut self, graph: &Graph, network: &Network, cx: &mut Context<'_>) -> Option<Layout> {
        self.layout.hosts = graph.hosts.declared();
        self.layout.switches = graph.switches.declared();
        let nodes: Vec<Name> = self
            .layout
            .hosts
            .iter()
            .chain(&self.layout.switches)
            .cloned()
            .collect();
        let mut sorted: Vec<&Name> = nodes.iter().collect();
        sorted.sort();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = pair[0].to_string();
            cx.error_at(
                "network.hosts",
                format!("{} is there twice", quoted(&name)),
                None,
            );
            return None;
        }
        if network.links.is_empty() {
            cx.error_at(
                "network.links",
                "a graph needs links".to_owned(),
                Some(
                    "[network.links.LABEL] with between = [\"server:0..7\", \"switch\"]".to_owned(),
                ),
            );
            return None;
        }
        let mut right = true;
        for (label, group) in &network.links {
            right &= self.graph_links(label, group, &nodes, cx).is_some();
        }
        right &= self.check_adapters(cx);
        right.then_some(self.layout)
    }

    fn graph_links(
        &mut self,
        label: &str,
        group: &LinkGroup,
        nodes: &[Name],
        cx: &mut Context<'_>,
    ) -> Option<()> {
        let path = format!("network.links.{label}");
        let between = format!("{path}.between");
        if group.of.is_some() {
            cx.error_at(
                &format!("{path}.of"),
                "`of` chooses links of other topologies".to_owned(),
                Some("in a graph each link group makes its links with `between`".to_owned()),
            );
            return None;
        }
        let Some([first, second]) = group.between.as_deref() else {
            cx.error_at(
                &between,
                "in a graph a link group needs `between` with two sets of nodes".to_owned(),
                Some("between = [\"server:0..7\", \"switch\"]".to_owned()),
            );
            return None;
        };
        let first = first.resolve(nodes, "nodes", &between, cx)?;
        let second = second.resolve(nodes, "nodes", &between, cx)?;
        let hosts = self.layout.hosts.len();
        let end = |node: usize| match node.checked_sub(hosts) {
            None => End::Host(node),
            Some(switch) => End::Switch(switch),
        };
        for &a in &first {
            for &b in &second {
                if a == b {
                    let name = nodes[a].to_string();
                    cx.error_at(
                        &between,
                        format!("{} is linked with itself", quoted(&name)),
                        None,
                    );
                    return None;
                }
                self.layout.links.push(Link {
                    ends: (end(a), end(b)),
                    group: "",
                    rate: group.rate.unwrap_or(self.rate),
                    delay: group.delay.unwrap_or(self.delay),
                    mtu: group.mtu.unwrap_or(self.mtu),
                    schedule: changes(group),
                });
            }
        }
        Some(())
    }

    /// Every host has one adapter, so one link.
    fn check_adapters(&self, cx: &mut Context<'_>) -> bool {
        let mut links = vec![0; self.layout.hosts.len()];
        for link in &self.layout.links {
            for end in [link.ends.0, link.ends.1] {
                if let End::Host(host) = end {
                    links[host] += 1;
                }
            }
        }
        let mut right = true;
        for (name, count) in self.layout.hosts.iter().zip(links) {
            if count != 1 {
                right = false;
                cx.error_at(
                    "network.links",
                    format!("host {} has {count} links", quoted(&name.to_string())),
                    Some("a host has one network adapter, so one link".to_owned()),
                );
            }
        }
        right
    }
}
