//! What ids and texts may be.

use super::{Result, StoreError};
use crate::types::Judgment;

/// The longest id, in bytes.
pub const LONGEST_ID: usize = 512;

/// The longest query of an event or a judgment, in bytes: the longest that an import takes.
pub(super) const LONGEST_QUERY: usize = 1 << 16;

/// The most documents that one page of results may have shown.
pub(super) const MOST_SHOWN: usize = 10_000;

/// The highest grade: gains of 2 to its power are still finite.
pub(crate) const HIGHEST_GRADE: u8 = 100;

/// What is wrong with an id, such as "is empty: expected 1 to 512 bytes", if anything is.
pub fn fault_of_id(id: &str, most: usize) -> Option<String> {
    if id.is_empty() {
        return Some(format!("is empty: expected 1 to {most} bytes"));
    }
    if id.len() > most {
        return Some(format!("is {} bytes long: expected at most {most}", id.len()));
    }
    let control = id.chars().find(|c| c.is_control())?;
    Some(format!("has the control character {control:?} in it: expected none"))
}

/// What is wrong with a judgment that the database could keep, but no qrels could hold.
pub fn fault_of_judgment(judgment: &Judgment) -> Option<String> {
    if judgment.id.chars().any(char::is_whitespace) {
        return Some(format!(
            "id is {:?}: ids with white space cannot stand in TREC's qrels, so that the grade \
             could never be used; give the document another id",
            judgment.id
        ));
    }
    let grade = judgment.grade.filter(|grade| *grade > HIGHEST_GRADE)?;
    Some(format!("grade is {grade}: expected a whole number from 0 to {HIGHEST_GRADE}, or null"))
}

/// An error if `id` cannot be the id of a document (or, by its `name`, of something else).
pub(super) fn check_id(name: &str, id: &str) -> Result<()> {
    fault_of_id(id, LONGEST_ID)
        .map_or(Ok(()), |fault| Err(StoreError::Bad(format!("{name} {fault}"))))
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

/// `text` without blanks before and behind it.
pub(super) fn trim(text: &mut String) {
    if text.trim().len() < text.len() {
        *text = text.trim().to_owned();
    }
}

/// Seconds since 1970.
pub(super) fn now() -> f64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
