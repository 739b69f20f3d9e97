//! Why a packet of a queue pair left at its instant, and not before.
//!
//! The NIC pulls packets from queue pairs, so that a packet leaves when four conditions hold: there is something to
//! send that the window allows, its pacing is over, its priority is not paused, and it is its turn by round robin.
//! The record has the first two exactly: the event `ready` where a queue pair that could not send can again, and
//! `paced_until` of each packet. Leaves out: the other queue pairs of the NIC.

use crate::event::{End, Event, EventKind};
use crate::record::{NEARLY, Packet, Passage, Record};

/// The events after which a queue pair goes back and repeats.
pub(crate) const RECOVERIES: [EventKind; 3] =
    [EventKind::Nak, EventKind::AckTimeout, EventKind::ReadRetry];

/// The waits before a packet left, as instants in their order, and where its cause is.
#[derive(Debug)]
pub(crate) struct Departure<'a> {
    /// When its waits began; the cause is there.
    pub(crate) begins: i64,
    /// Until when its pacing held it, at least `begins`.
    pub(crate) paced: i64,
    pub(crate) cause: Cause<'a>,
}

/// The cause of a departure.
#[derive(Debug)]
pub(crate) enum Cause<'a> {
    /// The packet that left then, by its place in the record.
    Packet(usize),
    /// The retransmission timer that fired then.
    Timer(&'a Event),
    /// An arrival at that instant.
    Arrival,
    /// The record has none.
    Unknown,
}

/// Why a packet that the NIC has pulled left at its instant.
pub(crate) fn departure<'a>(record: &Record<'a>, end: End, own: &Packet<'a>) -> Departure<'a> {
    let at = own.sent.at;
    let before = record.last_pulled(end, at);
    let since = before.map_or(-1, |before| before.at);
    let held = before.map_or(-1, |before| held_until(record, own, before));
    let again = record.last_inside(end, at, &RECOVERIES);
    if let Some(again) = again.filter(|again| again.at > since) {
        let is_timer = again.name == EventKind::AckTimeout;
        return Departure {
            begins: again.at,
            paced: held.max(again.at).min(at),
            cause: if is_timer {
                Cause::Timer(again)
            } else {
                Cause::Arrival
            },
        };
    }
    let opened = record.last_inside(end, at, &[EventKind::Ready]);
    // The pacing after an earlier packet may have held it longer than its window.
    let is_held =
        |opened: i64| before.is_some() && own.sent.paced_until.is_some_and(|paced| paced > opened);
    if let Some(opened) = opened.filter(|one| one.at > since && !is_held(one.at)) {
        let has_arrival = record.arrived_at(end, opened.at);
        return Departure {
            begins: opened.at,
            paced: opened.at,
            cause: if has_arrival {
                Cause::Arrival
            } else {
                Cause::Unknown
            },
        };
    }
    let Some(before) = before else {
        return Departure {
            begins: at,
            paced: at,
            cause: Cause::Unknown,
        };
    };
    Departure {
        begins: before.at,
        paced: held.max(before.at).min(at),
        cause: Cause::Packet(before.packet),
    }
}

/// Until when its pacing held a packet; -1 where the line was busy as long.
fn held_until(record: &Record<'_>, own: &Packet<'_>, before: Passage) -> i64 {
    let line = record.packets[before.packet].sent.serialisation + NEARLY;
    let paced = own.sent.paced_until;
    paced.filter(|paced| paced - before.at > line).unwrap_or(-1)
}
