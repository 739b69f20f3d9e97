//! The event record: what has happened to the flows that are recorded, event by event.
//!
//! Packets get numbers as their end sends them, from 0, and keep them wherever they are seen; sequence
//! numbers are unwrapped. What happened inside an endpoint is what differs from its state before.

use std::collections::BTreeMap;

use incastle_congestion::{Phase, TransmissionMode};
use incastle_queueing::{DropCause, Verdict};
use incastle_transport::tcp::{TimeoutReport, offset};
use incastle_units::{Bytes, Rate, Time};

use crate::core::{EndpointIndex, PortIndex};
use crate::probe::{Content, Number, Observation, QueueSeen, Tag, TraceEvent, Transit};

/// A packet as the record names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedPacket {
    /// Its number among those of its end.
    pub number: u64,
    /// What it says, in one word.
    pub kind: &'static str,
    /// The offset of its first byte (TCP), or its number from the first one on.
    pub seq: Option<u64>,
    /// What its sender expects next, likewise.
    pub ack: Option<u64>,
    /// Application bytes.
    pub payload: u16,
}

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EventKind {
    /// An endpoint has sent a packet, new or again, with this window.
    Sent {
        /// Whether it repeats something that was sent before.
        repeated: bool,
        /// The NIC's port.
        port: PortIndex,
        /// What follows at the least.
        transit: Transit,
        /// The congestion window at that instant.
        cwnd: Option<Bytes>,
        /// The rate by which the next segment waits for this one (TCP).
        pacing: Option<Rate>,
    },
    /// The rate limiter has let it go.
    Released,
    /// It has come to a port and waits there, marked or not.
    Queued {
        /// Where.
        port: PortIndex,
        /// Whether it was marked.
        marked: bool,
        /// What it met.
        queue: QueueSeen,
        /// What follows at the least.
        transit: Transit,
    },
    /// A port has dropped it.
    Dropped {
        /// Where.
        port: PortIndex,
        /// Why.
        cause: DropCause,
        /// What it met.
        queue: QueueSeen,
    },
    /// It has reached its host.
    Received,
    /// The application has written so many bytes in all.
    Written(u64),
    /// The application has so many bytes in all.
    Delivered(u64),
    /// A duplicate ACK, the so-manieth since the last event of another kind could reset them.
    DuplicateAck,
    /// Fast retransmit, and recovery after it.
    FastRetransmit,
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
    /// A congestion notification, with its feedback.
    Notified(u8),
    /// The rate limiter's rate after it, or after a change.
    Limited(Rate),
    /// No more is recorded: so many events are all that were asked for.
    Full,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedEvent {
    /// When.
    pub at: Time,
    /// The endpoint; for a packet, its sender.
    pub endpoint: EndpointIndex,
    /// What.
    pub kind: EventKind,
    /// Of which packet.
    pub packet: Option<RecordedPacket>,
}

/// The record.
#[derive(Debug, Default)]
pub struct EventRecord {
    /// In the order in which they happened.
    pub events: Vec<RecordedEvent>,
    most: usize,
    ends: BTreeMap<EndpointIndex, End>,
}

/// By what an endpoint's packets under way are known: a tag without its endpoint.
type Mark = (Time, (u64, u64));

/// A recorded end.
#[derive(Debug, Default)]
struct End {
    before: Observation,
    /// Packets that it has sent.
    sent: u64,
    /// The greatest sequence number of these, to unwrap others by.
    greatest: u64,
    /// The number of its first data packet on the wire (UDT).
    first: Option<u32>,
    rate: Option<Rate>,
    /// Packets under way. Of several with one tag, how often each was seen tells them apart.
    under_way: BTreeMap<Mark, Vec<(RecordedPacket, u32)>>,
}

impl EventRecord {
    /// A record of so many events.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
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
            length if length < self.most => kind,
            length if length == self.most => EventKind::Full,
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

    /// Something has happened at an endpoint or to its packets.
    pub(super) fn traced(&mut self, end: EndpointIndex, at: Time, what: &TraceEvent<'_>) {
        match *what {
            TraceEvent::Sent {
                tag,
                content,
                repeated,
                port,
                transit,
            } => {
                let packet = self.number(tag, &content);
                let before = &self.ends.entry(end).or_default().before;
                let (cwnd, pacing) = (before.control.cwnd, before.pacing);
                let kind = EventKind::Sent {
                    repeated,
                    port,
                    transit,
                    cwnd,
                    pacing,
                };
                self.push(at, end, kind, Some(packet));
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
            TraceEvent::Notified(psi) => self.push(at, end, EventKind::Notified(psi), None),
            TraceEvent::Observed(seen) => self.observed(end, at, seen),
        }
    }

    /// A retransmission timeout of an endpoint that may be recorded.
    pub(super) fn timed_out(&mut self, end: EndpointIndex, at: Time, report: &TimeoutReport) {
        if self.ends.contains_key(&end) {
            self.push(at, end, EventKind::Timeout(*report), None);
        }
    }

    /// The rate limiter of an endpoint that may be recorded has another rate.
    pub(super) fn limited(&mut self, end: EndpointIndex, at: Time, rate: Rate) {
        let Some(state) = self.ends.get_mut(&end) else {
            return;
        };
        if state.rate.replace(rate) != Some(rate) {
            self.push(at, end, EventKind::Limited(rate), None);
        }
    }

    /// Gives a packet that is sent its number.
    fn number(&mut self, tag: Tag, content: &Content) -> RecordedPacket {
        let peer = self.ends.entry(tag.endpoint.peer()).or_default();
        let ack = content.ack.map(|number| peer.unwrapped(number));
        let end = self.ends.entry(tag.endpoint).or_default();
        let seq = content.seq.map(|number| end.unwrapped(number));
        end.greatest = end.greatest.max(seq.unwrap_or(0));
        let packet = RecordedPacket {
            number: end.sent,
            kind: content.kind,
            seq,
            ack,
            payload: content.payload,
        };
        end.sent += 1;
        let place = end.under_way.entry((tag.sent, tag.words)).or_default();
        place.push((packet, 0));
        packet
    }

    /// An event of a packet under way; those that have left the record's sight are passed over.
    fn of_packet(&mut self, at: Time, tag: Tag, kind: EventKind) {
        let Some(end) = self.ends.get_mut(&tag.endpoint) else {
            return;
        };
        let key = (tag.sent, tag.words);
        let Some(same) = end.under_way.get_mut(&key) else {
            return;
        };
        // The last seen least: equal packets keep their order.
        let seen = same.iter().map(|&(_, seen)| seen).enumerate();
        let over = matches!(kind, EventKind::Received | EventKind::Dropped { .. });
        let place = if over {
            seen.max_by_key(|&(place, seen)| (seen, std::cmp::Reverse(place)))
        } else {
            seen.min_by_key(|&(place, seen)| (seen, place))
        };
        let Some((place, _)) = place else {
            return;
        };
        let packet = same[place].0;
        if over {
            same.remove(place);
            if same.is_empty() {
                end.under_way.remove(&key);
            }
        } else {
            same[place].1 += 1;
        }
        self.push(at, tag.endpoint, kind, Some(packet));
    }

    /// Enters what differs from the last look at an endpoint.
    fn observed(&mut self, index: EndpointIndex, at: Time, now: &Observation) {
        let end = self.ends.entry(index).or_default();
        let before = std::mem::replace(&mut end.before, *now);
        if before == *now {
            return;
        }
        for kind in changes(&before, now) {
            self.push(at, index, kind, None);
        }
    }
}

impl End {
    fn unwrapped(&mut self, number: Number) -> u64 {
        match number {
            Number::Tcp(wire) => offset(wire, self.greatest),
            Number::Datagram(count) => count,
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

/// What happened between two looks, in the order in which a transport lets it happen.
fn changes(before: &Observation, now: &Observation) -> Vec<EventKind> {
    let mut all = Vec::new();
    if now.written != before.written {
        all.push(EventKind::Written(now.written));
    }
    if now.delivered != before.delivered {
        all.push(EventKind::Delivered(now.delivered));
    }
    let times = |now: u64, before: u64| (before..now).map(|_| ());
    all.extend(times(now.duplicate_acks, before.duplicate_acks).map(|()| EventKind::DuplicateAck));
    all.extend(times(now.naks, before.naks).map(|()| EventKind::Nak));
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

#[cfg(test)]
mod tests {
    use incastle_units::Span;

    use super::*;

    #[test]
    fn numbers_of_udt_unwrap_around_the_greatest() {
        let first = MASK - 1;
        let mut end = End::default();
        assert_eq!(end.unwrapped(Number::Udt(first)), 0);
        assert_eq!(end.unwrapped(Number::Udt(MASK)), 1);
        // 0x7fff_fffe + 5 wraps to 4.
        end.greatest = 3;
        assert_eq!(end.unwrapped(Number::Udt(3)), 5);
        assert_eq!(end.unwrapped(Number::Udt(first)), 0);
    }

    #[test]
    fn a_packet_is_sent_with_the_pacing_of_its_end() {
        let end = EndpointIndex::from_index(0);
        let tag = Tag {
            endpoint: end,
            sent: Time::ZERO,
            words: (0, 0),
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
            port: PortIndex::from_index(0),
            transit: Transit {
                serialisation: Span::ZERO,
                propagation: Span::ZERO,
            },
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
        let told = record.events.iter().map(|event| match event.kind {
            EventKind::Sent { pacing, .. } => pacing,
            _ => unreachable!("nothing else happens"),
        });
        assert!(told.eq(rates));
    }

    #[test]
    fn a_full_record_says_so_once() {
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
            EventKind::Notified(0),
            EventKind::Notified(1),
            EventKind::Full,
        ];
        assert_eq!(kinds, expected);
    }
}
