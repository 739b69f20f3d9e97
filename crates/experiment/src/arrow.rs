//! Tables as batches of Arrow, whose consumers (polars, a browser's page) read them without a copy of the numbers.
//!
//! A NaN in a column of floats is a missing value there (a flow that has not finished).

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::output::{Column, Table};

/// The columns of a table as a batch.
pub fn batch(table: Table) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::with_capacity(table.columns.len());
    let mut columns = Vec::with_capacity(table.columns.len());
    for (name, column) in table.columns {
        let (data_type, array) = array(column);
        fields.push(Field::new(name, data_type, true));
        columns.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}

/// Numbers keep their memory; strings are copied end to end once.
fn array(column: Column) -> (DataType, ArrayRef) {
    match column {
        Column::U64(values) => (
            DataType::UInt64,
            Arc::new(UInt64Array::new(ScalarBuffer::from(values), None)),
        ),
        Column::F64(values) => {
            let missing = values.iter().any(|value| value.is_nan());
            let present = missing.then(|| values.iter().map(|value| !value.is_nan()).collect());
            let nulls = present.map(|bits: Vec<bool>| NullBuffer::from(bits));
            (
                DataType::Float64,
                Arc::new(Float64Array::new(ScalarBuffer::from(values), nulls)),
            )
        }
        Column::Text(values) => (
            DataType::Utf8,
            Arc::new(StringArray::from_iter_values(values)),
        ),
    }
}
