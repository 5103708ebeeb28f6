//! Sparse vectors of queries and documents, and their sums.

use std::ops::AddAssign;

use crate::sparse::Row;
use crate::top_k::select_sorted;

/// A sparse vector: features and their values. Only rows of matrices have sorted features.
pub type SparseVector = (Vec<u32>, Vec<f32>);

/// A copy of a row of a matrix.
pub(super) fn vector_of(row: Row<'_>) -> SparseVector {
    (row.indices.to_vec(), row.values.to_vec())
}

/// The vector as a row of a matrix.
pub(super) fn row_of((indices, values): &SparseVector) -> Row<'_> {
    Row { indices, values }
}

/// Σ_k weight_k·row_k of sparse rows, summed in f64 in the order given.
pub(super) fn weighted_sum<'a>(rows: impl Iterator<Item = (f64, Row<'a>)>) -> Vec<(u32, f64)> {
    let mut parts: Vec<(u32, f64)> = Vec::new();
    for (weight, row) in rows {
        parts.extend(row.iter().map(|(feature, value)| (feature, weight * f64::from(value))));
    }
    summed(parts)
}

/// Sorted by feature, the values of each added in the order given.
pub(super) fn summed<V: Copy + AddAssign>(mut parts: Vec<(u32, V)>) -> Vec<(u32, V)> {
    // A stable sort, so that parts are added in one order.
    parts.sort_by_key(|&(feature, _)| feature);
    parts.dedup_by(|part, sum| {
        let same = part.0 == sum.0;
        if same {
            sum.1 += part.1;
        }
        same
    });
    parts
}

/// The same numbers as a sparse vector of single precision.
pub(super) fn single(vector: impl IntoIterator<Item = (u32, f64)>) -> SparseVector {
    vector.into_iter().map(|(feature, value)| (feature, value as f32)).unzip()
}

/// Keeps the `k` entries with the largest values, the largest first; of equal ones those of the
/// earlier features.
pub(super) fn keep_largest(entries: &mut Vec<(u32, f64)>, k: usize) {
    select_sorted(entries, k, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
}
