//! A recorder of pauses with their causes, and of deadlocks.
//!
//! A deadlock is looked for at regular instants while anything is paused. It counts when two successive checks find the
//! same cycle of pauses that have not ended in between: at the first, a resume may be on its way. Leaves out: the list of
//! paused queues at a check, which its caller makes.

use incastle_units::{Span, Time};

use crate::{Holding, PauseLog, PauseRecord, PausedQueue, deadlock};

/// A deadlock: each queue is paused and waits for packets in the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock<Q> {
    /// The check that found it first.
    pub found: Time,
    /// The queues.
    pub cycle: Vec<Q>,
}

/// A cycle at a check, with the beginnings of its pauses.
#[derive(Debug, PartialEq, Eq)]
struct Suspect<Q> {
    cycle: Vec<Q>,
    since: Vec<Time>,
}

impl<Q: Copy + Ord> Suspect<Q> {
    fn of(paused: &[PausedQueue<Q>]) -> Option<Self> {
        let cycle = deadlock(paused)?;
        let since = |queue: &Q| {
            let one = paused.iter().find(|one| one.queue == *queue);
            one.expect("a cycle is of paused queues").since
        };
        Some(Self {
            since: cycle.iter().map(since).collect(),
            cycle,
        })
    }
}

/// The recorder.
#[derive(Debug)]
pub struct PauseRecorder<Q> {
    log: PauseLog<Q>,
    /// The interval of checks for deadlocks, if there are any.
    every: Option<Span>,
    /// The next check, if it is entered.
    due: Option<Time>,
    suspect: Option<(Time, Suspect<Q>)>,
    deadlocks: Vec<Deadlock<Q>>,
}

impl<Q: Copy + Ord> PauseRecorder<Q> {
    /// Of at most `limit` pauses.
    pub fn new(limit: usize, every: Option<Span>) -> Self {
        assert!(every != Some(Span::ZERO), "checks have an interval");
        Self {
            log: PauseLog::new(limit),
            every,
            due: None,
            suspect: None,
            deadlocks: Vec::new(),
        }
    }

    /// A frame is sent that pauses a queue: see [`PauseLog::send`].
    pub fn send(&mut self, queue: Q, holdings: &[Holding<Q>]) {
        self.log.send(queue, holdings);
    }

    /// A NIC sends a frame that pauses a queue, without a cause: see [`PauseLog::send_without_cause`].
    pub fn send_without_cause(&mut self, queue: Q, nic: Q) {
        self.log.send_without_cause(queue, nic);
    }

    /// A queue is paused, or not: see [`PauseLog::follow`].
    pub fn follow(&mut self, now: Time, queue: Q, paused: bool) {
        self.log.follow(now, queue, paused);
    }

    /// The recorded pauses, by their beginning.
    pub fn records(&self) -> &[PauseRecord<Q>] {
        self.log.records()
    }

    /// The number of pauses beyond the limit.
    pub const fn unrecorded(&self) -> u64 {
        self.log.unrecorded()
    }

    /// The deadlocks found, each once.
    pub fn deadlocks(&self) -> &[Deadlock<Q>] {
        &self.deadlocks
    }

    /// The next check, if it has to be entered now: while anything is paused, at multiples of the interval.
    pub fn next_check(&mut self, now: Time) -> Option<Time> {
        let every = self.every?;
        if self.due.is_some() || !self.log.has_open() {
            return None;
        }
        let past = (now - Time::ZERO).as_ps() / every.as_ps();
        self.due = Some(Time::ZERO + every * (past + 1));
        self.due
    }

    /// Whether the next check is at this instant.
    pub fn is_due(&self, at: Time) -> bool {
        self.due == Some(at)
    }

    /// The interval of checks, if there are any.
    pub const fn every(&self) -> Option<Span> {
        self.every
    }

    /// A check: these queues are paused.
    pub fn check(&mut self, now: Time, paused: &[PausedQueue<Q>]) {
        self.due = None;
        let Some(suspect) = Suspect::of(paused) else {
            self.suspect = None;
            return;
        };
        let before = self.suspect.take();
        let (found, suspect) = match before {
            Some((found, before)) if before == suspect => (found, suspect),
            _ => {
                self.suspect = Some((now, suspect));
                return;
            }
        };
        let known = self.deadlocks.last();
        if known.is_none_or(|known| known.found != found) {
            self.deadlocks.push(Deadlock {
                found,
                cycle: suspect.cycle.clone(),
            });
        }
        self.suspect = Some((found, suspect));
    }
}
