//! Columns of result tables by name, with the types that runs and files give them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, Float64Array, LargeStringArray, RecordBatch, StringArray, UInt64Array};

const PS_PER_S: f64 = 1e12;

/// A table without a column that it has in every result, or with one of another type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A column is missing, or has another type.
    #[error("a table has no column {0} of the expected type")]
    Column(&'static str),
    /// The scenario has no transport for the group of a flow.
    #[error("the scenario of the result has no transport for the flows {0}")]
    Transport(String),
    /// There is no such flow.
    #[error("there is no flow {0}")]
    Flow(u64),
}

/// An instant or span that a table has in seconds; exact up to some thousands.
pub(crate) fn picoseconds(seconds: f64) -> i64 {
    (seconds * PS_PER_S).round_ties_even() as i64
}

/// An instant or span in seconds.
pub(crate) fn seconds(picoseconds: i64) -> f64 {
    picoseconds as f64 / PS_PER_S
}

/// A column of strings: polars writes them with wide offsets.
pub(crate) enum Texts<'a> {
    Narrow(&'a StringArray),
    Wide(&'a LargeStringArray),
}

impl<'a> Texts<'a> {
    pub(crate) fn at(&self, row: usize) -> &'a str {
        match self {
            Self::Narrow(values) => values.value(row),
            Self::Wide(values) => values.value(row),
        }
    }
}

pub(crate) fn texts<'a>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<Texts<'a>, Malformed> {
    let column = batch.column_by_name(name).ok_or(Malformed::Column(name))?;
    let narrow = column.as_string_opt().map(Texts::Narrow);
    let found = narrow.or_else(|| column.as_string_opt().map(Texts::Wide));
    found.ok_or(Malformed::Column(name))
}

pub(crate) fn wholes<'a>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<&'a UInt64Array, Malformed> {
    let column = batch.column_by_name(name).ok_or(Malformed::Column(name))?;
    column
        .as_primitive_opt::<UInt64Type>()
        .ok_or(Malformed::Column(name))
}

pub(crate) fn reals<'a>(
    batch: &'a RecordBatch,
    name: &'static str,
) -> Result<&'a Float64Array, Malformed> {
    let column = batch.column_by_name(name).ok_or(Malformed::Column(name))?;
    column
        .as_primitive_opt::<Float64Type>()
        .ok_or(Malformed::Column(name))
}

pub(crate) fn value(column: &Float64Array, row: usize) -> Option<f64> {
    (!column.is_null(row)).then(|| column.value(row))
}

/// Strings that rows share.
#[derive(Default)]
pub(crate) struct Shared(BTreeMap<String, Arc<str>>);

impl Shared {
    pub(crate) fn of(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = Arc::from(text);
        self.0.insert(text.to_owned(), Arc::clone(&new));
        new
    }
}
