//! liken learns which document answers which query, from click logs and text.
//!
//! A table of clicks and a table of documents become a dataset; a dataset becomes a model; a
//! model scores documents for any query and says why:
//!
//! ```
//! use liken::Run;
//! use liken::data::{Dataset, Import, Table};
//! use liken::features::Preparation;
//! use liken::matchers::{Mixture, Params};
//! use liken::training::train;
//! # #[allow(clippy::disallowed_methods)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let (clicks, documents) = (folder.path().join("clicks.tsv"), folder.path().join("documents.tsv"));
//! std::fs::write(&clicks, "query\tdoc\tclicks\n\
//!     how far is the sun\tsun\t40\nhow far away is the sun\tsun\t9\nmiles to the sun\tsun\t7\n\
//!     car insurance\tcars\t30\ncheap car insurance\tcars\t8\ninsure my car\tcars\t5\n")?;
//! std::fs::write(&documents, "id\ttitle\n\
//!     sun\tDistance between Earth and its star\ncars\tAutomobile policies\n")?;
//!
//! let import = Import {
//!     clicks: Some(Table::new(&clicks)),
//!     documents: Some(Table::new(&documents)),
//!     ..Import::default()
//! };
//! let (data, run) = (folder.path().join("data"), Run::silent());
//! import.run(&data, false, &run)?;
//!
//! let dataset = Dataset::open(&data)?;
//! let mut params = Params::named("pls")?;
//! params.set("dim", "2")?;
//! let mixture = Mixture::parse("pls")?;
//! let model = train(&dataset, &Preparation::default(), &mixture, &[params], &run)?.model;
//!
//! // No word of the query is in the document; the model learnt from clicks.
//! let query = model.read_query("far sun miles")?;
//! let best = model.search(&query, 1)[0];
//! assert_eq!(model.counts.doc_ids[best.doc as usize], "sun");
//! let why = model.explain("far sun miles", best.doc, 3)?;
//! assert!(why.shared_words.is_empty() && why.score > 0.0);
//! # Ok(())
//! # }
//! ```
//!
//! The modules below are in the order of the data flow.

pub mod data;
pub mod features;
pub mod topic;

pub mod plan;

pub mod matchers;

pub mod eval;
pub mod fusion;
pub mod rank;

pub mod experiment;
pub mod export;
pub mod stack;
pub mod synth;
pub mod training;
pub mod tuning;

pub mod params;
pub mod text;

mod rows;

/// Shared by tests of kernels. The file belongs to `liken-math`, whose test code this crate cannot
/// import; both compile it.
#[cfg(test)]
#[allow(dead_code, reason = "each crate uses a part of it")]
#[path = "../../math/src/oracle.rs"]
mod oracle;

pub use liken_math::{Error, Progress, Result, Run, Steps, counted, excerpt, quoted};
pub use liken_math::{
    dense, early_stopping, file, index, linalg, memory, processor, random, ranking, sparse,
    special, standardise, suggest, top_k,
};
