//! Reads JSON; errors name the line, the column and the field.

use liken::excerpt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Path;

use super::duplicate_fields::UniqueFields;
use super::json_errors::plain;
use crate::problem::Problem;

/// The object in `bytes` as a `T`. Other values are refused here: serde would accept a list of the
/// fields' values, too.
pub(super) fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut read = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    if matches!(read.next(), Some(b'[' | b'"' | b'0'..=b'9' | b'-')) {
        return Err(Problem::bad("the body cannot be read: expected an object, as in {\"…\": …}"));
    }
    json(bytes)
}

/// The value in `bytes` as a `T`.
pub(super) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    read(bytes).map_err(|(reason, place)| {
        Problem::bad(format!("the body cannot be read: {reason} ({place})"))
    })
}

/// The same for a line of NDJSON, whose number the caller knows; the error is only the reason.
pub(super) fn json_line<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    read(bytes).map_err(|(reason, place)| {
        format!("{reason} ({})", place.strip_prefix("line 1, ").unwrap_or(&place))
    })
}

/// The error is what is wrong, and where.
fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, (String, String)> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(("it is empty, expected JSON".into(), "line 1, column 1".into()));
    }
    if let Err(error) = std::str::from_utf8(bytes) {
        let good = &bytes[..error.valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = good.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let byte = bytes[good.len()];
        let place = format!("line {line}, column {column}");
        return Err((format!("it is not UTF-8: found the byte 0x{byte:02x}"), place));
    }
    let read = whole(bytes)?;
    whole::<UniqueFields>(bytes)?;
    Ok(read)
}

/// A value that takes all of `bytes`. The path to an error is found by a second reading, since
/// tracking it costs time.
fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, (String, String)> {
    if let Ok(read) = serde_json::from_slice(bytes) {
        return Ok(read);
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| wrong(&field(error.path()), error.inner()))?;
    reader.end().map_err(|error| wrong("", &error))?;
    Ok(read)
}

/// The error in plain words, and its place.
fn wrong(field: &str, error: &serde_json::Error) -> (String, String) {
    let (line, column) = (error.line(), error.column());
    let mut reason = error.to_string();
    // serde_json appends the place, which has a format of its own here.
    let place = format!(" at line {line} column {column}");
    if let Some(before) = reason.strip_suffix(&place) {
        reason.truncate(before.len());
    }
    reason = plain(&reason);
    if reason.starts_with("recursion limit") {
        reason = "it is nested too deeply: at most 127 levels are read".into();
    }
    if error.is_syntax() && !reason.starts_with("it is") {
        reason = format!("it is not JSON: {reason}");
    }
    let mut place = format!("line {line}, column {column}");
    if !field.is_empty() {
        place.push_str(&format!(", field {field}"));
    }
    (reason, place)
}

/// The path to a value, such as `fusion.weights.rmls` or `documents[2].id`; empty for the whole.
fn field(path: &Path) -> String {
    path.iter().next().map_or_else(String::new, |_| excerpt(&path.to_string()))
}

/// `value` as a `T`; the error is what is wrong, and in which field.
pub(super) fn value<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let reason = plain(&error.inner().to_string());
        match field(error.path()).as_str() {
            "" => reason,
            field => format!("{reason} (field {field})"),
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::api::types::{RerankRequest, SearchRequest};

    fn wrong(text: impl AsRef<[u8]>) -> String {
        json::<SearchRequest>(text.as_ref()).unwrap_err().detail
    }

    #[test]
    fn the_field_and_the_place_are_named() {
        for (text, expected) in [
            (r#"{"query": 3}"#, "field query"),
            ("{\n  \"query\": \"a\",\n  \"k\": \"ten\"\n}", "line 3, column 12, field k"),
            (
                r#"{"k": -1}"#,
                "expected a whole number, 0 or more; found -1 (line 1, column 8, field k)",
            ),
            (r#"{"k": 1.5}"#, "found 1.5"),
            (r#"{"fusion": 3}"#, "expected an object; found 3"),
            (r#"{"filter": {"a": {"gte": 1, "gte": 2}}}"#, "the field `gte` is given twice"),
            (r#"{"fusion": {"weights": {"rmls": "x"}}}"#, "field fusion.weights.rmls"),
            (r#"{"fusion": {"method": "best"}}"#, "field fusion.method"),
            (r#"{"models": ["a", 3]}"#, "field models[1]"),
            (r#"{"exclude_ids": {"a": 1}}"#, "field exclude_ids"),
            (r#"{"querry": "a"}"#, "unknown field `querry`, expected one of `query`"),
            (r#"{"fusion": {"weights": {"rmls": NaN}}}"#, "field fusion.weights.rmls"),
            (r#"{"fusion": {"weights": {"rmls": 1e999}}}"#, "a number is too large"),
            (r#"{"query": "a"} trailing"#, "there is text after its end"),
            ("", "it is empty"),
            ("  \n ", "it is empty"),
            (r#"{"query": "a"#, "it breaks off"),
            ("[1]", "line 1"),
        ] {
            let detail = wrong(text);
            assert!(detail.contains(expected), "{text}: {detail}");
        }
        let deep = format!("{{\"filter\": {}1{}}}", "[".repeat(200), "]".repeat(200));
        assert!(wrong(&deep).contains("nested too deeply"), "{}", wrong(&deep));
        assert!(wrong(b"{\"query\":\n \"\xff\"}").contains("0xff (line 2, column 3)"));
        let text = r#"{"documents": [{"id": "a"}, 3]}"#;
        let detail = json::<RerankRequest>(text.as_bytes()).unwrap_err().detail;
        assert!(detail.contains("field documents[1]"), "{detail}");
    }

    #[test]
    fn values_are_read_like_bodies() {
        let read = |value: Value| super::value::<SearchRequest>(value).map(|read| read.k);
        assert_eq!(read(serde_json::json!({"k": 3})), Ok(Some(3)));
        let reason = read(serde_json::json!({"query": "a", "k": -1})).unwrap_err();
        assert_eq!(reason, "expected a whole number, 0 or more; found -1 (field k)");
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = json::<SearchRequest>(&bytes);
        }

        #[test]
        fn nothing_panics_on_what_looks_like_json(text in r#"[\[\]{}",:\\a1 \n]{0,60}"#) {
            let _ = json::<SearchRequest>(text.as_bytes());
            let _ = json::<Value>(text.as_bytes());
        }
    }
}
