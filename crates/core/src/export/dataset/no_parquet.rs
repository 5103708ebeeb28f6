//! What stands in for Parquet where it is not compiled in: a refusal that says how to get it.

use super::{Source, Written};
use crate::export::folder::ExportFolder;
use crate::{Error, Result, Run};

pub(super) fn write(_: &Source<'_>, _: &mut ExportFolder, _: &Run<'_>) -> Result<Written> {
    Err(Error::Empty {
        what: "this liken was built without Parquet".into(),
        advice: crate::PARQUET_BUILD.into(),
    })
}
