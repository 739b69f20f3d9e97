//! Congestion points: a switch samples an arriving frame and sends a CNM to its source.
//!
//! A CNM is a frame of 64 bytes on the path from the switch to the source's host. It waits in queues and may be
//! dropped there like any other. None is sent for a CNM. Source: IEEE 802.1Qau as Devkota and Reddy (2010) describe
//! it. The reaction point is in `stack::limiting`. Leaves out: the CNM's other fields (congestion point id, Q_off,
//! Q_delta), VLAN tags.

use incastle_units::Bytes;

use super::Fabric;
use crate::core::{EndpointIndex, Node, PortIndex, SwitchIndex};
use crate::network::{Body, Packet};
use crate::probe::Probe;

/// A CNM on the wire.
const CNM_SIZE: u16 = 64;

impl<P: Probe> Fabric<P> {
    /// Shows a frame to the congestion point of the port that it is about to enter.
    #[cold]
    pub(super) fn sample(&mut self, at: PortIndex, packet: &Packet) {
        if packet.is_cnm() {
            return;
        }
        let waiting = self.network.backlog(at, self.clock.now(), &mut self.probe);
        let queue = Bytes::new(waiting.waiting_bytes);
        let port = &mut self.network.ports[at.index()];
        let Some(sampler) = &mut port.sampler else {
            return;
        };
        let Some(sample) = sampler.sample(queue, packet.size()) else {
            return;
        };
        self.probe
            .congestion_sampled(at, self.clock.now(), packet.to.flow(), &sample, queue);
        if sample.psi > 0 {
            self.notify_source(at, packet.to.peer(), sample.psi);
        }
    }

    /// Sends a CNM from the switch of a port to the endpoint.
    fn notify_source(&mut self, from: PortIndex, to: EndpointIndex, psi: u8) {
        let host = self.accounts[to.flow().index()].hosts.at(to.side());
        let Node::Switch(switch) = self.network.owners[from.index()] else {
            unreachable!("congestion points are at switches")
        };
        self.totals.cnms_sent += 1;
        let cnm = Packet {
            body: Body::Cnm { psi },
            to,
            host,
            size: CNM_SIZE,
            ..Packet::EMPTY
        };
        self.forward_cnm(switch, &cnm);
    }

    /// Sends a CNM on.
    fn forward_cnm(&mut self, switch: SwitchIndex, packet: &Packet) {
        let (to, now) = (packet.destination(), self.clock.now());
        let out = self.network.routes.port(switch, to, now);
        if self.network.ports.get(out.index()).is_some() {
            self.enter_special(out, packet);
        } else {
            self.drop_unreachable(out, packet);
        }
    }
}
