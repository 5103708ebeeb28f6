//! Files as rows: opened, decompressed, decoded, and read one row at a time, whatever their
//! format. Import, evaluation and ranking read their tables here, and interpret the rows.
//!
//! ```text
//! input, encoding             the bytes of a file as UTF-8, hashed while they are read
//! lines                       lines that are not blank
//! csv, json, line_formats …   the formats of tables: each a RowSource, or a LineFormat
//! open                        the source of a table by its format
//! columns, reader             which column has which role, and the values in them
//! header_table                tables whose columns are known by name alone
//! trec_lines, letor, text     files that are not tables: qrels, runs, feature tables, lists
//! ```

mod bad_row;
mod columns;
mod csv;
mod dropped;
mod encoding;
mod feature_values;
#[cfg(test)]
mod fixture;
mod format;
mod header_table;
mod input;
mod json;
mod json_paths;
mod ldac;
mod letor;
mod line_formats;
mod lines;
mod open;
mod parquet;
mod qrels;
mod query_lines;
mod quotes;
mod reader;
mod role;
mod row;
mod run_lines;
mod smart;
mod source_file;
mod table;
mod text;
pub(crate) mod time;
mod trec_documents;
mod trec_lines;

pub(crate) use bad_row::{BadRow, Checked, excerpt};
pub use dropped::Dropped;
pub use encoding::Encoding;
pub(crate) use feature_values::{GRADE, VALUE, feature_value, grade, is_rounded};
pub use format::TableFormat;
pub(crate) use header_table::HeaderTable;
pub(crate) use input::{file_name, is_stdin};
pub(crate) use letor::{Letor, LetorRow};
pub(crate) use qrels::{Judgments, JudgmentsBySubtopic};
pub(crate) use query_lines::{Entry, QueryLines, Span, Twice};
pub(crate) use reader::TableReader;
pub(crate) use role::{ColumnRole, Role};
pub(crate) use run_lines::RunFormat;
pub use source_file::Source;
pub use table::Table;
pub use text::text_lines;
pub(crate) use trec_lines::{Problem, TrecFile, read_trec};
