//! What a raw log tells beside query and document.

use serde::{Deserialize, Serialize};

use super::query_log::Span;

/// What a raw log tells beside query and document, known once all of it is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offers {
    /// Whether documents that were shown and not clicked are there, too.
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

    /// What either offers.
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
