//! From `[network]` to a layout: the code that all topologies share.

use incastle_units::{Bytes, Rate, Span};

use crate::language::network::{LinkGroup, Network, Topology};
use crate::language::selection::{Name, Selection};
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::text::node::quoted;
use crate::text::suggest::{choices, near};
use crate::topology::layout::{End, Layout, Link};
use crate::topology::tier::Tier;

/// The maximum number of links in a network: more is probably a typing error.
const MAX_LINKS: u64 = 4_000_000;

/// The maximum number of routes in a network: from each switch to each that has hosts. The largest fat tree has
/// 168 million.
const MAX_ROUTES: usize = 200_000_000;

/// A layout under construction.
pub(super) struct Plan {
    pub(super) hosts: Vec<Name>,
    pub(super) switches: Vec<Name>,
    pub(super) links: Vec<Link>,
    rate: Rate,
    delay: Span,
    mtu: Bytes,
}

/// The layout of `[network]`; errors in it are reported.
pub(crate) fn layout(network: &Network, cx: &mut Context<'_>) -> Option<Layout> {
    let mut plan = Plan {
        hosts: Vec::new(),
        switches: Vec::new(),
        links: Vec::new(),
        rate: network.rate,
        delay: network.delay,
        mtu: network.mtu,
    };
    match &network.topology {
        Topology::Star(star) => plan.star(star),
        Topology::Dumbbell(dumbbell) => plan.dumbbell(dumbbell),
        Topology::Tree(tree) => plan.tree(tree, cx)?,
        Topology::LeafSpine(fabric) => plan.leaf_spine(fabric, cx)?,
        Topology::FatTree(fabric) => plan.fat_tree(fabric, cx)?,
        Topology::Clos(fabric) => plan.clos(fabric, cx)?,
        Topology::Graph(graph) => plan.graph(graph, network, cx)?,
    }
    if !matches!(&network.topology, Topology::Graph(_)) {
        for (label, group) in &network.links {
            plan.adjust(label, group, cx);
        }
    }
    plan.oversubscribe(network, cx);
    plan.most_routes(cx)?;
    for (label, failure) in &network.failures {
        plan.fail(label, failure, cx);
    }
    for entry in 0..network.degraded.len() {
        plan.degrade(network, entry, cx);
    }
    Some(Layout::of(plan.hosts, plan.switches, plan.links))
}

impl Plan {
    /// Reports more routes than a network may have.
    fn most_routes(&self, cx: &mut Context<'_>) -> Option<()> {
        let mut with_hosts = vec![false; self.switches.len()];
        for link in &self.links {
            if let (End::Switch(switch), End::Host(_)) | (End::Host(_), End::Switch(switch)) =
                link.ends
            {
                with_hosts[switch] = true;
            }
        }
        let (all, last) = (
            with_hosts.len(),
            with_hosts.iter().filter(|has| **has).count(),
        );
        if all.saturating_mul(last) <= MAX_ROUTES {
            return Some(());
        }
        cx.error_at("network.topology", format!(
                "{all} switches with routes to {last} that have hosts: a network has at most {MAX_ROUTES} routes"
            )).help("fewer switches, with more hosts each");
        None
    }

    pub(super) fn host(&mut self, role: &str, index: Option<u32>) -> End {
        self.hosts.push(Name {
            role: role.to_owned(),
            index,
        });
        End::Host(self.hosts.len() - 1)
    }

    pub(super) fn switch(&mut self, role: &str, index: Option<u32>) -> End {
        self.switches.push(Name {
            role: role.to_owned(),
            index,
        });
        End::Switch(self.switches.len() - 1)
    }

    pub(super) fn link(&mut self, a: End, b: End, group: &'static str) {
        self.links.push(Link {
            ends: (a, b),
            earlier: 0,
            group,
            rate: self.rate,
            delay: self.delay,
            mtu: self.mtu,
            schedule: Vec::new(),
            failures: Vec::new(),
            degraded: Vec::new(),
        });
    }

    /// A link of a graph, with the parameters of its link group.
    pub(super) fn link_of(&mut self, a: End, b: End, earlier: u32, group: &LinkGroup) {
        self.link(a, b, "");
        let link = self.links.last_mut().expect("a link was added just now");
        link.earlier = earlier;
        set(link, group);
    }

    /// Changes the links of a link group.
    fn adjust(&mut self, label: &str, group: &LinkGroup, cx: &mut Context<'_>) {
        let path = format!("network.links.{label}");
        if group.parallel.is_some() {
            cx.error_at(
                &format!("{path}.parallel"),
                "`parallel` allows second links in a graph; this topology has its links already",
            )
            .help("`[network.degraded.LABEL]` makes links worse, for a time or for all of it");
            return;
        }
        if group.between.is_some() {
            cx.error_at(
                &format!("{path}.between"),
                "`between` makes links in a graph; this topology has its links already",
            )
            .help("choose existing links with `of`");
            return;
        }
        let chosen = match &group.of {
            Some(of) => self.links_of(of, &format!("{path}.of"), cx),
            // It is wrong, and reported.
            None if cx.is_given(&format!("{path}.of")) => None,
            None => self.links_of(&Selection::named(label), &path, cx),
        };
        for position in chosen.unwrap_or_default() {
            set(&mut self.links[position], group);
        }
    }

    fn links_of(
        &self,
        selection: &Selection,
        key: &str,
        cx: &mut Context<'_>,
    ) -> Option<Vec<usize>> {
        let terms = selection.terms();
        let links = self.links.iter().enumerate();
        if let [word] = terms.as_slice() {
            // Tables call them by tier: `uplinks`, `core`, `trunk`.
            for named in [
                |link: &Link| link.group,
                |link: &Link| Tier::of(link).word(),
            ] {
                let group = links.clone().filter(|(_, link)| named(link) == word);
                let group: Vec<usize> = group.map(|(position, _)| position).collect();
                if !group.is_empty() {
                    return Some(group);
                }
            }
        }
        let mut quiet = Context::new(&NoFiles);
        let Some(hosts) = selection.resolve(&self.hosts, "hosts", key, &mut quiet) else {
            // A wrong `of` is reported: the label is not meant.
            if !cx.error_keys().contains(&format!("{key}.of")) {
                self.report_no_links(selection, key, cx);
            }
            return None;
        };
        let mut chosen = vec![false; self.hosts.len()];
        for host in hosts {
            chosen[host] = true;
        }
        let is_chosen = |end: End| matches!(end, End::Host(host) if chosen[host]);
        let theirs = links.filter(|(_, link)| is_chosen(link.ends.0) || is_chosen(link.ends.1));
        Some(theirs.map(|(position, _)| position).collect())
    }

    fn report_no_links(&self, selection: &Selection, key: &str, cx: &mut Context<'_>) {
        let mut groups: Vec<&str> = self.links.iter().map(|link| link.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let wanted = selection.terms().join(", ");
        let tiers = Tier::ALL.map(Tier::word);
        let mut words = groups.clone();
        words.extend(tiers.into_iter().filter(|word| {
            let mut links = self.links.iter();
            links.any(|link| Tier::of(link).word() == *word)
        }));
        let near = near(&wanted, &words);
        cx.error_at(
            key,
            format!(
                "no link group {}, and no hosts of that name",
                quoted(&wanted)
            ),
        )
        .help(format!(
            "{near}the link groups are {}; single links go by their host, as in of = {}",
            choices(&groups),
            quoted(&self.hosts[0].to_string())
        ));
    }
}

/// Applies a link group to a link.
fn set(link: &mut Link, group: &LinkGroup) {
    link.rate = group.rate.unwrap_or(link.rate);
    link.delay = group.delay.unwrap_or(link.delay);
    link.mtu = group.mtu.unwrap_or(link.mtu);
    if let Some(schedule) = &group.schedule {
        let changes = schedule.0.iter();
        link.schedule = changes.map(|change| (change.at, change.rate)).collect();
    }
}

/// Reports more links than a network may have.
pub(super) fn most_links(key: &str, links: u64, cx: &mut Context<'_>) -> Option<()> {
    if links <= MAX_LINKS {
        return Some(());
    }
    cx.error_at(
        key,
        format!("{links} links: a network has at most {MAX_LINKS}"),
    );
    None
}
