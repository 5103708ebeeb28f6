//! What is shown of a document where there is room for a line: its title, and texts cut short.

use serde_json::{Map, Value};

/// The longest title, in characters.
const LONGEST: usize = 160;

/// The text of a field: a text as it is, a list of texts joined; nothing where there is none.
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
    title.map(|title| shortened(&title, LONGEST))
}

/// Its title, else its id.
pub fn title_of(id: &str, fields: &Map<String, Value>) -> String {
    title(fields).unwrap_or_else(|| id.to_owned())
}

/// At most about `most` characters, cut between words.
pub fn shortened(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.to_owned();
    };
    let cut = &text[..end];
    let cut = cut.rsplit_once(char::is_whitespace).map_or(cut, |(before, _)| before);
    format!("{} …", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn titled(fields: Value) -> String {
        title_of("d1", fields.as_object().unwrap())
    }

    #[test]
    fn a_title_is_a_text_or_a_list_of_texts() {
        assert_eq!(titled(json!({"title": " One ", "body": "b"})), "One");
        assert_eq!(titled(json!({"title": ["One", "", " two "], "body": "b"})), "One · two");
        assert_eq!(titled(json!({"title": [], "body": "b", "id": "x"})), "b");
        assert_eq!(titled(json!({"title": 7, "body": ["b", "c"]})), "b · c");
        assert_eq!(titled(json!({"url": "http://a", "year": 1999})), "d1");
    }

    #[test]
    fn long_texts_are_cut_between_words() {
        assert_eq!(shortened("a  b\nc", 90), "a  b\nc");
        assert_eq!(shortened("", 9), "");
        let text = "äöü some words and more of them";
        for most in 1..40 {
            let cut = shortened(text, most);
            let kept = cut.strip_suffix(" …").unwrap_or(&cut);
            assert!(text.starts_with(kept) && kept.chars().count() <= most, "{most}: {cut:?}");
            assert_eq!(cut == text, text.chars().count() <= most, "{most}: {cut:?}");
        }
    }
}
