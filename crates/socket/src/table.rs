//! The connections of an endpoint: by number, by peer, and those that wait for something.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use incastle_transport::udt::wire::{Handshake, HandshakeKind};

use crate::ConnectError;
use crate::base::random;
use crate::listening::Listening;
use crate::network::network_of;
use crate::shared::Shared;

/// A socket of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PeerSocket {
    pub(crate) address: SocketAddr,
    /// Its socket ID at the peer.
    pub(crate) socket: u32,
}

/// The connections of an endpoint.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) connections: HashMap<u32, Arc<Shared>>,
    /// Accepted ones, so that repeated requests find them.
    pub(crate) accepted: HashMap<PeerSocket, u32>,
    /// How many were accepted from each network ([`network_of`](crate::network_of)).
    pub(crate) per_peer: HashMap<IpAddr, usize>,
    /// Those that wait for a peer which does the same.
    pub(crate) rendezvous: HashMap<SocketAddr, u32>,
    /// Those that open a connection to a listener.
    pub(crate) asking: HashSet<u32>,
    pub(crate) listening: Option<Arc<Listening>>,
    /// Connections that are not over.
    pub(crate) live: usize,
    /// The endpoint is closed, or its driver gone.
    pub(crate) closed: bool,
}

impl Table {
    /// A connection from that address is gone.
    pub(crate) fn release(&mut self, peer: IpAddr) {
        let network = network_of(peer);
        if let Some(connections) = self.per_peer.get_mut(&network) {
            assert!(
                *connections > 0,
                "a network without connections is forgotten"
            );
            *connections -= 1;
            if *connections == 0 {
                self.per_peer.remove(&network);
            }
        }
    }

    /// The connection that waits for this handshake from there.
    pub(crate) fn addressee(&self, from: SocketAddr, handshake: &Handshake) -> Option<Arc<Shared>> {
        let id = match handshake.kind {
            HandshakeKind::Request | HandshakeKind::Refused => return None,
            HandshakeKind::Response => self.accepted.get(&PeerSocket {
                address: from,
                socket: handshake.socket,
            }),
            HandshakeKind::Rendezvous | HandshakeKind::RendezvousDone => None,
        };
        let id = id.or_else(|| self.rendezvous.get(&from));
        self.connections.get(id?).cloned()
    }

    /// Adds a connection under a number that no other has, where there are fewer than `most`.
    pub(crate) fn insert(
        &mut self,
        most: usize,
        make: impl FnOnce(u32) -> Shared,
    ) -> Result<Arc<Shared>, ConnectError> {
        if self.closed {
            return Err(ConnectError::EndpointClosed);
        }
        if self.connections.len() >= most {
            return Err(ConnectError::TooMany(self.connections.len()));
        }
        let id = loop {
            // UDT's sockets are positive numbers of 31 bits.
            let id = random::<4>().map(u32::from_le_bytes)? >> 1;
            if id != 0 && !self.connections.contains_key(&id) {
                break id;
            }
        };
        let shared = Arc::new(make(id));
        assert_eq!(
            shared.id, id,
            "a connection has the number that it is found by"
        );
        self.connections.insert(id, Arc::clone(&shared));
        self.live += 1;
        self.check();
        Ok(shared)
    }

    /// A connection is over; gives whether none is live any more.
    pub(crate) fn end(&mut self) -> bool {
        assert!(self.live > 0, "a connection is over once");
        self.live -= 1;
        self.live == 0
    }

    /// Forgets a connection that is over.
    pub(crate) fn remove(&mut self, id: u32) {
        let Some(shared) = self.connections.remove(&id) else {
            return;
        };
        self.asking.remove(&id);
        if let Some(socket) = shared.accepted {
            let address = shared.peer;
            self.accepted.remove(&PeerSocket { address, socket });
            self.release(address.ip());
        } else if self.rendezvous.get(&shared.peer) == Some(&id) {
            self.rendezvous.remove(&shared.peer);
        }
        self.check();
    }

    /// Asserts the invariants of the table.
    fn check(&self) {
        let all = self.connections.len();
        assert!(self.live <= all, "a live connection is in the table");
        assert!(
            self.accepted.len() <= all,
            "an accepted connection is in the table"
        );
        assert!(
            self.asking.len() <= all,
            "a connection that asks is in the table"
        );
    }
}
