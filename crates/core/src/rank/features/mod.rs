//! Features of a query and a document. The same code makes the rows that rankers learn from and
//! those that they rank later, so that both mean the same.
//!
//! ```text
//! bm25(title) vsm(body) lm(url) lm-jm(all)     words of the query in a text            columns.rs
//! ordered(body) unordered(body) span(body)     their proximity                         texts.rs
//! length(title) query_length                   numbers of words
//! url_depth field(price)                       the document itself                     documents.rs
//! clicks pagerank                              clicks and links of the document
//! model(rmls)                                  the score of any matcher                source.rs
//! ```
//! `all` is all fields as one text, also if documents have only one field. A value is missing where
//! the document has no such field, where a word of the query is not in the text (`span`), or where
//! a model does not know the document. Unknown queries are the normal case: their words are enough.

mod columns;
mod documents;
mod extractor;
mod group;
mod rows;
mod source;
#[cfg(test)]
mod tests;
mod texts;

pub use extractor::{Extractor, StaticFeatures};
pub use group::{FeatureInfo, Group, choose};
pub use rows::{
    ColumnSummary, FeatureRows, QueryDocs, RowSelection, add_rows, extract, held_out_table,
};
pub use source::{FeatureQuery, Source};
