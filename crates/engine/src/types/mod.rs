//! What the engine is asked, and what it answers. As JSON they are the same for HTTP, the command
//! line and other languages. Unknown fields are refused, so that a misspelt option never passes
//! silently.

mod embeddings;
mod explain;
mod learning;
mod models;
mod scope;
mod search;

pub use embeddings::{EmbedRequest, EmbedResponse, Neighbour, SimilarRequest, SimilarResponse};
pub use explain::{
    Contribution, ExplainRequest, ExplainResponse, FeatureContribution, ModelExplanation,
    PartExplanation, RankerExplanation,
};
pub use learning::{Event, Judgment, Written};
pub use models::{LoadRequest, ModelAbout, ModelRef, Status};
pub use scope::Scope;
pub use search::{
    DiversifySpec, Fragment, FusionMethod, FusionSpec, Hit, RerankRequest, RerankResponse,
    SearchRequest, SearchResponse,
};
