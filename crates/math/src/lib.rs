//! The foundations of liken, without text and clicks.
//!
//! Errors and progress ([`Error`], [`Run`]), files that appear complete or not at all
//! ([`mod@file`]), sparse matrices ([`sparse`]), dense blocks ([`dense`]), the operator C = XᵀRY with
//! its SVD and solvers ([`linalg`]), nearest neighbours of embeddings ([`index`]), ranking by scores
//! ([`ranking`]) and early stopping ([`early_stopping`]). `liken` re-exports all of it.
//!
//! The crate prints nothing and builds no thread pool. Results are the same bits at any number of
//! threads.

mod error;
mod run;

pub mod dense;
pub mod early_stopping;
pub mod file;
pub mod index;
pub mod linalg;
pub mod memory;
pub mod processor;
pub mod random;
pub mod ranking;
pub mod sparse;
pub mod special;
pub mod standardise;
pub mod suggest;
pub mod top_k;

#[cfg(test)]
mod oracle;

pub use error::{Error, Result, counted, excerpt, quoted};
pub use run::{Progress, Run, Steps};
