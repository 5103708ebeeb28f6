//! Why a document has its score: contributions that add up to it.

use serde::Serialize;

/// An explanation of one score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The query as given.
    pub query: String,
    /// Words of the query that the model does not know.
    pub unknown: Vec<String>,
    /// The document's id.
    pub doc: String,
    /// The score that search shows.
    pub score: f64,
    /// Words (after analysis) that query and document share.
    pub shared_words: Vec<String>,
    /// One part a matcher; a mix has several.
    pub parts: Vec<PartExplanation>,
}

/// What one matcher adds. Its own score is Σ contributions + rest; in a linear mix it counts for
/// weight·(score − mean)/deviation, in one by ranks for 1/(60 + rank), alone as it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartExplanation {
    /// The method.
    pub method: String,
    /// Its weight in the mix.
    pub weight: f64,
    /// Its own score.
    pub score: f64,
    /// Mean and standard deviation of its scores over all documents, in a linear mix.
    pub standard: Option<(f64, f64)>,
    /// What it adds to the whole.
    pub adds: f64,
    /// The largest contributions, largest first.
    pub lines: Vec<Contribution>,
    /// How many smaller contributions there are.
    pub n_rest: usize,
    /// What they add up to, the rounding of the score included.
    pub rest: f64,
}

/// One contribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contribution {
    /// The query's side.
    pub query: String,
    /// The document's side.
    pub doc: String,
    /// What the pair adds.
    pub value: f64,
}
