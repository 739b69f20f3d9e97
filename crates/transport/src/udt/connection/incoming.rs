//! Packets that arrive at a connection. A packet that fails a check is counted and has no other
//! effect.

use incastle_congestion::{AckSample, CongestionEvent, Controller, Echo, Phase, Reaction};
use incastle_units::{Bytes, Ecn, Span, Time};
use rand_core::Rng;

use super::super::control_window::Refusal;
use super::super::in_flight::{Acked, Drop};
use super::super::modes::{Bits, Change};
use super::super::received::Received;
use super::super::receiver::Fate;
use super::super::sender::AckKind;
use super::super::sequence::Number;
use super::super::wire::{
    AckReport, Content, Control, ControlBody, ControlHeader, DataHeader, Dialect, Packet,
};
use super::{Connection, Event};

/// Longer round-trip times are ignored.
pub(super) const MAX_RTT_US: u32 = 60_000_000;

/// A full ACK.
#[derive(Debug, Clone, Copy)]
struct FullAck {
    number: Number,
    next: Number,
    ece: bool,
    not_ect: bool,
    report: AckReport,
    /// OBS of its header, and its place among the peer's control packets.
    observe: bool,
    index: u64,
}

/// A valid full ACK.
struct News<'a> {
    ack: &'a FullAck,
    /// Whether no later one has arrived.
    newest: bool,
    acked: Acked,
}

impl Connection {
    /// A packet arrived, with its body and the ECN field of its IP packet, or with that and its time
    /// stamp. Returns the number of a data packet (counted from 0) whose payload is new and must be
    /// kept, where the application does not read immediately.
    pub fn handle(
        &mut self,
        now: Time,
        packet: &Packet,
        body: ControlBody<'_>,
        received: impl Into<Received>,
        rng: &mut dyn Rng,
    ) -> Option<u64> {
        let now = self.clock.advance(now);
        if let ControlBody::Handshake(handshake) = body {
            // A peer that has not received our socket id writes to 0.
            if packet.destination == self.socket() || packet.destination == 0 {
                self.handle_handshake(now, handshake);
            } else {
                self.stats.refused.wrong_socket += 1;
            }
            return None;
        }
        if packet.destination != self.socket() {
            self.stats.refused.wrong_socket += 1;
            return None;
        }
        if !self.is_established() {
            self.stats.refused.wrong_state += 1;
            return None;
        }
        match &packet.content {
            Content::Data(header) => self.handle_data(now, header, received.into()),
            Content::Control(header) => {
                self.handle_control(now, header, body, rng);
                None
            }
        }
    }

    /// Bytes received that the application here has not taken: beyond a gap, or unread.
    pub fn held(&self) -> u64 {
        self.receiver.held()
    }

    fn handle_data(&mut self, now: Time, header: &DataHeader, received: Received) -> Option<u64> {
        let ecn = received.ecn;
        let stats = &mut self.stats;
        let fate = self.receiver.handle(now, header, received, stats);
        if fate == Fate::Refused {
            return None;
        }
        self.note_packet(now);
        if self.peering.speaks_dcudp() {
            if !(ecn.is_capable() | self.watch.not_ect) {
                self.watch.not_ect = true;
                self.set_clocks();
            }
            let (ce, cwr) = (ecn == Ecn::Ce, header.cwr);
            if self.watch.on_data(Bits { ce, cwr }) {
                self.receiver.ack.demand();
                self.set_ack_interval(now);
            }
        }
        let Fate::New(packet) = fate else {
            return None;
        };
        self.note_readable();
        Some(packet)
    }

    /// A packet came that the peer may well have sent.
    fn note_packet(&mut self, now: Time) {
        self.measure_response(now);
        self.exp.on_packet(now, &self.config);
        if !self.sender.is_outstanding() {
            self.exp.restart(now);
        }
    }

    fn note_readable(&mut self) {
        if self.receiver.readable() > 0 || self.receiver.next_message().is_some() {
            self.events.raise(Event::Readable);
        }
    }

    fn set_ack_interval(&mut self, now: Time) {
        let interval = self.watch.ack_interval(&self.rtt);
        self.receiver.ack.set_congested(now, interval);
    }

    /// Handlers return whether the packet is plausible.
    fn handle_control(
        &mut self,
        now: Time,
        header: &ControlHeader,
        body: ControlBody<'_>,
        rng: &mut dyn Rng,
    ) {
        let Some(index) = self.admit(header) else {
            return;
        };
        let believed = match header.control {
            Control::Handshake | Control::KeepAlive | Control::Warning => true,
            Control::Ack {
                number,
                next,
                ece,
                not_ect,
                report,
            } => {
                let ack = FullAck {
                    number,
                    next,
                    ece,
                    not_ect,
                    report,
                    observe: header.observe,
                    index,
                };
                self.handle_ack(now, &ack, rng)
            }
            Control::LightAck { next } => self.handle_light_ack(now, next),
            Control::AccurateAck(ack) => self.handle_accurate_ack(now, &ack, rng),
            Control::Nak => self.handle_nak(now, body, rng),
            Control::Shutdown { answers, gone } => self.handle_shutdown(answers, gone),
            Control::Ack2 { number } => self.handle_ack2(now, number),
            Control::Drop {
                message,
                first,
                last,
            } => self.handle_drop(
                now,
                Drop {
                    message,
                    first,
                    last,
                },
            ),
            Control::ObserveChange { change } => {
                let congested = header.observe;
                self.handle_change(
                    now,
                    Change {
                        number: change,
                        congested,
                    },
                )
            }
            Control::ObserveChanged { change } => {
                let is_current = self.control.mode.on_response(index, change);
                self.stats.refused.late_changes += u64::from(!is_current);
                is_current
            }
        };
        if believed {
            self.note_packet(now);
        }
    }

    /// The place of a control packet among the peer's; nothing where it was seen before.
    fn admit(&mut self, header: &ControlHeader) -> Option<u64> {
        if !self.peering.speaks_dcudp() {
            return Some(0);
        }
        match self.packets.admit(header.number) {
            Ok(index) => Some(index),
            Err(Refusal::Duplicate) => {
                self.stats.refused.duplicate_controls += 1;
                None
            }
            Err(Refusal::TooFarAhead) => {
                self.stats.refused.unbelievable_controls += 1;
                None
            }
        }
    }

    fn handle_light_ack(&mut self, now: Time, next: Number) -> bool {
        let before = self.sender.una();
        if self.sender.on_ack(now, next, AckKind::Light).is_none() {
            self.stats.refused.acks += 1;
            return false;
        }
        self.note_progress(now, before);
        true
    }

    /// An ACK sets EXP anew where it brings something new.
    pub(super) fn note_progress(&mut self, now: Time, una_before: u64) {
        if self.sender.una() > una_before {
            self.exp.restart(now);
        }
        self.check_done();
    }

    fn handle_ack(&mut self, now: Time, ack: &FullAck, rng: &mut dyn Rng) -> bool {
        let before = self.sender.una();
        let newest = self.packets.is_newest_ack(ack.number);
        let kind = if newest {
            AckKind::Newest {
                free: ack.report.free_packets,
            }
        } else {
            AckKind::Late
        };
        let Some(acked) = self.sender.on_ack(now, ack.next, kind) else {
            self.stats.refused.acks += 1;
            return false;
        };
        assert!(
            self.sender.una() >= before,
            "an acknowledgement takes nothing back"
        );
        self.stats.acks_received += 1;
        self.stats.ece_received += u64::from(ack.ece);
        self.packets.on_ack(ack.number);
        if newest {
            self.learn(&ack.report);
        }
        if self.peering.is_accurate() {
            // The counts of these packets come with the next accurate ACK.
            self.sender.keep_for_next(acked);
            self.note_progress(now, before);
            return true;
        }
        if ack.not_ect && self.control.ecn {
            self.lose_ecn(now);
        }
        self.report_ack(now, &News { ack, newest, acked }, rng);
        self.note_progress(now, before);
        true
    }

    /// Takes the peer's measurements.
    fn learn(&mut self, report: &AckReport) {
        // With accurate ACKs this endpoint measures itself.
        let reported = !self.peering.is_accurate();
        if reported && (1..=MAX_RTT_US).contains(&report.rtt_us) {
            self.rtt.smooth(Span::from_us(u64::from(report.rtt_us)));
            self.set_clocks();
        }
        self.sender.estimates.learn(report);
    }

    /// Order: `on_ack`, then `on_congestion(Ecn)`, then `on_congestion(Over)`.
    fn report_ack(&mut self, now: Time, news: &News<'_>, rng: &mut dyn Rng) {
        let News { ack, newest, acked } = *news;
        let over = newest && !ack.observe && self.control.mode.is_over(ack.index);
        // OBS = 1 reports a mark, should the ACK that echoed it be lost.
        let requests = newest && ack.observe && !self.control.mode.congested;
        let echoes = self.control.ecn && (ack.ece || requests);
        let rtt = Some(ack.report.rtt_us).filter(|us| (1..=MAX_RTT_US).contains(us));
        let sample = AckSample {
            acked: Bytes::new(acked.bytes),
            segments: acked.packets.max(1),
            echo: if echoes {
                Echo::Congestion
            } else {
                Echo::Clear
            },
            rtt: rtt.map(|us| Span::from_us(u64::from(us))),
            limited_by: self.sender.limited_by,
            phase: Phase::Open,
            hops: &[],
            hop_count: None,
            remote_delay: None,
        };
        let (smoothed, capacity) = (self.rtt.smoothed(), self.capacity());
        let mut cx = self.sender.context(now, smoothed, capacity, rng);
        self.control.algorithm.on_ack(&mut cx, &sample);
        if echoes && self.report(now, CongestionEvent::Ecn, rng) == Reaction::Reduced {
            self.stats.ecn_reductions += 1;
        }
        if over {
            self.report(now, CongestionEvent::Over, rng);
        }
        self.follow_mode(now);
        if newest && ack.observe {
            self.control.mode.on_requested(ack.index);
        }
    }

    /// The path clears ECT, or drops packets with it: marks would never come.
    pub(super) fn lose_ecn(&mut self, now: Time) {
        self.control.ecn = false;
        self.sender.cwr_due = false;
        if self.peering.is_accurate() {
            // Its controller goes on without marks, and is told so.
            self.control.algorithm.on_ecn_lost();
            self.events.raise(Event::NoEcn);
            return;
        }
        self.fall_back(Event::NoEcn);
        self.follow_mode(now);
    }

    fn handle_nak(&mut self, now: Time, body: ControlBody<'_>, rng: &mut dyn Rng) -> bool {
        let ControlBody::Losses(losses) = body else {
            return false;
        };
        self.stats.naks_received += 1;
        let lost = self.sender.on_nak(losses, &mut self.stats);
        if lost.packets == 0 {
            return false;
        }
        self.exp.restart(now);
        self.report_lost_ranges(now, losses, rng);
        if !self.reacts_to_loss(lost.largest) {
            return true;
        }
        let event = CongestionEvent::Loss {
            count: lost.packets,
            largest: lost.largest,
        };
        self.report(now, event, rng);
        true
    }

    fn handle_shutdown(&mut self, answers: bool, gone: bool) -> bool {
        if self.shutdown.on_peer_closed() {
            self.events.raise(Event::PeerClosed);
        }
        if gone {
            self.lose_peer();
            return true;
        }
        if self.shutdown.is_sent() {
            // It may not have received ours.
            self.shutdown
                .set_due(self.peering.speaks_dcudp() && !answers);
            self.end();
        }
        true
    }

    fn handle_ack2(&mut self, now: Time, number: Number) -> bool {
        let Some(sample) = self.receiver.ack.on_ack2(now, number) else {
            self.stats.refused.ack2s += 1;
            return false;
        };
        let extended = self.dialect() != Dialect::Udt;
        if extended && !self.rtt.is_measured() {
            self.rtt.begin(sample);
        } else {
            self.rtt.sample(sample);
        }
        self.set_clocks();
        if self.peering.speaks_dcudp() {
            self.watch.on_rtt(sample);
            self.set_ack_interval(now);
        }
        true
    }

    fn handle_drop(&mut self, now: Time, drop: Drop) -> bool {
        let stats = &mut self.stats;
        if !self.receiver.on_drop(now, drop, stats) {
            self.stats.refused.drops += 1;
            return false;
        }
        self.note_readable();
        true
    }

    fn handle_change(&mut self, now: Time, change: Change) -> bool {
        if !self.watch.on_change(change) {
            self.stats.refused.late_changes += 1;
            return false;
        }
        self.set_ack_interval(now);
        true
    }
}
