//! The one matrix of the bilinear models, C = Xᵀ R Y, as an operator that is never formed.
//!
//! C·B = Xᵀ(R(Y·B)), less a·(bᵀB) where a centring a·bᵀ is subtracted. Three sparse products
//! cost (nnz X + nnz R + nnz Y) multiply-adds per column of B whatever C looks like, while
//! one frequent word is enough to make C nearly dense. Where C has fewer entries than its factors,
//! it is formed after all (the papers' Algorithm 1): [`Operator::new`] counts, and
//! [`Operator::product_form`] has the choice.
//!
//! Columns are multiplied in panels of [`PANEL`], so that intermediate products take n × [`PANEL`]
//! numbers and can stay in the cache. The transposes are stored: twice the memory, and every product
//! is a pass over rows.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{added, ranges};
use super::{Buffer, Dense};
use crate::dense::{PANEL, PanelRow};
use crate::sparse::{Csr, TaskedCsr, check_shapes, finite_c, nnz_of_product3_up_to, times_panel};
use crate::{Error, Result};

/// Rows whose share of bᵀB is summed by one task.
const ROWS_PER_SUM: usize = 4096;

/// The rank-one matrix subtracted from C before it is factorised.
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

/// Side of C for which a product yields rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Query features: C·B.
    X,
    /// Document features: Cᵀ·B.
    Y,
}

impl Side {
    /// The other side.
    pub fn other(self) -> Side {
        match self {
            Side::X => Side::Y,
            Side::Y => Side::X,
        }
    }
}

/// C = Xᵀ R Y, less its centring, as an operator on blocks of columns.
#[derive(Debug)]
pub struct Operator {
    matrices: Matrices,
    form: ProductForm,
    shape: Shape,
    correction: Option<Correction>,
    /// For products with whole matrices. The system provides its memory at the first product.
    workspace: Mutex<Workspace>,
}

#[derive(Debug)]
struct Workspace {
    scratch: Scratch,
    x: Buffer,
    y: Buffer,
}

/// The sizes of X, R and Y.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of X and R.
    pub n_queries: usize,
    /// Rows of Y, columns of R.
    pub n_docs: usize,
    /// Columns of X.
    pub d_x: usize,
    /// Columns of Y.
    pub d_y: usize,
    /// Non-zeros of X.
    pub nnz_x: usize,
    /// Non-zeros of Y.
    pub nnz_y: usize,
    /// Non-zeros of R.
    pub nnz_r: usize,
}

/// The stored matrices, for C·B and for Cᵀ·B.
#[derive(Debug, Clone)]
enum Matrices {
    Factors(Box<[[TaskedCsr; 3]; 2]>),
    Explicit(Box<[TaskedCsr; 2]>),
}

/// Whether products with C use C itself or its factors, and the counts that decided it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductForm {
    /// Whether C was formed.
    pub explicit: bool,
    /// Non-zeros of X, R and Y together: multiply-adds per column through the factors.
    pub factors: u64,
    /// Non-zeros of C; `None` if there are more than in the factors.
    pub c: Option<u64>,
}

impl fmt::Display for ProductForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProductForm { explicit, factors, c } = self;
        match (explicit, c) {
            (true, Some(c)) => write!(f, "C itself ({c} non-zeros; its factors have {factors})"),
            (_, Some(c)) => write!(f, "its three factors ({factors} non-zeros; C itself has {c})"),
            (_, None) => write!(f, "its three factors ({factors} non-zeros; C itself has more)"),
        }
    }
}

/// The rank-one matrix a·bᵀ.
#[derive(Debug, Clone)]
struct Correction {
    a: Vec<f64>,
    b: Vec<f64>,
}

/// Buffers for the intermediate products of one panel.
#[derive(Debug)]
pub struct Scratch {
    docs: Buffer,
    queries: Buffer,
}

/// The values of the first factor of a product, with the scaling of B's rows folded in.
pub struct Scaled<'a> {
    side: Side,
    values: Cow<'a, [f32]>,
    /// The vector of the centring that is multiplied with B, scaled as well.
    correction: Option<Cow<'a, [f64]>>,
}

impl Operator {
    /// The operator of X (queries × query features), R (queries × documents, weighted) and Y
    /// (documents × document features).
    pub fn new(x: Csr, r: Csr, y: Csr, centring: Centring) -> Result<Self> {
        check_shapes(&x, &r, &y)?;
        let factors = (x.nnz() + r.nnz() + y.nnz()) as u64;
        let x_t = x.transpose();
        // Counting stops when forming C no longer pays.
        let c = nnz_of_product3_up_to(&x_t, &r, &y, factors);
        let explicit = c.is_some_and(|c| c < factors);
        Operator::in_form([x, x_t, r, y], centring, ProductForm { explicit, factors, c })
    }

    fn in_form([x, x_t, r, y]: [Csr; 4], centring: Centring, form: ProductForm) -> Result<Self> {
        let (r_t, y_t) = (r.transpose(), y.transpose());
        let correction = match centring {
            Centring::None => None,
            Centring::Mean => {
                let n = x.n_rows().max(1) as f64;
                let mean = x_t.row_sums().into_iter().map(|sum| sum / n).collect();
                Some(Correction { a: mean, b: y_t.times_vector(&r_t.row_sums()) })
            }
            Centring::Clicks => clicks_correction(&r, &x_t, &r_t, &y_t)?,
        };
        let shape = Shape {
            n_queries: x.n_rows(),
            n_docs: y.n_rows(),
            d_x: x.n_cols(),
            d_y: y.n_cols(),
            nnz_x: x.nnz(),
            nnz_y: y.nnz(),
            nnz_r: r.nnz(),
        };
        // If an entry of C overflows, the factors are used: their products report where.
        let c = if form.explicit { finite_c(&x_t, &r, &y)? } else { None };
        let form = ProductForm { explicit: c.is_some(), ..form };
        let matrices = match c {
            Some(c) => {
                let c_t = c.transpose();
                Matrices::Explicit(Box::new([c, c_t].map(TaskedCsr::new)))
            }
            None => Matrices::Factors(Box::new([
                [y, r, x_t].map(TaskedCsr::new),
                [x, r_t, y_t].map(TaskedCsr::new),
            ])),
        };
        let workspace = Mutex::new(Workspace {
            scratch: Scratch::new(shape, form)?,
            x: Buffer::zeros(shape.d_x * PANEL)?,
            y: Buffer::zeros(shape.d_y * PANEL)?,
        });
        Ok(Operator { matrices, form, shape, correction, workspace })
    }

    /// The sizes of its factors.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether products use C itself or its factors.
    pub fn product_form(&self) -> ProductForm {
        self.form
    }

    /// Buffers for the intermediate products of [`Operator::times_panel`].
    pub fn scratch(&self) -> Result<Scratch> {
        Scratch::new(self.shape, self.form)
    }

    /// Prepares products for `side` with diag(`scale`)·B in place of B.
    ///
    /// # Panics
    /// If there is not one factor per row of B.
    pub fn scaled(&self, side: Side, scale: Option<&[f32]>) -> Scaled<'_> {
        let first = match &self.matrices {
            Matrices::Factors(factors) => &factors[side as usize][0],
            Matrices::Explicit(c) => &c[side as usize],
        };
        let matrix = first.matrix();
        let right = self.correction.as_ref().map(|correction| correction.right(side));
        let Some(scale) = scale else {
            let (values, correction) = (matrix.values().into(), right.map(Cow::from));
            return Scaled { side, values, correction };
        };
        assert_eq!(scale.len(), matrix.n_cols(), "one factor per row of B");
        let mut values = matrix.values().to_vec();
        values
            .par_iter_mut()
            .zip(matrix.indices())
            .for_each(|(value, &column)| *value *= scale[column as usize]);
        let correction = right.map(|right| {
            right.iter().zip(scale).map(|(right, &scale)| right * f64::from(scale)).collect()
        });
        Scaled { side, values: values.into(), correction }
    }

    /// Calls `finish(i, row, out_i, about_i)` with every row of the product of C (or Cᵀ) and the
    /// panel `b`.
    ///
    /// # Panics
    /// If `b` and `out` are not panels of their sides' features.
    pub fn times_panel<T: Send>(
        &self,
        first: &Scaled<'_>,
        b: &[f32],
        scratch: &mut Scratch,
        out: &mut [f32],
        about: &mut [T],
        finish: impl Fn(usize, &mut PanelRow, &mut PanelRow, &mut T) + Sync,
    ) {
        let side = first.side;
        let projection = first.correction.as_ref().map(|right| weighted_row_sum(right, b));
        let left = self.correction.as_ref().map(|correction| correction.left(side));
        let finish = |i: usize, sums: &mut PanelRow, out: &mut PanelRow, about: &mut T| {
            if let (Some(left), Some(projection)) = (left, &projection) {
                for (value, p) in sums.iter_mut().zip(projection) {
                    *value = (f64::from(*value) - left[i] * p) as f32;
                }
            }
            finish(i, sums, out, about);
        };
        match &self.matrices {
            Matrices::Explicit(c) => c[side as usize].times(&first.values, b, out, about, finish),
            Matrices::Factors(factors) => {
                let [f1, f2, f3] = &factors[side as usize];
                let Scratch { docs, queries } = scratch;
                let (inner, outer) = match side {
                    Side::X => (docs, queries),
                    Side::Y => (queries, docs),
                };
                times_panel(f1, &first.values, b, inner);
                times_panel(f2, f2.matrix().values(), inner, outer);
                f3.times(f3.matrix().values(), outer, out, about, finish);
            }
        }
    }

    /// out = C·B, for B with one row per document feature.
    ///
    /// # Panics
    /// If `b` is not d_y × k or `out` is not d_x × k.
    pub fn apply(&self, b: &Dense, out: &mut Dense) {
        self.product(Side::X, b, out);
    }

    /// out = Cᵀ·B, for B with one row per query feature.
    ///
    /// # Panics
    /// If `b` is not d_x × k or `out` is not d_y × k.
    pub fn apply_transpose(&self, b: &Dense, out: &mut Dense) {
        self.product(Side::Y, b, out);
    }

    /// C·B or Cᵀ·B, panel by panel.
    fn product(&self, side: Side, b: &Dense, out: &mut Dense) {
        assert_eq!(b.n_rows(), self.d(side.other()), "one row of B per feature of its side");
        assert_eq!(out.n_rows(), self.d(side), "one row of the product per feature of its side");
        assert_eq!(b.n_cols(), out.n_cols(), "as many columns out as in");
        let first = self.scaled(side, None);
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let Workspace { scratch, x, y } = &mut *workspace;
        let (here, there) = if side == Side::X { (y, x) } else { (x, y) };
        let mut nothing = vec![(); out.n_rows()];
        for columns in ranges(b.n_cols(), PANEL) {
            b.copy_to_panel(columns.clone(), here);
            let keep = |_, sums: &mut PanelRow, out: &mut PanelRow, (): &mut ()| *out = *sums;
            self.times_panel(&first, here, scratch, there, &mut nothing, keep);
            out.copy_from_panel(columns, there);
        }
    }

    /// A bound on |C|·b (or |Cᵀ|·b for `Side::Y`), from the absolute values of the factors and of the
    /// centring; `b` is not negative.
    ///
    /// # Panics
    /// If `b` has not one entry per feature of the other side.
    pub fn magnitudes(&self, side: Side, b: &[f64]) -> Vec<f64> {
        let mut bound = match &self.matrices {
            Matrices::Explicit(c) => c[side as usize].matrix().abs_times_vector(b),
            Matrices::Factors(factors) => {
                let [f1, f2, f3] = &factors[side as usize];
                let inner = f1.matrix().abs_times_vector(b);
                f3.matrix().abs_times_vector(&f2.matrix().abs_times_vector(&inner))
            }
        };
        if let Some(correction) = &self.correction {
            let right = correction.right(side).iter().zip(b);
            let projection: f64 = right.map(|(right, b)| right.abs() * b).sum();
            let left = correction.left(side).iter();
            bound.iter_mut().zip(left).for_each(|(sum, left)| *sum += left.abs() * projection);
        }
        bound
    }

    /// The number of features of a side.
    pub fn d(&self, side: Side) -> usize {
        match side {
            Side::X => self.shape.d_x,
            Side::Y => self.shape.d_y,
        }
    }

    /// The number of query features, the rows of C.
    pub fn d_x(&self) -> usize {
        self.shape.d_x
    }

    /// The number of document features, the columns of C.
    pub fn d_y(&self) -> usize {
        self.shape.d_y
    }

    /// The norm of the centring, zero without one. Rounding errors have its size times 10⁻⁷, even
    /// where the centred C is nearly zero.
    pub fn correction_norm(&self) -> f64 {
        let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        self.correction.as_ref().map_or(0.0, |Correction { a, b }| norm(a) * norm(b))
    }
}

impl Scratch {
    fn new(shape: Shape, form: ProductForm) -> Result<Self> {
        let rows = |n: usize| if form.explicit { 0 } else { n * PANEL };
        let docs = Buffer::zeros(rows(shape.n_docs))?;
        Ok(Scratch { docs, queries: Buffer::zeros(rows(shape.n_queries))? })
    }
}

impl Correction {
    /// The vector with one entry per row of the product.
    fn left(&self, side: Side) -> &[f64] {
        if side == Side::X { &self.a } else { &self.b }
    }

    /// The vector with one entry per row of B.
    fn right(&self, side: Side) -> &[f64] {
        if side == Side::X { &self.b } else { &self.a }
    }
}

fn clicks_correction(r: &Csr, x_t: &Csr, r_t: &Csr, y_t: &Csr) -> Result<Option<Correction>> {
    let rows = r.row_sums();
    let total: f64 = rows.iter().sum();
    let size: f64 = r.values().iter().map(|&value| f64::from(value).abs()).sum();
    if size == 0.0 {
        return Ok(None);
    }
    // Signed clicks may cancel; dividing by the rounding error of their sum would give noise.
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

/// Σ_i weight_i·(row i), in f64 over fixed blocks of rows.
fn weighted_row_sum(weights: &[f64], panel: &[f32]) -> [f64; PANEL] {
    let (rows, _) = panel.as_chunks::<PANEL>();
    let shares: Vec<[f64; PANEL]> = weights
        .par_chunks(ROWS_PER_SUM)
        .zip(rows.par_chunks(ROWS_PER_SUM))
        .map(|(weights, rows)| {
            let mut sums = [0.0; PANEL];
            for (&weight, row) in weights.iter().zip(rows) {
                sums.iter_mut().zip(row).for_each(|(sum, &b)| *sum += weight * f64::from(b));
            }
            sums
        })
        .collect();
    added(&shares)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::oracle::{Naive, random_csr, same_at_any_thread_count, sparse_triple};

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

    proptest! {
        #[test]
        fn magnitudes_bound_every_product(
            (x, r, y) in sparse_triple(), positive in any::<bool>(),
        ) {
            let abs = |csr: Csr| csr.map(|_, _, value| value.abs()).unwrap();
            let (x, r, y) = if positive { (abs(x), abs(r), abs(y)) } else { (x, r, y) };
            for centring in ALL {
                let Ok(operator) = Operator::new(x.clone(), r.clone(), y.clone(), centring) else {
                    continue;
                };
                let c = explicit(&x, &r, &y, centring);
                for (side, c) in [(Side::X, c.clone()), (Side::Y, c.transpose())] {
                    let b: Vec<f64> = (0..c.n_cols).map(|v| 0.5 + v as f64).collect();
                    let bounds = operator.magnitudes(side, &b);
                    for (i, bound) in bounds.into_iter().enumerate() {
                        let exact: f64 = (0..c.n_cols).map(|j| c.get(i, j).abs() * b[j]).sum();
                        let error = 1e-4 * (1.0 + exact + operator.correction_norm());
                        prop_assert!(bound >= exact - error, "{bound} < {exact}");
                        if positive && centring == Centring::None {
                            prop_assert!(bound <= exact + error, "{bound} > {exact}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn c_is_formed_where_that_is_fewer_multiply_adds_and_gives_the_same_product() {
        // Queries of many words that were clicked for one document of one word each.
        let x = random_csr(300, 40, 12, 1);
        let r = random_csr(300, 5, 1, 2).map(|_, _, value| value.abs()).unwrap();
        let y = random_csr(5, 3, 1, 3);
        let chosen = Operator::new(x.clone(), r.clone(), y.clone(), Centring::Mean).unwrap();
        assert!(chosen.product_form().explicit, "{}", chosen.product_form());
        let form = ProductForm { explicit: false, ..chosen.product_form() };
        let factors =
            Operator::in_form([x.clone(), x.transpose(), r, y], Centring::Mean, form).unwrap();
        let ((a, b), (c, d)) = (products(&chosen, 40), products(&factors, 40));
        Naive::of_dense(&a).assert_close(&c, 1e-4);
        Naive::of_dense(&b).assert_close(&d, 1e-4);
        // Where an entry of C is too large, the products go through its factors.
        let big = |csr: Csr| csr.map(|_, _, _| 1e20).unwrap();
        let (x, r, y) =
            (random_csr(300, 40, 12, 1), random_csr(300, 5, 1, 2), random_csr(5, 3, 1, 3));
        let form = Operator::new(big(x), big(r), big(y), Centring::None).unwrap().product_form();
        assert!(!form.explicit && form.c.is_some(), "{form}");
        let wide = Operator::new(
            random_csr(50, 200, 9, 4),
            random_csr(50, 60, 3, 5),
            random_csr(60, 200, 9, 6),
            Centring::None,
        );
        let form = wide.unwrap().product_form();
        assert!(!form.explicit && form.c.is_none(), "{form}");
        assert!(form.to_string().ends_with("C itself has more)"), "{form}");
    }

    #[test]
    fn rows_of_b_can_be_scaled_on_the_way() {
        let (x, r, y) =
            (random_csr(90, 50, 4, 1), random_csr(90, 30, 2, 2), random_csr(30, 20, 6, 3));
        let r = r.map(|_, _, value| value.abs()).unwrap();
        for centring in ALL {
            let operator = Operator::new(x.clone(), r.clone(), y.clone(), centring).unwrap();
            let b = Dense::gaussian(20, PANEL, 4);
            let scale: Vec<f32> = (0..20).map(|i| 0.5 + i as f32).collect();
            let mut scaled_b = b.clone();
            scaled_b
                .rows_mut()
                .zip(&scale)
                .for_each(|(row, &s)| row.iter_mut().for_each(|v| *v *= s));
            let mut expected = Dense::zeros(50, PANEL);
            operator.apply(&scaled_b, &mut expected);
            let mut found = Dense::zeros(50, PANEL);
            let mut scratch = operator.scratch().unwrap();
            let first = operator.scaled(Side::X, Some(&scale));
            operator.times_panel(
                &first,
                b.values(),
                &mut scratch,
                found.values_mut(),
                &mut [(); 50],
                |_, sums, out, ()| *out = *sums,
            );
            Naive::of_dense(&expected).assert_close(&found, 1e-4);
        }
    }

    #[test]
    fn nothing_is_copied_where_nothing_is_scaled() {
        let (x, r, y) =
            (random_csr(90, 50, 4, 1), random_csr(90, 30, 2, 2), random_csr(30, 20, 6, 3));
        let r = r.map(|_, _, value| value.abs()).unwrap();
        let operator = Operator::new(x, r, y, Centring::Mean).unwrap();
        for side in [Side::X, Side::Y] {
            let Scaled { values, correction, .. } = operator.scaled(side, None);
            assert!(matches!(values, Cow::Borrowed(_)));
            assert!(matches!(correction, Some(Cow::Borrowed(_))));
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
