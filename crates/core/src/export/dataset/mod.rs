//! A dataset in other formats: a BEIR folder, TREC files, tables of tab-separated values or of
//! Parquet.
//!
//! Tables give the same dataset when they are imported again: the same texts, the same clicks of
//! queries and the same matrices. They do not hold which documents are held out of training's counts,
//! nor the impressions and the appendable log of a dataset made from events.

mod beir;
mod parquet;
mod rounding;
mod source;
mod tables;
mod trec;
mod tsv;

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::folder::{ExportFolder, ExportedFile};
use crate::data::Dataset;
use crate::{Result, Run};
use source::Source;

pub use source::ImportOptions;

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

/// An export of a dataset.
pub struct DatasetExport<'a> {
    /// The dataset.
    pub dataset: &'a Dataset,
    /// File format of the export.
    pub format: DatasetFormat,
    /// Replace the ids of queries by q1, q2, and so on.
    pub number_queries: bool,
}

/// The content of `about.json` for a dataset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DatasetExportAbout {
    /// Always `dataset`.
    pub export: &'static str,
    /// The checksum of the dataset.
    pub dataset: String,
    /// File format of the export.
    pub format: DatasetFormat,
    /// The size of the dataset.
    pub counts: ExportedCounts,
    /// The representation of numbers.
    pub numbers: String,
    /// The options that import it again, if the format can be imported.
    #[serde(skip_serializing_if = "ImportOptions::is_empty")]
    pub import: ImportOptions,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// The size of an exported dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ExportedCounts {
    /// Number of queries.
    pub queries: usize,
    /// Number of documents.
    pub documents: usize,
    /// Training pairs.
    pub pairs: usize,
    /// Judged or held-out pairs of validation and of test.
    pub held_out: (usize, usize),
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
        let source = Source::of(self.dataset, self.number_queries, run)?;
        let mut format = match self.format {
            DatasetFormat::Beir => beir::write(&source, &mut folder, run)?,
            DatasetFormat::Trec => trec::write(&source, &mut folder, run)?,
            DatasetFormat::Tsv => tsv::write(&source, &mut folder, run)?,
            DatasetFormat::Parquet => parquet::write(&source, &mut folder, run)?,
        };
        let dataset = self.dataset;
        if !dataset.held_out_documents.is_empty() {
            format.warnings.push(format!(
                "the export does not say which documents ({}) are held out of training's counts",
                dataset.held_out_documents.len()
            ));
        }
        if let Some(events) = &dataset.about().events {
            let lost = match events.columns.impressions {
                true => "its impressions and its appendable log are",
                false => "its appendable log is",
            };
            format
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
            numbers: format.numbers,
            import: format.import,
            warnings: format.warnings,
        };
        let files = folder.commit(&about)?;
        Ok((about, files))
    }
}

#[cfg(test)]
mod tests;
