//! The class of every document, read off one of its fields: a category, a site, a language.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::data::{Document, FieldValue, visit};

/// The field in which the class of a document stands unless another is named.
pub const CLASS_FIELD: &str = "class";
/// The class of documents that have none.
pub const NO_CLASS: &str = "(none)";

/// The classes of documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// The names, in the order of the alphabet.
    pub names: Vec<String>,
    /// The class of every document.
    pub of: Vec<u32>,
}

impl Classes {
    /// Numbers the classes that documents say; nothing if none says any.
    pub(super) fn of_documents(said: Vec<Option<String>>) -> Option<Self> {
        if said.iter().all(Option::is_none) {
            return None;
        }
        let said: Vec<String> =
            said.into_iter().map(|name| name.unwrap_or_else(|| NO_CLASS.to_owned())).collect();
        let names: BTreeSet<&String> = said.iter().collect();
        let numbers: HashMap<&String, u32> = names.iter().copied().zip(0..).collect();
        let of = said.iter().map(|name| numbers[name]).collect();
        Some(Classes { names: names.into_iter().cloned().collect(), of })
    }

    /// Whether every document has one of the names.
    pub(crate) fn fits(&self, n_docs: usize) -> bool {
        self.of.len() == n_docs && self.of.iter().all(|&class| (class as usize) < self.names.len())
    }

    /// The same with documents that training did not know. Those whose class it does not know, or
    /// that have none, are numbered beyond the names.
    pub(super) fn with_documents(mut self, field: &str, documents: &[Document]) -> Self {
        let unknown = self.names.len() as u32;
        self.of.extend(documents.iter().map(|document| {
            let said = class_of(document, field);
            let known = said.and_then(|said| self.names.iter().position(|name| *name == said));
            known.map_or(unknown, |at| at as u32)
        }));
        self
    }
}

/// What `document` says in `field`: the first thing, where it is a list.
pub(super) fn class_of(document: &Document, field: &str) -> Option<String> {
    let value: &Value = document.fields.get(field)?;
    let mut first = None;
    visit(value, &mut |said| {
        if first.is_none() {
            let name = match said {
                FieldValue::Text(text) => text.trim().to_owned(),
                FieldValue::Counted(word, _) => word.trim().to_owned(),
            };
            first = (!name.is_empty()).then_some(name);
        }
    });
    first
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(class: Value) -> Document {
        let mut fields = serde_json::Map::new();
        fields.insert("class".into(), class);
        Document { id: "d".into(), fields }
    }

    #[test]
    fn a_class_is_what_the_field_says_first() {
        let of = |value: Value| class_of(&document(value), "class");
        assert_eq!(of(json!("sport ")), Some("sport".into()));
        assert_eq!(of(json!(["", "arts", "sport"])), Some("arts".into()));
        assert_eq!(of(json!(7)), Some("7".into()));
        assert_eq!((of(json!(null)), of(json!([])), of(json!("  "))), (None, None, None));
        assert_eq!(class_of(&document(json!("a")), "category"), None);
    }

    #[test]
    fn classes_are_numbered_by_name_and_documents_without_one_have_their_own() {
        let said = ["b", "", "a", "b"].map(|s| (!s.is_empty()).then(|| s.to_owned())).to_vec();
        let classes = Classes::of_documents(said).unwrap();
        assert_eq!(classes.names, ["(none)", "a", "b"]);
        assert_eq!(classes.of, [2, 0, 1, 2]);
        assert!(classes.fits(4) && !classes.fits(3));
        assert_eq!(Classes::of_documents(vec![None, None]), None);
        let more = [document(json!("a")), document(json!("new")), document(json!(null))];
        assert_eq!(classes.with_documents("class", &more).of, [2, 0, 1, 2, 1, 3, 3]);
    }
}
