//! `[network]`: hosts, switches and links by shape.

use incastle_units::{Bytes, Rate, Span};

use crate::degraded::Degraded;
use crate::grammar::declare::{NoKeys, choice, table};
use crate::grammar::describe::Shape;
use crate::grammar::range::{Range, above_to, at_least, between};
use crate::grammar::reader::Table;
use crate::grammar::reader::read_table;
use crate::grammar::value::{Value, wrong};
use crate::pfc::PauseStorm;
use crate::ratio::Ratio;
use crate::selection::Selection;
use crate::text::context::Context;
use crate::text::node::{Content, Node};

/// The most hosts of one role: beyond it a scenario is a slip of the pen.
pub const MAX_HOSTS: u32 = 1_000_000;

/// Rates of links: a packet takes seconds at the least, and a picosecond at the greatest.
pub fn rates() -> Range<Rate> {
    let (least, greatest) = (1_000, 100_000_000_000_000);
    between(
        Rate::from_bits_per_second(least),
        Rate::from_bits_per_second(greatest),
    )
}

/// Delays of links.
pub(crate) fn delays() -> Range<Span> {
    between(Span::ZERO, Span::from_secs(1_000))
}

/// Packets that links carry: at least what any acknowledgement takes, at most what IPv4 has (RFC 791, section 3.1).
fn mtus() -> Range<Bytes> {
    between(Bytes::new(128), MAX_MTU)
}

/// The largest packet of IPv4.
pub(crate) const MAX_MTU: Bytes = Bytes::new(65_535);

table! {
    /// `[network]`
    pub struct Network {
        /// The shape.
        flat topology: Topology;
        /// The rate of every link, unless a link group sets another.
        value rate: Rate = Rate::from_bits_per_second(1_000_000_000), in rates();
        /// The one-way delay of every link, unless a link group sets another.
        value delay: Span = Span::from_us(25), in delays();
        /// The largest IP packet of every link, unless a link group sets another; framing is not counted. A transport with
        /// larger ones is refused. Ethernet has 1500 B, and 9000 B with jumbo frames; the default takes every packet.
        value mtu: Bytes = MAX_MTU, in mtus();
        /// The choice among several equal paths.
        flat ecmp: Ecmp;
        /// The time from a link's change to down or up until the switches use other paths. Until then packets sent to a
        /// link that is down are lost.
        value reconvergence_delay: Span = Span::ZERO, in delays();
        /// Links that differ, by the group's name or by `of`; in a graph, all links.
        each links: LinkGroup;
        /// Links that fail, under labels of your own.
        each failures: Failure;
        /// Links that are degraded, under labels of your own.
        each degraded: Degraded;
        /// Broken NICs that send pause frames (PFC) without a cause, under labels of your own.
        each pause_storms: PauseStorm;
    }
}

choice! {
    /// The shape of the network.
    pub enum Topology by topology {
        /// hosts around one switch: `sender:0` ..., `receiver`, `switch`; link groups `senders`, `receivers`
        "star" => Star(Star),
        /// senders on one switch, receivers on the other: `sender:0` ..., `receiver`, `left`, `right`; link groups `senders`, `receivers`, `bottleneck`
        "dumbbell" => Dumbbell(Dumbbell),
        /// switches in levels, senders at the leaves, receivers at the root: `sender:0` ..., `receiver`, `switch:0` (the root) ...; link groups `senders`, `receivers`, `trunks`
        "tree" => Tree(Tree),
        /// leaves with hosts, each linked with every spine: `host:0` ..., `leaf:0` ..., `spine:0` ...; link groups `hosts`, `leaf-spine`
        "leaf-spine" => LeafSpine(LeafSpine),
        /// three tiers of switches with `k` ports each: `host:0` ..., `edge:0` ..., `aggregation:0` ..., `core:0` ...; link groups `hosts`, `edge-aggregation`, `aggregation-core`
        "fat-tree" => FatTree(FatTree),
        /// three tiers with free numbers and oversubscription: names and link groups of `"fat-tree"`
        "clos" => Clos(Clos),
        /// hosts and switches by name, and links between them
        "graph" => Graph(Graph),
    }
}

table! {
    /// A star.
    pub struct Star {
        /// Hosts of the role `sender`.
        value senders: u32, in between(1, MAX_HOSTS);
        /// Hosts of the role `receiver`. A single one is `receiver`, several are `receiver:0` ...
        value receivers: u32 = 1, in between(0, MAX_HOSTS);
    }
}

table! {
    /// A dumbbell.
    pub struct Dumbbell {
        /// Hosts of the role `sender`, on the left.
        value senders: u32, in between(1, MAX_HOSTS);
        /// Hosts of the role `receiver`, on the right.
        value receivers: u32 = 1, in between(1, MAX_HOSTS);
    }
}

table! {
    /// A tree.
    pub struct Tree {
        /// Branches of each switch, level by level from the root; the last number counts the
        /// senders of each leaf switch. `[3, 3]` is a root with 3 switches of 3 senders each.
        value fanout: Vec<u32>;
        /// Hosts of the role `receiver`, at the root.
        value receivers: u32 = 1, in between(1, MAX_HOSTS);
    }
}

table! {
    /// Two tiers.
    pub struct LeafSpine {
        /// Leaf switches.
        value leaves: u32, in between(1, MAX_HOSTS);
        /// Spine switches.
        value spines: u32, in between(1, MAX_HOSTS);
        /// Hosts of each leaf.
        value hosts_per_leaf: u32, in between(1, MAX_HOSTS);
        /// The rates of a leaf's links to hosts over those of its links to spines, which follow from it: a number, or
        /// `"3:1"`. Without it they have the rate of `[network]` or of their link group.
        option oversubscription: Ratio, in above_to(Ratio(0.0), Ratio(1000.0));
    }
}

table! {
    /// A k-ary fat tree.
    pub struct FatTree {
        /// Ports of each switch, an even number: k^3/4 hosts and 5k^2/4 switches.
        value k: u32, in between(2, MAX_K);
    }
}

/// More than half a million hosts.
const MAX_K: u32 = 128;

table! {
    /// Three tiers.
    pub struct Clos {
        /// Pods: sets of edge and aggregation switches, each edge linked with each aggregation.
        value pods: u32, in between(1, MAX_HOSTS);
        /// Edge switches of each pod.
        value edges_per_pod: u32, in between(1, MAX_HOSTS);
        /// Aggregation switches of each pod.
        value aggregations_per_pod: u32, in between(1, MAX_HOSTS);
        /// Core switches: a multiple of `aggregations_per_pod`. The first aggregation switches of all pods share the first
        /// cores, and so on.
        value cores: u32, in between(1, MAX_HOSTS);
        /// Hosts of each edge switch.
        value hosts_per_edge: u32, in between(1, MAX_HOSTS);
        /// The rates of an edge switch's links to hosts over those of its links upwards, which follow from it. Without it
        /// they have the rate of `[network]` or of their link group.
        option edge_oversubscription: Ratio, in above_to(Ratio(0.0), Ratio(1000.0));
        /// The same for an aggregation switch.
        option aggregation_oversubscription: Ratio, in above_to(Ratio(0.0), Ratio(1000.0));
    }
}

choice! {
    /// The packets that take one of several equal paths together (ECMP).
    pub enum Ecmp by ecmp = "flow" {
        /// all packets of a flow's direction, chosen by a seeded hash
        "flow" => Flow(NoKeys),
        /// each packet by itself, at random (packet spraying): packets overtake each other
        "packet" => Packet(NoKeys),
        /// packets of a flow's direction that follow each other at a switch within `flowlet_gap`, each such flowlet at random
        "flowlet" => Flowlet(PerFlowlet),
    }
}

table! {
    /// ECMP by flowlet.
    pub struct PerFlowlet {
        /// Packets of a flow further apart than this may take another path. CONGA's value (Alizadeh et al. 2014, section 3.6).
        value flowlet_gap: Span = Span::from_us(500), in between(Span::ZERO, Span::from_secs(1_000));
    }
}

table! {
    /// An explicit graph.
    pub struct Graph {
        /// The hosts: names, or numbered ones such as `"server:0..7"`.
        value hosts: Selection;
        /// The switches, likewise.
        value switches: Selection;
    }
}

table! {
    /// `[network.links.LABEL]`
    pub struct LinkGroup {
        /// In a graph: two sets of nodes; every node of the first is linked with every one of the
        /// second.
        option between: Vec<Selection>;
        /// In the other topologies: hosts, for their access links, a link group of the topology, or a
        /// tier (`"uplinks"`, `"core"`, `"trunk"`).
        /// Without it the label itself is meant.
        option of: Selection;
        /// Their rate.
        option rate: Rate, in rates();
        /// Their one-way delay.
        option delay: Span, in delays();
        /// Their largest IP packet.
        option mtu: Bytes, in mtus();
        /// Later rates of both directions: `[{ at = "2 s", rate = "1 Gbit/s" }]`,
        /// in order of time. A packet in transmission at such an instant ends at the old rate.
        option schedule: Schedule;
        /// In a graph: whether its links may be second ones between their nodes. Their ports are named like
        /// `"left->right#2"`.
        option parallel: bool;
    }
}

table! {
    /// `[network.failures.LABEL]`
    pub struct Failure {
        /// Two sets of hosts and switches: every link between one of the first and one of the second fails, in both
        /// directions.
        value between: Vec<Selection>;
        /// The one of parallel links of a graph, from 1 on as in `"left->right#2"`; without it all of them.
        option number: u32, in at_least(1);
        /// When they go down. Packets in their ports or on the wire at that instant are lost.
        value down: Span = Span::ZERO;
        /// When they come up again; without it they stay down.
        option up: Span;
    }
}

table! {
    /// A change of the rate.
    pub struct Change {
        /// When.
        value at: Span;
        /// The rate from then on.
        value rate: Rate, in rates();
    }
}

/// The changes of a link's rate, in the order in which they were written.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule(pub Vec<Change>);

impl Value for Schedule {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let Content::List(items) = &node.content else {
            wrong(node, key, &Self::shape().words, cx);
            return None;
        };
        let mut changes = Some(Vec::new());
        for item in items {
            let change = if let Some(entries) = item.entries() {
                read_table(key.to_owned(), item.place, entries, cx)
            } else {
                wrong(item, key, "{ at = \"2 s\", rate = \"1 Gbit/s\" }", cx);
                None
            };
            match (&mut changes, change) {
                (Some(changes), Some(change)) => changes.push(change),
                _ => changes = None,
            }
        }
        changes.map(Self)
    }

    fn write(&self) -> String {
        let changes: Vec<String> = self.0.iter().map(crate::grammar::declare::inline).collect();
        format!("[{}]", changes.join(", "))
    }

    fn shape() -> Shape {
        Shape {
            words: "a list such as [{ at = \"2 s\", rate = \"1 Gbit/s\" }]".to_owned(),
            json: serde_json::json!({
                "type": "array",
                "items": crate::grammar::json::object(&Change::description()),
                "minItems": 1,
            }),
        }
    }
}
