//! Notes on the work that a run leaves unfinished, and the reasons.

use incastle_engine::network::EgressQueue;
use incastle_scenario::language::flows::{Stop, Workload};
use incastle_scenario::language::transport::Kind;
use incastle_units::Time;
use incastle_workload::{TransferKind, TransferNote};

use crate::notes::Note;
use crate::record::Record;

impl Record<'_> {
    /// The notes about unfinished work.
    pub(crate) fn unfinished(&self) -> Vec<Note> {
        let limit = self.met_limit.then(|| Note::MetLimit {
            limit: self.now - Time::ZERO,
            transfers: self.count(|one| one.kind != TransferKind::Round),
            rounds: self.count(|one| one.kind == TransferKind::Round),
        });
        let groups = 0..self.scenario.tables().flows.len();
        let of_groups = groups.filter_map(|group| {
            let lost = self.lost_datagrams(group);
            lost.or_else(|| self.stopped(group))
                .or_else(|| self.never_began(group))
        });
        let notes = limit.into_iter().chain(self.nothing_measured());
        notes.chain(self.deadlocks()).chain(of_groups).collect()
    }

    fn deadlocks(&self) -> impl Iterator<Item = Note> {
        let port = |queue: &EgressQueue| {
            let port = self.network.port_name(queue.port);
            format!("{port} (priority {})", queue.priority)
        };
        let found = self.network.deadlocks().iter();
        found.map(move |deadlock| Note::Deadlock {
            found: deadlock.found - Time::ZERO,
            cycle: deadlock.cycle.iter().map(port).collect(),
        })
    }

    /// Whether the run ended before its duration, with its work.
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

    /// A bulk flow stops in the middle of its transfer; other workloads begin no more transfers.
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

    fn lost_datagrams(&self, position: usize) -> Option<Note> {
        let (name, group) = &self.scenario.tables().flows[position];
        if !matches!(group.transport.kind, Kind::Datagram(_)) {
            return None;
        }
        let transfers =
            self.count(|one| one.group == position && self.flows.row(one.flow).has_lost());
        (transfers > 0).then(|| Note::LostDatagrams {
            group: name.clone(),
            transfers,
        })
    }
}
