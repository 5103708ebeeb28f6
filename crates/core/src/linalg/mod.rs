//! Dense blocks, the operator C = Xᵀ R Y that is never formed, and its randomised SVD.
//!
//! Everything here gives the same bits at any number of threads: work is cut into blocks by
//! the shape of the data alone, and partial sums are added in the order of the blocks.

mod buffer;
mod chebyshev;
mod columns;
mod dense;
mod normals;
mod operator;
#[cfg(test)]
pub(crate) mod oracle;
mod orthonormal;
mod packed;
mod panels;
mod ridge;
mod small;
mod square;
mod svd;
mod threshold;
mod wide;

pub(crate) use buffer::Buffer;
pub(crate) use columns::scale_columns;
pub(crate) use dense::scale_to;
pub use dense::{BlockMut, BlockRef, Dense, cosine, dot, dot_f64};
pub(crate) use operator::Scratch;
pub use operator::{Centring, Operator, Shape, Side, Way};
pub use orthonormal::orthonormalise;
pub(crate) use orthonormal::{gram, gram_of, n_groups, orthonormalise_in, rotate};
pub(crate) use packed::{Packed, packed_bytes};
pub use panels::Panels;
pub(crate) use panels::{Panel, n_panels, squared};
pub(crate) use ridge::{RidgeSolver, Room, Solved, Steps};
pub use small::effective_rank;
pub(crate) use small::symmetric_eigen;
pub use square::{SquareFit, SquareParams, square_fit};
pub(crate) use svd::{CENTRING_ERROR, nothing_there};
pub use svd::{Svd, SvdParams, randomised_svd, randomised_svd_from, svd_bytes};
pub use threshold::{soft_threshold, soft_threshold_row};
pub(crate) use wide::{add_scaled, widest};
