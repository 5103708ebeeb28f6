//! The operator C = Xᵀ R Y of the bilinear models, its randomised SVD, and solvers for the square
//! loss.
//!
//! Everything here gives the same bits at any number of threads: work is cut into blocks by
//! the shape of the data alone, and partial sums are added in the order of the blocks.

mod chebyshev;
mod columns;
mod fixed_point;
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
    BlockMut, BlockRef, Buffer, Dense, PANEL, PanelRow, cosine, dot, dot_f64, scale_to,
};
pub use columns::scale_columns;
pub use fixed_point::FixedPointSum;
pub use operator::{Centring, Operator, ProductForm, Scratch, Shape, Side};
pub use orthonormal::{gram, gram_of, n_groups, orthonormalise, orthonormalise_in, rotate};
pub use packed::{Packed, packed_bytes};
pub use panels::{Panel, Panels, n_panels, squared_norm};
pub use ridge::{CgParams, RidgeSolver, RidgeWorkspace, SolveStats};
pub use small::{effective_rank, symmetric_eigen};
pub use square::{SquareFit, SquareParams, square_fit};
pub use svd::{CENTRING_ERROR, nothing_there};
pub use svd::{Svd, SvdParams, randomised_svd, randomised_svd_from, svd_bytes};
pub use threshold::{soft_threshold, soft_threshold_row};
pub use wide::{add_scaled, widest};

use crate::Error;

fn not_finite(what: &'static str, step: usize) -> Error {
    let advice = "look for extreme values in the features and the click weights; \
                  rows of norm one and log clicks keep them small";
    Error::not_finite(what, step, advice)
}
