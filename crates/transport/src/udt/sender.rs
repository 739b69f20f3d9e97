//! The sender half: joins the backlog, the packets in flight, the flow window and the pacer
//! (draft-gg-udt-03, section 6.1). The loss list comes first, then new data within flow window and
//! cwnd. One packet leaves per SND interval, and the second of each pair immediately.
//!
//! Leaves out Nagle's algorithm.

use std::collections::VecDeque;

use incastle_congestion::{Algorithm, Context, Controller, LimitedBy, Window};
use incastle_units::{Bytes, Rate, Span, Time};
use rand_core::Rng;

use super::accurate_sender::AccurateSender;
use super::backlog::{Backlog, Message};
use super::config::ExpRepeat;
use super::estimates::Estimates;
use super::in_flight::{Acked, Chunk, Drop, InFlight, Lost};
use super::rate_samples::RateSamples;
use super::sequence::Number;
use super::stats::Stats;
use super::wire::{Dialect, Losses, SocketKind};
use crate::pacer::{Lags, Pacer};

/// A packet pair begins at every 16th number: its second packet leaves immediately.
const PAIR_EVERY: u32 = 16;

/// The parts of the connection that the sender needs.
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

/// The kind of an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckKind {
    /// One with nothing but the next packet expected.
    Light,
    /// A full one, the newest so far, with the receiver's free buffer in packets.
    Newest { free: u32 },
    /// A full one that a newer one has overtaken.
    Late,
}

/// The parameters of a sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct SenderSetup {
    pub(super) first: Number,
    pub(super) dialect: Dialect,
    pub(super) kind: SocketKind,
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
    agreed: u32,
    /// New packets stay below: its right edge.
    edge: u64,
}

impl FlowWindow {
    /// A window that is at most `agreed`, and `first` before the first ACK.
    pub(super) fn new(agreed: u32, first: u32) -> Self {
        assert!(first <= agreed, "a window grows to what was agreed");
        Self {
            agreed,
            edge: u64::from(first),
        }
    }

    /// The peer expects `next`, and has room for `free` packets. A free space beyond the agreed one
    /// is ignored.
    fn on_ack(&mut self, next: u64, free: u32) {
        self.edge = next + u64::from(free.min(self.agreed));
    }
}

/// The sender half. Packets are counted from 0.
pub(super) struct Sender {
    setup: SenderSetup,
    backlog: Backlog,
    in_flight: InFlight,
    window: FlowWindow,
    drops: VecDeque<Drop>,
    pub(super) estimates: Estimates,
    /// The next data packet carries CWR.
    pub(super) cwr_due: bool,
    pub(super) limited_by: LimitedBy,
    /// Acknowledged by light ACKs since the last full one.
    light: Acked,
    pub(super) pacer: Pacer,
    /// Since when an acknowledgement is missing.
    pub(super) unacknowledged_since: Time,
    /// The peer's counts, where ACKs are accurate.
    pub(super) accurate: Option<AccurateSender>,
    /// Whether the controller's window limits the packets in the network, and not those outstanding.
    pub(super) counts_network: bool,
    /// A NAK came since the last retransmission: one may leave beyond the window.
    nak_frees_one: bool,
    /// For a controller that takes samples of the delivery rate.
    pub(super) rates: Option<Box<RateSamples>>,
}

impl Sender {
    pub(super) fn new(setup: SenderSetup) -> Self {
        Self {
            backlog: Backlog::new(setup.kind),
            in_flight: InFlight::new(setup.first, setup.max_loss_ranges),
            window: FlowWindow::new(setup.flow_window, setup.flow_window),
            drops: VecDeque::new(),
            estimates: Estimates::new(setup.interface),
            cwr_due: false,
            limited_by: LimitedBy::Application,
            light: Acked::default(),
            pacer: Pacer::new(setup.lags),
            unacknowledged_since: Time::ZERO,
            accurate: None,
            counts_network: false,
            nak_frees_one: false,
            rates: None,
            setup,
        }
    }

    /// The agreed values replace the proposed ones. Nothing was sent yet.
    pub(super) fn agree(&mut self, dialect: Dialect, payload: u16, window: FlowWindow) {
        assert_eq!(
            self.in_flight.nxt(),
            0,
            "an agreement comes before the first packet"
        );
        self.setup.dialect = dialect;
        self.setup.payload = payload;
        self.window = window;
    }

    /// ACKs are accurate.
    pub(super) fn begin_accurate(&mut self) {
        self.accurate = Some(AccurateSender::new());
    }

    /// The controller is settled: whether its window limits what is in the network, and whether it takes samples of
    /// the delivery rate. Nothing was sent yet, or it takes none.
    pub(super) fn adapt(&mut self, counts_network: bool, samples_rate: bool) {
        self.counts_network = counts_network;
        let payload = self.setup.payload;
        self.rates = samples_rate.then(|| Box::new(RateSamples::new(payload)));
    }

    /// Packets that the window limits.
    fn in_network(&self) -> u64 {
        let (una, nxt) = (self.in_flight.una(), self.in_flight.nxt());
        match &self.accurate {
            Some(accurate) if self.counts_network => {
                accurate.in_network(una, nxt, self.in_flight.lost())
            }
            _ => self.in_flight.packets(),
        }
    }

    /// The round trip of a packet that was sent once and is outstanding.
    pub(super) fn round_trip_of(&self, now: Time, number: Number) -> Option<Span> {
        let sent_at = self.in_flight.sent_once_at(number)?;
        Some(now.saturating_since(sent_at))
    }

    /// The next accurate ACK covers what this one acknowledged.
    pub(super) fn keep_for_next(&mut self, acked: Acked) {
        self.light = acked;
    }

    /// The next new packet.
    pub(super) const fn nxt(&self) -> u64 {
        self.in_flight.nxt()
    }

    /// The longest message that the peer's buffer takes whole.
    pub(super) const fn max_message(&self) -> u64 {
        self.window.agreed as u64 * self.setup.payload as u64
    }

    const fn is_stream(&self) -> bool {
        matches!(self.setup.kind, SocketKind::Stream)
    }

    pub(super) const fn payload(&self) -> u16 {
        self.setup.payload
    }

    /// Everything below is acknowledged.
    #[inline]
    pub(super) const fn una(&self) -> u64 {
        self.in_flight.una()
    }

    pub(super) fn has_drop(&self) -> bool {
        !self.drops.is_empty()
    }

    /// Adds bytes to a stream.
    pub(super) fn write(&mut self, bytes: u64) {
        self.backlog.write(bytes);
    }

    /// Forgets data that were never sent; a message that was begun goes on.
    pub(super) fn forget_unsent(&mut self) {
        self.backlog.forget();
    }

    /// Adds a message.
    pub(super) fn write_message(&mut self, message: Message) {
        self.backlog.write_message(message);
    }

    /// Payload bytes written and not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.backlog.unsent() + self.in_flight.bytes()
    }

    /// Payload bytes written and never sent.
    pub(super) fn unsent(&self) -> u64 {
        self.backlog.unsent()
    }

    /// Whether everything written is acknowledged, or given up and confirmed so.
    pub(super) fn is_done(&self) -> bool {
        self.in_flight.is_empty() && self.backlog.unsent() == 0
    }

    pub(super) fn is_outstanding(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Everything below this offset will never be sent again.
    pub(super) fn acknowledged_offset(&self) -> u64 {
        let first = self.in_flight.first_offset();
        first.unwrap_or(self.backlog.offset())
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
            snd_una: self.in_flight.una(),
            snd_nxt: self.in_flight.nxt(),
            in_flight: Bytes::new(self.in_flight.bytes()),
            smoothed_rtt: Some(rtt),
            remaining: (!self.backlog.is_unlimited()).then_some(Bytes::new(self.unacknowledged())),
            deadline: None,
            receiving_rate: self.estimates.receiving_rate(self.setup.payload),
            capacity: configured.or_else(|| self.estimates.path_capacity(self.setup.payload)),
            rng,
        }
    }

    /// A cumulative acknowledgement: everything before `next` has arrived. Absent where that was never
    /// sent. A full one covers the light ones before it.
    pub(super) fn on_ack(&mut self, now: Time, next: Number, kind: AckKind) -> Option<Acked> {
        let next = self.in_flight.next_expected(next)?;
        let light = std::mem::take(&mut self.light);
        let new = self.in_flight.acknowledge(next);
        let acked = Acked {
            packets: light.packets + new.packets,
            bytes: light.bytes + new.bytes,
        };
        assert!(self.unacknowledged_since <= now, "time never runs back");
        self.unacknowledged_since = now;
        match kind {
            AckKind::Light => self.light = acked,
            AckKind::Newest { free } => self.window.on_ack(next, free),
            AckKind::Late => {}
        }
        Some(acked)
    }

    /// A NAK.
    pub(super) fn on_nak(&mut self, losses: Losses<'_>, stats: &mut Stats) -> Lost {
        let lost = self.in_flight.on_nak(losses, stats);
        self.nak_frees_one |= lost.packets > 0;
        lost
    }

    /// EXP has expired while something was outstanding.
    pub(super) fn on_exp(&mut self, repeat: ExpRepeat) {
        self.in_flight.on_exp(repeat);
    }

    /// A drop request that must be sent.
    pub(super) fn poll_drop(&mut self) -> Option<Drop> {
        self.drops.pop_front()
    }

    /// Whether certainly no data may leave now; messages may grow too old, which a poll finds out.
    #[inline]
    pub(super) fn is_quiet(&mut self, now: Time, algorithm: &Algorithm) -> bool {
        self.is_stream() && (self.is_idle() || self.is_held(now, self.pacing(algorithm)))
    }

    /// Whether there is nothing to send.
    #[inline]
    fn is_idle(&mut self) -> bool {
        let idle = !self.in_flight.has_losses() && self.backlog.unsent() == 0;
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

    /// An interval is that of a full packet, for any length, since SND counts packets.
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
    #[inline(always)]
    fn poll_lost(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        // A window limits retransmissions too, or a burst of losses would come back as one. But each NAK frees one, as
        // RFC 6675, section 5, step 4.3: packets whose loss the peer cannot know, since none came after them, would
        // fill the window for good, and the NAKs keep EXP from expiring.
        let freed = std::mem::take(&mut self.nak_frees_one);
        if self.counts_network && !freed && self.in_network() >= self.cwnd(io) {
            self.limited_by = LimitedBy::Window;
            return None;
        }
        loop {
            let packet = self.in_flight.pop_lost()?;
            if let Some(chunk) = self.in_flight.repeat(packet, io.now) {
                return Some(chunk);
            }
            self.drop_message(packet, io.stats);
        }
    }

    /// Gives up the message of a packet that was sent, and queues a drop request.
    #[cold]
    fn drop_message(&mut self, packet: u64, stats: &mut Stats) {
        stats.messages_expired += u64::from(!self.in_flight.is_given_up(packet));
        let drop = self.in_flight.give_up(packet);
        self.backlog.forget_rest_of(drop.message);
        self.drops.push_back(drop);
    }

    /// Messages that are too old before all of them was sent.
    fn expire(&mut self, io: &mut Io<'_>) {
        while let Some(expired) = self.backlog.expired(io.now) {
            if expired.begun && self.in_flight.last_message() == Some(expired.number) {
                self.drop_message(self.in_flight.nxt() - 1, io.stats);
            } else {
                io.stats.messages_expired += 1;
                self.backlog.forget_message();
            }
        }
    }

    fn poll_new(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        if !self.is_stream() {
            self.expire(io);
        }
        if self.backlog.unsent() == 0 {
            self.limited_by = LimitedBy::Application;
            return None;
        }
        let outstanding = self.in_flight.packets();
        if self.in_network() >= self.cwnd(io) {
            self.limited_by = LimitedBy::Window;
            return None;
        }
        if self.in_flight.nxt() >= self.window.edge || io.silent {
            self.limited_by = LimitedBy::Application;
            return None;
        }
        if outstanding == 0 {
            self.unacknowledged_since = io.now;
        }
        assert!(
            outstanding < u64::from(self.window.agreed),
            "the flow window is at most what was agreed"
        );
        let payload = self.backlog.take(self.setup.payload, self.setup.dialect);
        Some(self.in_flight.push(payload, io.now))
    }

    /// cwnd in packets, at least one (else nothing would ever move).
    fn cwnd(&self, io: &Io<'_>) -> u64 {
        match io.algorithm.window() {
            Window::Limited(bytes) => (bytes.count() / u64::from(self.setup.payload)).max(1),
            Window::Unlimited => u64::MAX,
        }
    }

    fn count(&mut self, io: &mut Io<'_>, chunk: &Chunk) {
        io.stats.packets_sent += 1;
        io.stats.payload_sent += u64::from(chunk.payload.length);
        io.stats.retransmissions += u64::from(chunk.retransmission);
        let mut cx = self.context(io.now, io.smoothed_rtt, io.capacity, io.rng);
        let size = Bytes::new(u64::from(chunk.payload.length));
        io.algorithm.on_sent(&mut cx, size);
        if self.rates.is_some() {
            self.sample(io, chunk);
        }
    }

    /// The outstanding packets between two numbers.
    pub(super) fn outstanding(&self, first: Number, last: Number) -> Option<std::ops::Range<u64>> {
        let (una, nxt) = (self.in_flight.una(), self.in_flight.nxt());
        let first = self.in_flight.index(first).unwrap_or(0).max(una);
        let last = self.in_flight.index(last).filter(|last| *last < nxt)?;
        (first <= last).then_some(first..last + 1)
    }

    /// A packet left whose delivery is sampled.
    fn sample(&mut self, io: &Io<'_>, chunk: &Chunk) {
        let packet = self.in_flight.index(chunk.number);
        let is_full = self.in_network() >= self.cwnd(io);
        let is_last = self.backlog.unsent() == 0 && !self.in_flight.has_losses();
        let rates = self.rates.as_mut().expect("the rate is sampled");
        rates.on_sent(packet.expect("what leaves is outstanding"), io.now);
        if is_full {
            rates.mark_cwnd_limited();
        } else if is_last {
            rates.mark_app_limited();
        }
    }
}
