//! The packets of a connection, in the order of sending: handshakes, ACK2s, changes of mode, NAKs,
//! ACKs, drop requests, keep-alives, the shutdown, data. Control packets are few, and data are sent
//! better once the peer has them.

use incastle_units::{Ecn, Span, Time};
use rand_core::Rng;

use super::super::config::ReportedRtt;
use super::super::in_flight::Chunk;
use super::super::sender::Io;
use super::super::sequence::Number;
use super::super::wire::{AckReport, Content, Control, ControlHeader, DataHeader, Packet};
use super::{Connection, Transmit};

/// A span in a field of whole microseconds.
pub(super) fn micros(span: Span) -> u32 {
    let us = span.as_ps() / Span::from_us(1).as_ps();
    u32::try_from(us).unwrap_or(u32::MAX)
}

/// The half of the endpoint that sends a control packet; the packet has that half's OBS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    Sender,
    Receiver,
}

impl Connection {
    /// Whether [`Self::poll_transmit`] would certainly give nothing now. A quick check after each event of a world; where it returns false, a poll may still give nothing.
    #[inline]
    pub fn is_quiet(&mut self, now: Time) -> bool {
        self.is_established()
            && !self.peering.is_response_due()
            && !self.has_control(now)
            && self.sender.is_quiet(now, &self.control.algorithm)
    }

    /// Whether it is quiet because data wait for their time, and [`Self::poll_timeout`] has returned that
    /// already: a write changes nothing then.
    #[inline]
    pub fn is_waiting(&mut self, now: Time) -> bool {
        self.sender.pacer.is_awaited() && self.is_quiet(now)
    }

    /// The next packet that leaves now.
    pub fn poll_transmit(&mut self, now: Time, rng: &mut dyn Rng) -> Option<Transmit> {
        let now = self.clock.advance(now);
        self.attachment.clear();
        if let Some(handshake) = self.poll_handshake(now) {
            return Some(handshake);
        }
        if !self.is_established() {
            // The last packet of a connection that could not deliver.
            let last = self.peering.has_failed() && self.shutdown.is_due();
            return last.then(|| self.shutdown(now));
        }
        if self.has_control(now)
            && let Some(control) = self.poll_control(now)
        {
            return Some(control);
        }
        self.poll_data(now, rng)
    }

    /// Whether a control packet may be due: all conditions of [`Self::poll_control`] in one test.
    #[inline]
    fn has_control(&self, now: Time) -> bool {
        let change = self.peering.speaks_dcudp()
            && (self.watch.response.is_some() | self.control.mode.is_due(now));
        change
            | self.receiver.has_report()
            | self.sender.has_drop()
            | self.packets.is_due()
            | self.shutdown.is_due()
    }

    fn poll_control(&mut self, now: Time) -> Option<Transmit> {
        if let Some(number) = self.packets.poll_ack2() {
            return Some(self.control(now, Half::Sender, Control::Ack2 { number }));
        }
        if self.peering.speaks_dcudp()
            && let Some(change) = self.poll_change(now)
        {
            return Some(change);
        }
        if self.receiver.poll_nak(&mut self.attachment.nak) {
            self.stats.naks_sent += 1;
            return Some(self.control(now, Half::Receiver, Control::Nak));
        }
        if let Some(number) = self.receiver.ack.poll_full(now) {
            return Some(self.full_ack(now, number));
        }
        if let Some(next) = self.receiver.ack.poll_light() {
            self.stats.light_acks_sent += 1;
            let next = self.receiver.numbering.wire(next);
            let ack = if self.peering.is_accurate() {
                self.accurate_ack(now, next)
            } else {
                Control::LightAck { next }
            };
            return Some(self.control(now, Half::Receiver, ack));
        }
        if let Some(drop) = self.sender.poll_drop() {
            let control = Control::Drop {
                message: drop.message,
                first: drop.first,
                last: drop.last,
            };
            return Some(self.control(now, Half::Sender, control));
        }
        if std::mem::take(&mut self.packets.keep_alive_due) {
            self.stats.keep_alives += 1;
            return Some(self.control(now, Half::Sender, Control::KeepAlive));
        }
        if !self.shutdown.is_due() {
            return None;
        }
        // With its shutdown a UDT endpoint is gone: arrived data are acknowledged first.
        if !self.peering.speaks_dcudp()
            && let Some(number) = self.receiver.ack.poll_last(now)
        {
            return Some(self.full_ack(now, number));
        }
        Some(self.shutdown(now))
    }

    fn poll_change(&mut self, now: Time) -> Option<Transmit> {
        if let Some(change) = self.watch.response.take() {
            return Some(self.control(now, Half::Receiver, Control::ObserveChanged { change }));
        }
        let change = self.control.mode.poll(now, self.rtt.smoothed())?;
        self.stats.changes_sent += 1;
        Some(self.control(now, Half::Sender, Control::ObserveChange { change }))
    }

    fn full_ack(&mut self, now: Time, number: Number) -> Transmit {
        self.stats.acks_sent += 1;
        let latest = self
            .dcudp()
            .is_some_and(|dcudp| dcudp.reported_rtt == ReportedRtt::Latest);
        let rtt = if latest {
            self.rtt.latest()
        } else {
            self.rtt.smoothed()
        };
        let speed = &self.receiver.speed;
        let report = AckReport {
            rtt_us: micros(rtt),
            variance_us: micros(self.rtt.variance()),
            free_packets: self.receiver.free(),
            receiving_packets_per_s: speed.receiving_rate().unwrap_or(0),
            capacity_packets_per_s: speed.capacity().unwrap_or(0),
        };
        let ack = Control::Ack {
            number,
            next: self.receiver.numbering.wire(self.receiver.next),
            ece: self.watch.take_echo(),
            not_ect: self.watch.not_ect,
            report,
        };
        self.control(now, Half::Receiver, ack)
    }

    fn shutdown(&mut self, now: Time) -> Transmit {
        if self.shutdown.on_sent() {
            self.exp.restart(now);
        }
        let answers = self.shutdown.has_peer_closed();
        // The library forgets a connection that it closes; a DCUDP peer responds.
        let failed = self.peering.has_failed();
        if !failed && (answers || !self.peering.speaks_dcudp()) {
            self.end();
        }
        let shutdown = Control::Shutdown {
            answers,
            gone: failed,
        };
        self.control(now, Half::Sender, shutdown)
    }

    fn poll_data(&mut self, now: Time, rng: &mut dyn Rng) -> Option<Transmit> {
        let silent = self.is_silent(now);
        let idle = !self.sender.is_outstanding();
        let capacity = self.capacity();
        let mut io = Io {
            now,
            algorithm: &mut self.control.algorithm,
            rng,
            stats: &mut self.stats,
            smoothed_rtt: self.rtt.smoothed(),
            capacity,
            silent,
        };
        let Some(chunk) = self.sender.poll(&mut io) else {
            // Messages may have grown too old, and no others be left to deliver.
            self.check_done();
            return self
                .sender
                .has_drop()
                .then(|| self.poll_control(now))
                .flatten();
        };
        if idle {
            self.exp.restart(now);
        }
        Some(self.data(now, &chunk))
    }

    /// DCUDP: nothing was acknowledged for eight round trips longer than ACKs take to come.
    fn is_silent(&self, now: Time) -> bool {
        let Some(dcudp) = self.dcudp().filter(|_| self.sender.is_outstanding()) else {
            return false;
        };
        let rtt = self.rtt.smoothed();
        let interval = if self.control.mode.congested {
            rtt
        } else {
            self.config.syn
        };
        let longest = rtt.saturating_mul(u64::from(dcudp.silent_rtts));
        let unacknowledged_since = self.sender.unacknowledged_since;
        now > unacknowledged_since
            .saturating_add(interval)
            .saturating_add(longest)
    }

    fn data(&mut self, now: Time, chunk: &Chunk) -> Transmit {
        assert!(
            chunk.payload.length <= self.sender.payload(),
            "a packet is as long as was agreed"
        );
        let header = DataHeader {
            sequence: chunk.number,
            message: chunk.payload.message,
            place: chunk.payload.place,
            in_order: chunk.payload.in_order,
            observe: self.control.mode.congested,
            cwr: std::mem::take(&mut self.sender.cwr_due),
            length: chunk.payload.length,
        };
        Transmit {
            packet: self.packet(now, Content::Data(header)),
            ecn: if self.control.ecn {
                self.accurate().map_or(Ecn::Ect0, |accurate| accurate.ecn)
            } else {
                Ecn::NotEct
            },
            retransmission: chunk.retransmission,
            offset: chunk.payload.offset,
        }
    }

    fn control(&mut self, now: Time, half: Half, control: Control) -> Transmit {
        let observe = match half {
            Half::Sender => self.control.mode.congested,
            Half::Receiver => self.watch.observes(),
        };
        let number = if self.peering.speaks_dcudp() {
            self.packets.number()
        } else {
            Number::default()
        };
        let capable = self.control.ecn && self.dcudp().is_some_and(|dcudp| dcudp.ect_on_control);
        let header = ControlHeader {
            observe: observe && self.peering.speaks_dcudp(),
            number,
            control,
        };
        Transmit {
            packet: self.packet(now, Content::Control(header)),
            ecn: if capable { Ecn::Ect0 } else { Ecn::NotEct },
            retransmission: false,
            offset: 0,
        }
    }

    fn packet(&self, now: Time, content: Content) -> Packet {
        Packet {
            timestamp: self.clock.timestamp(now),
            destination: self.peering.peer_socket(),
            content,
        }
    }
}
