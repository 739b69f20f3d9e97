//! Reports and answers as bpf/bridge.h lays them out.

use incastle_units::{Bytes, Span};

/// Bytes of a report.
const SIZE: usize = 9 * 8 + 12 * 4;
/// Flags of a report.
const ECHO: u32 = 1;
const WINDOW_LIMITED: u32 = 2;
const IN_RECOVERY: u32 = 4;
const AFTER_TIMEOUT: u32 = 8;
const FALLEN_BACK: u32 = 16;

/// The reason for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Begin,
    Ack,
    Loss,
    Timeout,
    End,
}

/// A report of the program in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) connection: u64,
    pub(crate) number: u64,
    pub(crate) at_ns: u64,
    pub(crate) snd_una: u64,
    pub(crate) snd_nxt: u64,
    /// Packets found lost, since the beginning.
    pub(crate) lost: u64,
    /// The report whose answer was applied last, and how long that took.
    pub(crate) answered: u64,
    pub(crate) applied_after_ns: u64,
    pub(crate) kind: Kind,
    pub(crate) flags: u32,
    pub(crate) acked: Bytes,
    pub(crate) segments: u32,
    pub(crate) rtt: Option<Span>,
    pub(crate) smoothed_rtt: Option<Span>,
    pub(crate) mss: u32,
}

impl Report {
    /// A report from the ring buffer; none if it is not one.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIZE] = bytes.get(..SIZE)?.try_into().ok()?;
        let long = |place: usize| {
            let own = bytes[place * 8..place * 8 + 8].try_into();
            u64::from_ne_bytes(own.expect("eight bytes"))
        };
        let word = |place: usize| {
            let from = 9 * 8 + place * 4;
            let own = bytes[from..from + 4].try_into();
            u32::from_ne_bytes(own.expect("four bytes"))
        };
        let span = |us: u32| (us > 0).then(|| Span::from_us(u64::from(us)));
        Some(Self {
            connection: long(0),
            number: long(1),
            at_ns: long(2),
            snd_una: long(3),
            snd_nxt: long(4),
            lost: long(6),
            answered: long(7),
            applied_after_ns: long(8),
            kind: match word(0) {
                0 => Kind::Begin,
                1 => Kind::Ack,
                2 => Kind::Loss,
                3 => Kind::Timeout,
                4 => Kind::End,
                _ => return None,
            },
            flags: word(1),
            acked: Bytes::new(u64::from(word(2))),
            segments: word(3),
            rtt: span(word(4)),
            smoothed_rtt: span(word(5)),
            mss: word(6),
        })
    }

    /// Whether the ACK had ECE.
    pub(crate) const fn is_echo(&self) -> bool {
        self.flags & ECHO != 0
    }

    /// Whether the window limited the sender before it.
    pub(crate) const fn is_window_limited(&self) -> bool {
        self.flags & WINDOW_LIMITED != 0
    }

    /// Whether losses are being repaired.
    pub(crate) const fn is_in_recovery(&self) -> bool {
        self.flags & IN_RECOVERY != 0
    }

    /// Whether the sender goes back after a timeout.
    pub(crate) const fn is_after_timeout(&self) -> bool {
        self.flags & AFTER_TIMEOUT != 0
    }

    /// Whether the connection waited too long for an answer, and is NewReno.
    pub(crate) const fn has_fallen_back(&self) -> bool {
        self.flags & FALLEN_BACK != 0
    }
}

/// An answer to a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) number: u64,
    pub(crate) report_ns: u64,
    /// Bytes per second; 0: none.
    pub(crate) pacing: u64,
    /// Packets.
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
}

impl Answer {
    /// As the map has it.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let longs = [self.number, self.report_ns, self.pacing];
        let words = [self.cwnd, self.ssthresh];
        let longs = longs.into_iter().flat_map(u64::to_ne_bytes);
        longs
            .chain(words.into_iter().flat_map(u32::to_ne_bytes))
            .collect()
    }
}
