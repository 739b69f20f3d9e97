//! The critical path of a transfer: the parts of its time, without a gap and without overlap.
//!
//! From the arrival of the last byte it goes backwards: the path of that packet through the network, then the cause
//! that had made its sender send it at that instant (an acknowledgement, a timer, the application, room in the NIC),
//! the path of that packet, and so on until the transfer began. Every picosecond belongs to exactly one part. EventKind
//! happened in parallel does not count: nothing waited for it.

use serde::{Serialize, Serializer};

use crate::event::{End, Event};
use crate::pauses::Pause;
use crate::record::{NEARLY, Packet, Record};
use crate::walk::Walk;

/// The kinds of parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Timeout,
    Probe,
    Reordering,
    Down,
    Paused,
    Queue,
    Serialisation,
    Propagation,
    Stall,
    Pacing,
    Repetition,
    Limiter,
    Own,
    Nic,
    Response,
    Application,
}

impl Part {
    /// Its name in `--json`.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Probe => "probe",
            Self::Reordering => "reordering",
            Self::Down => "down",
            Self::Paused => "paused",
            Self::Queue => "queue",
            Self::Serialisation => "serialisation",
            Self::Propagation => "propagation",
            Self::Stall => "stall",
            Self::Pacing => "pacing",
            Self::Repetition => "repetition",
            Self::Limiter => "limiter",
            Self::Own => "own",
            Self::Nic => "nic",
            Self::Response => "response",
            Self::Application => "application",
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Timeout => "waiting for retransmission timeouts",
            Self::Probe => "waiting for tail loss probes",
            Self::Reordering => "waiting for the reordering timer",
            Self::Down => "waiting for a link that is down",
            Self::Paused => "paused by PFC",
            Self::Queue => "waiting in queues",
            Self::Serialisation => "being sent on links",
            Self::Propagation => "travelling on links",
            Self::Stall => "nothing more arrived until the run ended",
            Self::Pacing => "paced at its rate",
            Self::Repetition => "sending packets again",
            Self::Limiter => "held back by the NIC's rate limiter",
            Self::Own => "behind its own packets",
            Self::Nic => "waiting in the NIC",
            Self::Response => "waiting for the receiver to respond",
            Self::Application => "nothing to send",
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// A part of the path: from one instant to another, of one kind, at most at one port.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Piece<'a> {
    pub(crate) kind: Part,
    #[serde(rename = "where")]
    pub(crate) port: &'a str,
    pub(crate) begins: i64,
    pub(crate) ends: i64,
    pub(crate) priority: Option<i64>,
    pub(crate) pause: Option<&'a Pause>,
    /// By its place in the record.
    #[serde(skip)]
    pub(crate) packet: Option<usize>,
    #[serde(skip)]
    pub(crate) timer: Option<&'a Event>,
}

impl<'a> Piece<'a> {
    pub(crate) fn new(kind: Part, port: &'a str, begins: i64, ends: i64) -> Self {
        Self {
            kind,
            port,
            begins,
            ends,
            priority: None,
            pause: None,
            packet: None,
            timer: None,
        }
    }

    /// How long it lasts.
    pub(crate) fn span(&self) -> i64 {
        self.ends - self.begins
    }

    fn within(&self, begins: i64, ends: i64) -> Self {
        Self {
            begins,
            ends,
            ..self.clone()
        }
    }
}

/// Data that wait in a NIC: its port, and their priority.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting<'a> {
    pub(crate) port: &'a str,
    pub(crate) priority: i64,
}

/// All parts, from the first to the last.
#[derive(Debug, Default)]
pub(crate) struct Path<'a> {
    pub(crate) pieces: Vec<Piece<'a>>,
}

impl<'a> Path<'a> {
    /// Takes the time between two instants apart; at the second, the receiver got the last byte.
    pub(crate) fn critical(record: &Record<'a>, begins: i64, ends: i64) -> Self {
        let mut pieces: Vec<Piece<'a>> = Vec::new();
        'walk: for piece in Walk::new(record, ends) {
            for part in parted(record, piece)
                .into_iter()
                .flat_map(|part| own(record, part))
            {
                if part.begins > begins {
                    pieces.extend(Some(part).filter(|part| part.span() != 0));
                    continue;
                }
                if part.ends > begins {
                    pieces.push(part.within(begins, part.ends));
                }
                break 'walk;
            }
        }
        let first = pieces.last().map_or(ends, |piece| piece.begins);
        if first > begins {
            pieces.push(Piece::new(Part::Application, "", begins, first));
        }
        pieces.reverse();
        Self { pieces }
    }

    /// Adds the end of the path of something incomplete, where nothing more arrives. The port of its oldest packet in
    /// flight may be paused then, or that of its sender, where `waiting` data have never left.
    pub(crate) fn stall(
        &mut self,
        record: &Record<'a>,
        (since, until): (i64, i64),
        waiting: Option<Waiting<'a>>,
    ) {
        let mut stall = Piece::new(Part::Stall, "", since, until);
        if let Some(packet) = record.oldest_in_flight(End::Sender) {
            stall.port = &packet.last_stop().port;
            stall.priority = packet.sent.priority;
        } else if let Some(Waiting { port, priority }) = waiting {
            stall.port = port;
            stall.priority = Some(priority);
        }
        for mut part in parted(record, stall).into_iter().rev() {
            if part.kind == Part::Stall {
                part.port = "";
            }
            self.pieces.push(part);
        }
    }

    /// How long all parts last together: the time of the transfer.
    pub(crate) fn span(&self) -> i64 {
        self.pieces.iter().map(Piece::span).sum()
    }

    /// The time of each kind, the longest first.
    pub(crate) fn by_kind(&self) -> Vec<(Part, i64)> {
        longest_first(self.pieces.iter().map(|one| (one.kind, one.span())))
    }

    /// The port with most of the time of one kind.
    pub(crate) fn port_of(&self, kind: Part) -> Option<(&'a str, i64)> {
        let pieces = self.pieces.iter().filter(|one| one.kind == kind);
        longest_first(pieces.map(|one| (one.port, one.span())))
            .into_iter()
            .next()
    }

    /// The timeouts that it waited for.
    pub(crate) fn timers(&self) -> impl Iterator<Item = &'a Event> {
        self.pieces.iter().filter_map(|one| one.timer)
    }

    /// The packets with data of the sender that it waited for, one after the other.
    pub(crate) fn flights<'r>(&self, record: &'r Record<'a>) -> Vec<&'r Packet<'a>> {
        let mut flights: Vec<usize> = self.pieces.iter().filter_map(|one| one.packet).collect();
        flights.retain(|&one| {
            let packet = &record.packets[one];
            packet.sent.end == End::Sender && packet.carries() > 0
        });
        flights.dedup();
        flights
            .into_iter()
            .map(|one| &record.packets[one])
            .collect()
    }
}

/// Sums by key, the largest first; of equal ones the one that came first.
pub(crate) fn longest_first<K: PartialEq>(spans: impl Iterator<Item = (K, i64)>) -> Vec<(K, i64)> {
    let mut sums: Vec<(K, i64)> = Vec::new();
    for (key, span) in spans {
        match sums.iter_mut().find(|(other, _)| *other == key) {
            Some((_, sum)) => *sum += span,
            None => sums.push((key, span)),
        }
    }
    sums.sort_by_key(|(_, span)| -span);
    sums
}

/// Takes the times out of a wait at a port in which its link was down, or it was paused; the last part first.
fn parted<'a>(record: &Record<'a>, piece: Piece<'a>) -> Vec<Piece<'a>> {
    if !matches!(
        piece.kind,
        Part::Queue | Part::Nic | Part::Repetition | Part::Stall
    ) {
        return vec![piece];
    }
    let down = record.outages.within(piece.port, piece.begins, piece.ends);
    let down = down.into_iter().map(|(begins, ends)| Piece {
        kind: Part::Down,
        ..piece.within(begins, ends)
    });
    let parts = taken_out(&piece, down).into_iter();
    parts
        .flat_map(|part| without_pauses(record, part))
        .collect()
}

/// Takes the times out of a wait at a port in which it was paused; the last part first.
fn without_pauses<'a>(record: &Record<'a>, piece: Piece<'a>) -> Vec<Piece<'a>> {
    if piece.kind == Part::Down {
        return vec![piece];
    }
    let pauses = record.pauses;
    let paused = pauses.within(piece.port, piece.priority, piece.begins, piece.ends);
    taken_out(
        &piece,
        paused.into_iter().map(|(begins, ends, pause)| Piece {
            kind: Part::Paused,
            pause: Some(pause),
            ..piece.within(begins, ends)
        }),
    )
}

/// Takes the times out of a wait at a host in which its port sent packets of the same flow.
fn own<'a>(record: &Record<'a>, piece: Piece<'a>) -> Vec<Piece<'a>> {
    if piece.kind != Part::Nic {
        return vec![piece];
    }
    let busy = record.busy(piece.port, piece.begins, piece.ends);
    taken_out(
        &piece,
        busy.into_iter().map(|(begins, ends)| Piece {
            kind: Part::Own,
            ..piece.within(begins, ends)
        }),
    )
}

/// A piece with others in place of its parts; the last one first.
fn taken_out<'a>(piece: &Piece<'a>, others: impl Iterator<Item = Piece<'a>>) -> Vec<Piece<'a>> {
    let (mut parts, mut at) = (Vec::new(), piece.begins);
    for other in others {
        parts.push(piece.within(at, other.begins));
        at = other.ends;
        parts.push(other);
    }
    parts.push(piece.within(at, piece.ends));
    parts.retain(|part| part.span() != 0);
    parts.reverse();
    parts
}

/// The path of a packet: waiting, serialisation and propagation at each port.
pub(crate) fn flight<'a>(record: &Record<'a>, place: usize, received: i64) -> Vec<Piece<'a>> {
    let packet = &record.packets[place];
    let mut pieces = Vec::new();
    let mut add = |kind, port, begins, ends| {
        let with_packet = Piece {
            packet: Some(place),
            ..Piece::new(kind, port, begins, ends)
        };
        pieces.push(with_packet);
    };
    let stops = std::iter::once(packet.sent).chain(packet.hops.iter().copied());
    let arrivals = packet.hops.iter().map(|hop| hop.at).chain([received]);
    for (number, (stop, arrives)) in stops.zip(arrivals).enumerate() {
        let mut at = stop.at;
        if let Some(released) = packet.released.filter(|_| number == 0) {
            add(Part::Limiter, "", at, released);
            at = released;
        }
        let propagates = at.max(arrives - stop.propagation);
        let mut serialises = at.max(propagates - stop.serialisation);
        if serialises - at < NEARLY {
            serialises = at;
        }
        let waits = if number == 0 { Part::Nic } else { Part::Queue };
        add(waits, &stop.port, at, serialises);
        add(Part::Serialisation, &stop.port, serialises, propagates);
        add(Part::Propagation, &stop.port, propagates, arrives);
    }
    for piece in &mut pieces {
        if matches!(piece.kind, Part::Nic | Part::Queue) {
            piece.priority = packet.sent.priority;
        }
    }
    pieces
}
