//! W = UᵀV: queries and documents are mapped into one latent space, each by a map of its own.
//!
//! ```text
//! U ← U + λ·V(d⁺ − d⁻)qᵀ,   V ← V + λ·Uq(d⁺ − d⁻)ᵀ
//! ```

use super::strips::Latent;
use crate::Result;
use crate::linalg::Dense;

/// Begins with these maps, features × dimensions.
pub(super) fn low_rank(u_and_v: [&Dense; 2]) -> Result<Latent> {
    Latent::new(0, &u_and_v)
}
