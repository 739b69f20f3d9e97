//! The largest part of an FCT in one line: `10 of 12.1 ms: one retransmission timeout`.

use crate::path::{Part, Path};
use crate::pending::Pending;
use crate::record::Record;
use crate::waits::PauseWait;
use crate::words;

/// The inputs of a headline.
pub(crate) struct Headline<'x, 'a> {
    pub(crate) record: &'x Record<'a>,
    pub(crate) path: &'x Path<'a>,
    pub(crate) pauses: &'x [PauseWait<'a>],
    pub(crate) pending: Option<&'x Pending>,
}

impl Headline<'_, '_> {
    pub(crate) fn text(&self) -> String {
        let by_kind = self.path.by_kind();
        let of = |kind| {
            by_kind
                .iter()
                .find(|(other, _)| *other == kind)
                .map_or(0, |(_, span)| *span)
        };
        // Links count together: a packet that is sent on one travels on it.
        let is_link = |kind| matches!(kind, Part::Serialisation | Part::Propagation);
        let links = of(Part::Serialisation) + of(Part::Propagation);
        let other = by_kind.iter().find(|(kind, _)| !is_link(*kind)).copied();
        let (longest, reason) = match other {
            Some((kind, span)) if links <= span => (span, self.reason(kind)),
            _ if by_kind.is_empty() => {
                return format!("no byte of it ever arrived{}", self.waits());
            }
            _ => (links, format!("on links, in {}", self.trips())),
        };
        format!("{}: {reason}", share(longest, self.path.span()))
    }

    fn reason(&self, kind: Part) -> String {
        match kind {
            Part::Timeout => match self.path.timers().count() {
                1 => "one retransmission timeout".to_owned(),
                number => format!("{number} retransmission timeouts"),
            },
            Part::Paused => paused(&self.pauses[0]),
            Part::Queue => {
                let (port, span) = self.path.port_of(kind).expect("it is a part of the path");
                format!("waiting in queues, {} of it at {port}", words::span(span))
            }
            Part::Stall => format!("{}{}", kind.words(), self.waits()),
            _ => kind.words().to_owned(),
        }
    }

    fn waits(&self) -> String {
        match self.pending {
            Some(pending) => format!("; {}", pending.short),
            None if self.record.has_failed() => "; its queue pair had failed".to_owned(),
            None => String::new(),
        }
    }

    fn trips(&self) -> String {
        let flights = self.path.flights(self.record);
        let repeated = flights.iter().filter(|one| one.is_repeated()).count();
        let trips = format!(
            "{} one after the other",
            words::count(flights.len(), "trip")
        );
        match repeated {
            0 => trips,
            _ => format!("{trips}, {repeated} for repairs"),
        }
    }
}

fn paused(most: &PauseWait<'_>) -> String {
    let (port, root) = (most.port, most.root);
    let text = format!(
        "paused by PFC, {} of it at {port}",
        words::span(most.waited)
    );
    if most.is_own_root {
        let own = "the port to its own receiver, where its data would wait without PFC as well";
        return format!("{text}, root {root}, {own}");
    }
    if root.is_empty() {
        return text;
    }
    format!("{text}, root {root}")
}

/// `10 of 12.1 ms`, the unit once where both have the same.
fn share(part: i64, whole: i64) -> String {
    let (part, whole) = (words::span(part), words::span(whole));
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    match part.split_once(' ') {
        Some((number, _)) if unit(&part) == unit(&whole) => format!("{number} of {whole}"),
        _ => format!("{part} of {whole}"),
    }
}
