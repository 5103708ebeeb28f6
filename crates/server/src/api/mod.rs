//! The HTTP API: one table of routes, of which the router and the OpenAPI document are both made,
//! and the handlers that the table names.

mod body;
mod call;
mod documents;
mod events;
mod items;
mod judgments;
mod models;
mod openapi;
mod parse;
mod route;
mod routes;
mod search;
mod status;
mod twice;
pub mod types;
mod words;

pub(crate) use call::router;
pub use documents::{BadLine, BulkWritten, DeleteRequest, DocumentBody};
pub use events::NumberedEvent;
pub use items::OneOrMany;
pub use openapi::document as openapi_document;
pub use status::Ready;
