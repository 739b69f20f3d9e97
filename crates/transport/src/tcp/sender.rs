//! The sender half: sequence variables, what may leave and when (RFC 9293, section 3.8; RFC 5681;
//! RFC 3042), bursts, pacing and zero-window probes.
//!
//! Acknowledgements and timeouts are in `recovery`. Leaves out: Nagle's algorithm (data leave at
//! once), urgent data, giving up on a silent peer.

use incastle_congestion::{
    Algorithm, CongestionEvent, Context, Controller, LimitedBy, Phase, Reaction, Window,
};
use incastle_units::{Bytes, Rate, Serializer, Span, Time};
use rand_core::Rng;

use super::config::{Config, Recovery};
use super::losses::Losses;
use super::pacer::Pacer;
use super::rto::{Rto, doubled};
use super::sack::NextSeg;
use super::stats::Stats;

/// Written bytes from which on the rest counts as unlimited.
const UNLIMITED: u64 = u64::MAX / 4;

/// What the sender needs from the rest of the connection in each call.
pub(super) struct Io<'a> {
    pub(super) now: Time,
    pub(super) config: &'a Config,
    pub(super) algorithm: &'a mut Algorithm,
    pub(super) rng: &'a mut dyn Rng,
    pub(super) stats: &'a mut Stats,
}

impl Io<'_> {
    /// The controller's window, at least one segment (else nothing would ever move), and what it
    /// is called when it binds.
    #[inline]
    fn window(&self) -> (u64, LimitedBy) {
        let window = match self.algorithm.window() {
            Window::Limited(bytes) => bytes.count().max(u64::from(self.config.mss)),
            Window::Unlimited => UNLIMITED,
        };
        match self.config.max_cwnd {
            Some(max) if max.count() < window => (max.count(), LimitedBy::Application),
            _ => (window, LimitedBy::Window),
        }
    }
}

/// A segment to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Offset of its first byte.
    pub(super) seq: u64,
    pub(super) len: u16,
    pub(super) fin: bool,
    pub(super) retransmission: bool,
}

/// Without timestamps: the segment whose round trip is timed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timed {
    /// Its end.
    end: u64,
    /// When it left, or NEVER.
    at: Time,
}

impl Timed {
    /// No segment.
    pub(super) const NOTHING: Self = Self {
        end: 0,
        at: Time::NEVER,
    };

    pub(super) const fn new(end: u64, at: Time) -> Self {
        Self { end, at }
    }

    /// The end of the segment, and when it left.
    pub(super) fn segment(self) -> Option<(u64, Time)> {
        (self.at != Time::NEVER).then_some((self.end, self.at))
    }
}

/// The sender half.
///
/// Invariant: `una <= nxt <= max <= end()`, and `nxt == max` except after a timeout.
pub(super) struct Sender {
    /// SND.UNA.
    pub(super) una: u64,
    /// SND.NXT; a timeout pulls it back.
    pub(super) nxt: u64,
    /// Everything below was sent at least once.
    pub(super) max: u64,
    /// What the application wrote.
    pub(super) written: u64,
    /// The right edge of the peer's window; it never moves back.
    pub(super) edge: u64,
    /// Octets beyond the window that limited transmit sent.
    pub(super) limited_sent: u64,
    /// When the retransmission or persist timer fires, or NEVER.
    pub(super) timer_at: Time,
    pub(super) rto: Rto,
    pub(super) timed: Timed,
    /// The timestamp that the last new acknowledgement returned.
    pub(super) last_echo: Time,
    /// Since there was one, or a selective acknowledgement.
    pub(super) losses: Option<Box<Losses>>,
    /// Since the controller said a rate.
    pacer: Option<Box<Pacer>>,
    pub(super) dup_acks: u32,
    /// Timeouts since the last new acknowledgement.
    pub(super) timeouts: u32,
    pub(super) phase: Phase,
    pub(super) limited_by: LimitedBy,
    /// The window has no room for the next segment, and nothing has happened since that was found.
    full: bool,
    /// The segment at SND.UNA must be sent again, whatever the window says.
    pub(super) retransmit_head: bool,
    /// The next new data carry CWR.
    pub(super) cwr_due: bool,
    closed: bool,
    persisting: bool,
    probe_due: bool,
    /// How many probes left since the window closed.
    probes: u8,
    /// Segments of the current burst that may still leave.
    burst_left: u32,
    last_sent: Time,
    /// When the application wants its data to have arrived, or NEVER.
    pub(super) deadline: Time,
}

impl Sender {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            written: 0,
            edge: config.receive_window.count(),
            limited_sent: 0,
            timer_at: Time::NEVER,
            rto: Rto::new(&config.rto),
            timed: Timed::NOTHING,
            last_echo: Time::NEVER,
            losses: None,
            pacer: None,
            dup_acks: 0,
            timeouts: 0,
            phase: Phase::Open,
            limited_by: LimitedBy::Application,
            full: false,
            retransmit_head: false,
            cwr_due: false,
            closed: false,
            persisting: false,
            probe_due: false,
            probes: 0,
            burst_left: 0,
            last_sent: Time::ZERO,
            deadline: Time::NEVER,
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        assert!(!self.closed, "an application writes before it closes");
        self.full = false;
        self.written = self.written.saturating_add(bytes).min(u64::MAX / 2);
    }

    pub(super) fn close(&mut self) {
        self.full = false;
        self.closed = true;
    }

    /// Forgets what was never sent.
    pub(super) fn stop(&mut self) {
        self.written = self.written.min(self.max);
    }

    /// The end of the stream, FIN included.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.written + u64::from(self.closed)
    }

    /// Whether our FIN was sent and acknowledged.
    pub(super) fn fin_acknowledged(&self) -> bool {
        self.closed && self.una == self.end()
    }

    /// When the pacer lets a waiting segment go, or NEVER.
    #[inline]
    pub(super) fn pacer_wake(&self) -> Time {
        self.pacer
            .as_ref()
            .map_or(Time::NEVER, |pacer| pacer.wake())
    }

    pub(super) fn pacer_timer(&mut self, now: Time) {
        if let Some(pacer) = &mut self.pacer {
            pacer.handle_timeout(now);
        }
    }

    /// The controller's view. FlightSize of RFC 5681 without what limited transmit added (RFC 3042,
    /// section 2); after a timeout, without what it gave up.
    #[inline]
    pub(super) fn context<'a>(&self, now: Time, rng: &'a mut dyn Rng) -> Context<'a> {
        let remaining = self.written.saturating_sub(self.una);
        Context {
            now,
            snd_una: self.una,
            snd_nxt: self.max,
            in_flight: Bytes::new((self.nxt - self.una).saturating_sub(self.limited_sent)),
            remaining: (self.written < UNLIMITED).then_some(Bytes::new(remaining)),
            deadline: (self.deadline != Time::NEVER).then_some(self.deadline),
            receiving_rate: None,
            capacity: None,
            smoothed_rtt: self.rto.smoothed(),
            rng,
        }
    }

    /// Reports a congestion event; a reduction makes the next new data carry CWR (RFC 3168,
    /// section 6.1.2: whatever the reason for it).
    pub(super) fn report(&mut self, io: &mut Io<'_>, event: CongestionEvent) -> Reaction {
        let mut cx = self.context(io.now, io.rng);
        let reaction = io.algorithm.on_congestion(&mut cx, event);
        self.cwr_due |= reaction == Reaction::Reduced;
        reaction
    }

    /// Something has happened: what the last poll found about the window may no longer be so.
    #[inline(always)]
    pub(super) fn stir(&mut self) {
        self.full = false;
    }

    /// The host's adapter takes nothing more for now: until the next poll it limits this sender, not
    /// the window.
    pub(super) fn hold_back(&mut self) {
        self.full = false;
        self.limited_by = LimitedBy::Application;
    }

    /// Whether certainly nothing is to be sent: there is nothing, or the window was found full.
    #[inline(always)]
    pub(super) fn is_quiet(&mut self) -> bool {
        if self.full {
            return true;
        }
        if self.nxt != self.end() || self.phase == Phase::Recovery || self.probe_due {
            return false;
        }
        self.limited_by = LimitedBy::Application;
        true
    }

    /// The next segment that may leave now.
    #[inline]
    pub(super) fn poll(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        let rate = io.algorithm.pacing();
        if rate.is_some() && self.pacer.get_or_insert_default().holds(io.now) {
            self.limited_by = LimitedBy::Window;
            return None;
        }
        let chunk = match self.phase {
            Phase::Recovery => self.poll_recovery(io)?,
            Phase::AfterTimeout if self.nxt < self.max => self.poll_go_back(io)?,
            Phase::Open | Phase::AfterTimeout => self.poll_new(io)?,
        };
        self.sent(io, &chunk, rate);
        Some(chunk)
    }

    /// What counts against the window outside of SACK recovery.
    fn outstanding(&self) -> u64 {
        match self.scoreboard() {
            // What was reported before a timeout is not in the network after it.
            Some(scoreboard) if self.phase == Phase::AfterTimeout => {
                self.nxt - self.una - scoreboard.covered(self.una, self.nxt)
            }
            _ => self.nxt - self.una,
        }
    }

    /// Never-sent data, or the FIN.
    #[inline]
    fn poll_new(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        if self.nxt == self.end() {
            self.limited_by = LimitedBy::Application;
            return None;
        }
        let outstanding = self.outstanding();
        if outstanding == 0 && io.config.slow_start_after_idle {
            self.check_idle(io);
        }
        let (cwnd, limited_by) = io.window();
        let window = self.extended(cwnd, io.config);
        let unsent = self.written.saturating_sub(self.nxt);
        let wanted = unsent.min(u64::from(io.config.mss));
        if outstanding + wanted > window {
            self.limited_by = limited_by;
            self.burst_left = 0;
            return None;
        }
        let len = self.fit_peer_window(io, wanted, outstanding)?;
        let room = (window - outstanding).min(self.edge.saturating_sub(self.nxt));
        if io.config.burst > 1 && !self.burst_may_leave(io.config, outstanding, room, unsent) {
            self.limited_by = limited_by;
            return None;
        }
        self.limited_sent += (outstanding + len).saturating_sub(cwnd.max(outstanding))
            * u64::from(self.phase == Phase::Open);
        let next = (unsent - len).min(u64::from(io.config.mss));
        if self.phase == Phase::Open && outstanding + len + next > window {
            // What the next poll would find, found here for a comparison.
            self.limited_by = limited_by;
            self.burst_left = 0;
            self.full = true;
        }
        Some(self.chunk(self.nxt, self.nxt + len))
    }

    /// The window with what duplicate ACKs add to it.
    #[inline]
    fn extended(&self, cwnd: u64, config: &Config) -> u64 {
        match self.phase {
            // RFC 3042: one new segment for each of the first two duplicates.
            Phase::Open if self.dup_acks > 0 && config.limited_transmit => {
                cwnd + u64::from(self.dup_acks.min(2)) * u64::from(config.mss)
            }
            // RFC 6582: the inflated window.
            Phase::Recovery => cwnd.saturating_add_signed(self.inflation()),
            Phase::Open | Phase::AfterTimeout => cwnd,
        }
    }

    /// How much of `wanted` the peer's window takes; starts the persist timer where it is closed
    /// and nothing is under way that could bring news of it (RFC 9293, section 3.8.6.1).
    #[inline]
    fn fit_peer_window(&mut self, io: &mut Io<'_>, wanted: u64, outstanding: u64) -> Option<u64> {
        let room = self.edge.saturating_sub(self.nxt);
        if room >= wanted {
            return Some(wanted);
        }
        self.limited_by = LimitedBy::Application;
        if outstanding > 0 {
            return None;
        }
        if room > 0 {
            return Some(room);
        }
        if !self.persisting {
            self.persisting = true;
            self.probes = 0;
            self.timer_at = io.now.saturating_add(self.rto.base());
        }
        None
    }

    /// RFC 5681, section 4.1.
    fn check_idle(&mut self, io: &mut Io<'_>) {
        let idle = io.now.saturating_since(self.last_sent);
        if self.max > 0 && idle > self.rto.base() {
            self.last_sent = io.now;
            let mut cx = self.context(io.now, io.rng);
            let _ = io
                .algorithm
                .on_congestion(&mut cx, CongestionEvent::IdleRestart);
        }
    }

    /// Segmentation offload: permitted segments wait until `burst` of them (at most half a window)
    /// can leave together, nothing is outstanding, or all that is left fits.
    fn burst_may_leave(&mut self, config: &Config, outstanding: u64, room: u64, left: u64) -> bool {
        if self.phase != Phase::Open || self.dup_acks > 0 {
            return true;
        }
        if self.burst_left == 0 {
            let mss = u64::from(config.mss);
            let half = u64::midpoint(outstanding, room) / mss;
            let target = u64::from(config.burst).min(half).max(1) * mss;
            if outstanding > 0 && left > room && room < target {
                return false;
            }
            self.burst_left = room.div_ceil(mss).clamp(1, u64::from(u32::MAX)) as u32;
        }
        self.burst_left -= 1;
        true
    }

    /// Go-back-N after a timeout, around what was reported as received.
    fn poll_go_back(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        let mut limit = self.max;
        if let Some(scoreboard) = self.scoreboard() {
            let (start, end) = scoreboard.gap_after(self.nxt);
            self.nxt = start.min(self.max);
            limit = end.unwrap_or(self.max).min(self.max);
            if self.nxt == self.max {
                return self.poll_new(io);
            }
        }
        let end = limit.min(self.nxt + u64::from(io.config.mss));
        let (window, limited_by) = io.window();
        if self.outstanding() + (end - self.nxt) > window {
            self.limited_by = limited_by;
            return None;
        }
        Some(self.chunk(self.nxt, end))
    }

    fn poll_recovery(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        if self.retransmit_head {
            return Some(self.poll_head(io));
        }
        if io.config.recovery == Recovery::Sack {
            self.poll_sack(io)
        } else {
            self.poll_new(io)
        }
    }

    /// The first segment that is not acknowledged.
    fn poll_head(&mut self, io: &mut Io<'_>) -> Chunk {
        self.retransmit_head = false;
        let (una, max) = (self.una, self.max);
        let mut end = max.min(una + u64::from(io.config.mss));
        if let Some(scoreboard) = self.scoreboard_mut() {
            end = scoreboard.gap_after(una).1.unwrap_or(end).min(end);
            scoreboard.start(end);
            scoreboard.set_pipe(una, max, io.config.mss);
        }
        self.chunk(una, end)
    }

    /// Step C of RFC 6675, section 5.
    fn poll_sack(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        let mss = io.config.mss;
        let (una, max) = (self.una, self.max);
        let (cwnd, limited_by) = io.window();
        let scoreboard = self.scoreboard()?;
        if cwnd < scoreboard.pipe() + u64::from(mss) {
            self.limited_by = limited_by;
            return None;
        }
        // NextSeg, rules 1 to 4.
        let lost = scoreboard.next_hole(una, mss, false);
        let new = max < self.end() && self.has_peer_window(mss);
        if lost.is_none() && new {
            let len = self.unsent(mss);
            self.scoreboard_mut()?.add_to_pipe(len.max(1));
            return Some(self.chunk(max, max + len));
        }
        let recover = self.recover();
        let scoreboard = self.scoreboard_mut()?;
        let next = lost
            .or_else(|| scoreboard.next_hole(una, mss, true))
            .or_else(|| scoreboard.rescue(una, max, mss));
        let Some(segment) = next else {
            self.limited_by = LimitedBy::Application;
            return None;
        };
        scoreboard.retransmitted(segment, recover.unwrap_or(max));
        let (NextSeg::Lost(start, end)
        | NextSeg::Unknown(start, end)
        | NextSeg::Rescue(start, end)) = segment;
        scoreboard.add_to_pipe(end - start);
        Some(self.chunk(start, end))
    }

    fn unsent(&self, mss: u16) -> u64 {
        self.written.saturating_sub(self.max).min(u64::from(mss))
    }

    fn has_peer_window(&self, mss: u16) -> bool {
        self.edge.saturating_sub(self.max) >= self.unsent(mss)
    }

    /// The segment of the octets `start..end`, plus the FIN where it follows the last byte.
    #[inline]
    fn chunk(&self, start: u64, end: u64) -> Chunk {
        let data_end = end.min(self.written);
        Chunk {
            seq: start,
            len: data_end.saturating_sub(start) as u16,
            fin: self.closed && data_end == self.written,
            retransmission: start < self.max,
        }
    }

    /// Bookkeeping of a segment that leaves.
    #[inline]
    fn sent(&mut self, io: &mut Io<'_>, chunk: &Chunk, rate: Option<Rate>) {
        let end = chunk.seq + u64::from(chunk.len) + u64::from(chunk.fin);
        if self.phase == Phase::Recovery {
            self.nxt = self.nxt.max(end);
        } else {
            self.nxt = end;
        }
        self.max = self.max.max(end);
        self.last_sent = io.now;
        self.end_persist();
        if self.timer_at == Time::NEVER {
            self.arm(io);
        }
        if !io.config.timestamps {
            self.time_segment(io.now, chunk, end);
        }
        io.stats.segments_sent += 1;
        io.stats.payload_sent += u64::from(chunk.len);
        if chunk.retransmission {
            io.stats.retransmissions += 1;
            let una = self.una;
            self.losses().repeats.enter(chunk.seq, una, io.now);
        }
        if let Some(rate) = rate {
            let size = Bytes::new(u64::from(chunk.len));
            let pacer = self.pacer.get_or_insert_default();
            pacer.sent(io.now, Serializer::new(rate).span(size));
        }
        if io.algorithm.minds_sending() {
            let mut cx = self.context(io.now, io.rng);
            io.algorithm
                .on_sent(&mut cx, Bytes::new(u64::from(chunk.len)));
        }
    }

    /// Karn's rule: only segments sent once are timed, one at a time.
    fn time_segment(&mut self, now: Time, chunk: &Chunk, end: u64) {
        if chunk.retransmission {
            self.timed = Timed::NOTHING;
        } else if self.timed.segment().is_none() {
            self.timed = Timed::new(end, now);
        }
    }

    /// Starts the retransmission timer anew.
    #[inline]
    pub(super) fn arm(&mut self, io: &mut Io<'_>) {
        let timeout = self.rto.timeout(&io.config.rto, io.rng);
        self.timer_at = io.now.saturating_add(timeout);
    }

    /// The peer's window has opened.
    pub(super) fn end_persist(&mut self) {
        if self.persisting {
            self.persisting = false;
            self.probe_due = false;
            self.timer_at = Time::NEVER;
        }
    }

    /// Whether the timer that fired was the persist timer; then a probe is due.
    pub(super) fn persist_timer(&mut self, io: &mut Io<'_>) -> bool {
        if !self.persisting {
            return false;
        }
        if self.nxt == self.end() {
            // The application took back what was waiting.
            self.end_persist();
            return true;
        }
        self.probe_due = true;
        self.probes = self.probes.saturating_add(1);
        let wait: Span = doubled(self.rto.base(), self.probes, io.config.rto.max);
        self.timer_at = io.now.saturating_add(wait);
        true
    }

    /// Takes a zero-window probe that must leave.
    #[inline]
    pub(super) fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_due)
    }

    /// Takes the duty to say CWR.
    #[inline]
    pub(super) fn take_cwr(&mut self, chunk: &Chunk) -> bool {
        !chunk.retransmission && chunk.len > 0 && std::mem::take(&mut self.cwr_due)
    }
}
