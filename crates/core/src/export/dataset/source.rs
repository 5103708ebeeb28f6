//! A dataset to be exported: its documents, queries and pairs under the ids that are written.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::rounding::Rounding;
use crate::data::{Dataset, Document, Query};
use crate::export::folder::ExportFolder;
use crate::file::Output;
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// Fields of [`Import`](crate::data::Import) with their values; files are relative to the folder of
/// the export, which is `.`.
pub type ImportOptions = BTreeMap<&'static str, String>;

/// The parts of `about.json` that depend on the format.
pub(super) struct FormatAbout {
    pub numbers: String,
    pub import: ImportOptions,
    pub warnings: Vec<String>,
}

/// A dataset with all ids in memory.
pub(super) struct Source<'a> {
    pub dataset: &'a Dataset,
    pub query_ids: Vec<String>,
    pub doc_ids: Vec<String>,
}

impl<'a> Source<'a> {
    pub(super) fn of(dataset: &'a Dataset, number_queries: bool, run: &Run<'_>) -> Result<Self> {
        let mut query_ids = Vec::with_capacity(dataset.queries.len());
        for (i, query) in dataset.queries.iter().enumerate() {
            let id = query?.id;
            query_ids.push(if number_queries { format!("q{}", i + 1) } else { id });
        }
        let ids = documents(dataset, "reading ids", run).map(|document| Ok(document?.id));
        Ok(Source { dataset, query_ids, doc_ids: ids.collect::<Result<_>>()? })
    }

    /// Refuses the first id for which `fits` is false; the format needs `expected`.
    pub(super) fn check_ids(&self, expected: &str, fits: impl Fn(&str) -> bool) -> Result<()> {
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

    /// Every document; the iteration reports progress.
    pub(super) fn documents<'s>(
        &'s self,
        run: &'s Run<'_>,
    ) -> impl Iterator<Item = Result<Document>> + 's {
        documents(self.dataset, "writing documents", run)
    }

    /// Every query, under the id that is written.
    pub(super) fn queries(&self) -> impl Iterator<Item = Result<Query>> {
        self.dataset.queries.iter().zip(&self.query_ids).map(|(query, id)| {
            let mut query = query?;
            query.id.clone_from(id);
            Ok(query)
        })
    }

    /// The entries of a matrix of this dataset: query, document, value.
    pub(super) fn pairs<'s>(
        &'s self,
        matrix: &'s Csr,
    ) -> impl Iterator<Item = (&'s str, &'s str, f32)> {
        matrix.rows().zip(&self.query_ids).flat_map(|(row, query)| {
            let pair = |(doc, value)| (query.as_str(), self.doc_ids[doc as usize].as_str(), value);
            row.iter().map(pair)
        })
    }

    /// Writes the pairs of training, validation and test into a file each, unless there are none, by
    /// `write` and as whole numbers called `kind`. Returns the warnings.
    pub(super) fn write_qrels(
        &self,
        folder: &mut ExportFolder,
        files: [&str; 3],
        kind: &str,
        header: Option<&str>,
        write: impl Fn(&mut Output, &str, &str, i64) -> Result<()>,
    ) -> Result<Vec<String>> {
        let (dataset, mut rounding) = (self.dataset, Rounding::default());
        let parts = [
            (&dataset.clicks, format!("training clicks (or weights) as {kind}")),
            (&dataset.validation, "grades of validation".into()),
            (&dataset.test, "grades of test".into()),
        ];
        for (p, ((matrix, holds), file)) in parts.into_iter().zip(files).enumerate() {
            if matrix.nnz() == 0 {
                continue;
            }
            let mut out = folder.file(file, holds)?;
            header.map_or(Ok(()), |header| out.line(format_args!("{header}")))?;
            for (query, doc, value) in self.pairs(matrix) {
                let whole = if p == 0 { rounding.weight(value) } else { rounding.grade(value) };
                write(&mut out, query, doc, whole)?;
            }
            out.finish()?;
        }
        Ok(rounding.warnings())
    }

    /// Takes the field `name` out of a document as one text; empty if it has none.
    pub(super) fn take_text(
        &self,
        id: &str,
        fields: &mut Map<String, Value>,
        name: &str,
    ) -> Result<String> {
        let Some(value) = fields.shift_remove(name) else { return Ok(String::new()) };
        plain_text(&value).ok_or_else(|| Error::Unusable {
            path: self.dataset.folder.path.clone(),
            problem: format!(
                "the field {name} of the document {id:?} is a bag of counts, not a text"
            ),
            advice: "the format cannot hold it: use the format tsv or parquet".into(),
        })
    }
}

fn documents<'s>(
    dataset: &'s Dataset,
    stage: &'s str,
    run: &'s Run<'_>,
) -> impl Iterator<Item = Result<Document>> + 's {
    let n = dataset.documents.len();
    dataset.documents.iter().enumerate().map(move |(j, document)| {
        if j.is_multiple_of(1 << 12) {
            run.step(stage, j as u64, Some(n as u64))?;
        }
        document
    })
}

/// The value of a field as one text, lists line by line; `None` for a bag of counts.
pub(super) fn plain_text(value: &Value) -> Option<String> {
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
