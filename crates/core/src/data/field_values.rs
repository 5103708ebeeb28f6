//! The values of fields of documents: defines which are text, which are counts and which are ignored,
//! for the import, which checks them, and for the features, which read them.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The fields that are read unless a preparation names others.
pub(crate) const READ_BY_DEFAULT: [&str; 3] = ["title", "body", "url"];

/// A text or a count in a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldValue<'v> {
    /// A text to be analysed.
    Text(Cow<'v, str>),
    /// A word of a bag and its count, positive and finite.
    Counted(&'v str, f32),
}

/// Visits the texts and counts in `value`: numbers and booleans are texts, lists are visited item by
/// item, objects are bags of counts. Invalid counts are skipped; the import refuses them.
pub(crate) fn visit<'v>(value: &'v Value, visitor: &mut dyn FnMut(FieldValue<'v>)) {
    match value {
        Value::Null => {}
        Value::String(text) => visitor(FieldValue::Text(Cow::Borrowed(text))),
        Value::Number(number) => visitor(FieldValue::Text(Cow::Owned(number.to_string()))),
        Value::Bool(truth) => visitor(FieldValue::Text(Cow::Owned(truth.to_string()))),
        Value::Array(items) => items.iter().for_each(|item| visit(item, visitor)),
        Value::Object(bag) => {
            for (word, count) in bag {
                if let Some(count) = count_of(count).filter(|&count| count > 0.0) {
                    visitor(FieldValue::Counted(word, count));
                }
            }
        }
    }
}

/// Whether a field that is read by default has text.
pub(super) fn has_text(fields: &Map<String, Value>) -> bool {
    let mut any = false;
    for value in READ_BY_DEFAULT.iter().filter_map(|name| fields.get(*name)) {
        visit(value, &mut |said| {
            any |= match said {
                FieldValue::Text(text) => !text.trim().is_empty(),
                FieldValue::Counted(word, _) => !word.trim().is_empty(),
            };
        });
    }
    any
}

/// The first invalid count of a bag: its field, its word and its value.
///
/// In a field that is read by default every object is a bag. Elsewhere it is one if all its values
/// are numbers: other objects, such as the metadata of many collections, are stored and not read.
pub(super) fn bad_count(fields: &Map<String, Value>) -> Option<(&str, &str, &Value)> {
    fields.iter().find_map(|(name, value)| {
        let read = READ_BY_DEFAULT.contains(&name.as_str());
        bad_in(value, read).map(|(word, count)| (name.as_str(), word, count))
    })
}

fn bad_in(value: &Value, read: bool) -> Option<(&str, &Value)> {
    match value {
        Value::Array(items) => items.iter().find_map(|item| bad_in(item, read)),
        Value::Object(bag) if read || bag.values().all(Value::is_number) => {
            let mut entries = bag.iter().map(|(word, count)| (word.as_str(), count));
            entries.find(|(_, count)| count_of(count).is_none())
        }
        _ => None,
    }
}

/// The value as a count: a number of 0 or more that an `f32` holds.
fn count_of(value: &Value) -> Option<f32> {
    let count = value.as_f64()? as f32;
    (count.is_finite() && count >= 0.0).then_some(count)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(value: &Value) -> Vec<FieldValue<'_>> {
        let mut all = Vec::new();
        visit(value, &mut |said| all.push(said));
        all
    }

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn numbers_and_truth_values_are_read_as_text() {
        let text = |text: &'static str| FieldValue::Text(text.into());
        assert_eq!(said(&json!(1984)), [text("1984")]);
        assert_eq!(said(&json!(["a", [2.5, null], true])), [text("a"), text("2.5"), text("true")]);
        assert_eq!(
            said(&json!({ "a": 2, "b": 0, "c": -1, "d": "x", "e": 1e39 })),
            [FieldValue::Counted("a", 2.0)]
        );
    }

    #[test]
    fn a_document_has_text_if_a_field_that_is_read_says_something() {
        for with in [
            json!({ "title": "a" }),
            json!({ "body": ["", "a"] }),
            json!({ "url": "http://a.org" }),
            json!({ "title": 1984 }),
            json!({ "body": { "a": 1 } }),
        ] {
            assert!(has_text(&fields(with.clone())), "{with}");
        }
        for without in [
            json!({}),
            json!({ "title": " ", "body": [], "url": null }),
            json!({ "ratings": { "a": 1 }, "class": "a" }),
            json!({ "body": { "a": 0 } }),
        ] {
            assert!(!has_text(&fields(without.clone())), "{without}");
        }
    }

    #[test]
    fn counts_that_are_none_are_found_in_bags_alone() {
        for (bad, field, word) in [
            (json!({ "body": { "a": 1, "b": -1 } }), "body", "b"),
            (json!({ "body": { "a": "x" } }), "body", "a"),
            (json!({ "title": [{ "a": null }] }), "title", "a"),
            (json!({ "body": { "a": 1e39 } }), "body", "a"),
            (json!({ "words": { "a": 2, "b": -0.5 } }), "words", "b"),
        ] {
            let bad = fields(bad);
            let (found, at, _) = bad_count(&bad).unwrap();
            assert_eq!((found, at), (field, word));
        }
        let metadata = json!({ "metadata": { "url": "a", "pubmed": -1 }, "body": { "a": 0 } });
        assert_eq!(bad_count(&fields(metadata)), None);
    }

    #[test]
    fn the_fields_read_by_default_are_those_of_a_default_preparation() {
        assert_eq!(crate::features::Preparation::default().fields, READ_BY_DEFAULT);
    }
}
