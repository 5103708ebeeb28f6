//! What stands in for Parquet where it is not compiled in: a refusal that says how to get it.

use std::convert::Infallible;
use std::path::Path;

use serde_json::Value;

use super::input::Input;
use super::table::Checked;
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

    pub(super) fn input(&self) -> &Input<'r> {
        &self.input
    }

    pub(super) fn header(&self) -> Vec<String> {
        match self.never {}
    }

    pub(super) fn check(&self, _used: impl Fn(usize) -> bool) -> Result<()> {
        match self.never {}
    }

    pub(super) fn advance(&mut self) -> Result<Option<Checked<u64>>> {
        match self.never {}
    }

    pub(super) fn width(&self) -> usize {
        match self.never {}
    }

    pub(super) fn field(&self, _at: usize) -> &str {
        match self.never {}
    }

    pub(super) fn value(&self, _at: usize) -> Option<Value> {
        match self.never {}
    }
}
