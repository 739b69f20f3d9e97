//! A queue pair in the simulation: its messages, its packets, and the telemetry that they carry.
//!
//! The NIC asks it for packets (`network::queue_pairs`). Telemetry of a packet stays in the arena from its departure until
//! its sender has read it in the ACK. Leaves out: the protocol, which incastle-rdma has.

use std::sync::Arc;

use incastle_congestion::Algorithm;
use incastle_rdma::{Arrival, Config, DataAt, Event, Opcode, QueuePair, RateChange, Verb};
use incastle_units::{Ecn, Time};
use rand_core::Rng;

use crate::flow::Leaving;
use crate::network::{Body, Extras, NO_TELEMETRY, Packet};

/// The parameters of a queue pair in addition to those of its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuePairSettings {
    /// The kind of its messages.
    pub verb: Verb,
    /// The traffic class of ACKs, NAKs and CNPs.
    pub control_class: u8,
    /// Whether its packets gather telemetry (INT), at all switches.
    pub telemetry: bool,
}

/// One endpoint, in cache lines of its own: few fields, then those of the queue pair that every packet reads.
#[repr(C, align(64))]
pub(crate) struct RdmaEndpoint {
    /// Payload bytes posted.
    written: u64,
    payload_sent: u64,
    /// The telemetry of the packet that arrived last, until its ACK takes it.
    answered: u32,
    settings: QueuePairSettings,
    /// Everything posted became complete.
    finished: bool,
    /// Whether it is in the round robin of its NIC.
    pub(crate) in_turn: bool,
    moved: bool,
    pair: QueuePair,
}

impl RdmaEndpoint {
    pub(crate) fn new(
        config: Arc<Config>,
        algorithm: Algorithm,
        settings: QueuePairSettings,
    ) -> Self {
        Self {
            pair: QueuePair::new(config, algorithm),
            settings,
            written: 0,
            payload_sent: 0,
            finished: false,
            in_turn: false,
            moved: false,
            answered: NO_TELEMETRY,
        }
    }

    pub(crate) const fn pair(&self) -> &QueuePair {
        &self.pair
    }

    /// Whether its messages are READs.
    pub(crate) fn reads(&self) -> bool {
        self.settings.verb == Verb::Read
    }

    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    pub(crate) const fn payload_sent(&self) -> u64 {
        self.payload_sent
    }

    /// Posts a message.
    pub(crate) fn write(&mut self, bytes: u64) {
        if bytes > 0 {
            self.pair.post(self.settings.verb, bytes);
            self.written += bytes;
        }
    }

    /// Whether it has data and is not in the round robin of its NIC, which it enters now.
    pub(crate) fn joins(&mut self, now: Time) -> bool {
        if self.in_turn || self.pair.data_at(now) == DataAt::Never {
            return false;
        }
        self.in_turn = true;
        true
    }

    /// Whether its packets gather telemetry.
    pub(crate) const fn gathers_telemetry(&self) -> bool {
        self.settings.telemetry
    }

    /// When pacing lets another packet leave, whatever its window.
    pub(crate) fn paced_until(&self) -> Time {
        self.pair.paced_until()
    }

    /// Whether an ACK may have moved a departure that is scheduled, since the last call.
    pub(crate) fn poll_moved(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    /// A packet has arrived.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        now: Time,
        arrived: &Packet,
        extras: &mut Extras,
        rng: &mut dyn Rng,
    ) {
        let Body::Rdma {
            packet, telemetry, ..
        } = &arrived.body
        else {
            unreachable!("both endpoints of a flow have the same transport")
        };
        let answers = matches!(packet.opcode, Opcode::Ack | Opcode::Nak);
        let hops = extras.hops(*telemetry);
        let arrival = Arrival {
            packet,
            ecn: arrived.marks.ecn(),
            hops: if answers { hops } else { &[] },
            hop_count: (answers && *telemetry != NO_TELEMETRY).then_some(hops.len() as u8),
        };
        self.pair.handle(now, &arrival, rng);
        self.moved = answers
            && self.pair.config().rate_change == RateChange::MovesScheduled
            && self.pair.has_rated();
        if answers {
            extras.free_telemetry(*telemetry);
        } else {
            extras.free_telemetry(std::mem::replace(&mut self.answered, *telemetry));
        }
        self.take_events();
    }

    /// Writes the next control packet into `out`.
    #[inline(always)]
    pub(crate) fn poll_control(&mut self, out: &mut Packet) -> Option<Leaving> {
        let packet = self.pair.poll_control()?;
        let answers = matches!(packet.opcode, Opcode::Ack | Opcode::Nak);
        let telemetry = if answers {
            std::mem::replace(&mut self.answered, NO_TELEMETRY)
        } else {
            NO_TELEMETRY
        };
        out.class = self.settings.control_class;
        Some(self.leave(packet, telemetry, out))
    }

    /// Frees telemetry that no ACK has taken.
    pub(crate) fn forget_answered(&mut self, extras: &mut Extras) {
        extras.free_telemetry(std::mem::replace(&mut self.answered, NO_TELEMETRY));
    }

    /// Writes the next data packet into `out`, if one may leave now.
    #[inline(always)]
    pub(crate) fn poll_data(
        &mut self,
        now: Time,
        rng: &mut dyn Rng,
        extras: &mut Extras,
        out: &mut Packet,
    ) -> Option<Leaving> {
        let packet = self.pair.poll_data(now, rng)?;
        self.payload_sent += u64::from(packet.payload);
        let telemetry = if self.settings.telemetry && packet.is_data() {
            extras.telemetry.reserve()
        } else {
            NO_TELEMETRY
        };
        Some(self.leave(packet, telemetry, out))
    }

    #[inline(always)]
    fn leave(&self, packet: incastle_rdma::Packet, telemetry: u32, out: &mut Packet) -> Leaving {
        let ip_bytes = packet.ip_bytes(&self.pair.config().headers).count() as u16;
        let payload = packet.payload;
        // DCQCN, section 3.1: ECT on everything that carries data.
        let ecn = if packet.is_data() {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        };
        out.body = Body::Rdma {
            packet,
            telemetry,
            ip_bytes,
            code: packet.opcode.bth() | u8::from(packet.echo) << 7,
        };
        Leaving {
            payload,
            headers: ip_bytes - payload,
            ecn,
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        self.pair.handle_timeout(now, rng);
        self.take_events();
    }

    #[inline(always)]
    fn take_events(&mut self) {
        while let Some(event) = self.pair.poll_event() {
            if let Event::Completed(_) = event {
                self.finished |= self.pair.is_finished();
            }
        }
    }

    /// Whether everything posted became complete since the last call.
    pub(crate) fn poll_finished(&mut self) -> bool {
        std::mem::take(&mut self.finished)
    }
}
