//! The other queue pairs of a NIC that sent while packets of a flow waited for their turn.
//!
//! A NIC pulls packets from its queue pairs by round robin (docs/models/rdma.md). The record of a flow has the
//! packets of other queue pairs of its host, where a run was made for it ([`crate::Run::neighbours`]). Leaves out: ACKs
//! and other packets that the NIC makes itself, and senders that are no queue pairs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::path::{Part, Path, Piece};
use crate::timeouts::Step;
use crate::words;

/// Queue pairs that a line names.
const MAX_NAMES: usize = 4;

/// A packet of a queue pair at the port of its host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sending {
    pub(crate) begins: i64,
    pub(crate) ends: i64,
    pub(crate) flow: u64,
}

/// By port of a host, in order.
pub(crate) type Sendings = BTreeMap<String, Vec<Sending>>;

/// A queue pair that sent meanwhile.
#[derive(Debug, Serialize)]
pub(crate) struct Other {
    flow: u64,
    name: String,
    /// Those that were sent in the wait, at least in part.
    packets: usize,
    /// How long the port was sending them in the wait.
    sent: i64,
}

/// The wait at the port of a host, on the critical path.
#[derive(Debug, Serialize)]
pub(crate) struct NicWait<'a> {
    port: &'a str,
    /// When the first part of it began.
    begins: i64,
    /// All of it.
    waited: i64,
    /// The queue pairs that sent meanwhile, those that sent longest first.
    others: Vec<Other>,
    text: String,
}

impl<'a> NicWait<'a> {
    fn new(
        pieces: &[&Piece<'a>],
        packets: &[Sending],
        own: u64,
        name: &dyn Fn(u64) -> String,
    ) -> Self {
        let mut sums: BTreeMap<u64, (usize, i64)> = BTreeMap::new();
        for piece in pieces {
            let first = packets.partition_point(|one| one.ends <= piece.begins);
            let within = packets[first..]
                .iter()
                .take_while(|one| one.begins < piece.ends);
            for one in within.filter(|one| one.flow != own) {
                let (count, sent) = sums.entry(one.flow).or_default();
                *count += 1;
                *sent += one.ends.min(piece.ends) - one.begins.max(piece.begins);
            }
        }
        let mut others: Vec<Other> = sums
            .into_iter()
            .map(|(flow, (packets, sent))| Other {
                flow,
                name: name(flow),
                packets,
                sent,
            })
            .collect();
        others.sort_by_key(|one| -one.sent);
        let waited = pieces.iter().map(|one| one.span()).sum();
        Self {
            port: pieces[0].port,
            begins: pieces[0].begins,
            waited,
            text: text(pieces[0].port, waited, &others),
            others,
        }
    }

    /// The wait as a step of the story, where the first part of it began.
    pub(crate) fn step(&self) -> Step {
        Step::new(self.begins, self.text.clone())
    }
}

fn text(port: &str, waited: i64, others: &[Other]) -> String {
    let waited = format!(
        "waited {} for its turn at {port}, which sent",
        words::span(waited)
    );
    if others.len() <= MAX_NAMES {
        let names = others.iter().map(|one| {
            let packets = words::count(one.packets, "packet");
            format!("{packets} of {}", one.name)
        });
        return format!("{waited} {}", names.collect::<Vec<_>>().join(", "));
    }
    let packets = words::count(others.iter().map(|one| one.packets).sum(), "packet");
    let most: Vec<&str> = others[..MAX_NAMES].iter().map(|one| &*one.name).collect();
    let (all, most) = (words::number(others.len()), most.join(", "));
    format!("{waited} {packets} of {all} other queue pairs, most of {most}")
}

/// The waits of a flow for its turn at a NIC, the longest first.
pub(crate) fn nic_waits<'a>(
    path: &Path<'a>,
    packets: &Sendings,
    own: u64,
    name: &dyn Fn(u64) -> String,
) -> Vec<NicWait<'a>> {
    let mut ports: Vec<(&str, Vec<&Piece<'a>>)> = Vec::new();
    let at_nic = path.pieces.iter().filter(|one| one.kind == Part::Nic);
    for piece in at_nic.filter(|one| packets.contains_key(one.port)) {
        match ports.iter_mut().find(|(port, _)| *port == piece.port) {
            Some((_, pieces)) => pieces.push(piece),
            None => ports.push((piece.port, vec![piece])),
        }
    }
    let waits = ports
        .iter()
        .map(|(port, pieces)| NicWait::new(pieces, &packets[*port], own, name));
    let mut waits: Vec<_> = waits.filter(|one| !one.others.is_empty()).collect();
    waits.sort_by_key(|one| -one.waited);
    waits
}
