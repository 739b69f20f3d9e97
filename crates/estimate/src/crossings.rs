//! The links that each flow crosses, and the direction: the engine's own choice of paths.

use incastle_engine::core::PortIndex;
use incastle_engine::network::Network;

use incastle_scenario::topology::layout::{End, Layout};
use incastle_workload::{HostPair, Opening, data_end};

/// The paths of all flows, and the flows of all links. Each is one array, with the offset of every path
/// and of every link.
pub(super) struct Crossings {
    ports: Vec<PortIndex>,
    paths: Vec<usize>,
    flows: Vec<u32>,
    links: Vec<usize>,
}

/// A flow at a link of its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowAtHop {
    pub(super) flow: usize,
    /// The place of the link on the path.
    pub(super) hop: usize,
}

/// A direction of a link of the layout: 0 from its first node to its second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Directed {
    pub(super) link: usize,
    pub(super) direction: usize,
}

impl Directed {
    /// The network has two ports for each link of its layout, in their order.
    fn of(port: PortIndex) -> Self {
        Self {
            link: port.index() / 2,
            direction: port.index() % 2,
        }
    }

    /// The place of its port in the network.
    pub(super) fn port(self) -> usize {
        2 * self.link + self.direction
    }

    /// Its nodes: sender, receiver.
    pub(super) fn ends(self, layout: &Layout) -> (End, End) {
        let (a, b) = layout.links[self.link].ends;
        if self.direction == 0 { (a, b) } else { (b, a) }
    }
}

impl Crossings {
    pub(super) fn new(network: &Network, layout: &Layout, flows: &[Opening]) -> Self {
        let count = layout.links.len();
        assert_eq!(network.ports().count(), 2 * count, "two ports per link");
        let (mut ports, mut paths) = (Vec::new(), vec![0]);
        let mut links = vec![0; count + 1];
        for (place, flow) in flows.iter().enumerate() {
            let HostPair { from, to } = flow.hosts.into();
            let path = network.path(from, to, data_end(place));
            for &port in &path {
                links[Directed::of(port).link + 1] += 1;
            }
            ports.extend(path);
            paths.push(ports.len());
        }
        for link in 0..count {
            links[link + 1] += links[link];
        }
        let mut next = links.clone();
        let mut of_links = vec![0; ports.len()];
        for (flow, path) in paths.windows(2).enumerate() {
            for &port in &ports[path[0]..path[1]] {
                let place = &mut next[Directed::of(port).link];
                of_links[*place] = u32::try_from(flow).expect("fewer than 2^31 flows");
                *place += 1;
            }
        }
        Self {
            ports,
            paths,
            flows: of_links,
            links,
        }
    }

    /// The links that the data of a flow cross, in order.
    pub(super) fn path(
        &self,
        flow: usize,
    ) -> impl DoubleEndedIterator<Item = Directed> + ExactSizeIterator + Clone + '_ {
        let ports = &self.ports[self.paths[flow]..self.paths[flow + 1]];
        ports.iter().map(|&port| Directed::of(port))
    }

    /// The offset of a flow's path in the array of all paths.
    pub(super) fn first(&self, flow: usize) -> usize {
        self.paths[flow]
    }

    /// The place of a link on the path of a flow.
    pub(super) fn place(&self, flow: usize, link: usize) -> usize {
        let place = self.path(flow).position(|step| step.link == link);
        place.expect("the flow crosses the link")
    }

    /// The direction in which the data of a flow cross a link.
    pub(super) fn direction(&self, flow: usize, link: usize) -> usize {
        let step = self.path(flow).nth(self.place(flow, link));
        step.expect("it is there").direction
    }

    /// The flows whose data cross a link in either direction, in the order in which they begin.
    pub(super) fn on(&self, link: usize) -> &[u32] {
        &self.flows[self.links[link]..self.links[link + 1]]
    }
}
