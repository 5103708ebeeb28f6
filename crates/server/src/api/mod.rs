//! The JSON API: one table of routes, from which the router and the OpenAPI document are made, and
//! their handlers.

mod body;
mod call;
mod documents;
mod duplicate_fields;
mod events;
mod items;
mod json_errors;
mod judgments;
mod models;
mod openapi;
mod parse;
mod route;
mod router;
mod routes;
mod search;
mod status;
pub mod types;

pub use documents::{BadLine, BulkWritten, DeleteRequest, DocumentBody};
pub use events::NumberedEvent;
pub use items::OneOrMany;
pub(crate) use router::router;
pub use routes::openapi_document;
pub use status::Ready;
