//! Which documents of a query become rows, and the table that they form.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::Serialize;

use super::columns::FeatureSource;
use super::{Extractor, FeatureQuery};
use crate::eval::Task;
use crate::features::Counts;
use crate::rank::{FeatureTable, TableBuilder};
use crate::ranking::{tie_rank, top_k};
use crate::sparse::Row;
use crate::{Error, Result, Run};

/// Documents of a query that become rows. As text: `judged`, `top:100`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSelection {
    /// The judged documents.
    Judged,
    /// This many of the best documents of every matcher that takes part, and of BM25 over all text: the candidates
    /// of a ranker. Those that are not judged have the grade 0.
    Top(usize),
}

impl RowSelection {
    /// The documents of a query with these judged documents, none of those `excluded`.
    pub fn docs<'a>(self, judged: &'a [u32], excluded: &'a [u32]) -> QueryDocs<'a> {
        match self {
            RowSelection::Judged => QueryDocs::Given(Cow::Borrowed(judged)),
            RowSelection::Top(depth) => QueryDocs::Best { depth, excluded },
        }
    }
}

impl fmt::Display for RowSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowSelection::Judged => f.write_str("judged"),
            RowSelection::Top(n) => write!(f, "top:{n}"),
        }
    }
}

impl FromStr for RowSelection {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::parameter("candidates", text, "judged, or top:N, such as top:100");
        match text.split_once(':') {
            None if text == "judged" => Ok(RowSelection::Judged),
            Some(("top", n)) => {
                n.parse().ok().filter(|&n| n > 0).map(RowSelection::Top).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }
}

/// The features of documents for one query.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRows {
    /// The number of the query in the dataset.
    pub query: u32,
    /// The documents, ascending.
    pub docs: Vec<u32>,
    /// Their features, row by row.
    pub values: Vec<f32>,
}

impl Extractor {
    /// The best `depth` documents of every matcher for a query, in ascending order, and their
    /// features. `excluded` documents, sorted, are left out.
    pub fn pool(
        &self,
        counts: &Counts,
        query: &FeatureQuery<'_>,
        depth: usize,
        tie_rank: &[u32],
        excluded: &[u32],
    ) -> (Vec<u32>, Vec<f32>) {
        let mut docs: Vec<u32> = Vec::new();
        let mut scored: Vec<Option<Vec<f32>>> = vec![None; self.columns.len()];
        for (c, column) in self.columns.iter().enumerate() {
            let (scores, zero_is_none) = match column {
                FeatureSource::Source(source) => {
                    (source.score_all(counts, query), source.zero_is_none())
                }
                FeatureSource::Words { matcher, .. } if self.about[c].name == "bm25(all)" => {
                    (matcher.scores(counts, query.terms, None), true)
                }
                _ => continue,
            };
            // A matcher that gives every document the same score has no best ones.
            if scores.iter().any(|score| *score != scores[0]) {
                let hits = top_k(&scores, depth, tie_rank, excluded);
                let nothing = |score: f32| score.is_nan() || zero_is_none && score == 0.0;
                docs.extend(hits.iter().filter(|hit| !nothing(hit.score)).map(|hit| hit.doc));
            }
            scored[c] = Some(scores);
        }
        docs.sort_unstable();
        docs.dedup();
        let mut values = vec![f32::NAN; docs.len() * self.columns.len()];
        self.fill(counts, query, &docs, &scored, &mut values);
        (docs, values)
    }
}

/// The documents of a query whose features are computed.
pub enum QueryDocs<'a> {
    /// These documents.
    Given(Cow<'a, [u32]>),
    /// The best of every matcher.
    Best {
        /// How many of each matcher.
        depth: usize,
        /// Documents to leave out, sorted.
        excluded: &'a [u32],
    },
}

/// The features of `queries`, for the documents that `docs` gives for the place of each.
pub fn extract<'a>(
    extractor: &Extractor,
    counts: &Counts,
    queries: &[u32],
    docs: impl Fn(usize) -> QueryDocs<'a> + Sync,
    run: &Run<'_>,
) -> Result<Vec<FeatureRows>> {
    let ties = tie_rank(&counts.doc_ids);
    let mut all = Vec::with_capacity(queries.len());
    // Progress is reported between batches, so that it comes in order.
    for (b, batch) in queries.chunks(BATCH).enumerate() {
        run.step("making features", (b * BATCH) as u64, Some(queries.len() as u64))?;
        let made: Vec<FeatureRows> = (b * BATCH..b * BATCH + batch.len())
            .into_par_iter()
            .map(|place| {
                run.check()?;
                let terms = counts.query(queries[place] as usize);
                let query = FeatureQuery::known(counts, &terms);
                let (docs, values) = match docs(place) {
                    QueryDocs::Given(docs) => {
                        let values = extractor.rows(counts, &query, &docs);
                        (docs.into_owned(), values)
                    }
                    QueryDocs::Best { depth, excluded } => {
                        extractor.pool(counts, &query, depth, &ties, excluded)
                    }
                };
                Ok(FeatureRows { query: queries[place], docs, values })
            })
            .collect::<Result<_>>()?;
        all.extend(made);
    }
    Ok(all)
}

/// Queries between two steps of progress.
const BATCH: usize = 64;

/// Adds `rows`, one item per query, to a table. `grades` has the grades of the query at a place; a
/// document without one has the grade 0.
pub fn add_rows<'a>(
    builder: &mut TableBuilder,
    counts: &Counts,
    rows: &[FeatureRows],
    grades: impl Fn(usize) -> Row<'a>,
) -> Result<()> {
    for (place, rows) in rows.iter().enumerate() {
        let (query, grades) = (&counts.query_ids[rows.query as usize], grades(place));
        let n = rows.values.len() / rows.docs.len().max(1);
        for (r, &doc) in rows.docs.iter().enumerate() {
            let values = &rows.values[r * n..(r + 1) * n];
            builder.push(query, &counts.doc_ids[doc as usize], grades.get(doc), values)?;
        }
    }
    Ok(())
}

/// The features of the judged queries of a held-out part of a dataset, with their grades.
pub fn held_out_table(
    extractor: &Extractor,
    counts: &Counts,
    task: &Task<'_>,
    rows: RowSelection,
    run: &Run<'_>,
) -> Result<FeatureTable> {
    let docs = |place: usize| rows.docs(task.grades(place).indices, task.excluded(place));
    let made = extract(extractor, counts, task.queries(), docs, run)?;
    let mut builder = TableBuilder::new(extractor.names());
    add_rows(&mut builder, counts, &made, |place| task.grades(place))?;
    Ok(builder.finish())
}

/// Statistics of a feature in a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnSummary {
    /// The name of the feature.
    pub name: String,
    /// The share of rows in which it is missing.
    pub missing: f64,
    /// The smallest value, unless all are missing.
    pub least: Option<f32>,
    /// The largest value, unless all are missing.
    pub most: Option<f32>,
}

impl ColumnSummary {
    /// The statistics of every feature of `table`.
    pub fn all(table: &FeatureTable) -> Vec<ColumnSummary> {
        let n = table.n_rows().max(1);
        let summary = |(f, name): (usize, &String)| {
            let values = (0..table.n_rows()).map(|row| table.row(row)[f]);
            let known = values.filter(|value| !value.is_nan());
            let (mut count, mut least, mut most) = (0, None::<f32>, None::<f32>);
            for value in known {
                count += 1;
                least = Some(least.map_or(value, |least| least.min(value)));
                most = Some(most.map_or(value, |most| most.max(value)));
            }
            let missing = (table.n_rows() - count) as f64 / n as f64;
            ColumnSummary { name: name.clone(), missing, least, most }
        };
        table.names().iter().enumerate().map(summary).collect()
    }

    /// Whether the feature is useless: missing everywhere, or never missing and constant.
    pub fn is_constant(&self) -> bool {
        self.least.is_none() || self.missing == 0.0 && self.least == self.most
    }
}
