//! The responder of a queue pair: accepts requests in sequence, answers them, and serves READs.
//!
//! Models IB 9.7 (requests and responses at the responder), as Linux's soft RoCE has it (`rxe_resp.c`), and
//! HPCC-ns3's `ReceiverCheckSeq` as an option. Everything that it sends is in the order of PSNs: an ACK or NAK waits for the responses of READs
//! before it, because it acknowledges them.

use std::collections::VecDeque;

use incastle_units::Time;

use crate::config::{Config, Duplicates, Recovery};
use crate::messages::Verb;
use crate::packet::{Opcode, Packet, Place};
use crate::psn::{unwrap, wire};
use crate::queue_pair::Event;
use crate::responses::Responses;
use crate::stats::Stats;

/// A request that arrived, and the parts of the queue pair that its handling needs.
pub(crate) struct Request<'a> {
    pub(crate) now: Time,
    pub(crate) packet: &'a Packet,
    /// Its packet was marked, and ACKs echo marks.
    pub(crate) echo: bool,
    pub(crate) config: &'a Config,
    pub(crate) stats: &'a mut Stats,
    pub(crate) events: &'a mut VecDeque<Event>,
}

/// The responder.
#[derive(Debug)]
pub(crate) struct Responder {
    /// The PSN that is expected next.
    expected: u64,
    /// The first PSN of the message that arrives now, or of the next.
    start: u64,
    /// The PSN after the last that was ever accepted.
    accepted: u64,
    /// Bytes of the message that have arrived.
    partial: u64,
    /// Messages that are complete.
    msn: u64,
    /// READs.
    responses: Responses,
    /// Packets since the last ACK.
    unacknowledged: u16,
    /// An ACK has to leave, and it acknowledges everything before this PSN.
    ack_due: Option<u64>,
    /// The PSN before which the last ACK acknowledged everything.
    acknowledged: u64,
    /// The departure of the newest packet that the next ACK or NAK answers.
    timestamp: Time,
    /// A mark to be echoed.
    echo: bool,
    /// A NAK has to leave.
    nak_due: bool,
    /// The expected PSN at the last NAK.
    last_nak: Option<u64>,
    /// The same NAK may leave again then.
    nak_again: Time,
}

impl Responder {
    pub(crate) fn new(initial_psn: u64) -> Self {
        Self {
            expected: initial_psn,
            start: initial_psn,
            accepted: initial_psn,
            partial: 0,
            msn: 0,
            responses: Responses::default(),
            unacknowledged: 0,
            ack_due: None,
            acknowledged: initial_psn,
            timestamp: Time::NEVER,
            echo: false,
            nak_due: false,
            last_nak: None,
            nak_again: Time::NEVER,
        }
    }

    /// A request arrived; gives the payload bytes that it delivers.
    #[inline(always)]
    pub(crate) fn handle(&mut self, request: &mut Request<'_>) -> u64 {
        let Some(psn) = unwrap(request.packet.psn, self.expected) else {
            return 0;
        };
        if psn > self.expected {
            request.stats.out_of_sequence += 1;
            self.refuse(request);
            return 0;
        }
        if psn < self.expected {
            request.stats.duplicates += 1;
            self.repeat(psn, request);
            return 0;
        }
        match request.packet.opcode {
            Opcode::Send(place) => self.accept(request, Verb::Send, place),
            Opcode::Write(place) => self.accept(request, Verb::Write, place),
            _ => {
                self.accept_read(request);
                0
            }
        }
    }

    #[inline(always)]
    fn accept(&mut self, request: &mut Request<'_>, verb: Verb, place: Place) -> u64 {
        let payload = u64::from(request.packet.payload);
        if place.begins() != (self.expected == self.start) {
            // Not one of this model's packets.
            return 0;
        }
        self.expected += 1;
        self.partial += payload;
        if place.ends() {
            self.msn += 1;
            self.start = self.expected;
            let bytes = std::mem::take(&mut self.partial);
            request.events.push_back(Event::Received { verb, bytes });
        }
        self.move_nak();
        self.answer(request);
        let is_new = self.expected > self.accepted;
        self.accepted = self.accepted.max(self.expected);
        if is_new { payload } else { 0 }
    }

    /// A request that cannot be served now counts as lost.
    fn accept_read(&mut self, request: &Request<'_>) {
        let bytes = u64::from(request.packet.length);
        if bytes == 0 || self.expected != self.start || !self.responses.has_room(request.config) {
            return;
        }
        self.responses.push(self.expected, bytes, request.config);
        self.expected += request.config.packets(bytes);
        self.msn += 1;
        (self.start, self.accepted) = (self.expected, self.expected);
        self.move_nak();
    }

    /// A NAK that still waits names the PSN that is expected when it leaves.
    fn move_nak(&mut self) {
        if self.nak_due {
            self.last_nak = Some(self.expected);
        }
    }

    /// The packet will be acknowledged: now, or with later ones.
    fn answer(&mut self, request: &Request<'_>) {
        self.note(request);
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        if request.packet.ack_req || self.unacknowledged >= request.config.ack_every {
            self.ack_due = Some(self.expected);
        }
    }

    /// The packet is the newest of those that the next ACK or NAK answers.
    fn note(&mut self, request: &Request<'_>) {
        self.echo |= request.echo;
        self.timestamp = if self.responses.is_empty() {
            request.packet.timestamp
        } else {
            // The ACK will wait for responses: its time is no round-trip time.
            Time::NEVER
        };
    }

    /// Out of sequence: a NAK, once for each expected PSN (IB 9.7), or again after an interval.
    fn refuse(&mut self, request: &Request<'_>) {
        let again = request.config.nak_interval.is_some() && request.now >= self.nak_again;
        if self.last_nak == Some(self.expected) && !again {
            return;
        }
        if let Some(interval) = request.config.nak_interval {
            self.nak_again = request.now.saturating_add(interval);
        }
        self.last_nak = Some(self.expected);
        self.drop_partial(request.config);
        self.nak_due = true;
        self.note(request);
    }

    /// The part of the message that will come again is forgotten.
    fn drop_partial(&mut self, config: &Config) {
        let kept = config.recovery.restart(self.start, self.expected);
        if kept < self.expected {
            self.partial = (kept - self.start) * u64::from(config.mtu);
            self.expected = kept;
            // The NAK acknowledges the rest.
            self.ack_due = None;
        }
        if config.recovery == Recovery::GoBackToZero {
            self.last_nak = Some(self.expected);
        }
    }

    /// A request that was accepted before.
    fn repeat(&mut self, psn: u64, request: &Request<'_>) {
        let config = request.config;
        if request.packet.opcode == Opcode::ReadRequest {
            let bytes = u64::from(request.packet.length);
            if bytes > 0 && psn + config.packets(bytes) <= self.expected {
                self.responses.repeat(psn, bytes, config);
            }
        } else if config.duplicates == Duplicates::Acknowledged {
            self.answer(request);
        }
    }

    /// Whether an ACK or NAK may be due.
    pub(crate) const fn owes(&self) -> bool {
        self.ack_due.is_some() || self.nak_due
    }

    /// The ACK or NAK that leaves now.
    #[inline(always)]
    pub(crate) fn poll(&mut self, stats: &mut Stats) -> Option<Packet> {
        if self.nak_due && self.responses.is_empty() {
            (self.nak_due, self.ack_due) = (false, None);
            stats.naks_sent += 1;
            return Some(self.acknowledgement(Opcode::Nak, self.expected));
        }
        let due = self.ack_due?;
        // Up to the READ whose responses are not sent.
        let reached = self.responses.next_psn().map_or(due, |next| next.min(due));
        if reached < due {
            if reached <= self.acknowledged {
                return None;
            }
        } else {
            self.ack_due = None;
        }
        stats.acks_sent += 1;
        Some(self.acknowledgement(Opcode::Ack, reached))
    }

    /// An ACK of everything before `psn`, or a NAK.
    #[inline(always)]
    fn acknowledgement(&mut self, opcode: Opcode, psn: u64) -> Packet {
        self.unacknowledged = 0;
        self.acknowledged = self.acknowledged.max(psn);
        let named = match opcode {
            Opcode::Nak => psn,
            _ => psn - 1,
        };
        Packet {
            timestamp: std::mem::replace(&mut self.timestamp, Time::NEVER),
            psn: wire(named),
            length: 0,
            msn: wire(self.msn),
            payload: 0,
            opcode,
            ack_req: false,
            echo: std::mem::take(&mut self.echo),
            retransmission: false,
        }
    }

    /// Whether responses of READs wait to be sent.
    pub(crate) fn has_response(&self) -> bool {
        !self.responses.is_empty()
    }

    /// The next response of a READ leaves.
    pub(crate) fn send_response(&mut self, now: Time, config: &Config) -> Packet {
        let (response, again) = self.responses.pop(config).expect("a response waits");
        // It acknowledges everything before it.
        self.acknowledged = self.acknowledged.max(response.psn + 1);
        Packet {
            timestamp: now,
            psn: wire(response.psn),
            length: 0,
            msn: wire(self.msn),
            payload: response.payload,
            opcode: Opcode::ReadResponse(response.place),
            ack_req: false,
            echo: false,
            retransmission: again,
        }
    }
}
