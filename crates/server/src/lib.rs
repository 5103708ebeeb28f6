//! The search service: [`liken_engine`] over HTTP, and pages to search, compare models, explain
//! scores and judge documents.
//!
//! Each module uses only those above it:
//!
//! ```text
//! problem      errors for clients (RFC 9457)
//! jobs, runs   background jobs;  uploaded runs of other engines
//! http         connections, keys, limits, log, metrics, worker pools, for any routes
//! api          the JSON API and its OpenAPI document
//! pages        the HTML pages
//! run          the service over an open engine
//! ```

#![forbid(unsafe_code)]

pub mod api;
pub mod http;
pub mod jobs;
pub mod pages;
pub mod problem;
mod run;
pub mod runs;

/// Small indexes, made by the file that the engine's tests use.
#[cfg(test)]
#[path = "../../engine/src/testing.rs"]
mod testing;

pub use run::{routes, run};
