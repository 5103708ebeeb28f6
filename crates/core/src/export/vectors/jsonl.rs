//! One JSON object a line, `{"id": …, "vector": […]}`, each number in the fewest digits that
//! give the same float32 back.

use serde::Serialize;

use super::{Rows, SetAbout};
use crate::export::folder::ExportFolder;
use crate::{Result, Run};

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    vector: &'a [f32],
}

pub(super) fn write(
    folder: &mut ExportFolder,
    sets: &[Rows<'_>],
    run: &Run<'_>,
) -> Result<Vec<SetAbout>> {
    let mut abouts = Vec::with_capacity(sets.len());
    for set in sets {
        let holds = format!("{} vectors of {} numbers, one a line with its id", set.n, set.dim);
        let mut out = folder.file(&format!("{}.jsonl", set.name), holds)?;
        abouts.push(set.each(run, |i, vector| out.json(&Line { id: (set.id)(i), vector }))?);
        out.finish()?;
    }
    Ok(abouts)
}
