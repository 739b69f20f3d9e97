//! The send sequence variables (RFC 9293, section 3.3.1) as offsets from the first data byte: the
//! data acknowledged, the data sent, and the peer's window. Leaves out wrapping, which `sequence`
//! resolves, and SND.WL1 and WL2: the window's right edge never moves back.

/// The sequence variables of a sender.
///
/// Invariant: `una <= nxt <= max`, and `nxt == max` except after a timeout.
#[derive(Debug, Clone)]
pub(super) struct SendSpace {
    una: u64,
    nxt: u64,
    max: u64,
    edge: u64,
}

impl SendSpace {
    pub(super) const fn new(window: u64) -> Self {
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            edge: window,
        }
    }

    /// SND.UNA.
    #[inline]
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// SND.NXT; a timeout pulls it back.
    #[inline]
    pub(super) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Everything below was sent at least once.
    #[inline]
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// The window that the peer's SYN advertises.
    pub(super) fn begin(&mut self, window: u64) {
        assert_eq!(self.max, 0, "a SYN comes before the first data");
        self.edge = window;
    }

    /// Whether something is outstanding.
    #[inline]
    pub(super) fn awaits_ack(&self) -> bool {
        self.una < self.max
    }

    /// Whether an acknowledgement is neither old nor of something that was never sent (RFC 9293,
    /// section 3.10.7.4).
    #[inline]
    pub(super) fn accepts(&self, ack: u64) -> bool {
        self.una <= ack && ack <= self.max
    }

    /// Takes in the window of an acknowledgement; gives whether its right edge moved.
    #[inline]
    pub(super) fn note_window(&mut self, ack: u64, window: u64) -> bool {
        let edge = ack + window;
        let moved = edge > self.edge && self.accepts(ack);
        if moved {
            self.edge = edge;
        }
        moved
    }

    /// Room in the peer's window from `seq` on.
    #[inline]
    pub(super) fn room_from(&self, seq: u64) -> u64 {
        self.edge.saturating_sub(seq)
    }

    /// A cumulative acknowledgement.
    #[inline(always)]
    pub(super) fn acknowledge(&mut self, ack: u64) {
        assert!(self.accepts(ack), "only what was sent is acknowledged");
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        assert!(self.nxt <= self.max, "SND.NXT lies in what was sent");
    }

    /// A segment left, `seq..end`.
    #[inline]
    pub(super) fn sent(&mut self, seq: u64, end: u64) {
        assert!(
            self.una <= seq && seq <= self.max,
            "the sequence has no hole"
        );
        assert!(seq < end, "a segment carries something");
        self.nxt = self.nxt.max(end);
        self.max = self.max.max(end);
    }

    /// Go-back-N: everything outstanding is to be sent again.
    pub(super) fn go_back(&mut self) {
        self.nxt = self.una;
    }

    /// Go-back-N passes over data reported as received.
    pub(super) fn skip_to(&mut self, seq: u64) {
        assert!(self.nxt <= seq, "go-back-N moves forward");
        self.nxt = seq.min(self.max);
    }
}
