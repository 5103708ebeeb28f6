//! The one matrix of the bilinear models, C = Xᵀ R Y, as an operator that is never formed.
//!
//! C·B = Xᵀ(R(Y·B)), less a·(bᵀB) where a centring a·bᵀ is taken off. Three sparse products
//! cost (nnz X + nnz R + nnz Y) multiply-adds per column of B whatever C looks like, while
//! one frequent word is enough to make C nearly dense. Columns go through in equal blocks of at
//! most [`WIDTH`], so that the products in between take n × [`WIDTH`] numbers, not n × k.
//!
//! The transposes of the three factors are kept: twice the memory, and every product is a
//! pass over rows.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockRef, Dense};
use crate::sparse::{Csr, check_shapes, csr_times_dense};
use crate::{Error, Result};

/// The most latent columns that go through the factors together. A narrow block costs nearly as
/// many jumps in memory as a wide one.
const WIDTH: usize = 96;
/// Columns that the kernel sums at once.
const LANES: usize = 8;
/// Rows whose share of bᵀB is summed by one thread.
const ROWS_PER_SUM: usize = 4096;

/// What is taken off C before it is factorised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Centring {
    /// Nothing: C as it is.
    #[default]
    None,
    /// The mean query: C − x̄·(YᵀRᵀ1)ᵀ with x̄ = Xᵀ1/n over all n queries.
    Mean,
    /// The click-weighted means: C − (XᵀR1)(YᵀRᵀ1)ᵀ/(1ᵀR1).
    Clicks,
}

/// C = Xᵀ R Y, less its centring, as something that multiplies blocks of columns.
#[derive(Debug, Clone)]
pub struct Operator {
    x: Csr,
    r: Csr,
    y: Csr,
    x_t: Csr,
    r_t: Csr,
    y_t: Csr,
    correction: Option<Correction>,
}

/// The rank-one matrix a·bᵀ.
#[derive(Debug, Clone)]
struct Correction {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Operator {
    /// The operator of X (queries × query features), R (queries × documents, weighted) and Y
    /// (documents × document features).
    pub fn new(x: Csr, r: Csr, y: Csr, centring: Centring) -> Result<Self> {
        check_shapes(&x, &r, &y)?;
        let (x_t, r_t, y_t) = (x.transpose(), r.transpose(), y.transpose());
        let correction = match centring {
            Centring::None => None,
            Centring::Mean => {
                let n = x.n_rows().max(1) as f64;
                let mean = x_t.row_sums().into_iter().map(|sum| sum / n).collect();
                Some(Correction { a: mean, b: y_t.times_vector(&r_t.row_sums()) })
            }
            Centring::Clicks => clicks_correction(&r, &x_t, &r_t, &y_t)?,
        };
        Ok(Operator { x, r, y, x_t, r_t, y_t, correction })
    }

    /// out = C·B, for B with one row per document feature.
    ///
    /// # Panics
    /// If `b` is not d_y × k or `out` is not d_x × k.
    pub fn apply(&self, b: &Dense, out: &mut Dense) {
        chain([&self.y, &self.r, &self.x_t], b, out);
        if let Some(Correction { a: left, b: right }) = &self.correction {
            subtract_rank_one(left, right, b, out);
        }
    }

    /// out = Cᵀ·B, for B with one row per query feature.
    ///
    /// # Panics
    /// If `b` is not d_x × k or `out` is not d_y × k.
    pub fn apply_transpose(&self, b: &Dense, out: &mut Dense) {
        chain([&self.x, &self.r_t, &self.y_t], b, out);
        if let Some(Correction { a: left, b: right }) = &self.correction {
            subtract_rank_one(right, left, b, out);
        }
    }

    /// The number of query features, the rows of C.
    pub fn d_x(&self) -> usize {
        self.x.n_cols()
    }

    /// The number of document features, the columns of C.
    pub fn d_y(&self) -> usize {
        self.y.n_cols()
    }

    /// X, queries × query features.
    pub fn x(&self) -> &Csr {
        &self.x
    }

    /// Y, documents × document features.
    pub fn y(&self) -> &Csr {
        &self.y
    }

    /// R, queries × documents, weighted.
    pub fn r(&self) -> &Csr {
        &self.r
    }

    /// The norm of what the centring takes off, zero without one. Rounding errors have its
    /// size times 10⁻⁷ even where nearly nothing is left.
    pub fn correction_norm(&self) -> f64 {
        let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        self.correction.as_ref().map_or(0.0, |Correction { a, b }| norm(a) * norm(b))
    }
}

fn clicks_correction(r: &Csr, x_t: &Csr, r_t: &Csr, y_t: &Csr) -> Result<Option<Correction>> {
    let rows = r.row_sums();
    let total: f64 = rows.iter().sum();
    let size: f64 = r.values().iter().map(|&value| f64::from(value).abs()).sum();
    if size == 0.0 {
        return Ok(None);
    }
    // Signed clicks may cancel; dividing by what rounding leaves of them would be noise.
    if total.abs() <= 1e-6 * size {
        return Err(Error::parameter(
            "centring",
            "clicks",
            "none or mean: these responses sum to zero, so there is no click-weighted mean",
        ));
    }
    let b = y_t.times_vector(&r_t.row_sums());
    let a = x_t.times_vector(&rows).into_iter().map(|value| value / total).collect();
    Ok(Some(Correction { a, b }))
}

/// out = third·(second·(first·B)), a block of columns after the other.
fn chain(factors: [&Csr; 3], b: &Dense, out: &mut Dense) {
    let [first, second, third] = factors;
    assert_eq!(b.n_rows(), first.n_cols(), "one row of B per feature of its side");
    assert_eq!(out.n_rows(), third.n_rows(), "one row of the product per feature of its side");
    assert_eq!(b.n_cols(), out.n_cols(), "as many columns out as in");
    let n_blocks = b.n_cols().div_ceil(WIDTH).max(1);
    let width = b.n_cols().div_ceil(n_blocks).next_multiple_of(LANES);
    let mut inner = Dense::zeros(first.n_rows(), width);
    let mut outer = Dense::zeros(second.n_rows(), width);
    for start in (0..b.n_cols()).step_by(width.max(1)) {
        let columns = start..(start + width).min(b.n_cols());
        let here = 0..columns.len();
        csr_times_dense(first, b.block(columns.clone()), inner.block_mut(here.clone()));
        csr_times_dense(second, inner.block(here.clone()), outer.block_mut(here.clone()));
        csr_times_dense(third, outer.block(here), out.block_mut(columns));
    }
}

/// out −= left·(rightᵀB).
fn subtract_rank_one(left: &[f64], right: &[f64], b: &Dense, out: &mut Dense) {
    let projection = weighted_row_sum(right, b.block(0..b.n_cols()));
    out.rows_mut().zip(left).for_each(|(row, &a)| {
        for (value, p) in row.iter_mut().zip(&projection) {
            *value = (f64::from(*value) - a * p) as f32;
        }
    });
}

/// Σ_i weight_i·(row i), in f64 over fixed blocks of rows.
fn weighted_row_sum(weights: &[f64], block: BlockRef<'_>) -> Vec<f64> {
    let shares: Vec<Vec<f64>> = weights
        .par_chunks(ROWS_PER_SUM)
        .enumerate()
        .map(|(chunk, weights)| {
            let mut sums = vec![0.0; block.width()];
            for (k, &weight) in weights.iter().enumerate() {
                let row = block.row(chunk * ROWS_PER_SUM + k);
                sums.iter_mut().zip(row).for_each(|(sum, &b)| *sum += weight * f64::from(b));
            }
            sums
        })
        .collect();
    shares.iter().fold(vec![0.0; block.width()], |mut total, share| {
        total.iter_mut().zip(share).for_each(|(total, share)| *total += share);
        total
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::oracle::{Naive, random_csr, same_at_any_thread_count, sparse_triple};

    const ALL: [Centring; 3] = [Centring::None, Centring::Mean, Centring::Clicks];

    /// C as the formulas say it, entry by entry.
    fn explicit(x: &Csr, r: &Csr, y: &Csr, centring: Centring) -> Naive {
        let (x, r, y) = (Naive::of(x), Naive::of(r), Naive::of(y));
        let c = x.transpose().times(&r).times(&y);
        let ones = |n| Naive::from_fn(n, 1, |_, _| 1.0);
        let y_side = y.transpose().times(&r.transpose()).times(&ones(r.n_rows));
        let (x_side, divisor) = match centring {
            Centring::None => return c,
            Centring::Mean => (x.transpose().times(&ones(x.n_rows)), x.n_rows as f64),
            Centring::Clicks => {
                (x.transpose().times(&r).times(&ones(r.n_cols)), r.values.iter().sum())
            }
        };
        Naive::from_fn(c.n_rows, c.n_cols, |u, v| {
            let correction = x_side.values[u] * y_side.values[v];
            c.get(u, v) - if correction == 0.0 { 0.0 } else { correction / divisor }
        })
    }

    fn products(operator: &Operator, width: usize) -> (Dense, Dense) {
        let mut right = Dense::zeros(operator.d_x(), width);
        operator.apply(&Dense::gaussian(operator.d_y(), width, 1), &mut right);
        let mut left = Dense::zeros(operator.d_y(), width);
        operator.apply_transpose(&Dense::gaussian(operator.d_x(), width, 2), &mut left);
        (right, left)
    }

    proptest! {
        #[test]
        fn products_agree_with_the_explicit_matrix(
            (x, r, y) in sparse_triple(),
            width in prop_oneof![0usize..9, Just(64), Just(131)],
            positive in any::<bool>(),
        ) {
            let r = if positive { r.map(|_, _, value| value.abs()).unwrap() } else { r };
            for centring in ALL {
                let Ok(operator) = Operator::new(x.clone(), r.clone(), y.clone(), centring) else {
                    prop_assert!(centring == Centring::Clicks && !positive);
                    continue;
                };
                let c = explicit(&x, &r, &y, centring);
                let (right, left) = products(&operator, width);
                let size = c.values.iter().fold(1.0, |m: f64, v| m.max(v.abs()))
                    .max(operator.correction_norm());
                let gaussian = |n, seed| Naive::of_dense(&Dense::gaussian(n, width, seed));
                c.times(&gaussian(c.n_cols, 1)).assert_close(&right, 1e-4 * size);
                c.transpose().times(&gaussian(c.n_rows, 2)).assert_close(&left, 1e-4 * size);
            }
        }
    }

    #[test]
    fn products_do_not_depend_on_the_threads() {
        let x = random_csr(9000, 5000, 4, 1);
        let r = random_csr(9000, 3000, 2, 2).map(|_, _, value| value.abs()).unwrap();
        let y = random_csr(3000, 2000, 6, 3);
        for centring in ALL {
            let operator = Operator::new(x.clone(), r.clone(), y.clone(), centring).unwrap();
            same_at_any_thread_count(|| products(&operator, 70));
        }
    }

    #[test]
    fn centring_leaves_no_mean_query_and_no_mean_click() {
        let x = random_csr(50, 20, 4, 1);
        let r = random_csr(50, 30, 2, 2).map(|_, _, value| value.abs()).unwrap();
        let ones = Csr::new(1, (0..=30).collect(), vec![0; 30], vec![1.0; 30]).unwrap();
        let operator = Operator::new(x, r, ones, Centring::Clicks).unwrap();
        let mut out = Dense::zeros(20, 1);
        operator.apply(&Dense::from_fn(1, 1, |_, _| 1.0), &mut out);
        assert!(out.values().iter().all(|value| value.abs() < 1e-5), "{out:?}");
    }

    #[test]
    fn responses_that_cancel_have_no_click_weighted_mean() {
        let r = Csr::from_triplets(2, 1, vec![(0, 0, 1.0), (1, 0, -1.0)]).unwrap();
        let x = random_csr(2, 3, 2, 1);
        let y = random_csr(1, 3, 2, 2);
        let error = Operator::new(x.clone(), r, y.clone(), Centring::Clicks).unwrap_err();
        assert!(error.to_string().contains("sum to zero"), "{error}");
        assert!(Operator::new(x, Csr::empty(2, 1), y, Centring::Clicks).is_ok());
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused_by_axis() {
        let error =
            Operator::new(Csr::empty(2, 3), Csr::empty(4, 5), Csr::empty(5, 6), Centring::None)
                .unwrap_err();
        assert!(error.to_string().contains("X has 2 rows but R has 4"), "{error}");
    }
}
