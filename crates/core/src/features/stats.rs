//! The papers' Table 1: how large and how sparse a dataset is.

use serde::Serialize;

use super::counts::Counts;
use super::weighted::Weighted;
use crate::sparse::nnz_of_product3;

/// Statistics of query and document features (Wu, Lu and Li 2013, Table 1).
#[derive(Debug, Clone, Serialize)]
pub struct TableOne {
    /// Training queries.
    pub n_x: usize,
    /// Documents with training clicks.
    pub n_y: usize,
    /// Distinct words.
    pub words: usize,
    /// Query features.
    pub d_x: usize,
    /// Document features.
    pub d_y: usize,
    /// Non-zeros in a query, on average.
    pub c_x: f64,
    /// Non-zeros in a document, on average.
    pub c_y: f64,
    /// Clicked documents of a query, on average (ñ^y).
    pub docs_per_query: f64,
    /// Queries of a clicked document, on average (ñ^x).
    pub queries_per_doc: f64,
    /// Queries with a given feature, on average (N_x).
    pub queries_per_feature: f64,
    /// Documents with a given feature, on average (N_y).
    pub docs_per_feature: f64,
    /// Non-zeros in a row of C = XᵀRY, on average (W_x).
    pub w_x: f64,
    /// Non-zeros in a column of C, on average (W_y).
    pub w_y: f64,
}

impl TableOne {
    /// The exact statistics of `data`. C is counted row by row and never formed.
    pub fn of(counts: &Counts, data: &Weighted) -> Self {
        let (x, y, r) = (&data.x, &data.y, &data.r);
        let x_t = x.transpose();
        let n_y = r.transpose().rows().filter(|row| !row.is_empty()).count();
        let nnz_c = nnz_of_product3(&x_t, r, y) as f64;
        let share = |a: usize, b: usize| if b == 0 { 0.0 } else { a as f64 / b as f64 };
        TableOne {
            n_x: x.n_rows(),
            n_y,
            words: counts.n_terms(),
            d_x: x.n_cols(),
            d_y: y.n_cols(),
            c_x: share(x.nnz(), x.n_rows()),
            c_y: share(y.nnz(), y.n_rows()),
            docs_per_query: share(r.nnz(), r.n_rows()),
            queries_per_doc: share(r.nnz(), n_y),
            queries_per_feature: share(x.nnz(), x.n_cols()),
            docs_per_feature: share(y.nnz(), y.n_cols()),
            w_x: nnz_c / x.n_cols().max(1) as f64,
            w_y: nnz_c / y.n_cols().max(1) as f64,
        }
    }
}

/// Queries and pairs by number of clicks.
#[derive(Debug, Clone, Serialize)]
pub struct ClickHistogram {
    /// (upper bound of the bin, queries in it, pairs in it); the last bin is open.
    pub bins: Vec<(Option<f64>, usize, usize)>,
    /// Pairs with a weight below zero, which are in no bin.
    pub negative: usize,
}

impl ClickHistogram {
    /// The histogram of `counts`' training clicks: by total clicks of a query, and by clicks of a pair.
    pub fn of(counts: &Counts) -> Self {
        let bounds = [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
        let bin =
            |value: f64| bounds.iter().position(|&bound| value <= bound).unwrap_or(bounds.len());
        let mut bins: Vec<(Option<f64>, usize, usize)> =
            bounds.iter().map(|&bound| (Some(bound), 0, 0)).chain([(None, 0, 0)]).collect();
        let mut negative = 0;
        for row in counts.clicks.rows().filter(|row| !row.is_empty()) {
            let positive = row.values.iter().filter(|&&v| v > 0.0).map(|&v| f64::from(v));
            negative += row.len() - positive.clone().count();
            bins[bin(positive.clone().sum())].1 += 1;
            positive.for_each(|clicks| bins[bin(clicks)].2 += 1);
        }
        ClickHistogram { bins, negative }
    }
}
