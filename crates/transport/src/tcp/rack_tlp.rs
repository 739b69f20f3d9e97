//! The sender with loss detection by time (RFC 8985): joins the records of transmissions, RACK, tail loss
//! probes, proportional rate reduction, F-RTO and the undoing of needless reactions.
//!
//! One timer serves retransmission, reordering and probes (section 8).

mod marks;
mod sending;
mod usage;

use incastle_congestion::{
    CongestionEvent, ControlState, Controller, Echo, LimitedBy, Phase, WindowRule,
};
use incastle_recovery::{
    Acknowledged, Delivery, FRto, Flight, Interval, ProbeAck, Prr, Rack, Reordering, Signs,
    TailLossProbe, Undo, probe_timeout,
};
use incastle_units::{Bytes, Span, Time};

use super::io::{AckInfo, Io, Progress};
use super::loss_detection::LossDetection;
use super::recovery::Head;
use super::segment::SackBlock;
use super::sender::Sender;
use super::sequence::offset;
use super::stats::RackTlpStats;
use super::timer::Purpose;
use usage::{Usage, recover_fs};

/// The state of one sender.
pub(super) struct RackTlp {
    pub(super) flight: Flight,
    rack: Rack,
    probe: TailLossProbe,
    f_rto: FRto,
    /// In recovery, and after a mark, where it is on.
    prr: Option<Box<Prr>>,
    /// It reduces the window because of a mark, until data beyond this are acknowledged.
    marked_until: Option<u64>,
    undo: Option<Box<Undo>>,
    /// The first transmission after the last reaction to a loss.
    reacted_at: u64,
    /// The next retransmission leaves for any window.
    forced: bool,
    /// Under Linux's window rule.
    usage: Option<Box<Usage>>,
    /// When the reordering timer fires, or NEVER.
    reordering_at: Time,
    /// When a probe is due, or NEVER.
    probe_at: Time,
    /// When the retransmission timer fires, or NEVER.
    rto_at: Time,
    /// The last progress, for reports of timeouts, or NEVER.
    pub(super) progress_at: Time,
    pub(super) stats: RackTlpStats,
}

impl RackTlp {
    /// `sampled` where the controller takes samples of the delivery rate.
    pub(super) fn new(sampled: bool, rule: WindowRule) -> Self {
        Self {
            flight: Flight::new(sampled),
            rack: Rack::default(),
            probe: TailLossProbe::default(),
            f_rto: FRto::Off,
            prr: None,
            marked_until: None,
            undo: None,
            reacted_at: 0,
            forced: false,
            usage: (rule == WindowRule::Linux).then(Box::default),
            reordering_at: Time::NEVER,
            probe_at: Time::NEVER,
            rto_at: Time::NEVER,
            progress_at: Time::NEVER,
            stats: RackTlpStats::default(),
        }
    }

    /// Whether there is something to be sent that is not new.
    pub(super) fn wants_to_send(&self) -> bool {
        self.probe.due || self.flight.lost_segments() > 0
    }

    /// The segment at SND.UNA.
    pub(super) fn head(&self) -> Head {
        Head {
            repeated: self.flight.first().is_some_and(|first| first.repeated),
            reported_above: self.flight.sacked_octets() > 0,
        }
    }

    /// Whether an acknowledgement without reports can only be of data that arrived in order: it ends nothing
    /// and finds nothing.
    #[inline]
    fn is_calm(&self) -> bool {
        let no_timeout = self.f_rto == FRto::Off && self.reordering_at == Time::NEVER;
        no_timeout
            && self.prr.is_none()
            && self.probe.is_idle()
            && !self.flight.is_sampled()
            && self.rack.is_calm(&self.flight)
    }

    /// Data left up to `nxt`, or none could: `full` where the window has no room for a further segment.
    #[inline(always)]
    fn note_usage(&mut self, una: u64, nxt: u64, full: bool) {
        if let Some(usage) = &mut self.usage {
            usage.note(una, nxt, full);
        }
    }

    /// The window: that of PRR, where a reduction is under way.
    #[inline]
    fn window(&self, cwnd: u64) -> u64 {
        self.prr.as_ref().map_or(cwnd, |prr| prr.cwnd())
    }

    /// RFC 8985, section 7.2: after new data, and after an acknowledgement of new data, outside of
    /// recovery and without reports; section 7.3: one probe at a time, with a round trip since the last.
    /// The RFC asks for the latter two when the timer fires, and then arms the retransmission timer anew.
    fn schedule_probe(&mut self, io: &Io<'_>, srtt: Option<Span>) {
        let config = io.config;
        let quiet = self.flight.sacked_segments() == 0 && !self.flight.is_empty();
        self.probe_at = Time::NEVER;
        if config.tail_loss_probe && quiet && self.probe.may_probe() {
            let beyond = LossDetection::beyond_round_trips(config, self.flight.len());
            let wait = probe_timeout(srtt, beyond);
            self.probe_at = io.now.saturating_add(wait);
        }
    }

    /// A reaction to loss begins: nothing else runs.
    fn react(&mut self) {
        self.probe.cancel();
        self.probe_at = Time::NEVER;
        self.forced = true;
        self.reacted_at = self.flight.transmissions();
        self.end_reduction();
        self.f_rto = FRto::Off;
    }
}

/// What an acknowledgement brought.
#[derive(Clone, Copy)]
struct News {
    delivery: Delivery,
    /// The segment reported as a duplicate.
    dsack: Option<Interval>,
    plain_duplicate: bool,
    /// A probe repaired a loss.
    repaired: bool,
    /// A recovery is over.
    recovered: bool,
}

/// The losses that were found.
struct Losses {
    /// There were no new ones.
    none: bool,
    /// Why the controller reacts, if it does.
    reaction: Option<Cause>,
}

/// The cause of a reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Losses outside of a recovery.
    Loss,
    /// The loss of a retransmission that left since the last reaction (RFC 5681, section 4.3: a second
    /// indication of congestion).
    LostRetransmission,
}

/// Whether an acknowledgement reports a duplicate (RFC 2883, section 5): its first block lies below the
/// acknowledgement, or inside the second block.
fn duplicate_report(info: &AckInfo<'_>) -> Option<Interval> {
    let first = place(*info.sacks.first()?, info.ack);
    let inside = info.sacks.get(1).is_some_and(|second| {
        let second = place(*second, info.ack);
        second.start <= first.start && first.end <= second.end
    });
    (first.end <= info.ack || inside).then_some(first)
}

/// The offsets of a block.
fn place(block: SackBlock, ack: u64) -> Interval {
    Interval {
        start: offset(block.start, ack),
        end: offset(block.end, ack),
    }
}

impl Sender {
    /// An acceptable acknowledgement arrived; gives whether it acknowledged something new.
    #[inline(never)]
    pub(super) fn handle_ack_by_time(
        &mut self,
        io: &mut Io<'_>,
        info: &AckInfo<'_>,
        edge_moved: bool,
    ) -> bool {
        let advanced = info.ack > self.space.una();
        let plain = advanced && info.sacks.is_empty() && self.recovery.phase() == Phase::Open;
        if plain && self.rack.as_ref().is_some_and(|rack| rack.is_calm()) {
            self.handle_calm_ack(io, info);
            return true;
        }
        self.handle_any_ack(io, info, edge_moved)
    }

    /// An acknowledgement of data that arrived in order, as nearly all are. The steps are those of
    /// [`Self::handle_any_ack`] without the ones that would do nothing.
    #[inline(always)]
    fn handle_calm_ack(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>) {
        let (una, written) = (self.space.una(), self.stream.written());
        let rtt = self.round_trip(io, info);
        self.timer.on_new_ack(rtt, &io.config.rto);
        self.space.acknowledge(info.ack);
        self.recovery.end_limited_transmit();
        let rack = self.rack.as_mut().expect("called where RACK is on");
        if rtt.is_some() {
            rack.probe.note_sample();
        }
        let last = rack.flight.acknowledge_calmly(info.ack);
        rack.rack.update_calmly(io.now, last, rtt);
        let progress = Progress {
            echo: info.echo,
            acked: info.ack.min(written) - una.min(written),
            rtt,
            limited_by: self.limited_by(io),
        };
        self.report_ack(io, progress);
        if self.is_reducing_for_mark() {
            self.reduce(io, info.ack - una, true);
        }
        self.restart_timers(io, true);
    }

    /// The limit on sending, for the controller.
    #[inline(always)]
    fn limited_by(&self, io: &Io<'_>) -> LimitedBy {
        let rack = self.rack.as_ref();
        match rack.and_then(|rack| rack.usage.as_ref()) {
            // `snd_cwnd_clamp`.
            Some(_) if io.window().limited_by == LimitedBy::Application => LimitedBy::Application,
            Some(usage) => usage.limited_by(&io.algorithm.state()),
            None => self.stream.limit.by(),
        }
    }

    /// Any acceptable acknowledgement; gives whether it acknowledged something new.
    #[inline(never)]
    fn handle_any_ack(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>, edge_moved: bool) -> bool {
        self.check_app_limited(io.algorithm, io.config);
        let (una, written) = (self.space.una(), self.stream.written());
        let flight_size = self.space.max() - una;
        let advanced = info.ack > una;
        let rtt = if advanced {
            self.round_trip(io, info)
        } else {
            None
        };
        if advanced {
            self.timer.on_new_ack(rtt, &io.config.rto);
            self.space.acknowledge(info.ack);
            self.recovery.end_limited_transmit();
        }
        let news = self.take_in(io, info, rtt, advanced || edge_moved);
        self.check_spurious(io, &news, advanced);
        let losses = self.detect(io, Some(&news));
        self.report_losses(io);
        let informs = advanced || news.delivery.octets > 0;
        io.stats.duplicate_acks += u64::from(informs && !advanced);
        if flight_size > 0 && (informs || info.pure || info.echo == Echo::Congestion) {
            let limited_by = if informs {
                self.limited_by(io)
            } else {
                LimitedBy::Application
            };
            let progress = Progress {
                acked: info.ack.min(written) - una.min(written),
                rtt,
                ..Progress::none(info.echo, limited_by)
            };
            self.report_ack(io, progress);
        }
        self.report_rate(io);
        if news.repaired {
            // RFC 8985, section 7.4.2: the controller reacts to the loss that a probe repaired.
            let event = CongestionEvent::Loss {
                count: 1,
                largest: una,
            };
            self.report_loss(io, event, flight_size);
        }
        if let Some(cause) = losses.reaction {
            self.begin_episode(io, cause, news.delivery.octets);
        }
        self.reduce(io, news.delivery.octets, losses.none && advanced);
        self.restart_timers(io, advanced);
        advanced
    }

    /// The records, RACK and the probe take in an acknowledgement.
    #[inline(always)]
    fn take_in(&mut self, io: &Io<'_>, info: &AckInfo<'_>, rtt: Option<Span>, moved: bool) -> News {
        let dsack = duplicate_report(info).filter(|_| io.config.dsack);
        let rack = self.rack.as_mut().expect("called where RACK is on");
        let plain_duplicate = !moved && info.pure && info.sacks.is_empty();
        let repaired = rack.probe.on_ack(ProbeAck {
            ack: info.ack,
            dsack_end: dsack.map(|block| block.end),
            plain_duplicate,
        });
        if rtt.is_some() {
            rack.probe.note_sample();
        }
        let echo = io.config.loss_detection.echo(info.timestamp);
        let mut delivery = rack.rack.delivery(io.now, info.ack, echo);
        let blocks = info.sacks.iter().map(|block| place(*block, info.ack));
        rack.flight
            .acknowledge(info.ack, blocks, |record| delivery.note(record));
        rack.rack.update(&delivery, rtt);
        News {
            delivery,
            dsack,
            plain_duplicate,
            repaired,
            recovered: self.recovery.end_if_covered(&self.space),
        }
    }

    /// F-RTO and duplicate reports: a reaction that was needless is undone.
    #[inline(always)]
    fn check_spurious(&mut self, io: &mut Io<'_>, news: &News, advanced: bool) {
        let rack = self.rack.as_mut().expect("called where RACK is on");
        if news.recovered {
            rack.end_reduction();
        }
        rack.end_reduction_for_mark(self.space.una());
        if (news.dsack.is_some() && rack.undo.is_some()) || rack.f_rto != FRto::Off {
            self.check_reaction(io, *news, advanced);
        }
    }

    /// Whether the last reaction was needless: then it is undone.
    #[cold]
    fn check_reaction(&mut self, io: &mut Io<'_>, news: News, advanced: bool) {
        let recover = self.recovery.recover().unwrap_or(0);
        let (una, nxt) = (self.space.una(), self.space.nxt());
        let unsent = nxt < self.stream.end() && self.space.room_from(nxt) > 0;
        let rack = self.rack.as_mut().expect("called where RACK is on");
        let duplicate = |undo: &mut Undo| news.dsack.is_some_and(|it| undo.on_duplicate(it.start));
        let needless = rack.undo.as_deref_mut().is_some_and(duplicate);
        let applies = advanced || news.delivery.octets > 0 || news.plain_duplicate;
        let spurious = applies
            && rack.f_rto.on_ack(Signs {
                advanced,
                original: news.delivery.original,
                beyond: una > recover || news.delivery.highest > recover,
                covered: una >= recover,
                unsent,
            });
        if rack.f_rto.is_probing() {
            // RFC 5682, section 3.1, step 2: RecoveryPoint is the highest number sent so far.
            self.recovery.extend(&self.space);
        }
        if (needless || spurious)
            && let Some(undo) = rack.undo.take()
        {
            io.algorithm.restore(&undo.before);
            rack.flight.unmark();
            rack.end_reduction();
            rack.f_rto = FRto::Off;
            rack.forced = false;
            self.recovery.reopen();
        }
    }

    /// RACK finds losses.
    #[inline(always)]
    fn detect(&mut self, io: &mut Io<'_>, news: Option<&News>) -> Losses {
        let recovering = self.recovery.phase() != Phase::Open;
        let srtt = self.timer.rto().smoothed();
        let rack = self.rack.as_mut().expect("called where RACK is on");
        if let Some(news) = news {
            rack.rack.adapt(Reordering {
                snd_una: self.space.una(),
                snd_nxt: self.space.nxt(),
                dsack: news.dsack.is_some(),
                recovered: news.recovered,
            });
        }
        let waited = rack.reordering_at != Time::NEVER;
        let before = rack.flight.lost_segments();
        let found = (rack.rack).detect(&mut rack.flight, io.now, recovering, srtt);
        rack.reordering_at = found.timer_at;
        if found.timer_at != Time::NEVER {
            let rto_at = (io.now).saturating_add(self.timer.rto().backed_off(&io.config.rto));
            rack.reordering_at = io.config.loss_detection.reordering(found.timer_at, rto_at);
        }
        if waited && rack.reordering_at == Time::NEVER {
            // The reordering timer had taken the place of the retransmission timer.
            self.timer.arm(io.now, &io.config.rto, io.rng);
            rack.rto_at = self.timer.at();
        }
        let lost = rack.flight.lost_segments();
        let again = found.lost_repeat.is_some_and(|it| it >= rack.reacted_at);
        let reaction = match self.recovery.phase() {
            Phase::Open if lost > 0 => Some(Cause::Loss),
            Phase::Recovery if again && io.config.loss_detection == LossDetection::Rfc => {
                Some(Cause::LostRetransmission)
            }
            Phase::Open | Phase::Recovery | Phase::AfterTimeout => None,
        };
        if reaction.is_some() {
            self.recovery.begin(&self.space);
        }
        Losses {
            none: lost <= before,
            reaction,
        }
    }

    /// A reaction to losses begins, by an acknowledgement of `delivered` octets or by the timer.
    #[cold]
    fn begin_episode(&mut self, io: &mut Io<'_>, cause: Cause, delivered: u64) {
        let (una, max) = (self.space.una(), self.space.max());
        let mut flight_size = max - una - self.recovery.limited_sent();
        let rack = self.rack.as_mut().expect("called where RACK is on");
        let reducing = rack.take_reduction_for_mark(io.config);
        rack.react();
        if cause == Cause::Loss {
            io.stats.fast_retransmits += 1;
            rack.undo = Some(Box::new(Undo::new(una, io.algorithm.state())));
        } else {
            // What was reported since the first reaction is still outstanding, but not in the network.
            flight_size = flight_size.min(io.window().cwnd);
        }
        if io.config.prr {
            // RFC 9937, section 6.1.
            let unreported = max - una - rack.flight.sacked_octets();
            let recover_fs = recover_fs(io.config, unreported + delivered, io.window().cwnd);
            rack.prr = reducing.or_else(|| Some(Box::new(Prr::new(recover_fs))));
        }
        let count = rack.flight.lost_segments();
        let largest = rack.flight.last_lost().map_or(una, |lost| lost.seq);
        self.report_loss(io, CongestionEvent::Loss { count, largest }, flight_size);
        self.recovery.end_limited_transmit();
    }

    /// Reports a loss to the controller, with FlightSize.
    #[cold]
    fn report_loss(&mut self, io: &mut Io<'_>, event: CongestionEvent, flight_size: u64) {
        let mut cx = self.context(io.now, io.rng);
        cx.in_flight = Bytes::new(flight_size);
        let reaction = io.algorithm.on_congestion(&mut cx, event);
        self.recovery.note_reaction(reaction);
    }

    /// PRR takes in an acknowledgement of a recovery.
    #[inline(always)]
    fn reduce(&mut self, io: &Io<'_>, delivered: u64, safe: bool) {
        let rack = self.rack.as_mut().expect("called where RACK is on");
        if let Some(prr) = &mut rack.prr {
            prr.on_ack(Acknowledged {
                delivered,
                inflight: rack.flight.pipe(),
                ssthresh: io.window().cwnd,
                safe,
                mss: u64::from(io.config.mss),
            });
        }
    }

    /// An acknowledgement was taken in. RFC 6298, sections 5.2 and 5.3.
    #[inline(always)]
    fn restart_timers(&mut self, io: &mut Io<'_>, advanced: bool) {
        let open = self.recovery.phase() == Phase::Open;
        let srtt = self.timer.rto().smoothed();
        let rack = self.rack.as_mut().expect("called where RACK is on");
        if advanced {
            rack.probe.due = false;
            rack.progress_at = io.now;
        }
        if advanced && self.space.awaits_ack() {
            self.timer.arm(io.now, &io.config.rto, io.rng);
            rack.rto_at = self.timer.at();
        }
        if !open || rack.flight.sacked_segments() > 0 {
            rack.probe_at = Time::NEVER;
            // The NIC has held it back until these reports, which may have the segment that it would repeat.
            rack.probe.due = false;
        } else if advanced {
            rack.schedule_probe(io, srtt);
        }
        self.choose_timer();
    }

    /// RFC 8985, section 8: the timers exclude each other.
    #[inline(always)]
    fn choose_timer(&mut self) {
        let rack = self.rack.as_mut().expect("called where RACK is on");
        if self.timer.is_persisting() {
            return;
        }
        if !self.space.awaits_ack() {
            rack.reordering_at = Time::NEVER;
            rack.probe_at = Time::NEVER;
            rack.rto_at = Time::NEVER;
        }
        let (purpose, at) = if rack.reordering_at != Time::NEVER {
            (Purpose::Reordering, rack.reordering_at)
        } else if rack.probe_at != Time::NEVER {
            // Section 7.2: never later than the retransmission timer.
            (Purpose::Probe, rack.probe_at.min(rack.rto_at))
        } else {
            (Purpose::Retransmission, rack.rto_at)
        };
        self.timer.set(purpose, at);
    }

    /// The reordering timer fired: RACK_detect_loss_and_arm_timer.
    pub(super) fn on_reordering_timeout(&mut self, io: &mut Io<'_>) {
        let lost = |sender: &Self| {
            sender
                .rack
                .as_ref()
                .map_or(0, |rack| rack.flight.lost_segments())
        };
        let before = lost(self);
        let losses = self.detect(io, None);
        let found = lost(self) - before;
        if let Some(rack) = &mut self.rack {
            rack.stats.reordering_losses += u64::from(found);
        }
        self.report_losses(io);
        if let Some(cause) = losses.reaction {
            // RFC 9937, section 6.1: nothing is newly delivered, so that RecoverFS is what is outstanding and not
            // reported. Linux then counts one segment as delivered, since no acknowledgement releases the fast
            // retransmit. Within a recovery section 6.2 counts at acknowledgements alone.
            self.begin_episode(io, cause, 0);
            self.reduce(io, u64::from(io.config.mss), false);
        }
        self.choose_timer();
    }

    /// RFC 8985, section 7.3: a probe leaves, and the retransmission timer runs in any case.
    pub(super) fn on_probe_timeout(&mut self, io: &mut Io<'_>) {
        self.timer.arm(io.now, &io.config.rto, io.rng);
        let rack = self.rack.as_mut().expect("called where RACK is on");
        rack.probe.due = true;
        rack.probe_at = Time::NEVER;
        rack.rto_at = self.timer.at();
        self.choose_timer();
    }

    /// The retransmission timer has fired and runs again. `before` is the controller's state before that,
    /// outside of a recovery.
    pub(super) fn on_timeout_by_time(&mut self, io: &mut Io<'_>, before: Option<ControlState>) {
        let (srtt, una) = (self.timer.rto().smoothed(), self.space.una());
        let rack = self.rack.as_mut().expect("called where RACK is on");
        // RFC 5682, section 3.1, step 1: not where a recovery or another timeout is not over. Where the same segment
        // times out again, it begins anew, and the first reaction is still the one in question.
        let again = rack.f_rto == FRto::Repeated;
        rack.react();
        rack.rack.mark_at_timeout(&mut rack.flight, io.now, srtt);
        if io.config.f_rto && (before.is_some() || again) {
            rack.f_rto = FRto::Repeated;
        }
        if !again {
            rack.undo = before.map(|before| Box::new(Undo::new(una, before)));
        }
        rack.reordering_at = Time::NEVER;
        rack.rto_at = self.timer.at();
        rack.progress_at = io.now;
        self.choose_timer();
        self.report_losses(io);
    }
}
