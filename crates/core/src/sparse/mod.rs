//! Sparse matrices: checked on construction, immutable afterwards.

mod csr;

pub use csr::{Csr, Row};
