//! One safetensors file with one tensor per set; the ids are in files of their own.

use safetensors::Dtype;

use super::rows::{ExportedSet, Rows};
use crate::export::folder::ExportFolder;
use crate::file::tensors_header;
use crate::{Result, Run};

const FILE: &str = "vectors.safetensors";

pub(super) fn write(
    folder: &mut ExportFolder,
    sets: &[Rows<'_>],
    run: &Run<'_>,
) -> Result<Vec<ExportedSet>> {
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let mut out = folder.file(FILE, format!("tensors, float32: {}", names.join(", ")))?;
    let tensors = sets.iter().map(|set| (set.name.as_str(), Dtype::F32, vec![set.n, set.dim]));
    out.bytes(&tensors_header(tensors))?;
    let mut abouts = Vec::with_capacity(sets.len());
    let mut buffer = Vec::new();
    for set in sets {
        abouts.push(set.each(run, |_, row| out.numbers(row, &mut buffer))?);
    }
    out.finish()?;
    sets.iter().try_for_each(|set| set.write_ids(folder))?;
    Ok(abouts)
}
