//! Classes for documents without any: spherical k-means (Dhillon and Modha, 2001).
//!
//! ```text
//! class of d = argmax_p d·c_p/‖c_p‖,  c_p = Σ of the unit rows of its documents
//! ```

use rayon::prelude::*;

use super::seeds::seeds;
use crate::linalg::Dense;
use crate::random::Random;
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

/// The most rounds; assignments usually settle long before.
const ROUNDS: usize = 20;

/// A clustering of documents.
pub struct Clusters {
    /// The cluster of every document: that of the most similar centre.
    pub of: Vec<u32>,
    /// Terms × clusters, every centre of norm 1: one pass over a document's words gives its
    /// similarity to all of them.
    pub centres: Dense,
}

/// Clusters the rows of `docs` into at most `n` clusters, numbered by size, largest first. Rows
/// without entries are in the first. The result depends on the order of the rows.
pub fn clusters(docs: &Csr, n: usize, seed: u64, run: &Run<'_>) -> Result<Clusters> {
    let filled = (0..docs.n_rows()).filter(|&doc| !docs.row(doc).is_empty()).count();
    let n = n.min(filled).max(1);
    let first = seeds(0..docs.n_rows(), |doc| docs.row(doc), n, Random::new(seed, 0));
    let mut centres = Dense::zeros(docs.n_cols(), n);
    for (cluster, &doc) in first.iter().enumerate() {
        add(&mut centres, docs.row(doc), cluster);
    }
    let mut of = assign(docs, &centres);
    for round in 0..ROUNDS {
        run.step("classes of documents", round as u64, Some(ROUNDS as u64))?;
        centres = means(docs, &of, n);
        let before = std::mem::replace(&mut of, assign(docs, &centres));
        if of == before {
            break;
        }
    }
    Ok(by_size(&of, &centres))
}

/// The nearest centre of every document.
fn assign(docs: &Csr, centres: &Dense) -> Vec<u32> {
    (0..docs.n_rows()).into_par_iter().map(|doc| nearest_centre(centres, docs.row(doc))).collect()
}

fn add(centres: &mut Dense, row: Row<'_>, cluster: usize) {
    let norm = row.norm();
    for (term, d) in row.iter() {
        centres.row_mut(term as usize)[cluster] += (f64::from(d) / norm) as f32;
    }
}

/// The cluster of the most similar centre; the first of equals.
pub fn nearest_centre(centres: &Dense, row: Row<'_>) -> u32 {
    let mut similarities = vec![0.0f32; centres.n_cols()];
    for (term, d) in row.iter() {
        let words = centres.row(term as usize);
        similarities.iter_mut().zip(words).for_each(|(sum, &c)| *sum += d * c);
    }
    let all = similarities.iter().enumerate().rev();
    all.max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(best, _)| best as u32)
}

/// The centres of clusters, each of norm 1.
fn means(docs: &Csr, of: &[u32], n: usize) -> Dense {
    let mut centres = Dense::zeros(docs.n_cols(), n);
    for (doc, &cluster) in of.iter().enumerate() {
        add(&mut centres, docs.row(doc), cluster as usize);
    }
    let mut squares = vec![0.0f64; n];
    for term in 0..docs.n_cols() {
        let row = centres.row(term);
        squares.iter_mut().zip(row).for_each(|(sum, &c)| *sum += f64::from(c) * f64::from(c));
    }
    let scales: Vec<f32> =
        squares.iter().map(|&s| if s > 0.0 { (1.0 / s.sqrt()) as f32 } else { 0.0 }).collect();
    centres
        .rows_mut()
        .for_each(|row| row.iter_mut().zip(&scales).for_each(|(c, &scale)| *c *= scale));
    centres
}

/// Numbers the clusters by size, largest first, without the empty ones.
fn by_size(of: &[u32], centres: &Dense) -> Clusters {
    let n = centres.n_cols();
    let mut sizes = vec![0u64; n];
    of.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&cluster| std::cmp::Reverse(sizes[cluster]));
    let filled = sizes.iter().filter(|&&size| size > 0).count().max(1);
    let mut place = vec![0u32; n];
    order.iter().zip(0..).for_each(|(&cluster, at)| place[cluster] = at);
    let of: Vec<u32> = of.iter().map(|&cluster| place[cluster as usize]).collect();
    let centres = Dense::from_fn(centres.n_rows(), filled, |term, at| centres.row(term)[order[at]]);
    Clusters { of, centres }
}
