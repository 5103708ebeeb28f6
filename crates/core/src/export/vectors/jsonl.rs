//! One JSON object per line, `{"id": …, "vector": […]}`, each number in the fewest digits that parse
//! to the same float32.

use serde::Serialize;

use super::rows::{ExportedSet, Rows};
use crate::export::folder::ExportFolder;
use crate::{Result, Run};

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    vector: &'a [f32],
}

pub(super) fn write(
    folder: &mut ExportFolder,
    set: &Rows<'_>,
    run: &Run<'_>,
) -> Result<ExportedSet> {
    let holds = format!("{} vectors of {} numbers, one per line with its id", set.n, set.dim);
    let mut out = folder.file(&format!("{}.jsonl", set.name), holds)?;
    let about = set.each(run, |i, vector| out.json(&Line { id: (set.id)(i), vector }))?;
    out.finish().map(|()| about)
}
