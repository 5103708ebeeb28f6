//! Learning to rank: rows of features with grades go in, a ranker that puts the rows of a query in
//! order comes out.
//!
//! ```text
//! FeatureTable      query by query, a row of features for every document     (table.rs, read/)
//!      │ Normalisation                                                       (normalise.rs)
//!      ▼
//! RankParams        one struct a method: linear/ and trees/                  (method.rs, params.rs)
//!      │ fit, the best step by a Goal on validation                          (goal.rs)
//!      ▼
//! Ranker            a Scorer (weights or trees) and what its features are    (scorer.rs, ranker.rs)
//! ```
//!
//! [`diversify`] puts candidates in an order in which they do not all say the same.
//!
//! Algorithms differ, what they yield barely does: weights of features, or trees.

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
pub use scorer::Scorer;
pub use table::{FeatureTable, TableBuilder};
pub use training::{RankSetup, folds, held_out};
pub use write::{csv_cell, write_table};
