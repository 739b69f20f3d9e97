//! The receiver half: reassembly, the advertised window, delayed and immediate ACKs (RFC 5681,
//! section 4.2; RFC 9293, section 3.8.6), and when marks are echoed.
//!
//! Leaves out: quick ACKs at the start of a connection and after losses, and discarding of data that was
//! reported.

use incastle_recovery::Interval;
use incastle_units::{Ecn, Time};

use super::config::{CeChange, Config};
use super::echo::EchoState;
use super::reassembly::Reassembly;
use super::segment::{Flags, SackBlock, Segment};
use super::sequence::{offset, wire};
use super::stats::Stats;

/// The content of an ACK.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    /// The next expected offset.
    pub(super) next: u64,
    /// Whether marks are echoed.
    pub(super) echo: bool,
    /// The timestamp to return.
    pub(super) timestamp: Time,
    /// The number of its SACK blocks, which [`Receiver::sacks`] gives.
    pub(super) sacks: u8,
}

/// An ACK that is settled before it leaves.
#[derive(Debug, Clone, Copy)]
struct Due {
    ack: Ack,
    /// The duplicate that it reports. An ACK settled before must not report it: its number may be lower, as if the
    /// duplicate lay beyond a gap. Then an ACK between the two may leave reported data at SND.UNA.
    duplicate: Option<SackBlock>,
}

/// Whether further segments follow at the same instant (receive offload).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batch {
    /// Yes: the decision to acknowledge in-order data waits for the last one.
    More,
    /// No.
    Last,
}

/// A segment that arrives.
#[derive(Debug, Clone, Copy)]
pub struct Arrival<'a> {
    /// The segment.
    pub segment: &'a Segment,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Its SACK blocks.
    pub sacks: &'a [SackBlock],
    /// Whether further segments of the same batch follow.
    pub batch: Batch,
}

/// Beyond the end of every stream.
const UNSEEN: u64 = u64::MAX;

/// The receiver's state for out-of-order data and partial ACKs; many receivers never need it.
#[derive(Debug, Clone, Default)]
struct Aside {
    /// ACKs whose content is settled: for out-of-order and repeated segments, and for segments
    /// before a change of the CE bit. They leave first, without data.
    due: Vec<Due>,
    reassembly: Reassembly,
}

impl Aside {
    /// Composes the SACK blocks of an ACK that is settled now; gives their number.
    #[inline(never)]
    fn compose_next(&mut self, config: &Config) -> u8 {
        let duplicate = self.reassembly.take_duplicate();
        self.compose(duplicate, config)
    }

    /// Composes the SACK blocks of an ACK that leaves now; gives their number.
    fn compose(&mut self, duplicate: Option<SackBlock>, config: &Config) -> u8 {
        if config.recovery.uses_sack() {
            self.reassembly.compose(duplicate)
        } else {
            0
        }
    }
}

/// The receiver half.
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    /// RCV.NXT.
    next: u64,
    /// Bytes that the application has taken.
    delivered: u64,
    /// The right edge that was advertised last.
    advertised: u64,
    /// Last.ACK.sent of RFC 7323.
    ack_sent: u64,
    /// TS.Recent of RFC 7323, or NEVER.
    recent: Time,
    /// When a delayed ACK leaves, or NEVER.
    ack_at: Time,
    /// Where the peer's FIN lies, or UNSEEN.
    fin_at: u64,
    /// Since there was something in it.
    aside: Option<Box<Aside>>,
    /// In-order segments that no ACK covers.
    pending: u32,
    echo: EchoState,
    /// The pending segments must not wait.
    immediate: bool,
    /// An ACK of everything must leave, on data if there is some.
    ack_now: bool,
    /// ACKs are due whose content is settled.
    settled: bool,
    reading: bool,
    fin_received: bool,
}

impl Receiver {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            next: 0,
            delivered: 0,
            advertised: config.receive_window.count(),
            ack_sent: 0,
            recent: Time::NEVER,
            ack_at: Time::NEVER,
            fin_at: UNSEEN,
            aside: None,
            pending: 0,
            echo: EchoState::new(config.ecn),
            immediate: false,
            ack_now: false,
            settled: false,
            reading: true,
            fin_received: false,
        }
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes received that the application has not taken: beyond a gap, or unread.
    pub(super) fn held(&self) -> u64 {
        let aside = self.aside.as_ref();
        let beyond = aside.map_or(0, |aside| aside.reassembly.bytes());
        self.in_order() - self.delivered + beyond
    }

    pub(super) fn finished(&self) -> bool {
        self.fin_received
    }

    pub(super) fn ack_at(&self) -> Time {
        self.ack_at
    }

    /// Whether no ACK must leave.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        !self.ack_now && !self.settled
    }

    /// Whether an ACK must leave even without data to carry it.
    pub(super) fn wants_ack(&self) -> bool {
        self.ack_now
    }

    /// The handshake negotiated no ECN.
    pub(super) fn disable_ecn(&mut self) {
        self.echo = EchoState::Off;
    }

    /// Takes the timestamp of a SYN.
    pub(super) fn note_timestamp(&mut self, timestamp: Time) {
        self.recent = timestamp;
    }

    /// An ACK of everything must leave.
    pub(super) fn require_ack(&mut self) {
        self.ack_now = true;
    }

    pub(super) fn on_timer(&mut self, now: Time) {
        if self.ack_at <= now {
            self.ack_at = Time::NEVER;
            self.ack_now = true;
        }
    }

    /// A segment of an established connection, without SYN.
    #[inline]
    pub(super) fn handle(
        &mut self,
        now: Time,
        arrival: &Arrival<'_>,
        config: &Config,
        stats: &mut Stats,
    ) {
        let segment = arrival.segment;
        if config.timestamps {
            self.update_timestamp(segment);
        }
        if segment.payload > 0 || segment.flags.contains(Flags::FIN) {
            stats.segments_received += 1;
            self.update_echo(arrival, config, stats);
            self.accept(segment, config, stats);
        } else if wire(self.next).wrapping_sub(segment.seq) == 1 {
            // A window probe (RFC 9293, section 3.8.6.1): an empty segment just outside the window,
            // which must be acknowledged (section 3.10.7.4).
            self.queue_ack();
        }
        if self.pending > 0 && arrival.batch == Batch::Last {
            self.decide(now, config);
        }
    }

    /// RFC 7323, section 4.3: the timestamp of the first segment that the next ACK covers.
    #[inline]
    fn update_timestamp(&mut self, segment: &Segment) {
        let ahead = segment.seq.wrapping_sub(wire(self.ack_sent)).cast_signed();
        if ahead <= 0 && (self.recent == Time::NEVER || segment.timestamp >= self.recent) {
            self.recent = segment.timestamp;
        }
    }

    #[inline]
    fn update_echo(&mut self, arrival: &Arrival<'_>, config: &Config, stats: &mut Stats) {
        stats.ce_received += u64::from(arrival.ecn == Ecn::Ce);
        if let Some(kind) = self.echo.change(arrival.ecn) {
            // RFC 8257, section 3.2, and figure 10 of the DCTCP paper: segments before the change
            // are acknowledged with the old echo.
            if self.pending > 0 {
                self.queue_ack();
            }
            self.immediate = kind == CeChange::Linux;
        }
        let flags = arrival.segment.flags;
        if config.quick_acks_on_ecn {
            self.immediate |= self.echo.is_quick(arrival.ecn, flags);
        }
        self.echo.on_packet(arrival.ecn, flags);
    }

    #[inline]
    fn accept(&mut self, segment: &Segment, config: &Config, stats: &mut Stats) {
        let seq = offset(segment.seq, self.next);
        let sent_end = seq + u64::from(segment.payload);
        let end = sent_end.min(self.edge(config));
        // RFC 9293, section 3.10.7.4: neither data nor a FIN is processed once a FIN was received.
        let open = !self.fin_received;
        if open && segment.flags.contains(Flags::FIN) && end == sent_end {
            self.fin_at = end;
        }
        if open && seq <= self.next && (end > self.next || self.fin_at == self.next) {
            if config.dsack && (seq < self.next || self.holds_data()) {
                self.report_part(seq, end);
            }
            self.accept_in_order(end);
            return;
        }
        // RFC 5681, section 4.2: an out-of-order segment is acknowledged immediately; RFC 9293,
        // section 3.10.7.4: an unacceptable one too.
        let above = open && end > seq && seq > self.next;
        let part = self.received_before(seq, end).filter(|_| above);
        let new = above && self.aside().reassembly.insert(seq, end);
        stats.duplicates_received += u64::from(!new);
        if config.dsack {
            let fin = u64::from(segment.flags.contains(Flags::FIN));
            let whole = Interval {
                start: seq,
                end: sent_end + fin,
            };
            let repeated = if new { part } else { Some(whole) };
            self.aside().reassembly.report_duplicate(repeated);
        }
        self.queue_ack();
    }

    /// Whether there are data beyond a gap.
    #[inline]
    fn holds_data(&self) -> bool {
        let aside = self.aside.as_ref();
        aside.is_some_and(|aside| !aside.reassembly.is_empty())
    }

    /// The first part of `start..end` that was received before.
    fn received_before(&self, start: u64, end: u64) -> Option<Interval> {
        if start < self.next {
            let end = end.min(self.next);
            return Some(Interval { start, end });
        }
        let held = &self.aside.as_ref()?.reassembly;
        held.first_within(start, end)
    }

    /// RFC 2883, section 4.2: a segment with new data repeats others. Its ACK leaves immediately, since it reports
    /// the segment that has triggered it.
    #[cold]
    fn report_part(&mut self, start: u64, end: u64) {
        let part = self.received_before(start, end);
        self.immediate |= part.is_some();
        self.aside().reassembly.report_duplicate(part);
    }

    #[inline]
    fn accept_in_order(&mut self, end: u64) {
        assert!(!self.fin_received, "nothing lies beyond the FIN");
        self.next = self.next.max(end);
        if let Some(aside) = &mut self.aside
            && !aside.reassembly.is_empty()
        {
            // RFC 5681, section 4.2: a segment that fills a gap, wholly or in part, is acknowledged
            // immediately.
            let next = aside.reassembly.advance(self.next);
            assert!(next >= self.next, "RCV.NXT never moves back");
            self.next = next;
            self.immediate = true;
        }
        if self.fin_at == self.next {
            self.next += 1;
            self.fin_received = true;
            self.immediate = true;
        }
        if self.reading {
            self.delivered = self.in_order();
        }
        self.pending += 1;
    }

    /// Bytes received without a gap.
    fn in_order(&self) -> u64 {
        self.next - u64::from(self.fin_received)
    }

    fn decide(&mut self, now: Time, config: &Config) {
        if self.immediate || self.pending >= config.delayed_ack_count {
            self.ack_now = true;
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + config.delayed_ack_timeout;
        }
    }

    /// Settles an ACK of everything so far.
    fn queue_ack(&mut self) {
        let ack = self.settle();
        let aside = self.aside();
        let duplicate = aside.reassembly.take_duplicate();
        aside.due.push(Due { ack, duplicate });
        self.settled = true;
    }

    /// The out-of-order state, allocated on first use.
    fn aside(&mut self) -> &mut Aside {
        self.aside.get_or_insert_default()
    }

    /// The ACK that a segment carries which leaves now.
    #[inline(always)]
    pub(super) fn acknowledge(&mut self, config: &Config) -> Ack {
        let sacks = match &mut self.aside {
            Some(aside) => aside.compose_next(config),
            None => 0,
        };
        Ack {
            sacks,
            ..self.settle()
        }
    }

    /// An ACK of everything so far, without its SACK blocks.
    #[inline(always)]
    fn settle(&mut self) -> Ack {
        self.pending = 0;
        self.immediate = false;
        self.ack_now = false;
        self.ack_at = Time::NEVER;
        self.ack_sent = self.next;
        Ack {
            next: self.next,
            echo: self.echo.echoes(),
            timestamp: self.recent,
            sacks: 0,
        }
    }

    /// The next settled ACK, which leaves now.
    #[inline(always)]
    pub(super) fn next_due(&mut self, config: &Config) -> Option<Ack> {
        if !self.settled {
            return None;
        }
        let aside = self.aside.as_mut()?;
        let Due { mut ack, duplicate } = aside.due.remove(0);
        self.settled = !aside.due.is_empty();
        assert!(ack.next <= self.next, "only what arrived is acknowledged");
        ack.sacks = aside.compose(duplicate, config);
        Some(ack)
    }

    /// The window advertised with an ACK of `next`, without silly window syndrome. Its right edge
    /// moves by at least a segment or half of the buffer (RFC 9293, section 3.8.6.2.2), and never
    /// back.
    #[inline(always)]
    pub(super) fn window(&mut self, next: u64, config: &Config) -> u32 {
        let edge = self.edge(config);
        assert!(
            edge >= self.advertised,
            "the window's edge never moves back"
        );
        if edge - self.advertised >= min_step(config) {
            self.advertised = edge;
        }
        self.advertised.saturating_sub(next) as u32
    }

    /// The right edge of the buffer.
    #[inline]
    fn edge(&self, config: &Config) -> u64 {
        self.delivered + config.receive_window.count()
    }

    /// The SACK blocks of the ACK that left last.
    pub(super) fn sacks(&self) -> &[SackBlock] {
        let aside = self.aside.as_ref();
        aside.map_or(&[], |aside| aside.reassembly.blocks())
    }

    /// The application starts or stops taking data as they come.
    pub(super) fn set_reading(&mut self, reading: bool, config: &Config) {
        self.reading = reading;
        if reading {
            self.read(u64::MAX, config);
        }
    }

    /// The application takes up to `bytes`; gives how many there were.
    pub(super) fn read(&mut self, bytes: u64, config: &Config) -> u64 {
        let taken = bytes.min(self.in_order() - self.delivered);
        self.delivered += taken;
        assert!(
            self.delivered <= self.in_order(),
            "only what arrived is taken"
        );
        // A window that opened is worth a separate ACK: the peer may be waiting for it.
        let step = self.edge(config) - self.advertised;
        if taken > 0 && step >= min_step(config) {
            self.ack_now = true;
        }
        taken
    }
}

/// The minimum step of the advertised right edge.
#[inline]
fn min_step(config: &Config) -> u64 {
    u64::from(config.mss).min(config.receive_window.count().div_ceil(2))
}
