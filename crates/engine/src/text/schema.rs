//! What tantivy keeps of a document: its number, its words, and the short values that filters look
//! at. Values stand in columns, one for each field and kind of value; texts are kept nowhere.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, JsonObjectOptions, OwnedValue, Schema,
    TextFieldIndexing, TextOptions,
};
use tantivy::{TantivyDocument, TantivyError};

use super::tokens::{TOKENIZER, Tokens};

/// Strings of at most this many bytes can be filtered by.
pub const LONGEST_VALUE: usize = 256;
/// Fields whose names have at most this many bytes can be filtered by.
pub const LONGEST_NAME: usize = 256;

/// The number of a document.
pub(super) const NUMBER: &str = "no";
/// Its words.
const TEXT: &str = "text";
/// Its values, by field.
pub(super) const VALUES: &str = "fields";
/// The names of the fields that say something, also those whose values are too long to be kept.
pub(super) const SAYS: &str = "says";

const RAW: &str = "raw";

/// The fields of the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub number: Field,
    pub text: Field,
    values: Field,
    says: Field,
}

pub(super) fn schema() -> Schema {
    let mut schema = Schema::builder();
    schema.add_u64_field(NUMBER, INDEXED | FAST);
    let words = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    schema.add_text_field(TEXT, TextOptions::default().set_indexing_options(words));
    schema.add_json_field(VALUES, JsonObjectOptions::default().set_fast(RAW));
    // As lists of documents: a column with several values for each is slower to search.
    let names = TextFieldIndexing::default()
        .set_tokenizer(RAW)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    schema.add_text_field(SAYS, TextOptions::default().set_indexing_options(names));
    schema.build()
}

impl Fields {
    pub fn of(schema: &Schema) -> Result<Self, TantivyError> {
        Ok(Fields {
            number: schema.get_field(NUMBER)?,
            text: schema.get_field(TEXT)?,
            values: schema.get_field(VALUES)?,
            says: schema.get_field(SAYS)?,
        })
    }

    /// What is written of a document.
    pub fn document(
        &self,
        number: u32,
        tokens: &Tokens,
        fields: &Map<String, Value>,
    ) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_u64(self.number, u64::from(number));
        if !tokens.is_empty() {
            document.add_text(self.text, tokens.written());
        }
        let mut kept = BTreeMap::new();
        for (name, value) in fields {
            if name.len() > LONGEST_NAME || !says_something(value) {
                continue;
            }
            let name = column(name);
            document.add_text(self.says, &name);
            let mut values = Vec::new();
            match value {
                Value::Array(items) => values.extend(items.iter().filter_map(short)),
                single => values.extend(short(single)),
            }
            match values.len() {
                0 => {}
                1 => kept.extend(values.pop().map(|value| (name, value))),
                _ => drop(kept.insert(name, OwnedValue::Array(values))),
            }
        }
        if !kept.is_empty() {
            document.add_object(self.values, kept);
        }
        document
    }
}

/// Whether a field with this value counts as there.
pub(super) fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.iter().all(Value::is_null),
        _ => true,
    }
}

/// The value as a column holds it, if filters look at such values.
fn short(value: &Value) -> Option<OwnedValue> {
    match value {
        Value::Bool(value) => Some(OwnedValue::Bool(*value)),
        // One kind of number, so that 2000 and 2000.0 are equal.
        Value::Number(value) => value.as_f64().and_then(number).map(OwnedValue::F64),
        Value::String(value) if value.len() <= LONGEST_VALUE => {
            Some(OwnedValue::Str(value.clone()))
        }
        _ => None,
    }
}

/// A number as it is compared: there is one zero.
pub(super) fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value + 0.0)
}

/// The name of a field as columns have it: tantivy reads dots, backslashes and control characters
/// in names as structure, so all but letters and digits is escaped.
pub(super) fn column(name: &str) -> String {
    if name.is_empty() {
        return "%".into();
    }
    let mut column = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_alphanumeric() || c == '_' {
            column.push(c);
        } else {
            column.extend(["%", &format!("{:x}", u32::from(c)), "%"]);
        }
    }
    column
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn different_names_are_different_columns(
            a in "[a%2e.\\\\\u{0}\u{1}]{0,6}",
            b in "[a%2e.\\\\\u{0}\u{1}]{0,6}",
        ) {
            prop_assert_eq!(a == b, column(&a) == column(&b));
            prop_assert!(column(&a).chars().all(|c| c.is_alphanumeric() || "_%".contains(c)));
        }
    }
}
