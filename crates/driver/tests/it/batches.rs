//! Runs on threads: the same on every number of them, stoppable.

use std::sync::atomic::Ordering;

use incastle_driver::{Control, Failure, Parallelism, Watcher, run, run_many};
use incastle_experiment::Output;
use incastle_scenario::Scenario;

use crate::common::{comparable, mixed, scenario};

fn controls(count: usize) -> Vec<Control> {
    (0..count).map(|_| Control::default()).collect()
}

/// Keeps every result at its place.
struct Results(Vec<String>);

impl Watcher for Results {
    fn finished(&mut self, index: usize, outcome: Result<Output, Failure>) {
        self.0[index] = comparable(outcome.expect("runs"));
    }

    fn tick(&mut self) {}
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let base = scenario(&mixed(), &[]);
    let all: Vec<Scenario> = (0..6).map(|seed| base.with_seed(seed)).collect();
    let with = |threads| {
        let controls = controls(all.len());
        let mut results = Results(vec![String::new(); all.len()]);
        let parallelism = Parallelism {
            runs: threads,
            threads_per_run: 1,
        };
        run_many(&all, parallelism, &controls, &mut results);
        results.0
    };
    let alone = with(1);
    assert!(alone.iter().all(|text| !text.is_empty()));
    assert!(
        alone == with(3),
        "three threads give another result than one"
    );
}

/// Cancels everything at the first tick that finds the first two active, however late they begin.
struct Impatient<'a> {
    controls: &'a [Control],
    interrupted: Vec<usize>,
}

impl Watcher for Impatient<'_> {
    fn finished(&mut self, index: usize, outcome: Result<Output, Failure>) {
        let output = outcome.expect("runs");
        assert!(output.interrupted && output.totals.simulated_s < 1000.0);
        self.interrupted.push(index);
    }

    fn tick(&mut self) {
        let under_way = |control: &Control| control.simulated_ps.load(Ordering::Relaxed) > 0;
        if !self.controls[..2].iter().all(under_way) {
            return;
        }
        for control in self.controls {
            control.cancel.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_cancelled_batch_hands_over_what_was_begun() {
    let long = scenario(
        &mixed(),
        &[("run.duration", "1000 s"), ("measure.until", "end")],
    );
    let all: Vec<Scenario> = (0..3).map(|seed| long.with_seed(seed)).collect();
    let controls = controls(all.len());
    let mut watcher = Impatient {
        controls: &controls,
        interrupted: Vec::new(),
    };
    let parallelism = Parallelism {
        runs: 2,
        threads_per_run: 1,
    };
    run_many(&all, parallelism, &controls, &mut watcher);
    watcher.interrupted.sort_unstable();
    assert_eq!(watcher.interrupted, [0, 1], "the third never began");
}

#[test]
fn a_cancelled_run_ends_early_with_what_it_has() {
    let control = Control::default();
    control.cancel.store(true, Ordering::Relaxed);
    let long = scenario(
        &mixed(),
        &[("run.duration", "1000 s"), ("measure.until", "end")],
    );
    let output = run(&long, &control).expect("runs");
    assert!(output.interrupted);
    assert!(output.totals.simulated_s < 1.0 && output.totals.events > 0);
    assert!(control.simulated_ps.load(Ordering::Relaxed) > 0);
}
