//! The state of one endpoint's three-way handshake. The content of its segments is in `opening`.

use super::config::Config;

/// The endpoint's part in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends the SYN.
    Active,
    /// Waits for it.
    Passive,
}

/// The state of the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The active endpoint, before `open`.
    Closed,
    Listen,
    SynSent,
    SynReceived,
    /// Over.
    Established,
}

/// The handshake of one endpoint.
#[derive(Debug, Clone)]
pub(super) struct Handshake {
    pub(super) state: State,
    /// A SYN or SYN-ACK must leave.
    pub(super) syn_due: bool,
    /// How many left so far, at most 255.
    pub(super) sent: u8,
}

impl Handshake {
    pub(super) fn new(config: &Config, role: Role) -> Self {
        let state = match (config.handshake, role) {
            (false, _) => State::Established,
            (true, Role::Active) => State::Closed,
            (true, Role::Passive) => State::Listen,
        };
        Self {
            state,
            syn_due: false,
            sent: 0,
        }
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.state == State::Established
    }

    pub(super) fn open(&mut self) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.syn_due = true;
        }
    }

    /// A SYN arrived: acknowledge it.
    pub(super) fn received(&mut self) {
        self.state = State::SynReceived;
        self.syn_due = true;
    }
}
