//! The sender half: what was sent and is not acknowledged, what is lost, what waits, and what may leave
//! when (draft-gg-udt-03, section 6.1): the loss list first, then new data within flow window and
//! cwnd, one packet per SND interval, the second of each pair at once.
//!
//! Works with lengths and offsets into what the application wrote; the bytes are elsewhere. Leaves out
//! Nagle's algorithm, and data cut at the borders of writes, as in the library: packets are filled.

use std::collections::VecDeque;

use incastle_congestion::{Algorithm, Context, Controller, LimitedBy, Window};
use incastle_units::{Bytes, Rate, Span, Time};
use rand_core::Rng;

use super::config::ExpRepeat;
use super::estimates::Estimates;
use super::loss_list::LossList;
use super::sequence::{Number, Numbering};
use super::stats::Stats;
use super::wire::{Dialect, Losses, NumberRange, Place, max_message};
use crate::pacer::{Lags, Pacer};

/// A packet pair begins at every 16th number: its second packet leaves at once.
const PAIR_EVERY: u32 = 16;
/// Unsent bytes from which on the rest counts as unlimited.
const UNLIMITED: u64 = u64::MAX / 4;

/// What the sender needs from the rest of the connection.
pub(super) struct Io<'a> {
    pub(super) now: Time,
    pub(super) algorithm: &'a mut Algorithm,
    pub(super) rng: &'a mut dyn Rng,
    pub(super) stats: &'a mut Stats,
    pub(super) smoothed_rtt: Span,
    /// C, where it is configured.
    pub(super) capacity: Option<Rate>,
    /// New data may not leave: nothing was acknowledged for too long.
    pub(super) silent: bool,
}

/// A packet that was sent and is not acknowledged.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Where its payload begins in what the application wrote.
    offset: u64,
    /// When its message is given up, or NEVER.
    expires: Time,
    message: u32,
    length: u16,
    place: Place,
    in_order: bool,
    /// Its message was given up.
    dropped: bool,
}

/// A message that was not sent, or not wholly.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    length: u64,
    sent: u64,
    expires: Time,
    number: u32,
    in_order: bool,
}

/// A data packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) number: Number,
    pub(super) offset: u64,
    pub(super) message: u32,
    pub(super) length: u16,
    pub(super) place: Place,
    pub(super) in_order: bool,
    pub(super) retransmission: bool,
}

/// A message that the peer must not wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drop {
    pub(super) message: u32,
    pub(super) first: Number,
    pub(super) last: Number,
}

/// Which kind of ACK arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckKind {
    /// One that says nothing but the next packet expected.
    Light,
    /// A full one, the newest so far, with the receiver's free buffer in packets.
    Newest { free: u32 },
    /// A full one that a newer one has overtaken.
    Late,
}

/// What a cumulative acknowledgement brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Acked {
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

/// What a NAK named, as far as it can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lost {
    pub(super) packets: u32,
    pub(super) largest: u64,
}

/// What a sender is made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct SenderSetup {
    pub(super) first: Number,
    pub(super) dialect: Dialect,
    pub(super) stream: bool,
    pub(super) payload: u16,
    pub(super) flow_window: u32,
    pub(super) pairs: bool,
    pub(super) lags: Lags,
    pub(super) interface: Option<Rate>,
    pub(super) rate_limit: Option<Rate>,
    pub(super) max_loss_ranges: u32,
}

/// The flow window in packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowWindow {
    /// The most that it may ever be.
    pub(super) agreed: u32,
    /// Before the first ACK.
    pub(super) first: u32,
}

/// The sender half. Packets are counted from 0.
///
/// Invariant: `una <= nxt`, `sent` holds exactly `una..nxt`, `losses` lies within it.
pub(super) struct Sender {
    setup: SenderSetup,
    numbering: Numbering,
    /// Everything below is acknowledged.
    pub(super) una: u64,
    /// The next new packet.
    pub(super) nxt: u64,
    sent: VecDeque<Sent>,
    losses: LossList,
    /// Payload bytes in `sent`.
    outstanding: u64,
    /// New packets stay below: the flow window's right edge.
    edge: u64,
    /// Stream: bytes written and not sent.
    unsent: u64,
    /// Messages written and not wholly sent.
    messages: VecDeque<Waiting>,
    /// Where the next new payload begins in what the application wrote.
    offset: u64,
    next_message: u32,
    drops: VecDeque<Drop>,
    pub(super) estimates: Estimates,
    /// The next data packet carries CWR.
    pub(super) cwr_due: bool,
    pub(super) limited_by: LimitedBy,
    /// Acknowledged by light ACKs since the last full one.
    light: Acked,
    pub(super) pacer: Pacer,
    /// Since when an acknowledgement is missing.
    pub(super) unheard_since: Time,
}

impl Sender {
    pub(super) fn new(setup: SenderSetup) -> Self {
        Self {
            numbering: Numbering::new(setup.first),
            una: 0,
            nxt: 0,
            sent: VecDeque::new(),
            losses: LossList::new(setup.max_loss_ranges as usize),
            outstanding: 0,
            edge: u64::from(setup.flow_window),
            unsent: 0,
            messages: VecDeque::new(),
            offset: 0,
            next_message: 1,
            drops: VecDeque::new(),
            estimates: Estimates::new(setup.interface),
            cwr_due: false,
            limited_by: LimitedBy::Application,
            light: Acked::default(),
            pacer: Pacer::new(setup.lags),
            unheard_since: Time::ZERO,
            setup,
        }
    }

    /// What the handshake agreed replaces what was asked for. Nothing was sent yet.
    pub(super) fn agree(&mut self, dialect: Dialect, payload: u16, window: FlowWindow) {
        assert_eq!(self.nxt, 0, "an agreement comes before the first packet");
        self.setup.dialect = dialect;
        self.setup.payload = payload;
        self.setup.flow_window = window.agreed;
        self.edge = u64::from(window.first);
    }

    /// The longest message that the peer's buffer takes whole.
    pub(super) const fn max_message(&self) -> u64 {
        self.setup.flow_window as u64 * self.setup.payload as u64
    }

    pub(super) const fn payload(&self) -> u16 {
        self.setup.payload
    }

    pub(super) fn has_drop(&self) -> bool {
        !self.drops.is_empty()
    }

    /// Adds bytes to a stream.
    pub(super) fn write(&mut self, bytes: u64) {
        assert!(self.setup.stream, "a message socket sends messages");
        self.unsent = self.unsent.saturating_add(bytes).min(u64::MAX / 2);
    }

    /// Forgets what was never sent; a message that was begun goes on.
    pub(super) fn forget_unsent(&mut self) {
        self.messages.retain(|message| message.sent > 0);
        let begun = self.messages.front();
        let left = begun.map_or(0, |message| message.length - message.sent);
        self.offset += self.unsent - left;
        self.unsent = left;
    }

    /// Adds a message.
    pub(super) fn write_message(&mut self, length: u64, expires: Time, in_order: bool) {
        assert!(!self.setup.stream, "a stream socket has no messages");
        self.messages.push_back(Waiting {
            length,
            sent: 0,
            expires,
            number: 0,
            in_order,
        });
        self.unsent += length;
    }

    /// Payload bytes written and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.unsent + self.outstanding
    }

    /// Payload bytes written and never sent.
    pub(super) fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Whether everything written is acknowledged, or given up and confirmed so.
    pub(super) fn is_done(&self) -> bool {
        self.sent.is_empty() && self.unsent == 0
    }

    pub(super) fn is_outstanding(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Everything below this offset will never be asked for again.
    pub(super) fn acknowledged_offset(&self) -> u64 {
        self.sent.front().map_or(self.offset, |sent| sent.offset)
    }

    pub(super) fn context<'a>(
        &self,
        now: Time,
        rtt: Span,
        configured: Option<Rate>,
        rng: &'a mut dyn Rng,
    ) -> Context<'a> {
        Context {
            now,
            snd_una: self.una,
            snd_nxt: self.nxt,
            in_flight: Bytes::new(self.outstanding),
            smoothed_rtt: Some(rtt),
            remaining: (self.unsent < UNLIMITED).then_some(Bytes::new(self.unacknowledged())),
            deadline: None,
            receiving_rate: self.estimates.receiving_rate(self.setup.payload),
            capacity: configured.or_else(|| self.estimates.path_capacity(self.setup.payload)),
            rng,
        }
    }

    /// A cumulative acknowledgement: everything before `next` has arrived. Absent where that was never
    /// sent. A full one answers for the light ones before it.
    pub(super) fn on_ack(&mut self, now: Time, next: Number, kind: AckKind) -> Option<Acked> {
        // What lies behind SND.UNA is late, not wrong.
        let next = self.numbering.index(next, self.una).unwrap_or(0);
        if next > self.nxt {
            return None;
        }
        let mut acked = std::mem::take(&mut self.light);
        while self.una < next {
            let sent = self.sent.pop_front().expect("una..nxt was sent");
            acked.packets += 1;
            acked.bytes += u64::from(sent.length);
            self.outstanding -= u64::from(sent.length);
            self.una += 1;
        }
        self.losses.remove_below(self.una);
        self.unheard_since = now;
        match kind {
            AckKind::Light => self.light = acked,
            // A peer that promises more than was agreed is not believed.
            AckKind::Newest { free } => {
                self.edge = next + u64::from(free.min(self.setup.flow_window));
            }
            AckKind::Late => {}
        }
        Some(acked)
    }

    /// A NAK. Ranges that were never sent or are acknowledged are counted.
    pub(super) fn on_nak(&mut self, losses: Losses<'_>, stats: &mut Stats) -> Lost {
        let mut lost = Lost::default();
        for NumberRange { first, last } in losses.ranges() {
            let start = self.numbering.index(first, self.una).unwrap_or(0);
            let last = self.numbering.index(last, self.una);
            let outstanding = |last: &u64| (self.una..self.nxt).contains(last);
            let Some(last) = last.filter(outstanding).filter(|last| start <= *last) else {
                stats.refused.nak_ranges += 1;
                continue;
            };
            let start = start.max(self.una);
            // EXP repairs what finds no room.
            if self.losses.insert(start, last + 1).is_err() {
                stats.refused.nak_ranges += 1;
                continue;
            }
            lost.packets = lost.packets.saturating_add((last + 1 - start) as u32);
            lost.largest = lost.largest.max(last);
        }
        lost
    }

    /// EXP: all unacknowledged packets go into the loss list, or the ends of them.
    pub(super) fn on_exp(&mut self, repeat: ExpRepeat) {
        match repeat {
            ExpRepeat::Everything => {
                let inserted = self.losses.insert(self.una, self.nxt);
                assert!(inserted.is_ok(), "the list's ranges lie within this one");
            }
            ExpRepeat::Ends => {
                // Where there is no room for them, enough is about to be sent again.
                let ends = [self.una, self.nxt - 1];
                let _ = ends.map(|packet| self.losses.insert(packet, packet + 1));
            }
        }
    }

    /// A drop request that must be sent.
    pub(super) fn poll_drop(&mut self) -> Option<Drop> {
        self.drops.pop_front()
    }

    /// Whether certainly no data may leave now; messages may grow too old, which a poll finds out.
    #[inline]
    pub(super) fn is_quiet(&mut self, now: Time, algorithm: &Algorithm) -> bool {
        self.setup.stream && (self.is_idle() || self.is_held(now, self.pacing(algorithm)))
    }

    /// Whether there is nothing to send.
    #[inline]
    fn is_idle(&mut self) -> bool {
        let idle = self.losses.is_empty() && self.unsent == 0;
        if idle {
            self.limited_by = LimitedBy::Application;
            self.pacer.pause();
        }
        idle
    }

    /// Whether the next packet must wait for its time.
    #[inline]
    fn is_held(&mut self, now: Time, rate: Option<Rate>) -> bool {
        let held = rate.is_some() && self.pacer.holds(now);
        if held {
            self.limited_by = LimitedBy::Window;
        }
        held
    }

    /// The next data packet that may leave now.
    #[inline]
    pub(super) fn poll(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        if self.is_idle() {
            return None;
        }
        let rate = self.pacing(io.algorithm);
        if self.is_held(io.now, rate) {
            return None;
        }
        let Some(chunk) = self.poll_lost(io).or_else(|| self.poll_new(io)) else {
            self.pacer.pause();
            return None;
        };
        self.pace(io.now, rate, &chunk);
        self.count(io, &chunk);
        Some(chunk)
    }

    /// The controller's rate, below the application's limit.
    #[inline]
    fn pacing(&self, algorithm: &Algorithm) -> Option<Rate> {
        match (algorithm.pacing(), self.setup.rate_limit) {
            (Some(rate), Some(limit)) => Some(rate.min(limit)),
            (rate, limit) => rate.or(limit),
        }
    }

    /// An interval is that of a full packet, whatever the length, since SND counts packets.
    #[inline]
    fn pace(&mut self, now: Time, rate: Option<Rate>, chunk: &Chunk) {
        let Some(rate) = rate else {
            return self.pacer.on_unpaced(now);
        };
        let opens_pair = chunk.number.word().is_multiple_of(PAIR_EVERY) && !chunk.retransmission;
        if !(self.setup.pairs && opens_pair) {
            let full = Bytes::new(self.setup.payload.into());
            self.pacer.on_sent(now, rate, full);
        }
    }

    /// From now on packets leave in pairs, from which the peer measures the path's capacity.
    pub(super) fn send_pairs(&mut self) {
        self.setup.pairs = true;
    }

    /// The next packet of the loss list; those of given-up messages become drop requests.
    fn poll_lost(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        loop {
            let packet = self.losses.pop_first()?;
            let sent = self.sent[(packet - self.una) as usize];
            if sent.dropped || sent.expires <= io.now {
                self.drop_message(packet, io.stats);
                continue;
            }
            return Some(Chunk {
                number: self.numbering.wire(packet),
                offset: sent.offset,
                message: sent.message,
                length: sent.length,
                place: sent.place,
                in_order: sent.in_order,
                retransmission: true,
            });
        }
    }

    /// Gives up the message of a packet that was sent, and asks for a drop request.
    fn drop_message(&mut self, packet: u64, stats: &mut Stats) {
        let index = (packet - self.una) as usize;
        let message = self.sent[index].message;
        let same = |sent: &&Sent| sent.message == message;
        let before = self.sent.range(..index).rev().take_while(same).count();
        let after = self.sent.range(index + 1..).take_while(same).count();
        if !self.sent[index].dropped {
            stats.messages_expired += 1;
        }
        for sent in self.sent.range_mut(index - before..=index + after) {
            sent.dropped = true;
        }
        let (first, last) = (packet - before as u64, packet + after as u64);
        for gone in first..=last {
            self.losses.remove(gone);
        }
        // The rest of it will never be numbered.
        if let Some(waiting) = self.messages.front()
            && waiting.sent > 0
            && waiting.number == message
        {
            self.forget_message();
        }
        self.drops.push_back(Drop {
            message,
            first: self.numbering.wire(first),
            last: self.numbering.wire(last),
        });
    }

    /// Forgets what is left of the first waiting message.
    fn forget_message(&mut self) {
        if let Some(waiting) = self.messages.pop_front() {
            let left = waiting.length - waiting.sent;
            self.unsent -= left;
            self.offset += left;
        }
    }

    /// Messages that are too old before all of them was sent.
    fn expire(&mut self, io: &mut Io<'_>) {
        while let Some(waiting) = self.messages.front()
            && waiting.expires <= io.now
        {
            let (begun, number) = (waiting.sent > 0, waiting.number);
            if begun && self.sent.back().is_some_and(|sent| sent.message == number) {
                self.drop_message(self.nxt - 1, io.stats);
            } else {
                io.stats.messages_expired += 1;
                self.forget_message();
            }
        }
    }

    fn poll_new(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        if !self.setup.stream {
            self.expire(io);
        }
        if self.unsent == 0 {
            self.limited_by = LimitedBy::Application;
            return None;
        }
        let outstanding = self.nxt - self.una;
        if outstanding >= self.cwnd(io) {
            self.limited_by = LimitedBy::Window;
            return None;
        }
        if self.nxt >= self.edge || io.silent {
            self.limited_by = LimitedBy::Application;
            return None;
        }
        if outstanding == 0 {
            self.unheard_since = io.now;
        }
        Some(if self.setup.stream {
            let length = self.unsent.min(u64::from(self.setup.payload)) as u16;
            self.push(length, Place::Only, Time::NEVER, true)
        } else {
            self.poll_message()
        })
    }

    /// cwnd in packets, at least one (else nothing would ever move).
    fn cwnd(&self, io: &Io<'_>) -> u64 {
        match io.algorithm.window() {
            Window::Limited(bytes) => (bytes.count() / u64::from(self.setup.payload)).max(1),
            Window::Unlimited => u64::MAX,
        }
    }

    fn poll_message(&mut self) -> Chunk {
        let number = self.next_message;
        let waiting = self
            .messages
            .front_mut()
            .expect("unsent bytes are messages");
        let first = waiting.sent == 0;
        if first {
            waiting.number = number;
        }
        let left = waiting.length - waiting.sent;
        let length = left.min(u64::from(self.setup.payload));
        waiting.sent += length;
        let last = length == left;
        let (expires, in_order) = (waiting.expires, waiting.in_order);
        let chunk = self.push(length as u16, Place::of(first, last), expires, in_order);
        if last {
            self.messages.pop_front();
            self.take_message_number();
        }
        chunk
    }

    /// The library's numbers skip 0 when they wrap.
    fn take_message_number(&mut self) {
        let largest = max_message(self.setup.dialect);
        self.next_message = if self.next_message == largest {
            1
        } else {
            self.next_message + 1
        };
    }

    /// Numbers a new packet.
    fn push(&mut self, length: u16, place: Place, expires: Time, in_order: bool) -> Chunk {
        let message = self.next_message;
        let sent = Sent {
            offset: self.offset,
            expires,
            message,
            length,
            place,
            in_order,
            dropped: false,
        };
        self.sent.push_back(sent);
        let number = self.numbering.wire(self.nxt);
        self.nxt += 1;
        let bytes = u64::from(length);
        (self.offset, self.unsent) = (self.offset + bytes, self.unsent - bytes);
        self.outstanding += bytes;
        if self.setup.stream {
            self.take_message_number();
        }
        Chunk {
            number,
            offset: sent.offset,
            message,
            length,
            place,
            in_order,
            retransmission: false,
        }
    }

    fn count(&mut self, io: &mut Io<'_>, chunk: &Chunk) {
        io.stats.packets_sent += 1;
        io.stats.payload_sent += u64::from(chunk.length);
        io.stats.retransmissions += u64::from(chunk.retransmission);
        let mut cx = self.context(io.now, io.smoothed_rtt, io.capacity, io.rng);
        let size = Bytes::new(u64::from(chunk.length));
        io.algorithm.on_sent(&mut cx, size);
    }
}
