//! The times of ACKs (draft-gg-udt-03, section 6.2; Ye, Mhamdi and Hamdi, section IV). A full ACK leaves
//! every SYN, in congestion mode every round trip, and a light one every 64 packets in between. A number is
//! not acknowledged twice within two round trips, and is repeated until an ACK2 confirms it.
//!
//! The timer runs only while something is to be acknowledged: an idle connection has none. In congestion mode
//! an interval without arrivals has no ACK, as in UDT. Ye, Mhamdi and Hamdi leave it open, and
//! `Dcudp::ack_without_data` is the other reading. Where accurate ACKs were agreed, they replace the light ones.

use std::collections::VecDeque;

use incastle_units::{Span, Time};

use super::accurate_clock::AccurateClock;
use super::sequence::Number;
use super::wire::AckRate;

/// ACKs whose ACK2 is waited for. Older ones are forgotten.
const WINDOW: usize = 256;
/// The interval of ACKs is at least this part of the time for which ACK2s have been waited for.
const PATIENCE: u64 = 64;

/// An ACK that was sent.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    number: Number,
    next: u64,
    edge: u64,
    sent_at: Time,
}

/// The ACKs of one receiver.
#[derive(Debug, Clone)]
pub(super) struct Acknowledgement {
    buffer: u32,
    next_number: Number,
    window: VecDeque<Outstanding>,
    /// The state to report: the next packet expected, and the right edge of the buffer.
    next: u64,
    edge: u64,
    /// The content and the time of the last full ACK.
    sent_next: u64,
    sent_edge: u64,
    sent_at: Option<Time>,
    /// The content of the last ACK of either kind.
    reported_next: u64,
    /// The content that an ACK2 has confirmed.
    confirmed_next: u64,
    confirmed_edge: u64,
    /// Packets since the last ACK of either kind.
    packets: u32,
    /// Something arrived since the last full ACK.
    fresh: bool,
    due: bool,
    /// When the timer of full ACKs expires, or NEVER.
    at: Time,
    /// The beginning of the grid of SYNs.
    epoch: Time,
    syn: Span,
    /// The interval in congestion mode.
    congested: Option<Span>,
    light_every: u32,
    /// In congestion mode every interval has an ACK, whether anything arrived or not.
    without_data: bool,
    /// Accurate ACKs, if they were agreed.
    accurate: Option<AccurateClock>,
}

impl Acknowledgement {
    pub(super) fn new(buffer: u32) -> Self {
        let edge = u64::from(buffer);
        Self {
            buffer,
            next_number: Number::default(),
            window: VecDeque::new(),
            next: 0,
            edge,
            sent_next: 0,
            sent_edge: edge,
            sent_at: None,
            reported_next: 0,
            confirmed_next: 0,
            confirmed_edge: edge,
            packets: 0,
            fresh: false,
            due: false,
            at: Time::NEVER,
            epoch: Time::ZERO,
            syn: Span::from_ms(10),
            congested: None,
            light_every: 64,
            without_data: false,
            accurate: None,
        }
    }

    /// Accurate ACKs at that rate replace light ones.
    pub(super) fn begin_accurate(&mut self, rate: AckRate) {
        self.accurate = Some(AccurateClock::new(rate));
    }

    /// The round-trip time has changed.
    pub(super) fn set_rtt(&mut self, rtt: Span) {
        let syn = self.syn;
        if let Some(clock) = &mut self.accurate {
            clock.set_rtt(rtt, syn);
        }
    }

    /// When a timer expires, or NEVER.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        let accurate = self.accurate.as_ref().map(AccurateClock::wake);
        self.at.min(accurate.unwrap_or(Time::NEVER))
    }

    /// The connection is there: the grid of SYNs begins.
    pub(super) fn begin(&mut self, now: Time, syn: Span, light_every: u32) {
        self.epoch = now;
        self.syn = syn;
        self.light_every = light_every;
    }

    /// The interval of congestion mode begins, changes or ends.
    pub(super) fn set_congested(&mut self, now: Time, interval: Option<Span>) {
        self.congested = interval;
        if self.at != Time::NEVER || self.never_rests() {
            self.at = self.tick(now);
        }
    }

    /// Whether intervals of congestion mode have an ACK even if nothing arrived.
    pub(super) const fn set_without_data(&mut self, without_data: bool) {
        self.without_data = without_data;
    }

    const fn never_rests(&self) -> bool {
        self.without_data && self.congested.is_some()
    }

    /// Something new arrived, or was given up.
    #[inline]
    pub(super) fn on_new(&mut self, now: Time, next: u64, edge: u64) {
        assert!(
            next >= self.next && edge >= self.edge,
            "a receiver keeps what it has"
        );
        (self.next, self.edge) = (next, edge);
        self.fresh = true;
        self.packets += 1;
        if let Some(clock) = &mut self.accurate {
            clock.on_new(now);
        }
        self.arm(now);
    }

    /// The application made room. A window that was reported closed opens immediately.
    pub(super) fn on_room(&mut self, now: Time, next: u64, edge: u64) {
        (self.next, self.edge) = (next, edge);
        self.due |= self.sent_edge <= next && edge > next;
        if self.is_wanted() {
            self.arm(now);
        }
    }

    /// An ACK must leave now: the first mark.
    pub(super) fn demand(&mut self) {
        self.due = true;
    }

    /// Whether something is not reported or not confirmed.
    fn is_wanted(&self) -> bool {
        self.next > self.confirmed_next || self.has_opened()
    }

    /// Whether the sender may assume that the buffer is almost full, when it is not.
    fn has_opened(&self) -> bool {
        let known = self.confirmed_edge.saturating_sub(self.next);
        self.edge > self.confirmed_edge && known * 4 < u64::from(self.buffer)
    }

    fn arm(&mut self, now: Time) {
        if self.at == Time::NEVER {
            self.at = self.tick(now);
        }
    }

    /// The next tick of the timer, later where ACK2s stay away. Otherwise, on a path that has
    /// become very long, more ACKs would be outstanding than are remembered, and no ACK2 would be
    /// recognised.
    fn tick(&self, now: Time) -> Time {
        let oldest = self.window.front();
        let unconfirmed = oldest.map_or(Span::ZERO, |ack| now.saturating_since(ack.sent_at));
        let patient = self
            .sent_at
            .unwrap_or(now)
            .saturating_add(unconfirmed / PATIENCE);
        self.regular_tick(now).max(patient)
    }

    fn regular_tick(&self, now: Time) -> Time {
        match (self.congested, self.sent_at) {
            (Some(interval), Some(sent_at)) => sent_at.saturating_add(interval).max(now),
            (Some(_), None) => now,
            (None, _) => {
                let passed = now.saturating_since(self.epoch).as_ps() / self.syn.as_ps();
                self.epoch
                    .saturating_add(self.syn.saturating_mul(passed + 1))
            }
        }
    }

    /// The timer's instant has come.
    pub(super) fn on_timer(&mut self, now: Time, rtt: Span) {
        if let Some(clock) = &mut self.accurate {
            clock.on_timer(now);
        }
        if now < self.at {
            return;
        }
        self.at = Time::NEVER;
        let news = self.fresh && self.congested.is_some() || self.never_rests();
        if !self.is_wanted() && !news {
            return;
        }
        let waited = self.sent_at.map(|at| now.saturating_since(at));
        let same = self.sent_next == self.next && self.sent_edge == self.edge;
        let early = waited.is_some_and(|waited| waited < rtt.saturating_mul(2));
        if !same || news || !early {
            self.due = true;
        } else {
            // In congestion mode ticks are counted from the last ACK: look again when it is due.
            let repeat = self
                .sent_at
                .map(|at| at.saturating_add(rtt.saturating_mul(2)));
            let tick = self.tick(now);
            self.at = match self.congested {
                Some(_) => repeat.unwrap_or(tick),
                None => tick,
            };
        }
    }

    /// Whether an ACK of either kind is due.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due || self.is_light_due()
    }

    #[inline]
    const fn is_light_due(&self) -> bool {
        if let Some(clock) = &self.accurate {
            return clock.is_due();
        }
        self.packets >= self.light_every && self.next != self.reported_next
    }

    /// The content of a light ACK, or an accurate one, if one is due. A full one that is due too reports more.
    pub(super) fn poll_light(&mut self) -> Option<u64> {
        if !self.is_light_due() {
            return None;
        }
        if let Some(clock) = &mut self.accurate {
            clock.on_sent();
        }
        self.packets = 0;
        self.reported_next = self.next;
        Some(self.next)
    }

    /// Whether a full ACK is due, and its number.
    pub(super) fn poll_full(&mut self, now: Time) -> Option<Number> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        let number = self.next_number;
        self.next_number = number.plus(1);
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(Outstanding {
            number,
            next: self.next,
            edge: self.edge,
            sent_at: now,
        });
        assert!(self.window.len() <= WINDOW, "few ACKs are remembered");
        assert!(self.sent_next <= self.next, "an ACK takes nothing back");
        (self.sent_next, self.sent_edge) = (self.next, self.edge);
        self.sent_at = Some(now);
        self.reported_next = self.next;
        self.packets = 0;
        self.fresh = false;
        self.at = Time::NEVER;
        if self.is_wanted() || self.never_rests() {
            self.arm(now);
        }
        Some(number)
    }

    /// An ACK of data that no ACK has reported yet, whether or not the timer has expired, and its
    /// number.
    pub(super) fn poll_last(&mut self, now: Time) -> Option<Number> {
        self.due |= self.next > self.reported_next;
        self.poll_full(now)
    }

    /// An ACK2 arrived; gives the round trip, or nothing where its ACK is not remembered.
    pub(super) fn on_ack2(&mut self, now: Time, number: Number) -> Option<Span> {
        let mut sent = self.window.iter();
        let index = sent.position(|ack| ack.number == number)?;
        let ack = self.window[index];
        assert!(ack.next <= self.next, "only what arrived is confirmed");
        self.window.drain(..=index);
        self.confirmed_next = self.confirmed_next.max(ack.next);
        self.confirmed_edge = self.confirmed_edge.max(ack.edge);
        Some(now.saturating_since(ack.sent_at))
    }
}
