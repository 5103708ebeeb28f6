//! Rules for ids, queries, events and judgments, for requests and imports alike.

use super::{Result, StoreError};
use crate::types::{Event, Judgment};

/// The longest id, in bytes.
pub const LONGEST_ID: usize = 512;

/// The longest query of an event or a judgment, in bytes: the longest that an import reads.
pub const LONGEST_QUERY: usize = 1 << 16;

/// The `kind` of a click.
pub(super) const CLICK: &str = "click";
/// The `kind` of an impression.
pub(crate) const IMPRESSION: &str = "impression";

/// The most documents of an impression.
pub(super) const MOST_SHOWN: usize = 10_000;

/// The highest grade: gains of 2 to its power are still finite.
const HIGHEST_GRADE: u8 = 100;

const _: () = assert!(LONGEST_ID <= 1 << 16, "an import takes no longer ids");

/// The fault of the id called `name`, if it has one, such as "id is empty: expected 1 to 512 bytes".
pub(crate) fn fault_of_id(name: &str, id: &str) -> Option<String> {
    if id.is_empty() {
        return Some(format!("{name} is empty: expected 1 to {LONGEST_ID} bytes"));
    }
    if id.len() > LONGEST_ID {
        let n = id.len();
        return Some(format!("{name} is {n} bytes long: expected at most {LONGEST_ID}"));
    }
    let control = id.chars().find(|c| c.is_control())?;
    Some(format!("{name} has the control character {control:?} in it: expected none"))
}

/// The fault of the first bad id, if there is one.
pub(crate) fn fault_of_ids(name: &str, ids: &[String]) -> Option<String> {
    let at = ids.iter().position(|id| fault_of_id(name, id).is_some())?;
    fault_of_id(&format!("{name}[{at}]"), &ids[at])
}

/// The fault of the text of a query, if it has one.
pub(crate) fn fault_of_query(name: &str, query: &str, most: usize) -> Option<String> {
    if query.trim().is_empty() {
        return Some(format!("{name} is empty: expected some words"));
    }
    let n = query.len();
    (n > most).then(|| format!("{name} is {n} bytes long: expected at most {most}"))
}

/// The same for a query that is to be stored.
fn fault_of_stored_query(query: &str) -> Option<String> {
    let nul = || query.contains('\0').then(|| "query has a NUL character in it".to_owned());
    fault_of_query("query", query, LONGEST_QUERY).or_else(nul)
}

/// The fault of an event, if it has one.
pub(crate) fn fault_of_event(event: &Event) -> Option<String> {
    let Event { kind, query, id, rank, shown, session, time } = event;
    let of_kind = || match (kind.as_str(), id) {
        (CLICK, None) => Some("a click needs the id of its document".to_owned()),
        (IMPRESSION, Some(id)) => {
            Some(format!("id is {id:?}: expected none in an impression, only `shown`"))
        }
        (CLICK | IMPRESSION, _) => None,
        (other, _) => Some(format!("kind is {other:?}: expected click or impression")),
    };
    let of_shown = || match shown.len() {
        n if n > MOST_SHOWN => Some(format!("{n} shown: expected at most {MOST_SHOWN}")),
        _ => fault_of_ids("shown", shown),
    };
    // Up to the year 5138; larger numbers are mostly milliseconds.
    let of_time = || {
        let time = time.filter(|time| !(0.0..1e11).contains(time))?;
        Some(format!("time is {time}: expected seconds since 1970"))
    };
    fault_of_stored_query(query)
        .or_else(of_kind)
        .or_else(|| fault_of_id("id", id.as_ref()?))
        .or_else(of_shown)
        .or_else(|| (*rank == Some(0)).then(|| "rank is 0: ranks are counted from 1".to_owned()))
        .or_else(|| fault_of_id("session", session.as_ref()?))
        .or_else(of_time)
}

/// The fault of a judgment, if it has one: also one that the database could store, but TREC qrels
/// could not.
pub(crate) fn fault_of_judgment(judgment: &Judgment) -> Option<String> {
    let Judgment { query, id, grade, judge } = judgment;
    let white = || {
        id.chars().any(char::is_whitespace).then(|| {
            format!(
                "id is {id:?}: TREC qrels cannot hold ids with white space, so the grade could \
                 never be used; give the document another id"
            )
        })
    };
    let of_grade = || {
        let grade = grade.filter(|grade| *grade > HIGHEST_GRADE)?;
        Some(format!(
            "grade is {grade}: expected a whole number from 0 to {HIGHEST_GRADE}, or null"
        ))
    };
    fault_of_stored_query(query)
        .or_else(|| fault_of_id("id", id))
        .or_else(white)
        .or_else(of_grade)
        .or_else(|| fault_of_id("judge", judge.as_deref().filter(|judge| !judge.is_empty())?))
}

/// An error if the id called `name` is bad.
pub(super) fn check_id(name: &str, id: &str) -> Result<()> {
    fault_of_id(name, id).map_or(Ok(()), |fault| Err(StoreError::Bad(fault)))
}

/// Removes white space around `text`.
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
