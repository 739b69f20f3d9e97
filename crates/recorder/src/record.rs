//! The event record: the events of recorded flows.
//!
//! Packets are numbered by their sender, from 0, and keep their numbers on their path; sequence numbers are unwrapped.
//! Events inside an endpoint are the differences between two observations.

use std::collections::BTreeMap;

use incastle_congestion::{Phase, TransmissionMode};
use incastle_queueing::{DropCause, Verdict};
use incastle_transport::tcp::{TimeoutReport, offset};
use incastle_units::{Bytes, Rate, Span, Time};

use incastle_engine::core::{EndpointIndex, PortIndex};
use incastle_engine::probe::{
    Content, Number, Observation, PairObservation, QueueSeen, Tag, TraceEvent, Transit,
};

/// A packet in the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedPacket {
    /// Its number among those of its sender.
    pub number: u64,
    /// The name of its kind.
    pub kind: &'static str,
    /// The offset of its first byte (TCP), or its number from the first one on.
    pub seq: Option<u64>,
    /// The next one that its sender expects, likewise.
    pub ack: Option<u64>,
    /// Application bytes.
    pub payload: u16,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EventKind {
    /// An endpoint has sent a packet.
    Sent {
        /// Whether it is a retransmission.
        repeated: bool,
        /// Its traffic class, which is its priority.
        class: u8,
        /// The NIC's port.
        port: PortIndex,
        /// The time to the next hop.
        transit: Transit,
        /// The congestion window at that instant.
        cwnd: Option<Bytes>,
        /// The pacing rate (TCP, RDMA).
        pacing: Option<Rate>,
        /// The instant until which pacing has held it (RDMA).
        paced_until: Option<Time>,
    },
    /// The rate limiter has released it.
    Released,
    /// A port has queued it, marked or not.
    Queued {
        /// The port.
        port: PortIndex,
        /// Whether it was marked.
        marked: bool,
        /// The queue at that instant.
        queue: QueueSeen,
        /// The time to the next hop.
        transit: Transit,
    },
    /// A port has dropped it.
    Dropped {
        /// The port.
        port: PortIndex,
        /// The cause.
        cause: DropCause,
        /// The queue at that instant.
        queue: QueueSeen,
    },
    /// It has reached its host.
    Received,
    /// The total of bytes that the application has written.
    Written(u64),
    /// The total of bytes delivered to the application.
    Delivered(u64),
    /// A duplicate ACK.
    DuplicateAck,
    /// Fast retransmit, and recovery after it.
    FastRetransmit,
    /// A tail loss probe has left (TCP).
    TailLossProbe,
    /// The reordering timer has found this number of segments lost (TCP).
    ReorderingTimeout(u64),
    /// Recovery, or the time after a timeout, is over.
    Recovered,
    /// The retransmission timer.
    Timeout(TimeoutReport),
    /// UDT's EXP.
    Expired,
    /// A NAK has arrived.
    Nak,
    /// The window or the rate was cut.
    Reduced {
        /// The window after it.
        cwnd: Option<Bytes>,
        /// The slow-start threshold after it.
        ssthresh: Option<Bytes>,
        /// The rate after it.
        rate: Option<Rate>,
    },
    /// DCUDP's mode.
    Mode(TransmissionMode),
    /// A congestion notification: QCN's with its feedback, a CNP or an echo of RDMA.
    Notified(Option<u8>),
    /// A queue pair that could not send has a packet again that its window allows.
    Ready,
    /// The retransmission timer of a queue pair, with its span.
    AckTimeout(Span),
    /// Responses of a READ are missing: the request is repeated.
    ReadRetry,
    /// The retry limit of a queue pair was exceeded.
    Failed,
    /// The rate limiter's rate after it, or after a change.
    Limited(Rate),
    /// The record has reached its maximum.
    Full,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedEvent {
    /// The instant.
    pub at: Time,
    /// The endpoint; for a packet, its sender.
    pub endpoint: EndpointIndex,
    /// Its kind.
    pub kind: EventKind,
    /// The packet, where it concerns one.
    pub packet: Option<RecordedPacket>,
}

/// The record.
#[derive(Debug, Default)]
pub struct EventRecord {
    /// In order of time.
    pub events: Vec<RecordedEvent>,
    max_events: usize,
    endpoints: BTreeMap<EndpointIndex, RecordedEndpoint>,
}

/// A tag without its endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    sent: Time,
    words: [u64; 2],
}

impl Mark {
    const fn of(tag: Tag) -> Self {
        Self {
            sent: tag.sent,
            words: tag.words,
        }
    }
}

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
struct Traced {
    packet: RecordedPacket,
    /// The number of its events since it was sent.
    events: u32,
}

/// A recorded endpoint.
#[derive(Debug, Default)]
struct RecordedEndpoint {
    before: Observation,
    /// The number of packets sent.
    sent: u64,
    /// Their greatest sequence number, to unwrap others.
    greatest: u64,
    /// The number of its first data packet on the wire (UDT).
    first: Option<u32>,
    rate: Option<Rate>,
    /// Packets in flight. Those with equal tags are distinguished by their numbers of events.
    in_flight: BTreeMap<Mark, Vec<Traced>>,
}

impl EventRecord {
    /// A record of at most this many events.
    pub(super) fn new(max_events: usize) -> Self {
        Self {
            max_events,
            ..Self::default()
        }
    }

    fn push(
        &mut self,
        at: Time,
        endpoint: EndpointIndex,
        kind: EventKind,
        packet: Option<RecordedPacket>,
    ) {
        let kind = match self.events.len() {
            length if length < self.max_events => kind,
            length if length == self.max_events => EventKind::Full,
            _ => return,
        };
        let packet = packet.filter(|_| kind != EventKind::Full);
        self.events.push(RecordedEvent {
            at,
            endpoint,
            kind,
            packet,
        });
    }

    /// Records an event at an endpoint or of its packets.
    pub(super) fn traced(&mut self, index: EndpointIndex, at: Time, event: &TraceEvent<'_>) {
        match *event {
            TraceEvent::Sent {
                tag,
                content,
                repeated,
                class,
                port,
                transit,
                paced_until,
            } => {
                let packet = self.number(tag, &content);
                let before = &self.endpoints.entry(index).or_default().before;
                let (cwnd, pacing) = (before.control.cwnd, before.pacing);
                let kind = EventKind::Sent {
                    repeated,
                    class,
                    port,
                    transit,
                    cwnd,
                    pacing,
                    paced_until,
                };
                self.push(at, index, kind, Some(packet));
            }
            TraceEvent::Released(tag) => self.of_packet(at, tag, EventKind::Released),
            TraceEvent::Judged {
                tag,
                port,
                verdict,
                queue,
                transit,
            } => {
                let kind = match verdict {
                    Verdict::Drop(cause) => EventKind::Dropped { port, cause, queue },
                    Verdict::Admit | Verdict::Mark => EventKind::Queued {
                        port,
                        marked: verdict == Verdict::Mark,
                        queue,
                        transit,
                    },
                };
                self.of_packet(at, tag, kind);
            }
            TraceEvent::Received(tag) => self.of_packet(at, tag, EventKind::Received),
            TraceEvent::Notified(psi) => self.push(at, index, EventKind::Notified(Some(psi)), None),
            TraceEvent::Observed(seen) => self.observed(index, at, seen),
        }
    }

    /// A retransmission timeout of an endpoint that may be recorded.
    pub(super) fn timed_out(&mut self, index: EndpointIndex, at: Time, report: &TimeoutReport) {
        if self.endpoints.contains_key(&index) {
            self.push(at, index, EventKind::Timeout(*report), None);
        }
    }

    /// The rate limiter of an endpoint that may be recorded has another rate.
    pub(super) fn limited(&mut self, index: EndpointIndex, at: Time, rate: Rate) {
        let Some(endpoint) = self.endpoints.get_mut(&index) else {
            return;
        };
        if endpoint.rate.replace(rate) != Some(rate) {
            self.push(at, index, EventKind::Limited(rate), None);
        }
    }

    /// Numbers a packet that is sent.
    fn number(&mut self, tag: Tag, content: &Content) -> RecordedPacket {
        let peer = self.endpoints.entry(tag.endpoint.peer()).or_default();
        let ack = content.ack.map(|number| peer.unwrapped(number));
        let endpoint = self.endpoints.entry(tag.endpoint).or_default();
        let seq = content.seq.map(|number| endpoint.unwrapped(number));
        endpoint.greatest = endpoint.greatest.max(seq.unwrap_or(0));
        let packet = RecordedPacket {
            number: endpoint.sent,
            kind: content.kind,
            seq,
            ack,
            payload: content.payload,
        };
        endpoint.sent += 1;
        let equal = endpoint.in_flight.entry(Mark::of(tag)).or_default();
        equal.push(Traced { packet, events: 0 });
        packet
    }

    /// An event of a packet in flight; unknown packets are ignored.
    fn of_packet(&mut self, at: Time, tag: Tag, kind: EventKind) {
        let Some(endpoint) = self.endpoints.get_mut(&tag.endpoint) else {
            return;
        };
        let mark = Mark::of(tag);
        let Some(equal) = endpoint.in_flight.get_mut(&mark) else {
            return;
        };
        // Equal packets keep their order.
        let events = equal.iter().map(|traced| traced.events).enumerate();
        let over = matches!(kind, EventKind::Received | EventKind::Dropped { .. });
        let place = if over {
            events.max_by_key(|&(place, events)| (events, std::cmp::Reverse(place)))
        } else {
            events.min_by_key(|&(place, events)| (events, place))
        };
        let Some((place, _)) = place else {
            return;
        };
        let packet = equal[place].packet;
        if over {
            equal.remove(place);
            if equal.is_empty() {
                endpoint.in_flight.remove(&mark);
            }
        } else {
            equal[place].events += 1;
        }
        self.push(at, tag.endpoint, kind, Some(packet));
    }

    /// Records the differences from the last observation of an endpoint.
    fn observed(&mut self, index: EndpointIndex, at: Time, now: &Observation) {
        let endpoint = self.endpoints.entry(index).or_default();
        let before = std::mem::replace(&mut endpoint.before, *now);
        if before == *now {
            return;
        }
        for kind in changes(&before, now) {
            self.push(at, index, kind, None);
        }
    }
}

/// Bits of a packet sequence number of RDMA.
const RDMA_BITS: u32 = 24;

/// The number of `bits` bits on the wire that is nearest to the greatest so far.
fn nearest(wire: u32, greatest: u64, bits: u32) -> u64 {
    let mask = (1 << bits) - 1;
    let place = greatest as u32 & mask;
    let ahead = wire.wrapping_sub(place) & mask;
    if ahead <= mask / 2 {
        greatest + u64::from(ahead)
    } else {
        greatest.saturating_sub(u64::from(place.wrapping_sub(wire) & mask))
    }
}

impl RecordedEndpoint {
    fn unwrapped(&mut self, number: Number) -> u64 {
        match number {
            Number::Tcp(wire) => offset(wire, self.greatest),
            Number::Datagram(count) => count,
            Number::Rdma(psn) => nearest(psn, self.greatest, RDMA_BITS),
            Number::Udt(word) => {
                let first = *self.first.get_or_insert(word);
                // 31 bits that wrap: the place nearest to the greatest so far.
                let place = (self.greatest as u32).wrapping_add(first) & MASK;
                let ahead = word.wrapping_sub(place) & MASK;
                if ahead <= MASK / 2 {
                    self.greatest + u64::from(ahead)
                } else {
                    let behind = u64::from(place.wrapping_sub(word) & MASK);
                    self.greatest.saturating_sub(behind)
                }
            }
        }
    }
}

/// UDT's numbers have 31 bits.
const MASK: u32 = u32::MAX >> 1;

/// The events between two observations, in the order of a transport.
fn changes(before: &Observation, now: &Observation) -> Vec<EventKind> {
    let mut all = Vec::new();
    if now.written != before.written {
        all.push(EventKind::Written(now.written));
    }
    if now.delivered != before.delivered {
        all.push(EventKind::Delivered(now.delivered));
    }
    let times = |now: u64, before: u64| (before..now).map(|_| ());
    let (rack, earlier) = (now.rack_tlp, before.rack_tlp);
    let probes = times(rack.tail_loss_probes, earlier.tail_loss_probes);
    all.extend(probes.map(|()| EventKind::TailLossProbe));
    let lost = rack.reordering_losses - earlier.reordering_losses;
    if lost > 0 {
        all.push(EventKind::ReorderingTimeout(lost));
    }
    all.extend(times(now.duplicate_acks, before.duplicate_acks).map(|()| EventKind::DuplicateAck));
    all.extend(times(now.naks, before.naks).map(|()| EventKind::Nak));
    all.extend(changes_of_pair(&before.pair, &now.pair));
    all.extend(times(now.expiries, before.expiries).map(|()| EventKind::Expired));
    all.extend(
        times(now.fast_retransmits, before.fast_retransmits).map(|()| EventKind::FastRetransmit),
    );
    let repairing = |seen: &Observation| seen.phase.is_some_and(|phase| phase != Phase::Open);
    if repairing(before) && !repairing(now) {
        all.push(EventKind::Recovered);
    }
    if let (mode, Some(then)) = (now.control.mode, before.control.mode)
        && mode != Some(then)
        && let Some(mode) = mode
    {
        all.push(EventKind::Mode(mode));
    }
    let (new, old) = (&now.control, &before.control);
    let cut = |new: Option<u64>, old: Option<u64>| new.zip(old).is_some_and(|(new, old)| new < old);
    let bytes = |value: Option<Bytes>| value.map(Bytes::count);
    let bits = |value: Option<Rate>| value.map(Rate::bits_per_second);
    if cut(bytes(new.cwnd), bytes(old.cwnd)) || cut(bits(new.rate), bits(old.rate)) {
        all.push(EventKind::Reduced {
            cwnd: new.cwnd,
            ssthresh: new.ssthresh,
            rate: new.rate,
        });
    }
    all
}

/// Those of a queue pair alone.
fn changes_of_pair(before: &PairObservation, now: &PairObservation) -> Vec<EventKind> {
    let span = now.ack_timeout.unwrap_or(Span::ZERO);
    let counts = [
        (
            EventKind::Notified(None),
            before.notifications..now.notifications,
        ),
        (EventKind::AckTimeout(span), before.timeouts..now.timeouts),
        (EventKind::ReadRetry, before.read_retries..now.read_retries),
    ];
    let mut all = Vec::new();
    for (kind, new) in counts {
        all.extend(new.map(|_| kind));
    }
    if now.failed && !before.failed {
        all.push(EventKind::Failed);
    }
    if now.ready && !before.ready {
        all.push(EventKind::Ready);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_udt_unwrap_around_the_greatest() {
        let first = MASK - 1;
        let mut end = RecordedEndpoint::default();
        assert_eq!(end.unwrapped(Number::Udt(first)), 0);
        assert_eq!(end.unwrapped(Number::Udt(MASK)), 1);
        // 0x7fff_fffe + 5 wraps to 4.
        end.greatest = 3;
        assert_eq!(end.unwrapped(Number::Udt(3)), 5);
        assert_eq!(end.unwrapped(Number::Udt(first)), 0);
    }

    #[test]
    fn a_packet_is_sent_with_the_pacing_of_its_endpoint() {
        let end = EndpointIndex::from_index(0);
        let tag = Tag {
            endpoint: end,
            sent: Time::ZERO,
            words: [0, 0],
        };
        let sent = TraceEvent::Sent {
            tag,
            content: Content {
                kind: "data",
                seq: Some(Number::Tcp(0)),
                ack: None,
                payload: 1_460,
            },
            repeated: false,
            class: 0,
            port: PortIndex::from_index(0),
            transit: Transit {
                serialisation: Span::ZERO,
                propagation: Span::ZERO,
            },
            paced_until: None,
        };
        let mut record = EventRecord::new(10);
        let rates = [None, Some(Rate::from_bits_per_second(100_000_000))];
        for pacing in rates {
            let seen = Observation {
                pacing,
                ..Observation::default()
            };
            record.traced(end, Time::ZERO, &TraceEvent::Observed(&seen));
            record.traced(end, Time::ZERO, &sent);
        }
        let recorded = record.events.iter().map(|event| match event.kind {
            EventKind::Sent { pacing, .. } => pacing,
            _ => unreachable!("no other event is recorded"),
        });
        assert!(recorded.eq(rates));
    }

    #[test]
    fn a_full_record_ends_with_one_event() {
        let mut record = EventRecord::new(2);
        let end = EndpointIndex::from_index(0);
        for psi in 0..5 {
            record.traced(
                end,
                Time::from_ps(u64::from(psi)),
                &TraceEvent::Notified(psi),
            );
        }
        let kinds: Vec<_> = record.events.iter().map(|event| event.kind).collect();
        let expected = [
            EventKind::Notified(Some(0)),
            EventKind::Notified(Some(1)),
            EventKind::Full,
        ];
        assert_eq!(kinds, expected);
    }
}
