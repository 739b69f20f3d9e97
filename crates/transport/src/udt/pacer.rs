//! When data packets may leave: one per SND interval (draft-gg-udt-03, section 6.1), in exact integer
//! time, however many packets it takes. After the first of a pair the next leaves at once.
//!
//! An interval is that of a full packet, whatever the length, since SND counts packets.
//!
//! A sender that is woken late catches up, so that a busy machine keeps the rate. A pause of the
//! application's, or of a window's, is not made good: a burst after it would find a queue that nobody
//! expected.

use incastle_units::{Bytes, Rate, Serializer, Span, Time};

use super::sender::Chunk;

/// A pair begins at every 16th number.
const PAIR_EVERY: u32 = 16;

/// How far behind now a departure may count from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lags {
    /// Where a packet has waited for its time.
    pub(super) late: Span,
    /// After a pause: packets that are due within it leave together.
    pub(super) paused: Span,
}

/// The clock of a sender.
#[derive(Debug, Clone)]
pub(super) struct Pacer {
    serializer: Option<Serializer>,
    /// The next departure.
    at: Time,
    /// When a waiting packet may go, or NEVER.
    pub(super) wake: Time,
    pub(super) pairs: bool,
    lags: Lags,
    /// Since the last packet there was nothing that the clock held back.
    paused: bool,
}

impl Pacer {
    pub(super) const fn new(pairs: bool, lags: Lags) -> Self {
        Self {
            serializer: None,
            at: Time::ZERO,
            wake: Time::NEVER,
            pairs,
            lags,
            paused: true,
        }
    }

    /// Nothing waits for its time: there is nothing to send, or a window or the peer holds it back.
    #[inline]
    pub(super) const fn pause(&mut self) {
        self.paused = true;
    }

    /// Whether a packet must wait; notes for how long.
    #[inline]
    pub(super) fn holds(&mut self, now: Time, rate: Option<Rate>) -> bool {
        let waits = rate.is_some() && now < self.at;
        if waits {
            self.wake = self.at;
        }
        waits
    }

    /// Whether a packet waits for the next departure.
    #[inline]
    pub(super) fn is_awaited(&self) -> bool {
        self.wake == self.at
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        if self.wake <= now {
            self.wake = Time::NEVER;
        }
    }

    /// A packet left; `full` is the length of a full one.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, rate: Option<Rate>, chunk: &Chunk, full: Bytes) {
        let Some(rate) = rate else {
            self.at = now;
            return;
        };
        let opens_pair = chunk.number.word().is_multiple_of(PAIR_EVERY) && !chunk.retransmission;
        if self.pairs && opens_pair {
            return;
        }
        // A controller that wants nothing sent has a window for that.
        let rate = rate.max(Rate::from_bits_per_second(1));
        let serializer = match &mut self.serializer {
            Some(serializer) if serializer.rate() == rate => serializer,
            slot => slot.insert(Serializer::new(rate)),
        };
        let interval = serializer.span(full);
        let Lags { late, paused } = self.lags;
        let lag = if std::mem::take(&mut self.paused) {
            paused.min(late)
        } else {
            late
        };
        let allowed = now.as_ps().saturating_sub(lag.as_ps());
        let from = self.at.max(Time::from_ps(allowed));
        self.at = from.saturating_add(interval);
    }
}
