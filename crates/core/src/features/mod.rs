//! From text and clicks to matrices: raw counts, from which every model is fitted, and the weighted
//! matrices that bilinear models are trained on. Clicks become training weights in
//! `click_weights.rs`.

mod blocks;
mod classes;
mod click_weights;
mod collection;
mod counts;
mod featurizer;
mod negatives;
mod positions;
mod preparation;
pub mod proximity;
mod stats;
mod unseen;
mod weighted;

#[cfg(test)]
mod tests;

pub use classes::{CLASS_FIELD, Classes, NO_CLASS};
pub use click_weights::{ClickEvidence, EvidenceAbout};
pub use collection::Collection;
pub use counts::{Counts, Field, QueryTerms, StoredCounts, Unread};
pub use featurizer::{Featurizer, idf};
pub(crate) use featurizer::{check_clicks, no_training_clicks};
pub use negatives::Negatives;
pub use positions::{GAP, Positions, Sequences};
pub use preparation::Preparation;
pub use stats::{ClickHistogram, TableOne};
pub use unseen::UnseenCounts;
pub use weighted::{Features, Response, Weighted, Weighting};
