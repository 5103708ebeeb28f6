//! From text and clicks to matrices: counts that every model can be made from, and the
//! weighted matrices that bilinear models are trained on.

mod blocks;
mod classes;
mod collection;
mod counts;
mod evidence;
mod negatives;
mod positions;
pub mod proximity;
mod stats;
mod unseen;
mod weighted;

#[cfg(test)]
mod tests;

pub use classes::{CLASS_FIELD, Classes, NO_CLASS};
pub use collection::Collection;
pub(crate) use counts::Parts;
pub use counts::{Counts, Field, Preparation, QueryTerms, Unread};
pub use evidence::{ClickEvidence, EvidenceAbout};
pub use negatives::Negatives;
pub use positions::{GAP, Positions, Sequences};
pub use stats::{ClickHistogram, TableOne};
pub use unseen::NewDocuments;
pub use weighted::{Features, Featurizer, Response, Weighted, Weighting, idf};
pub(crate) use weighted::{check_clicks, no_training_clicks};
