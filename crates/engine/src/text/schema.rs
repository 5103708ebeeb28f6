//! The fields of tantivy: the number of a document, its words, and the short values that filters
//! test. Values are in columns, one per field and type; texts are not stored.

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
/// The field of the words of a document.
const TEXT: &str = "text";
/// Its values, by field.
pub(super) const VALUES: &str = "fields";
/// The names of the fields with a value, also one that is too long for a column.
pub(super) const PRESENT: &str = "says";

const RAW: &str = "raw";

/// The fields of the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub number: Field,
    pub text: Field,
    values: Field,
    present: Field,
}

pub(super) fn schema() -> Schema {
    let mut schema = Schema::builder();
    schema.add_u64_field(NUMBER, INDEXED | FAST);
    let words = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    schema.add_text_field(TEXT, TextOptions::default().set_indexing_options(words));
    schema.add_json_field(VALUES, JsonObjectOptions::default().set_fast(RAW));
    // As postings lists: a column with several values per document is slower to search.
    let names = TextFieldIndexing::default()
        .set_tokenizer(RAW)
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    schema.add_text_field(PRESENT, TextOptions::default().set_indexing_options(names));
    schema.build()
}

impl Fields {
    pub fn of(schema: &Schema) -> Result<Self, TantivyError> {
        Ok(Fields {
            number: schema.get_field(NUMBER)?,
            text: schema.get_field(TEXT)?,
            values: schema.get_field(VALUES)?,
            present: schema.get_field(PRESENT)?,
        })
    }

    /// The document that tantivy indexes.
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
            if name.len() > LONGEST_NAME || !has_value(value) {
                continue;
            }
            let name = column(name);
            document.add_text(self.present, &name);
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

/// Whether a field with this value exists, for filters.
pub(super) fn has_value(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(items) => !items.iter().all(Value::is_null),
        _ => true,
    }
}

/// The value for a column, if filters can test such values.
fn short(value: &Value) -> Option<OwnedValue> {
    match value {
        Value::Bool(value) => Some(OwnedValue::Bool(*value)),
        // One type of numbers, so that 2000 and 2000.0 are equal.
        Value::Number(value) => value.as_f64().and_then(number).map(OwnedValue::F64),
        Value::String(value) if value.len() <= LONGEST_VALUE => {
            Some(OwnedValue::Str(value.clone()))
        }
        _ => None,
    }
}

/// A number for comparisons: −0 becomes 0.
pub(super) fn number(value: f64) -> Option<f64> {
    value.is_finite().then_some(value + 0.0)
}

/// The name of the column of a field. All but letters and digits is escaped: to tantivy, dots,
/// backslashes and control characters in names are structure.
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
