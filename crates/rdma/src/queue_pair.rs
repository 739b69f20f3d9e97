//! A queue pair: joins its requester, its responder, the control and the timers.
//!
//! Both endpoints of a connection are alike. The NIC pulls: nothing leaves unless it asks. Call order:
//! [`QueuePair::post`], [`QueuePair::handle`] or [`QueuePair::handle_timeout`]; then
//! [`QueuePair::poll_control`] until it gives `None`, [`QueuePair::poll_event`] likewise, and
//! [`QueuePair::poll_timeout`] last. Whenever its port is free the NIC asks [`QueuePair::data_at`], and takes a packet
//! with [`QueuePair::poll_data`].
//!
//! A control packet has to be taken at the instant of the arrival that it answers: the network then puts the
//! telemetry of that arrival into the ACK.

use std::collections::VecDeque;
use std::sync::Arc;

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, Echo, Phase, Window,
};
use incastle_units::{Bytes, Ecn, Rate, Span, Time};
use rand_core::Rng;

use crate::config::{Config, Notification};
use crate::departures::Departures;
use crate::messages::{MessageId, Verb};
use crate::packet::{Arrival, Opcode, Packet};
use crate::psn::unwrap;
use crate::requester::{Next, Progress, Requester, Standing};
use crate::responder::{Request, Responder};
use crate::retry::Retry;
use crate::stats::Stats;

/// Calls of a controller's timer at one instant, after which it is no timer.
const MAX_TIMERS: u32 = 1000;

/// A congestion notification packet: annex A17, whose PSN is not used.
const CNP: Packet = Packet {
    timestamp: Time::NEVER,
    psn: 0,
    length: 0,
    msn: 0,
    payload: 0,
    opcode: Opcode::Cnp,
    ack_req: false,
    echo: false,
    retransmission: false,
};

/// An event for the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A message posted here is complete: acknowledged, or all its responses came. In the order of posting.
    Completed(MessageId),
    /// The last byte of a WRITE or SEND of the peer arrived. In the order of the peer's posting.
    Received {
        /// The kind of message.
        verb: Verb,
        /// Its length.
        bytes: u64,
    },
    /// The retry limit was exceeded: the queue pair is in its error state, and silent from now on.
    Failed,
}

/// When a data packet may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataAt {
    /// Now.
    Now,
    /// At this later instant, unless something changes before.
    At(Time),
    /// Not before something changes: there is nothing to send, or the window is full.
    Never,
}

/// One endpoint of a connection. Fields that one packet reads lie together: those of both roles, of the requester, of
/// the responder.
#[repr(C)]
pub struct QueuePair {
    /// A data packet or the request of a READ may leave from then on; NEVER while there is none. Kept up to date by
    /// [`Self::schedule`]: NICs ask for it more often than it changes.
    departs_at: Time,
    /// The next timer of the control since its last call, NEVER without a timer.
    control_at: Time,
    /// No further CNP leaves before.
    next_cnp: Time,
    /// In-order payload bytes that arrived.
    delivered: u64,
    config: Arc<Config>,
    /// A CNP has to leave.
    cnp_due: bool,
    /// The last data packet was a response; requests and responses take turns.
    response_left: bool,
    /// There was nothing to send, and the timers of the control waited.
    asleep: bool,
    failed: bool,
    /// The window of the control since its last call.
    window: Window,
    retry: Retry,
    departures: Departures,
    requester: Requester,
    stats: Stats,
    algorithm: Algorithm,
    responder: Responder,
    events: VecDeque<Event>,
}

impl QueuePair {
    /// An endpoint under this control. Panics where [`Config::check`] finds a mistake.
    pub fn new(config: Arc<Config>, algorithm: Algorithm) -> Self {
        assert_eq!(config.check(), Ok(()), "a checked configuration");
        let initial_psn = u64::from(config.initial_psn);
        Self {
            requester: Requester::new(initial_psn),
            responder: Responder::new(initial_psn),
            departures: Departures::new(algorithm.pacing()),
            window: algorithm.window(),
            control_at: algorithm.next_timer().unwrap_or(Time::NEVER),
            departs_at: Time::NEVER,
            algorithm,
            retry: Retry::new(),
            events: VecDeque::new(),
            stats: Stats::default(),
            delivered: 0,
            cnp_due: false,
            next_cnp: Time::ZERO,
            response_left: false,
            asleep: true,
            failed: false,
            config,
        }
    }

    /// The application posts a message of `bytes`, at least one.
    pub fn post(&mut self, verb: Verb, bytes: u64) -> MessageId {
        let id = self.requester.post(verb, bytes, &self.config);
        self.schedule();
        id
    }

    /// A packet arrived.
    #[inline(always)]
    pub fn handle(&mut self, now: Time, arrival: &Arrival<'_>, rng: &mut dyn Rng) {
        if self.failed {
            return;
        }
        self.wake_control(now, rng);
        // Nearly all packets, ahead of a table of the others.
        match arrival.packet.opcode {
            // These change nothing that this endpoint sends but its acknowledgements.
            Opcode::Send(_) | Opcode::Write(_) => return self.handle_request(now, arrival),
            Opcode::Ack | Opcode::Nak => self.handle_ack(now, arrival, rng),
            _ => self.handle_rarer(now, arrival, rng),
        }
        self.asleep = !self.is_active();
        self.schedule();
    }

    #[inline(never)]
    fn handle_rarer(&mut self, now: Time, arrival: &Arrival<'_>, rng: &mut dyn Rng) {
        match arrival.packet.opcode {
            Opcode::Send(_) | Opcode::Write(_) | Opcode::Ack | Opcode::Nak => {
                unreachable!("they are matched before")
            }
            Opcode::ReadRequest => self.handle_request(now, arrival),
            Opcode::Cnp => {
                self.stats.notifications += 1;
                self.report(now, CongestionEvent::Ecn, rng);
            }
            Opcode::ReadResponse(_) => {
                self.notice_mark(now, arrival, true);
                self.handle_response(now, arrival.packet, rng);
            }
        }
    }

    #[inline(always)]
    fn handle_request(&mut self, now: Time, arrival: &Arrival<'_>) {
        self.notice_mark(now, arrival, false);
        let echoes = self.config.notification == Notification::Echo;
        self.delivered += self.responder.handle(&mut Request {
            now,
            packet: arrival.packet,
            echo: echoes && arrival.ecn == Ecn::Ce,
            config: &self.config,
            stats: &mut self.stats,
            events: &mut self.events,
        });
    }

    /// Annex A17: a marked packet, in sequence or not, makes the receiver send a CNP.
    fn notice_mark(&mut self, now: Time, arrival: &Arrival<'_>, is_response: bool) {
        if arrival.ecn != Ecn::Ce || now < self.next_cnp {
            return;
        }
        let interval = match self.config.notification {
            Notification::Cnp(interval) => interval,
            Notification::Echo if is_response => Span::ZERO,
            Notification::Echo => return,
        };
        self.cnp_due = true;
        self.next_cnp = now.saturating_add(interval);
    }

    #[inline(always)]
    fn handle_ack(&mut self, now: Time, arrival: &Arrival<'_>, rng: &mut dyn Rng) {
        let packet = arrival.packet;
        let is_nak = packet.opcode == Opcode::Nak;
        let named = unwrap(packet.psn, self.requester.una());
        // An ACK names the last PSN that it acknowledges, a NAK the first that it does not.
        let Some(ack) = named.map(|named| named + u64::from(!is_nak)) else {
            return;
        };
        if ack > self.requester.max() {
            return;
        }
        let before = self.requester.standing();
        let (config, events) = (&self.config, &mut self.events);
        let progress = self.requester.acknowledge(ack, config, events);
        // A NAK of something older is a late copy.
        let follows = is_nak && ack >= self.requester.restart(config);
        self.stats.naks_received += u64::from(follows);
        let retried = self.recover(now, &before, progress, follows);
        let rtt = (packet.timestamp <= now).then(|| now - packet.timestamp);
        if let Some(rtt) = rtt {
            self.requester.sample_rtt(rtt);
        }
        if !self.algorithm.notes_ack(now) {
            let sample = AckSample {
                echo: if packet.echo {
                    Echo::Congestion
                } else {
                    Echo::Clear
                },
                rtt,
                hops: arrival.hops,
                hop_count: arrival.hop_count,
                ..self.requester.sample(&before)
            };
            let mut cx = Context {
                snd_una: self.requester.una_for_control(ack, &self.config),
                ..self.requester.context(now, rng)
            };
            self.algorithm.on_ack(&mut cx, &sample);
            self.follow_control();
        }
        if packet.echo {
            self.stats.notifications += 1;
            self.report(now, CongestionEvent::Ecn, rng);
        }
        if let Some(why) = retried {
            self.count_retry(now, why, rng);
        }
    }

    fn handle_response(&mut self, now: Time, packet: &Packet, rng: &mut dyn Rng) {
        let Some(psn) = unwrap(packet.psn, self.requester.una()) else {
            return;
        };
        let before = self.requester.standing();
        let (config, events) = (&self.config, &mut self.events);
        let payload = packet.payload;
        let Some(progress) = self.requester.on_response(psn, payload, config, events) else {
            return;
        };
        if progress == Progress::Complete {
            self.delivered += u64::from(payload);
        }
        let retried = self.recover(now, &before, progress, false);
        let mut sample = self.requester.sample(&before);
        if sample.acked > Bytes::new(0) {
            // WRITEs and SENDs before the READ: acknowledged, without a round-trip time. The response is no packet
            // of theirs.
            let own = u32::from(progress == Progress::Complete);
            sample.segments = (sample.segments - own).max(1);
            let mut cx = self.requester.context(now, rng);
            self.algorithm.on_ack(&mut cx, &sample);
            self.follow_control();
        }
        if let Some(why) = retried {
            self.count_retry(now, why, rng);
        }
    }

    /// After an answer: the timer starts again where it acknowledged something; the requester goes back after a
    /// NAK that it `follows`, or where responses are missing.
    fn recover(
        &mut self,
        now: Time,
        before: &Standing,
        progress: Progress,
        follows: bool,
    ) -> Option<Retried> {
        if self.requester.una() > before.una {
            let outstanding = self.requester.nxt() > self.requester.una();
            self.retry.on_progress(now, outstanding, &self.config);
        }
        let gap = progress == Progress::ReadsMissing && self.requester.asks_again();
        self.stats.read_retries += u64::from(gap);
        let why = match (follows, gap) {
            (true, _) => Retried::Nak,
            (false, true) => Retried::Gap,
            (false, false) => return None,
        };
        self.go_back(Phase::Recovery);
        Some(why)
    }

    /// The instant of [`Self::poll_timeout`] has come; an early call does no harm.
    pub fn handle_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        if self.failed {
            return;
        }
        self.wake_control(now, rng);
        if self.retry.deadline() <= now {
            self.stats.timeouts += 1;
            self.go_back(Phase::AfterTimeout);
            self.count_retry(now, Retried::Timeout, rng);
        }
        self.run_control_timers(now, rng);
        self.schedule();
    }

    /// When to call [`Self::handle_timeout`]: the earlier of retransmission timer and control. The timers of the
    /// control wait while there is nothing to send; they fire late, each for its instant, before the next packet.
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.failed {
            return None;
        }
        let control = if self.is_active() {
            self.control_at
        } else {
            Time::NEVER
        };
        let at = self.retry.deadline().min(control);
        (at != Time::NEVER).then_some(at)
    }

    /// The deadline of the retransmission timer; [`Time::NEVER`] where it does not run.
    pub const fn retry_at(&self) -> Time {
        if self.failed {
            return Time::NEVER;
        }
        self.retry.deadline()
    }

    /// The instant from which a data packet or the request of a READ may leave, which may be in the past; NEVER while there
    /// is none.
    pub const fn departs_at(&self) -> Time {
        self.departs_at
    }

    /// When a data packet or the request of a READ may leave.
    pub fn data_at(&self, now: Time) -> DataAt {
        match self.departs_at {
            Time::NEVER => DataAt::Never,
            at if at > now => DataAt::At(at),
            _ => DataAt::Now,
        }
    }

    /// When pacing lets another data packet leave, whatever the window, and whether there is one or not.
    pub const fn paced_until(&self) -> Time {
        self.departures.next()
    }

    /// Whether it has data that it has not sent.
    pub fn has_unsent(&self) -> bool {
        self.requester.unsent() > 0 || self.responder.has_response()
    }

    /// The next data packet or request of a READ, if one may leave now.
    #[inline(always)]
    pub fn poll_data(&mut self, now: Time, rng: &mut dyn Rng) -> Option<Packet> {
        if self.asleep && !self.failed {
            self.wake_control(now, rng);
            self.asleep = !self.is_active();
            self.schedule();
        }
        if self.departs_at > now {
            return None;
        }
        let responds = self.responds_next(now);
        let packet = if responds {
            self.responder.send_response(now, &self.config)
        } else {
            let packet = self.requester.send(now, self.window, &self.config);
            self.retry.on_sent(now, &self.config);
            packet
        };
        self.stats.sent += 1;
        if packet.retransmission {
            self.stats.retransmitted += 1;
            self.stats.retransmitted_bytes += u64::from(packet.payload);
        }
        if packet.is_data() {
            self.response_left = responds;
            let wire =
                packet.ip_bytes(&self.config.headers).count() + u64::from(self.config.framing);
            self.departures.on_sent(now, Bytes::new(wire), &self.config);
            if self.algorithm.uses_on_sent() {
                let size = Bytes::new(u64::from(packet.payload));
                let mut cx = self.requester.context(now, rng);
                self.algorithm.on_sent(&mut cx, size);
                self.follow_control();
            }
        }
        self.schedule();
        Some(packet)
    }

    /// Whether [`Self::poll_control`] may have a packet.
    pub const fn owes_control(&self) -> bool {
        self.cnp_due || self.responder.owes()
    }

    /// The next CNP, NAK or ACK that leaves.
    #[inline(always)]
    pub fn poll_control(&mut self) -> Option<Packet> {
        if self.failed {
            return None;
        }
        if std::mem::take(&mut self.cnp_due) {
            self.stats.cnps_sent += 1;
            return Some(CNP);
        }
        self.responder.poll(&mut self.stats)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// In-order payload bytes that arrived here: of WRITEs and SENDs of the peer, and of the responses to READs
    /// posted here.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Payload bytes of WRITEs and SENDs posted here that are still to be sent, or to be repeated.
    pub const fn unsent(&self) -> u64 {
        self.requester.unsent()
    }

    /// Payload bytes of WRITEs and SENDs that were sent and not acknowledged.
    pub const fn in_flight(&self) -> u64 {
        self.requester.in_flight()
    }

    /// Whether every message posted here is complete.
    pub fn is_finished(&self) -> bool {
        self.requester.is_finished()
    }

    /// Whether the retry limit was exceeded.
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Payload bytes acknowledged, of WRITEs and SENDs.
    pub const fn acknowledged(&self) -> u64 {
        self.requester.una_bytes()
    }

    /// Whether the last acknowledgement led its control to a rate, new or not.
    pub const fn has_rated(&self) -> bool {
        self.algorithm.has_rated()
    }

    /// Counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The controller's state, for probes.
    pub fn control_state(&self) -> ControlState {
        self.algorithm.state()
    }

    /// The rate at which data packets are paced, for probes.
    pub fn pacing(&self) -> Option<Rate> {
        self.algorithm.pacing()
    }

    /// Where loss recovery stands, for probes.
    pub const fn phase(&self) -> Phase {
        self.requester.phase()
    }

    /// The smoothed round-trip time, once there was a sample.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.requester.smoothed_rtt()
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Whether something is to be sent or outstanding.
    fn is_active(&self) -> bool {
        !self.requester.is_finished() || self.responder.has_response()
    }

    /// After every change: the instant from which the next packet may leave. The request of a READ is not paced.
    fn schedule(&mut self) {
        self.departs_at = match self.requester.next(self.window, &self.config) {
            _ if self.failed => Time::NEVER,
            Some(Next::ReadRequest) => Time::ZERO,
            Some(Next::Data) => self.departures.next(),
            None if self.responder.has_response() => self.departures.next(),
            None => Time::NEVER,
        };
    }

    /// Whether the packet whose turn it is, is a response: these and requests take turns.
    fn responds_next(&self, now: Time) -> bool {
        if !self.responder.has_response() {
            return false;
        }
        let held = now < self.departures.next();
        match self.requester.next(self.window, &self.config) {
            None => true,
            Some(Next::ReadRequest) if held => false,
            Some(_) => !self.response_left,
        }
    }

    /// Nothing is outstanding until the next packet leaves.
    fn go_back(&mut self, phase: Phase) {
        self.requester.go_back(phase, &self.config);
        self.retry.stop();
    }

    /// Counts a retry; the control learns of it, or the queue pair fails.
    fn count_retry(&mut self, now: Time, why: Retried, rng: &mut dyn Rng) {
        let Some(before) = self.retry.count(&self.config) else {
            self.failed = true;
            self.events.push_back(Event::Failed);
            return;
        };
        let event = match why {
            Retried::Timeout => CongestionEvent::Timeout {
                backoff: u32::from(before),
            },
            Retried::Nak => CongestionEvent::Loss {
                count: 1,
                largest: self.requester.una_bytes(),
            },
            // The peer lost it, whose control paces the responses.
            Retried::Gap => return,
        };
        self.report(now, event, rng);
    }

    fn report(&mut self, now: Time, event: CongestionEvent, rng: &mut dyn Rng) {
        let mut cx = self.requester.context(now, rng);
        let _ = self.algorithm.on_congestion(&mut cx, event);
        self.follow_control();
    }

    /// The timers of a control that waited fire now, each for its instant.
    fn wake_control(&mut self, now: Time, rng: &mut dyn Rng) {
        if self.asleep {
            self.run_control_timers(now, rng);
        }
    }

    fn run_control_timers(&mut self, now: Time, rng: &mut dyn Rng) {
        let (mut last, mut repeated) = (None, 0);
        while self.control_at <= now {
            let at = self.control_at;
            repeated = if last == Some(at) { repeated + 1 } else { 0 };
            assert!(repeated < MAX_TIMERS, "the timer of a control moves on");
            last = Some(at);
            let mut cx = self.requester.context(at, rng);
            self.algorithm.on_timer(&mut cx);
            self.follow_control();
        }
    }

    /// The control was called: its rate, window and timer may be others now.
    fn follow_control(&mut self) {
        let rate = self.algorithm.pacing();
        self.departures.set_rate(rate, &self.config);
        self.window = self.algorithm.window();
        self.control_at = self.algorithm.next_timer().unwrap_or(Time::NEVER);
    }
}

/// The reason of a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retried {
    /// A NAK.
    Nak,
    /// Missing responses of a READ.
    Gap,
    /// The retransmission timer.
    Timeout,
}
