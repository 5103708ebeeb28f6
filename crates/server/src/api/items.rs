//! Bodies with one item, a list, or one per line.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::Media;
use super::call::Call;
use super::parse::{self, json, json_line};
use crate::problem::Problem;

/// The most bad ones that are described.
const SHOWN: usize = 10;

/// One, or a list. As NDJSON: one per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "OneOrMany{T}s")]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Any number.
    Many(Vec<T>),
}

/// What a body brought.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Items<T> {
    pub good: Vec<T>,
    /// How many were bad.
    pub bad: usize,
    /// Some of those, each with its line, or its place in the list, and what is wrong.
    pub shown: Vec<(usize, String)>,
}

/// Reads a call's body one by one with `read`, which says what is wrong with a value. Unless the
/// call is lenient, all is refused if one is bad.
pub(super) fn items<T>(
    call: &Call,
    what: &str,
    lenient: bool,
    read: impl Fn(Value, usize) -> Result<T, String>,
) -> Result<Items<T>, Problem> {
    let (bytes, media) = call.bytes();
    let most = call.limits().documents;
    let items = match media {
        Media::Json => listed(bytes, what, most, call.limits().document_bytes, read)?,
        Media::Lines => lines(bytes, what, most, call.limits().document_bytes, read)?,
    };
    let place = if media == Media::Json { "number" } else { "line" };
    if items.good.is_empty() && items.bad == 0 {
        return Err(Problem::bad(format!("the body holds no {what}s: expected at least one")));
    }
    if items.bad > 0 && !lenient {
        return Err(refused(&items, place));
    }
    Ok(items)
}

fn refused<T>(items: &Items<T>, place: &str) -> Problem {
    let shown: Vec<String> =
        items.shown.iter().map(|(at, why)| format!("{place} {at}: {why}")).collect();
    let more = match items.bad - items.shown.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Problem::bad(format!("nothing was written, because {}{more}", shown.join("; ")))
}

fn too_many(what: &str, most: usize) -> Problem {
    Problem {
        status: 413,
        title: "Too large",
        detail: format!("more than {most} {what}s in one request: send them in several"),
    }
}

fn listed<T>(
    bytes: &[u8],
    what: &str,
    most: usize,
    longest: usize,
    read: impl Fn(Value, usize) -> Result<T, String>,
) -> Result<Items<T>, Problem> {
    let values = match json::<Value>(bytes)? {
        Value::Array(values) => values,
        one => vec![one],
    };
    if values.len() > most {
        return Err(too_many(what, most));
    }
    // Where all together are short enough, each is.
    let len = |value: &Value| if bytes.len() <= longest { 0 } else { value.to_string().len() };
    let mut items = Items::new(values.len());
    for (at, value) in values.into_iter().enumerate() {
        let len = len(&value);
        items.take(at + 1, read(value, len));
    }
    Ok(items)
}

fn lines<T>(
    bytes: &[u8],
    what: &str,
    most: usize,
    longest: usize,
    read: impl Fn(Value, usize) -> Result<T, String>,
) -> Result<Items<T>, Problem> {
    let mut items = Items::new(0);
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if items.good.len() == most {
            return Err(too_many(what, most));
        }
        // What is too long is not even read: a short text may make a large tree.
        let item = match line.len() > longest {
            true => {
                Err(format!("the {what} is {} bytes long: expected at most {longest}", line.len()))
            }
            false => json_line(line).and_then(|value| read(value, line.len())),
        };
        items.take(at + 1, item);
    }
    Ok(items)
}

impl<T> Items<T> {
    fn new(capacity: usize) -> Self {
        Items { good: Vec::with_capacity(capacity), bad: 0, shown: Vec::new() }
    }

    fn take(&mut self, at: usize, item: Result<T, String>) {
        match item {
            Ok(item) => self.good.push(item),
            Err(why) => {
                self.bad += 1;
                if self.shown.len() < SHOWN {
                    self.shown.push((at, why));
                }
            }
        }
    }
}

/// An object read as a `T`, or what is wrong with it.
pub(super) fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
    if !value.is_object() {
        return Err("expected an object".into());
    }
    parse::value(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(value: Value, _: usize) -> Result<u64, String> {
        value.as_u64().ok_or_else(|| "expected a whole number".into())
    }

    #[test]
    fn lines_are_counted_as_an_editor_counts_them() {
        let items = lines(b"1\r\n\n 2 \nx\n3\n\"4\"", "number", 10, 100, whole).unwrap();
        assert_eq!(items.good, [1, 2, 3]);
        assert_eq!(items.bad, 2);
        let at: Vec<usize> = items.shown.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [4, 6]);
        let problem = refused(&items, "line");
        assert!(problem.detail.contains("line 4: it is not JSON"), "{}", problem.detail);
        assert!(lines(b"1\n2\n3", "number", 2, 100, whole).is_err());
        let long = lines(b"1\n22222\n3", "number", 9, 4, whole).unwrap();
        assert_eq!((long.good, long.shown[0].0), (vec![1, 3], 2));
        assert!(lines(b"1\n\xff", "number", 2, 100, whole).unwrap().shown[0].1.contains("UTF-8"));
    }

    #[test]
    fn only_some_of_many_bad_ones_are_shown() {
        let text = "x\n".repeat(100);
        let items = lines(text.as_bytes(), "number", 10, 100, whole).unwrap();
        assert_eq!((items.bad, items.shown.len()), (100, SHOWN));
        assert!(refused(&items, "line").detail.ends_with("and 90 more"));
    }

    proptest! {
        #[test]
        fn one_a_line_is_the_same_as_a_list(numbers in prop::collection::vec(any::<u64>(), 1..20)) {
            let text: String = numbers.iter().map(|n| format!("{n}\n")).collect();
            let list = serde_json::to_vec(&numbers).unwrap();
            let by_line = lines(text.as_bytes(), "number", 20, 100, whole).unwrap();
            prop_assert_eq!(&by_line, &listed(&list, "number", 20, 0, whole).unwrap());
            prop_assert_eq!(by_line.good, numbers);
        }
    }
}
