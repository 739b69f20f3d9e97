//! Finite flows at the instants, between the hosts and of the sizes of a list. Nothing is drawn.
//!
//! Rows that wait for others begin a given delay after event counts have reached their values.
//! Each may advance counts itself, when it is acknowledged and when it has arrived.

use std::collections::BTreeSet;

use incastle_engine::core::{EventCountIndex, HostIndex};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_units::{Bytes, Span, Time};

use crate::group::GroupContext;
use crate::hosts::HostPair;
use crate::open_loop::{OpenLoop, Start};
use crate::transfers::{News, Transfers};
use incastle_scenario::language::dependence::Dependence;
use incastle_scenario::language::flows;
use incastle_scenario::topology::pairs::Pair;

/// All flows of a group.
pub(super) struct List {
    transfers: Transfers,
    /// By number.
    rows: Vec<Row>,
    /// Rows that have not begun.
    left: usize,
    /// When the group begins.
    begin: Time,
    /// The next one of the rows that wait for no other.
    next: usize,
    /// Rows whose wait is over, with their instants.
    due: BTreeSet<(Time, u32)>,
    /// The number of counts.
    names: usize,
    /// The event counts, once they are there.
    counts: Vec<EventCountIndex>,
}

struct Row {
    /// After the beginning of the group, or after the row's last count.
    start: Span,
    pair: HostPair,
    bytes: Bytes,
    tie: Option<Box<Tie>>,
}

/// The dependences of a row.
struct Tie {
    dependence: Dependence,
    /// The number of its counts that have reached their values.
    reached: usize,
}

impl List {
    pub(super) fn new(context: &GroupContext<'_>, list: &flows::FlowList, pair: Pair) -> Self {
        let numbers = context.scenario.layout().host_numbers();
        let rows = list.transfers.list().iter().map(|arrival| Row {
            start: arrival.start,
            pair: HostPair {
                from: HostIndex::from_index(numbers[&arrival.source]),
                to: HostIndex::from_index(numbers[&arrival.destination]),
            },
            bytes: arrival.bytes,
            tie: arrival.dependence.as_ref().map(|dependence| {
                Box::new(Tie {
                    dependence: Dependence::clone(dependence),
                    reached: 0,
                })
            }),
        });
        let rows: Vec<Row> = rows.collect();
        let mut list = Self {
            left: rows.len(),
            transfers: Transfers::new(context, pair, list.deadline),
            rows,
            begin: Time::ZERO.saturating_add(context.group.start),
            next: 0,
            due: BTreeSet::new(),
            names: list.transfers.counts().len(),
            counts: Vec::new(),
        };
        list.skip_waiting();
        list
    }

    /// Continues with the next row that waits for no other.
    fn skip_waiting(&mut self) {
        while self.rows.get(self.next).is_some_and(Row::waits) {
            self.next += 1;
        }
    }

    /// When that row begins.
    fn next_start(&self) -> Option<Time> {
        let row = self.rows.get(self.next)?;
        Some(self.begin.saturating_add(row.start))
    }

    /// Makes the counts, and starts the waits of all rows that wait for others.
    fn open(&mut self, now: Time, actions: &mut Actions) {
        self.counts = (0..self.names).map(|_| actions.event_count()).collect();
        for number in 0..self.rows.len() {
            if self.rows[number].waits() {
                self.wait(number, now, actions);
            }
        }
    }

    /// Waits for the next count of a row, or schedules its start.
    fn wait(&mut self, number: usize, now: Time, actions: &mut Actions) {
        let row = &self.rows[number];
        let tie = row.tie.as_ref().expect("a row that waits has a tie");
        if let Some(&(count, value)) = tie.dependence.after.get(tie.reached) {
            actions.wait(self.counts[count as usize], value, number as u32);
        } else if row.start == Span::ZERO {
            self.begin(number, now, actions);
        } else {
            let at = now.saturating_add(row.start);
            self.due.insert((at, number as u32));
        }
    }

    fn begin(&mut self, number: usize, now: Time, actions: &mut Actions) {
        self.left -= 1;
        if now < self.transfers.stop() {
            let Row { pair, bytes, .. } = self.rows[number];
            self.transfers
                .begin(now, number as u64, pair, bytes, actions);
        }
    }

    /// Advances the count that a row names for its progress.
    fn advance(&self, news: &News, actions: &mut Actions) {
        let (News::Arrived(number) | News::Acknowledged(number)) = *news;
        let Some(tie) = &self.rows[number as usize].tie else {
            return;
        };
        let count = match news {
            News::Arrived(_) => tie.dependence.arrived,
            News::Acknowledged(_) => tie.dependence.acknowledged,
        };
        if let Some(count) = count {
            actions.advance(self.counts[count as usize]);
        }
    }
}

impl Row {
    fn waits(&self) -> bool {
        let tie = self.tie.as_ref();
        tie.is_some_and(|tie| !tie.dependence.after.is_empty())
    }
}

/// A list in which no row waits for others.
impl OpenLoop for List {
    fn take_next(&mut self) -> Option<Start> {
        let stop = self.transfers.stop();
        let at = self.next_start().filter(|at| *at < stop)?;
        let Row { pair, bytes, .. } = *self.rows.get(self.next)?;
        self.next += 1;
        Some(Start { at, pair, bytes })
    }
}

impl Application for List {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        if let Notice::Reached(number) = notice {
            let number = number as usize;
            let tie = self.rows[number].tie.as_mut();
            tie.expect("a row that waits has a tie").reached += 1;
            self.wait(number, now, actions);
        } else if let Some(news) = self.transfers.handle(now, notice, actions) {
            self.advance(&news, actions);
        }
    }

    /// One row at each call: other events come between rows of one instant.
    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        if self.counts.len() < self.names {
            self.open(now, actions);
        }
        if self.next_start().is_some_and(|at| at <= now) {
            self.begin(self.next, now, actions);
            self.next += 1;
            self.skip_waiting();
        } else if let Some(&first) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&first);
            self.begin(first.1 as usize, now, actions);
        }
    }

    /// Rows whose counts are never reached, or that would begin too late, are not waited for; rows that wait
    /// for an acknowledgement are.
    fn is_over(&self) -> bool {
        let all_told = || self.names == 0 || self.transfers.are_over();
        let nothing_comes = || self.poll_timeout().is_none() && all_told();
        self.transfers.are_complete() && (self.left == 0 || nothing_comes())
    }

    fn poll_timeout(&self) -> Option<Time> {
        let open = (self.counts.len() < self.names).then_some(self.begin);
        let due = self.due.first().map(|(at, _)| *at);
        let next = open.into_iter().chain(self.next_start()).chain(due).min()?;
        (next < self.transfers.stop()).then_some(next)
    }
}
