//! The ideal FCT of each transfer of a finished run, under `[measure] slowdown`.

use incastle_scenario::Scenario;
use incastle_scenario::topology::pairs::Pair;
use incastle_units::Span;
use incastle_workload::TransferNote;

use super::flows::Flows;
use crate::ideal::{Ideals, Wanted};
use crate::notes::Note;

/// Ideal FCTs by transfer.
pub(crate) struct IdealTimes {
    /// None from the first one on whose ideal FCT could not be computed.
    pub(crate) times: Vec<Option<Span>>,
    /// Why it could not.
    pub(crate) failure: Option<Note>,
}

impl IdealTimes {
    /// The ideal FCTs, as long as `continues` allows.
    pub(crate) fn new(
        scenario: &Scenario,
        flows: &Flows,
        rows: &[TransferNote],
        continues: impl Fn() -> bool,
    ) -> Self {
        let mut ideals = Ideals::new(scenario);
        let mut times = vec![None; rows.len()];
        assert!(rows.iter().all(|row| row.group < flows.groups().len()));
        if !continues() {
            return Self {
                times,
                failure: None,
            };
        }
        for (time, row) in times.iter_mut().zip(rows) {
            let flow = flows.row(row.flow);
            let found = ideals.time(&Wanted {
                group: row.group,
                kind: row.kind,
                hosts: Pair {
                    from: flow.sender_host().index(),
                    to: flow.receiver_host().index(),
                },
                bytes: row.bytes,
            });
            // A controller that fails while alone ends the search, and its time is void.
            let continues = continues();
            match found {
                Ok(found) if continues => *time = found,
                failed => {
                    let failure = Note::NoIdeals {
                        group: flow.group.to_string(),
                        index: row.index,
                        bytes: row.bytes,
                        hosts: (
                            flow.sender_name().to_string(),
                            flow.receiver_name().to_string(),
                        ),
                        why: failed.err().map(|error| error.to_string()),
                    };
                    let failure = Some(failure);
                    return Self { times, failure };
                }
            }
        }
        Self {
            times,
            failure: None,
        }
    }
}
