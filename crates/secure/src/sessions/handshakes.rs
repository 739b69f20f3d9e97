//! Handshakes of an endpoint: begun, repeated, responded to, completed, given up.
//!
//! The initiator repeats one message, and the responder repeats its response to it: so any response fits,
//! however late. If both endpoints begin simultaneously, the handshake with the greater ephemeral key takes
//! precedence, and its initiator does not respond to the other.

use std::net::SocketAddr;

use incastle_units::{Ecn, Span, Time};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::initiation::{Initiation, Waiting};
use super::{Batch, Expiry, Path, Peer, Sealed, Sessions, Transmit};
use crate::key::Secret;
use crate::noise::{Finished, Message, public_key};
use crate::session::{Pending, Role, Session};
use crate::statistics::Reason;
use crate::wire::{HANDSHAKE_BYTES, initiation, response};

/// An initiator repeats its message after this, then after twice as long each time ...
const REPEAT_AFTER: Span = Span::from_ms(100);
/// ... and gives up after this.
const GIVE_UP_AFTER: Span = Span::from_secs(3);
/// A responder waits for the first sealed datagram at least as long as an initiator repeats itself.
const PENDING_FOR: Span = Span::from_secs(5);
/// Handshakes that may be unfinished, in each role.
const MAX_HANDSHAKES: usize = 4096;
/// Pending handshakes of one peer: a recorded one may not push out the peer's own.
const MAX_PENDING_PER_PEER: usize = 4;

impl Sessions {
    /// Keeps datagrams until a handshake is done.
    pub(super) fn wait(
        &mut self,
        now: Time,
        path: Path,
        batch: &Batch<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Sealed {
        self.begin(now, path, rng);
        let peer = self.peers.get_mut(&path.peer);
        let Some(initiation) = peer.and_then(|peer| peer.initiation.as_mut()) else {
            self.statistics.dropped += batch.bytes.len().div_ceil(batch.segment) as u64;
            return Sealed::Dropped;
        };
        let mut outcome = Sealed::Waiting;
        for datagram in batch.bytes.chunks(batch.segment) {
            if !initiation.keep(batch.ecn, datagram) {
                self.statistics.dropped += 1;
                outcome = Sealed::Dropped;
            }
        }
        outcome
    }

    /// Begins a handshake, unless one was begun or there is no room for its session.
    pub(super) fn begin(&mut self, now: Time, path: Path, rng: &mut dyn CryptoRng) {
        let under_way = self
            .peers
            .get(&path.peer)
            .is_some_and(|peer| peer.initiation.is_some());
        let full =
            self.statistics.initiations >= MAX_HANDSHAKES || self.statistics.sessions >= self.most;
        if under_way || full {
            return;
        }
        let index = self.table.reserve();
        let (noise, message) = self.noise.initiate(index, ephemeral(rng));
        let public = public_key(&message);
        let next = now + REPEAT_AFTER;
        self.peers.entry(path.peer).or_default().initiation = Some(Initiation {
            path,
            noise,
            public,
            message,
            index,
            begun: now,
            next,
            interval: REPEAT_AFTER,
            waiting: Vec::new(),
        });
        self.own.insert(public);
        self.timers.insert((next, path.peer));
        self.statistics.initiations += 1;
        self.send(handshake(path, initiation(&message)));
    }

    /// Repeats the handshakes that are due, and gives up those that are too old.
    pub(super) fn handle_initiations(&mut self, now: Time) {
        while let Some(&(due, to)) = self.timers.first()
            && due <= now
        {
            let peer = self.peers.get_mut(&to).expect("a timer's peer");
            let begun = peer.initiation.as_mut().expect("a timer's handshake");
            if now.saturating_since(begun.begun) >= GIVE_UP_AFTER {
                self.statistics.unanswered += 1;
                self.statistics.dropped += self.end_initiation(to).len() as u64;
                self.forget_peer(to);
                continue;
            }
            begun.interval = begun.interval + begun.interval;
            begun.next = (now + begun.interval).min(begun.begun + GIVE_UP_AFTER);
            let (next, repeated) = (
                begun.next,
                handshake(begun.path, initiation(&begun.message)),
            );
            self.timers.remove(&(due, to));
            self.timers.insert((next, to));
            self.send(repeated);
        }
    }

    /// The first message of a handshake arrived.
    pub(super) fn respond(
        &mut self,
        now: Time,
        path: Path,
        message: &Message,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Reason> {
        let (public, from) = (public_key(message), path.peer);
        // Before the message is read: our own would be authentic, and the response to it would
        // complete our handshake with ourselves.
        if self.own.contains(&public) {
            return Err(Reason::ReplayedHandshake);
        }
        if let Some(response) = self.earlier_response(from, message) {
            // The response is no longer than the request, for every sender: an amplification factor
            // of 1.
            self.send(handshake(path, response));
            return Ok(());
        }
        let Some(peer_index) = self.noise.authenticate(message) else {
            return Err(Reason::WrongKey);
        };
        if self.seen.contains(&public) {
            return Err(Reason::ReplayedHandshake);
        }
        let peer = self.peers.get(&from);
        let ours = peer.and_then(|peer| peer.initiation.as_ref());
        if ours.is_some_and(|ours| ours.public > public) {
            return Err(Reason::UnexpectedHandshake);
        }
        if self.statistics.sessions >= self.most {
            return Err(Reason::BeyondLimit);
        }
        self.seen.insert(&public);
        self.make_room_for_pending(from);
        let index = self.table.reserve();
        let (answer, keys) = self
            .noise
            .respond(message, index, ephemeral(rng))
            .expect("it was authentic");
        let mut session = Session::new(Role::Responder, from, peer_index, &keys, now);
        session.pending = Some(Pending {
            message: *message,
            response: response(&answer),
        });
        self.table.put(index, session);
        self.peers.entry(from).or_default().pending.push(index);
        self.pending.push_back(Expiry {
            at: now + PENDING_FOR,
            index,
        });
        self.statistics.pending += 1;
        self.send(handshake(path, response(&answer)));
        Ok(())
    }

    /// The earlier response to the same message of that peer.
    fn earlier_response(
        &self,
        from: SocketAddr,
        message: &Message,
    ) -> Option<[u8; HANDSHAKE_BYTES]> {
        let pending = &self.peers.get(&from)?.pending;
        let mut pending = pending.iter().filter_map(|index| {
            let session = self.table.get(*index).expect("a pending session");
            session.pending.as_ref()
        });
        let same = pending.find(|pending| pending.message == *message)?;
        Some(same.response)
    }

    /// Forgets the oldest pending handshakes beyond the limits, of this peer and of all.
    fn make_room_for_pending(&mut self, from: SocketAddr) {
        let of_peer = self.peers.get(&from).map(|peer| &peer.pending);
        if let Some(pending) = of_peer
            && pending.len() >= MAX_PENDING_PER_PEER
        {
            self.forget(pending[0]);
        }
        while self.pending.len() >= MAX_HANDSHAKES {
            self.forget_oldest_pending();
        }
    }

    fn forget_oldest_pending(&mut self) {
        let Expiry { index, .. } = self.pending.pop_front().expect("there is one");
        let session = self.table.get(index);
        // It may be real by now, or gone.
        if session.is_some_and(|session| session.pending.is_some()) {
            self.forget(index);
        }
    }

    /// Forgets the pending handshakes whose initiators have sealed nothing in time.
    pub(super) fn expire_pending(&mut self, now: Time) {
        while self.pending.front().is_some_and(|first| first.at <= now) {
            self.forget_oldest_pending();
        }
    }

    /// The second message of a handshake arrived.
    pub(super) fn complete(
        &mut self,
        now: Time,
        path: Path,
        message: &Message,
    ) -> Result<(), Reason> {
        let peer = self.peers.get_mut(&path.peer);
        let ours = peer.and_then(|peer| peer.initiation.as_mut());
        let ours = ours.ok_or(Reason::UnexpectedHandshake)?;
        let Finished { peer_index, keys } = ours.noise.finish(message).ok_or(Reason::WrongKey)?;
        let index = ours.index;
        let session = Session::new(Role::Initiator, path.peer, peer_index, &keys, now);
        self.table.put(index, session);
        self.become_current(now, path, index);
        Ok(())
    }

    /// Ends the handshake begun here with that peer, if there is one, and returns the datagrams that
    /// waited for it. The index is free again unless the session has come.
    pub(super) fn end_initiation(&mut self, peer: SocketAddr) -> Vec<Waiting> {
        let entry: Option<&mut Peer> = self.peers.get_mut(&peer);
        let Some(ended) = entry.and_then(|entry| entry.initiation.take()) else {
            return Vec::new();
        };
        self.own.remove(&ended.public);
        self.timers.remove(&(ended.next, peer));
        self.statistics.initiations -= 1;
        if self.table.get(ended.index).is_none() {
            self.table.free(ended.index);
        }
        ended.waiting
    }
}

fn handshake(path: Path, bytes: [u8; HANDSHAKE_BYTES]) -> Transmit {
    Transmit {
        path,
        ecn: Ecn::NotEct,
        bytes: bytes.to_vec(),
    }
}

/// The private key of one handshake.
fn ephemeral(rng: &mut dyn CryptoRng) -> Secret {
    let mut bytes = Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *bytes);
    bytes
}
