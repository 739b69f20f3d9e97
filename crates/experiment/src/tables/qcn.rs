//! The tables `rates` and `cnms`, of reaction points and congestion points.

use std::sync::Arc;

use incastle_recorder::{CongestionSample, RateSample};

use super::columns::{real, sampled, table, text, whole};
use super::ports::names;
use crate::output::Table;
use crate::record::Record;

/// The rates of chosen flows at their senders.
pub(super) fn rates(record: &Record<'_>) -> Option<Table> {
    let sampled = sampled(&record.measure().qcn)?;
    let flows = &record.flows;
    let chosen = |sample: &&RateSample| {
        let row = flows.row(sample.flow);
        sample.side == row.note.sender && sampled.flows.contains(&row.name())
    };
    let rows: Vec<&RateSample> = record.recorder.rates.iter().filter(chosen).collect();
    let bits = |rate: incastle_units::Rate| rate.bits_per_second() as f64;
    Some(table(
        "rates",
        vec![
            ("time_s", real(&rows, |row| row.at.as_secs_lossy())),
            ("flow", whole(&rows, |row| flows.number(row.flow))),
            ("current_bit_s", real(&rows, |row| bits(row.state.current))),
            ("target_bit_s", real(&rows, |row| bits(row.state.target))),
            (
                "byte_stage",
                whole(&rows, |row| u64::from(row.state.byte_stage)),
            ),
            (
                "time_stage",
                whole(&rows, |row| u64::from(row.state.time_stage)),
            ),
            ("memory", real(&rows, |row| row.state.memory)),
        ],
    ))
}

/// The samplings of chosen ports; without feedback (psi 0) there is no notification.
pub(super) fn cnms(record: &Record<'_>) -> Option<Table> {
    let sampled = sampled(&record.measure().qcn)?;
    let (flows, names) = (&record.flows, names(record));
    let all = sampled.ports.iter().any(|port| port == "all");
    let is_chosen: Vec<bool> = names
        .iter()
        .map(|name| all || sampled.ports.iter().any(|port| **port == **name))
        .collect();
    let samples = record.recorder.samples.iter();
    let rows: Vec<&CongestionSample> = samples
        .filter(|sample| is_chosen[sample.port.index()])
        .collect();
    Some(table(
        "cnms",
        vec![
            ("time_s", real(&rows, |row| row.at.as_secs_lossy())),
            (
                "port",
                text(&rows, |row| Arc::clone(&names[row.port.index()])),
            ),
            ("flow", whole(&rows, |row| flows.number(row.flow))),
            ("psi", whole(&rows, |row| u64::from(row.sample.psi))),
            ("feedback_bytes", real(&rows, |row| row.sample.feedback)),
            ("queue_bytes", whole(&rows, |row| row.queue.count())),
            (
                "interval_bytes",
                whole(&rows, |row| row.sample.interval.count()),
            ),
        ],
    ))
}
