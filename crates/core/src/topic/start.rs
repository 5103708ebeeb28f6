//! The start of RLSI. With random weights, as published, the first topics of many documents differ only
//! by noise, most of which a penalty removes. Random documents differ in their words: by default every
//! topic starts as one, and every document's weight is its similarity to that document.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::corpus::Corpus;
use super::seeds::seeds;
use crate::linalg::Dense;
use crate::random::Random;
use crate::sparse::Csr;
use crate::{Result, Run};

/// The relative noise, by which topics that start from the same document differ.
const NOISE: f64 = 0.1;
/// The least weight of a document in a topic: one that is similar to no seed would otherwise stay in
/// no topic.
const LEAST: f32 = 0.01;
/// Documents per task.
const BLOCK: usize = 256;

/// Initial weights of topics in documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TopicStart {
    /// Every topic is a random document, and a weight is the similarity to that document.
    #[default]
    Documents,
    /// Standard normals, as published.
    Random,
}

/// Sets `weights` to standard normals.
pub(super) fn random_start(weights: &mut Dense, seed: u64, run: &Run<'_>) -> Result<()> {
    let block = BLOCK * weights.n_cols().max(1);
    weights.values_mut().par_chunks_mut(block).enumerate().try_for_each(|(b, values)| {
        run.check()?;
        let mut random = Random::new(seed, b as u64);
        values.iter_mut().for_each(|v| *v = random.normal() as f32);
        Ok(())
    })
}

/// Sets `weights`, documents × (shared + own) topics, to similarities to random documents.
pub(super) fn document_start(
    corpus: &Corpus,
    (shared, own): (usize, usize),
    weights: &mut Dense,
    seed: u64,
    run: &Run<'_>,
) -> Result<()> {
    let width = shared + own;
    let drawn = |docs, n, stream| seeds(docs, |doc| corpus.doc(doc), n, Random::new(seed, stream));
    let everywhere = drawn(0..corpus.n_docs(), shared, 0);
    for class in 0..corpus.n_classes() {
        let docs = corpus.class(class);
        let mut seeds = everywhere.clone();
        seeds.extend(drawn(docs.clone(), own, class as u64 + 1));
        let words = |(k, doc): (usize, &usize)| {
            corpus.doc(*doc).iter().map(move |(term, d)| (term, k as u32, d)).collect::<Vec<_>>()
        };
        let triplets: Vec<_> = seeds.iter().enumerate().flat_map(words).collect();
        let topics = Csr::from_triplets(corpus.n_terms(), width.max(1), triplets)?;
        let rows = &mut weights.values_mut()[docs.start * width..docs.end * width];
        rows.par_chunks_mut(BLOCK * width).enumerate().try_for_each(|(b, rows)| {
            run.check()?;
            for (at, out) in rows.chunks_mut(width).enumerate() {
                let doc = docs.start + b * BLOCK + at;
                out.fill(0.0);
                for (term, d) in corpus.doc(doc).iter() {
                    topics.row(term as usize).iter().for_each(|(k, u)| out[k as usize] += d * u);
                }
                let mut random = Random::new(seed ^ 0x5eed, doc as u64);
                let least = if corpus.doc(doc).is_empty() { 0.0 } else { LEAST };
                out.iter_mut().for_each(|v| {
                    *v = (*v + least) * (1.0 - NOISE * random.uniform()) as f32;
                });
            }
            Ok::<(), crate::Error>(())
        })?;
    }
    Ok(())
}
