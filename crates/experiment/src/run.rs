//! Runs a scenario: builds the network, simulates it in slices, and makes the tables.
//!
//! Pure: all actions between slices (stopping, progress) are the caller's.

use incastle_engine::{Simulation, Status};
use incastle_recorder::Recorder;
use incastle_scenario::Scenario;
use incastle_units::Time;
use incastle_workload::{FlowNote, Journal};

use crate::budget::{afford, afford_start, snap};
use crate::course::Course;
use crate::memory::{Shortage, at_start};
use crate::network::network;
use crate::output::Output;
use crate::overseer::{Overseer, RunError};
use crate::prepared::Prepared;
use crate::record::{Finished, Record};

/// Runs a scenario to its end, or until the overseer ends it.
pub fn simulate(scenario: &Scenario, overseer: &impl Overseer) -> Result<Output, RunError> {
    let affords = |bytes| overseer.affords(bytes);
    let mut run = Run::start(scenario, affords)?;
    while !run.is_done() {
        run.advance(Time::NEVER, overseer.slice(), affords)?;
        if !overseer.continues(run.now()) {
            break;
        }
    }
    Ok(run.finish(scenario, overseer))
}

/// A run that its caller advances.
pub struct Run {
    simulation: Simulation<Recorder>,
    journal: Journal,
    course: Course,
    /// Bytes stored of a captured frame.
    snap: u64,
    /// Events between two checks of its records.
    slice: u64,
}

impl Run {
    /// The run of a scenario, before its first event. `affords` says whether there is memory for it.
    pub fn start(
        scenario: &Scenario,
        affords: impl Fn(u64) -> Result<(), Shortage>,
    ) -> Result<Self, RunError> {
        if let Some(name) = scenario.unknown_controller() {
            return Err(RunError::UnknownController(name.to_owned()));
        }
        afford_start(at_start(scenario, 1), affords)?;
        let prepared = Prepared::new(scenario, network(scenario)?, |_| true);
        Ok(Self {
            simulation: prepared.simulation,
            journal: prepared.journal,
            course: Course::new(scenario),
            snap: snap(scenario),
            slice: prepared.slice,
        })
    }

    /// Simulates at most `events` events, and none after `until`. Fewer may be left until the end of the run.
    pub fn advance(
        &mut self,
        until: Time,
        events: u64,
        affords: impl FnOnce(u64) -> Result<(), Shortage>,
    ) -> Result<(), RunError> {
        let Some(stage) = self.course.until() else {
            return Ok(());
        };
        let before = self.now();
        let until = until.min(stage).max(before);
        let status = self.simulation.run(until, events.min(self.slice))?;
        let now = self.now();
        assert!(before <= now && now <= until, "time runs forward");
        afford(&self.simulation, &self.journal, self.snap, affords)?;
        if status == Status::Done && (until == stage || self.simulation.is_over()) {
            self.course
                .pass_stage(std::slice::from_ref(&self.simulation));
        }
        Ok(())
    }

    /// The instant that the run has reached.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// Whether the run has reached its end.
    pub fn is_done(&self) -> bool {
        self.course.until().is_none()
    }

    /// The network, its counters and the records.
    pub fn simulation(&self) -> &Simulation<Recorder> {
        &self.simulation
    }

    /// The flows that were opened, in that order, without the first `from`.
    pub fn opened(&self, from: usize) -> Vec<FlowNote> {
        self.journal.notes().flows[from..].to_vec()
    }

    /// The result. A run that has not reached its end is marked as interrupted.
    pub fn finish(self, scenario: &Scenario, overseer: &dyn Overseer) -> Output {
        let whole = vec![self.simulation];
        let passed = self.course.close(&whole);
        let finished = Finished::new(whole, |mut recorders, _| recorders.remove(0));
        let notes = std::mem::take(&mut *self.journal.notes());
        let record = Record::new(scenario, passed, finished, notes);
        record.with_ideals(overseer).output()
    }
}
