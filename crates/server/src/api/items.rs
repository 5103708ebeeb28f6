//! Bodies with one item, a list of them, or one per line.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::Media;
use super::call::Call;
use super::parse::{self, json, json_line};
use crate::http::HttpLimits;
use crate::problem::Problem;

/// The most invalid items that are described.
const DESCRIBED: usize = 10;

/// One item, or a list of them; in NDJSON, one per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "OneOrMany{T}s")]
pub enum OneOrMany<T> {
    /// One item.
    One(T),
    /// Any number of items.
    Many(Vec<T>),
}

/// The items of a body.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Items<T> {
    pub valid: Vec<T>,
    /// The number of invalid items.
    pub invalid: usize,
    /// Some of these: the line, or the position in the list, and what is wrong.
    pub described: Vec<(usize, String)>,
}

/// Reads the items of a call's body, objects of type `T` that `check` accepts. The problem
/// describes the invalid ones, if there are any.
pub(super) fn checked<T: DeserializeOwned>(
    call: &Call,
    what: &str,
    check: impl Fn(&T) -> liken_engine::Result<()>,
) -> Result<Vec<T>, Problem> {
    let items = items(call, what, false, |value| {
        if !value.is_object() {
            return Err("expected an object".into());
        }
        let item = parse::value(value)?;
        check(&item).map_err(|error| error.to_string())?;
        Ok(item)
    })?;
    Ok(items.valid)
}

/// Reads the items of a call's body with `read`, whose error describes the fault of a value. Unless
/// the call is lenient, one invalid item rejects the whole request.
pub(super) fn items<T>(
    call: &Call,
    what: &str,
    lenient: bool,
    read: impl Fn(Value) -> Result<T, String>,
) -> Result<Items<T>, Problem> {
    let (bytes, media) = call.bytes();
    let items = read_items(bytes, media, what, call.limits(), read)?;
    if items.valid.is_empty() && items.invalid == 0 {
        return Err(Problem::bad(format!("the body holds no {what}s: expected at least one")));
    }
    if items.invalid > 0 && !lenient {
        return Err(refused(&items, media));
    }
    Ok(items)
}

fn refused<T>(items: &Items<T>, media: Media) -> Problem {
    let place = if media == Media::Json { "number" } else { "line" };
    let described: Vec<String> =
        items.described.iter().map(|(at, why)| format!("{place} {at}: {why}")).collect();
    let more = match items.invalid - items.described.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Problem::bad(format!("nothing was written, because {}{more}", described.join("; ")))
}

fn read_items<T>(
    bytes: &[u8],
    media: Media,
    what: &str,
    limits: &HttpLimits,
    read: impl Fn(Value) -> Result<T, String>,
) -> Result<Items<T>, Problem> {
    let most = limits.documents;
    let too_many = || Problem {
        status: 413,
        title: "Too large",
        detail: format!("more than {most} {what}s in one request: send them in several"),
    };
    let mut items = Items { valid: Vec::new(), invalid: 0, described: Vec::new() };
    let mut add = |at: usize, item: Result<T, String>| {
        match item {
            Ok(_) if items.valid.len() == most => return Err(too_many()),
            Ok(item) => items.valid.push(item),
            Err(why) => {
                items.invalid += 1;
                if items.described.len() < DESCRIBED {
                    items.described.push((at, why));
                }
            }
        }
        Ok(())
    };
    let fits = |len: usize| fits(what, len, limits);
    match media {
        Media::Json => {
            let values = match json::<Value>(bytes)? {
                Value::Array(values) if values.len() > most => return Err(too_many()),
                Value::Array(values) => values,
                one => vec![one],
            };
            // Where all together are short enough, each is.
            let len = |value: &Value| match fits(bytes.len()) {
                Ok(()) => 0,
                Err(_) => value.to_string().len(),
            };
            for (value, at) in values.into_iter().zip(1..) {
                add(at, fits(len(&value)).and_then(|()| read(value)))?;
            }
        }
        Media::Lines => {
            for (line, at) in bytes.split(|byte| *byte == b'\n').zip(1..) {
                if !line.iter().all(u8::is_ascii_whitespace) {
                    // A line that is too long is not parsed: a short text may make a large tree.
                    let value = fits(line.len()).and_then(|()| json_line(line));
                    add(at, value.and_then(&read))?;
                }
            }
        }
    }
    Ok(items)
}

/// Checks the length of an item, in bytes of JSON.
pub(super) fn fits(what: &str, len: usize, limits: &HttpLimits) -> Result<(), String> {
    let most = limits.document_bytes;
    if len <= most {
        return Ok(());
    }
    Err(format!("the {what} is {len} bytes long: expected at most {most}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(value: Value) -> Result<u64, String> {
        value.as_u64().ok_or_else(|| "expected a whole number".into())
    }

    fn numbers(
        bytes: &[u8],
        media: Media,
        documents: usize,
        document_bytes: usize,
    ) -> Result<Items<u64>, Problem> {
        let limits = HttpLimits { documents, document_bytes, ..HttpLimits::default() };
        read_items(bytes, media, "number", &limits, whole)
    }

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        let lines = |text: &[u8], most, longest| numbers(text, Media::Lines, most, longest);
        let items = lines(b"1\r\n\n 2 \nx\n3\n\"4\"", 10, 100).unwrap();
        assert_eq!(items.valid, [1, 2, 3]);
        assert_eq!(items.invalid, 2);
        let at: Vec<usize> = items.described.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [4, 6]);
        let problem = refused(&items, Media::Lines);
        assert!(problem.detail.contains("line 4: it is not JSON"), "{}", problem.detail);
        assert!(lines(b"1\n2\n3", 2, 100).is_err());
        let long = lines(b"1\n22222\n3", 9, 4).unwrap();
        assert_eq!((long.valid, long.described[0].0), (vec![1, 3], 2));
        assert!(lines(b"1\n\xff", 2, 100).unwrap().described[0].1.contains("UTF-8"));
    }

    #[test]
    fn lists_have_the_same_limits() {
        let list = |text: &[u8], most, longest| numbers(text, Media::Json, most, longest);
        assert!(list(b"[1, 2, 3]", 2, 100).is_err());
        let long = list(b"[1, 22222, 3]", 9, 4).unwrap();
        assert_eq!((long.valid, long.described[0].0), (vec![1, 3], 2));
        assert_eq!(list(b"7", 9, 4).unwrap().valid, [7]);
    }

    #[test]
    fn only_some_of_many_invalid_items_are_described() {
        let text = "x\n".repeat(100);
        let items = numbers(text.as_bytes(), Media::Lines, 10, 100).unwrap();
        assert_eq!((items.invalid, items.described.len()), (100, DESCRIBED));
        assert!(refused(&items, Media::Lines).detail.ends_with("and 90 more"));
    }

    proptest! {
        #[test]
        fn one_a_line_is_the_same_as_a_list(values in prop::collection::vec(any::<u64>(), 1..20)) {
            let text: String = values.iter().map(|n| format!("{n}\n")).collect();
            let list = serde_json::to_vec(&values).unwrap();
            let by_line = numbers(text.as_bytes(), Media::Lines, 20, 100).unwrap();
            prop_assert_eq!(&by_line, &numbers(&list, Media::Json, 20, 100).unwrap());
            prop_assert_eq!(by_line.valid, values);
        }
    }
}
