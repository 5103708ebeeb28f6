//! The start of NMF: the non-negative parts of singular vectors (NNDSVD, Boutsidis and Gallopoulos,
//! 2008).
//!
//! ```text
//! D ≈ Σ σ_k·a_k·b_kᵀ;  of a_k b_kᵀ = (a⁺ − a⁻)(b⁺ − b⁻)ᵀ the larger of a⁺b⁺ᵀ and a⁻b⁻ᵀ is topic k
//! ```
//! The singular vectors come from a few steps of a block power method, which is accurate enough for
//! a start. It reads the corpus in place; the solver of [`crate::linalg`] would need a copy in memory
//! for every class.

use std::ops::Range;

use rayon::prelude::*;

use super::corpus::Corpus;
use crate::linalg::{Dense, add_scaled, gram, orthonormalise_in, rotate, symmetric_eigen, widest};
use crate::{Result, Run};

/// Oversampling, and rounds of the power method.
const SPARE: usize = 10;
const ROUNDS: usize = 3;
/// Rows per task.
const BLOCK: usize = 64;

/// Non-negative topics of terms and weights of documents. They have `n` columns, or fewer if the
/// documents have a lower rank.
pub(super) struct Parts {
    pub terms: Dense,
    pub docs: Dense,
}

/// The first `n` parts of the documents `docs`.
pub(super) fn parts(
    corpus: &Corpus,
    docs: Range<usize>,
    n: usize,
    seed: u64,
    run: &Run<'_>,
) -> Result<Parts> {
    let width = (n + SPARE).min(docs.len()).min(corpus.n_terms());
    let nothing =
        || Parts { terms: Dense::zeros(corpus.n_terms(), 0), docs: Dense::zeros(docs.len(), 0) };
    if width == 0 {
        return Ok(nothing());
    }
    let mut right = Dense::gaussian(corpus.n_terms(), width, seed);
    let mut left = Dense::zeros(docs.len(), width);
    for round in 0..ROUNDS {
        run.step("initial topics", round as u64, Some(ROUNDS as u64))?;
        by_documents(corpus, &docs, &right, &mut left, run)?;
        orthonormalise_in(&mut left, run)?;
        by_terms(corpus, &docs, &left, &mut right, run)?;
    }
    // right = DᵀQ, so that rightᵀ·right = P·Σ²·Pᵀ, the left vectors are Q·P and the right ones right·P/Σ.
    let Some(eigen) = symmetric_eigen(&gram(&right, run)?) else {
        return Ok(nothing());
    };
    rotate(&mut left, &eigen.vectors, run)?;
    rotate(&mut right, &eigen.vectors, run)?;
    let sigma: Vec<f64> = eigen.values.iter().map(|value| value.max(0.0).sqrt()).collect();
    let largest = sigma.first().copied().unwrap_or(0.0);
    let n = sigma.iter().take(n).take_while(|&&s| s > 1e-6 * largest && s > 0.0).count();
    let signs: Vec<(f32, f32, f32)> = (0..n).map(|k| scales(&left, &right, k, sigma[k])).collect();
    let taken = |matrix: &Dense, scale: &(dyn Fn(usize) -> f32 + Sync)| {
        Dense::from_fn(matrix.n_rows(), n, |i, k| {
            let value = matrix.row(i)[k] * signs[k].0;
            // The first pair has one sign, up to rounding.
            (if k == 0 { value.abs() } else { value.max(0.0) }) * scale(k)
        })
    };
    Ok(Parts { docs: taken(&left, &|k| signs[k].1), terms: taken(&right, &|k| signs[k].2) })
}

/// The chosen sign of a pair of vectors, and the factors of its parts: √(σ·‖a‖·‖b‖) over ‖a‖ and over
/// ‖b‖ (b is `right`, which is scaled by σ).
fn scales(left: &Dense, right: &Dense, k: usize, sigma: f64) -> (f32, f32, f32) {
    let norms = |matrix: &Dense| {
        let (mut plus, mut minus) = (0.0f64, 0.0f64);
        for row in matrix.values().chunks(matrix.n_cols()) {
            let square = f64::from(row[k]) * f64::from(row[k]);
            if row[k] > 0.0 { plus += square } else { minus += square }
        }
        if k == 0 { ((plus + minus).sqrt(), 0.0) } else { (plus.sqrt(), minus.sqrt()) }
    };
    let (a, b) = (norms(left), norms(right));
    let (sign, a, b) = if a.0 * b.0 >= a.1 * b.1 { (1.0, a.0, b.0) } else { (-1.0, a.1, b.1) };
    let unit = b / sigma;
    let scale = (sigma * a * unit).sqrt();
    let over = |norm: f64| if norm > 0.0 { (scale / norm) as f32 } else { 0.0 };
    (sign, over(a), over(b))
}

/// out = D·right for the documents `docs`.
fn by_documents(
    corpus: &Corpus,
    docs: &Range<usize>,
    right: &Dense,
    out: &mut Dense,
    run: &Run<'_>,
) -> Result<()> {
    in_blocks(out, run, |doc, out| {
        for (term, d) in corpus.doc(docs.start + doc).iter() {
            add_scaled(out, d, right.row(term as usize));
        }
    })
}

/// out = Dᵀ·left of the documents `docs`.
fn by_terms(
    corpus: &Corpus,
    docs: &Range<usize>,
    left: &Dense,
    out: &mut Dense,
    run: &Run<'_>,
) -> Result<()> {
    in_blocks(out, run, |term, out| {
        let row = corpus.term(term).within(docs.start as u32..docs.end as u32);
        for (doc, d) in row.iter() {
            add_scaled(out, d, left.row(doc as usize - docs.start));
        }
    })
}

/// Computes every row of `out` with `row`, which gets it as zeros.
fn in_blocks(out: &mut Dense, run: &Run<'_>, row: impl Fn(usize, &mut [f32]) + Sync) -> Result<()> {
    let width = out.n_cols().max(1);
    out.values_mut().par_chunks_mut(BLOCK * width).enumerate().try_for_each(|(b, rows)| {
        run.check()?;
        widest(|| {
            for (at, out) in rows.chunks_mut(width).enumerate() {
                out.fill(0.0);
                row(b * BLOCK + at, out);
            }
        });
        Ok(())
    })
}
