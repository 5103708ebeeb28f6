//! Sparse matrices: checked on construction, immutable afterwards.

mod csr;
mod product;
mod transpose;

pub use csr::{Csr, Row};
pub(crate) use product::check_shapes;
pub use product::{csr_times_dense, explicit_c, nnz_of_product3};
