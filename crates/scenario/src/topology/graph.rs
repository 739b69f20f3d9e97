//! A graph: declared hosts and switches, and links between sets of them.

use std::collections::BTreeMap;

use crate::language::network::{Graph, LinkGroup, Network};
use crate::language::selection::Name;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::End;
use crate::topology::plan::{Plan, most_links};

/// By pair of nodes: the number of links between them, less one.
type Linked = BTreeMap<[usize; 2], u32>;

fn report_second(path: &str, pair: [&Name; 2], cx: &mut Context<'_>) {
    let [a, b] = pair.map(|name| quoted(&name.to_string()));
    cx.error_at(&format!("{path}.between"), format!("{a} and {b} have a link already"))
        .help(format!(
            "parallel = true makes a second one; [network.degraded.LABEL] with between = [{a}, {b}] makes the \
             first one worse"
        ));
}

impl Plan {
    pub(super) fn graph(
        &mut self,
        graph: &Graph,
        network: &Network,
        cx: &mut Context<'_>,
    ) -> Option<()> {
        self.hosts = graph.hosts.declared();
        self.switches = graph.switches.declared();
        let nodes: Vec<Name> = self.hosts.iter().chain(&self.switches).cloned().collect();
        let mut sorted: Vec<&Name> = nodes.iter().collect();
        sorted.sort();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = pair[0].to_string();
            cx.error_at("network.hosts", format!("{} is there twice", quoted(&name)));
            return None;
        }
        if network.links.is_empty() {
            cx.error_at("network.links", "a graph needs links")
                .help("[network.links.LABEL] with between = [\"server:0..7\", \"switch\"]");
            return None;
        }
        let mut right = true;
        let mut linked = Linked::new();
        for (label, group) in &network.links {
            let made = self.graph_links(label, group, &nodes, &mut linked, cx);
            right &= made.is_some();
        }
        // Without a link group that is wrong, hosts would seem to have none.
        (right && self.check_nics(cx)).then_some(())
    }

    fn graph_links(
        &mut self,
        label: &str,
        group: &LinkGroup,
        nodes: &[Name],
        linked: &mut Linked,
        cx: &mut Context<'_>,
    ) -> Option<()> {
        let path = format!("network.links.{label}");
        let between = format!("{path}.between");
        if group.of.is_some() {
            cx.error_at(
                &format!("{path}.of"),
                "`of` chooses links of other topologies",
            )
            .help("in a graph each link group makes its links with `between`");
            return None;
        }
        let Some([first, second]) = group.between.as_deref() else {
            cx.error_at(
                &between,
                "in a graph a link group needs `between` with two sets of nodes",
            )
            .help("between = [\"server:0..7\", \"switch\"]");
            return None;
        };
        let first = first.resolve(nodes, "nodes", &between, cx)?;
        let second = second.resolve(nodes, "nodes", &between, cx)?;
        let links = self.links.len() as u64 + first.len() as u64 * second.len() as u64;
        most_links(&between, links, cx)?;
        let hosts = self.hosts.len();
        let end = |node: usize| match node.checked_sub(hosts) {
            None => End::Host(node),
            Some(switch) => End::Switch(switch),
        };
        for &a in &first {
            for &b in &second {
                if a == b {
                    let name = nodes[a].to_string();
                    cx.error_at(&between, format!("{} is linked with itself", quoted(&name)));
                    return None;
                }
                let pair = linked.entry([a.min(b), a.max(b)]);
                let earlier = *pair.and_modify(|links| *links += 1).or_insert(0);
                if earlier > 0 && group.parallel != Some(true) {
                    report_second(&path, [a, b].map(|node| &nodes[node]), cx);
                    return None;
                }
                self.link_of(end(a), end(b), earlier, group);
            }
        }
        Some(())
    }

    /// Every host has one NIC, so one link.
    fn check_nics(&self, cx: &mut Context<'_>) -> bool {
        let mut links = vec![0; self.hosts.len()];
        for link in &self.links {
            for end in [link.ends.0, link.ends.1] {
                if let End::Host(host) = end {
                    links[host] += 1;
                }
            }
        }
        let mut right = true;
        for (name, count) in self.hosts.iter().zip(links) {
            let host = quoted(&name.to_string());
            right &= count == 1;
            match count {
                0 => cx
                    .error_at("network.hosts", format!("host {host} has no link"))
                    .help("name it under `between` of a link group, or not in `hosts`"),
                1 => {}
                _ => cx
                    .error_at("network.links", format!("host {host} has {count} links"))
                    .help("a host has one NIC, so one link"),
            }
        }
        right
    }
}
