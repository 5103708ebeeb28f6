//! A query's weights of document features, by sparse products with the factors of C, or with its rows where
//! a feature is frequent.

use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::norms::Scales;
use super::params::Depth;
use crate::matchers::sparse_vector::{SparseVector, row_of, vector_of};
use crate::sparse::{Csr, Row, RowSum, check_shapes, finite_c};
use crate::{Error, Result};

/// A row of C is formed for a query feature of at least this many queries: their documents share features,
/// so that the row has a fraction of the entries that the products with the factors add up.
const FREQUENT: usize = 8;
/// Multiply-adds that form rows in a few seconds.
const FORMING_MULTIPLY_ADDS: u64 = 1 << 32;

/// The matrix between query features and document features.
pub(super) struct Kernel {
    /// Query features × training queries.
    x_t: Csr,
    /// Training queries × documents.
    r: Csr,
    /// Documents × document features.
    y: Arc<Csr>,
    /// The rows of C of frequent query features; the others are empty.
    c_rows: Csr,
    /// The factors of Cᵀ, for one sweep.
    transposed: Option<TransposedFactors>,
    scales: Scales,
    /// Sums that no query uses at the moment, so that none is allocated for a query.
    free: Mutex<Vec<Sums>>,
}

/// X, Rᵀ and Yᵀ, whose products are those with Cᵀ.
struct TransposedFactors {
    x: Csr,
    r_t: Csr,
    y_t: Csr,
}

/// The intermediate products of one query.
struct Sums {
    /// The query whose weights `features` has.
    query: SparseVector,
    queries: RowSum,
    docs: RowSum,
    features: RowSum,
    query_features: Option<RowSum>,
}

impl Kernel {
    pub fn new(depth: Depth, x: Csr, r: Csr, y: Arc<Csr>, scales: Scales) -> Result<Self> {
        check_shapes(&x, &r, &y)?;
        if (scales.x.len(), scales.y.len()) != (x.n_cols(), y.n_cols()) {
            return Err(Error::Structure {
                problem: format!(
                    "there are norms of {} query features and {} document features, but there are {} and {} features",
                    scales.x.len(),
                    scales.y.len(),
                    x.n_cols(),
                    y.n_cols()
                ),
            });
        }
        let x_t = x.transpose();
        let c_rows = frequent_rows(&x_t, &r, &y)?;
        let transposed = (depth == Depth::One).then(|| TransposedFactors {
            r_t: r.transpose(),
            y_t: y.transpose(),
            x,
        });
        Ok(Kernel { x_t, r, y, c_rows, transposed, scales, free: Mutex::default() })
    }

    pub fn scales(&self) -> &Scales {
        &self.scales
    }

    /// The same with `n_new` more query features, which have no weights.
    pub fn widened(&self, n_new: usize) -> Result<Self> {
        let d_x = self.x_t.n_rows() + n_new;
        let mut scales = self.scales.clone();
        scales.x.resize(d_x, 0.0);
        let transposed = match &self.transposed {
            Some(TransposedFactors { x, r_t, y_t }) => {
                Some(TransposedFactors { x: x.widened(d_x)?, r_t: r_t.clone(), y_t: y_t.clone() })
            }
            None => None,
        };
        Ok(Kernel {
            x_t: with_empty_rows(&self.x_t, d_x)?,
            r: self.r.clone(),
            y: Arc::clone(&self.y),
            c_rows: with_empty_rows(&self.c_rows, d_x)?,
            transposed,
            scales,
            free: Mutex::default(),
        })
    }

    /// Calls `f` with the weights of document features for a query.
    pub fn with<T>(&self, query: Row<'_>, f: impl FnOnce(&RowSum) -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sums = free.unwrap_or_else(|| self.sums());
        // A search asks for the same query more than once: for candidates, and for their scores.
        if row_of(&sums.query) != query {
            self.set(query, &mut sums);
            sums.query = vector_of(query);
        }
        let made = f(&sums.features);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(sums);
        made
    }

    /// Sets the weights of document features to those of a query.
    fn set(&self, query: Row<'_>, sums: &mut Sums) {
        let Sums { queries, docs, features, query_features, .. } = sums;
        let given = query.iter().map(|(u, x)| (u, f64::from(x)));
        self.times_c(given, queries, docs, features);
        if let (Some(transposed), Some(query_features)) = (&self.transposed, query_features) {
            docs.set(features.entries(), &transposed.y_t);
            queries.set(docs.entries(), &transposed.r_t);
            query_features.set(queries.entries(), &transposed.x);
            self.times_c(query_features.entries(), queries, docs, features);
        }
        features.scale(&self.scales.y);
    }

    /// Sets `features` to the product of `query` with the rows of C, scaled by their norms.
    fn times_c(
        &self,
        query: impl Iterator<Item = (u32, f64)> + Clone,
        queries: &mut RowSum,
        docs: &mut RowSum,
        features: &mut RowSum,
    ) {
        let scaled = query.map(|(u, x)| (u, x * f64::from(self.scales.x[u as usize])));
        let is_formed = |&(u, _): &(u32, f64)| !self.c_rows.row(u as usize).is_empty();
        features.set(scaled.clone().filter(is_formed), &self.c_rows);
        queries.set(scaled.filter(|feature| !is_formed(feature)), &self.x_t);
        docs.set(queries.entries(), &self.r);
        features.add(docs.entries(), &self.y);
    }

    fn sums(&self) -> Sums {
        Sums {
            query: SparseVector::default(),
            queries: RowSum::new(self.r.n_rows()),
            docs: RowSum::new(self.r.n_cols()),
            features: RowSum::new(self.y.n_cols()),
            query_features: self
                .transposed
                .as_ref()
                .map(|transposed| RowSum::new(transposed.x.n_cols())),
        }
    }

    /// The number of features whose rows are formed.
    #[cfg(test)]
    pub fn n_formed(&self) -> usize {
        self.c_rows.rows().filter(|row| !row.is_empty()).count()
    }
}

/// The rows of C of frequent features, the costliest first, until they have as many entries as the factors;
/// the other rows are empty.
fn frequent_rows(x_t: &Csr, r: &Csr, y: &Csr) -> Result<Csr> {
    let per_query: Vec<u64> = (0..r.n_rows())
        .into_par_iter()
        .map(|i| r.row(i).indices.iter().map(|&j| y.row(j as usize).len() as u64).sum())
        .collect();
    let mut frequent: Vec<(u64, usize)> = (0..x_t.n_rows())
        .filter(|&u| x_t.row(u).len() >= FREQUENT)
        .map(|u| (x_t.row(u).indices.iter().map(|&i| per_query[i as usize]).sum(), u))
        .collect();
    frequent.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut entries = (x_t.nnz() + r.nnz() + y.nnz()) as u64;
    let mut work = FORMING_MULTIPLY_ADDS;
    let mut is_formed = vec![false; x_t.n_rows()];
    for (multiply_adds, u) in frequent {
        let most = multiply_adds.min(y.n_cols() as u64);
        if most <= entries && multiply_adds <= work {
            entries -= most;
            work -= multiply_adds;
            is_formed[u] = true;
        }
    }
    let some = Csr::by_rows(x_t.n_cols(), x_t.n_rows(), |u| {
        let row = if is_formed[u] { vector_of(x_t.row(u)) } else { SparseVector::default() };
        Ok(row)
    })?;
    match finite_c(&some, r, y)? {
        Some(rows) => Ok(rows),
        // Products with the factors are sums of f64.
        None => Csr::by_rows(y.n_cols(), x_t.n_rows(), |_| Ok(SparseVector::default())),
    }
}

/// `matrix` with empty rows at its end.
fn with_empty_rows(matrix: &Csr, n_rows: usize) -> Result<Csr> {
    let mut starts = matrix.starts().to_vec();
    starts.resize(n_rows + 1, matrix.nnz() as u64);
    Csr::new(matrix.n_cols(), starts, matrix.indices().to_vec(), matrix.values().to_vec())
}
