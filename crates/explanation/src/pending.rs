//! The retransmission timer for which an incomplete flow waited when the run ended.
//!
//! It is exact where no round trip was measured yet (the RTO is `initial_rto`) and after a timeout (the RTO doubles;
//! RFC 6298, sections 2 and 5.5). Elsewhere the RTO follows from the measured round trips, which are not recorded:
//! then it is at least `min_rto`.
//!
//! The timer of a queue pair (RDMA) is always `ack_timeout`. It starts with the first request that leaves while it
//! does not run, and again with each acknowledgement of something new; going back stops it (docs/models/rdma.md).
//!
//! Leaves out: timers of flows with packets in flight, the timers of probes and of reordering, the persist timer, the
//! EXP of UDT, and queue pairs that go back to the start of a message (go-back-0).

use serde::Serialize;

use crate::departures::RECOVERIES;
use crate::event::{End, Event, EventKind};
use crate::record::{Packet, Record};
use crate::transport::Transport;
use crate::words;

/// A retransmission timer that had not expired.
#[derive(Debug, Serialize)]
pub(crate) struct Pending {
    /// When it would expire, or at the earliest.
    at: i64,
    /// Its span, or the minimum.
    rto: i64,
    /// Whether both are more than lower bounds.
    exact: bool,
    /// Why it has this span.
    reason: &'static str,
    /// The timer, its span and the reason.
    pub(crate) short: String,
    /// These, and when it expires.
    pub(crate) text: String,
}

impl Pending {
    fn new(at: i64, rto: i64, exact: bool, reason: &'static str) -> Self {
        let least = if exact { "" } else { "at least " };
        let short = format!("RTO of {least}{} pending ({reason})", words::span(rto));
        let earliest = if exact { "" } else { ", at the earliest" };
        let text = format!("{short}, expires at {}{earliest}", words::instant(at));
        Self {
            at,
            rto,
            exact,
            reason,
            short,
            text,
        }
    }
}

/// The timer that alone could make an incomplete flow go on; `now` is the end of the run.
pub(crate) fn pending(record: &Record<'_>, transport: &Transport, now: i64) -> Option<Pending> {
    let is_moving = |one: &Packet<'_>| one.received.is_none() && one.dropped.is_none();
    if record.packets.iter().any(is_moving) {
        return None;
    }
    match transport.word("kind") {
        "rdma" => of_queue_pair(record, transport, now),
        "tcp" => of_tcp(record, transport, now),
        _ => None,
    }
}

fn of_tcp(record: &Record<'_>, transport: &Transport, now: i64) -> Option<Pending> {
    let progress = last_progress(record);
    let acked = progress.map_or(-1, |(_, acked)| acked);
    let mut sent = record.sent(End::Sender);
    let oldest = sent.find(|one| {
        let has_sequence = one.carries() > 0 || &*one.sent.kind == "syn";
        // A SYN lies before the first byte, and ends there.
        has_sequence && one.sent.seq.unwrap_or(0) + one.carries() > acked
    })?;
    let last = record.last_inside(End::Sender, now, &[EventKind::Timeout]);
    if let Some(last) = last.filter(|last| progress.is_none_or(|(at, _)| last.at >= at)) {
        return Some(doubled(last, transport));
    }
    let Some((at, _)) = progress else {
        let rto = transport.span("initial_rto");
        let exact = !transport.is_on("randomized_rto");
        let expires = oldest.sent.at + rto;
        let expires = if exact { expires } else { expires.max(now) };
        return Some(Pending::new(
            expires,
            rto,
            exact,
            "initial_rto: no RTT was measured",
        ));
    };
    let rto = transport.span("min_rto");
    let expires = at.max(oldest.sent.at) + rto;
    Some(Pending::new(expires.max(now), rto, false, "min_rto"))
}

/// RFC 6298, section 5.5: "The host MUST set RTO <- RTO * 2 ('back off the timer')."
fn doubled(last: &Event, transport: &Transport) -> Pending {
    let rto = (2 * last.rto).min(transport.span("max_rto"));
    let exact = !transport.is_on("randomized_rto");
    Pending::new(last.at + rto, rto, exact, "doubled by the timeout before")
}

/// When something new was last acknowledged, and up to which byte.
fn last_progress(record: &Record<'_>) -> Option<(i64, i64)> {
    let mut found: Option<(i64, i64)> = None;
    for arrival in record.arrivals(End::Sender) {
        let sent = record.packets[arrival.packet].sent;
        let ack = sent.ack.unwrap_or(0);
        if &*sent.kind == "syn-ack" || ack > found.map_or(0, |(_, acked)| acked) {
            found = Some((arrival.at, ack));
        }
    }
    found
}

/// The retransmission timer of a queue pair; `None` where it does not run.
fn of_queue_pair(record: &Record<'_>, transport: &Transport, now: i64) -> Option<Pending> {
    if transport.word("ack_timeout") == "off" || transport.word("recovery") != "go-back-n" {
        return None;
    }
    let is_read = transport.word("verb") == "read";
    let end = if is_read { End::Receiver } else { End::Sender };
    let requests: Vec<_> = record.sent(end).filter(|one| one.is_pulled()).collect();
    let youngest = requests.last()?;
    let last = record.last_inside(end, now, &RECOVERIES);
    let has_gone_back = last.is_some_and(|last| last.at > youngest.sent.at);
    if has_gone_back || !record.inside(end, EventKind::Failed).is_empty() {
        return None;
    }
    let began = if is_read {
        of_read(record, &requests)
    } else {
        of_write(record, &requests)?
    };
    let rto = transport.span("ack_timeout");
    Some(Pending::new(began + rto, rto, true, "ack_timeout"))
}

/// When the timer of WRITEs or SENDs started; `None` where everything is acknowledged.
fn of_write(record: &Record<'_>, requests: &[&Packet<'_>]) -> Option<i64> {
    let (unacked, progress) = acknowledged(record);
    let oldest = requests.iter().find(|one| psn(one) >= unacked)?;
    // A NAK that the requester does not follow does not stop it: the packets sent show where it did.
    let starts = requests.windows(2).filter_map(|pair| {
        let goes_back =
            pair[1].is_repeated() && !(pair[0].is_repeated() && psn(pair[1]) > psn(pair[0]));
        goes_back.then_some(pair[1].sent.at)
    });
    starts.chain([oldest.sent.at, progress]).max()
}

/// When the timer of READs started.
fn of_read(record: &Record<'_>, requests: &[&Packet<'_>]) -> i64 {
    let retries = [EventKind::AckTimeout, EventKind::ReadRetry];
    let retries = retries
        .iter()
        .flat_map(|&kind| record.inside(End::Receiver, kind));
    let last = retries.map(|event| event.at).max().unwrap_or(0);
    let mut since = requests.iter().filter(|one| one.sent.at >= last);
    let started = since.next().map_or(last, |one| one.sent.at);
    started.max(last_due_response(record, psn(requests[0])))
}

fn psn(packet: &Packet<'_>) -> i64 {
    packet.sent.seq.unwrap_or(0)
}

/// When the last response of a READ arrived in order, from a PSN on; 0 if none did.
fn last_due_response(record: &Record<'_>, first: i64) -> i64 {
    let (mut progress, mut due) = (0, first);
    for arrival in record.arrivals(End::Receiver) {
        let packet = &record.packets[arrival.packet];
        if packet.is_pulled() && packet.sent.seq == Some(due) {
            progress = arrival.at;
            due += 1;
        }
    }
    progress
}

/// The oldest PSN without acknowledgement, and when it became that. An ACK has the last PSN that arrived, a NAK the
/// first that did not.
fn acknowledged(record: &Record<'_>) -> (i64, i64) {
    let (mut unacked, mut progress) = (-1, 0);
    for arrival in record.arrivals(End::Sender) {
        let sent = record.packets[arrival.packet].sent;
        let up_to = match (&*sent.kind, sent.ack) {
            ("ack", Some(ack)) => ack + 1,
            ("nak", Some(ack)) => ack,
            _ => continue,
        };
        if up_to > unacked {
            (unacked, progress) = (up_to, arrival.at);
        }
    }
    (unacked.max(0), progress)
}
