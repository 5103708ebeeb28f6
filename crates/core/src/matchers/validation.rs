//! Validation scores of maps in training.

use std::sync::OnceLock;

use super::bilinear::embedding_of;
use super::{Maps, ValidationScorer};
use crate::linalg::{Dense, Panels, dot};
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

/// The most documents of a block of embeddings, and the most entries if it has more than one.
const BLOCK_DOCS: usize = 256;
const BLOCK_ENTRIES: usize = 1 << 15;

/// The validation score of a pair of maps.
pub(super) fn score_maps(scorer: &ValidationScorer<'_>, x: &Csr, y: &Csr, maps: &Maps) -> f64 {
    let docs = maps.l_y.embeddings(y);
    scorer(&|query, candidates| {
        let embedding = embedding_of(x.row(query as usize), &maps.l_x);
        let score = |doc: usize| dot(&embedding, docs.row(doc));
        scores_of(candidates, y.n_rows(), score)
    })
}

/// The validation score of a pair of maps in training. If the embeddings of all documents do not fit
/// into memory, those of the candidates are computed block by block, with the same bits.
pub(super) fn score_panels(
    scorer: &ValidationScorer<'_>,
    x: &Csr,
    y: &Csr,
    l_x: &Panels,
    l_y: &Panels,
    run: &Run<'_>,
) -> Result<f64> {
    let bytes = 4 * (y.n_rows() * l_y.n_cols()) as u64;
    let docs = if 2 * bytes <= run.memory_left() { Some(l_y.embeddings(y)?) } else { None };
    score_embeddings(scorer, (x, l_x), (y, l_y), docs.as_ref())
}

/// The same with the embeddings of all documents, or blocks of them for `None`.
fn score_embeddings(
    scorer: &ValidationScorer<'_>,
    (x, l_x): (&Csr, &Panels),
    (y, l_y): (&Csr, &Panels),
    docs: Option<&Dense>,
) -> Result<f64> {
    let embedding = |row: Row<'_>| {
        let (mut embedding, mut feature) = (vec![0.0f32; l_x.n_cols()], vec![0.0f32; l_x.n_cols()]);
        for (v, value) in row.iter() {
            l_x.row_into(v as usize, &mut feature);
            embedding.iter_mut().zip(&feature).for_each(|(sum, &entry)| *sum += value * entry);
        }
        embedding
    };
    let all: Vec<u32> = if docs.is_some() { Vec::new() } else { (0..y.n_rows() as u32).collect() };
    // A scorer cannot fail: an error is returned after it.
    let failed = OnceLock::new();
    let value = scorer(&|query, candidates| {
        let query = embedding(x.row(query as usize));
        match docs {
            Some(docs) => {
                scores_of(candidates, y.n_rows(), |doc: usize| dot(&query, docs.row(doc)))
            }
            None => {
                let candidates = candidates.unwrap_or(&all);
                in_blocks(&query, y, l_y, candidates).unwrap_or_else(|error| {
                    failed.get_or_init(|| error);
                    vec![0.0; candidates.len()]
                })
            }
        }
    });
    failed.into_inner().map_or(Ok(value), Err)
}

/// The score of every candidate, with embeddings computed and dropped block by block.
fn in_blocks(query: &[f32], y: &Csr, l_y: &Panels, candidates: &[u32]) -> Result<Vec<f32>> {
    let mut scores = Vec::with_capacity(candidates.len());
    while scores.len() < candidates.len() {
        let rest = &candidates[scores.len()..];
        let mut entries = 0;
        let fits = |&&doc: &&u32| {
            entries += y.row(doc as usize).len();
            entries <= BLOCK_ENTRIES
        };
        let n = rest.iter().take(BLOCK_DOCS).take_while(fits).count().max(1);
        let embeddings = l_y.embeddings_of(y, &rest[..n])?;
        scores.extend((0..n).map(|k| dot(query, embeddings.row(k))));
    }
    Ok(scores)
}

/// The weight in tenths with the best validation score; the smallest of equally good ones.
pub(super) fn best_tenths(
    stage: &str,
    run: &Run<'_>,
    mut value: impl FnMut(u32) -> f64,
) -> Result<u32> {
    let mut best = (f64::NEG_INFINITY, 0);
    for tenths in 0..=10 {
        run.step(stage, tenths.into(), Some(10))?;
        let found = value(tenths);
        if found > best.0 {
            best = (found, tenths);
        }
    }
    Ok(best.1)
}

/// The score of every candidate: of all `n_docs` documents for `None`.
pub(super) fn scores_of(
    candidates: Option<&[u32]>,
    n_docs: usize,
    score: impl Fn(usize) -> f32,
) -> Vec<f32> {
    match candidates {
        Some(candidates) => candidates.iter().map(|&doc| score(doc as usize)).collect(),
        None => (0..n_docs).map(score).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::oracle::random_csr;

    /// Documents of some entries, of some thousands, and of more than a product sums in one go.
    fn documents() -> Csr {
        let of = |doc: u32| match doc {
            5 => 20_000,
            9 => 3000,
            _ => doc % 40,
        };
        let entries = |doc: u32| (0..of(doc)).map(move |k| (doc, k, 1.0 / (1 + doc + k) as f32));
        Csr::from_triplets(700, 20_000, (0..700).flat_map(entries).collect()).unwrap()
    }

    #[test]
    fn scores_are_the_same_with_and_without_embeddings_of_all_documents() {
        let (x, y) = (random_csr(6, 50, 5, 1), documents());
        let drawn = Panels::random(20_000, 40, 2, 1.5);
        let mut sparse = drawn.to_dense().unwrap();
        sparse.values_mut().iter_mut().for_each(|v| *v = if *v < 0.2 { 0.0 } else { *v });
        let packed = Panels::from_dense(&sparse).unwrap().to_csr().unwrap();
        let mut packed = Panels::from_csr(&packed).unwrap();
        assert!(packed.bytes() < 4 * 20_000 * 40);
        packed.set_scale((0..20_000).map(|i| 0.3 + i as f32).collect());
        let dense = Panels::from_dense(&sparse).unwrap();
        let l_x = Panels::random(50, 40, 3, 1.0);
        for l_y in [drawn, packed, dense] {
            let scores = |docs: Option<&Dense>| {
                let found = Mutex::new(Vec::new());
                let scorer: &ValidationScorer<'_> = &|score| {
                    for query in 0..6 {
                        let mut found = found.lock().unwrap();
                        found.push(score(query, None));
                        found.push(score(query, Some(&[9, 3, 5, 699, 5])));
                    }
                    0.5
                };
                assert_eq!(score_embeddings(scorer, (&x, &l_x), (&y, &l_y), docs).unwrap(), 0.5);
                found.into_inner().unwrap()
            };
            assert_eq!(scores(None), scores(Some(&l_y.embeddings(&y).unwrap())));
        }
    }

    #[test]
    fn what_goes_wrong_while_embeddings_are_made_is_said() {
        let (x, y) = (random_csr(2, 50, 5, 1), documents());
        let l_x = Panels::random(50, 40, 3, 1.0);
        let mut l_y = Panels::random(20_000, 40, 2, 1.5);
        l_y.set_scale(vec![f32::NAN; 20_000]);
        let scorer: &ValidationScorer<'_> = &|score| f64::from(score(0, None)[0]);
        assert!(score_embeddings(scorer, (&x, &l_x), (&y, &l_y), None).is_err());
    }
}
