//! The path of a flow, before anything is sent.

use super::Routes;
use crate::core::{EndpointIndex, HostIndex, Node, PortIndex, SwitchIndex};
use crate::network::Network;

impl Routes {
    /// The port by which a switch forwards packets for an endpoint at a host, with ECMP by flow.
    fn of_flow(&self, switch: SwitchIndex, host: HostIndex, to: EndpointIndex) -> PortIndex {
        let host = &self.hosts[host.index()];
        if host.last == switch {
            return host.port;
        }
        let entry = self.table.entry(switch, host.column);
        let group = || self.table.group(entry).expect("every switch has a path");
        let choose = || self.chooser.without_draw(group(), switch, to);
        entry.port().unwrap_or_else(choose)
    }
}

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
