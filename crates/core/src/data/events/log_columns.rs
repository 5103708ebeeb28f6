//! The optional columns of a raw log. Rules that need a missing one are refused.

use serde::{Deserialize, Serialize};

use super::query_log::Span;

/// The columns that a raw log has besides query and document; known once all of it is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogColumns {
    /// Rows of documents that were shown and not clicked.
    pub impressions: bool,
    /// The rank of a document in its result page.
    pub ranks: bool,
    /// The user of an event.
    pub users: bool,
    /// The time of an event.
    pub times: bool,
    /// Times have dates; otherwise they are times of day.
    #[serde(rename = "dated")]
    pub times_have_dates: bool,
}

impl LogColumns {
    /// The span that a moment falls into.
    pub(in crate::data) fn span(self, seconds: i64) -> Span {
        if self.times_have_dates { seconds.div_euclid(3600) } else { seconds }
    }

    /// The columns of either.
    pub(in crate::data) fn or(self, other: LogColumns) -> LogColumns {
        LogColumns {
            impressions: self.impressions | other.impressions,
            ranks: self.ranks | other.ranks,
            users: self.users | other.users,
            times: self.times | other.times,
            times_have_dates: self.times_have_dates | other.times_have_dates,
        }
    }
}
