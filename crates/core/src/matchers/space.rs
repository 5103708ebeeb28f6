//! Entries that the default search spaces of several methods share
//! ([`Method::search_space`](super::Method)).

/// A key and its values, as in a file of a search space: a list, or a range to draw from
/// ([`crate::tuning::Space`]).
pub type Varied = (&'static str, &'static str);

pub(super) const QUERY_CLICKS: Varied = ("features.query_clicks", "[0.0, 0.1, 0.3, 1.0]");
pub(super) const DOC_CLICKS: Varied = ("features.doc_clicks", "[0.0, 0.1, 0.3, 1.0]");
pub(super) const WEIGHTING: Varied = ("weighting", "[\"sum\", \"mean\"]");
pub(super) const RESPONSE: Varied = ("response", "[\"log\", \"raw\", \"binary\"]");
pub(super) const DIM: Varied = ("dim", "{ min = 30, max = 1000, log = true, int = true }");

/// The number of topics.
pub(super) const TOPICS: Varied = ("dim", "{ min = 20, max = 500, log = true, int = true }");

/// The entries that most methods with such keys have.
pub const USUAL_SPACE: [Varied; 5] = [QUERY_CLICKS, DOC_CLICKS, WEIGHTING, RESPONSE, DIM];
