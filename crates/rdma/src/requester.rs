//! The requester of a queue pair: its messages, the PSNs that are outstanding, and what is repeated.
//!
//! Models IB 9.7 (requests, responses and retries at the requester). `una` is the oldest PSN without
//! acknowledgement, `nxt` the next to be sent; a retry pulls `nxt` back.
//! Leaves out: the controller and the timers, which the queue pair joins with it.

use std::collections::VecDeque;

use incastle_congestion::{AckSample, Context, Echo, LimitedBy, Phase, Window};
use incastle_units::{Bytes, Span, Time};
use rand_core::Rng;

use crate::config::Config;
use crate::messages::{Message, MessageId, Messages, Verb};
use crate::packet::{Opcode, Packet, Place};
use crate::psn::{MAX_OUTSTANDING, wire};
use crate::queue_pair::Event;

/// The largest request of a READ: the largest message of IB, 2^31 bytes, in whole packets. A longer READ goes as
/// several requests, one after the other.
const MAX_READ: u64 = 1 << 31;

/// What may be sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A packet of a WRITE or SEND.
    Data,
    /// The request of a READ.
    ReadRequest,
}

/// The effect of a response on the outstanding PSNs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Everything before it has arrived.
    Complete,
    /// Responses of a READ are missing before it: an implied NAK (IB 9.7).
    ReadsMissing,
}

/// Where a requester stands before it handles an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) una: u64,
    una_bytes: u64,
    limited_by: LimitedBy,
}

/// The requester.
#[derive(Debug)]
pub(crate) struct Requester {
    messages: Messages,
    /// The oldest PSN without acknowledgement.
    una: u64,
    /// The next PSN to be sent.
    nxt: u64,
    /// The PSN after the last that was ever sent.
    max: u64,
    /// The index of the message that has `nxt`; the count of messages where all is sent.
    cursor: usize,
    /// Payload bytes before `una` and `nxt` in the stream of WRITEs and SENDs.
    una_bytes: u64,
    nxt_bytes: u64,
    /// Until `una` reaches it, a recovery lasts.
    recover: u64,
    phase: Phase,
    /// READs whose request left and whose last response has not come.
    reads: u8,
    /// Where `una` was when missing responses were asked for last.
    asked_at: Option<u64>,
    /// The smoothed round-trip time; zero before the first sample.
    smoothed_rtt: Span,
}

impl Requester {
    pub(crate) fn new(initial_psn: u64) -> Self {
        Self {
            messages: Messages::new(initial_psn),
            una: initial_psn,
            nxt: initial_psn,
            max: initial_psn,
            cursor: 0,
            una_bytes: 0,
            nxt_bytes: 0,
            recover: initial_psn,
            phase: Phase::Open,
            reads: 0,
            asked_at: None,
            smoothed_rtt: Span::ZERO,
        }
    }

    pub(crate) fn post(&mut self, verb: Verb, bytes: u64, config: &Config) -> MessageId {
        self.messages.post(verb, bytes, config)
    }

    /// Whether every message is complete.
    pub(crate) fn is_finished(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// The PSN after the last that was ever sent.
    pub(crate) const fn max(&self) -> u64 {
        self.max
    }

    pub(crate) const fn una_bytes(&self) -> u64 {
        self.una_bytes
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    /// Payload bytes that were sent and not acknowledged.
    pub(crate) const fn in_flight(&self) -> u64 {
        self.nxt_bytes - self.una_bytes
    }

    /// Payload bytes of WRITEs and SENDs that are still to be sent.
    pub(crate) const fn unsent(&self) -> u64 {
        self.messages.bytes() - self.nxt_bytes
    }

    pub(crate) fn smoothed_rtt(&self) -> Option<Span> {
        (self.smoothed_rtt > Span::ZERO).then_some(self.smoothed_rtt)
    }

    /// Where it stands now, for [`Self::sample`].
    pub(crate) fn standing(&self) -> Standing {
        Standing {
            una: self.una,
            una_bytes: self.una_bytes,
            limited_by: if self.messages.get(self.cursor).is_some() {
                LimitedBy::Window
            } else {
                LimitedBy::Application
            },
        }
    }

    /// What was acknowledged since then.
    pub(crate) fn sample(&self, before: &Standing) -> AckSample<'static> {
        let packets = self.una.saturating_sub(before.una);
        AckSample {
            acked: Bytes::new(self.una_bytes.saturating_sub(before.una_bytes)),
            segments: u32::try_from(packets).unwrap_or(u32::MAX).max(1),
            echo: Echo::Clear,
            rtt: None,
            limited_by: before.limited_by,
            phase: self.phase,
            hops: &[],
            hop_count: None,
            remote_delay: None,
        }
    }

    pub(crate) fn context<'a>(&self, now: Time, rng: &'a mut dyn Rng) -> Context<'a> {
        Context {
            now,
            snd_una: self.una_bytes,
            snd_nxt: self.nxt_bytes,
            in_flight: Bytes::new(self.in_flight()),
            smoothed_rtt: self.smoothed_rtt(),
            remaining: Some(Bytes::new(self.messages.bytes() - self.una_bytes)),
            deadline: None,
            receiving_rate: None,
            capacity: None,
            rng,
        }
    }

    /// SND.UNA for the control: as in HPCC-ns3 (`HandleAckHp` and its like) the number in the header of an ACK, which in
    /// chunks may be ahead.
    pub(crate) fn una_for_control(&self, ack: u64, config: &Config) -> u64 {
        match self.messages.front() {
            Some(front) if config.reads_ack_number && self.una < ack && ack < front.end => {
                front.bytes_before(ack, config)
            }
            _ => self.una_bytes,
        }
    }

    /// What may be sent now under this window.
    pub(crate) fn next(&self, window: Window, config: &Config) -> Option<Next> {
        let message = self.messages.get(self.cursor)?;
        if message.verb == Verb::Read {
            // A request that continues a long READ waits for the end of the one before it.
            let allowed = if self.nxt == message.first {
                self.reads < config.max_reads
            } else {
                self.nxt == self.una
            };
            let fits = read_end(message, self.nxt, config) - self.una <= MAX_OUTSTANDING;
            return (allowed && fits).then_some(Next::ReadRequest);
        }
        let open = self.nxt - self.una < MAX_OUTSTANDING && self.is_open(window);
        open.then_some(Next::Data)
    }

    /// HPCC-ns3, `IsWinBound`: a packet leaves while less than the window is in flight, so that the last one may
    /// exceed it. Nothing would ever move under a window of zero.
    fn is_open(&self, window: Window) -> bool {
        match window {
            Window::Limited(bytes) => self.in_flight() < bytes.count().max(1),
            Window::Unlimited => true,
        }
    }

    /// The packet that [`Self::next`] allows leaves.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, window: Window, config: &Config) -> Packet {
        let message = *self
            .messages
            .get(self.cursor)
            .expect("there is something to send");
        let psn = self.nxt;
        let mut packet = Packet {
            timestamp: now,
            psn: wire(psn),
            length: 0,
            msn: 0,
            payload: 0,
            opcode: Opcode::ReadRequest,
            ack_req: false,
            echo: false,
            retransmission: psn < self.max,
        };
        if message.verb == Verb::Read {
            self.nxt = read_end(&message, psn, config);
            packet.length = read_length(&message, psn, self.nxt, config);
            self.reads = if psn == message.first {
                self.reads + 1
            } else {
                1
            };
        } else {
            self.nxt += 1;
            let place = Place::of(psn == message.first, self.nxt == message.end);
            packet.opcode = match message.verb {
                Verb::Send => Opcode::Send(place),
                _ => Opcode::Write(place),
            };
            packet.payload = message.payload(psn, config);
            packet.length = if packet.opcode.has_reth() {
                u32::try_from(message.bytes).unwrap_or(u32::MAX)
            } else {
                0
            };
            self.nxt_bytes += u64::from(packet.payload);
            // IB 9.7: a requester asks for an ACK where it waits for one.
            packet.ack_req = place.ends() || !self.is_open(window);
        }
        if self.nxt == message.end {
            self.cursor += 1;
        }
        self.max = self.max.max(self.nxt);
        self.check();
        packet
    }

    /// Everything before `ack` has arrived, as far as no READ waits for responses there.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        ack: u64,
        config: &Config,
        events: &mut VecDeque<Event>,
    ) -> Progress {
        assert!(ack <= self.max, "what was sent is acknowledged");
        let mut progress = Progress::Complete;
        while self.una < ack {
            let front = self
                .messages
                .front()
                .expect("an outstanding PSN has a message");
            if front.verb == Verb::Read {
                progress = Progress::ReadsMissing;
                break;
            }
            if ack < front.end {
                let reached = config.recovery.acknowledged(front.first, ack);
                self.una = self.una.max(reached);
                break;
            }
            self.una = front.end;
            self.complete(events);
        }
        self.settle(config);
        progress
    }

    /// A response of a READ with this PSN; gives whether it is the one that is due. Everything before its READ is
    /// acknowledged by it.
    pub(crate) fn on_response(
        &mut self,
        psn: u64,
        payload: u16,
        config: &Config,
        events: &mut VecDeque<Event>,
    ) -> Option<Progress> {
        if psn < self.una || psn >= self.max {
            return None;
        }
        let message = self.messages.containing(psn).copied()?;
        if message.verb != Verb::Read || message.payload(psn, config) != payload {
            return None;
        }
        let _ = self.acknowledge(message.first.max(self.una), config, events);
        if psn > self.una {
            return Some(Progress::ReadsMissing);
        }
        assert!(psn == self.una, "a response that is due");
        self.una += 1;
        if self.una == message.end {
            self.reads = self.reads.saturating_sub(1);
            self.complete(events);
        }
        self.settle(config);
        Some(Progress::Complete)
    }

    /// Whether missing responses are to be asked for again: once at each PSN.
    pub(crate) fn asks_again(&mut self) -> bool {
        self.asked_at.replace(self.una) != Some(self.una)
    }

    /// Goes back: what is not acknowledged is sent again. Of a READ, these are the missing responses.
    pub(crate) fn go_back(&mut self, phase: Phase, config: &Config) {
        let Some(front) = self.messages.front() else {
            return;
        };
        if front.verb != Verb::Read {
            self.una = config.recovery.restart(front.first, self.una);
        }
        self.una_bytes = front.bytes_before(self.una, config);
        (self.nxt, self.nxt_bytes) = (self.una, self.una_bytes);
        (self.cursor, self.reads) = (0, 0);
        if self.una < self.max {
            (self.phase, self.recover) = (phase, self.max);
        }
        if phase == Phase::AfterTimeout {
            self.asked_at = None;
        }
        self.check();
    }

    /// The PSN at which a retry would begin now.
    pub(crate) fn restart(&self, config: &Config) -> u64 {
        match self.messages.front() {
            Some(front) if front.verb != Verb::Read => {
                config.recovery.restart(front.first, self.una)
            }
            _ => self.una,
        }
    }

    /// RFC 6298, section 2, has the same mean.
    pub(crate) fn sample_rtt(&mut self, rtt: Span) {
        self.smoothed_rtt = if self.smoothed_rtt == Span::ZERO {
            rtt
        } else {
            self.smoothed_rtt - self.smoothed_rtt / 8 + rtt / 8
        };
    }

    /// The oldest message is complete.
    fn complete(&mut self, events: &mut VecDeque<Event>) {
        events.push_back(Event::Completed(self.messages.complete()));
        self.cursor = self.cursor.saturating_sub(1);
    }

    /// After `una` moved: its bytes; and nothing that is acknowledged is sent again.
    #[inline]
    fn settle(&mut self, config: &Config) {
        self.una_bytes = match self.messages.front() {
            Some(front) => front.bytes_before(self.una, config),
            None => self.messages.bytes(),
        };
        if self.nxt < self.una {
            (self.nxt, self.nxt_bytes, self.cursor) = (self.una, self.una_bytes, 0);
        }
        if self.una >= self.recover {
            self.phase = Phase::Open;
        }
        self.check();
    }

    fn check(&self) {
        assert!(
            self.una <= self.nxt && self.nxt <= self.max && self.max <= self.messages.end(),
            "una {} nxt {} max {} keep their order",
            self.una,
            self.nxt,
            self.max
        );
        assert!(self.una_bytes <= self.nxt_bytes, "and so do their bytes");
    }
}

/// The PSN after the request of a READ that asks from `psn` on.
fn read_end(message: &Message, psn: u64, config: &Config) -> u64 {
    let most = (MAX_READ / u64::from(config.mtu)).min(MAX_OUTSTANDING / 2);
    let requests = (psn - message.first) / most;
    message.end.min(message.first + (requests + 1) * most)
}

/// The bytes of the PSNs `psn..end` of a READ.
fn read_length(message: &Message, psn: u64, end: u64, config: &Config) -> u32 {
    let before = |psn: u64| ((psn - message.first) * u64::from(config.mtu)).min(message.bytes);
    u32::try_from(before(end) - before(psn)).expect("a request is within 2^31 bytes")
}
