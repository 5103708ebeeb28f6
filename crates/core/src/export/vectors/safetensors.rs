//! One safetensors file with a tensor a set; the ids lie beside it. Written by hand, row by
//! row, because the crate wants every tensor whole in memory: the length of the header, the
//! header as JSON, the numbers.

use serde_json::{Map, json};

use super::{Rows, SetAbout};
use crate::export::folder::ExportFolder;
use crate::{Result, Run};

const FILE: &str = "vectors.safetensors";

/// The numbers begin at a multiple of this.
const ALIGNMENT: usize = 8;

pub(super) fn write(
    folder: &mut ExportFolder,
    sets: &[Rows<'_>],
    run: &Run<'_>,
) -> Result<Vec<SetAbout>> {
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let mut out = folder.file(FILE, format!("tensors, float32: {}", names.join(", ")))?;
    out.bytes(&header(sets))?;
    let mut abouts = Vec::with_capacity(sets.len());
    let mut buffer = Vec::new();
    for set in sets {
        abouts.push(set.each(run, |_, row| out.numbers(row, &mut buffer))?);
    }
    out.finish()?;
    sets.iter().try_for_each(|set| set.write_ids(folder))?;
    Ok(abouts)
}

fn header(sets: &[Rows<'_>]) -> Vec<u8> {
    let mut tensors = Map::new();
    let mut start = 0;
    for set in sets {
        let end = start + set.n * set.dim * size_of::<f32>();
        let about = json!({
            "dtype": "F32", "shape": [set.n, set.dim], "data_offsets": [start, end],
        });
        tensors.insert(set.name.clone(), about);
        start = end;
    }
    let mut about = serde_json::Value::Object(tensors).to_string();
    while !about.len().is_multiple_of(ALIGNMENT) {
        about.push(' ');
    }
    let mut header = (about.len() as u64).to_le_bytes().to_vec();
    header.extend(about.into_bytes());
    header
}
