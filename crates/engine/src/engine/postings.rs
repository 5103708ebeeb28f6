//! The inverted index of a model with sparse vectors, in a large collection. Its file holds the measured
//! number of postings to read; the lists follow from the model.

use std::fs;
use std::io;
use std::path::Path;

use liken::Run;
use liken::file::NewFile;
use liken::index::{DocSet, IndexParams, MEASURED, PostingIndex, PostingReport};
use liken::matchers::{Model, SparseVectors};
use liken::sparse::Row;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The file of the measurement, in the folder of embeddings.
const POSTINGS_FILE: &str = "postings.json";
/// Candidates of a search with which recall is measured: the default `candidate_depth`.
const DEPTH: usize = 200;
/// The best documents that recall is measured by.
const BEST: usize = 100;

/// Documents that are scored for each one that is wanted. Four need a tenth of the postings that one needs
/// for the same recall.
const RESCORED: usize = 4;

/// An inverted index, and how much of it a search reads.
pub(crate) struct Postings {
    index: PostingIndex,
    measured: Measured,
}

/// What a search must read and score, as measured when the model was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Measured {
    #[serde(flatten)]
    report: PostingReport,
    /// The mean number of features of the queries.
    #[serde(default)]
    features: f64,
}

impl Measured {
    /// The postings that a search for `depth` documents of a query with `features` reads, if one posting in
    /// `share` is of a document that may be found: more than was measured for deeper searches and
    /// longer queries.
    fn postings(&self, depth: usize, features: usize, share: usize) -> u64 {
        let deeper = (depth as f64 / DEPTH as f64).max(1.0);
        let longer = if self.features > 0.0 { features as f64 / self.features } else { 1.0 };
        (self.report.postings as f64 * deeper * longer.max(1.0) * share as f64) as u64
    }
}

/// The sparse vectors of a whole model, if its collection is larger than `exact_below`.
pub(super) fn sparse_of(model: &Model, exact_below: usize) -> Option<&dyn SparseVectors> {
    match &model.parts[..] {
        [only] if model.counts.n_docs() > exact_below => only.matcher.sparse(),
        _ => None,
    }
}

impl Postings {
    /// Measures how many postings a search of `model` must read, and writes it into `folder`; returns a
    /// description. Nothing is written if even all postings do not find enough of the best documents, for
    /// example because most of a score depends on the document alone; a search then scores all documents.
    pub fn measure(
        folder: &Path,
        model: &Model,
        vectors: &dyn SparseVectors,
        run: &Run<'_>,
    ) -> Result<String, Error> {
        let counts = &model.counts;
        run.step("inverted index", 0, None)?;
        let index = PostingIndex::new(&*vectors.lists(counts)?);
        let n_queries = counts.n_queries();
        let queries: Vec<_> = (0..n_queries)
            .step_by(n_queries.div_ceil(MEASURED).max(1))
            .map(|query| counts.query(query))
            .collect();
        run.step("exact scores", 0, None)?;
        let best = |query| {
            let hits = model.search(query, BEST).into_iter();
            hits.filter(|hit| hit.score != 0.0).map(|hit| hit.doc).collect()
        };
        let best: Vec<Vec<u32>> = queries.par_iter().map(best).collect();
        let weights: Vec<_> =
            queries.par_iter().map(|query| vectors.weights(counts, query)).collect();
        let features = weights.iter().map(|(indices, _)| indices.len()).sum::<usize>() as f64
            / weights.len().max(1) as f64;
        let wanted = IndexParams::default().recall;
        let candidates = |query: usize, postings| {
            let (indices, values) = &weights[query];
            index.candidates(Row { indices, values }, RESCORED * DEPTH, postings, None)
        };
        let report = index.measure(wanted, &best, candidates, run)?;
        let recall = report.recall_at_10.min(report.recall_at_100);
        if recall < wanted {
            return Ok(format!(
                "all documents are scored: the inverted index finds {recall:.3} of the best, wanted {wanted}"
            ));
        }
        let measured = Measured { report, features };
        let file = NewFile::create(&folder.join(POSTINGS_FILE))?;
        serde_json::to_writer_pretty(file.writer()?, &measured)
            .map_err(|error| Error::internal(format!("{POSTINGS_FILE}: {error}")))?;
        file.commit()?;
        Ok(described(&measured.report))
    }

    /// Opens what [`Postings::measure`] wrote; `None` if it wrote nothing, or an earlier version added the
    /// model.
    pub fn open(
        folder: &Path,
        model: &Model,
        vectors: &dyn SparseVectors,
    ) -> Result<Option<Self>, Error> {
        let path = folder.join(POSTINGS_FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(liken::Error::io("read", &path))?,
        };
        let measured = serde_json::from_slice(&text).map_err(|error| {
            Error::invalid(format!("{}: is damaged ({error}): add the model again", path.display()))
        })?;
        Ok(Some(Postings { index: PostingIndex::new(&*vectors.lists(&model.counts)?), measured }))
    }

    /// The documents from which the best `depth` for a query are taken by their scores, since the sums of the
    /// inverted index lack what was not read; only those in `allowed`, if it is given.
    pub fn candidates(&self, query: Row<'_>, depth: usize, allowed: Option<&DocSet>) -> Vec<u32> {
        // Only the postings of allowed documents are useful, so more are read where few are allowed.
        let n = self.index.n_docs();
        let share = allowed.map_or(1, |allowed| n.div_ceil(allowed.len().max(1)));
        let most = self.measured.postings(depth, query.len(), share);
        self.index.candidates(query, RESCORED * depth, most, allowed)
    }
}

/// A description of how candidates are found.
fn described(report: &PostingReport) -> String {
    let PostingReport { postings, recall_at_10, recall_at_100, .. } = report;
    format!("{postings} postings read, recall@10 {recall_at_10:.3}, recall@100 {recall_at_100:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deeper_searches_longer_queries_and_filters_read_more() {
        let text =
            r#"{"postings": 4096, "recall_at_10": 1.0, "recall_at_100": 0.98, "queries": 256}"#;
        // Of an earlier version.
        let measured: Measured = serde_json::from_str(text).unwrap();
        assert_eq!(measured.postings(200, 5000, 1), 4096);
        let measured = Measured { features: 100.0, ..measured };
        let postings = [(200, 100, 1), (10, 10, 1), (1000, 100, 1), (200, 250, 1), (400, 200, 3)]
            .map(|(depth, features, share)| measured.postings(depth, features, share));
        assert_eq!(postings, [4096, 4096, 5 * 4096, 4096 * 5 / 2, 12 * 4096]);
        let written = serde_json::to_string(&measured).unwrap();
        assert_eq!(serde_json::from_str::<Measured>(&written).unwrap(), measured);
    }
}
