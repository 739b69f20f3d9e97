//! Words for packets, places and spans.

use std::fmt::Display;

use incastle_units::rounded;

use crate::columns::seconds;
use crate::event::{End, Event};
use crate::record::Packet;

const CAUSES: [(&str, &str); 8] = [
    ("buffer-full", "the buffer was full"),
    ("shared-limit", "its share of the shared memory was used up"),
    ("early", "dropped early by the queue discipline"),
    (
        "not-ecn-capable",
        "above the marking threshold, and not ECN-capable",
    ),
    ("link-down", "the link was down"),
    ("lost-on-wire", "lost on the wire"),
    ("corrupted", "corrupted on the wire"),
    (
        "pause-watchdog",
        "dropped by the watchdog of a paused priority",
    ),
];

fn cause(word: &str) -> &str {
    let known = CAUSES.iter().find(|(name, _)| *name == word);
    known.map_or(word, |(_, words)| words)
}

/// A span of time.
pub(crate) fn span(picoseconds: i64) -> String {
    rounded::seconds(seconds(picoseconds))
}

/// An instant in milliseconds with all digits down to the nanosecond.
pub(crate) fn instant(picoseconds: i64) -> String {
    let text = format!("{:.6}", picoseconds as f64 / 1e9);
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{}{rest} ms", grouped(whole))
}

/// A whole number with a comma before every three digits.
pub(crate) fn number(number: impl Display) -> String {
    grouped(&number.to_string())
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits), |rest| ("-", rest));
    let mut text = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things; the plural has an s.
pub(crate) fn count(many: usize, thing: &str) -> String {
    let plural = if many == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", number(many))
}

/// A packet: its number and the bytes in it.
pub(crate) fn packet(one: &Packet<'_>) -> String {
    let sent = one.sent;
    let whose = match sent.end {
        End::Sender => "",
        End::Receiver => "the receiver's ",
    };
    let name = format!("{whose}packet {}", one.number());
    match sent.seq {
        Some(first) if one.is_pulled() => {
            let kind = if one.carries() > 0 {
                ""
            } else {
                "request of a READ, "
            };
            format!("{name} ({kind}PSN {})", number(first))
        }
        Some(first) if one.carries() > 0 => {
            if &*sent.kind == "data" && !one.is_numbered() {
                let end = number(first + one.carries());
                format!("{name} (bytes {} to {end})", number(first))
            } else {
                format!("{name} (number {})", number(first))
            }
        }
        _ => match sent.ack {
            Some(ack) if &*sent.kind == "ack" => format!("{name} (ACK of {})", number(ack)),
            _ => format!("{name} ({})", sent.kind),
        },
    }
}

/// The occupancy of a port when it admitted or dropped a packet, and its limit.
fn memory(event: &Event) -> String {
    let shown = |value: Option<i64>| number(value.unwrap_or(0));
    let packets = shown(event.queue_packets);
    if let Some(limit) = event.limit_packets {
        return format!("queue {packets} of {}", count(limit as usize, "packet"));
    }
    if let Some(limit) = event.limit_bytes {
        return format!("queue {} of {} B", shown(event.queue_bytes), number(limit));
    }
    format!("queue {packets} packets")
}

/// The place and cause of a packet's drop.
pub(crate) fn drop(event: &Event, one: &Packet<'_>) -> String {
    let reason = &*event.cause;
    if matches!(reason, "lost-on-wire" | "corrupted") {
        return format!("{} of {}", cause(reason), event.port);
    }
    let place = format!("dropped at {}", event.port);
    match reason {
        "link-down" => format!("{place}: {}", cause(reason)),
        "headroom-full" => {
            // The headroom is that of the port by whose link it came, as in the table `pauses`.
            let came_by = opposite(&one.last_stop().port);
            let memory = memory(event);
            format!("{place}: {memory}, above XOFF, and the headroom of {came_by} was full")
        }
        "buffer-full" => format!("{place}: {}", memory(event)),
        _ => format!("{place}: {}, {}", memory(event), cause(reason)),
    }
}

/// The port at the other end of a port's link: `b->a#2` for `a->b#2`.
pub(crate) fn opposite(port: &str) -> String {
    let (nodes, number) = port.split_at(port.find('#').unwrap_or(port.len()));
    let (node, peer) = nodes.split_once("->").unwrap_or((nodes, ""));
    format!("{peer}->{node}{number}")
}

/// The node at the other end of a port's link; empty if the port is unknown.
pub(crate) fn peer(port: &str) -> &str {
    let nodes = &port[..port.find('#').unwrap_or(port.len())];
    nodes.split_once("->").map_or("", |(_, peer)| peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_instants_have_commas() {
        assert_eq!(number(999), "999");
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(number(-1_234), "-1,234");
        // 400 ps are left out.
        assert_eq!(instant(1_746_248_194_400), "1,746.248194 ms");
        assert_eq!(instant(0), "0.000000 ms");
    }

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!(count(1, "packet"), "1 packet");
        assert_eq!(count(0, "packet"), "0 packets");
        assert_eq!(count(2_000, "packet"), "2,000 packets");
    }

    #[test]
    fn parallel_links_keep_their_number() {
        assert_eq!(opposite("leaf:0->spine:1#2"), "spine:1->leaf:0#2");
        assert_eq!(peer("leaf:0->spine:1#2"), "spine:1");
        assert_eq!(peer(""), "");
    }
}
