//! The rows of a set of vectors, with their ids.

use std::borrow::Cow;

use rayon::prelude::*;
use serde::Serialize;

use crate::export::folder::ExportFolder;
use crate::{Result, Run};

/// Rows computed between two checks for cancellation.
const BATCH: usize = 1024;

/// A set of vectors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExportedSet {
    /// Its name in files and tensors.
    pub name: String,
    /// The number of vectors.
    pub count: usize,
    /// The length of each.
    pub dim: usize,
    /// The number of zero vectors, of which the model knows nothing.
    pub zeros: usize,
}

/// A function of the number of a row.
pub(super) type OfRow<'a, T> = Box<dyn Fn(usize) -> T + Sync + 'a>;

/// The rows of a set, computed one by one to save memory.
pub(super) struct Rows<'a> {
    pub name: String,
    pub n: usize,
    pub dim: usize,
    pub id: OfRow<'a, &'a str>,
    pub row: OfRow<'a, Cow<'a, [f32]>>,
}

impl Rows<'_> {
    /// Passes every row to `take`, in order; the rows of a batch are computed in parallel.
    pub(super) fn each(
        &self,
        run: &Run<'_>,
        mut take: impl FnMut(usize, &[f32]) -> Result<()>,
    ) -> Result<ExportedSet> {
        let stage = format!("writing {}", self.name);
        let mut zeros = 0;
        for first in (0..self.n).step_by(BATCH) {
            run.step(&stage, first as u64, Some(self.n as u64))?;
            let span = first..(first + BATCH).min(self.n);
            let rows: Vec<Cow<'_, [f32]>> = span.into_par_iter().map(&self.row).collect();
            for (i, row) in (first..).zip(&rows) {
                zeros += usize::from(row.iter().all(|&value| value == 0.0));
                take(i, row)?;
            }
        }
        Ok(ExportedSet { name: self.name.clone(), count: self.n, dim: self.dim, zeros })
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        (0..self.n).map(|i| (self.id)(i))
    }

    /// Writes the ids, one per line: as text, or, if one of them holds a character that a program
    /// could take for a line break, as JSON.
    pub(super) fn write_ids(&self, folder: &mut ExportFolder) -> Result<()> {
        let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let plain = !self.ids().any(|id| id.contains(breaks));
        let ending = if plain { "txt" } else { "jsonl" };
        let holds = format!("the id of each row of {}, one per line", self.name);
        let mut out = folder.file(&format!("{}.ids.{ending}", self.name), holds)?;
        for id in self.ids() {
            if plain { out.line(format_args!("{id}"))? } else { out.json(&id)? }
        }
        out.finish()
    }
}
