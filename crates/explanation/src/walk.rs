//! Follows a critical path backwards, from one cause to the one before it.

use crate::departures::{Cause, Departure, departure};
use crate::event::{End, EventKind};
use crate::path::{Part, Piece, flight};
use crate::record::{NEARLY, Packet, Passage, Record};

/// The events of timers.
const WAITS: [EventKind; 4] = [
    EventKind::Timeout,
    EventKind::Expired,
    EventKind::TailLossProbe,
    EventKind::ReorderingTimeout,
];

/// The parts, the last one first, down to where nothing is recorded any more.
pub(crate) struct Walk<'r, 'a> {
    record: &'r Record<'a>,
    end: End,
    at: i64,
    /// Nothing led to the last step.
    is_over: bool,
    /// The packet that the endpoint sent at this instant, if that leads here.
    own: Option<usize>,
    /// Parts that are still to be returned, the first of them last.
    parts: Vec<Piece<'a>>,
}

impl<'a> Iterator for Walk<'_, 'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        while self.parts.is_empty() && !self.is_over {
            match self.step() {
                Some(parts) => self.parts = parts.into_iter().rev().collect(),
                None => self.is_over = true,
            }
        }
        self.parts.pop()
    }
}

/// The parts between an instant and its cause; `None` if that is not the cause.
type Step<'a> = Option<Vec<Piece<'a>>>;

impl<'r, 'a> Walk<'r, 'a> {
    /// Begins where the receiver got the last byte.
    pub(crate) fn new(record: &'r Record<'a>, ends: i64) -> Self {
        Self {
            record,
            end: End::Receiver,
            at: ends,
            is_over: false,
            own: None,
            parts: Vec::new(),
        }
    }

    fn step(&mut self) -> Step<'a> {
        self.pulled()
            .or_else(|| self.timer())
            .or_else(|| self.pacer())
            .or_else(|| self.arrival())
            .or_else(|| self.earlier_packet())
            .or_else(|| self.application())
    }

    fn own_packet(&self) -> Option<&'r Packet<'a>> {
        self.own.map(|own| &self.record.packets[own])
    }

    fn go_to(&mut self, before: Passage) {
        self.at = before.at;
        self.own = Some(before.packet);
    }

    /// Goes on at the cause that let the NIC pull this packet of a queue pair.
    fn pulled(&mut self) -> Step<'a> {
        let own = self.own_packet().filter(|own| own.is_pulled())?;
        let why = departure(self.record, self.end, own);
        let mut waits = self.before_departure(own, &why);
        self.at = why.begins;
        self.own = None;
        match why.cause {
            Cause::Packet(before) => self.own = Some(before),
            Cause::Timer(timer) => {
                self.at -= self.record.waited(timer);
                waits.push(Piece {
                    timer: Some(timer),
                    ..Piece::new(Part::Timeout, "", self.at, why.begins)
                });
                self.own = self.record.sent_at(self.end, self.at);
            }
            Cause::Arrival => {}
            Cause::Unknown => self.is_over = true,
        }
        Some(waits)
    }

    /// The waits of a packet that a NIC has pulled, the last one first.
    fn before_departure(&self, own: &Packet<'a>, why: &Departure<'a>) -> Vec<Piece<'a>> {
        let (at, port) = (own.sent.at, &*own.sent.port);
        let with_priority = |kind, begins, ends| Piece {
            priority: own.sent.priority,
            ..Piece::new(kind, port, begins, ends)
        };
        match why.cause {
            Cause::Packet(before) if self.record.packets[before].is_repeated() => {
                vec![with_priority(Part::Repetition, why.begins, at)]
            }
            _ => vec![
                with_priority(Part::Nic, why.paced, at),
                Piece::new(Part::Pacing, port, why.begins, why.paced),
            ],
        }
    }

    /// Goes on where the timer was started, if the endpoint acted because it had fired.
    fn timer(&mut self) -> Step<'a> {
        let event = self.record.last_inside(self.end, self.at, &WAITS)?;
        if event.at != self.at || self.own.is_none() {
            return None;
        }
        let since = event.at - self.record.waited(event);
        if since >= event.at {
            return None;
        }
        self.at = since;
        self.own = self.record.sent_at(self.end, since);
        let kind = match event.name {
            EventKind::TailLossProbe => Part::Probe,
            EventKind::ReorderingTimeout => Part::Reordering,
            _ => Part::Timeout,
        };
        Some(vec![Piece {
            timer: Some(event).filter(|_| kind == Part::Timeout),
            ..Piece::new(kind, "", since, event.at)
        }])
    }

    /// Goes on at the segment before, if the pacer held this one longer than all else.
    fn pacer(&mut self) -> Step<'a> {
        let own = self.own_packet().filter(|own| own.carries() > 0)?;
        let before = self.record.last_data(self.end, self.at)?;
        let mut until = self.record.paced_until(self.end, self.at)?;
        let arrival = self.record.last_arrival(self.end, self.at);
        let others = arrival.map_or(-1, |arrival| arrival.at);
        if self.line_was_busy(before) || others.max(self.record.available_at(own)) >= until {
            return None;
        }
        if self.at - until <= NEARLY {
            until = self.at;
        }
        let port = &*self.record.packets[before.packet].sent.port;
        let pieces = vec![
            Piece::new(Part::Nic, port, until, self.at),
            Piece::new(Part::Pacing, port, before.at, until),
        ];
        self.go_to(before);
        Some(pieces)
    }

    /// Goes on where the packet was sent that made the endpoint act, then or before.
    fn arrival(&mut self) -> Step<'a> {
        let arrival = self.record.last_arrival(self.end, self.at)?;
        if self.prefers_own(arrival.at) {
            return None;
        }
        let mut pieces = Vec::new();
        if arrival.at < self.at {
            pieces.push(Piece::new(self.kind_of_wait(), "", arrival.at, self.at));
        }
        let flight = flight(self.record, arrival.packet, arrival.at);
        pieces.extend(flight.into_iter().rev());
        let sent = self.record.packets[arrival.packet].sent;
        self.end = sent.end;
        self.at = sent.at;
        self.own = Some(arrival.packet);
        Some(pieces)
    }

    /// Whether the packet only waited for the one before it, or for data that were written later.
    fn prefers_own(&self, arrived: i64) -> bool {
        let Some(own) = self.own_packet().filter(|_| arrived != self.at) else {
            return false;
        };
        if self.record.available_at(own) > arrived {
            return true;
        }
        let before = self.before();
        before.is_some_and(|before| self.goes_by_rate() || self.line_was_busy(before))
    }

    fn goes_by_rate(&self) -> bool {
        self.end == End::Sender && self.record.is_paced()
    }

    /// The packet that the endpoint sent before; of a paced sender one with data.
    fn before(&self) -> Option<Passage> {
        let own = self.own_packet()?;
        if own.carries() > 0 && self.goes_by_rate() {
            return self.record.last_data(self.end, self.at);
        }
        self.record.last_sending(self.end, self.at)
    }

    fn line_was_busy(&self, before: Passage) -> bool {
        let sent = self.record.packets[before.packet].sent;
        self.at - before.at <= sent.serialisation + NEARLY
    }

    fn kind_of_wait(&self) -> Part {
        match self.end {
            End::Receiver => Part::Response,
            End::Sender if self.record.is_paced() => Part::Pacing,
            End::Sender => Part::Nic,
        }
    }

    /// Goes on at the packet before, if the endpoint sent one after the other.
    fn earlier_packet(&mut self) -> Step<'a> {
        let before = self.before()?;
        if self.record.available_at(self.own_packet()?) > before.at {
            return None;
        }
        let packet = &self.record.packets[before.packet];
        let kind = if packet.released.is_some() {
            Part::Limiter
        } else if self.goes_by_rate() && !self.line_was_busy(before) {
            Part::Pacing
        } else {
            Part::Nic
        };
        let piece = Piece {
            priority: packet.sent.priority,
            ..Piece::new(kind, &packet.sent.port, before.at, self.at)
        };
        self.go_to(before);
        Some(vec![piece])
    }

    /// Goes on before the application wrote, if nothing was to be sent until then.
    fn application(&mut self) -> Step<'a> {
        let before = self.before()?;
        let written = self.record.available_at(self.own_packet()?);
        let waits = if self.goes_by_rate() {
            Part::Pacing
        } else {
            Part::Nic
        };
        let mut pieces = Vec::new();
        if written < self.at {
            pieces.push(Piece::new(waits, "", written, self.at));
        }
        pieces.push(Piece::new(Part::Application, "", before.at, written));
        self.go_to(before);
        Some(pieces)
    }
}
