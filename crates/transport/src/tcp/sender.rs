//! The sender half: joins the stream, the send sequence variables, loss recovery, the retransmission
//! timer and the pacer (RFC 9293, section 3.8; RFC 5681). It reports to the controller.
//!
//! Leaves out: Nagle's algorithm (data leave immediately), urgent data, giving up on a silent peer.

mod resending;

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, Controller, Echo, LimitedBy, Paced,
    PacingRatio, Phase, Reaction,
};
use incastle_units::{Bytes, Rate, Span, Time};
use rand_core::Rng;

use super::config::{Config, Recovery};
use super::io::{AckInfo, Io, Progress, SendWindow, send_window};
use super::limit::Room;
use super::rack_tlp::RackTlp;
use super::recovery::{LossRecovery, NewAck, Timeout};
use super::send_space::SendSpace;
use super::stream::{Content, Stream};
use super::timeout::{TimeoutKind, TimeoutReport};
use super::timer::{Purpose, RetransmissionTimer};
use crate::pacer::Pacer;

/// Segments that leave before internal pacing spaces them (Linux 6.18, as `fq` once did).
const UNPACED_SEGMENTS: u64 = 10;

/// A segment to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Offset of its first byte.
    pub(super) seq: u64,
    pub(super) len: u16,
    pub(super) fin: bool,
    pub(super) retransmission: bool,
}

impl Chunk {
    /// The offset after its last octet, the FIN included.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.fin)
    }
}

/// The sender half.
pub(super) struct Sender {
    pub(super) stream: Stream,
    pub(super) space: SendSpace,
    pub(super) timer: RetransmissionTimer,
    pub(super) recovery: LossRecovery,
    /// With loss detection by time, from the first segment on: most endpoints send no data.
    pub(super) rack: Option<Box<RackTlp>>,
    /// While segments are paced.
    pacer: Option<Box<Pacer>>,
}

impl Sender {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            stream: Stream::new(),
            space: SendSpace::new(config.receive_window.count()),
            timer: RetransmissionTimer::new(&config.rto),
            recovery: LossRecovery::new(),
            rack: None,
            pacer: None,
        }
    }

    /// Whether everything written is acknowledged, the FIN included.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.space.una() == self.stream.end()
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.recovery.phase()
    }

    /// When to call [`Self::on_timeout`] or [`Self::pacer_timer`], or NEVER.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        let pacer = self.pacer.as_ref();
        let paced = pacer.map_or(Time::NEVER, |pacer| pacer.wake());
        self.timer.at().min(paced)
    }

    pub(super) fn pacer_timer(&mut self, now: Time) {
        if let Some(pacer) = &mut self.pacer {
            pacer.on_timer(now);
        }
    }

    /// The controller's view. FlightSize of RFC 5681 without the segments of limited transmit (RFC
    /// 3042, section 2); after a timeout, without the data given up.
    #[inline]
    pub(super) fn context<'a>(&self, now: Time, rng: &'a mut dyn Rng) -> Context<'a> {
        let (una, deadline) = (self.space.una(), self.stream.deadline);
        let in_flight = self.space.nxt() - una;
        Context {
            now,
            snd_una: una,
            snd_nxt: self.space.max(),
            in_flight: Bytes::new(in_flight.saturating_sub(self.recovery.limited_sent())),
            remaining: self.stream.remaining(una),
            deadline: (deadline != Time::NEVER).then_some(deadline),
            receiving_rate: None,
            capacity: None,
            smoothed_rtt: self.timer.rto().smoothed(),
            rng,
        }
    }

    /// Whether certainly nothing is to be sent: there is nothing, or the window was found full.
    #[inline(always)]
    pub(super) fn is_quiet(&mut self) -> bool {
        if self.stream.limit.is_full() {
            return true;
        }
        let sends = self.space.nxt() != self.stream.end()
            || self.recovery.phase() == Phase::Recovery
            || self.timer.is_probe_due()
            || self.rack.as_ref().is_some_and(|rack| rack.wants_to_send());
        if !sends {
            self.stream.limit.set(LimitedBy::Application);
        }
        !sends
    }

    /// The next segment that may leave now.
    #[inline(always)]
    pub(super) fn poll(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        let rate = self.pacing(io.config, io.algorithm, io.stats.segments_sent);
        if let Some(rate) = rate
            && self.is_held(io, rate)
        {
            self.stream.limit.set(LimitedBy::Window);
            return None;
        }
        let chunk = match self.recovery.phase() {
            _ if io.config.recovery == Recovery::RackTlp => self.poll_by_time(io)?,
            Phase::Recovery => self.poll_recovery(io)?,
            Phase::AfterTimeout if self.space.nxt() < self.space.max() => self.poll_go_back(io)?,
            Phase::Open | Phase::AfterTimeout => self.poll_new(io)?,
        };
        self.sent(io, &chunk, rate);
        Some(chunk)
    }

    /// Whether the next segment waits for its time. Where the one before left unpaced, a controller's interval
    /// counts from it; Linux's internal pacing holds back only what follows a paced segment.
    #[inline]
    fn is_held(&mut self, io: &Io<'_>, rate: Rate) -> bool {
        let follows = self.space.max() > 0 && io.config.pacing.is_none();
        let last = self.timer.last_sent();
        let pacer = self.pacer.get_or_insert_with(|| {
            let interval = rate.span_of(Bytes::new(u64::from(io.config.mss)));
            Box::new(if follows {
                Pacer::starting(last.saturating_add(interval))
            } else {
                Pacer::default()
            })
        });
        pacer.holds(io.now)
    }

    /// The rate at which segments leave, where there is one: the controller's, or that of internal pacing.
    #[inline(always)]
    pub(super) fn pacing(&self, config: &Config, algorithm: &Algorithm, sent: u64) -> Option<Rate> {
        if let Some(rate) = algorithm.pacing() {
            return Some(rate);
        }
        self.internal_pacing(config.pacing?, config, algorithm, sent)
    }

    #[cold]
    fn internal_pacing(
        &self,
        ratio: PacingRatio,
        config: &Config,
        algorithm: &Algorithm,
        sent: u64,
    ) -> Option<Rate> {
        // `tcp_update_skb_after_send`, Linux 6.18: the intervals after the first nine segments are zero.
        if sent + 1 < UNPACED_SEGMENTS {
            return None;
        }
        let cwnd = Bytes::new(send_window(algorithm, config).cwnd);
        let paced = Paced {
            outstanding: Bytes::new(self.space.max() - self.space.una()),
            rtt: self.timer.rto().smoothed()?,
        };
        Some(ratio.rate(cwnd, algorithm.state().ssthresh, paced))
    }

    /// Never-sent data, or the FIN.
    #[inline(always)]
    fn poll_new(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        let nxt = self.space.nxt();
        if nxt == self.stream.end() {
            self.stream.limit.set(LimitedBy::Application);
            return None;
        }
        let outstanding = self.recovery.outstanding(&self.space);
        if outstanding == 0 && io.config.slow_start_after_idle {
            self.check_idle(io);
        }
        let SendWindow { cwnd, limited_by } = io.window();
        let window = self.recovery.extended(cwnd, io.config);
        let wanted = self.stream.payload_from(nxt, io.config.mss);
        if outstanding + wanted > window {
            self.stream.limit.set(limited_by);
            self.stream.burst.end();
            return None;
        }
        let len = self.fit_peer_window(io, wanted, outstanding)?;
        let room = Room {
            outstanding,
            free: (window - outstanding).min(self.space.room_from(nxt)),
            unsent: self.stream.written().saturating_sub(nxt),
        };
        let gathers = io.config.burst > 1 && self.recovery.is_calm();
        if gathers && !self.stream.burst.may_leave(io.config, room) {
            self.stream.limit.set(limited_by);
            return None;
        }
        let left = outstanding + len;
        self.recovery
            .note_new_data(left.saturating_sub(cwnd.max(outstanding)));
        let next = self.stream.payload_from(nxt + len, io.config.mss);
        if self.recovery.phase() == Phase::Open && left + next > window {
            // The limit that the next poll would find, set here for a comparison.
            self.stream.limit.set_full(limited_by);
            self.stream.burst.end();
        }
        Some(self.chunk(nxt, nxt + len))
    }

    /// The part of `wanted` that fits into the peer's window. If the window is closed and nothing
    /// is outstanding that could bring an update, starts the persist timer (RFC 9293, section
    /// 3.8.6.1).
    #[inline]
    pub(super) fn fit_peer_window(
        &mut self,
        io: &mut Io<'_>,
        wanted: u64,
        outstanding: u64,
    ) -> Option<u64> {
        let room = self.space.room_from(self.space.nxt());
        if room >= wanted {
            return Some(wanted);
        }
        self.stream.limit.set(LimitedBy::Application);
        if outstanding > 0 {
            return None;
        }
        if room > 0 {
            return Some(room);
        }
        self.timer.begin_persist(io.now);
        None
    }

    /// RFC 5681, section 4.1.
    pub(super) fn check_idle(&mut self, io: &mut Io<'_>) {
        if self.space.max() > 0 && self.timer.take_idle(io.now) {
            let mut cx = self.context(io.now, io.rng);
            let _ = io
                .algorithm
                .on_congestion(&mut cx, CongestionEvent::IdleRestart);
        }
    }

    /// The segment of the octets `start..end`, plus the FIN where it follows the last byte.
    #[inline]
    pub(super) fn chunk(&self, start: u64, end: u64) -> Chunk {
        let Content { len, fin } = self.stream.content(start, end);
        Chunk {
            seq: start,
            len,
            fin,
            retransmission: start < self.space.max(),
        }
    }

    /// Accounts for a segment that leaves.
    #[inline(always)]
    fn sent(&mut self, io: &mut Io<'_>, chunk: &Chunk, rate: Option<Rate>) {
        let end = chunk.end();
        self.space.sent(chunk.seq, end);
        self.timer.on_sent(io.now, &io.config.rto, io.rng);
        if !io.config.timestamps {
            // Karn's rule: only segments sent once are timed, one at a time.
            if chunk.retransmission {
                self.timer.forget_timed();
            } else {
                self.timer.time(io.now, end);
            }
        }
        io.stats.segments_sent += 1;
        io.stats.payload_sent += u64::from(chunk.len);
        if chunk.retransmission {
            io.stats.retransmissions += 1;
            self.recovery
                .note_repeat(io.now, chunk.seq, self.space.una());
        }
        if self.rack.is_some() {
            self.sent_by_time(io, chunk);
        }
        let size = Bytes::new(u64::from(chunk.len));
        if let Some(rate) = rate {
            let pacer = self.pacer.get_or_insert_default();
            if io.config.pacing.is_some() {
                pacer.on_sent_with_credit(io.now, rate, size);
            } else {
                pacer.on_sent(io.now, rate, size);
            }
        } else {
            self.pacer = None;
        }
        if io.algorithm.uses_on_sent() {
            self.check_cwnd_limited(io);
            let mut cx = self.context(io.now, io.rng);
            io.algorithm.on_sent(&mut cx, size);
        }
    }

    /// Takes the duty to send CWR.
    #[inline]
    pub(super) fn take_cwr(&mut self, chunk: &Chunk) -> bool {
        !chunk.retransmission && chunk.len > 0 && self.recovery.take_cwr()
    }

    /// Takes in the window of an acknowledgement; gives whether its right edge moved.
    #[inline]
    pub(super) fn note_window(&mut self, ack: u64, window: u64) -> bool {
        let moved = self.space.note_window(ack, window);
        if moved {
            self.timer.end_persist();
        }
        moved
    }

    /// An acknowledgement arrived while something is outstanding; gives whether it acknowledged
    /// something new.
    #[inline(always)]
    pub(super) fn handle_ack(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>) -> bool {
        if !self.space.accepts(info.ack) {
            return false;
        }
        let edge_moved = self.note_window(info.ack, info.window);
        io.stats.ece_received += u64::from(info.echo == Echo::Congestion);
        if self.rack.is_some() {
            return self.handle_ack_by_time(io, info, edge_moved);
        }
        let sack = io.config.recovery == Recovery::Sack;
        let reported = sack
            && !info.sacks.is_empty()
            && (self.recovery).update_scoreboard(info.sacks, info.ack, &self.space);
        if info.ack > self.space.una() {
            self.on_new_ack(io, info);
            return true;
        }
        // RFC 5681, section 2: the definition of a duplicate; RFC 6675, section 2: with SACK, one
        // that reports something new.
        let duplicate = if sack {
            reported
        } else {
            info.pure && !edge_moved
        };
        if duplicate {
            self.on_duplicate(io, info);
        } else if info.pure || info.echo == Echo::Congestion {
            self.report_no_progress(io, info.echo);
        }
        false
    }

    #[inline(never)]
    fn report_no_progress(&mut self, io: &mut Io<'_>, echo: Echo) {
        self.report_ack(io, Progress::none(echo, LimitedBy::Application));
    }

    #[inline(always)]
    fn on_new_ack(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>) {
        let (una, written) = (self.space.una(), self.stream.written());
        let rtt = self.round_trip(io, info);
        self.timer.on_new_ack(rtt, &io.config.rto);
        self.space.acknowledge(info.ack);
        let ack = NewAck {
            now: io.now,
            octets: info.ack - una,
            timestamp: info.timestamp,
        };
        let restart = self.recovery.on_new_ack(&self.space, io.config, ack);
        // RFC 6298, sections 5.2 and 5.3.
        if !self.space.awaits_ack() {
            self.timer.stop();
        } else if restart {
            self.timer.arm(io.now, &io.config.rto, io.rng);
        }
        let progress = Progress {
            echo: info.echo,
            acked: info.ack.min(written) - una.min(written),
            rtt,
            limited_by: self.stream.limit.by(),
        };
        self.report_ack(io, progress);
    }

    /// A round-trip sample: from the returned timestamp (RFC 7323, section 4.1), or from the timed
    /// segment.
    #[inline]
    pub(super) fn round_trip(&mut self, io: &Io<'_>, info: &AckInfo<'_>) -> Option<Span> {
        if io.config.timestamps {
            let known = info.timestamp != Time::NEVER;
            return known.then(|| io.now.saturating_since(info.timestamp));
        }
        self.timer.timed_round_trip(io.now, info.ack)
    }

    #[inline(never)]
    fn on_duplicate(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>) {
        io.stats.duplicate_acks += 1;
        let progress = Progress::none(info.echo, self.stream.limit.by());
        let timestamp = info.timestamp;
        let lost = (self.recovery).on_duplicate(&self.space, io.config, timestamp);
        if !lost {
            return self.report_ack(io, progress);
        }
        io.stats.fast_retransmits += 1;
        let event = self.recovery.start(&self.space, io.config);
        self.report_ack(io, progress);
        self.report(io, event);
        self.recovery.end_limited_transmit();
    }

    /// Reports the acknowledgement and its echo to the controller.
    #[inline(always)]
    pub(super) fn report_ack(&mut self, io: &mut Io<'_>, progress: Progress) {
        let Progress {
            echo,
            acked,
            rtt,
            limited_by,
        } = progress;
        let mss = u64::from(io.config.mss);
        let segments = if acked <= mss {
            1
        } else {
            acked.div_ceil(mss) as u32
        };
        let sample = AckSample {
            acked: Bytes::new(acked),
            segments,
            echo,
            rtt,
            limited_by,
            phase: if io.config.prr_on_ecn {
                self.phase_after_marks()
            } else {
                self.recovery.phase()
            },
            hops: &[],
            hop_count: None,
            remote_delay: None,
        };
        let mut cx = self.context(io.now, io.rng);
        io.algorithm.on_ack(&mut cx, &sample);
        if echo == Echo::Congestion {
            let before = io.window().cwnd;
            if self.report(io, CongestionEvent::Ecn) == Reaction::Reduced {
                io.stats.ecn_reductions += 1;
                if io.config.prr_on_ecn {
                    self.begin_reduction_for_mark(io.config, acked, before);
                }
            }
        }
    }

    /// Reports a congestion event to the controller.
    pub(super) fn report(&mut self, io: &mut Io<'_>, event: CongestionEvent) -> Reaction {
        let mut cx = self.context(io.now, io.rng);
        let reaction = io.algorithm.on_congestion(&mut cx, event);
        self.recovery.note_reaction(reaction);
        reaction
    }

    /// The retransmission or persist timer fired.
    pub(super) fn on_timeout(&mut self, io: &mut Io<'_>) {
        if self.timer.is_persisting() {
            if self.space.nxt() == self.stream.end() {
                // The application took back the waiting data.
                self.timer.end_persist();
            } else {
                self.timer.on_persist_timeout(io.now, &io.config.rto);
            }
            return;
        }
        if !self.space.awaits_ack() {
            self.timer.stop();
            return;
        }
        self.check_app_limited(io.algorithm, io.config);
        match self.timer.purpose() {
            Purpose::Retransmission => self.on_retransmission_timeout(io),
            Purpose::Reordering => self.on_reordering_timeout(io),
            Purpose::Probe => self.on_probe_timeout(io),
        }
    }

    fn on_retransmission_timeout(&mut self, io: &mut Io<'_>) {
        let backoff = self.timer.timeouts();
        let end = self.stream.end();
        let head = match &self.rack {
            Some(rack) => rack.head(),
            None => self.recovery.head(&self.space, backoff),
        };
        let kind = (self.recovery).timeout_kind(&self.space, io.config.mss, end, head);
        self.keep_report(io.now, io.config, kind, backoff);
        io.stats.timeouts += 1;
        let open = self.recovery.phase() == Phase::Open;
        let before = (open && self.rack.is_some()).then(|| io.algorithm.state());
        self.report(io, CongestionEvent::Timeout { backoff });
        self.recovery.on_timeout(&self.space);
        self.timer.back_off();
        self.timer.arm(io.now, &io.config.rto, io.rng);
        if self.rack.is_some() {
            self.on_timeout_by_time(io, before);
        } else {
            self.space.go_back();
        }
    }

    /// Keeps the report of a timeout, of a SYN's too; nothing has reacted to it yet.
    pub(super) fn keep_report(
        &mut self,
        now: Time,
        config: &Config,
        kind: TimeoutKind,
        backoff: u32,
    ) {
        let progress_at = match &self.rack {
            Some(rack) => rack.progress_at,
            None => self.recovery.partial_at(),
        };
        let timeout = Timeout {
            kind,
            backoff,
            waited: self.timer.waited(now, progress_at, &config.rto),
            rto: self.timer.rto().backed_off(&config.rto),
        };
        self.recovery.keep_report(&self.space, timeout);
    }

    /// Takes the report of the last timeout.
    pub(super) fn take_report(&mut self) -> Option<TimeoutReport> {
        self.recovery.take_report()
    }
}
