//! What the tables of a dataset are, whatever they are written as: which pairs stand in which
//! table, in which part, with which number.

use super::{ImportOptions, Source};
use crate::data::Evidence;
use crate::sparse::Csr;

/// The names of the parts in a column `split`.
pub(super) const PARTS: [&str; 3] = ["train", "validation", "test"];

/// How the pairs of a dataset are put into tables.
pub(super) struct Tables<'s> {
    source: &'s Source<'s>,
    /// Whether held-out pairs are clicks like the others, told apart by their part.
    held_out_are_clicks: bool,
    /// The name of the column of numbers: `clicks`, or `weight` where some are not above 0.
    pub column: &'static str,
}

impl<'s> Tables<'s> {
    pub(super) fn of(source: &'s Source<'s>) -> Self {
        let dataset = source.dataset;
        let held_out = || dataset.validation.values().iter().chain(dataset.test.values());
        let held_out_are_clicks = dataset.about().evidence == Evidence::HeldOutClicks
            && held_out().all(|&grade| grade == 0.0 || grade == 1.0);
        let negative = dataset.clicks.values().iter().any(|&clicks| clicks < 0.0)
            || (held_out_are_clicks && held_out().any(|&grade| grade == 0.0));
        let column = if negative { "weight" } else { "clicks" };
        Tables { source, held_out_are_clicks, column }
    }

    /// Query, document, clicks or weight, and part.
    pub(super) fn clicks(&self) -> impl Iterator<Item = (&str, &str, f32, &'static str)> {
        let dataset = self.source.dataset;
        let train = self.part(&dataset.clicks, PARTS[0]);
        let held_out = [(&dataset.validation, PARTS[1]), (&dataset.test, PARTS[2])]
            .into_iter()
            .filter(|_| self.held_out_are_clicks)
            .flat_map(|(matrix, part)| self.part(matrix, part))
            // A pair with a weight below 0 was held out as a bad one.
            .map(|(query, doc, grade, part)| {
                (query, doc, if grade == 0.0 { -1.0 } else { grade }, part)
            });
        train.chain(held_out)
    }

    /// Query, document, grade and part.
    pub(super) fn judgments(&self) -> impl Iterator<Item = (&str, &str, f32, &'static str)> {
        let dataset = self.source.dataset;
        [(&dataset.validation, PARTS[1]), (&dataset.test, PARTS[2])]
            .into_iter()
            .filter(|_| !self.held_out_are_clicks)
            .flat_map(|(matrix, part)| self.part(matrix, part))
    }

    fn part<'t>(
        &'t self,
        matrix: &'t Csr,
        part: &'static str,
    ) -> impl Iterator<Item = (&'t str, &'t str, f32, &'static str)> {
        self.source.pairs(matrix).map(move |(query, doc, value)| (query, doc, value, part))
    }

    /// What an import of files with these names needs.
    pub(super) fn import(&self, ending: &str, queries: &str, documents: &str) -> ImportOptions {
        let mut options = ImportOptions::from([
            ("clicks", format!("clicks.{ending}")),
            ("documents", documents.to_owned()),
            ("queries", queries.to_owned()),
        ]);
        if self.judgments().next().is_some() {
            options.insert("judgments", format!("judgments.{ending}"));
        }
        if self.column == "clicks" {
            // What was kept once is to be kept again.
            options.insert("min_clicks", "1".to_owned());
        }
        options
    }
}
