//! A table of a source with its place in the import.

use super::part::Part;
use crate::rows::{Role, Table};

/// One table of a source, and what its rows are.
pub(super) struct SourceTable {
    pub role: Role,
    pub table: Table,
    /// The part that the whole table belongs to.
    pub part: Option<Part>,
    /// Whether judged pairs are also pairs to learn from.
    pub also_links: bool,
}

impl SourceTable {
    /// Whether its rows are pairs to learn from and nothing else.
    pub(super) fn is_pairs(&self) -> bool {
        matches!(self.role, Role::Clicks | Role::Links | Role::Events)
    }

    pub(super) fn is_learnt_from(&self) -> bool {
        self.is_pairs() || self.also_links
    }
}
