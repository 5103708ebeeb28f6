//! What ids and texts may be.

use super::{Result, StoreError};

/// The longest id, in bytes.
pub const LONGEST_ID: usize = 512;

/// The longest query of an event or a judgment, in bytes: the longest that an import takes.
pub(super) const LONGEST_QUERY: usize = 1 << 16;

/// The most documents that one page of results may have shown.
pub(super) const MOST_SHOWN: usize = 10_000;

/// An error if `id` cannot be the id of a document (or, by its `name`, of something else).
pub(super) fn check_id(name: &str, id: &str) -> Result<()> {
    let wrong = |found: String| {
        Err(StoreError::Bad(format!(
            "expected 1 to {LONGEST_ID} bytes without control characters as {name}, found {found}"
        )))
    };
    if id.is_empty() {
        return wrong("nothing".into());
    }
    if id.len() > LONGEST_ID {
        return wrong(format!("{} bytes", id.len()));
    }
    if id.chars().any(char::is_control) {
        return wrong(format!("{id:?}"));
    }
    Ok(())
}

/// An error if `query` cannot be the text of a query.
pub(super) fn check_query(query: &str) -> Result<()> {
    let wrong = |found: String| {
        Err(StoreError::Bad(format!(
            "expected 1 to {LONGEST_QUERY} bytes of text as query, found {found}"
        )))
    };
    if query.trim().is_empty() {
        return wrong("nothing".into());
    }
    if query.len() > LONGEST_QUERY {
        return wrong(format!("{} bytes", query.len()));
    }
    if query.contains('\0') {
        return wrong("a NUL character in it".into());
    }
    Ok(())
}

/// Seconds since 1970.
pub(super) fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
