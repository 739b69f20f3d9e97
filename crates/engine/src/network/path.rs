//! The path of a flow, before anything is sent.

use crate::core::{EndpointIndex, HostIndex, Node, PortIndex};
use crate::network::Network;

impl Network {
    /// The ports on the path from a host to an endpoint at another, with ECMP by flow and before any failure.
    pub fn path(&self, from: HostIndex, host: HostIndex, to: EndpointIndex) -> Vec<PortIndex> {
        let mut port = self.hosts[from.index()].port;
        let mut path = vec![port];
        while let Node::Switch(switch) = self.ports[port.index()].to {
            port = self.routes.of_flow(switch, host, to);
            path.push(port);
        }
        path
    }
}
