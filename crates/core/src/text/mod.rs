//! From text to terms: one [`Analyzer`], made from parameters that are stored with every
//! model, so that queries are analysed exactly as the documents were.
//!
//! ```
//! use liken::text::{Analyzer, AnalyzerParams};
//! let analyzer = Analyzer::new(&AnalyzerParams::default())?;
//! assert_eq!(analyzer.terms("How far is the Sun's surface?"), ["far", "sun", "surfac"]);
//! # Ok::<(), liken::Error>(())
//! ```

mod analyzer;
mod fold;
mod language;
mod params;
mod stem;
mod url;
mod vocabulary;
mod words;

pub use analyzer::Analyzer;
pub use fold::query_identity;
pub use language::Language;
pub use params::{AnalyzerParams, CharNgrams};
pub use vocabulary::Vocabulary;
pub use words::is_unspaced;
