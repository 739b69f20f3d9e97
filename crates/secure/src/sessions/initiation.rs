//! A handshake begun here, and the datagrams that wait for its session. Leaves out when it is repeated.

use incastle_units::{Ecn, Span, Time};

use super::datagrams::Path;
use crate::noise::{Initiator, Message, PublicKey};

/// Datagrams, and their bytes, that wait for one handshake.
const MAX_WAITING: usize = 16;
const MAX_WAITING_BYTES: usize = 1 << 15;

/// A datagram that waits for a session.
pub(super) struct Waiting {
    pub(super) ecn: Ecn,
    /// With room for header and tag.
    pub(super) bytes: Vec<u8>,
}

/// The handshake.
pub(super) struct Initiation {
    pub(super) path: Path,
    pub(super) noise: Initiator,
    pub(super) public: PublicKey,
    pub(super) message: Message,
    /// The index that the session will have here.
    pub(super) index: u32,
    pub(super) begun: Time,
    pub(super) next: Time,
    pub(super) interval: Span,
    pub(super) waiting: Vec<Waiting>,
}

impl Initiation {
    /// Keeps a datagram until the session is there; false where there is no room.
    pub(super) fn keep(&mut self, ecn: Ecn, datagram: &[u8]) -> bool {
        let lengths = self.waiting.iter().map(|waiting| waiting.bytes.len());
        let room = lengths.sum::<usize>() + datagram.len() <= MAX_WAITING_BYTES;
        let keeps = room && self.waiting.len() < MAX_WAITING;
        if keeps {
            let bytes = datagram.to_vec();
            self.waiting.push(Waiting { ecn, bytes });
        }
        keeps
    }
}
