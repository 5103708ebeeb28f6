//! The memory that RMLS needs, for plans and for the fit itself.

use crate::linalg::{PANEL, Shape, n_panels};

/// Bytes of L_x and L_y together, if dense.
pub(crate) fn dense_bytes(shape: Shape, dim: usize) -> u64 {
    let panels = n_panels(dim) as u64;
    (shape.d_x + shape.d_y) as u64 * (panels * PANEL as u64 * 4 + 4)
}

/// Bytes that a half-sweep needs besides the maps: intermediate products, a panel of each side, the
/// sums and bounds of rows, and the scaled first factor.
pub(crate) fn scratch_bytes(shape: Shape) -> u64 {
    let panel = |rows: usize| rows as u64 * PANEL as u64 * 4;
    let widest = shape.d_x.max(shape.d_y);
    panel(shape.n_queries + shape.n_docs)
        + panel(shape.d_x)
        + panel(shape.d_y)
        + 64 * widest as u64
        + 8 * (shape.d_x + shape.d_y) as u64
        + 4 * shape.nnz_x.max(shape.nnz_y) as u64
}
