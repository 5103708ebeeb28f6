//! A query's weights of document features, by sparse products with the factors of C.

use std::sync::{Arc, Mutex, PoisonError};

use super::norms::Norms;
use super::params::Depth;
use crate::matchers::sparse_vector::{SparseVector, row_of, vector_of};
use crate::params::check::check_shape;
use crate::sparse::{Csr, Row, RowSum, check_shapes};
use crate::{Error, Result};

/// The matrix between query features and document features, as its factors.
pub(super) struct Kernel {
    /// Query features × training queries.
    x_t: Csr,
    /// Training queries × documents.
    r: Csr,
    /// Documents × document features.
    y: Arc<Csr>,
    /// What one sweep needs besides: X, Rᵀ and Yᵀ.
    back: Option<Back>,
    norms: Norms,
    /// Sums that no query uses at the moment, so that none is allocated for a query.
    free: Mutex<Vec<Sums>>,
}

/// The factors of Cᵀ.
struct Back {
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
    pub fn new(depth: Depth, x: Csr, r: Csr, y: Arc<Csr>, norms: Norms) -> Result<Self> {
        check_shapes(&x, &r, &y)?;
        if (norms.x.len(), norms.y.len()) != (x.n_cols(), y.n_cols()) {
            return Err(Error::Structure {
                problem: format!(
                    "there are norms of {} query features and {} document features, but there are {} and {} features",
                    norms.x.len(),
                    norms.y.len(),
                    x.n_cols(),
                    y.n_cols()
                ),
            });
        }
        let x_t = x.transpose();
        let back =
            (depth == Depth::One).then(|| Back { r_t: r.transpose(), y_t: y.transpose(), x });
        Ok(Kernel { x_t, r, y, back, norms, free: Mutex::default() })
    }

    pub fn norms(&self) -> &Norms {
        &self.norms
    }

    /// The same with `n_new` more query features, which have no weights.
    pub fn widened(&self, n_new: usize) -> Result<Self> {
        let d_x = self.x_t.n_rows() + n_new;
        let mut norms = self.norms.clone();
        norms.x.resize(d_x, 0.0);
        let mut starts = self.x_t.starts().to_vec();
        starts.resize(d_x + 1, self.x_t.nnz() as u64);
        let (indices, values) = (self.x_t.indices().to_vec(), self.x_t.values().to_vec());
        let x_t = Csr::new(self.x_t.n_cols(), starts, indices, values)?;
        check_shape("Xᵀ", &x_t, d_x, self.r.n_rows())?;
        let back = match &self.back {
            Some(Back { x, r_t, y_t }) => {
                Some(Back { x: x.widened(d_x)?, r_t: r_t.clone(), y_t: y_t.clone() })
            }
            None => None,
        };
        let (r, y) = (self.r.clone(), Arc::clone(&self.y));
        Ok(Kernel { x_t, r, y, back, norms, free: Mutex::default() })
    }

    /// Calls `f` with the weights of document features for a query.
    pub fn with<T>(&self, query: Row<'_>, f: impl FnOnce(&RowSum) -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sums = free.unwrap_or_else(|| self.sums());
        // A search asks for the same query twice: for candidates, and for their scores.
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
        let scaled = |(u, x): (u32, f32)| (u, f64::from(x) * f64::from(self.norms.x[u as usize]));
        queries.set(query.iter().map(scaled), &self.x_t);
        docs.set(queries.entries(), &self.r);
        features.set(docs.entries(), &self.y);
        if let (Some(back), Some(query_features)) = (&self.back, query_features) {
            docs.set(features.entries(), &back.y_t);
            queries.set(docs.entries(), &back.r_t);
            query_features.set(queries.entries(), &back.x);
            let scaled = |(u, x): (u32, f64)| (u, x * f64::from(self.norms.x[u as usize]));
            queries.set(query_features.entries().map(scaled), &self.x_t);
            docs.set(queries.entries(), &self.r);
            features.set(docs.entries(), &self.y);
        }
        features.scale(&self.norms.y);
    }

    fn sums(&self) -> Sums {
        Sums {
            query: SparseVector::default(),
            queries: RowSum::new(self.r.n_rows()),
            docs: RowSum::new(self.r.n_cols()),
            features: RowSum::new(self.y.n_cols()),
            query_features: self.back.as_ref().map(|back| RowSum::new(back.x.n_cols())),
        }
    }
}
