//! Builds a table from rows.

use std::sync::Arc;

use incastle_scenario::language::measure::Sampling;
use incastle_units::Time;

use crate::output::{Column, Table};

/// The setting of a sampling, if it is on.
pub(super) fn sampled<T>(sampling: &Sampling<T>) -> Option<&T> {
    match sampling {
        Sampling::On(sampled) => Some(sampled),
        Sampling::Off => None,
    }
}

pub(super) fn seconds(at: Option<Time>) -> f64 {
    at.map_or(f64::NAN, Time::as_secs_lossy)
}

pub(super) fn table(name: &str, columns: Vec<(&str, Column)>) -> Table {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    for (key, column) in &columns {
        assert_eq!(column.len(), rows, "{name}.{key} has a value for each row");
    }
    Table {
        name: name.to_owned(),
        columns: columns
            .into_iter()
            .map(|(name, column)| (name.to_owned(), column))
            .collect(),
    }
}

/// A column of whole numbers, of numbers, of strings, from rows.
pub(super) fn whole<R>(rows: &[R], value: impl Fn(&R) -> u64) -> Column {
    Column::U64(rows.iter().map(value).collect())
}

pub(super) fn real<R>(rows: &[R], value: impl Fn(&R) -> f64) -> Column {
    Column::F64(rows.iter().map(value).collect())
}

pub(super) fn text<R>(rows: &[R], value: impl Fn(&R) -> Arc<str>) -> Column {
    Column::Text(rows.iter().map(value).collect())
}
