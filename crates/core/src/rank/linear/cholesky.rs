//! Systems of equations with a symmetric positive definite matrix, on the calling thread: faer
//! gives other bits at other thread counts.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, MatMut, Par};

/// Solves A·x = b for b in place; `matrix`, of which the lower triangle is read, is spoilt.
/// Nothing if A is not positive definite.
pub(super) fn solve(matrix: &mut Mat<f64>, b: &mut [f64]) -> Option<()> {
    let n = matrix.nrows();
    let mut scratch =
        MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()));
    cholesky_in_place(
        matrix.as_mut(),
        Default::default(),
        Par::Seq,
        MemStack::new(&mut scratch),
        Default::default(),
    )
    .ok()?;
    let mut column = MatMut::from_column_major_slice_mut(b, n, 1);
    solve_lower_triangular_in_place(matrix.as_ref(), column.as_mut(), Par::Seq);
    solve_upper_triangular_in_place(matrix.transpose(), column, Par::Seq);
    Some(())
}
