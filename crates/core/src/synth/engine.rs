//! The engine of the demo's result pages: our own BM25.

use crate::data::{Dataset, DatasetAbout, DatasetWriter, Document, Query, RelevanceSource};
use crate::features::{Counts, Preparation};
use crate::matchers::Params;
use crate::ranking::{tie_rank, top_k};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// The `k` best documents for each query by BM25, best first; documents without a word of the
/// query are left out.
pub fn bm25(documents: &[Document], queries: &[String], k: usize) -> Result<Vec<Vec<u32>>> {
    let folder = tempfile::tempdir().map_err(Error::io("create", &std::env::temp_dir()))?;
    let path = folder.path().join("engine");
    let mut writer = DatasetWriter::create(&path, false)?;
    for text in queries {
        writer.query(&Query { id: text.clone(), text: text.clone(), clicks: 0.0 })?;
    }
    documents.iter().try_for_each(|document| writer.document(document))?;
    let none = Csr::empty(queries.len(), documents.len());
    let about = DatasetAbout::as_given(RelevanceSource::Judgments);
    writer.finish(&none, &none, &none, &[], about)?;
    let dataset = Dataset::open(&path)?;
    let run = Run::silent();
    let counts = Counts::of(&dataset, &Preparation::default(), &run)?;
    let (matcher, _) = Params::named("bm25")?.fit(&counts, None, &run)?;
    let ties = tie_rank(&counts.doc_ids);
    let rank = |i: usize| {
        let hits = top_k(&matcher.scores(&counts, &counts.query(i), None), k, &ties, &[]);
        hits.iter().filter(|hit| hit.score > 0.0).map(|hit| hit.doc).collect()
    };
    use rayon::prelude::*;
    Ok((0..queries.len()).into_par_iter().map(rank).collect())
}
