//! Learning to rank: from rows of features with grades to a ranker that orders the rows of a query.
//!
//! ```text
//! FeatureTable      for each query, a row of features per document           (table.rs, read/)
//!      │ Normalisation                                                       (normalise.rs)
//!      ▼
//! RankParams        one struct per method: linear/ and trees/                (method.rs, params.rs)
//!      │ fit, the best step by a Goal on validation                          (goal.rs)
//!      ▼
//! Ranker            a Scorer (weights or trees) and the names of its features (scorer/, ranker.rs)
//! ```
//!
//! Every method yields either weights of features or trees. [`diversify`] orders candidates by
//! relevance and diversity.

mod arrays;
pub mod diversify;
pub mod features;
mod goal;
pub mod linear;
mod method;
mod normalise;
mod params;
mod propensity;
mod ranker;
mod read;
mod scorer;
mod table;
mod training;
pub mod trees;
mod write;

#[cfg(test)]
mod tests;

pub use goal::{Goal, order};
pub use method::{RankMethod, RankReport, RankStep, Training};
pub use normalise::{Normalisation, Normaliser, Over, Scale};
pub use params::{RankParams, rank_methods};
pub use propensity::Propensity;
pub use ranker::{FeatureUse, LearntFrom, Ranker, RankerAbout, Scored};
pub use read::{Columns, RankFormat, TableFile};
pub use scorer::{Linear, Scorer};
pub use table::{FeatureTable, TableBuilder};
pub use training::{RankSetup, folds, held_out};
pub use write::{csv_cell, write_table};
