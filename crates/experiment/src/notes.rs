//! Notes on a result, in addition to its numbers: work that was cut off, and the reason.

use incastle_units::Span;

/// A note on a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Note {
    /// A run that should end with its work reached its limit before.
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
        "nothing was measured: the run was done after {}, before measure.warmup = {from}; queues and \
         utilisations have no values",
        .done.rounded()
    )]
    NothingMeasured {
        /// The end of the run.
        done: Span,
        /// The planned start of the interval.
        from: Span,
    },
    /// A group that had not begun when a run ended with the work of others.
    #[error(
        "flows.{group} never began: the run was done after {}, before flows.{group}.start = {start}",
        .done.rounded()
    )]
    NeverBegan {
        /// The group.
        group: String,
        /// The end of the run.
        done: Span,
        /// Its planned start.
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
        /// Their number.
        transfers: usize,
        /// The instant of the stop.
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
        /// Their number.
        transfers: usize,
    },
    /// Queues that wait for each other for ever.
    #[error(
        "a deadlock of pauses (PFC), found at {}: {} are paused, each until the next one sends, the last until the first \
         one does; what waits there never leaves",
        .found.rounded(),
        .cycle.join(", ")
    )]
    Deadlock {
        /// The check that found it.
        found: Span,
        /// The ports, with their priorities.
        cycle: Vec<String>,
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
        /// Sender and receiver.
        hosts: (String, String),
        /// The reason; absent where the overseer ended the run.
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
