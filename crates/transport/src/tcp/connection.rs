//! One endpoint of a TCP connection: joins the handshake, the sender half and the receiver half.
//!
//! Models RFC 9293 without ports, checksums, urgent data, RST, TIME-WAIT (a closed endpoint
//! acknowledges every repeated FIN) and user timeouts (it never gives up).
//!
//! Call order: [`Connection::handle`], [`Connection::handle_timeout`] or an application call, then
//! [`Connection::poll_transmit`] until it gives `None`, [`Connection::poll_event`] likewise, and
//! [`Connection::poll_timeout`] last.

use std::sync::Arc;

use incastle_congestion::{Algorithm, ControlState, Controller, Echo, Phase};
use incastle_units::{Ecn, Rate, Span, Time};
use rand_core::Rng;

use super::config::{Config, EcnMode, Recovery};
use super::handshake::{Handshake, Role};
use super::io::{AckInfo, Io};
use super::receiver::{Ack, Arrival, Receiver};
use super::segment::{Flags, SackBlock, Segment};
use super::sender::{Chunk, Sender};
use super::sequence::{offset, wire};
use super::stats::{RackTlpStats, Stats};
use super::timeout::TimeoutReport;

/// An event for the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Data can flow. Connections without a handshake report it immediately.
    Connected,
    /// The peer closed its half, and all its data have arrived.
    PeerFinished,
    /// All written data (and the FIN, if closed) are acknowledged. Comes again after each further
    /// write.
    Finished,
}

impl Event {
    const ALL: [Self; 3] = [Self::Connected, Self::PeerFinished, Self::Finished];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A segment that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Whether it repeats something that was sent before.
    pub retransmission: bool,
}

/// The parts of a segment that its packet depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Whether it repeats something that was sent before.
    pub retransmission: bool,
}

/// One endpoint of a connection.
pub struct Connection {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) algorithm: Algorithm,
    /// Shared: connections of a group would else have a copy each.
    pub(super) config: Arc<Config>,
    pub(super) stats: Stats,
    pub(super) handshake: Handshake,
    /// Both endpoints use ECN.
    pub(super) ecn: bool,
    /// The codepoint of its ECN-capable packets.
    ect: Ecn,
    /// A bit for each event that waits.
    events: u8,
    /// SACK blocks of the segment polled last.
    sacks: u8,
}

impl Connection {
    /// An endpoint with a separate configuration. Panics where [`Config::check`] finds a
    /// mistake.
    pub fn new(config: &Config, algorithm: Algorithm, role: Role) -> Self {
        Self::sharing(Arc::new(*config), algorithm, role)
    }

    /// The same with a configuration that it shares with others.
    pub fn sharing(config: Arc<Config>, algorithm: Algorithm, role: Role) -> Self {
        assert_eq!(config.check(), Ok(()), "a checked configuration");
        assert!(
            !algorithm.samples_rate() || config.recovery == Recovery::RackTlp,
            "a controller that samples the delivery rate needs RACK-TLP"
        );
        let mut connection = Self {
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            algorithm,
            stats: Stats::default(),
            handshake: Handshake::new(&config, role),
            ecn: config.ecn != EcnMode::Off,
            ect: if config.l4s { Ecn::Ect1 } else { Ecn::Ect0 },
            events: 0,
            sacks: 0,
            config,
        };
        if connection.handshake.is_over() {
            connection.raise(Event::Connected);
        }
        connection
    }

    /// The application of the active endpoint opens the connection.
    pub fn open(&mut self, _now: Time) {
        self.handshake.open();
    }

    /// The application adds `bytes` to be sent; `u64::MAX / 2` and more is unlimited. Panics after
    /// [`Self::close`].
    pub fn write(&mut self, bytes: u64) {
        (self.sender).check_app_limited(&self.algorithm, &self.config);
        self.sender.stream.write(bytes);
    }

    /// Bytes written and never sent, behind which further ones change nothing; none where each write counts.
    pub fn unseen(&self) -> u64 {
        if self.algorithm.heeds_writes() || self.config.pacing.is_some() {
            return 0;
        }
        (self.sender.stream.written()).saturating_sub(self.sender.space.max())
    }

    /// Forgets all data that were never sent.
    pub fn stop(&mut self) {
        let max = self.sender.space.max();
        if self.sender.stream.written() > max {
            self.sender.stream.stop(max);
            self.check_finished();
        }
    }

    /// The application has nothing more to send: a FIN follows its data.
    pub fn close(&mut self) {
        self.sender.stream.close();
    }

    /// Whether the application takes data as they come (it does at first). Data not taken narrow
    /// the advertised window.
    pub fn set_reading(&mut self, reading: bool) {
        self.receiver.set_reading(reading, &self.config);
    }

    /// An application that does not take data as they come takes up to `bytes` now; gives how many
    /// there were.
    pub fn read(&mut self, bytes: u64) -> u64 {
        self.receiver.read(bytes, &self.config)
    }

    /// The application's deadline for its data; controllers may use it.
    pub fn set_deadline(&mut self, deadline: Option<Time>) {
        self.sender.stream.deadline = deadline.unwrap_or(Time::NEVER);
    }

    /// A segment arrived.
    #[inline(always)]
    pub fn handle(&mut self, now: Time, arrival: &Arrival<'_>, rng: &mut dyn Rng) {
        let segment = arrival.segment;
        self.sender.stream.limit.reconsider();
        if !self.handshake.is_over() && !self.handle_handshake(now, segment) {
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            // RFC 9293, section 3.10.7.4: a repeated SYN-ACK means that our ACK was lost.
            self.receiver.require_ack();
            return;
        }
        // With RACK a late duplicate report counts, too.
        if self.sender.space.awaits_ack() || self.sender.rack.is_some() {
            self.handle_ack(now, arrival, rng);
        } else {
            let ack = offset(segment.ack, self.sender.space.una());
            self.sender.note_window(ack, u64::from(segment.window));
        }
        let had_finished = self.receiver.finished();
        self.receiver
            .handle(now, arrival, &self.config, &mut self.stats);
        if self.receiver.finished() && !had_finished {
            self.raise(Event::PeerFinished);
        }
    }

    #[inline(always)]
    fn handle_ack(&mut self, now: Time, arrival: &Arrival<'_>, rng: &mut dyn Rng) {
        let segment = arrival.segment;
        let echoes = self.ecn && segment.flags.contains(Flags::ECE);
        let info = AckInfo {
            ack: offset(segment.ack, self.sender.space.una()),
            window: u64::from(segment.window),
            echo: if echoes {
                Echo::Congestion
            } else {
                Echo::Clear
            },
            timestamp: segment.echo,
            pure: segment.payload == 0 && !segment.flags.contains(Flags::FIN),
            sacks: arrival.sacks,
        };
        let (sender, mut io) = self.sending(now, rng);
        if sender.handle_ack(&mut io, &info) {
            self.check_finished();
        }
    }

    /// The instant of [`Self::poll_timeout`] has come; an early call does no harm.
    pub fn handle_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        self.sender.stream.limit.reconsider();
        self.receiver.on_timer(now);
        self.sender.pacer_timer(now);
        if self.sender.timer.at() <= now {
            if self.handshake.is_over() {
                let (sender, mut io) = self.sending(now, rng);
                sender.on_timeout(&mut io);
            } else {
                self.handshake_timeout(now, rng);
            }
        }
        if self.algorithm.next_timer().is_some_and(|at| at <= now) {
            let mut cx = self.sender.context(now, rng);
            self.algorithm.on_timer(&mut cx);
        }
    }

    /// The counters of RACK-TLP; zero without it.
    pub fn rack_tlp_stats(&self) -> RackTlpStats {
        let rack = self.sender.rack.as_ref();
        rack.map_or_else(RackTlpStats::default, |rack| rack.stats)
    }

    /// The report of a retransmission timeout that [`Self::handle_timeout`] found; taken once. The
    /// next report replaces one that was not taken.
    pub fn poll_timeout_report(&mut self) -> Option<TimeoutReport> {
        self.sender.take_report()
    }

    /// When to call [`Self::handle_timeout`]: the earliest of retransmission, delayed ACK, probe,
    /// controller and pacer.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let own = self.sender.wake().min(self.receiver.ack_at());
        let controller = self.algorithm.next_timer().unwrap_or(Time::NEVER);
        let at = own.min(controller);
        (at != Time::NEVER).then_some(at)
    }

    /// The next segment that leaves now.
    pub fn poll_transmit(&mut self, now: Time, rng: &mut dyn Rng) -> Option<Transmit> {
        let mut segment = Segment::EMPTY;
        let departure = self.poll_transmit_into(now, rng, &mut segment)?;
        Some(Transmit {
            segment,
            ecn: departure.ecn,
            retransmission: departure.retransmission,
        })
    }

    /// The same, written to where it belongs: a segment that is moved right after it was written
    /// field by field stalls the processor.
    #[inline(always)]
    pub fn poll_transmit_into(
        &mut self,
        now: Time,
        rng: &mut dyn Rng,
        out: &mut Segment,
    ) -> Option<Departure> {
        if !self.handshake.is_over() {
            return self.poll_handshake(now, rng, out);
        }
        if let Some(ack) = self.receiver.next_due(&self.config) {
            return Some(self.pure_ack(now, ack, out));
        }
        if self.sender.timer.take_probe() {
            return Some(self.probe(now, out));
        }
        if !self.sender.is_quiet() {
            let (sender, mut io) = self.sending(now, rng);
            if let Some(chunk) = sender.poll(&mut io) {
                return Some(self.data(now, &chunk, out));
            }
        }
        if self.receiver.wants_ack() {
            let ack = self.receiver.acknowledge(&self.config);
            return Some(self.pure_ack(now, ack, out));
        }
        None
    }

    /// Whether certainly nothing leaves now. Half of all polls end here, cheaply: an endpoint that only
    /// receives, between its ACKs.
    #[inline(always)]
    pub fn is_quiet(&mut self) -> bool {
        self.handshake.is_over() && self.receiver.is_quiet() && self.sender.is_quiet()
    }

    /// The host's NIC takes no more packets for now, although the window may be open. Until the
    /// next poll the NIC limits this sender, so that its window does not grow.
    #[inline]
    pub fn hold_back(&mut self) {
        self.sender.stream.limit.hold_back();
    }

    /// The SACK blocks of the segment that [`Self::poll_transmit`] gave last.
    pub fn sacks(&self) -> &[SackBlock] {
        if self.sacks == 0 {
            return &[];
        }
        self.receiver.sacks()
    }

    /// The next event.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if self.events == 0 {
            return None;
        }
        let event = Event::ALL
            .into_iter()
            .find(|event| self.events & event.bit() != 0)?;
        self.events &= !event.bit();
        Some(event)
    }

    /// In-order bytes delivered to the application here.
    pub fn delivered(&self) -> u64 {
        self.receiver.delivered()
    }

    /// Bytes received that the application here has not taken: beyond a gap, or unread.
    pub fn held(&self) -> u64 {
        self.receiver.held()
    }

    /// Bytes of the application here that the peer acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.snd_una().min(self.written())
    }

    /// Bytes that the application wrote here.
    pub fn written(&self) -> u64 {
        self.sender.stream.written()
    }

    /// SND.UNA, as an offset from the first data byte.
    pub fn snd_una(&self) -> u64 {
        self.sender.space.una()
    }

    /// SND.NXT, likewise. A retransmission timeout pulls it back.
    pub fn snd_nxt(&self) -> u64 {
        self.sender.space.nxt()
    }

    /// The first sequence number that was never sent, likewise.
    pub fn snd_max(&self) -> u64 {
        self.sender.space.max()
    }

    /// Whether data can flow.
    pub fn is_established(&self) -> bool {
        self.handshake.is_over()
    }

    /// Whether both halves are closed: our FIN is acknowledged and the peer's has arrived.
    pub fn is_closed(&self) -> bool {
        self.sender.stream.fin_acknowledged(self.snd_una()) && self.receiver.finished()
    }

    /// Counters.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The controller's state, for probes.
    pub fn control_state(&self) -> ControlState {
        self.algorithm.state()
    }

    /// The rate at which segments leave one by one, for probes; none where nothing spaces them.
    pub fn pacing(&self) -> Option<Rate> {
        let sent = self.stats.segments_sent;
        self.sender.pacing(&self.config, &self.algorithm, sent)
    }

    /// Where loss recovery stands, for probes.
    pub fn phase(&self) -> Phase {
        self.sender.phase()
    }

    /// The smoothed round-trip time, once there was a sample.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.sender.timer.rto().smoothed()
    }

    /// The sender half and the parts of the connection that it needs.
    #[inline]
    fn sending<'a>(&'a mut self, now: Time, rng: &'a mut dyn Rng) -> (&'a mut Sender, Io<'a>) {
        let io = Io {
            now,
            config: &self.config,
            algorithm: &mut self.algorithm,
            rng,
            stats: &mut self.stats,
        };
        (&mut self.sender, io)
    }

    pub(super) fn raise(&mut self, event: Event) {
        self.events |= event.bit();
    }

    #[inline]
    fn check_finished(&mut self) {
        if self.sender.is_finished() {
            self.raise(Event::Finished);
        }
    }

    /// Writes a segment with an acknowledgement and nothing else yet.
    #[inline(always)]
    fn header(&mut self, now: Time, seq: u32, ack: Ack, out: &mut Segment) {
        let mut flags = Flags::ACK;
        if ack.echo {
            flags = flags.with(Flags::ECE);
        }
        self.sacks = ack.sacks;
        *out = Segment {
            timestamp: now,
            echo: if self.config.timestamps {
                ack.timestamp
            } else {
                Time::NEVER
            },
            seq,
            ack: wire(ack.next),
            window: self.receiver.window(ack.next, &self.config),
            payload: 0,
            flags,
            sacks: self.sacks,
        };
    }

    /// The ECN field of control packets and retransmissions (RFC 3168, section 6.1, forbids ECT).
    pub(super) fn control_ecn(&self) -> Ecn {
        if self.ecn && self.config.ect_on_control {
            self.ect
        } else {
            Ecn::NotEct
        }
    }

    #[inline(always)]
    fn pure_ack(&mut self, now: Time, ack: Ack, out: &mut Segment) -> Departure {
        self.stats.acks_sent += 1;
        // RFC 9293, section 3.10: SEQ = SND.NXT, that of all data ever sent.
        self.header(now, wire(self.snd_max()), ack, out);
        self.control_departure()
    }

    /// An empty segment that lies just before the peer's window, so that it must be acknowledged.
    fn probe(&mut self, now: Time, out: &mut Segment) -> Departure {
        self.stats.probes += 1;
        let ack = self.receiver.acknowledge(&self.config);
        let seq = wire(self.snd_una()).wrapping_sub(1);
        self.header(now, seq, ack, out);
        self.control_departure()
    }

    fn control_departure(&self) -> Departure {
        Departure {
            ecn: self.control_ecn(),
            retransmission: false,
        }
    }

    #[inline(always)]
    fn data(&mut self, now: Time, chunk: &Chunk, out: &mut Segment) -> Departure {
        let ack = self.receiver.acknowledge(&self.config);
        self.header(now, wire(chunk.seq), ack, out);
        out.payload = chunk.len;
        if chunk.fin {
            out.flags = out.flags.with(Flags::FIN);
        }
        if self.ecn && self.sender.take_cwr(chunk) {
            out.flags = out.flags.with(Flags::CWR);
        }
        // RFC 3168, section 6.1.5: retransmissions are not ECN-capable, unless the option is set.
        let ecn = match (self.ecn, chunk.retransmission || chunk.len == 0) {
            (true, false) => self.ect,
            (true, true) => self.control_ecn(),
            (false, _) => Ecn::NotEct,
        };
        Departure {
            ecn,
            retransmission: chunk.retransmission,
        }
    }
}
