//! Dense blocks, the operator C = Xᵀ R Y that is never formed, and its randomised SVD.
//!
//! Everything here gives the same bits at any number of threads: work is cut into blocks by
//! the shape of the data alone, and partial sums are added in the order of the blocks.

mod chebyshev;
mod columns;
mod normals;
mod operator;
mod orthonormal;
mod packed;
mod panels;
mod ridge;
mod small;
mod square;
mod svd;
mod threshold;
mod wide;

pub use crate::dense::{
    BlockMut, BlockRef, Buffer, Dense, Lane, PANEL, cosine, dot, dot_f64, scale_to,
};
pub use columns::scale_columns;
pub use operator::Scratch;
pub use operator::{Centring, Operator, Shape, Side, Way};
pub use orthonormal::orthonormalise;
pub use orthonormal::{gram, gram_of, n_groups, orthonormalise_in, rotate};
pub use packed::{Packed, packed_bytes};
pub use panels::Panels;
pub use panels::{Panel, n_panels, squared};
pub use ridge::{RidgeSolver, RidgeWorkspace, Solved, Steps};
pub use small::effective_rank;
pub use small::symmetric_eigen;
pub use square::{SquareFit, SquareParams, square_fit};
pub use svd::{CENTRING_ERROR, nothing_there};
pub use svd::{Svd, SvdParams, randomised_svd, randomised_svd_from, svd_bytes};
pub use threshold::{soft_threshold, soft_threshold_row};
pub use wide::{add_scaled, widest};
