//! Fabrics: topologies with several equal paths between hosts.
//!
//! Leaf-spine is a folded Clos network (C. Clos, "A study of non-blocking switching networks", Bell
//! System Technical Journal 32(2), 1953) of two tiers: every leaf is linked with every spine. The fat
//! tree is that of Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center network
//! architecture", SIGCOMM 2008, section 3: three tiers of switches with k ports each. `clos` is the
//! same wiring with free numbers. Hosts and switches are numbered from the left: pod by pod, and
//! within a pod switch by switch. Leaves out: links that differ within a tier (link groups make
//! them), several links between two switches.

use incastle_units::Rate;

use crate::language::network::{Clos, FatTree, LeafSpine, MAX_HOSTS, Network, Topology, rates};
use crate::language::ratio::Ratio;
use crate::language::selection::Selection;
use crate::text::context::Context;
use crate::topology::layout::End;
use crate::topology::plan::{Plan, most_links};

/// The link groups of two tiers, from below.
const HOSTS: &str = "hosts";
pub(super) const LEAF_SPINE: &str = "leaf-spine";
/// The link groups of three tiers above the hosts.
pub(super) const EDGE_AGGREGATION: &str = "edge-aggregation";
pub(super) const AGGREGATION_CORE: &str = "aggregation-core";

/// A folded Clos network of three tiers.
struct Tiers {
    pods: u32,
    /// Edge switches of each pod.
    edges: u32,
    /// Aggregation switches of each pod.
    aggregations: u32,
    cores: u32,
    /// Hosts of each edge switch.
    hosts: u32,
}

impl Plan {
    pub(super) fn leaf_spine(&mut self, fabric: &LeafSpine, cx: &mut Context<'_>) -> Option<()> {
        let hosts = product(&[fabric.leaves, fabric.hosts_per_leaf]);
        let links = hosts.saturating_add(product(&[fabric.leaves, fabric.spines]));
        check_size("network.leaves", hosts, links, cx)?;
        let leaves: Vec<End> = self.row("leaf", fabric.leaves);
        let spines: Vec<End> = self.row("spine", fabric.spines);
        for &leaf in &leaves {
            self.hosts_at(leaf, fabric.hosts_per_leaf);
            for &spine in &spines {
                self.link(leaf, spine, LEAF_SPINE);
            }
        }
        Some(())
    }

    pub(super) fn fat_tree(&mut self, fabric: &FatTree, cx: &mut Context<'_>) -> Option<()> {
        let k = fabric.k;
        if !k.is_multiple_of(2) {
            cx.error_at(
                "network.k",
                format!("a fat tree of k = {k}: half of a switch's ports lead up, half down"),
            )
            .help(format!("k is even, such as {} or {}", k - 1, k + 1));
            return None;
        }
        // Section 3.1 of the paper: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores.
        let half = k / 2;
        let tiers = Tiers {
            pods: k,
            edges: half,
            aggregations: half,
            cores: half * half,
            hosts: half,
        };
        self.tiers("network.k", &tiers, cx)
    }

    pub(super) fn clos(&mut self, fabric: &Clos, cx: &mut Context<'_>) -> Option<()> {
        let (cores, aggregations) = (fabric.cores, fabric.aggregations_per_pod);
        if !cores.is_multiple_of(aggregations) {
            let fewer = cores - cores % aggregations;
            let words = match fewer {
                0 => format!("{aggregations} or a multiple of it"),
                fewer => format!("{fewer} or {}, for example", fewer + aggregations),
            };
            cx.error_at("network.cores", format!(
                    "{cores} cores for {aggregations} aggregation switches per pod, of which each is \
                     linked with as many cores as the others"
                )).help(words);
            return None;
        }
        let tiers = Tiers {
            pods: fabric.pods,
            edges: fabric.edges_per_pod,
            aggregations,
            cores,
            hosts: fabric.hosts_per_edge,
        };
        self.tiers("network.pods", &tiers, cx)
    }

    /// Three tiers. Aggregation switch number i of each pod is linked with the i-th share of the cores
    /// (figure 3 of the paper), so that each core has one link to each pod.
    fn tiers(&mut self, key: &str, tiers: &Tiers, cx: &mut Context<'_>) -> Option<()> {
        let hosts = product(&[tiers.pods, tiers.edges, tiers.hosts]);
        let up = product(&[tiers.pods, tiers.edges, tiers.aggregations]);
        let links = hosts
            .saturating_add(up)
            .saturating_add(product(&[tiers.pods, tiers.cores]));
        check_size(key, hosts, links, cx)?;
        let edges = self.row("edge", tiers.pods * tiers.edges);
        let aggregations = self.row("aggregation", tiers.pods * tiers.aggregations);
        let cores = self.row("core", tiers.cores);
        let share = cores.len() / tiers.aggregations as usize;
        let pods = edges.chunks(tiers.edges as usize);
        for (edges, aggregations) in pods.zip(aggregations.chunks(tiers.aggregations as usize)) {
            for &edge in edges {
                self.hosts_at(edge, tiers.hosts);
                for &aggregation in aggregations {
                    self.link(edge, aggregation, EDGE_AGGREGATION);
                }
            }
            for (&aggregation, cores) in aggregations.iter().zip(cores.chunks(share)) {
                for &core in cores {
                    self.link(aggregation, core, AGGREGATION_CORE);
                }
            }
        }
        Some(())
    }

    /// Adds `count` switches of a role.
    fn row(&mut self, role: &str, count: u32) -> Vec<End> {
        (0..count)
            .map(|index| self.switch(role, Some(index)))
            .collect()
    }

    /// The next hosts, all at one switch.
    fn hosts_at(&mut self, switch: End, count: u32) {
        for _ in 0..count {
            let index = self.hosts.len() as u32;
            let host = self.host("host", Some(index));
            self.link(host, switch, HOSTS);
        }
    }

    /// Sets the rates of a fabric's upper links from its oversubscription.
    pub(super) fn oversubscribe(&mut self, network: &Network, cx: &mut Context<'_>) {
        let tiers = match &network.topology {
            Topology::LeafSpine(fabric) => vec![(
                "oversubscription",
                fabric.oversubscription,
                HOSTS,
                LEAF_SPINE,
            )],
            Topology::Clos(fabric) => vec![
                (
                    "edge_oversubscription",
                    fabric.edge_oversubscription,
                    HOSTS,
                    EDGE_AGGREGATION,
                ),
                (
                    "aggregation_oversubscription",
                    fabric.aggregation_oversubscription,
                    EDGE_AGGREGATION,
                    AGGREGATION_CORE,
                ),
            ],
            _ => Vec::new(),
        };
        for (key, ratio, below, above) in tiers {
            let Some(Ratio(ratio)) = ratio else { continue };
            let key = format!("network.{key}");
            if sets_rate(network, above) {
                cx.error_at(
                    &key,
                    format!("[network.links.{above}] gives a rate, from which it follows"),
                )
                .help("give one of the two");
                continue;
            }
            self.share_out(
                &key,
                &Share {
                    ratio,
                    below,
                    above,
                },
                cx,
            );
        }
    }

    /// The links from a switch upwards together have the rate of those from below, divided by `ratio`.
    fn share_out(&mut self, key: &str, share: &Share, cx: &mut Context<'_>) {
        let &Share {
            ratio,
            below,
            above,
        } = share;
        if ratio < 1.0 {
            let times = (1000.0 / ratio).round() / 1000.0;
            cx.warn_at(
                key,
                format!("{ratio} to 1: the links upwards have {times} times the rate of those below together"),
            )
            .help("four to one is \"4:1\" or 4");
        }
        let mut carried = vec![0.0; self.switches.len()];
        let mut ups = vec![0_u32; self.switches.len()];
        for link in &self.links {
            if let (_, End::Switch(upper)) = link.ends
                && link.group == below
            {
                carried[upper] += link.rate.bits_per_second() as f64;
            }
            if let (End::Switch(lower), _) = link.ends
                && link.group == above
            {
                ups[lower] += 1;
            }
        }
        for link in self.links.iter_mut().filter(|link| link.group == above) {
            let End::Switch(lower) = link.ends.0 else {
                unreachable!("links between tiers begin at a switch")
            };
            let bits = (carried[lower] / (f64::from(ups[lower]) * ratio)).round();
            let rate = Rate::from_bits_per_second(bits as u64);
            if !rates().contains(&rate) {
                cx.error_at(
                    key,
                    format!("{ratio} to 1 would give links of {bits} bit/s"),
                )
                .help(format!("links are {}", rates().words()));
                return;
            }
            link.rate = rate;
        }
    }
}

/// The rate of the links above a switch: that of the links below it, over a ratio.
struct Share {
    ratio: f64,
    below: &'static str,
    above: &'static str,
}

/// Whether a link group sets the rate of this tier.
fn sets_rate(network: &Network, tier: &str) -> bool {
    let means = |label: &str, of: &Option<Selection>| match of {
        Some(of) => of.terms() == [tier],
        None => label == tier,
    };
    let mut groups = network.links.iter();
    groups.any(|(label, group)| group.rate.is_some() && means(label, &group.of))
}

fn product(factors: &[u32]) -> u64 {
    factors.iter().fold(1, |product: u64, &factor| {
        product.saturating_mul(u64::from(factor))
    })
}

/// Hosts and links as many as a network may have.
fn check_size(key: &str, hosts: u64, links: u64, cx: &mut Context<'_>) -> Option<()> {
    if hosts > u64::from(MAX_HOSTS) {
        cx.error_at(
            key,
            format!("{hosts} hosts: a network has at most {MAX_HOSTS}"),
        );
        return None;
    }
    most_links(key, links, cx)
}
