//! What requests and responses look like: the one place that handlers, pages and the OpenAPI
//! document read it off. Unknown fields are refused, so that a misspelt option never passes
//! silently.

mod explain;
mod learning;
mod models;
mod near;
mod search;

pub use explain::{
    Contribution, ExplainRequest, ExplainResponse, FeatureContribution, ModelExplanation,
    PartExplanation, RankerExplanation,
};
pub use learning::{Event, Judgment, Written};
pub use models::{ActivateRequest, LoadRequest, ModelAbout, ModelRef, Status};
pub use near::{EmbedRequest, EmbedResponse, Near, SimilarRequest, SimilarResponse};
pub use search::{
    DiversifySpec, FusionMethod, FusionSpec, Hit, Piece, RerankRequest, RerankResponse,
    SearchRequest, SearchResponse,
};
