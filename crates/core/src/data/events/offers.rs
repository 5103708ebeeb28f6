//! Which columns a raw log has besides query and document.

use serde::{Deserialize, Serialize};

use super::query_log::Span;

/// Which columns a raw log has besides query and document; known once all of it is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Whether it has documents that were shown and not clicked.
    pub impressions: bool,
    /// Whether ranks are known.
    pub ranks: bool,
    /// Whether users are known.
    pub users: bool,
    /// Whether times are known.
    pub times: bool,
    /// Whether the times have dates.
    pub dated: bool,
}

impl Offers {
    /// The span that a moment falls into.
    pub(in crate::data) fn span(self, seconds: i64) -> Span {
        if self.dated { seconds.div_euclid(3600) } else { seconds }
    }

    /// The columns of either.
    pub(in crate::data) fn or(self, other: Offers) -> Offers {
        Offers {
            impressions: self.impressions | other.impressions,
            ranks: self.ranks | other.ranks,
            users: self.users | other.users,
            times: self.times | other.times,
            dated: self.dated | other.dated,
        }
    }
}
