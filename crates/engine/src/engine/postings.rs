//! The inverted index of a model with sparse vectors, in a large collection. Its file holds the measured
//! number of postings to read; the lists follow from the model.

use std::fs;
use std::io;
use std::path::Path;

use liken::Run;
use liken::file::NewFile;
use liken::index::{IndexParams, MEASURED, PostingIndex, PostingReport};
use liken::matchers::{Model, SparseVectors};
use liken::sparse::Row;
use rayon::prelude::*;

use crate::Error;

/// The file of the measurement, in the folder of embeddings.
const FILE: &str = "postings.json";
/// Candidates of a search with which recall is measured: the default `candidate_depth`.
const DEPTH: usize = 200;
/// The best documents that recall is measured by.
const BEST: usize = 100;

/// Documents that are scored for each one that is wanted. Four need a tenth of the postings that one needs
/// for the same recall.
const RESCORED: usize = 4;

/// An inverted index, and how much of it a search reads.
pub(crate) struct Postings {
    pub index: PostingIndex,
    pub report: PostingReport,
}

/// The number of documents found in the inverted index, whose sums lack what was not read, from which the
/// best `depth` are taken by their scores.
pub(super) fn rescored(depth: usize) -> usize {
    RESCORED * depth
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
    /// description. Nothing is written if all of them do not find enough of the best documents, as
    /// where most of a score depends on the document alone: then a search scores all documents.
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
        let candidates = |query: usize, postings| {
            let (indices, values) = vectors.weights(counts, &queries[query]);
            let query = Row { indices: &indices, values: &values };
            index.candidates(query, rescored(DEPTH), postings, None)
        };
        let wanted = IndexParams::default().recall;
        let report = index.measure(wanted, &best, candidates, run)?;
        let recall = report.recall_at_10.min(report.recall_at_100);
        if recall < wanted {
            return Ok(format!(
                "all documents are scored: the inverted index finds {recall:.3} of the best, wanted {wanted}"
            ));
        }
        let file = NewFile::create(&folder.join(FILE))?;
        serde_json::to_writer_pretty(file.writer()?, &report)
            .map_err(|error| Error::internal(format!("{FILE}: {error}")))?;
        file.commit()?;
        Ok(described(&report))
    }

    /// Opens what [`Postings::measure`] wrote; `None` if it wrote nothing, or an earlier version added the
    /// model.
    pub fn open(
        folder: &Path,
        model: &Model,
        vectors: &dyn SparseVectors,
    ) -> Result<Option<Self>, Error> {
        let path = folder.join(FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(liken::Error::io("read", &path))?,
        };
        let report = serde_json::from_slice(&text).map_err(|error| {
            Error::invalid(format!("{}: is damaged ({error}): add the model again", path.display()))
        })?;
        Ok(Some(Postings { index: PostingIndex::new(&*vectors.lists(&model.counts)?), report }))
    }
}

/// A description of how candidates are found.
fn described(report: &PostingReport) -> String {
    let PostingReport { postings, recall_at_10, recall_at_100, .. } = report;
    format!("{postings} postings read, recall@10 {recall_at_10:.3}, recall@100 {recall_at_100:.3}")
}
