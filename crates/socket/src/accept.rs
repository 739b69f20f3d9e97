//! Datagrams for socket 0: requests, which get a cookie or a connection, and the words of a rendezvous.
//! Nothing is kept of a peer that has not returned its cookie.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use incastle_transport::udt::wire::{self, ControlBody, Dialect, Handshake, Packet};
use incastle_transport::udt::{self, Incoming, PeerAddress, Response};
use incastle_units::Ecn;
use quinn_udp::{RecvMeta, Transmit};

use crate::base::{count, lock};
use crate::config::Made;
use crate::driver::Driver;
use crate::listening::Listening;
use crate::network::network_of;
use crate::shared::{Parts, Shared, seed};
use crate::table::PeerSocket;
use crate::{ConnectError, capacity};

impl Driver {
    /// A datagram for socket 0.
    pub(crate) fn greet(&mut self, meta: &RecvMeta, datagram: &[u8], now: Instant) {
        let inner = Arc::clone(&self.inner);
        // A handshake looks alike in both dialects.
        let Ok(view) = wire::parse(datagram, Dialect::Udt) else {
            count(&inner.port.counters.malformed, 1);
            return;
        };
        let Some(handshake) = &view.handshake else {
            count(&inner.port.counters.unknown_socket, 1);
            return;
        };
        let (addressee, listening) = {
            let table = lock(&inner.table);
            let addressee = table.addressee(meta.addr, handshake);
            (addressee, table.listening.clone())
        };
        if let Some(shared) = addressee {
            let mut state = shared.lock();
            state.receive(&inner.port, shared.time(now), datagram, Ecn::NotEct.into());
            self.touch(&shared, &mut state);
            return;
        }
        let response = listening.as_ref().map_or(Response::Ignore, |listening| {
            let (time, peer) = (listening.time(now), address(meta.addr));
            listening
                .cookies
                .handle(time, peer, &view.packet, handshake)
        });
        match (response, &listening) {
            (Response::Reply(packet, reply), _) => {
                let bytes = written(&packet, &reply);
                assert!(
                    bytes.len() <= datagram.len(),
                    "a response amplifies nothing"
                );
                self.reply(meta, &bytes);
            }
            (Response::Accept(incoming), Some(listening)) => {
                self.accept(meta, &incoming, listening, now);
            }
            _ => count(&inner.port.counters.handshakes, 1),
        }
    }

    /// Sends a datagram back.
    fn reply(&self, meta: &RecvMeta, bytes: &[u8]) {
        let transmit = Transmit {
            destination: meta.addr,
            ecn: None,
            contents: bytes,
            segment_size: None,
            src_ip: self.source(meta),
        };
        // A reply that the socket refuses is lost: the peer repeats its request.
        if self.inner.port.send(&transmit).is_ok() {
            count(&self.inner.port.counters.cookies_sent, 1);
            count(&self.inner.port.counters.datagrams_sent, 1);
            count(&self.inner.port.counters.sends, 1);
        }
    }

    /// The address of ours to answer from, where the socket has several.
    pub(crate) fn source(&self, meta: &RecvMeta) -> Option<IpAddr> {
        let any = self.inner.port.local.ip().is_unspecified();
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
            Ok(Some(shared)) => {
                let mut state = shared.lock();
                if !listening.push(Arc::clone(&shared)) {
                    state.close(&shared, now);
                }
                self.touch(&shared, &mut state);
            }
            Ok(None) => count(&self.inner.port.counters.beyond_limit, 1),
            Err(error) => {
                tracing::debug!(peer = %meta.addr, %error, "not accepted");
                count(&self.inner.port.counters.beyond_limit, 1);
            }
        }
    }

    fn make(
        &self,
        meta: &RecvMeta,
        incoming: &Incoming,
        listening: &Listening,
        now: Instant,
    ) -> Result<Option<Arc<Shared>>, ConnectError> {
        let peer = meta.addr;
        let mut table = lock(&self.inner.table);
        let network = network_of(peer.ip());
        let of_peer = table.per_peer.get(&network).copied().unwrap_or(0);
        if !listening.has_room() || of_peer >= self.inner.port.config.max_connections_per_peer {
            return Ok(None);
        }
        let config = &listening.config;
        let capacity = listening.capacity.unwrap_or_else(|| match meta.dst_ip {
            Some(local) => capacity::of_local(local.to_canonical()),
            None => capacity::towards(peer),
        });
        let mut parts = Parts::new(peer, config, self.inner.port.clock(now), seed()?);
        parts.accepted = Some(incoming.socket());
        parts.source = self.source(meta);
        let port = &self.inner.port;
        let shared = table.insert(port.config.max_connections, |id| {
            parts.id = id;
            let made = config.make(capacity, peer, &port.traits());
            Shared::new(&parts, begin(made, &parts, incoming))
        })?;
        let known_as = PeerSocket {
            address: peer,
            socket: incoming.socket(),
        };
        let before = table.accepted.insert(known_as, shared.id);
        assert_eq!(before, None, "a peer's socket has one connection");
        *table.per_peer.entry(network).or_default() += 1;
        Ok(Some(shared))
    }
}

/// The sans-IO connection of an endpoint that was opened.
fn begin(made: Made, parts: &Parts, incoming: &Incoming) -> udt::Connection {
    let Made {
        config,
        algorithm,
        fallback,
    } = made;
    let now = parts.clock.time(parts.clock.epoch);
    let connection = udt::Connection::server(&config, algorithm, parts.id, incoming, now);
    match fallback {
        Some(fallback) => connection.with_fallback(fallback),
        None => connection,
    }
}

/// A handshake without a connection as a datagram.
fn written(packet: &Packet, handshake: &Handshake) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    let body = ControlBody::Handshake(handshake);
    wire::write(packet, body, &[], Dialect::Udt, &mut bytes);
    bytes
}

/// A peer's address as cookies have it.
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
