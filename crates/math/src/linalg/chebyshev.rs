//! Chebyshev polynomials of CᵀC as filters: cheap products between expensive orthonormalisations.
//!
//! With [0, b] the unwanted part of the spectrum, T_m(2λ/b − 1) stays within ±1
//! there and grows like g(λ)^m above it, g = x + √(x² − 1), x = 2λ/b − 1. Near the end of a flat
//! spectrum, λ = 1.1·b, a degree (two products) gains a factor of 1.9 where a power of CᵀC
//! gains 1.1.
//!
//! f32 limits a filter: beside a direction that grows 10⁷ times as fast, a column is rounding error.
//! So columns are filtered in batches of similar growth, and the directions that outgrow a batch are
//! projected out of it after every product.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::columns::{ROWS, column_norms, copy_columns, reshape};
use super::{Dense, Operator};
use crate::{Result, Run};

/// The most columns per batch.
pub(super) const WIDTH: usize = 96;
/// The highest degree between two orthonormalisations.
const MAX_DEGREE: usize = 12;
/// By which factor the first column of a batch may outgrow the last.
const GROWTH_WITHIN: f64 = 1e6;
/// Directions that outgrow the last column of a batch by more than this factor are projected out.
/// Not less: projecting out a direction that is not accurate yet removes parts of others.
const GROWTH_BESIDE: f64 = 1e6;

/// By which factor a direction may grow in columns of which nothing is known: f32 ends at 10³⁸.
const UNKNOWN_GROWTH: f64 = 1e24;

/// Columns filtered together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    pub columns: Range<usize>,
    /// The degree of its polynomial; 0 leaves the columns as they are.
    pub degree: usize,
    /// The number of leading columns that are projected out.
    pub leads: usize,
}

/// g(λ): the growth of a direction per degree.
fn growth(lambda: f64, bound: f64) -> f64 {
    let x = 2.0 * lambda / bound - 1.0;
    if x <= 1.0 { 1.0 } else { x + (x * x - 1.0).sqrt() }
}

/// The degree at which the direction of `lambda` grows by `gain` against the unwanted ones.
fn degree(lambda: f64, bound: f64, gain: f64) -> usize {
    let needed = (2.0 * gain).ln() / growth(lambda, bound).ln();
    // A growth of one gives infinity: the highest degree.
    needed.ceil().clamp(1.0, MAX_DEGREE as f64) as usize
}

/// Cuts the columns with eigenvalues `lambda` (descending) into batches. `gains` has the factor by
/// which each wanted column must still grow; 1 or less: it has converged. The spare columns get the
/// highest degree of the wanted ones. Columns below the bound are random: they may hold directions
/// up to the largest, of which the filter cannot know, so they stay by themselves and their degree
/// is one at which even these do not overflow.
pub(super) fn batches(lambda: &[f64], bound: f64, gains: &[f64]) -> Vec<Batch> {
    let mut degrees: Vec<usize> = gains
        .iter()
        .zip(lambda)
        .map(|(&gain, &lambda)| if gain <= 1.0 { 0 } else { degree(lambda, bound, gain) })
        .collect();
    let most = degrees.iter().copied().max().unwrap_or(0).max(1);
    degrees.resize(lambda.len(), most);
    let is_random = |i: usize| lambda[i] < bound;
    let safe = UNKNOWN_GROWTH.ln() / growth(lambda[0], bound).ln();
    let safe = safe.clamp(1.0, MAX_DEGREE as f64) as usize;
    for i in (0..lambda.len()).filter(|&i| is_random(i)) {
        degrees[i] = degrees[i].min(safe);
    }
    let growths: Vec<f64> = lambda.iter().map(|&lambda| growth(lambda, bound)).collect();
    let outgrows = |i: usize, j: usize, degree: usize, limit: f64| {
        (growths[i] / growths[j]).powi(degree as i32) > limit
    };

    let mut batches = Vec::new();
    let mut start = 0;
    while start < lambda.len() {
        let mut degree = degrees[start];
        let mut end = start + 1;
        while end < lambda.len() && end - start < WIDTH {
            let higher = degree.max(degrees[end]);
            if is_random(start) != is_random(end) || outgrows(start, end, higher, GROWTH_WITHIN) {
                break;
            }
            degree = higher;
            end += 1;
        }
        let leads = (0..start).take_while(|&i| outgrows(i, end - 1, degree, GROWTH_BESIDE)).count();
        batches.push(Batch { columns: start..end, degree, leads });
        start = end;
    }
    batches
}

/// Replaces the columns of every batch by T(CᵀC) times themselves, scaled to norm one. `product`
/// is CᵀC·V if that is known.
pub(super) fn filter(
    c: &Operator,
    v: &mut Dense,
    product: Option<&Dense>,
    lambda: &[f64],
    bound: f64,
    batches: &[Batch],
    run: &Run<'_>,
) -> Result<()> {
    // Allocated once, since fresh memory costs as much as a product.
    let [mut before, mut now, mut next, mut middle] = [(); 4].map(|()| Dense::zeros(0, 0));
    // From the last to the first, so that leading columns are still unfiltered when they are
    // projected out.
    for batch in batches.iter().rev().filter(|batch| batch.degree > 0) {
        let width = batch.columns.len();
        reshape(&mut middle, c.d_x(), width);
        copy_columns(v, batch.columns.clone(), &mut before);
        match product {
            Some(product) => copy_columns(product, batch.columns.clone(), &mut now),
            None => {
                reshape(&mut now, c.d_y(), width);
                apply_gram(c, &before, &mut middle, &mut now);
            }
        }
        let centre = bound / 2.0;
        let first = centre / (lambda[batch.columns.start].max(bound) - centre);
        let mut scale = first;
        combine(&mut now, &before, &before, [scale / centre, -scale, 0.0]);
        project_out(v, batch.leads, &mut now);
        for _ in 1..batch.degree {
            run.check()?;
            reshape(&mut next, c.d_y(), width);
            apply_gram(c, &now, &mut middle, &mut next);
            let following = 1.0 / (2.0 / first - scale);
            let factors = [2.0 * following / centre, -2.0 * following, -scale * following];
            combine(&mut next, &now, &before, factors);
            project_out(v, batch.leads, &mut next);
            scale = following;
            std::mem::swap(&mut before, &mut now);
            std::mem::swap(&mut now, &mut next);
        }
        let scales: Vec<f32> = column_norms(&now)
            .into_iter()
            .map(|norm| if norm > 0.0 { (1.0 / norm) as f32 } else { 0.0 })
            .collect();
        let now = &now;
        v.block_mut(batch.columns.clone()).for_each_row(ROWS, |i, row| {
            for ((out, &value), &scale) in row.iter_mut().zip(now.row(i)).zip(&scales) {
                *out = value * scale;
            }
        });
    }
    Ok(())
}

/// out = CᵀC·b, with `middle` = C·b.
pub(super) fn apply_gram(c: &Operator, b: &Dense, middle: &mut Dense, out: &mut Dense) {
    c.apply(b, middle);
    c.apply_transpose(middle, out);
}

/// a ← f₀·a + f₁·b + f₂·c.
fn combine(a: &mut Dense, b: &Dense, c: &Dense, factors: [f64; 3]) {
    let [first, second, third] = factors.map(|factor| factor as f32);
    a.rows_mut().enumerate().for_each(|(i, row)| {
        for ((a, &b), &c) in row.iter_mut().zip(b.row(i)).zip(c.row(i)) {
            *a = first * *a + second * b + third * c;
        }
    });
}

/// Projects the first `leads` columns of `v`, which are orthonormal, out of the block.
fn project_out(v: &Dense, leads: usize, block: &mut Dense) {
    let (k, width) = (v.n_cols(), block.n_cols());
    if leads == 0 || width == 0 {
        return;
    }
    let lead = |values| {
        let n = <[f32]>::len(values) / k;
        MatRef::from_row_major_slice(values, n, k).subcols(0, leads)
    };
    let shares: Vec<Mat<f32>> = v
        .values()
        .par_chunks(ROWS * k)
        .zip(block.values().par_chunks(ROWS * width))
        .map(|(v, block)| {
            let block = MatRef::from_row_major_slice(block, block.len() / width, width);
            let mut share = Mat::zeros(leads, width);
            matmul(share.as_mut(), Accum::Replace, lead(v).transpose(), block, 1.0, Par::Seq);
            share
        })
        .collect();
    let inside = Mat::from_fn(leads, width, |i, j| {
        shares.iter().map(|share| f64::from(share[(i, j)])).sum::<f64>() as f32
    });
    v.values().par_chunks(ROWS * k).zip(block.values_mut().par_chunks_mut(ROWS * width)).for_each(
        |(v, block)| {
            let n = block.len() / width;
            let block = MatMut::from_row_major_slice_mut(block, n, width);
            matmul(block, Accum::Add, lead(v), inside.as_ref(), -1.0, Par::Seq);
        },
    );
}

#[cfg(test)]
mod tests;
