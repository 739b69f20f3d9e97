//! Notes of pauses in partitions: the record is that of one simulation, however its network is divided.

use std::collections::BTreeMap;

use incastle_queueing::{CheckReport, Holding, PauseNotes, PauseRecorder, PausedQueue};
use incastle_units::{Bytes, Span, Time};
use proptest::prelude::*;

const QUEUES: u32 = 6;
const PARTITIONS: usize = 3;
const EVERY: Span = Span::from_us(10);

/// A queue is paused, or no longer.
#[derive(Debug, Clone)]
struct Change {
    /// Since the change before.
    gap: Span,
    queue: u32,
    paused: bool,
    /// The queues of the account that pauses it.
    holdings: Vec<Holding<u32>>,
    /// Whether all partitions have reached this instant, and the first one records.
    records: bool,
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let holding = (0..QUEUES, 0..3_u64).prop_map(|(queue, bytes)| Holding {
        queue,
        bytes: Bytes::new(bytes),
    });
    let change = (
        prop_oneof![Just(0), 1..25_u64],
        0..QUEUES,
        prop::bool::weighted(0.7),
        prop::collection::vec(holding, 0..3),
        any::<bool>(),
    );
    let change = change.prop_map(|(gap, queue, paused, holdings, records)| Change {
        gap: Span::from_us(gap),
        queue,
        paused,
        holdings,
        records,
    });
    prop::collection::vec(change, 1..60)
}

/// Where each queue and the account behind it are.
#[derive(Debug, Clone, Copy)]
struct Place {
    queue: usize,
    account: usize,
}

fn places() -> impl Strategy<Value = Vec<Place>> {
    let place = (0..PARTITIONS, 0..PARTITIONS);
    let place = place.prop_map(|(queue, account)| Place { queue, account });
    prop::collection::vec(place, QUEUES as usize)
}

/// The network, once as one simulation and once in partitions.
struct Twice {
    places: Vec<Place>,
    paused: BTreeMap<u32, Time>,
    accounts: BTreeMap<u32, Vec<Holding<u32>>>,
    alone: PauseRecorder<u32>,
    notes: Vec<PauseNotes<u32>>,
    divided: PauseRecorder<u32>,
}

impl Twice {
    fn new(places: Vec<Place>) -> Self {
        let notes = || PauseNotes::new(Some(EVERY), Vec::new(), PARTITIONS);
        Self {
            places,
            paused: BTreeMap::new(),
            accounts: BTreeMap::new(),
            alone: PauseRecorder::new(1_000, Some(EVERY)),
            notes: (0..PARTITIONS).map(|_| notes()).collect(),
            divided: PauseRecorder::new(1_000, Some(EVERY)),
        }
    }

    /// A queue, with the account behind it or without.
    fn seen(&self, queue: u32, with_account: bool) -> PausedQueue<u32> {
        let holdings = self.accounts.get(&queue).filter(|_| with_account);
        PausedQueue {
            queue,
            since: self.paused.get(&queue).copied().unwrap_or(Time::NEVER),
            resume_level: Bytes::ZERO,
            waits_for: holdings.cloned().unwrap_or_default(),
        }
    }

    fn report(&self, partition: usize) -> CheckReport<u32> {
        let place = |queue: u32| self.places[queue as usize];
        let paused = self.paused.keys().copied();
        let paused = paused.filter(|queue| place(*queue).queue == partition);
        let accounts = (0..QUEUES)
            .filter(|queue| place(*queue).account == partition && place(*queue).queue != partition);
        CheckReport {
            paused: paused
                .map(|queue| self.seen(queue, place(queue).account == partition))
                .collect(),
            accounts: accounts.map(|queue| self.seen(queue, true)).collect(),
        }
    }

    /// The checks at multiples of the interval within `from..until`, each before the changes of its instant.
    fn check_between(&mut self, from: Time, until: Time) {
        let first = (from - Time::ZERO).as_ps().div_ceil(EVERY.as_ps());
        for at in (first..).map(|multiple| Time::ZERO + EVERY * multiple) {
            if at >= until {
                return;
            }
            if self.alone.is_due(at) {
                let queues = self.paused.keys();
                let paused: Vec<_> = queues.map(|queue| self.seen(*queue, true)).collect();
                self.alone.check(at, &paused);
                self.alone.next_check(at);
            }
            for partition in 0..PARTITIONS {
                let report = self.report(partition);
                self.notes[partition].begin(at, 0);
                self.notes[partition].check(report);
            }
        }
    }

    fn change(&mut self, at: Time, rank: u64, change: &Change) {
        let queue = change.queue;
        let Place {
            queue: here,
            account,
        } = self.places[queue as usize];
        if change.paused {
            self.alone.send(queue, &change.holdings);
            self.notes[account].begin(at, rank);
            self.notes[account].send(queue, &change.holdings);
            self.accounts.insert(queue, change.holdings.clone());
            self.paused.entry(queue).or_insert(at);
        } else {
            self.paused.remove(&queue);
        }
        self.alone.follow(at, queue, change.paused);
        self.alone.next_check(at);
        self.notes[here].begin(at, rank + 1);
        self.notes[here].follow(queue, change.paused);
    }

    fn record(&mut self, before: Time) {
        let (first, others) = self.notes.split_at_mut(1);
        let mut given = Vec::new();
        for notes in others {
            notes.give(&mut given);
        }
        first[0].receive(&mut given);
        first[0].record(before, &mut self.divided);
    }
}

proptest! {
    #[test]
    fn partitions_record_what_one_simulation_does(changes in changes(), places in places()) {
        let mut twice = Twice::new(places);
        let (mut now, mut rank) = (Time::ZERO, 0);
        for change in &changes {
            let at = now + change.gap;
            if at > now {
                twice.check_between(now + Span::from_ps(1), at + Span::from_ps(1));
                rank = 0;
            }
            now = at;
            if change.records {
                twice.record(now);
            }
            twice.change(now, rank + 1, change);
            rank += 2;
        }
        twice.record(now + Span::from_ps(1));
        prop_assert_eq!(twice.divided.records(), twice.alone.records());
        prop_assert_eq!(twice.divided.deadlocks(), twice.alone.deadlocks());
        prop_assert!(twice.notes.iter().all(PauseNotes::is_empty));
        let paused = twice.notes.iter().any(PauseNotes::has_paused);
        prop_assert_eq!(paused, !twice.paused.is_empty());
    }
}

#[test]
fn an_event_counts_as_the_last_of_its_instant_that_led_to_it() {
    // The event of rank 5 has entered another one of rank 2: both are after the one of rank 3 elsewhere.
    let at = Time::ZERO + Span::from_us(1);
    let [mut first, mut second] = [(); 2].map(|()| PauseNotes::new(None, Vec::new(), 2));
    first.begin(at, 5);
    first.begin(at, 2);
    first.follow(1, true);
    second.begin(at, 3);
    second.follow(2, true);
    let mut given = Vec::new();
    second.give(&mut given);
    first.receive(&mut given);
    let mut recorder = PauseRecorder::new(10, None);
    first.record(at + Span::from_ps(1), &mut recorder);
    let order: Vec<u32> = recorder.records().iter().map(|one| one.queue).collect();
    assert_eq!(order, [2, 1]);
}
