//! k-means of many rows (Lloyd's algorithm).
//!
//! ```text
//! centre of x = argmin_c ‖x − c‖² = argmax_c x·c − ‖c‖²/2
//! ```
//! Plain rather than spherical k-means: lists should be short where norms are large, since those
//! embeddings are found most often. On embeddings of different norms it needs fewer probes than
//! spherical k-means, and as many as k-means with an additional dimension that makes all norms equal.
//!
//! The products are dense products of blocks of fixed shape, the means are sums in the order of
//! the rows: the same bits at any number of threads.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::Embeddings;
use crate::linalg::dot;
use crate::random::Random;
use crate::{Result, Run};

/// Rows compared with all centres at once.
const BLOCK: usize = 128;
/// Rows between two progress reports.
const ROWS_PER_STEP: usize = 64 * BLOCK;

/// The centres of clusters.
pub(super) struct Centres {
    dim: usize,
    values: Vec<f32>,
    /// ‖c‖²/2 of each.
    halves: Vec<f32>,
}

impl Centres {
    fn new(values: Vec<f32>, dim: usize) -> Self {
        let halves = values.chunks_exact(dim).map(|c| dot(c, c) / 2.0).collect();
        Centres { dim, values, halves }
    }

    /// The number of centres.
    pub fn len(&self) -> usize {
        self.halves.len()
    }

    /// Centre `centre`.
    pub fn row(&self, centre: usize) -> &[f32] {
        &self.values[centre * self.dim..(centre + 1) * self.dim]
    }

    /// The nearest centre of each of `docs`, the first of equally near ones.
    pub fn of(
        &self,
        embeddings: &Embeddings,
        docs: &[u32],
        stage: &str,
        run: &Run<'_>,
    ) -> Result<Vec<u32>> {
        let of_block = |(rows, products): &mut (Vec<f32>, Vec<f32>),
                        (docs, nearest): (&[u32], &mut [u32])| {
            rows.clear();
            docs.iter().for_each(|&doc| rows.extend_from_slice(embeddings.row(doc as usize)));
            products.resize(self.len() * docs.len(), 0.0);
            let rows = MatRef::from_row_major_slice(rows, docs.len(), self.dim);
            let centres = MatRef::from_row_major_slice(&self.values, self.len(), self.dim);
            // One column per row, so that the products of a row are adjacent.
            let into = MatMut::from_column_major_slice_mut(products, self.len(), docs.len());
            matmul(into, Accum::Replace, centres, rows.transpose(), 1.0, Par::Seq);
            for (nearest, products) in nearest.iter_mut().zip(products.chunks_exact(self.len())) {
                let mut best = f32::NEG_INFINITY;
                for (centre, (product, half)) in products.iter().zip(&self.halves).enumerate() {
                    let near = product - half;
                    if near > best {
                        best = near;
                        *nearest = centre as u32;
                    }
                }
            }
        };
        let mut nearest = vec![0; docs.len()];
        let steps = docs.chunks(ROWS_PER_STEP).zip(nearest.chunks_mut(ROWS_PER_STEP));
        for (step, (docs_of_step, nearest)) in steps.enumerate() {
            run.step(stage, (step * ROWS_PER_STEP) as u64, Some(docs.len() as u64))?;
            docs_of_step
                .par_chunks(BLOCK)
                .zip(nearest.par_chunks_mut(BLOCK))
                .for_each_init(Default::default, of_block);
        }
        Ok(nearest)
    }
}

/// The members of all groups, group by group in their original order, and the start of each group.
pub(super) fn grouped(of: &[u32], n_groups: usize) -> (Vec<u32>, Vec<u64>) {
    let mut starts = vec![0u64; n_groups + 1];
    of.iter().for_each(|&group| starts[group as usize + 1] += 1);
    (0..n_groups).for_each(|group| starts[group + 1] += starts[group]);
    let mut next = starts.clone();
    let mut members = vec![0; of.len()];
    for (member, &group) in of.iter().enumerate() {
        let place = &mut next[group as usize];
        members[*place as usize] = member as u32;
        *place += 1;
    }
    (members, starts)
}

/// `n` centres of the embeddings of `docs`, at least `n` documents, after `rounds` rounds.
pub(super) fn centres(
    embeddings: &Embeddings,
    docs: &[u32],
    n: usize,
    rounds: usize,
    seed: u64,
    run: &Run<'_>,
) -> Result<Centres> {
    let dim = embeddings.dim();
    let mut first: Vec<u32> = docs.to_vec();
    Random::new(seed, 1).shuffle(&mut first);
    let values = first[..n].iter().flat_map(|&doc| embeddings.row(doc as usize)).copied().collect();
    let mut centres = Centres::new(values, dim);
    for round in 1..=rounds {
        let stage = format!("k-means of lists, round {round} of {rounds}");
        let of = centres.of(embeddings, docs, &stage, run)?;
        let (members, starts) = grouped(&of, n);
        let mut values = vec![0.0f32; n * dim];
        values.par_chunks_exact_mut(dim).enumerate().for_each(|(centre, mean)| {
            let members = &members[starts[centre] as usize..starts[centre + 1] as usize];
            average(mean, members.iter().map(|&at| embeddings.row(docs[at as usize] as usize)));
        });
        split_largest(&mut values, &starts, dim);
        centres = Centres::new(values, dim);
    }
    Ok(centres)
}

/// Sets `mean` to the mean of `rows`, summed in f64; leaves it unchanged if there are none.
pub(super) fn average<'a>(mean: &mut [f32], rows: impl ExactSizeIterator<Item = &'a [f32]>) {
    let n = rows.len();
    if n == 0 {
        return;
    }
    let mut sums = vec![0.0f64; mean.len()];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    mean.iter_mut().zip(sums).for_each(|(mean, sum)| *mean = (sum / n as f64) as f32);
}

/// Moves centres without members next to those with the most members, which the next round then
/// splits.
fn split_largest(values: &mut [f32], starts: &[u64], dim: usize) {
    let n = starts.len() - 1;
    let size = |centre: usize| starts[centre + 1] - starts[centre];
    let empty: Vec<usize> = (0..n).filter(|&centre| size(centre) == 0).collect();
    let mut largest: Vec<usize> = (0..n).filter(|&centre| size(centre) > 1).collect();
    largest.sort_by_key(|&centre| std::cmp::Reverse(size(centre)));
    for (&to, &from) in empty.iter().zip(&largest) {
        let (low, high) = values.split_at_mut(to.max(from) * dim);
        let (low, high) = (&mut low[to.min(from) * dim..][..dim], &mut high[..dim]);
        let (to, from) = if to < from { (low, high) } else { (high, low) };
        for (at, (to, from)) in to.iter_mut().zip(from).enumerate() {
            let part = if at % 2 == 0 { 1e-3 } else { -1e-3 };
            *to = *from * (1.0 + part);
            *from *= 1.0 - part;
        }
    }
}
