//! A query's weights of document features: a sum of rows of C where C is small, else sparse products with
//! its factors.

use std::sync::{Arc, Mutex, PoisonError};

use super::norms::Norms;
use super::params::Depth;
use crate::matchers::sparse_vector::{SparseVector, row_of, vector_of};
use crate::sparse::{Csr, Row, RowSum, check_shapes, finite_c, nnz_of_product3_up_to};
use crate::{Error, Result};

/// The matrix between query features and document features.
pub(super) struct Kernel {
    matrix: Matrix,
    norms: Norms,
    /// Sums that no query uses at the moment, so that none is allocated for a query.
    free: Mutex<Vec<Sums>>,
}

/// How the matrix is applied.
enum Matrix {
    /// D_x C D_y, query features × document features. Of all documents of a training query a feature has one
    /// entry, so this may be smaller than the factors, and is a few times faster.
    Formed(Csr),
    Factors(Factors),
}

/// The factors of C.
#[derive(Clone)]
struct Factors {
    /// Query features × training queries.
    x_t: Csr,
    /// Training queries × documents.
    r: Csr,
    /// Documents × document features.
    y: Arc<Csr>,
    /// What one sweep needs besides: X, Rᵀ and Yᵀ.
    back: Option<Back>,
}

/// The factors of Cᵀ.
#[derive(Clone)]
struct Back {
    x: Csr,
    r_t: Csr,
    y_t: Csr,
}

/// The intermediate products of one query.
struct Sums {
    /// The query whose weights `features` has.
    query: SparseVector,
    features: RowSum,
    products: Option<Products>,
}

/// The products with factors before the last.
struct Products {
    queries: RowSum,
    docs: RowSum,
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
        let matrix = match formed(depth, &x_t, &r, &y, &norms)? {
            Some(formed) => Matrix::Formed(formed),
            None => {
                let back = (depth == Depth::One).then(|| {
                    let (r_t, y_t) = (r.transpose(), y.transpose());
                    Back { x, r_t, y_t }
                });
                Matrix::Factors(Factors { x_t, r, y, back })
            }
        };
        Ok(Kernel { matrix, norms, free: Mutex::default() })
    }

    pub fn norms(&self) -> &Norms {
        &self.norms
    }

    /// The same with `n_new` more query features, which have no weights.
    pub fn widened(&self, n_new: usize) -> Result<Self> {
        let mut norms = self.norms.clone();
        let d_x = norms.x.len() + n_new;
        norms.x.resize(d_x, 0.0);
        let matrix = match &self.matrix {
            Matrix::Formed(matrix) => Matrix::Formed(with_empty_rows(matrix, d_x)?),
            Matrix::Factors(factors) => {
                let Factors { x_t, r, y, back } = factors.clone();
                let back = match back {
                    Some(Back { x, r_t, y_t }) => Some(Back { x: x.widened(d_x)?, r_t, y_t }),
                    None => None,
                };
                Matrix::Factors(Factors { x_t: with_empty_rows(&x_t, d_x)?, r, y, back })
            }
        };
        Ok(Kernel { matrix, norms, free: Mutex::default() })
    }

    /// Calls `f` with the weights of document features for a query.
    pub fn with<T>(&self, query: Row<'_>, f: impl FnOnce(&RowSum) -> T) -> T {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sums = free.unwrap_or_else(|| self.sums());
        // A search asks for the same query more than once: for candidates, and for their scores.
        if row_of(&sums.query) != query {
            match &self.matrix {
                Matrix::Formed(c) => {
                    sums.features.set(query.iter().map(|(u, x)| (u, f64::from(x))), c);
                }
                Matrix::Factors(factors) => factors.set(query, &self.norms, &mut sums),
            }
            sums.query = vector_of(query);
        }
        let made = f(&sums.features);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(sums);
        made
    }

    fn sums(&self) -> Sums {
        let products = match &self.matrix {
            Matrix::Formed(_) => None,
            Matrix::Factors(Factors { r, back, .. }) => Some(Products {
                queries: RowSum::new(r.n_rows()),
                docs: RowSum::new(r.n_cols()),
                query_features: back.as_ref().map(|back| RowSum::new(back.x.n_cols())),
            }),
        };
        let features = RowSum::new(self.norms.y.len());
        Sums { query: SparseVector::default(), features, products }
    }

    #[cfg(test)]
    pub fn is_formed(&self) -> bool {
        matches!(self.matrix, Matrix::Formed(_))
    }
}

/// D_x C D_y, if that has no more entries than the factors; never for `depth = one`, which is C Cᵀ C.
fn formed(depth: Depth, x_t: &Csr, r: &Csr, y: &Csr, norms: &Norms) -> Result<Option<Csr>> {
    let most = (x_t.nnz() + r.nnz() + y.nnz()) as u64;
    if depth == Depth::One || nnz_of_product3_up_to(x_t, r, y, most).is_none() {
        return Ok(None);
    }
    let Some(c) = finite_c(x_t, r, y)? else { return Ok(None) };
    c.map(|u, v, value| value * norms.x[u] * norms.y[v as usize]).map(Some)
}

/// `matrix` with empty rows at its end.
fn with_empty_rows(matrix: &Csr, n_rows: usize) -> Result<Csr> {
    let mut starts = matrix.starts().to_vec();
    starts.resize(n_rows + 1, matrix.nnz() as u64);
    Csr::new(matrix.n_cols(), starts, matrix.indices().to_vec(), matrix.values().to_vec())
}

impl Factors {
    /// Sets the weights of document features to those of a query.
    fn set(&self, query: Row<'_>, norms: &Norms, sums: &mut Sums) {
        let Sums { features, products, .. } = sums;
        let Some(Products { queries, docs, query_features }) = products else { return };
        let scaled = |(u, x): (u32, f32)| (u, f64::from(x) * f64::from(norms.x[u as usize]));
        queries.set(query.iter().map(scaled), &self.x_t);
        docs.set(queries.entries(), &self.r);
        features.set(docs.entries(), &self.y);
        if let (Some(back), Some(query_features)) = (&self.back, query_features) {
            docs.set(features.entries(), &back.y_t);
            queries.set(docs.entries(), &back.r_t);
            query_features.set(queries.entries(), &back.x);
            let scaled = |(u, x): (u32, f64)| (u, x * f64::from(norms.x[u as usize]));
            queries.set(query_features.entries().map(scaled), &self.x_t);
            docs.set(queries.entries(), &self.r);
            features.set(docs.entries(), &self.y);
        }
        features.scale(&norms.y);
    }
}
