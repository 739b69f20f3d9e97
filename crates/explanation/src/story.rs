//! Everything that happened to a flow within an interval, in order and in words.
//!
//! Frequent events (marks, drops, duplicate ACKs, cuts) are one line, at their first instant, for each stretch
//! between two turning points: a fast retransmit, a probe, a timer, the end of a recovery, a change of mode.

use incastle_units::rounded;

use crate::event::{End, Event, EventKind};
use crate::record::{Packet, Record};
use crate::timeouts::Step;
use crate::words;

/// Ranges of packet numbers that are named one by one.
const MAX_NUMBERS: usize = 4;

/// Events of one kind, of one endpoint, at one port.
struct Group<'a> {
    key: (EventKind, End, &'a str),
    events: Vec<&'a Event>,
}

/// The events between two instants, each with its words.
pub(crate) fn story(record: &Record<'_>, begins: i64, ends: i64) -> Vec<Step> {
    let mut steps: Vec<Step> = beginning(record, begins, ends).into_iter().collect();
    let mut groups: Vec<Group<'_>> = Vec::new();
    let within = record
        .events
        .iter()
        .filter(|one| begins <= one.at && one.at <= ends);
    for event in within {
        if is_frequent(event.name) {
            let key = (event.name, event.end, &*event.port);
            match groups.iter_mut().find(|group| group.key == key) {
                Some(group) => group.events.push(event),
                None => groups.push(Group {
                    key,
                    events: vec![event],
                }),
            }
        } else if let Some(text) = turn(record, event) {
            steps.extend(told(record, &mut groups));
            steps.push(step(event, text));
        }
    }
    steps.extend(told(record, &mut groups));
    steps
}

fn beginning(record: &Record<'_>, begins: i64, ends: i64) -> Option<Step> {
    let mut sent = record.sent_by(End::Sender, begins, ends);
    let first = sent.find(|one| one.carries() > 0)?;
    let window = first.sent.cwnd_bytes;
    let window = window.map(|bytes| format!(", the window is {} B", words::number(bytes)));
    let text = format!("{} is the first with data", words::packet(first));
    Some(Step::new(first.sent.at, text + &window.unwrap_or_default()))
}

/// The gathered events by their first instants; empties the groups.
fn told(record: &Record<'_>, groups: &mut Vec<Group<'_>>) -> Vec<Step> {
    let mut steps: Vec<Step> = groups
        .drain(..)
        .map(|group| step(group.events[0], frequent(record, &group.events)))
        .collect();
    steps.sort_by_key(|step| step.at);
    steps
}

/// Names the endpoint of an event inside it, unless it is the sender of the data; packets are named with theirs.
fn step(event: &Event, text: String) -> Step {
    let is_inside = !matches!(
        event.name,
        EventKind::Dropped | EventKind::Marked | EventKind::Full
    );
    if event.end == End::Receiver && is_inside {
        return Step::new(event.at, format!("at the receiver: {text}"));
    }
    Step::new(event.at, text)
}

fn is_frequent(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Dropped
            | EventKind::Marked
            | EventKind::DuplicateAck
            | EventKind::Reduced
            | EventKind::Notified
            | EventKind::Limited
            | EventKind::Nak
            | EventKind::ReadRetry
    )
}

/// The words for frequent events of one kind.
fn frequent(record: &Record<'_>, events: &[&Event]) -> String {
    let counted = |thing| words::count(events.len(), thing);
    let first = events[0];
    match first.name {
        EventKind::Dropped => dropped(record, events),
        EventKind::Marked => format!(
            "{} marked at {}{}",
            packets(events),
            first.port,
            until(events)
        ),
        EventKind::DuplicateAck => counted("duplicate ACK") + &until(events),
        EventKind::Reduced => reduced(events),
        EventKind::Notified => notified(events),
        EventKind::Limited => limited(events),
        EventKind::Nak => naks(record, events),
        _ => {
            let gaps = counted("gap");
            format!(
                "{gaps} in responses of a READ, asked for again{}",
                until(events)
            )
        }
    }
}

/// The words for a turning point; `None` if it is none.
fn turn(record: &Record<'_>, event: &Event) -> Option<String> {
    let waited = || words::span(event.waited);
    Some(match event.name {
        EventKind::FastRetransmit => retransmit(record, event),
        EventKind::TailLossProbe => probe(record, event),
        EventKind::ReorderingTimeout => {
            let packets = words::count(event.count.unwrap_or(0) as usize, "packet");
            format!("reordering timer expired: {packets} lost")
        }
        EventKind::Timeout => {
            format!(
                "retransmission timeout ({}): no progress for {}",
                event.cause,
                waited()
            )
        }
        EventKind::AckTimeout => format!(
            "retransmission timeout: no acknowledgement for {}",
            waited()
        ),
        EventKind::Failed => "the retry limit is exceeded: the queue pair fails".to_owned(),
        EventKind::Expired => "EXP expired".to_owned(),
        EventKind::Recovered => "everything sent before that is acknowledged".to_owned(),
        EventKind::Mode => format!("{} mode begins", event.cause),
        EventKind::Full => "the record is full".to_owned(),
        _ => return None,
    })
}

fn dropped(record: &Record<'_>, events: &[&Event]) -> String {
    let packet = record.packet_of(events[0]);
    let drop = words::drop(events[0], packet);
    if events.len() > 1 {
        return format!("{} {drop} (the first)", packets(events));
    }
    let again = if packet.is_repeated() {
        " (sent again)"
    } else {
        ""
    };
    format!("{}{again} {drop}", words::packet(packet))
}

fn packets(events: &[&Event]) -> String {
    let mut numbers: Vec<i64> = events.iter().filter_map(|one| one.packet).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for &number in &numbers {
        match ranges.last_mut() {
            Some(last) if number == last.1 + 1 => last.1 = number,
            _ => ranges.push((number, number)),
        }
    }
    let (the, whose) = match events[0].end {
        End::Sender => ("", ""),
        End::Receiver => ("the ", "receiver's "),
    };
    let many = numbers.len();
    if ranges.len() > MAX_NUMBERS {
        let (first, last) = (numbers[0], numbers[many - 1]);
        let all = words::number(many);
        return format!("{all} of the {whose}packets {first} to {last}");
    }
    let texts = ranges.iter().map(|&(a, b)| {
        if a == b {
            a.to_string()
        } else {
            format!("{a} to {b}")
        }
    });
    let joined = texts.collect::<Vec<_>>().join(", ");
    format!(
        "{the}{whose}packet{} {joined}",
        if many == 1 { "" } else { "s" }
    )
}

fn until(events: &[&Event]) -> String {
    match events {
        [.., last] if events.len() > 1 => format!(", from here until {}", words::instant(last.at)),
        _ => String::new(),
    }
}

fn bits_per_second(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), rounded::bits_per_second)
}

fn reduced(events: &[&Event]) -> String {
    let last = events[events.len() - 1];
    let (quantity, to) = match last.cwnd_bytes {
        Some(bytes) => ("window", format!("{} B", words::number(bytes))),
        None => ("rate", bits_per_second(last.rate_bit_s)),
    };
    let often = match events.len() {
        1 => String::new(),
        many => format!(" {} times", words::number(many)),
    };
    format!("the {quantity} is cut{often}, to {to}{}", until(events))
}

fn notified(events: &[&Event]) -> String {
    let text = words::count(events.len(), "congestion notification");
    if events[0].count.is_none() {
        return format!("{text} (CNP or echo){}", until(events));
    }
    let largest = events.iter().map(|one| one.count.unwrap_or(0)).max();
    format!(
        "{text}, feedback up to {}{}",
        largest.unwrap_or(0),
        until(events)
    )
}

fn limited(events: &[&Event]) -> String {
    let rates = events.iter().map(|one| one.rate_bit_s.unwrap_or(0.0));
    let lowest = bits_per_second(rates.reduce(f64::min));
    let last = bits_per_second(events[events.len() - 1].rate_bit_s);
    format!("the NIC's rate limiter: down to {lowest}, finally {last}")
}

fn naks(record: &Record<'_>, events: &[&Event]) -> String {
    let text = words::count(events.len(), "NAK") + " received" + &until(events);
    match sent_again(record, events[0]).filter(|again| again.is_pulled()) {
        Some(again) => format!("{text}; sent again from {} on", words::packet(again)),
        None => text,
    }
}

/// The first packet that the endpoint of an event sent again after it.
fn sent_again<'r, 'a>(record: &'r Record<'a>, event: &Event) -> Option<&'r Packet<'a>> {
    let mut sent = record.sent_from(event.end, event.at);
    sent.find(|one| one.is_repeated())
}

fn retransmit(record: &Record<'_>, event: &Event) -> String {
    match sent_again(record, event) {
        Some(again) => format!("fast retransmit: {} again", words::packet(again)),
        None => "fast retransmit".to_owned(),
    }
}

/// Names the probe, the first segment that left when its timer fired.
fn probe(record: &Record<'_>, event: &Event) -> String {
    let mut sent = record.sent_by(event.end, event.at, event.at);
    let Some(probe) = sent.find(|one| one.carries() > 0 || &*one.sent.kind == "fin") else {
        return "tail loss probe".to_owned();
    };
    let which = if probe.is_repeated() {
        " again"
    } else {
        ", new data"
    };
    format!("tail loss probe: {}{which}", words::packet(probe))
}
