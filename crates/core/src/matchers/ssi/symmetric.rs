//! W = UᵀU: one map for queries and documents.
//!
//! ```text
//! U ← U + λ·U[(d⁺ − d⁻)qᵀ + q(d⁺ − d⁻)ᵀ]
//! ```

use super::strips::Latent;
use crate::Result;
use crate::linalg::Dense;

/// Begins with this map, features × dimensions.
pub(super) fn symmetric(u: &Dense) -> Result<Latent> {
    Latent::new(0, &[u])
}
