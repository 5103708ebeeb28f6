//! The error in place of Parquet where it is not compiled in; the advice says how to get it.

use std::path::Path;

use super::input::Input;
use super::row::RowSource;
use crate::{Error, Result, Run};

pub(super) fn open<'r>(
    input: Input<'r>,
    _path: &Path,
    _run: Run<'r>,
) -> Result<Box<dyn RowSource<'r> + 'r>> {
    Err(Error::Unusable {
        path: input.label().to_owned(),
        problem: "is Parquet, which this liken was built without".into(),
        advice: crate::PARQUET_BUILD.into(),
    })
}
