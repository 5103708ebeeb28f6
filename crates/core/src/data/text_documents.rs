//! Documents known only by a text in place of an id, as in judged pairs of query and title. The text
//! becomes a field, and its checksum the id.

use serde_json::Map;
use sha2::{Digest, Sha256};

use super::dataset::Document;
use super::interner::Interner;

/// The texts of such documents by number.
pub(super) struct TextDocuments {
    field: String,
    texts: Vec<Box<str>>,
}

impl TextDocuments {
    /// The texts become the field `field`.
    pub(super) fn new(field: &str) -> Self {
        TextDocuments { field: field.to_owned(), texts: Vec::new() }
    }

    /// The number of the document with this text. `None` if there are too many documents; the error
    /// is another text with the same id.
    pub(super) fn find(
        &mut self,
        text: &str,
        documents: &mut Interner,
    ) -> Result<Option<u32>, String> {
        let text = text.trim();
        let id = id_of(text);
        if let Some(known) = documents.get(&id) {
            let other = &self.texts[known as usize];
            return if **other == *text { Ok(Some(known)) } else { Err(other.to_string()) };
        }
        let number = documents.add(&id);
        if number.is_some() {
            self.texts.push(text.into());
        }
        Ok(number)
    }

    /// The document with this number and id.
    pub(super) fn document(&self, number: u32, id: &str) -> Document {
        let mut fields = Map::new();
        fields.insert(self.field.clone(), (*self.texts[number as usize]).into());
        Document { id: id.to_owned(), fields }
    }
}

/// The first 16 hexadecimal digits of the text's SHA-256.
fn id_of(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_the_same_document() {
        let (mut made, mut names) = (TextDocuments::new("title"), Interner::default());
        assert_eq!(made.find("abc", &mut names), Ok(Some(0)));
        assert_eq!(made.find("other", &mut names), Ok(Some(1)));
        assert_eq!(made.find(" abc\t", &mut names), Ok(Some(0)));
        // The beginning of the published SHA-256 of "abc".
        assert_eq!(names.name(0), "ba7816bf8f01cfea");
        assert_eq!(made.document(0, names.name(0)).fields["title"], "abc");
    }

    #[test]
    fn two_texts_with_one_id_are_refused() {
        let (mut made, mut names) = (TextDocuments::new("title"), Interner::default());
        names.add("ba7816bf8f01cfea");
        made.texts.push("another".into());
        assert_eq!(made.find("abc", &mut names), Err("another".to_owned()));
    }
}
