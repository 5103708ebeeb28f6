//! Symmetric matrices of which only the lower triangle is computed.

use std::ops::Range;

use faer::Mat;

/// A block of a symmetric matrix.
pub(super) fn block(gram: &Mat<f64>, rows: &Range<usize>, columns: &Range<usize>) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| {
        let (i, j) = (rows.start + i, columns.start + j);
        gram[(i.max(j), i.min(j))]
    })
}

/// The matrix by rows, in f32.
pub(super) fn by_rows(matrix: &Mat<f64>) -> Vec<f32> {
    let cells = (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| (i, j)));
    cells.map(|(i, j)| matrix[(i, j)] as f32).collect()
}

/// ⟨A, B⟩ = Σ a·b over all cells of two symmetric matrices.
pub(super) fn inner_product(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    let mut sum = 0.0;
    for j in 0..a.ncols() {
        sum += a[(j, j)] * b[(j, j)];
        for i in j + 1..a.nrows() {
            sum += 2.0 * a[(i, j)] * b[(i, j)];
        }
    }
    sum
}

/// The whole matrix by rows, in f32.
pub(super) fn lower_to_full(gram: &Mat<f64>) -> Vec<f32> {
    let k = gram.nrows();
    let at = |i: usize, j: usize| gram[(i.max(j), i.min(j))] as f32;
    (0..k * k).map(|cell| at(cell / k, cell % k)).collect()
}
