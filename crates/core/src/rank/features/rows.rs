//! Which documents of a query become rows, and the table that rows become.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use rayon::prelude::*;
use serde::Serialize;

use super::{Extractor, FeatureSource, Question};
use crate::eval::Task;
use crate::features::Counts;
use crate::rank::{FeatureTable, TableBuilder};
use crate::ranking::{tie_rank, top_k};
use crate::sparse::Row;
use crate::{Error, Result, Run};

/// Which documents of a query become rows. As text: `judged`, `top:100`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Those that are judged.
    Judged,
    /// The best so many of every matcher that takes part, and of BM25 over all text: what a
    /// ranker would be given. Those that are not judged count as bad.
    Top(usize),
}

impl Rows {
    /// What is asked for a query with these judged documents, none of those `excluded`.
    pub fn ask<'a>(self, judged: &'a [u32], excluded: &'a [u32]) -> Ask<'a> {
        match self {
            Rows::Judged => Ask::These(Cow::Borrowed(judged)),
            Rows::Top(depth) => Ask::Best { depth, excluded },
        }
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rows::Judged => f.write_str("judged"),
            Rows::Top(n) => write!(f, "top:{n}"),
        }
    }
}

impl FromStr for Rows {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::parameter("candidates", text, "judged, or top:N, such as top:100");
        match text.split_once(':') {
            None if text == "judged" => Ok(Rows::Judged),
            Some(("top", n)) => n.parse().ok().filter(|&n| n > 0).map(Rows::Top).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }
}

/// The features of some documents for one query.
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
        question: &Question<'_>,
        depth: usize,
        tie_rank: &[u32],
        excluded: &[u32],
    ) -> (Vec<u32>, Vec<f32>) {
        let mut docs: Vec<u32> = Vec::new();
        let mut scored: Vec<Option<Vec<f32>>> = vec![None; self.columns.len()];
        for (c, column) in self.columns.iter().enumerate() {
            let (scores, zero_is_none) = match column {
                FeatureSource::Source(source) => {
                    (source.score_all(counts, question), source.zero_is_none())
                }
                FeatureSource::Words { matcher, .. } if self.about[c].name == "bm25(all)" => {
                    (matcher.scores(counts, question.terms, None), true)
                }
                _ => continue,
            };
            // Who scores all alike has no best.
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
        self.fill(counts, question, &docs, &scored, &mut values);
        (docs, values)
    }
}

/// Documents that are asked for.
pub enum Ask<'a> {
    /// These.
    These(Cow<'a, [u32]>),
    /// The best of every matcher.
    Best {
        /// So many of each.
        depth: usize,
        /// None of these, which are sorted.
        excluded: &'a [u32],
    },
}

/// The features of `queries`, each with the documents that `ask` says for its place.
pub fn extract<'a>(
    extractor: &Extractor,
    counts: &Counts,
    queries: &[u32],
    ask: impl Fn(usize) -> Ask<'a> + Sync,
    run: &Run<'_>,
) -> Result<Vec<FeatureRows>> {
    let ties = tie_rank(&counts.doc_ids);
    let mut all = Vec::with_capacity(queries.len());
    // Progress is told between batches, so that it comes in order.
    for (b, batch) in queries.chunks(BATCH).enumerate() {
        run.step("making features", (b * BATCH) as u64, Some(queries.len() as u64))?;
        let made: Vec<FeatureRows> = (b * BATCH..b * BATCH + batch.len())
            .into_par_iter()
            .map(|place| {
                run.check()?;
                let query = queries[place];
                let terms = counts.query(query as usize);
                let question = Question::known(counts, &terms);
                let (docs, values) = match ask(place) {
                    Ask::These(docs) => {
                        let values = extractor.rows(counts, &question, &docs);
                        (docs.into_owned(), values)
                    }
                    Ask::Best { depth, excluded } => {
                        extractor.pool(counts, &question, depth, &ties, excluded)
                    }
                };
                Ok(FeatureRows { query, docs, values })
            })
            .collect::<Result<_>>()?;
        all.extend(made);
    }
    Ok(all)
}

/// Queries looked at between two steps of progress.
const BATCH: usize = 64;

/// Puts rows into tables.
pub struct Table {
    builder: TableBuilder,
}

impl Table {
    /// A table of the features of `extractor`.
    pub fn new(extractor: &Extractor) -> Self {
        Table { builder: TableBuilder::new(extractor.names()) }
    }

    /// Adds the rows of a query with these grades; a document without one counts as 0.
    pub fn add(&mut self, counts: &Counts, rows: &FeatureRows, grades: Row<'_>) -> Result<()> {
        let query = &counts.query_ids[rows.query as usize];
        let n = rows.values.len() / rows.docs.len().max(1);
        for (r, &doc) in rows.docs.iter().enumerate() {
            let id = &counts.doc_ids[doc as usize];
            let values = &rows.values[r * n..(r + 1) * n];
            self.builder.push(query, id, grades.get(doc), values)?;
        }
        Ok(())
    }

    /// The table.
    pub fn finish(self) -> FeatureTable {
        self.builder.finish()
    }
}

/// The features of the judged queries of a held-out part of a dataset, with their grades.
pub fn held_out_table(
    extractor: &Extractor,
    counts: &Counts,
    task: &Task<'_>,
    rows: Rows,
    run: &Run<'_>,
) -> Result<FeatureTable> {
    let ask = |place: usize| rows.ask(task.grades(place).indices, task.excluded(place));
    let made = extract(extractor, counts, task.queries(), ask, run)?;
    let mut table = Table::new(extractor);
    for (place, rows) in made.iter().enumerate() {
        table.add(counts, rows, task.grades(place))?;
    }
    Ok(table.finish())
}

/// What a table says of a feature.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnLook {
    /// Its name.
    pub name: String,
    /// The share of rows in which it is missing.
    pub missing: f64,
    /// The smallest value, if there is any.
    pub least: Option<f32>,
    /// The largest value.
    pub most: Option<f32>,
}

impl ColumnLook {
    /// Looks at every feature of `table`.
    pub fn all(table: &FeatureTable) -> Vec<ColumnLook> {
        let n = table.n_rows().max(1);
        let look = |(f, name): (usize, &String)| {
            let values = (0..table.n_rows()).map(|row| table.row(row)[f]);
            let known = values.filter(|value| !value.is_nan());
            let (mut count, mut least, mut most) = (0, None::<f32>, None::<f32>);
            for value in known {
                count += 1;
                least = Some(least.map_or(value, |least| least.min(value)));
                most = Some(most.map_or(value, |most| most.max(value)));
            }
            let missing = (table.n_rows() - count) as f64 / n as f64;
            ColumnLook { name: name.clone(), missing, least, most }
        };
        table.names().iter().enumerate().map(look).collect()
    }

    /// Whether it says nothing: missing everywhere, or nowhere and always the same.
    pub fn is_idle(&self) -> bool {
        self.least.is_none() || self.missing == 0.0 && self.least == self.most
    }
}
