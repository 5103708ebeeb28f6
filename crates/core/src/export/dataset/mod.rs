//! A dataset in the formats of others: a BEIR folder, TREC files, tables of tab-separated
//! values or of Parquet.
//!
//! Tables give the same dataset back when they are imported again: the same texts, the same
//! clicks of queries and the same matrices. Not kept are which documents were held out of
//! training's counts, and what a dataset made from events has beside: impressions, and the log
//! that further days are appended to.

mod beir;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;
mod tables;
mod trec;
mod tsv;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::folder::{ExportFolder, ExportedFile};
use crate::data::{Dataset, Query};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// The format of an exported dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatasetFormat {
    /// corpus.jsonl, queries.jsonl, qrels/{train,dev,test}.tsv.
    Beir,
    /// documents.trec, topics.trec, qrels.{train,validation,test}.
    Trec,
    /// clicks.tsv, documents.jsonl, queries.tsv, judgments.tsv.
    Tsv,
    /// The same tables as Parquet.
    Parquet,
}

/// What to export.
pub struct DatasetExport<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// How to write it.
    pub format: DatasetFormat,
    /// Call queries q1, q2 and so on instead of by their ids.
    pub number_queries: bool,
}

/// Fields of [`Import`](crate::data::Import) with their values; files by their names in the folder
/// of the export, the folder itself as `.`.
pub type ImportOptions = BTreeMap<&'static str, String>;

/// What `about.json` says of an exported dataset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DatasetExportAbout {
    /// The word `dataset`.
    pub export: &'static str,
    /// The checksum of the dataset.
    pub dataset: String,
    /// How it is written.
    pub format: DatasetFormat,
    /// How many queries, documents and training pairs there are.
    pub counts: ExportedCounts,
    /// How the numbers are written.
    pub numbers: String,
    /// What an import needs to read it again, if it can.
    #[serde(skip_serializing_if = "ImportOptions::is_empty")]
    pub import: ImportOptions,
    /// What the user should not overlook.
    pub warnings: Vec<String>,
}

/// How much was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ExportedCounts {
    /// Queries.
    pub queries: usize,
    /// Documents.
    pub documents: usize,
    /// Training pairs.
    pub pairs: usize,
    /// Judged or held-out pairs of validation and of test.
    pub held_out: (usize, usize),
}

/// What a format says of what it wrote.
#[derive(Default)]
struct Written {
    numbers: String,
    import: ImportOptions,
    warnings: Vec<String>,
}

impl DatasetExport<'_> {
    /// Writes the folder at `target`. On any error, and when `run` is stopped, nothing stays
    /// behind.
    pub fn write(
        &self,
        target: &Path,
        force: bool,
        run: &Run<'_>,
    ) -> Result<(DatasetExportAbout, Vec<ExportedFile>)> {
        let mut folder = ExportFolder::create(target, force)?;
        let source = Source::of(self, run)?;
        let mut written = match self.format {
            DatasetFormat::Beir => beir::write(&source, &mut folder, run)?,
            DatasetFormat::Trec => trec::write(&source, &mut folder, run)?,
            DatasetFormat::Tsv => tsv::write(&source, &mut folder, run)?,
            DatasetFormat::Parquet => parquet::write(&source, &mut folder, run)?,
        };
        let dataset = self.dataset;
        if !dataset.held_out_documents.is_empty() {
            written.warnings.push(format!(
                "which documents ({}) are held out of training's counts is not in the export",
                dataset.held_out_documents.len()
            ));
        }
        if let Some(events) = &dataset.about().events {
            let lost = match events.offers.impressions {
                true => "the impressions and the log that further days are appended to are",
                false => "the log that further days are appended to is",
            };
            written
                .warnings
                .push(format!("the dataset was made from events: {lost} not in the export"));
        }
        let about = DatasetExportAbout {
            export: "dataset",
            dataset: dataset.folder.identity(),
            format: self.format,
            counts: ExportedCounts {
                queries: source.query_ids.len(),
                documents: source.doc_ids.len(),
                pairs: dataset.clicks.nnz(),
                held_out: (dataset.validation.nnz(), dataset.test.nnz()),
            },
            numbers: written.numbers,
            import: written.import,
            warnings: written.warnings,
        };
        let files = folder.commit(&about)?;
        Ok((about, files))
    }
}

/// A dataset with all ids at hand.
struct Source<'a> {
    dataset: &'a Dataset,
    query_ids: Vec<String>,
    doc_ids: Vec<String>,
}

impl<'a> Source<'a> {
    fn of(export: &DatasetExport<'a>, run: &Run<'_>) -> Result<Self> {
        let dataset = export.dataset;
        let mut query_ids = Vec::with_capacity(dataset.queries.len());
        for (i, query) in dataset.queries.iter().enumerate() {
            let id = query?.id;
            query_ids.push(if export.number_queries { format!("q{}", i + 1) } else { id });
        }
        let mut doc_ids = Vec::with_capacity(dataset.documents.len());
        for (j, document) in dataset.documents.iter().enumerate() {
            step(run, "reading ids", j, dataset.documents.len())?;
            doc_ids.push(document?.id);
        }
        Ok(Source { dataset, query_ids, doc_ids })
    }

    /// An error that names the first id that `fits` refuses; the format wants `expected`.
    fn check_ids(&self, expected: &str, fits: impl Fn(&str) -> bool) -> Result<()> {
        for (kind, ids) in [("query", &self.query_ids), ("document", &self.doc_ids)] {
            let Some(id) = ids.iter().find(|id| !fits(id)) else { continue };
            let advice = match kind {
                "query" => "`number_queries` calls them q1, q2, …; or use the format parquet",
                _ => "give the documents other ids, or use the format parquet",
            };
            return Err(Error::Unusable {
                path: self.dataset.folder.path.clone(),
                problem: format!(
                    "the {kind} id {:?} cannot be written, expected {expected}",
                    id.chars().take(60).collect::<String>()
                ),
                advice: advice.into(),
            });
        }
        Ok(())
    }

    /// Every query, under the id it is written with.
    fn queries(&self) -> impl Iterator<Item = Result<Query>> {
        self.dataset.queries.iter().zip(&self.query_ids).map(|(query, id)| {
            let mut query = query?;
            query.id.clone_from(id);
            Ok(query)
        })
    }

    /// The entries of a matrix of this dataset: query, document, value.
    fn pairs<'s>(&'s self, matrix: &'s Csr) -> impl Iterator<Item = (&'s str, &'s str, f32)> {
        matrix.rows().zip(&self.query_ids).flat_map(|(row, query)| {
            let pair = |(doc, value)| (query.as_str(), self.doc_ids[doc as usize].as_str(), value);
            row.iter().map(pair)
        })
    }

    fn step(&self, run: &Run<'_>, done: usize) -> Result<()> {
        step(run, "writing documents", done, self.doc_ids.len())
    }
}

fn step(run: &Run<'_>, stage: &str, done: usize, total: usize) -> Result<()> {
    if done.is_multiple_of(1 << 12) {
        run.step(stage, done as u64, Some(total as u64))
    } else {
        Ok(())
    }
}

/// Numbers for readers that know whole numbers alone.
#[derive(Default)]
struct Whole {
    changed: usize,
}

impl Whole {
    /// A training weight: rounded, but never to 0, which would say that there is no pair.
    fn weight(&mut self, value: f32) -> i64 {
        let whole = self.grade(value);
        if whole == 0 { value.signum() as i64 } else { whole }
    }

    /// A grade, rounded.
    fn grade(&mut self, value: f32) -> i64 {
        let whole = value.round();
        self.changed += usize::from(whole != value);
        whole as i64
    }

    fn warnings(&self) -> Vec<String> {
        if self.changed == 0 {
            return Vec::new();
        }
        vec![format!(
            "of the weights and grades {} had to be rounded to whole numbers; the formats tsv and parquet keep them as they are",
            self.changed
        )]
    }
}

/// What a field says as one text: lists line by line. `None` for a bag of counts or anything
/// else that is not text.
fn plain_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::new()),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Array(items) => {
            let lines: Option<Vec<String>> = items.iter().map(plain_text).collect();
            Some(lines?.join("\n"))
        }
        Value::Object(_) => None,
    }
}

/// Takes the field `name` out of a document as one text; empty if it has none.
fn take_text(
    source: &Source<'_>,
    id: &str,
    fields: &mut Map<String, Value>,
    name: &str,
) -> Result<String> {
    let Some(value) = fields.shift_remove(name) else { return Ok(String::new()) };
    plain_text(&value).ok_or_else(|| Error::Unusable {
        path: source.dataset.folder.path.clone(),
        problem: format!("the field {name} of the document {id:?} is a bag of counts, not a text"),
        advice: "the format has no place for that: use the format tsv or parquet".into(),
    })
}

#[cfg(test)]
mod tests;
