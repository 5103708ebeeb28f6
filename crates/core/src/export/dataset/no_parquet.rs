//! Refuses Parquet where it is not compiled in.

use super::source::{FormatAbout, Source};
use crate::export::folder::ExportFolder;
use crate::{Error, Result, Run};

pub(super) fn write(_: &Source<'_>, _: &mut ExportFolder, _: &Run<'_>) -> Result<FormatAbout> {
    Err(Error::Empty {
        what: "this liken was built without Parquet".into(),
        advice: crate::PARQUET_BUILD.into(),
    })
}
