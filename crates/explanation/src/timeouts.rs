//! The chain of events behind each retransmission timeout.
//!
//! The missing packet and its fate; the fate of everything else that was outstanding; the ACKs that came back, and
//! why they did not help; how long the timer waited; the retransmission, and whether that arrived.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::event::{End, Event, EventKind};
use crate::record::{Packet, Record};
use crate::words;

/// Duplicate ACKs that begin a fast retransmit (RFC 5681, section 2).
const DUP_THRESH: i64 = 3;

/// Something that happened, in words.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    pub(crate) at: i64,
    /// The instant in words.
    when: String,
    text: String,
}

impl Step {
    pub(crate) fn new(at: i64, text: String) -> Self {
        Self {
            at,
            when: words::instant(at),
            text,
        }
    }
}

/// The expiry of a retransmission timer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Timer {
    at: i64,
    end: End,
    event: EventKind,
    cause: String,
    waited: i64,
    rto: i64,
}

impl From<&Event> for Timer {
    fn from(event: &Event) -> Self {
        Self {
            at: event.at,
            end: event.end,
            event: event.name,
            cause: event.cause.to_string(),
            waited: event.waited,
            rto: event.rto,
        }
    }
}

/// A timeout with its causes and consequences, in order of time.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Chain {
    timer: Timer,
    waited: i64,
    /// Its heading, without the kind in `timer.cause`.
    title: String,
    steps: Vec<Step>,
}

/// The chain behind each timeout between two instants.
pub(crate) fn chains(record: &Record<'_>, begins: i64, ends: i64) -> Vec<Chain> {
    let timers = record.timers(begins, ends).into_iter();
    timers
        .map(|timer| Chain {
            timer: Timer::from(timer),
            waited: record.waited(timer),
            title: title(timer),
            steps: Expiry { record, timer }.steps(),
        })
        .collect()
}

fn title(timer: &Event) -> String {
    let whose = match timer.end {
        End::Sender => "",
        End::Receiver => " of the receiver",
    };
    format!("Timeout{whose} at {}", words::instant(timer.at))
}

/// Packets that were outstanding, and the one of them that the sender missed first, by its place among them.
struct Outstanding<'r, 'a> {
    packets: Vec<&'r Packet<'a>>,
    missing: Option<usize>,
}

impl<'r, 'a> Outstanding<'r, 'a> {
    fn missing(&self) -> Option<&'r Packet<'a>> {
        self.missing.map(|place| self.packets[place])
    }

    fn others(&self) -> impl Iterator<Item = &'r Packet<'a>> {
        let packets = self.packets.iter().enumerate();
        packets
            .filter(|(place, _)| Some(*place) != self.missing)
            .map(|(_, packet)| *packet)
    }
}

/// A timer that expired.
struct Expiry<'r, 'a> {
    record: &'r Record<'a>,
    timer: &'a Event,
}

impl<'r, 'a> Expiry<'r, 'a> {
    fn steps(&self) -> Vec<Step> {
        let packets = self.outstanding();
        let missing = self.missing(&packets);
        let outstanding = Outstanding { packets, missing };
        let mut steps = Vec::new();
        if let Some(missing) = outstanding.missing() {
            steps.extend(self.earlier_copies(missing));
            steps.extend(self.fate(missing));
        }
        steps.extend(others(&outstanding));
        steps.extend(self.news(&outstanding));
        steps.push(self.fired());
        steps.extend(
            outstanding
                .missing()
                .and_then(|missing| self.repair(missing)),
        );
        steps.sort_by_key(|step| step.at);
        steps
    }

    /// The last copy, before the timer fired, of each packet that was not acknowledged.
    fn outstanding(&self) -> Vec<&'r Packet<'a>> {
        let timer = self.timer;
        let mut last: Vec<(i64, &Packet<'a>)> = Vec::new();
        let mut places = BTreeMap::new();
        for packet in self.record.sent(timer.end) {
            if packet.sent.at >= timer.at {
                break;
            }
            let is_taken =
                packet.carries() > 0 || matches!(&*packet.sent.kind, "syn" | "syn-ack" | "fin");
            let Some(seq) = packet.sent.seq.filter(|_| is_taken) else {
                continue;
            };
            if timer.seq.is_some() && !self.overlaps(packet) {
                continue;
            }
            let place = *places.entry(seq).or_insert(last.len());
            if place == last.len() {
                last.push((seq, packet));
            } else {
                last[place].1 = packet;
            }
        }
        if timer.seq.is_some() {
            return last.into_iter().map(|(_, packet)| packet).collect();
        }
        if timer.name == EventKind::AckTimeout && timer.end == End::Receiver {
            return self.missing_responses();
        }
        let arrivals = self.record.arrivals(timer.end.other()).iter();
        let arrived: BTreeSet<_> = arrivals
            .filter_map(|one| self.record.packets[one.packet].sent.seq)
            .collect();
        last.retain(|(seq, packet)| packet.dropped.is_some() || !arrived.contains(seq));
        last.into_iter().map(|(_, packet)| packet).collect()
    }

    fn overlaps(&self, packet: &Packet<'_>) -> bool {
        let timer = self.timer;
        // A SYN lies before the first byte.
        if timer.bytes == Some(0) {
            return matches!(&*packet.sent.kind, "syn" | "syn-ack");
        }
        let (first, seq) = (timer.seq.unwrap_or(0), packet.sent.seq.unwrap_or(0));
        let within =
            seq < first + timer.bytes.unwrap_or(0) && seq + packet.carries().max(1) > first;
        within && matches!(&*packet.sent.kind, "data" | "fin")
    }

    /// The requests and responses of READs that were lost before the timer fired.
    fn missing_responses(&self) -> Vec<&'r Packet<'a>> {
        let timer = self.timer;
        let span = timer.at - timer.waited..=timer.at;
        let sent = self
            .record
            .sent(End::Receiver)
            .chain(self.record.sent(End::Sender));
        sent.filter(|one| {
            one.is_pulled() && one.dropped.is_some_and(|drop| span.contains(&drop.at))
        })
        .collect()
    }

    /// The packet that the sender missed first, sent for the last time.
    fn missing(&self, outstanding: &[&Packet<'a>]) -> Option<usize> {
        let Some(seq) = self.timer.seq else {
            return outstanding.iter().position(|one| one.dropped.is_some());
        };
        let has_bytes = self.timer.bytes.is_some_and(|bytes| bytes > 0);
        let mut last: Option<usize> = None;
        for (place, one) in outstanding.iter().enumerate() {
            let is_later = last.is_none_or(|last| one.sent.at > outstanding[last].sent.at);
            if is_later && (!has_bytes || one.covers(seq)) {
                last = Some(place);
            }
        }
        last
    }

    /// Earlier transmissions of the same data that were lost.
    fn earlier_copies(&self, missing: &Packet<'a>) -> Vec<Step> {
        let sent = self.record.sent(self.timer.end);
        let same = sent.filter(|one| one.sent.seq == missing.sent.seq && one.carries() > 0);
        let earlier = same.filter(|one| one.sent.at < missing.sent.at);
        earlier
            .filter_map(|one| {
                let text = |drop| format!("{} {}", words::packet(one), words::drop(drop, one));
                one.dropped.map(|drop| Step::new(drop.at, text(drop)))
            })
            .collect()
    }

    fn fate(&self, missing: &Packet<'a>) -> Vec<Step> {
        let again = if missing.is_repeated() {
            " (sent again)"
        } else {
            ""
        };
        let name = format!("{}{again}", words::packet(missing));
        let timer = self.timer;
        if let Some(drop) = missing.dropped.filter(|drop| drop.at <= timer.at) {
            let text = format!("{name} {}", words::drop(drop, missing));
            return vec![Step::new(drop.at, text)];
        }
        let Some(received) = missing.received.filter(|received| *received <= timer.at) else {
            let text = format!("{name} sent; it is still in flight when the timer fires");
            return vec![Step::new(missing.sent.at, text)];
        };
        let mut steps = vec![Step::new(received, format!("{name} received"))];
        let lost = self.lost_acks(received);
        if lost.is_empty() {
            let text = "its ACK is still in flight: nothing was lost, the timer was early";
            steps.push(Step::new(timer.at, text.to_owned()));
        } else {
            steps.extend(dropped_together(&lost, &words::count(lost.len(), "ACK")));
        }
        steps
    }

    fn lost_acks(&self, since: i64) -> Vec<&'r Packet<'a>> {
        let acks = self
            .record
            .sent_by(self.timer.end.other(), since, self.timer.at);
        let is_lost = |drop: &Event| drop.at <= self.timer.at;
        acks.filter(|one| one.dropped.is_some_and(is_lost))
            .collect()
    }

    /// Why only the timer helped.
    fn news(&self, outstanding: &Outstanding<'_, '_>) -> Option<Step> {
        let timer = self.timer;
        let beyond = outstanding.others().count();
        let duplicates = timer.count.unwrap_or(0);
        let came = if duplicates > 0 {
            words::count(duplicates as usize, "duplicate ACK")
        } else {
            "no duplicate ACK".to_owned()
        };
        let few = if duplicates > 0 {
            format!("{came}, too few for fast retransmit ({DUP_THRESH})")
        } else {
            came.clone()
        };
        let text = match &*timer.cause {
            "last-packet" if beyond > 0 => {
                let packets = words::count(beyond, "packet");
                format!("{few}: {packets} beyond it, and no more to send")
            }
            "last-packet" => "nothing beyond it that duplicate ACKs could answer".to_owned(),
            "full-window" => {
                let all = words::number(outstanding.packets.len());
                format!("no duplicate ACK: none of {all} outstanding reported")
            }
            "few-duplicates" if duplicates < DUP_THRESH => few,
            "few-duplicates" => format!("{came}, which were not taken for a loss"),
            "lost-retransmission" => format!("{came}: none shows that the retransmission is lost"),
            _ => return None,
        };
        let last = self
            .record
            .last_inside(timer.end, timer.at, &[EventKind::DuplicateAck]);
        let recent = last.filter(|last| last.at >= timer.at - timer.waited);
        Some(Step::new(recent.map_or(timer.at, |last| last.at), text))
    }

    fn fired(&self) -> Step {
        let timer = self.timer;
        let waited = words::span(self.record.waited(timer));
        let text = match timer.name {
            EventKind::Expired => format!("EXP expired, {waited} after the last data were sent"),
            EventKind::AckTimeout => {
                format!("no acknowledgement for {waited}: the retransmission timer expired")
            }
            _ => {
                let rto = words::span(timer.rto);
                let since = if waited == rto {
                    String::new()
                } else {
                    format!(", {waited} after the last progress")
                };
                format!("RTO of {rto} expired{since}: retransmission timeout")
            }
        };
        Step::new(timer.at, text)
    }

    /// The retransmission that the timer caused, and its fate.
    fn repair(&self, missing: &Packet<'a>) -> Option<Step> {
        let seq = missing.sent.seq?;
        let mut sent = self.record.sent_from(self.timer.end, self.timer.at);
        let again = sent.find(|one| one.sent.seq == Some(seq))?;
        let name = format!("sent again as packet {}", again.number());
        Some(if let Some(drop) = again.dropped {
            Step::new(drop.at, format!("{name}, {}", words::drop(drop, again)))
        } else if let Some(received) = again.received {
            let took = words::span(received - again.sent.at);
            Step::new(received, format!("{name}, received after {took}"))
        } else {
            Step::new(again.sent.at, name)
        })
    }
}

fn others(outstanding: &Outstanding<'_, '_>) -> Vec<Step> {
    let lost: Vec<_> = outstanding
        .others()
        .filter(|one| one.dropped.is_some())
        .collect();
    let (some, all) = (lost.len(), outstanding.packets.len());
    let (some, all) = (words::number(some), words::number(all));
    dropped_together(&lost, &format!("{some} more of the {all} outstanding"))
}

/// One step for all drops at one port.
fn dropped_together(lost: &[&Packet<'_>], packets: &str) -> Vec<Step> {
    let drops = || {
        lost.iter()
            .filter_map(|one| one.dropped.map(|drop| (drop, *one)))
    };
    let mut ports: Vec<&str> = Vec::new();
    for (drop, _) in drops() {
        if !ports.contains(&&*drop.port) {
            ports.push(&drop.port);
        }
    }
    let steps = ports.iter().map(|port| {
        let mut here = drops().filter(|(drop, _)| &*drop.port == *port);
        let (first, packet) = here.next().expect("the port is that of a drop");
        let number = words::number(1 + here.count());
        let who = if ports.len() == 1 {
            packets.to_owned()
        } else {
            format!("{number} of {packets}")
        };
        Step::new(first.at, format!("{who} {}", words::drop(first, packet)))
    });
    steps.collect()
}
