//! The counters of an endpoint's sessions.

/// Why a datagram had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No datagram of this format, for example one of an endpoint without a key.
    Malformed,
    /// A handshake of another version.
    Version,
    /// A handshake under another key, or a damaged one.
    WrongKey,
    /// A handshake that was seen before, or one of ours that came back.
    ReplayedHandshake,
    /// An unexpected response, or an initiation that crossed one of ours with precedence.
    UnexpectedHandshake,
    /// For a session that is not there.
    UnknownSession,
    /// For a session, from another address than its peer's.
    WrongAddress,
    /// Sealed, but received before or too old to check.
    Replayed,
    /// Sealed under another key, or damaged.
    Unauthentic,
    /// A handshake beyond the limit of sessions.
    BeyondLimit,
}

/// Datagrams that had no effect, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ignored {
    /// See [`Reason::Malformed`].
    pub malformed: u64,
    /// See [`Reason::Version`].
    pub version: u64,
    /// See [`Reason::WrongKey`].
    pub wrong_key: u64,
    /// See [`Reason::ReplayedHandshake`].
    pub replayed_handshakes: u64,
    /// See [`Reason::UnexpectedHandshake`].
    pub unexpected_handshakes: u64,
    /// See [`Reason::UnknownSession`].
    pub unknown_session: u64,
    /// See [`Reason::WrongAddress`].
    pub wrong_address: u64,
    /// See [`Reason::Replayed`].
    pub replayed: u64,
    /// See [`Reason::Unauthentic`].
    pub unauthentic: u64,
    /// See [`Reason::BeyondLimit`].
    pub beyond_limit: u64,
}

impl Ignored {
    pub(crate) fn count(&mut self, reason: Reason) {
        let counter = match reason {
            Reason::Malformed => &mut self.malformed,
            Reason::Version => &mut self.version,
            Reason::WrongKey => &mut self.wrong_key,
            Reason::ReplayedHandshake => &mut self.replayed_handshakes,
            Reason::UnexpectedHandshake => &mut self.unexpected_handshakes,
            Reason::UnknownSession => &mut self.unknown_session,
            Reason::WrongAddress => &mut self.wrong_address,
            Reason::Replayed => &mut self.replayed,
            Reason::Unauthentic => &mut self.unauthentic,
            Reason::BeyondLimit => &mut self.beyond_limit,
        };
        *counter += 1;
    }
}

/// A snapshot of the sessions of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Sessions that there are.
    pub sessions: usize,
    /// Handshakes with a response, whose initiators have sealed nothing yet.
    pub pending: usize,
    /// Handshakes begun here that wait for a response.
    pub initiations: usize,
    /// Sessions that there have been.
    pub established: u64,
    /// Handshakes begun here without a response in time.
    pub unanswered: u64,
    /// Datagrams sealed.
    pub sealed: u64,
    /// Datagrams opened.
    pub opened: u64,
    /// Datagrams to be sealed that were dropped, because a handshake was not done in time or there were
    /// too many of them.
    pub dropped: u64,
    /// Datagrams that were ignored, by reason.
    pub ignored: Ignored,
}
