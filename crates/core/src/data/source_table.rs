//! A table with its role in the import.

use super::split_name::SplitName;
use crate::rows::{Role, Table};

/// One table of an import, and what its rows are.
pub(super) struct SourceTable {
    pub role: Role,
    pub table: Table,
    /// The split of all its rows, if given.
    pub part: Option<SplitName>,
    /// Whether judged pairs are also links.
    pub also_links: bool,
}

impl SourceTable {
    /// Whether its rows are training pairs only.
    pub(super) fn is_pairs(&self) -> bool {
        matches!(self.role, Role::Clicks | Role::Links | Role::Events)
    }

    pub(super) fn is_learnt_from(&self) -> bool {
        self.is_pairs() || self.also_links
    }
}
