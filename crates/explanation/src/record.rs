//! The record of one flow: its packets, each with its path, and the events at its endpoints.

use std::collections::BTreeMap;

use crate::event::{End, Event, EventKind};
use crate::outages::Outages;
use crate::pauses::Pauses;

/// Picoseconds by which a carried remainder, or one that is rounded off, may move a packet.
pub(crate) const NEARLY: i64 = 1_000;

/// A packet that an endpoint has sent, and its fate.
#[derive(Debug)]
pub(crate) struct Packet<'a> {
    pub(crate) sent: &'a Event,
    pub(crate) released: Option<i64>,
    pub(crate) hops: Vec<&'a Event>,
    pub(crate) received: Option<i64>,
    pub(crate) dropped: Option<&'a Event>,
    /// The bytes that the application must have written before it can leave.
    needs: i64,
}

/// Packets of a queue pair that its NIC pulls: they leave as soon as they are made.
pub(crate) fn is_pulled(kind: &str) -> bool {
    matches!(kind, "write" | "send" | "read-request" | "read-response")
}

impl<'a> Packet<'a> {
    fn new(sent: &'a Event) -> Self {
        Self {
            sent,
            released: None,
            hops: Vec::new(),
            received: None,
            dropped: None,
            needs: 0,
        }
    }

    /// Its number among those of its endpoint.
    pub(crate) fn number(&self) -> i64 {
        self.sent.packet.unwrap_or(-1)
    }

    /// Whether it repeats something that was sent before.
    pub(crate) fn is_repeated(&self) -> bool {
        self.sent.name == EventKind::Resent
    }

    /// Application bytes.
    pub(crate) fn carries(&self) -> i64 {
        self.sent.bytes.unwrap_or(0)
    }

    /// Whether `seq` counts packets (UDT, datagrams), not bytes: the data of TCP carry an ACK.
    pub(crate) fn is_numbered(&self) -> bool {
        self.carries() > 0 && self.sent.ack.is_none()
    }

    /// Whether the NIC has pulled it from a queue pair.
    pub(crate) fn is_pulled(&self) -> bool {
        is_pulled(&self.sent.kind)
    }

    /// Whether a sequence number is in it.
    pub(crate) fn covers(&self, seq: i64) -> bool {
        let has_data = matches!(&*self.sent.kind, "data" | "fin" | "datagram");
        let first = self.sent.seq.filter(|_| has_data);
        first.is_some_and(|first| first <= seq && seq < first + self.carries().max(1))
    }

    /// The last place that is recorded of it.
    pub(crate) fn last_stop(&self) -> &'a Event {
        self.hops.last().copied().unwrap_or(self.sent)
    }

    /// When the port of its host sent it; `None` where the record does not show it.
    fn on_first_link(&self) -> Option<Interval> {
        if self.is_pulled() {
            return Some((self.sent.at, self.sent.at + self.sent.serialisation));
        }
        let arrived = self.hops.first().map(|hop| hop.at).or(self.received)?;
        let end = arrived - self.sent.propagation;
        Some((end - self.sent.serialisation, end))
    }
}

/// Begin and end.
type Interval = (i64, i64);

/// A packet, by its place in the record, and the instant at which it was sent or received.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passage {
    pub(crate) at: i64,
    pub(crate) packet: usize,
}

/// The events of one kind inside an endpoint.
struct Inside<'a> {
    end: End,
    kind: EventKind,
    events: Vec<&'a Event>,
}

/// The recorded events of one flow.
pub(crate) struct Record<'a> {
    pub(crate) events: &'a [Event],
    pub(crate) pauses: &'a Pauses,
    pub(crate) outages: &'a Outages,
    pub(crate) packets: Vec<Packet<'a>>,
    places: BTreeMap<(End, i64), usize>,
    /// By endpoint.
    arrivals: [Vec<Passage>; 2],
    sendings: [Vec<Passage>; 2],
    /// In the order of their first events.
    inside: Vec<Inside<'a>>,
    /// By port: when it sent packets of this flow.
    busy: BTreeMap<&'a str, Vec<Interval>>,
    /// By endpoint: the new bytes sent so far.
    new: [i64; 2],
}

impl<'a> Record<'a> {
    pub(crate) fn new(events: &'a [Event], pauses: &'a Pauses, outages: &'a Outages) -> Self {
        let mut record = Self {
            events,
            pauses,
            outages,
            packets: Vec::new(),
            places: BTreeMap::new(),
            arrivals: Default::default(),
            sendings: Default::default(),
            inside: Vec::new(),
            busy: BTreeMap::new(),
            new: [0; 2],
        };
        for event in events {
            record.enter(event);
        }
        for packet in &record.packets {
            if let Some(interval) = packet.on_first_link() {
                record
                    .busy
                    .entry(&packet.sent.port)
                    .or_default()
                    .push(interval);
            }
        }
        for intervals in record.busy.values_mut() {
            *intervals = merged(std::mem::take(intervals));
        }
        record
    }

    fn enter(&mut self, event: &'a Event) {
        match event.name {
            EventKind::Sent | EventKind::Resent => self.send(event),
            EventKind::Released
            | EventKind::Received
            | EventKind::Dropped
            | EventKind::Queued
            | EventKind::Marked => {
                self.follow(event);
            }
            EventKind::Full => {}
            kind => {
                let same = |one: &Inside<'_>| one.end == event.end && one.kind == kind;
                if let Some(place) = self.inside.iter().position(same) {
                    self.inside[place].events.push(event);
                } else {
                    let (end, events) = (event.end, vec![event]);
                    self.inside.push(Inside { end, kind, events });
                }
            }
        }
    }

    fn send(&mut self, event: &'a Event) {
        let mut packet = Packet::new(event);
        if packet.carries() > 0 && !packet.is_repeated() {
            self.new[event.end as usize] += packet.carries();
            packet.needs = self.new[event.end as usize];
        }
        let passage = Passage {
            at: event.at,
            packet: self.packets.len(),
        };
        self.places
            .insert((event.end, packet.number()), passage.packet);
        self.packets.push(packet);
        self.sendings[event.end as usize].push(passage);
    }

    /// Enters an event of a packet that was sent.
    fn follow(&mut self, event: &'a Event) {
        let key = (event.end, event.packet.unwrap_or(-1));
        let place = self.places[&key];
        let packet = &mut self.packets[place];
        match event.name {
            EventKind::Released => packet.released = Some(event.at),
            EventKind::Received => {
                packet.received = Some(event.at);
                self.arrivals[event.end.other() as usize].push(Passage {
                    at: event.at,
                    packet: place,
                });
            }
            EventKind::Dropped => packet.dropped = Some(event),
            _ => packet.hops.push(event),
        }
    }

    /// The packet of an event.
    pub(crate) fn packet_of(&self, event: &Event) -> &Packet<'a> {
        &self.packets[self.places[&(event.end, event.packet.unwrap_or(0))]]
    }

    /// The packets that an endpoint sent, in order.
    pub(crate) fn sendings(&self, end: End) -> &[Passage] {
        &self.sendings[end as usize]
    }

    /// The packets that reached an endpoint, in order.
    pub(crate) fn arrivals(&self, end: End) -> &[Passage] {
        &self.arrivals[end as usize]
    }

    /// The packets that an endpoint sent, in order.
    pub(crate) fn sent(&self, end: End) -> impl DoubleEndedIterator<Item = &Packet<'a>> {
        self.sendings(end)
            .iter()
            .map(|one| &self.packets[one.packet])
    }

    /// The packets that an endpoint sent from an instant on.
    pub(crate) fn sent_from(&self, end: End, at: i64) -> impl Iterator<Item = &Packet<'a>> {
        let sendings = self.sendings(end);
        let first = sendings.partition_point(|one| one.at < at);
        sendings[first..]
            .iter()
            .map(|one| &self.packets[one.packet])
    }

    /// The packets that an endpoint sent between two instants, inclusive.
    pub(crate) fn sent_by(
        &self,
        end: End,
        first: i64,
        last: i64,
    ) -> impl Iterator<Item = &Packet<'a>> {
        self.sent_from(end, first)
            .take_while(move |one| one.sent.at <= last)
    }

    /// The events of one kind inside an endpoint, in order.
    pub(crate) fn inside(&self, end: End, kind: EventKind) -> &[&'a Event] {
        let found = self
            .inside
            .iter()
            .find(|one| one.end == end && one.kind == kind);
        found.map_or(&[], |one| &one.events)
    }

    /// The expiries of retransmission timers between two instants, in order.
    pub(crate) fn timers(&self, begins: i64, ends: i64) -> Vec<&'a Event> {
        let kinds = self.inside.iter().filter(|one| one.kind.is_timer());
        let all = kinds.flat_map(|one| one.events.iter().copied());
        let mut timers: Vec<_> = all
            .filter(|one| begins <= one.at && one.at <= ends)
            .collect();
        timers.sort_by_key(|one| one.at);
        timers
    }

    /// Whether the queue pair of an endpoint has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.events
            .iter()
            .any(|event| event.name == EventKind::Failed)
    }

    /// Whether a rate or the application alone controls the sender: UDT and datagrams.
    pub(crate) fn is_paced(&self) -> bool {
        let mut sent = self.sent(End::Sender);
        sent.find(|one| one.carries() > 0)
            .is_some_and(Packet::is_numbered)
    }

    /// Until when the pacer held a packet that an endpoint sent at an instant, if it did: at a rate each segment of
    /// TCP waits until the payload of the one before it has had its time.
    pub(crate) fn paced_until(&self, end: End, at: i64) -> Option<i64> {
        let before = self.last_data(end, at)?;
        let packet = &self.packets[before.packet];
        let rate = packet.sent.rate_bit_s.filter(|rate| *rate != 0.0)?;
        let until = before.at + ((packet.carries() * 8) as f64 * 1e12 / rate) as i64;
        (until <= at + NEARLY).then_some(until)
    }

    /// The last packet with data that an endpoint sent before an instant.
    pub(crate) fn last_data(&self, end: End, before: i64) -> Option<Passage> {
        self.last_such(end, before, |packet| packet.carries() > 0)
    }

    /// The last packet that a NIC pulled from an endpoint before an instant.
    pub(crate) fn last_pulled(&self, end: End, before: i64) -> Option<Passage> {
        self.last_such(end, before, Packet::is_pulled)
    }

    fn last_such(
        &self,
        end: End,
        before: i64,
        is_such: impl Fn(&Packet<'a>) -> bool,
    ) -> Option<Passage> {
        let mut last = self.last_sending(end, before)?;
        while !is_such(&self.packets[last.packet]) {
            last = self.last_sending(end, last.at)?;
        }
        Some(last)
    }

    /// How long an endpoint waited for its timer. EXP begins when data were last sent, the reordering timer with the
    /// last ACK, and that of tail loss probes with the later of both.
    pub(crate) fn waited(&self, timer: &Event) -> i64 {
        let sent = || self.last_data(timer.end, timer.at).map(|one| one.at);
        let arrived = || self.last_arrival(timer.end, timer.at).map(|one| one.at);
        let began = match timer.name {
            EventKind::Timeout | EventKind::AckTimeout => return timer.waited,
            EventKind::Expired => sent(),
            EventKind::TailLossProbe => sent().max(arrived()),
            _ => arrived(),
        };
        timer.at - began.unwrap_or(timer.at)
    }

    /// The last packet that reached an endpoint until an instant, inclusive.
    pub(crate) fn last_arrival(&self, end: End, at: i64) -> Option<Passage> {
        last_until(self.arrivals(end), at)
    }

    /// The last packet that an endpoint sent before an instant.
    pub(crate) fn last_sending(&self, end: End, before: i64) -> Option<Passage> {
        last_until(self.sendings(end), before - 1)
    }

    /// The packet that an endpoint sent at this very instant, the last one.
    pub(crate) fn sent_at(&self, end: End, at: i64) -> Option<usize> {
        let last = self.last_sending(end, at + 1)?;
        (last.at == at).then_some(last.packet)
    }

    /// The oldest packet in flight of an endpoint.
    pub(crate) fn oldest_in_flight(&self, end: End) -> Option<&Packet<'a>> {
        self.sent(end)
            .find(|one| one.received.is_none() && one.dropped.is_none())
    }

    /// The parts of an interval in which a host's port sent packets of this flow. Gaps that a carried remainder
    /// explains are none.
    pub(crate) fn busy(&self, port: &str, begins: i64, ends: i64) -> Vec<Interval> {
        let spans = self.busy.get(port).map_or(&[][..], Vec::as_slice);
        let first = spans.partition_point(|one| one.1 <= begins);
        let within = spans[first..].iter().take_while(|one| one.0 < ends);
        within
            .map(|&(start, end)| {
                let low = if start - begins <= NEARLY {
                    begins
                } else {
                    start
                };
                let high = if ends - end <= NEARLY { ends } else { end };
                (low, high)
            })
            .collect()
    }

    /// Whether a packet reached an endpoint at this very instant.
    pub(crate) fn arrived_at(&self, end: End, at: i64) -> bool {
        self.last_arrival(end, at).is_some_and(|last| last.at == at)
    }

    /// The last of some events inside an endpoint until an instant; of several at once the first kind.
    pub(crate) fn last_inside(&self, end: End, at: i64, kinds: &[EventKind]) -> Option<&'a Event> {
        let mut last: Option<&Event> = None;
        for &kind in kinds {
            let named = self.inside(end, kind);
            let place = named.partition_point(|one| one.at <= at);
            if let Some(&found) = place.checked_sub(1).map(|place| &named[place])
                && last.is_none_or(|last| found.at > last.at)
            {
                last = Some(found);
            }
        }
        last
    }

    /// When the application had written the data of a packet; -1 if nothing is needed.
    pub(crate) fn available_at(&self, packet: &Packet<'_>) -> i64 {
        let written = self.inside(packet.sent.end, EventKind::Written);
        let place = written.partition_point(|one| one.count.unwrap_or(0) < packet.needs);
        let found = written.get(place).filter(|_| packet.needs > 0);
        found.map_or(-1, |event| event.at)
    }

    /// When the application of the receiver last got something between two instants.
    pub(crate) fn delivered_at(&self, first: i64, last: i64) -> Option<i64> {
        let event = self.last_inside(End::Receiver, last, &[EventKind::Delivered])?;
        (event.at > first).then_some(event.at)
    }
}

/// Intervals in order, those that follow each other at once as one.
fn merged(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_unstable();
    let mut merged: Vec<Interval> = Vec::new();
    for (begins, ends) in intervals {
        match merged.last_mut() {
            Some(last) if begins - last.1 <= NEARLY => last.1 = last.1.max(ends),
            _ => merged.push((begins, ends)),
        }
    }
    merged
}

fn last_until(passages: &[Passage], at: i64) -> Option<Passage> {
    let place = passages.partition_point(|one| one.at <= at);
    place.checked_sub(1).map(|place| passages[place])
}
