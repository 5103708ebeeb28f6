//! Titles of documents.

use serde_json::{Map, Value};

/// The longest title of a response, in characters: it may be a whole body. Pages truncate it further.
const LONGEST: usize = 500;

/// The text of a field: a text trimmed, a list of texts joined; `None` if it has no text.
pub fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(list) => {
            let texts = list.iter().filter_map(Value::as_str).map(str::trim);
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ")
        }
        _ => String::new(),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// A document's title: its `title`, else the first text it has.
pub fn title(fields: &Map<String, Value>) -> Option<String> {
    let title = fields.get("title").and_then(text_of).or_else(|| {
        let other = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "url" | "id"));
        other.filter_map(|(_, value)| text_of(value)).next()
    });
    title.map(|title| title.chars().take(LONGEST).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn titled(fields: Value) -> Option<String> {
        title(fields.as_object().unwrap())
    }

    #[test]
    fn a_title_is_a_text_or_a_list_of_texts() {
        assert_eq!(titled(json!({"title": " One ", "body": "b"})).as_deref(), Some("One"));
        assert_eq!(
            titled(json!({"title": ["One", "", " two "], "body": "b"})).as_deref(),
            Some("One · two")
        );
        assert_eq!(titled(json!({"title": [], "body": "b", "id": "x"})).as_deref(), Some("b"));
        assert_eq!(titled(json!({"title": 7, "body": ["b", "c"]})).as_deref(), Some("b · c"));
        assert_eq!(titled(json!({"url": "http://a", "year": 1999})), None);
    }
}
