//! The tables of a dataset, independent of their format: the pairs of each table, with their part of
//! the split and their number.

use super::source::{ImportOptions, Source};
use crate::data::RelevanceSource;
use crate::sparse::Csr;

/// The names of the parts in a column `split`.
const PARTS: [&str; 3] = ["train", "validation", "test"];

/// Query, document, number and part of the split.
pub(super) type Pair<'p> = (&'p str, &'p str, f32, &'static str);

pub(super) struct Tables<'s> {
    source: &'s Source<'s>,
    /// Whether held-out pairs are in the table of clicks, with their part of the split.
    held_out_are_clicks: bool,
    /// The name of the column of numbers: `clicks`, or `weight` if some are not above 0.
    pub column: &'static str,
}

impl<'s> Tables<'s> {
    pub(super) fn of(source: &'s Source<'s>) -> Self {
        let dataset = source.dataset;
        let held_out = || dataset.validation.values().iter().chain(dataset.test.values());
        let held_out_are_clicks = dataset.about().evidence == RelevanceSource::HeldOutClicks
            && held_out().all(|&grade| grade == 0.0 || grade == 1.0);
        let negative = dataset.clicks.values().iter().any(|&clicks| clicks < 0.0)
            || (held_out_are_clicks && held_out().any(|&grade| grade == 0.0));
        let column = if negative { "weight" } else { "clicks" };
        Tables { source, held_out_are_clicks, column }
    }

    /// Pairs with clicks or weights.
    pub(super) fn clicks(&self) -> impl Iterator<Item = Pair<'_>> {
        let train = self.part(&self.source.dataset.clicks, PARTS[0]);
        // A grade of 0 comes from a weight below 0.
        let held_out = self.held_out().map(|(query, doc, grade, part)| {
            (query, doc, if grade == 0.0 { -1.0 } else { grade }, part)
        });
        train.chain(held_out.filter(|_| self.held_out_are_clicks))
    }

    /// Pairs with grades.
    pub(super) fn judgments(&self) -> impl Iterator<Item = Pair<'_>> {
        self.held_out().filter(|_| !self.held_out_are_clicks)
    }

    fn held_out(&self) -> impl Iterator<Item = Pair<'_>> {
        let dataset = self.source.dataset;
        self.part(&dataset.validation, PARTS[1]).chain(self.part(&dataset.test, PARTS[2]))
    }

    fn part<'t>(&'t self, matrix: &'t Csr, part: &'static str) -> impl Iterator<Item = Pair<'t>> {
        self.source.pairs(matrix).map(move |(query, doc, value)| (query, doc, value, part))
    }

    /// The options to import files with these names.
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
            // The import must not filter pairs again.
            options.insert("min_clicks", "1".to_owned());
        }
        options
    }
}
