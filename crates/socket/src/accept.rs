//! Datagrams for socket 0: requests, which get a cookie or a connection, and the words of a rendezvous.
//! Nothing is kept of a peer that has not returned its cookie.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use incastle_transport::udt::wire::{self, Beside, Dialect, Handshake, HandshakeKind, Packet};
use incastle_transport::udt::{self, Answer, Incoming, PeerAddress};
use incastle_units::Ecn;
use quinn_udp::{RecvMeta, Transmit};

use crate::config::Made;
use crate::connection::Connection;
use crate::driver::Driver;
use crate::endpoint::is_ipv6;
use crate::inner::{Table, count, lock};
use crate::listener::Listening;
use crate::network::network_of;
use crate::shared::{Parts, Shared, seed};
use crate::{ConnectError, capacity};

impl Table {
    /// A connection from that address is gone.
    pub(crate) fn release(&mut self, peer: IpAddr) {
        let network = network_of(peer);
        if let Some(connections) = self.per_peer.get_mut(&network) {
            *connections -= 1;
            if *connections == 0 {
                self.per_peer.remove(&network);
            }
        }
    }

    /// Who waits for such words from there.
    fn addressee(&self, from: SocketAddr, handshake: &Handshake) -> Option<Arc<Shared>> {
        let id = match handshake.kind {
            HandshakeKind::Request | HandshakeKind::Refused => return None,
            HandshakeKind::Response => self.accepted.get(&(from, handshake.socket)),
            HandshakeKind::Rendezvous | HandshakeKind::RendezvousDone => None,
        };
        let id = id.or_else(|| self.rendezvous.get(&from));
        self.connections.get(id?).cloned()
    }
}

impl Driver {
    /// A datagram for socket 0.
    pub(crate) fn greet(&mut self, meta: &RecvMeta, datagram: &[u8], now: Instant) {
        let inner = Arc::clone(&self.inner);
        // A handshake looks alike in both dialects.
        let Ok(view) = wire::parse(datagram, Dialect::Udt) else {
            count(&inner.counters.malformed, 1);
            return;
        };
        let Some(handshake) = &view.handshake else {
            count(&inner.counters.unknown_socket, 1);
            return;
        };
        let (addressee, listening) = {
            let table = lock(&inner.table);
            let addressee = table.addressee(meta.addr, handshake);
            (addressee, table.listening.clone())
        };
        if let Some(shared) = addressee {
            let mut state = shared.lock();
            state.receive(&inner, shared.time(now), datagram, Ecn::NotEct.into());
            self.touch(&shared, &mut state);
            return;
        }
        let answer = listening.as_ref().map_or(Answer::Ignore, |listening| {
            let (time, peer) = (listening.time(now), address(meta.addr));
            listening
                .cookies
                .handle(time, peer, &view.packet, handshake)
        });
        match (answer, &listening) {
            (Answer::Reply(packet, reply), _) => self.reply(meta, &packet, &reply),
            (Answer::Accept(incoming), Some(listening)) => {
                self.accept(meta, &incoming, listening, now);
            }
            _ => count(&inner.counters.handshakes, 1),
        }
    }

    /// Sends back what is no longer than what came.
    fn reply(&self, meta: &RecvMeta, packet: &Packet, handshake: &Handshake) {
        let mut bytes = Vec::with_capacity(64);
        let beside = Beside::Handshake(handshake);
        wire::write(packet, beside, &[], Dialect::Udt, &mut bytes);
        let transmit = Transmit {
            destination: meta.addr,
            ecn: None,
            contents: &bytes,
            segment_size: None,
            src_ip: self.source(meta),
        };
        // What the socket does not take is lost: who asks, asks again.
        if self.inner.send(&transmit).is_ok() {
            count(&self.inner.counters.cookies_sent, 1);
            count(&self.inner.counters.datagrams_sent, 1);
            count(&self.inner.counters.sends, 1);
        }
    }

    /// The address of ours to answer from, where the socket has several.
    pub(crate) fn source(&self, meta: &RecvMeta) -> Option<IpAddr> {
        let any = self.inner.local.ip().is_unspecified();
        meta.dst_ip.filter(|_| any)
    }

    /// A peer has returned its cookie.
    fn accept(
        &mut self,
        meta: &RecvMeta,
        incoming: &Incoming,
        listening: &Listening,
        now: Instant,
    ) {
        match self.make(meta, incoming, listening, now) {
            Ok(Some(connection)) => {
                let shared = Arc::clone(connection.shared());
                self.touch(&shared, &mut shared.lock());
                listening.push(connection);
            }
            Ok(None) => count(&self.inner.counters.beyond_limit, 1),
            Err(error) => {
                tracing::debug!(peer = %meta.addr, %error, "not accepted");
                count(&self.inner.counters.beyond_limit, 1);
            }
        }
    }

    fn make(
        &self,
        meta: &RecvMeta,
        incoming: &Incoming,
        listening: &Listening,
        now: Instant,
    ) -> Result<Option<Connection>, ConnectError> {
        let Some(endpoint) = listening.endpoint.upgrade() else {
            return Ok(None);
        };
        let peer = meta.addr;
        let mut table = lock(&self.inner.table);
        let network = network_of(peer.ip());
        let of_peer = table.per_peer.get(&network).copied().unwrap_or(0);
        if !listening.has_room() || of_peer >= self.inner.config.max_connections_per_peer {
            return Ok(None);
        }
        let config = &listening.config;
        let capacity = listening.capacity.unwrap_or_else(|| match meta.dst_ip {
            Some(local) => capacity::of_local(local.to_canonical()),
            None => capacity::towards(peer),
        });
        let mut parts = Parts::new(peer, config, now, seed()?);
        parts.accepted = Some(incoming.socket());
        parts.source = self.source(meta);
        let shared = self.inner.insert(&mut table, |id| {
            parts.id = id;
            let made = config.make(capacity, is_ipv6(peer), &self.inner.traits());
            Shared::new(&parts, begin(made, &parts, incoming))
        })?;
        table.accepted.insert((peer, incoming.socket()), shared.id);
        *table.per_peer.entry(network).or_default() += 1;
        Ok(Some(Connection::new(shared, endpoint)))
    }
}

/// The sans-IO connection of an end that was opened.
fn begin(made: Made, parts: &Parts, incoming: &Incoming) -> udt::Connection {
    let Made {
        config,
        algorithm,
        fallback,
    } = made;
    let now = crate::inner::time_since(parts.epoch, parts.epoch);
    let connection = udt::Connection::server(&config, algorithm, parts.id, incoming, now);
    match fallback {
        Some(fallback) => connection.with_fallback(fallback),
        None => connection,
    }
}

/// A peer's address as cookies know it.
fn address(peer: SocketAddr) -> PeerAddress {
    let ip = match peer.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    PeerAddress {
        ip: ip.octets(),
        port: peer.port(),
    }
}
