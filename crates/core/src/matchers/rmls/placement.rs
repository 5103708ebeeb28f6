//! Where the maps of a fit are while it runs: in memory or in scratch files.

use super::params::{Penalty, Rmls};
use crate::linalg::Shape;
use crate::{Error, Result};

/// Whether the maps are in memory or on disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MemoryPlacement {
    /// Bytes for both maps.
    pub maps: u64,
    pub maps_on_disk: bool,
    pub best_on_disk: bool,
}

impl MemoryPlacement {
    /// Decides whether the maps fit into the `left` bytes, with the intermediate products. Maps that
    /// a penalty makes sparse are checked while they are computed; maps without a penalty may be in
    /// a file, since whole panels are read and written in order.
    pub fn of(params: &Rmls, shape: Shape, validated: bool, left: u64) -> Result<MemoryPlacement> {
        let fixed = super::bytes::scratch_bytes(shape);
        let dense = super::bytes::dense_bytes(shape, params.dim);
        let maps = left.saturating_sub(fixed);
        let too_large = dense > maps;
        if fixed > left || (too_large && params.penalty == Penalty::Bound) {
            return Err(Error::Memory {
                what: format!(
                    "RMLS with {} dimensions needs {} MiB, but only {} MiB are free",
                    params.dim,
                    (fixed + dense) >> 20,
                    left >> 20
                ),
                advice: "use fewer dimensions, `penalty = relative` (sparse rows take less), or allow more (`max_memory = SIZE`)".into(),
            });
        }
        let copies = 1 + u64::from(validated);
        Ok(MemoryPlacement {
            maps,
            maps_on_disk: too_large && params.penalty == Penalty::None,
            best_on_disk: copies * dense > maps,
        })
    }
}
