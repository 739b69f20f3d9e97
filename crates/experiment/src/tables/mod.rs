//! Result tables from the record of a finished run: names and columns as docs/scenario-language.md has them.
//!
//! Flows are numbered by group, in the order of the scenario, then by their index in the group.

mod columns;
mod events;
mod flows;
mod pauses;
mod ports;
mod qcn;
mod queue_pairs;
mod rounds;
mod timeouts;
mod transfers;
mod udt;

use std::collections::BTreeSet;

use crate::output::Table;
use crate::record::Record;
use crate::totals::totals;

/// Makes a table.
enum Maker {
    Always(fn(&Record<'_>) -> Table),
    /// None where it is not requested, or never has rows.
    Sometimes(fn(&Record<'_>) -> Option<Table>),
}

/// All tables, in the order of results.
const MAKERS: [Maker; 21] = [
    Maker::Always(summary),
    Maker::Always(flows::flows),
    Maker::Always(transfers::transfers),
    Maker::Always(ports::queues),
    Maker::Always(ports::links),
    Maker::Sometimes(ports::goodput),
    Maker::Sometimes(rounds::rounds),
    Maker::Sometimes(timeouts::timeouts),
    Maker::Sometimes(udt::udt),
    Maker::Sometimes(queue_pairs::queue_pairs),
    Maker::Sometimes(pauses::pauses),
    Maker::Sometimes(pauses::pause_record),
    Maker::Sometimes(ports::queue_samples),
    Maker::Sometimes(ports::buffer_occupancy),
    Maker::Sometimes(flows::windows),
    Maker::Sometimes(flows::throughput),
    Maker::Sometimes(udt::dcudp_modes),
    Maker::Sometimes(udt::dcudp_rates),
    Maker::Sometimes(qcn::rates),
    Maker::Sometimes(qcn::cnms),
    Maker::Sometimes(events::events),
];

/// The tables of a run.
pub(crate) fn tables(record: &Record<'_>) -> Vec<Table> {
    let makers = MAKERS.iter();
    let tables = makers.filter_map(|maker| match maker {
        Maker::Always(make) => Some(make(record)),
        Maker::Sometimes(make) => make(record),
    });
    let tables: Vec<Table> = tables.collect();
    let names: BTreeSet<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names.len(), tables.len(), "a table's name is its own");
    tables
}

fn summary(record: &Record<'_>) -> Table {
    totals(record).table()
}
