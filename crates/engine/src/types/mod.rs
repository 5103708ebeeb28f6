//! Requests to the engine and its responses. Their JSON is the same for HTTP, the command line and
//! other languages. Unknown fields are errors, so that a misspelt option is never ignored.

mod embeddings;
mod explain;
mod learning;
mod models;
mod results;
mod scope;
mod search;

pub use embeddings::{EmbedRequest, EmbedResponse, Neighbour, SimilarRequest, SimilarResponse};
pub use explain::{
    Contribution, ExplainRequest, ExplainResponse, FeatureContribution, ModelExplanation,
    PartExplanation, RankerExplanation,
};
pub use learning::{Event, Judgment, Written};
pub use models::{LoadRequest, ModelAbout, ModelRef, Status};
pub use results::{Fragment, Hit, RerankResponse, SearchResponse};
pub use scope::Scope;
pub use search::{DiversifySpec, FusionMethod, FusionSpec, RerankRequest, SearchRequest};
