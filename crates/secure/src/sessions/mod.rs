//! The sessions of an endpoint with all its peers.
//!
//! A peer is an address and port. Its *current* session seals; the one before still opens, because the peer
//! may not have noticed the change yet. A handshake begins when a datagram is to be sealed for a peer
//! without a session. It also begins for a peer that is silent, which may have restarted. At its initiator a
//! session becomes real, and current, with the response. At its responder it does so with the first sealed
//! datagram, which proves that the peer holds the key and receives at that address.
//!
//! Everything is bounded: sessions, handshakes that wait here or there, datagrams that wait for them, and
//! the memory of handshakes.

mod datagrams;
mod handshakes;
mod initiation;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use incastle_units::{Span, Time};
use rand_core::CryptoRng;

pub use self::datagrams::{Batch, Path, Transmit};
use self::initiation::{Initiation, Waiting};
use crate::key::Key;
use crate::noise::{Noise, PublicKey};
use crate::seen::Seen;
use crate::statistics::{Reason, Statistics};
use crate::table::{PLACES, Table};
use crate::wire::{Datagram, HEADER_BYTES, OVERHEAD, parse};

/// A session without a received datagram for this span is forgotten; the next datagram begins
/// another.
const IDLE: Span = Span::from_secs(180);
/// The interval of the search for them.
const SWEEP: Span = Span::from_secs(60);
/// Datagrams that the driver did not fetch; more are dropped.
const MAX_READY: usize = 1 << 14;

/// The result of an arrived datagram.
#[derive(Debug, PartialEq, Eq)]
pub enum Opened<'a> {
    /// It was sealed by the peer; this is its plaintext.
    Plaintext(&'a mut [u8]),
    /// It was part of a handshake: see [`Sessions::poll_transmit`].
    Handshake,
    /// It had no effect.
    Ignored(Reason),
}

/// The result of datagrams to be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sealed {
    /// They are sealed, and may leave.
    Ready,
    /// They wait for a handshake, and come out of [`Sessions::poll_transmit`] after it.
    Waiting,
    /// There are too many sessions, or too much waits: as if the network had lost them.
    Dropped,
}

/// The state of a peer.
#[derive(Default)]
struct Peer {
    current: Option<u32>,
    previous: Option<u32>,
    /// Pending handshakes, the oldest first.
    pending: Vec<u32>,
    initiation: Option<Initiation>,
}

impl Peer {
    fn is_empty(&self) -> bool {
        self.current.is_none()
            && self.previous.is_none()
            && self.pending.is_empty()
            && self.initiation.is_none()
    }
}

/// When the responder of a session no longer waits.
#[derive(Debug, Clone, Copy)]
struct Expiry {
    at: Time,
    index: u32,
}

/// The sessions of an endpoint.
pub struct Sessions {
    noise: Noise,
    /// Sessions that there may be.
    most: usize,
    table: Table,
    peers: BTreeMap<SocketAddr, Peer>,
    /// The ephemeral keys of the handshakes begun here. None of them may have a response here.
    own: BTreeSet<PublicKey>,
    /// When a handshake begun here sends again, or is given up.
    timers: BTreeSet<(Time, SocketAddr)>,
    /// Until when a responder waits, the earliest first; some have become real, or are gone.
    pending: VecDeque<Expiry>,
    seen: Seen,
    ready: VecDeque<Transmit>,
    /// When idle sessions are looked for.
    sweep: Option<Time>,
    statistics: Statistics,
}

impl Sessions {
    /// No sessions yet, under that key, and never more than `max_sessions`.
    pub fn new(key: &Key, max_sessions: usize) -> Self {
        Self {
            noise: Noise::new(key),
            // The rest of the table is for handshakes.
            most: max_sessions.min(PLACES / 2),
            table: Table::default(),
            peers: BTreeMap::new(),
            own: BTreeSet::new(),
            timers: BTreeSet::new(),
            pending: VecDeque::new(),
            seen: Seen::default(),
            ready: VecDeque::new(),
            sweep: None,
            statistics: Statistics::default(),
        }
    }

    /// The counters.
    pub const fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Whether there is a session with that peer, so that it has the key.
    pub fn is_established(&self, peer: SocketAddr) -> bool {
        let peer = self.peers.get(&peer);
        peer.is_some_and(|peer| peer.current.is_some())
    }

    /// Seals datagrams for one peer in place.
    pub fn seal(
        &mut self,
        now: Time,
        path: Path,
        batch: &mut Batch<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Sealed {
        assert!(batch.segment >= OVERHEAD, "room for header and tag");
        let count = batch.bytes.len().div_ceil(batch.segment) as u64;
        let Some(index) = self.current(path.peer, count) else {
            return self.wait(now, path, batch, rng);
        };
        let session = self.table.get_mut(index).expect("a current session");
        for datagram in batch.bytes.chunks_mut(batch.segment) {
            session.seal(now, datagram);
        }
        self.statistics.sealed += count;
        if session.is_silent(now) {
            self.begin(now, path, rng);
        }
        Sealed::Ready
    }

    /// The peer's current session, if it can seal `count` datagrams. One that is used up goes.
    fn current(&mut self, to: SocketAddr, count: u64) -> Option<u32> {
        let index = self.peers.get(&to)?.current?;
        let session = self.table.get(index).expect("a current session");
        if session.has_room(count) {
            return Some(index);
        }
        self.forget(index);
        None
    }

    /// A datagram arrived. A sealed datagram is opened in place.
    pub fn open<'a>(
        &mut self,
        now: Time,
        path: Path,
        datagram: &'a mut [u8],
        rng: &mut dyn CryptoRng,
    ) -> Opened<'a> {
        let outcome = match parse(datagram) {
            Ok(Datagram::Sealed { counter, index }) => {
                match self.open_sealed(now, path, index, counter, datagram) {
                    Ok(length) => {
                        let plaintext = &mut datagram[HEADER_BYTES..HEADER_BYTES + length];
                        return Opened::Plaintext(plaintext);
                    }
                    Err(reason) => Err(reason),
                }
            }
            Ok(Datagram::Initiation(message)) => self.respond(now, path, message, rng),
            Ok(Datagram::Response(message)) => self.complete(now, path, message),
            Err(reason) => Err(reason),
        };
        match outcome {
            Ok(()) => Opened::Handshake,
            Err(reason) => {
                self.statistics.ignored.count(reason);
                Opened::Ignored(reason)
            }
        }
    }

    fn open_sealed(
        &mut self,
        now: Time,
        path: Path,
        index: u32,
        counter: u64,
        datagram: &mut [u8],
    ) -> Result<usize, Reason> {
        let session = self.table.get_mut(index).ok_or(Reason::UnknownSession)?;
        if session.peer != path.peer {
            return Err(Reason::WrongAddress);
        }
        let length = session.open(now, counter, datagram)?;
        self.statistics.opened += 1;
        if session.pending.take().is_some() {
            self.statistics.pending -= 1;
            let peer = self.peers.get_mut(&path.peer).expect("a session's peer");
            peer.pending.retain(|pending| *pending != index);
            self.become_current(now, path, index);
        }
        Ok(length)
    }

    /// A datagram that is to leave.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.ready.pop_front()
    }

    /// When [`Self::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        let timer = self.timers.first().map(|(time, _)| *time);
        let pending = self.pending.front().map(|first| first.at);
        [timer, pending, self.sweep].into_iter().flatten().min()
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.handle_initiations(now);
        self.expire_pending(now);
        if self.sweep.is_some_and(|sweep| sweep <= now) {
            self.forget_idle(now);
        }
    }

    fn forget_idle(&mut self, now: Time) {
        let idle: Vec<u32> = self
            .table
            .iter()
            .filter(|(_, session)| {
                session.pending.is_none() && now.saturating_since(session.last_received) >= IDLE
            })
            .map(|(index, _)| index)
            .collect();
        for index in idle {
            self.forget(index);
        }
        self.sweep = (self.statistics.sessions > 0).then(|| now + SWEEP);
    }

    /// A session of that peer is real: it seals from now on, and datagrams that waited for one
    /// leave.
    fn become_current(&mut self, now: Time, path: Path, index: u32) {
        let entry = self.peers.get_mut(&path.peer).expect("a session's peer");
        let gone = entry.previous.take();
        entry.previous = entry.current.replace(index);
        self.statistics.sessions += 1;
        self.statistics.established += 1;
        self.sweep.get_or_insert(now + SWEEP);
        if let Some(gone) = gone {
            self.forget(gone);
        }
        for Waiting { ecn, mut bytes } in self.end_initiation(path.peer) {
            let session = self.table.get_mut(index).expect("it became current");
            session.seal(now, &mut bytes);
            self.statistics.sealed += 1;
            self.send(Transmit { path, ecn, bytes });
        }
    }

    /// Removes a session, real or pending, from everywhere.
    fn forget(&mut self, index: u32) {
        let session = self.table.get(index).expect("a session to forget");
        let (address, real) = (session.peer, session.pending.is_none());
        self.table.free(index);
        let peer = self.peers.get_mut(&address).expect("a session's peer");
        peer.current = peer.current.filter(|current| *current != index);
        peer.previous = peer.previous.filter(|previous| *previous != index);
        peer.pending.retain(|pending| *pending != index);
        if real {
            self.statistics.sessions -= 1;
        } else {
            self.statistics.pending -= 1;
        }
        self.forget_peer(address);
    }

    /// Forgets a peer of whom there is nothing left.
    fn forget_peer(&mut self, address: SocketAddr) {
        if self.peers.get(&address).is_some_and(Peer::is_empty) {
            self.peers.remove(&address);
        }
    }

    fn send(&mut self, transmit: Transmit) {
        if self.ready.len() < MAX_READY {
            self.ready.push_back(transmit);
        } else {
            self.statistics.dropped += 1;
        }
    }
}
