//! Dense blocks, the operator C = Xᵀ R Y that is never formed, and its randomised SVD.
//!
//! Everything here gives the same bits at any number of threads: work is cut into blocks by
//! the shape of the data alone, and partial sums are added in the order of the blocks.

mod dense;
mod operator;
#[cfg(test)]
pub(crate) mod oracle;
mod orthonormal;
mod small;
mod svd;
mod threshold;

pub use dense::{BlockMut, BlockRef, Dense, dot, dot_f64};
pub use operator::{Centring, Operator};
pub use orthonormal::orthonormalise;
pub use small::effective_rank;
pub(crate) use svd::{CENTRING_ERROR, nothing_there};
pub use svd::{Svd, SvdParams, randomised_svd};
pub use threshold::{soft_threshold, soft_threshold_row};
