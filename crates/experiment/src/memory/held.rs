//! The memory of a run's records so far, and of their growth: lists that double, and
//! tables.

use incastle_engine::flow::FlowRecord;
use incastle_engine::probe::MemorySample;
use incastle_recorder::{
    CongestionSample, Loss, ModeSample, QueueSample, RateSample, RecordedEvent, Recorder, Sent,
    Silence, Timeout, WindowSample,
};

use super::{Kept, Memory};
use incastle_workload::{FlowNote, TransferNote};

/// Rows that may be added to one list before the next check.
const UNTIL_NEXT_LOOK: usize = 1_000_000;

/// The growing lists of a run.
pub(crate) struct Lists<'a> {
    pub(crate) recorder: &'a Recorder,
    pub(crate) flows: usize,
    /// Bytes of the engine's lists of them.
    pub(crate) flow_room: usize,
    pub(crate) flow_notes: &'a Vec<FlowNote>,
    pub(crate) transfers: &'a Vec<TransferNote>,
    /// The maximum number of bytes stored of a frame.
    pub(crate) snap: u64,
}

/// Bytes of all records, tables included, and how many of them are still to be taken.
pub(crate) fn held(lists: &Lists<'_>) -> (Memory, u64) {
    let recorder = lists.recorder;
    let mut held = Held::default();
    let note = size_of::<FlowNote>() as u64;
    held.growth += doubled(lists.flow_notes) + lists.flow_room as u64;
    held.rows(
        Kept::Flows,
        lists.flows as u64,
        size_of::<FlowRecord>() as u64 / 2 + note,
        0,
    );
    held.list(Kept::Transfers, lists.transfers, 0);
    held.rows(Kept::Bins, recorder.bins(), BIN, 0);
    held.list::<QueueSample>(Kept::Queue, &recorder.queue_samples, 0);
    held.list::<MemorySample>(Kept::Occupancy, &recorder.memory_samples, 0);
    held.list::<WindowSample>(Kept::Windows, &recorder.windows, 0);
    held.list::<ModeSample>(Kept::Dcudp, &recorder.modes, 0);
    held.list::<WindowSample>(Kept::Dcudp, &recorder.dcudp_rates, 0);
    held.list::<RateSample>(Kept::Qcn, &recorder.rates, 0);
    held.list::<CongestionSample>(Kept::Qcn, &recorder.samples, 0);
    held.list::<Timeout>(Kept::Timeouts, &recorder.timeouts, 0);
    held.list::<Loss>(Kept::Timeouts, &recorder.losses, 0);
    held.list::<Silence>(Kept::Timeouts, &recorder.silences, 0);
    held.list::<RecordedEvent>(Kept::Events, &recorder.record.events, 0);
    held.list::<Sent>(Kept::Captures, &recorder.sent, lists.snap);
    let more = held.tables.max(held.growth);
    (held.memory, more)
}

/// Bytes of a bin in its list.
const BIN: u64 = 24;

#[derive(Default)]
struct Held {
    memory: Memory,
    /// Bytes to make the tables.
    tables: u64,
    /// Bytes of lists that double soon.
    growth: u64,
}

impl Held {
    fn list<T>(&mut self, kept: Kept, list: &Vec<T>, further: u64) {
        self.growth += doubled(list);
        self.rows(kept, list.len() as u64, size_of::<T>() as u64, further);
    }

    fn rows(&mut self, kept: Kept, count: u64, recorded: u64, further: u64) {
        self.memory.add(kept, count, further);
        self.tables += count * (kept.bytes_each() + further).saturating_sub(recorded);
    }
}

/// Bytes of a list's next growth, if that may be soon.
fn doubled<T>(list: &Vec<T>) -> u64 {
    let soon = list.len() + UNTIL_NEXT_LOOK >= list.capacity();
    if soon {
        (list.capacity() * size_of::<T>()) as u64
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_counted_before_it_doubles() {
        let mut list: Vec<u64> = Vec::with_capacity(4_000_000);
        list.resize(1_000_000, 0);
        assert_eq!(doubled(&list), 0, "there is room for three million");
        list.resize(3_500_000, 0);
        assert_eq!(doubled(&list), 32_000_000);
    }
}
