//! The search service: a text index beside the images of documents, retrieve → match → rank →
//! diversify over HTTP, and pages on which a person can search, compare, understand and judge.

pub mod api;
pub mod engine;
pub mod http;
pub mod jobs;
pub mod pages;
pub mod problem;
mod run;
pub mod runs;
pub mod snippet;
pub mod store;
pub mod text;
pub mod titles;

pub use run::run;
