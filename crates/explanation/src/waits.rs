//! The waits of a critical path for PFC: who paused a port, because of which port, and the root.
//!
//! A pause has the cause that it had when its frame was sent: the egress port of the switch that held most of the
//! data. The root of its congestion tree is that of the time. Waits at one port for one root are one wait. Leaves out: a
//! cause that changes later.

use serde::Serialize;

use crate::path::{Path, Piece, longest_first};
use crate::pauses::Pause;
use crate::timeouts::Step;
use crate::words;

/// The wait at a paused port, on the critical path.
#[derive(Debug, Serialize)]
pub(crate) struct PauseWait<'a> {
    /// The paused port.
    pub(crate) port: &'a str,
    /// The port at the root of the congestion tree; empty if unknown.
    pub(crate) root: &'a str,
    /// The time on the critical path.
    pub(crate) waited: i64,
    /// The pauses that it waited for, or the parts of them with this root, in their order.
    pauses: Vec<&'a Pause>,
    /// Whether the root is the port to the receiver of the flow.
    pub(crate) is_own_root: bool,
    /// The port that held most of the data, in most of the pauses.
    congested: &'a str,
    /// The pauses from the root to this port, at most.
    depth: i64,
    /// The switch or NIC that paused it.
    by: &'a str,
    text: String,
    /// Where the first part of it lies on the path.
    #[serde(skip)]
    begins: i64,
}

impl<'a> PauseWait<'a> {
    /// `pieces` wait at one port for one root.
    fn new(pieces: &[&Piece<'a>], receiver: &str) -> Self {
        let mut pauses: Vec<&Pause> = Vec::new();
        for pause in pieces.iter().filter_map(|one| one.pause) {
            if !pauses.contains(&pause) {
                pauses.push(pause);
            }
        }
        let congested = longest_first(pauses.iter().map(|one| (&*one.congested, 1)));
        let mut wait = Self {
            port: &pauses[0].port,
            root: &pauses[0].root,
            waited: pieces.iter().map(|one| one.span()).sum(),
            is_own_root: words::peer(&pauses[0].root) == receiver,
            congested: congested[0].0,
            depth: pauses.iter().map(|one| one.depth).max().unwrap_or(0),
            by: pauses[0].by(),
            text: String::new(),
            begins: pieces[0].begins,
            pauses,
        };
        wait.text = wait.words();
        wait
    }

    /// Names the wait, who paused, and the cause.
    fn words(&self) -> String {
        let Self {
            port,
            root,
            congested,
            ..
        } = self;
        let (by, first) = (self.by, words::instant(self.pauses[0].begins));
        let mut numbers: Vec<i64> = self.pauses.iter().map(|one| one.number).collect();
        numbers.dedup();
        let often = match numbers.len() {
            1 => format!("since {first}"),
            times => format!("{} times, first at {first}", words::number(times)),
        };
        let span = words::span(self.waited);
        let waited = format!("waited {span} at {port}, paused by {by} {often}");
        if root.is_empty() {
            return waited;
        }
        if **root == words::opposite(port) {
            return format!("{waited}: its NIC is broken");
        }
        let own = if self.is_own_root {
            " (the port to its receiver)"
        } else {
            ""
        };
        if self.depth <= 1 {
            return format!("{waited}: its port {root}, the root{own}, held the data above XOFF");
        }
        let away = words::count(self.depth as usize, "pause");
        let held = format!("its port {congested} held the data above XOFF, and was paused itself");
        format!("{waited}: {held}; root {root}{own}, {away} away")
    }

    /// The wait as a step of the story, where the first part of it began.
    pub(crate) fn step(&self) -> Step {
        Step::new(self.begins, self.text.clone())
    }
}

/// The waits for pauses of a flow to this host, the longest first.
pub(crate) fn pause_waits<'a>(path: &Path<'a>, receiver: &str) -> Vec<PauseWait<'a>> {
    let key = |one: &Piece<'a>| one.pause.map(|pause| (&*pause.port, &*pause.root));
    let paused = || path.pieces.iter().filter(|one| one.pause.is_some());
    let waits = longest_first(paused().map(|one| (key(one), one.span()))).into_iter();
    waits
        .map(|(place, _)| {
            let pieces: Vec<_> = paused().filter(|one| key(one) == place).collect();
            PauseWait::new(&pieces, receiver)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Part;

    #[test]
    fn ports_of_parallel_links_have_their_number() {
        let pause = Pause {
            number: 0,
            port: "leaf:0->spine:1#2".to_owned(),
            priority: 3,
            begins: 0,
            ends: 1,
            congested: String::new(),
            root: "spine:1->leaf:0#2".to_owned(),
            depth: 1,
        };
        assert_eq!(pause.by(), "spine:1");
        let piece = Piece {
            pause: Some(&pause),
            ..Piece::new(Part::Paused, &pause.port, 0, 1)
        };
        let wait = PauseWait::new(&[&piece], "host:1");
        let end = "paused by spine:1 since 0.000000 ms: its NIC is broken";
        assert!(wait.text.ends_with(end), "{}", wait.text);
    }
}
