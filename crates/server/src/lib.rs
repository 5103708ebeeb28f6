//! The search service: [`liken_engine`] over HTTP, and pages on which a person can search, compare,
//! understand and judge.

#![forbid(unsafe_code)]

pub mod api;
pub mod http;
pub mod jobs;
pub mod pages;
pub mod problem;
mod run;
pub mod runs;

pub use run::run;
