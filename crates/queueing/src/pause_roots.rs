//! The roots of recorded pauses, as they change.
//!
//! A pause has its cause in a queue (`pause_log`). While that queue is paused itself, the cause of that pause is next, and
//! so on, down to the root: a queue that is not paused at that time, or a NIC that pauses without a cause. If that queue was
//! paused when the frame was sent, or since, and sends again, what it stores comes from its pause: the root stays, until it
//! is paused from another one. A pause whose root
//! changes has a part for each. A cycle of causes, as in a deadlock, has no root: its first queue stands for it.

use std::collections::BTreeMap;

use incastle_units::Time;

use crate::{PauseCause, PauseRecord};

/// A part of a pause, with one root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RootedPause<Q> {
    /// The pause, by its place in the record.
    pub pause: usize,
    /// The queue that was paused.
    pub queue: Q,
    /// The beginning of the part.
    pub begin: Time,
    /// Its end; absent while the pause lasts.
    pub end: Option<Time>,
    /// The root, if the cause is known.
    pub root: Option<PauseRoot<Q>>,
}

/// Where a pause comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseRoot<Q> {
    /// The queue that is the cause.
    pub congested: Q,
    /// The end of the chain of causes: that queue, where it is not paused.
    pub root: Q,
    /// The number of pauses from the root to this one: 1 or more.
    pub depth: u32,
}

/// A root and its distance, between two instants.
#[derive(Debug, Clone, Copy)]
struct Part<Q> {
    begin: Time,
    end: Time,
    root: Q,
    depth: u32,
}

/// A record by queue.
struct Chains<'a, Q> {
    records: &'a [PauseRecord<Q>],
    /// By queue: its pauses, which follow each other.
    of: BTreeMap<Q, Vec<usize>>,
    /// By pause: its root when it began, and the number of pauses from there.
    first: Vec<Option<(Q, u32)>>,
}

/// The pauses of a record with their roots, in parts, by their beginning.
pub fn rooted_pauses<Q: Copy + Ord>(records: &[PauseRecord<Q>]) -> Vec<RootedPause<Q>> {
    let mut of: BTreeMap<Q, Vec<usize>> = BTreeMap::new();
    for (place, record) in records.iter().enumerate() {
        of.entry(record.queue).or_default().push(place);
    }
    let mut chains = Chains {
        records,
        of,
        first: Vec::new(),
    };
    chains.find_first();
    let mut rooted: Vec<_> = (0..records.len())
        .flat_map(|place| chains.rooted(place))
        .collect();
    rooted.sort_by_key(|part| part.begin);
    rooted
}

impl<Q: Copy + Ord> Chains<'_, Q> {
    fn rooted(&self, pause: usize) -> Vec<RootedPause<Q>> {
        let record = &self.records[pause];
        let rooted = |begin, end, root| RootedPause {
            pause,
            queue: record.queue,
            begin,
            end,
            root,
        };
        let Some(cause) = record.cause else {
            return vec![rooted(record.begin, record.end, None)];
        };
        let mut parts = Vec::new();
        let end = record.end.unwrap_or(Time::NEVER);
        self.follow(
            pause,
            (record.begin, end),
            &mut vec![record.queue],
            &mut parts,
        );
        if parts.is_empty() {
            // It ended when it began.
            parts.push(Part {
                begin: record.begin,
                end,
                root: cause.queue(),
                depth: 1,
            });
        }
        let root = |part: &Part<Q>| PauseRoot {
            congested: cause.queue(),
            root: part.root,
            depth: part.depth,
        };
        parts
            .iter()
            .map(|part| {
                let end = (part.end < Time::NEVER).then_some(part.end);
                rooted(part.begin, end, Some(root(part)))
            })
            .collect()
    }

    /// Adds the roots of a pause in an interval. `path` are the queues down to it.
    fn follow(
        &self,
        pause: usize,
        (begin, end): (Time, Time),
        path: &mut Vec<Q>,
        parts: &mut Vec<Part<Q>>,
    ) {
        let depth = path.len() as u32;
        let part = |begin, end, root| Part {
            begin,
            end,
            root,
            depth,
        };
        let (congested, paused) = match self.records[pause].cause {
            Some(PauseCause::Congested { queue, paused }) => (queue, paused),
            Some(PauseCause::Nic(queue)) => return add(parts, part(begin, end, queue)),
            None => unreachable!("a pause without a cause is not followed"),
        };
        if let Some(place) = path.iter().position(|queue| *queue == congested) {
            let first = path[place..].iter().min().copied();
            return add(parts, part(begin, end, first.unwrap_or(congested)));
        }
        path.push(congested);
        let sent = || paused.and_then(|place| self.first[place]);
        let known = self.known_before(pause, congested, begin).or_else(sent);
        let mut known = known.unwrap_or((congested, 0));
        let mut at = begin;
        let stays = |(root, below), begin, end| Part {
            begin,
            end,
            root,
            depth: depth + below,
        };
        for (place, from, to) in self.pauses_of(congested, begin, end) {
            add(parts, stays(known, at, from));
            if self.records[place].cause.is_some() {
                self.follow(place, (from, to), path, parts);
                let last = parts.last().filter(|last| last.end == to);
                known = last.map_or(known, |last| (last.root, last.depth - depth));
            } else {
                known = (congested, 0);
                add(parts, stays(known, from, to));
            }
            at = to;
        }
        path.pop();
        add(parts, stays(known, at, end));
    }

    /// The root that a congested queue has from its last pause between the beginning of a pause and an instant, and the
    /// number of pauses from there.
    fn known_before(&self, pause: usize, congested: Q, at: Time) -> Option<(Q, u32)> {
        let all = self.of.get(&congested)?;
        let begun = all.partition_point(|&place| self.records[place].begin < at);
        let last = *all[..begun].last()?;
        let since = self.records[pause].begin;
        let lasted = self.records[last].end.is_none_or(|end| end > since);
        lasted.then(|| self.first[last]).flatten()
    }

    /// Finds the root of each pause when it began.
    fn find_first(&mut self) {
        for record in self.records {
            let first = record.cause.map(|cause| {
                let below = match cause {
                    PauseCause::Nic(_) => None,
                    PauseCause::Congested { queue, paused } => {
                        paused.or_else(|| self.paused_at(queue, record.begin))
                    }
                };
                let below = below.and_then(|place| *self.first.get(place)?);
                below.map_or((cause.queue(), 1), |(root, depth)| (root, depth + 1))
            });
            self.first.push(first);
        }
    }

    /// The pause that a queue has at an instant.
    fn paused_at(&self, queue: Q, at: Time) -> Option<usize> {
        let all = self.of.get(&queue)?;
        let begun = all.partition_point(|&place| self.records[place].begin <= at);
        let last = *all[..begun].last()?;
        let lasts = self.records[last].end.is_none_or(|end| end > at);
        lasts.then_some(last)
    }

    /// The pauses of a queue within an interval: their places, begins and ends there.
    fn pauses_of(
        &self,
        queue: Q,
        begin: Time,
        end: Time,
    ) -> impl Iterator<Item = (usize, Time, Time)> {
        let all = self.of.get(&queue).map_or(&[][..], Vec::as_slice);
        let ends = |place: &usize| self.records[*place].end.unwrap_or(Time::NEVER);
        let first = all.partition_point(|place| ends(place) <= begin);
        let within = all[first..].iter().map(move |&place| {
            let record = &self.records[place];
            (place, record.begin.max(begin), ends(&place).min(end))
        });
        within.take_while(move |(_, from, _)| *from < end)
    }
}

/// Adds a part; it goes on with the last one where that has the same root.
fn add<Q: Copy + Ord>(parts: &mut Vec<Part<Q>>, part: Part<Q>) {
    if part.begin >= part.end {
        return;
    }
    if let Some(last) = parts.last_mut()
        && (last.end, last.root, last.depth) == (part.begin, part.root, part.depth)
    {
        last.end = part.end;
        return;
    }
    parts.push(part);
}
