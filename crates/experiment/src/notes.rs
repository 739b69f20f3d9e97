//! What a reader of a result has to know beside its numbers: work that was cut off, and why.

use incastle_units::{Span, Time};

use incastle_scenario::Scenario;
use incastle_scenario::language::flows::{Stop, Workload};
use incastle_scenario::language::transport::Kind;
use incastle_workload::{TransferKind, TransferNote};

/// What a reader of a result has to know.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Note {
    /// A run that was to end with its work met its limit before.
    #[error("the run met its limit, run.duration = {limit}, before its work was done{}", under_way(*.transfers, *.rounds))]
    MetLimit {
        /// The limit.
        limit: Span,
        /// Transfers that had begun and were not complete.
        transfers: usize,
        /// Rounds, likewise.
        rounds: usize,
    },
    /// A run that ended with its work before the measured interval began.
    #[error(
        "nothing was measured: the run was done after {done}, before measure.warmup = {from}; queues and \
         utilisations have no values"
    )]
    NothingMeasured {
        /// The end of the run.
        done: Span,
        /// When the interval would have begun.
        from: Span,
    },
    /// A group that had not begun when a run ended with the work of others.
    #[error(
        "flows.{group} never began: the run was done after {done}, before flows.{group}.start = {start}"
    )]
    NeverBegan {
        /// The group.
        group: String,
        /// The end of the run.
        done: Span,
        /// When it would have begun.
        start: Span,
    },
    /// Transfers that their group's stop cut off.
    #[error(
        "{} of flows.{group} {} unfinished when flows.{group}.stop = {stop} ended what it sends: what was not \
         sent by then never is",
        counted(*.transfers, "transfer"),
        were(*.transfers)
    )]
    Stopped {
        /// The group.
        group: String,
        /// How many.
        transfers: usize,
        /// When.
        stop: Span,
    },
    /// Transfers that lost datagrams.
    #[error(
        "{} of flows.{group} {} unfinished, and cannot finish: datagrams of theirs were lost, which nobody sends \
         again",
        counted(*.transfers, "transfer"),
        were(*.transfers)
    )]
    LostDatagrams {
        /// The group.
        group: String,
        /// How many.
        transfers: usize,
    },
    /// The ideal FCT of a transfer could not be simulated, and none was found after it.
    #[error(
        "no ideal FCTs and slowdowns from transfer {index} of flows.{group} on: the simulation of it alone \
         ({bytes} B, {} -> {}) {}",
        hosts.0,
        hosts.1,
        because(why.as_deref())
    )]
    NoIdeals {
        /// The group of its flow.
        group: String,
        /// Its index there.
        index: u64,
        /// Its size.
        bytes: u64,
        /// Who sends, who receives.
        hosts: (String, String),
        /// Why; absent where whoever watched the run ended it.
        why: Option<String>,
    },
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn were(number: usize) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

fn under_way(transfers: usize, rounds: usize) -> String {
    let counts = [(transfers, "transfer"), (rounds, "round")];
    let some = counts.iter().filter(|(number, _)| *number > 0);
    let some: Vec<String> = some.map(|(number, noun)| counted(*number, noun)).collect();
    if some.is_empty() {
        return String::new();
    }
    format!(": {} under way", some.join(" and "))
}

fn because(why: Option<&str>) -> String {
    why.map_or_else(|| "was stopped".to_owned(), |why| format!("failed: {why}"))
}

/// What a run leaves unfinished.
pub(super) struct Unfinished<'a> {
    pub(super) scenario: &'a Scenario,
    /// The end of the run.
    pub(super) now: Time,
    /// Whether it met its limit before its work was done.
    pub(super) met_limit: bool,
    pub(super) interrupted: bool,
    pub(super) transfers: &'a [TransferNote],
}

impl Unfinished<'_> {
    /// What is to be said of it. `has_lost` says whether the flow of a transfer has lost packets.
    pub(super) fn notes(&self, has_lost: impl Fn(&TransferNote) -> bool) -> Vec<Note> {
        let limit = self.met_limit.then(|| Note::MetLimit {
            limit: self.now - Time::ZERO,
            transfers: self.count(|one| one.kind != TransferKind::Round),
            rounds: self.count(|one| one.kind == TransferKind::Round),
        });
        let groups = 0..self.scenario.tables().flows.len();
        let of_groups = groups.filter_map(|group| {
            let lost = self.lost_datagrams(group, &has_lost);
            lost.or_else(|| self.stopped(group))
                .or_else(|| self.never_began(group))
        });
        let notes = limit.into_iter().chain(self.nothing_measured());
        notes.chain(of_groups).collect()
    }

    /// Whether it ended before its duration, with its work.
    fn is_done_early(&self) -> bool {
        !self.interrupted && self.now < Time::ZERO + self.scenario.duration()
    }

    fn nothing_measured(&self) -> Option<Note> {
        let from = self.scenario.tables().measure.warmup;
        let early = self.is_done_early() && self.now <= Time::ZERO + from;
        early.then(|| Note::NothingMeasured {
            done: self.now - Time::ZERO,
            from,
        })
    }

    fn never_began(&self, position: usize) -> Option<Note> {
        let (name, group) = &self.scenario.tables().flows[position];
        let early = self.is_done_early() && self.now < Time::ZERO + group.start;
        early.then(|| Note::NeverBegan {
            group: name.clone(),
            done: self.now - Time::ZERO,
            start: group.start,
        })
    }

    fn count(&self, is: impl Fn(&TransferNote) -> bool) -> usize {
        let all = self.transfers.iter();
        all.filter(|one| one.completed.is_none() && is(one)).count()
    }

    /// A bulk flow stops in the middle of its transfer; other workloads begin none any more.
    fn stopped(&self, position: usize) -> Option<Note> {
        let (name, group) = &self.scenario.tables().flows[position];
        let (Workload::Bulk(_) | Workload::Permutation(_), Stop::At(stop)) =
            (&group.workload, group.stop)
        else {
            return None;
        };
        let transfers = self.count(|one| one.group == position);
        (transfers > 0 && Time::ZERO + stop <= self.now).then(|| Note::Stopped {
            group: name.clone(),
            transfers,
            stop,
        })
    }

    fn lost_datagrams(
        &self,
        position: usize,
        has_lost: impl Fn(&TransferNote) -> bool,
    ) -> Option<Note> {
        let (name, group) = &self.scenario.tables().flows[position];
        if !matches!(group.transport.kind, Kind::Datagram(_)) {
            return None;
        }
        let transfers = self.count(|one| one.group == position && has_lost(one));
        (transfers > 0).then(|| Note::LostDatagrams {
            group: name.clone(),
            transfers,
        })
    }
}
