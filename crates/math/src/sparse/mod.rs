//! Sparse matrices: checked on construction, immutable afterwards.

mod csr;
mod panel;
mod product;
mod transpose;

/// Entries summed in registers before they join the row's sum, so that the error does not grow
/// with the length of long rows.
const SEGMENT: usize = 512;

pub use csr::{Csr, Row};
pub use panel::{Tasked, times_panel};
pub use product::{check_shapes, finite_c};
pub use product::{csr_times_dense, explicit_c, nnz_of_product3, nnz_of_product3_up_to};
