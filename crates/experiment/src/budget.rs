//! Checks, between slices, that there is memory for the records of a run and their tables. Without the check, the
//! system would end the process without a message.

use incastle_engine::Simulation;
use incastle_recorder::Recorder;
use incastle_units::Time;

use crate::memory::{Lists, Memory, OutOfMemory, Shortage, held};
use crate::overseer::RunError;
use incastle_scenario::Scenario;
use incastle_scenario::language::measure::Sampling;
use incastle_workload::Journal;

/// Rows that sampled ports may add within a slice.
const MAX_SAMPLES: u64 = 1_000_000;

/// Events of a slice: no more than `limit`, and few enough that samples do not fill the memory within it.
pub(super) fn slice(sampled_ports: usize, limit: u64) -> u64 {
    limit
        .min(MAX_SAMPLES / (sampled_ports as u64).max(1))
        .max(1)
}

/// Bytes stored of a captured frame.
pub fn snap(scenario: &Scenario) -> u64 {
    match &scenario.tables().measure.pcap {
        Sampling::On(capture) => capture.snaplen.count(),
        Sampling::Off => 0,
    }
}

/// Ends a run whose records and tables will not get the memory that they still need.
pub fn afford(
    simulation: &Simulation<Recorder>,
    journal: &Journal,
    snap: u64,
    affords: impl FnOnce(u64) -> Result<(), Shortage>,
) -> Result<(), RunError> {
    let notes = journal.notes();
    let (memory, more) = held(&Lists {
        recorder: simulation.probe(),
        flows: simulation.flow_count(),
        flow_room: simulation.flow_room(),
        flow_notes: &notes.flows,
        transfers: &notes.transfers,
        snap,
    });
    affords(more).map_err(|shortage| out_of_memory(simulation.now(), memory, more, shortage))
}

/// The same before anything is built.
pub fn afford_start(
    memory: Memory,
    affords: impl FnOnce(u64) -> Result<(), Shortage>,
) -> Result<(), RunError> {
    let more = memory.bytes();
    affords(more).map_err(|shortage| out_of_memory(Time::ZERO, memory, more, shortage))
}

fn out_of_memory(at: Time, memory: Memory, more: u64, shortage: Shortage) -> RunError {
    RunError::OutOfMemory(Box::new(OutOfMemory {
        at,
        more,
        memory,
        shortage,
    }))
}

#[cfg(test)]
mod tests {
    use super::slice;

    #[test]
    fn a_slice_is_shorter_where_each_event_samples_many_ports() {
        assert_eq!(slice(0, 100_000), 100_000);
        assert_eq!(slice(10, 100_000), 100_000);
        assert_eq!(slice(1_000, 100_000), 1_000);
        assert_eq!(slice(5_000_000, 100_000), 1);
    }
}
