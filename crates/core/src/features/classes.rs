//! The class of every document, from one of its fields: a category, a site, a language.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::data::{Document, FieldValue, visit};

/// The default field of the class of a document.
pub const CLASS_FIELD: &str = "class";
/// The class of documents without one.
pub const NO_CLASS: &str = "(none)";

/// The classes of documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// The names, sorted.
    pub names: Vec<String>,
    /// The class of every document.
    pub of: Vec<u32>,
}

impl Classes {
    /// Numbers the classes of documents; `None` if no document has one.
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

    /// Whether there are `n_docs` documents, each with one of the names.
    pub(crate) fn fits(&self, n_docs: usize) -> bool {
        self.of.len() == n_docs && self.of.iter().all(|&class| (class as usize) < self.names.len())
    }

    /// Adds unseen documents. Those without a class, or of a class that training does not know,
    /// are numbered beyond the names.
    pub(super) fn extend(&mut self, field: &str, documents: &[Document]) {
        let Classes { names, of } = self;
        of.extend(documents.iter().map(|document| {
            let class = class_of(document, field);
            let known = class.and_then(|class| names.iter().position(|name| *name == class));
            known.unwrap_or(names.len()) as u32
        }));
    }
}

/// The class of `document` in `field`: the first text or word that is not blank.
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
        let mut classes = Classes::of_documents(said).unwrap();
        assert_eq!(classes.names, ["(none)", "a", "b"]);
        assert_eq!(classes.of, [2, 0, 1, 2]);
        assert!(classes.fits(4) && !classes.fits(3));
        assert_eq!(Classes::of_documents(vec![None, None]), None);
        let more = [document(json!("a")), document(json!("new")), document(json!(null))];
        classes.extend("class", &more);
        assert_eq!(classes.of, [2, 0, 1, 2, 1, 3, 3]);
    }
}
