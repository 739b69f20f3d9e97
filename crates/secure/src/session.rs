//! A session, which seals and opens the datagrams between this endpoint and one peer.
//!
//! Datagrams are numbered from 0 in each direction. The number is the nonce and is read against the
//! window of seen numbers; the key follows from its epoch. The keys of the previous and the next epoch
//! are kept. A datagram overtaken by the first packet of an epoch therefore opens. A forged packet of
//! the next epoch costs no more than any other.

use std::net::SocketAddr;

use incastle_units::{Span, Time};
use ring::aead::LessSafeKey;

use crate::chain::{self, EPOCH, epoch};
use crate::key::Secret;
use crate::noise::{Message, Split};
use crate::statistics::Reason;
use crate::window::Window;
use crate::wire::{HANDSHAKE_BYTES, HEADER_BYTES, MAX_COUNTER, OVERHEAD, TAG_BYTES, sealed_header};

/// A session whose peer was sent this many datagrams ...
const SILENT_DATAGRAMS: u64 = 4;
/// ... over this time, and received none, may be gone from it: a new handshake is begun.
const SILENT_AFTER: Span = Span::from_secs(1);
/// RFC 9001, section 6.6: AES-GCM keeps its promise of integrity for 2^52 forged packets.
const MAX_FORGED: u64 = 1 << 52;

/// One endpoint of a session.
pub(crate) struct Session {
    pub(crate) peer: SocketAddr,
    /// Its initiator has sealed nothing yet.
    pub(crate) pending: Option<Pending>,
    /// When a datagram was last opened.
    pub(crate) last_received: Time,
    /// The session's index at the peer.
    peer_index: u32,
    sealing: Sealing,
    opening: Opening,
    /// Datagrams sealed since then.
    unanswered: Option<Unanswered>,
}

/// Datagrams sealed since the last one received.
#[derive(Debug, Clone, Copy)]
struct Unanswered {
    /// When the first was sealed.
    since: Time,
    datagrams: u64,
}

/// The responder's state until its initiator's first sealed datagram.
pub(crate) struct Pending {
    /// The first message.
    pub(crate) message: Message,
    /// The response, for an initiator that did not receive it.
    pub(crate) response: [u8; HANDSHAKE_BYTES],
}

/// The endpoint's part in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Initiator,
    Responder,
}

impl Session {
    pub(crate) fn new(
        role: Role,
        peer: SocketAddr,
        peer_index: u32,
        keys: &Split,
        now: Time,
    ) -> Self {
        let (own, theirs) = match role {
            Role::Initiator => (&keys.initiator, &keys.responder),
            Role::Responder => (&keys.responder, &keys.initiator),
        };
        Self {
            peer,
            pending: None,
            last_received: now,
            peer_index,
            sealing: Sealing::new(own.clone()),
            opening: Opening::new(theirs),
            unanswered: None,
        }
    }

    /// Whether `count` more datagrams can be sealed, and forged ones be refused.
    pub(crate) fn has_room(&self, datagrams: u64) -> bool {
        self.sealing.counter + datagrams <= MAX_COUNTER && self.opening.forged < MAX_FORGED
    }

    /// Seals a datagram: room for the header, the plaintext, room for the tag.
    pub(crate) fn seal(&mut self, now: Time, datagram: &mut [u8]) {
        self.sealing.seal(self.peer_index, datagram);
        let first = Unanswered {
            since: now,
            datagrams: 0,
        };
        self.unanswered.get_or_insert(first).datagrams += 1;
    }

    /// Opens a datagram in place; returns the length of its plaintext, which begins behind the
    /// header.
    pub(crate) fn open(
        &mut self,
        now: Time,
        counter: u64,
        datagram: &mut [u8],
    ) -> Result<usize, Reason> {
        let length = self.opening.open(counter, datagram)?;
        self.last_received = now;
        self.unanswered = None;
        Ok(length)
    }

    /// Whether the peer may have forgotten the session.
    pub(crate) fn is_silent(&self, now: Time) -> bool {
        self.unanswered.is_some_and(|sealed| {
            let long = now.saturating_since(sealed.since) >= SILENT_AFTER;
            long && sealed.datagrams >= SILENT_DATAGRAMS
        })
    }
}

/// The direction away from here.
struct Sealing {
    /// The secret of the epoch of the next counter.
    secret: Secret,
    key: LessSafeKey,
    counter: u64,
}

impl Sealing {
    fn new(secret: Secret) -> Self {
        Self {
            key: chain::cipher(&secret),
            secret,
            counter: 0,
        }
    }

    fn seal(&mut self, index: u32, datagram: &mut [u8]) {
        assert!(datagram.len() >= OVERHEAD, "room for header and tag");
        if self.counter > 0 && self.counter.is_multiple_of(EPOCH) {
            self.secret = chain::next(&self.secret);
            self.key = chain::cipher(&self.secret);
        }
        let header = sealed_header(self.counter, index);
        let (head, rest) = datagram.split_at_mut(HEADER_BYTES);
        let (plaintext, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        head.copy_from_slice(&header);
        tag.copy_from_slice(chain::seal(&self.key, self.counter, header, plaintext).as_ref());
        self.counter += 1;
    }
}

/// The direction to here.
struct Opening {
    epoch: u64,
    previous: Option<LessSafeKey>,
    current: LessSafeKey,
    next: LessSafeKey,
    /// The secret of the next epoch.
    next_secret: Secret,
    window: Window,
    forged: u64,
}

impl Opening {
    fn new(secret: &Secret) -> Self {
        let next_secret = chain::next(secret);
        Self {
            epoch: 0,
            previous: None,
            current: chain::cipher(secret),
            next: chain::cipher(&next_secret),
            next_secret,
            window: Window::new(),
            forged: 0,
        }
    }

    fn open(&mut self, counter: u64, datagram: &mut [u8]) -> Result<usize, Reason> {
        // Before any work, and marked only once it is known to be authentic.
        if !self.window.is_new(counter) {
            return Err(Reason::Replayed);
        }
        let (head, sealed) = datagram.split_at_mut(HEADER_BYTES);
        let header = *head.first_chunk().expect("the length was checked");
        let opened = self
            .key(counter)
            .and_then(|key| chain::open(key, counter, header, sealed));
        let Some(length) = opened else {
            self.forged += 1;
            return Err(Reason::Unauthentic);
        };
        self.window.mark(counter);
        if epoch(counter) > self.epoch {
            self.step();
        }
        self.forget_previous();
        Ok(length)
    }

    /// The key of a counter's epoch. A jump beyond the next one would be 2^22 packets lost in a row.
    fn key(&self, counter: u64) -> Option<&LessSafeKey> {
        let epoch = epoch(counter);
        if epoch == self.epoch {
            Some(&self.current)
        } else if epoch == self.epoch + 1 {
            Some(&self.next)
        } else if epoch + 1 == self.epoch {
            self.previous.as_ref()
        } else {
            None
        }
    }

    fn step(&mut self) {
        self.epoch += 1;
        self.next_secret = chain::next(&self.next_secret);
        let next = std::mem::replace(&mut self.next, chain::cipher(&self.next_secret));
        self.previous = Some(std::mem::replace(&mut self.current, next));
    }

    /// The window refuses datagrams of the previous key.
    fn forget_previous(&mut self) {
        if self.previous.is_some() && epoch(self.window.oldest()) == self.epoch {
            self.previous = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::window::WIDTH;
    use crate::wire::{Datagram, parse};

    fn pair() -> (Session, Session) {
        let keys = Split {
            initiator: Zeroizing::new([1; 32]),
            responder: Zeroizing::new([2; 32]),
        };
        let peer = "192.0.2.7:9000".parse().expect("an address");
        let end = |role| Session::new(role, peer, 5, &keys, Time::ZERO);
        (end(Role::Initiator), end(Role::Responder))
    }

    fn sealed(session: &mut Session, plaintext: &[u8]) -> Vec<u8> {
        let mut datagram = vec![0; OVERHEAD + plaintext.len()];
        datagram[HEADER_BYTES..HEADER_BYTES + plaintext.len()].copy_from_slice(plaintext);
        session.seal(Time::ZERO, &mut datagram);
        datagram
    }

    fn open(session: &mut Session, datagram: &[u8]) -> Result<Vec<u8>, Reason> {
        let Ok(Datagram::Sealed { counter, .. }) = parse(datagram) else {
            panic!("a sealed datagram");
        };
        let mut datagram = datagram.to_vec();
        let length = session.open(Time::ZERO, counter, &mut datagram)?;
        Ok(datagram[HEADER_BYTES..HEADER_BYTES + length].to_vec())
    }

    /// The keys of an endpoint that has sealed up to that counter.
    fn skip(session: &mut Session, counter: u64) {
        let sealing = &mut session.sealing;
        // The epoch's own first packet does the last step.
        let begun = epoch(counter.saturating_sub(1));
        for _ in epoch(sealing.counter)..begun {
            sealing.secret = chain::next(&sealing.secret);
        }
        sealing.key = chain::cipher(&sealing.secret);
        sealing.counter = counter;
    }

    #[test]
    fn what_is_sealed_opens_once_at_the_other_end_only() {
        let (mut left, mut right) = pair();
        let datagram = sealed(&mut left, b"text");
        assert_eq!(open(&mut left, &datagram), Err(Reason::Unauthentic));
        assert_eq!(open(&mut right, &datagram), Ok(b"text".to_vec()));
        assert_eq!(open(&mut right, &datagram), Err(Reason::Replayed));
        let datagram = sealed(&mut right, b"");
        assert_eq!(open(&mut left, &datagram), Ok(Vec::new()));
    }

    #[test]
    fn equal_plaintexts_give_other_ciphertexts_of_equal_length() {
        let (mut left, _) = pair();
        let first = sealed(&mut left, &[0; 100]);
        let second = sealed(&mut left, &[0; 100]);
        assert_eq!(first.len(), 128);
        assert_eq!(second.len(), 128);
        assert_ne!(first[HEADER_BYTES..], second[HEADER_BYTES..]);
    }

    /// Every datagram of one epoch is sealed, for the epochs must follow from the counter alone.
    #[test]
    fn an_epoch_later_reordered_datagrams_open() {
        let (mut left, mut right) = pair();
        let mut late = Vec::new();
        let mut datagram = vec![0; OVERHEAD];
        for counter in 0..EPOCH + 3 {
            left.seal(Time::ZERO, &mut datagram);
            if counter + 3 >= EPOCH {
                late.push(datagram.clone());
            }
        }
        // The first of epoch 1 comes before the last of epoch 0.
        for index in [3, 0, 5, 1, 4, 2] {
            assert_eq!(open(&mut right, &late[index]), Ok(Vec::new()), "{index}");
            assert_eq!(open(&mut right, &late[index]), Err(Reason::Replayed));
        }
        assert_eq!(right.opening.epoch, 1);
        assert!(right.opening.previous.is_some());
    }

    #[test]
    fn the_key_of_an_epoch_is_forgotten_once_its_packets_are_too_old() {
        let (mut left, mut right) = pair();
        skip(&mut left, EPOCH - 1);
        let before = sealed(&mut left, b"before");
        let first = sealed(&mut left, b"first");
        assert_eq!(open(&mut right, &first), Ok(b"first".to_vec()));
        skip(&mut left, EPOCH + WIDTH - 1);
        let last = sealed(&mut left, b"");
        assert_eq!(open(&mut right, &last), Ok(Vec::new()));
        assert!(right.opening.previous.is_none(), "the window is beyond it");
        assert_eq!(open(&mut right, &before), Err(Reason::Replayed));
    }

    #[test]
    fn many_epochs() {
        let (mut left, mut right) = pair();
        for number in 1..=20 {
            skip(&mut left, number * EPOCH - 1);
            for _ in 0..3 {
                let datagram = sealed(&mut left, b"text");
                assert_eq!(open(&mut right, &datagram), Ok(b"text".to_vec()));
            }
        }
        assert_eq!(right.opening.epoch, 20);
    }

    /// A forged counter cannot make the receiver step, nor step through many keys.
    #[test]
    fn forged_counters_move_nothing() {
        let (mut left, mut right) = pair();
        let genuine = sealed(&mut left, b"text");
        for counter in [1, EPOCH - 1, EPOCH, 2 * EPOCH, MAX_COUNTER - 1] {
            let mut forged = genuine.clone();
            forged[..HEADER_BYTES].copy_from_slice(&sealed_header(counter, 5));
            assert_eq!(open(&mut right, &forged), Err(Reason::Unauthentic));
        }
        assert_eq!(right.opening.epoch, 0);
        assert_eq!(right.opening.forged, 5);
        assert_eq!(open(&mut right, &genuine), Ok(b"text".to_vec()));
    }

    #[test]
    fn a_jump_over_a_whole_epoch_is_not_followed() {
        let (mut left, mut right) = pair();
        skip(&mut left, 2 * EPOCH + 1);
        let datagram = sealed(&mut left, b"text");
        assert_eq!(open(&mut right, &datagram), Err(Reason::Unauthentic));
    }

    #[test]
    fn counters_and_forgeries_come_to_an_end() {
        let (mut left, _) = pair();
        assert!(left.has_room(1));
        left.sealing.counter = MAX_COUNTER - 2;
        assert!(left.has_room(2));
        assert!(!left.has_room(3));
        left.sealing.counter = 0;
        left.opening.forged = MAX_FORGED;
        assert!(!left.has_room(1));
    }

    #[test]
    fn silence_is_both_long_and_many() {
        let (mut left, mut right) = pair();
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut datagram = vec![0; OVERHEAD];
        for ms in [0, 1, 2] {
            left.seal(at(ms), &mut datagram);
        }
        assert!(!left.is_silent(at(5_000)), "three may be keep-alives");
        left.seal(at(900), &mut datagram);
        assert!(!left.is_silent(at(999)));
        assert!(left.is_silent(at(1_000)));
        let mut reply = sealed(&mut right, b"");
        left.open(at(1_000), 0, &mut reply).expect("authentic");
        assert!(!left.is_silent(at(5_000)));
    }
}
