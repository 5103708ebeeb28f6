//! Why a document has its score: contributions that add up to it.

use serde::Serialize;

/// An explanation of one score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The query as given.
    pub query: String,
    /// Query words that the model does not know.
    pub unknown: Vec<String>,
    /// The document's id.
    pub doc: String,
    /// The score, as in a search.
    pub score: f64,
    /// Words (after analysis) that query and document share.
    pub shared_words: Vec<String>,
    /// One part per matcher; a mix has several.
    pub parts: Vec<PartExplanation>,
}

/// The part of one matcher. Its own score is Σ contributions + rest. It contributes that score if it is
/// the only matcher, weight·(score − mean)/deviation in a linear mix, and 1/(60 + rank) in one by ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartExplanation {
    /// Method of the part.
    pub method: String,
    /// Its weight in the mix.
    pub weight: f64,
    /// Its own score.
    pub score: f64,
    /// Mean and standard deviation of its scores over all documents, in a linear mix.
    pub standard: Option<(f64, f64)>,
    /// Its contribution to the whole score.
    pub contribution: f64,
    /// The largest contributions to its own score, largest first.
    pub contributions: Vec<Contribution>,
    /// The number of smaller contributions.
    pub n_rest: usize,
    /// Their sum, with the rounding error of the score.
    pub rest: f64,
}

/// A term of the sum that explains a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contribution {
    /// The query's side.
    pub query: String,
    /// The document's side.
    pub doc: String,
    /// The value that the pair adds.
    pub value: f64,
}
