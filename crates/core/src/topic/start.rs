//! Where RLSI begins: every topic is a document drawn at random, and every document
//! weighs in it by how like that document it is.
//!
//! Random weights, as published, are alike for all topics on long lists of documents: the first topics
//! then differ by noise alone, and a penalty takes most of that away. Drawn documents differ by what
//! documents differ by.

use rayon::prelude::*;

use super::corpus::Corpus;
use super::seeds::seeds;
use crate::linalg::Dense;
use crate::random::Random;
use crate::sparse::Csr;
use crate::{Result, Run};

/// How much the weights of two topics that begin with the same document differ.
const NOISE: f64 = 0.1;
/// What every document weighs in every topic at least: one that is like no drawn document would else
/// be in no topic for ever.
const LEAST: f32 = 0.01;
/// Documents that are weighed by one thread at a time.
const BLOCK: usize = 256;

/// The first weights: documents × (shared + own) topics, in `weights`.
pub(super) fn start(
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
