//! The network around a link: the other links of its flows' paths, separate for each flow.
//!
//! Section 3.2 of the NSDI paper: each sender is behind a link of its rate, so that no host sends faster
//! than it can. Then follows the simulated link, and no flow waits for another after it. Here a flow's earlier
//! links become one, as slow as the slowest of them, which all flows of the host share. The later links become
//! one as well, separate for each flow. A full packet and its ACK take the round trip of the whole path, plus
//! the flow's waits elsewhere in the fluid. A shorter packet takes as long as a full one on links that are merged into another.
//!
//! A link with a pace represents the flow's bottleneck port elsewhere. Packets wait there as long, and are
//! marked and dropped as early. Without congestion signals the flow would have an unbounded window, and
//! burst into the link in question as soon as its pace rises.

use std::collections::BTreeMap;
use std::sync::Arc;

use incastle_engine::core::{HostIndex, Node};
use incastle_engine::network::{
    BuildError, LinkConfig, Network, NetworkBuilder, PortKind, RateChange,
};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::crossings::{Crossings, Directed};
use crate::discipline::Discipline;
use incastle_experiment::network::{Parts, host, memory, port};
use incastle_scenario::Scenario;
use incastle_scenario::language::switch::Switch;
use incastle_scenario::topology::layout::End;
use incastle_scenario::topology::pairs::Pair;
use incastle_workload::HostPair;
use incastle_workload::{Opening, Row, Stack};

/// A decomposed scenario.
pub(super) struct Whole<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) flows: &'a [Opening],
    pub(super) crossings: &'a Crossings,
    pub(super) switches: Vec<&'a Switch>,
    /// By group.
    pub(super) stacks: Vec<Arc<Stack>>,
}

/// The pace of a flow towards a link, as the rate of a link for this flow alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace<'a> {
    /// Rates, each from an instant until the next.
    pub(super) rates: &'a [(Time, Rate)],
    /// The discipline of the link, in place of the flow's bottleneck port; absent where that is the
    /// sender's own, or there is none.
    pub(super) part: Option<Discipline>,
}

impl Pace<'_> {
    /// Gives a port the pace's rate and the discipline of the bottleneck port.
    fn apply(&self, port: &mut LinkConfig) {
        let full = port.rate;
        if let [(_, first), later @ ..] = self.rates {
            port.rate = full.min(*first);
            let later = later.iter().map(|&(at, rate)| RateChange {
                at,
                rate: rate.min(full),
            });
            port.schedule = later.collect();
        }
        if let Some(part) = self.part {
            part.apply(port);
        }
    }
}

/// A flow at a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit<'a> {
    pub(super) flow: usize,
    pub(super) at: Time,
    pub(super) bytes: u64,
    /// Its pace from all other links; absent where only the other flows of its host limit it.
    pub(super) pace: Option<Pace<'a>>,
    /// Its waits in a round trip elsewhere.
    pub(super) elsewhere: Span,
}

impl Visit<'_> {
    /// The same flow without other traffic anywhere.
    pub(super) fn alone(&self) -> Visit<'static> {
        Visit {
            flow: self.flow,
            at: self.at,
            bytes: self.bytes,
            pace: None,
            elsewhere: Span::ZERO,
        }
    }
}

/// The path of a flow before and behind a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage<'a> {
    pub(super) direction: usize,
    pub(super) hosts: Pair,
    /// Absent where the link is the sender's own.
    pub(super) before: Option<Stretch>,
    /// The pace of the links before the link, which is then for this flow alone; at the sender's own
    /// link, of the links behind it.
    pub(super) pace: Option<Pace<'a>>,
    /// Absent where it is the receiver's.
    pub(super) behind: Option<Stretch>,
}

impl Passage<'_> {
    /// Whether it shares the links before the link with other flows of its host.
    pub(super) fn is_shared(&self) -> bool {
        self.before.is_some() && self.pace.is_none()
    }
}

/// Links merged into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stretch {
    slowest: Directed,
    pub(super) rate: Rate,
    /// Its time in addition to that of the slowest link: a full packet forward, an ACK back.
    delays: (Span, Span),
}

impl Stretch {
    /// With more time for ACKs.
    fn later(mut self, by: Span) -> Self {
        self.delays.1 += by;
        self
    }
}

/// Whether flows share the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// As in the whole network.
    Shared,
    /// Each flow has a separate link; the link must begin at a switch.
    OneEach,
}

impl<'a> Whole<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        flows: &'a [Opening],
        crossings: &'a Crossings,
    ) -> Self {
        let root = scenario.tables();
        let groups = root.flows.iter();
        let stacks = groups.map(|(_, group)| Arc::new(Stack::new(&group.transport, root)));
        Self {
            scenario,
            flows,
            crossings,
            switches: scenario.switches(),
            stacks: stacks.collect(),
        }
    }

    pub(super) fn stack(&self, flow: usize) -> &Arc<Stack> {
        &self.stacks[self.flows[flow].group]
    }

    /// The number of data packets of a flow without retransmissions.
    pub(super) fn packets(&self, flow: usize) -> u64 {
        let payload = self.stack(flow).payload();
        self.flows[flow].bytes.div_ceil(payload).max(1)
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            root: self.scenario.tables(),
            layout: self.scenario.layout(),
            switches: &self.switches,
        }
    }

    /// A flow's crossing of a link.
    pub(super) fn passage<'v>(&self, visit: &Visit<'v>, link: usize) -> Passage<'v> {
        let flow = visit.flow;
        let mut path = self.crossings.path(flow);
        let place = self.crossings.place(flow, link);
        let stack = self.stack(flow);
        let before = self.stretch(path.clone().take(place), stack);
        let here = path.nth(place).expect("it was found there");
        let behind = self.stretch(path, stack);
        // On a link for this flow alone.
        let (before, behind) = if before.is_some() && visit.pace.is_some() {
            (before.map(|before| before.later(visit.elsewhere)), behind)
        } else {
            (before, behind.map(|behind| behind.later(visit.elsewhere)))
        };
        Passage {
            direction: here.direction,
            hosts: self.flows[flow].hosts,
            before,
            pace: visit.pace,
            behind,
        }
    }

    fn stretch(
        &self,
        steps: impl Iterator<Item = Directed> + Clone,
        stack: &Stack,
    ) -> Option<Stretch> {
        let links = &self.scenario.layout().links;
        let rate = |step: &Directed| links[step.link].rate;
        let slowest = steps.clone().min_by_key(rate)?;
        let [full, ack] = [stack.payload(), 0].map(|payload| Bytes::new(stack.wire_size(payload)));
        let (mut forth, mut back) = (Span::ZERO, Span::ZERO);
        for step in steps {
            let link = &links[step.link];
            forth += link.delay;
            back += link.delay;
            if step != slowest {
                forth += link.rate.span_of(full);
                back += link.rate.span_of(ack);
            }
        }
        Some(Stretch {
            slowest,
            rate: rate(&slowest),
            delays: (forth, back),
        })
    }

    /// The network around a link for these flows, and their traffic in it.
    pub(super) fn around(
        &self,
        link: usize,
        visits: &[Visit<'_>],
        sharing: Sharing,
    ) -> Result<(Network, Vec<Row>), BuildError> {
        let passages = visits.iter().map(|visit| self.passage(visit, link));
        let passages: Vec<Passage<'_>> = passages.collect();
        let mut site = Site {
            whole: self,
            link,
            builder: NetworkBuilder::new(self.scenario.seed()),
            senders: BTreeMap::new(),
        };
        let hosts = match sharing {
            Sharing::Shared => site.shared(&passages),
            Sharing::OneEach => site.one_each(&passages),
        };
        let rows = visits.iter().zip(hosts);
        let rows = rows.map(|(visit, hosts)| self.row(visit, hosts));
        Ok((site.builder.build()?, rows.collect()))
    }

    fn row(&self, visit: &Visit<'_>, hosts: HostPair) -> Row {
        let Visit {
            flow, at, bytes, ..
        } = *visit;
        let (_, group) = &self.scenario.tables().flows[self.flows[flow].group];
        Row {
            at,
            hosts,
            bytes,
            stack: Arc::clone(self.stack(flow)),
            deadline: group.workload.deadline(),
        }
    }
}

/// A network under construction.
struct Site<'a> {
    whole: &'a Whole<'a>,
    link: usize,
    builder: NetworkBuilder,
    /// By direction and host of the whole network.
    senders: BTreeMap<(usize, usize), HostIndex>,
}

impl Site<'_> {
    /// All flows over one link: the hosts of each. Hosts and links come in the order of the layout, so
    /// that simultaneous events have the same order as there.
    fn shared(&mut self, passages: &[Passage<'_>]) -> Vec<HostPair> {
        let here = Directed {
            link: self.link,
            direction: 0,
        };
        let (a, b) = here.ends(self.whole.scenario.layout());
        let mut nodes = [self.switch_at(a), self.switch_at(b)];
        let mut places = BTreeMap::from([((self.link, 2), None)]);
        for passage in passages.iter().filter(|passage| passage.is_shared()) {
            let place = (self.own_link(passage.hosts.from), passage.direction);
            places.entry(place).or_insert(Some(passage));
        }
        for place in places.into_values() {
            if let Some(passage) = place {
                let near = nodes[passage.direction].expect("a sender elsewhere is behind a switch");
                self.sender(passage, near);
            } else {
                nodes = nodes.map(|node| node.or_else(|| Some(self.host())));
                let [Some(a), Some(b)] = nodes else {
                    unreachable!("both were made just now")
                };
                self.cross(here, [a, b]);
            }
        }
        let ends = nodes.map(|node| node.expect("the link was made"));
        let of = |passage: &Passage<'_>| {
            let (near, far) = (ends[passage.direction], ends[1 - passage.direction]);
            HostPair {
                from: self.sender(passage, near),
                to: self.receiver(passage, far),
            }
        };
        passages.iter().map(of).collect()
    }

    /// Flows that share the links before the link: the hosts of each.
    fn one_each(&mut self, passages: &[Passage<'_>]) -> Vec<HostPair> {
        let mut near = [None; 2];
        let of = |passage: &Passage<'_>| {
            let here = Directed {
                link: self.link,
                direction: passage.direction,
            };
            let (a, b) = here.ends(self.whole.scenario.layout());
            let near = *near[passage.direction].get_or_insert_with(|| self.node(a));
            let from = self.sender(passage, near);
            let far = self.node(b);
            self.cross(here, [near, far]);
            HostPair {
                from,
                to: self.receiver(passage, far),
            }
        };
        passages.iter().map(of).collect()
    }

    /// The link in question, from one node to another.
    fn cross(&mut self, here: Directed, [from, to]: [Node; 2]) {
        let parts = self.whole.parts();
        let (a, b) = here.ends(parts.layout);
        let link = &parts.layout.links[here.link];
        let (forth, back) = (port(a, b, link, &parts), port(b, a, link, &parts));
        self.builder.link(from, to, forth, back);
    }

    /// The host that sends a flow, made on first use, or for this flow alone.
    fn sender(&mut self, passage: &Passage<'_>, near: Node) -> HostIndex {
        let (Some(before), Node::Switch(_)) = (passage.before, near) else {
            return of_host(near);
        };
        let key = (passage.direction, passage.hosts.from);
        let known = self.senders.get(&key).filter(|_| passage.pace.is_none());
        if let Some(&sender) = known {
            return sender;
        }
        let sender = of_host(self.host());
        self.stretch(
            [Node::Host(sender), near],
            before,
            passage.pace,
            End::Host(passage.hosts.from),
        );
        if passage.pace.is_none() {
            self.senders.insert(key, sender);
        }
        sender
    }

    /// The host that receives a flow: where the link does not lead to it, one for this flow alone.
    fn receiver(&mut self, passage: &Passage<'_>, far: Node) -> HostIndex {
        let Some(behind) = passage.behind else {
            return of_host(far);
        };
        let pace = passage.pace.filter(|_| passage.before.is_none());
        let receiver = of_host(self.host());
        self.stretch(
            [far, Node::Host(receiver)],
            behind,
            pace,
            End::Host(passage.hosts.to),
        );
        receiver
    }

    /// A link that represents several; `host` is one of its nodes. Its ports are those of the
    /// slowest, but for the scheduler: no other flow competes.
    fn stretch(
        &mut self,
        [from, to]: [Node; 2],
        stretch: Stretch,
        pace: Option<Pace<'_>>,
        host: End,
    ) {
        let parts = self.whole.parts();
        let link = &parts.layout.links[stretch.slowest.link];
        let (near, far) = stretch.slowest.ends(parts.layout);
        let of = |node, slowest: (End, End), delay| {
            let ends = match node {
                Node::Host(_) => (host, slowest.1),
                Node::Switch(_) => slowest,
            };
            LinkConfig {
                rate: stretch.rate,
                delay,
                kind: PortKind::Fast,
                ..port(ends.0, ends.1, link, &parts)
            }
        };
        let mut forth = of(from, (near, far), stretch.delays.0);
        if let Some(pace) = pace {
            pace.apply(&mut forth);
        }
        let back = of(to, (far, near), stretch.delays.1);
        self.builder.link(from, to, forth, back);
    }

    /// A host or a switch like one of the whole network.
    fn node(&mut self, like: End) -> Node {
        self.switch_at(like).unwrap_or_else(|| self.host())
    }

    fn switch_at(&mut self, like: End) -> Option<Node> {
        let End::Switch(switch) = like else {
            return None;
        };
        let config = memory(self.whole.switches[switch]);
        Some(Node::Switch(self.builder.switch(String::new(), config)))
    }

    fn host(&mut self) -> Node {
        let config = host(self.whole.scenario.tables(), &self.whole.switches);
        Node::Host(self.builder.host(String::new(), config))
    }

    /// The place of a host's link.
    fn own_link(&self, host: usize) -> usize {
        let place = self.whole.scenario.layout().access_place(host);
        place.expect("every host of a flow has a link")
    }
}

fn of_host(node: Node) -> HostIndex {
    match node {
        Node::Host(host) => host,
        Node::Switch(_) => unreachable!("a flow begins and ends at hosts"),
    }
}
