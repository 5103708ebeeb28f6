//! What stands in for Parquet where it is not compiled in: a refusal that says how to get it.

use std::convert::Infallible;
use std::path::Path;

use super::bad_row::Checked;
use super::input::Input;
use super::row::{Row, RowSource, TableSource};
use crate::{Error, Result, Run};

/// No rows: none of these can be made.
pub(super) struct ParquetRows<'r> {
    never: Infallible,
    input: Input<'r>,
}

impl<'r> ParquetRows<'r> {
    pub(super) fn open(input: Input<'r>, _path: &Path, _run: Run<'r>) -> Result<Self> {
        Err(Error::Unusable {
            path: input.label().to_owned(),
            problem: "is Parquet, which this liken was built without".into(),
            advice: crate::PARQUET_BUILD.into(),
        })
    }
}

impl RowSource for ParquetRows<'_> {
    type Row = Row;

    fn read_row(&mut self, _row: &mut Row) -> Result<Option<Checked<u64>>> {
        match self.never {}
    }
}

impl<'r> TableSource<'r> for ParquetRows<'r> {
    fn input(&self) -> &Input<'r> {
        &self.input
    }
}
