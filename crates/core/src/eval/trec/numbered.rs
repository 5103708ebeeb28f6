//! Our own measures on the rankings and judgments of TREC files, with documents as numbers.

use super::Judgments;
use crate::eval::{Measure, Variant};
use crate::ranking::Hit;
use crate::sparse::Row;

/// The judgments of a query with its judged documents numbered in the order of ids. Documents that
/// were pooled and not judged are left out.
pub(crate) struct Numbered<'a> {
    ids: Vec<&'a str>,
    numbers: Vec<u32>,
    grades: Vec<f32>,
}

impl<'a> Numbered<'a> {
    pub(crate) fn new(judgments: Judgments<'a>) -> Self {
        let judged = judgments.grades().filter(|&(_, grade)| grade >= 0);
        let (ids, grades): (Vec<&str>, Vec<f32>) =
            judged.map(|(id, grade)| (id, grade as f32)).unzip();
        Numbered { numbers: (0..ids.len() as u32).collect(), ids, grades }
    }

    /// Whether the document was judged.
    pub(crate) fn holds(&self, id: &str) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// The value for the ranking `hits`, best first; `None` leaves the query out of the mean.
    pub(crate) fn measure<'h>(
        &self,
        measure: Measure,
        hits: impl Iterator<Item = (&'h str, f32)>,
        variant: &Variant,
    ) -> Option<f64> {
        let hits: Vec<Hit> = hits
            .enumerate()
            .map(|(i, (id, score))| {
                // Every other document gets a number of its own above theirs.
                let doc = self.ids.binary_search(&id).unwrap_or(self.ids.len() + i);
                Hit { doc: doc as u32, score }
            })
            .collect();
        measure.of(&hits, Row { indices: &self.numbers, values: &self.grades }, variant)
    }
}
