//! Stacking: matchers as features of rankers, from a dataset and models to tables that rankers learn
//! from, and from rankers to systems of a comparison. Matchers, measures and rankers do not know
//! each other; this module is above them.
//!
//! **Rows that rankers learn from must be like those that they will see.** A matcher that was fitted
//! to the clicks of a query knows its answers, and a ranker that learns from such rows trusts it far
//! too much. So rows are those of held-out queries (validation, as in the papers), whose grades no
//! fit has learnt from, though some choose their best step by them. Rows of training queries are
//! made by cross-fitting (`cross.rs`): the queries are split into folds, and those of a fold are
//! scored by matchers that were fitted without its clicks.

mod cross;
mod fit;
mod inputs;
mod pages;
mod reranked;
mod spec;

#[cfg(test)]
mod tests;

pub use cross::{CrossFit, cross_table};
pub use fit::{Rankers, fit_rankers};
pub use inputs::{FeatureInputs, FeatureParams};
pub use pages::{PageParams, PageTable, page_table};
pub use spec::{LearnFrom, RankerSpec, Stacking};
