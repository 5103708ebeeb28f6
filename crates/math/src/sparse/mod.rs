//! Sparse matrices, checked on construction and immutable afterwards, and their products.

mod csr;
mod panel;
mod product;
mod transpose;

/// Entries summed in registers before they are added to the row's sum, so that the error does not
/// grow with the length of the row.
const SEGMENT: usize = 512;

pub use csr::{Csr, Row, RowBlock};
pub use panel::{TaskedCsr, times_panel};
pub use product::{RowSum, check_shapes, csr_times_dense, explicit_c, finite_c, row_times_block};
pub use product::{nnz_of_product3, nnz_of_product3_up_to};
