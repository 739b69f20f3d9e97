//! The course of a run: until the measured interval begins, until it ends, and to the end of the run.
//!
//! The counters of ports are read at the start and the end of the measured interval.

use incastle_engine::{AllPartitions, Simulation};
use incastle_recorder::Recorder;
use incastle_scenario::Scenario;
use incastle_scenario::language::RunStop;
use incastle_units::{Bytes, Time};

use crate::record::{Interval, Passed};

/// The stages of a run, and what was read at the end of each.
pub(super) struct Course {
    interval: Interval,
    end: Time,
    until_done: bool,
    /// By port, at the start and the end of the measured interval, as far as they have been reached.
    accepted: Vec<Vec<Bytes>>,
    is_at_end: bool,
}

impl Course {
    /// The course of a run that has not begun.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let end = Time::ZERO + scenario.duration();
        let interval = interval(scenario);
        assert!(
            interval.from <= interval.to && interval.to <= end,
            "the measured interval lies within the run"
        );
        Self {
            interval,
            end,
            until_done: scenario.tables().run.stop == RunStop::WhenDone,
            accepted: Vec::with_capacity(2),
            is_at_end: false,
        }
    }

    /// The end of this stage; absent after the last.
    pub(super) fn until(&self) -> Option<Time> {
        let ends = [self.interval.from, self.interval.to, self.end];
        (!self.is_at_end).then(|| ends[self.accepted.len()])
    }

    /// The stage is over.
    pub(super) fn pass_stage(&mut self, partitions: &[Simulation<Recorder>]) {
        if self.accepted.len() < 2 {
            self.accepted.push(accepted_bytes(partitions));
        } else {
            self.is_at_end = true;
        }
    }

    /// The run has ended: at its end, or before, where somebody ended it.
    pub(super) fn close(mut self, partitions: &[Simulation<Recorder>]) -> Passed {
        let interrupted = !self.is_at_end;
        while self.accepted.len() < 2 {
            self.accepted.push(accepted_bytes(partitions));
        }
        let [before, after]: [Vec<Bytes>; 2] =
            self.accepted.try_into().expect("there are two readings");
        assert_eq!(before.len(), after.len(), "every port is read twice");
        let is_done = partitions.iter().any(Simulation::is_over);
        Passed {
            interval: self.interval,
            accepted: [before, after],
            interrupted,
            met_limit: self.until_done && !is_done && !interrupted,
        }
    }
}

/// The measured interval.
pub fn interval(scenario: &Scenario) -> Interval {
    let end = Time::ZERO + scenario.duration();
    let measure = &scenario.tables().measure;
    Interval::of(measure.warmup, measure.until, end)
}

/// Simulates all partitions from stage to stage with `pass`, which returns `false` where it ends the run.
pub fn through<E>(
    scenario: &Scenario,
    partitions: &mut [Simulation<Recorder>],
    mut pass: impl FnMut(&mut [Simulation<Recorder>], Time) -> Result<bool, E>,
) -> Result<Passed, E> {
    let mut course = Course::new(scenario);
    while let Some(until) = course.until() {
        if !pass(partitions, until)? {
            break;
        }
        course.pass_stage(partitions);
    }
    Ok(course.close(partitions))
}

fn accepted_bytes(partitions: &[Simulation<Recorder>]) -> Vec<Bytes> {
    let whole = AllPartitions::new(partitions);
    let ports = partitions[0].network().ports();
    ports
        .map(|port| Bytes::new(whole.counters(port).accepted_bytes))
        .collect()
}
