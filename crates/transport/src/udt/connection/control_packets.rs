//! Control packets of both directions: their numbers (Ye, Mhamdi and Hamdi, section III.B), the ACK2s
//! and keep-alives that wait. Leaves out NAKs and ACKs, which the receiver half has.

use std::collections::VecDeque;

use super::super::control_window::{ControlWindow, Refusal};
use super::super::sequence::{Number, Numbering};

/// ACK2s that may wait to be sent.
const MAX_ACK2S: usize = 64;

/// The control packets of one endpoint.
#[derive(Debug, Clone)]
pub(super) struct ControlPackets {
    numbering: Numbering,
    /// The number sent.
    sent: u64,
    received: ControlWindow,
    /// The newest full ACK.
    newest_ack: Option<Number>,
    ack2s: VecDeque<Number>,
    pub(super) keep_alive_due: bool,
}

impl ControlPackets {
    pub(super) fn new(first: Number) -> Self {
        Self {
            numbering: Numbering::new(first),
            sent: 0,
            received: ControlWindow::new(first),
            newest_ack: None,
            ack2s: VecDeque::new(),
            keep_alive_due: false,
        }
    }

    /// The peer's packets begin with that number.
    pub(super) fn agree(&mut self, first: Number) {
        assert_eq!(
            self.sent, 0,
            "an agreement comes before the first control packet"
        );
        self.received = ControlWindow::new(first);
    }

    /// Numbers a packet that leaves.
    pub(super) fn number(&mut self) -> Number {
        let number = self.numbering.wire(self.sent);
        self.sent += 1;
        number
    }

    /// The place of a packet among the peer's.
    pub(super) fn admit(&mut self, number: Number) -> Result<u64, Refusal> {
        self.received.admit(number)
    }

    /// Whether no full ACK with a later number has arrived.
    pub(super) fn is_newest_ack(&self, number: Number) -> bool {
        let newest = self.newest_ack;
        newest.is_none_or(|newest| newest.distance_to(number) > 0)
    }

    /// A valid full ACK, which requires an ACK2.
    pub(super) fn on_ack(&mut self, number: Number) {
        if self.is_newest_ack(number) {
            self.newest_ack = Some(number);
        }
        if self.ack2s.len() < MAX_ACK2S {
            self.ack2s.push_back(number);
        }
        assert!(
            self.ack2s.len() <= MAX_ACK2S,
            "a peer fills no memory with its ACKs"
        );
    }

    pub(super) fn poll_ack2(&mut self) -> Option<Number> {
        self.ack2s.pop_front()
    }

    /// Whether an ACK2 or a keep-alive is due.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        !self.ack2s.is_empty() | self.keep_alive_due
    }
}
