//! The search service: [`liken_engine`] over HTTP, and pages on which a person can search, compare,
//! understand and judge.
//!
//! Each module uses only those above it:
//!
//! ```text
//! problem      an error for a client (RFC 9457)
//! jobs, runs   background jobs;  runs of other engines to compare with
//! http         connections, keys, limits, log, metrics, worker pools: around any routes
//! api          the routes for programs, and the OpenAPI document
//! pages        the routes for people
//! run          all of it over an open engine
//! ```

#![forbid(unsafe_code)]

pub mod api;
pub mod http;
pub mod jobs;
pub mod pages;
pub mod problem;
mod run;
pub mod runs;

pub use run::{routes, run};
