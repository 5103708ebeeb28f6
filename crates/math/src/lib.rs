//! What liken stands on: everything that knows neither text nor clicks.
//!
//! Errors and progress ([`Error`], [`Run`]), files that appear whole or not at all ([`mod@file`]), checked
//! sparse matrices ([`sparse`]), dense blocks and the operator C = XᵀRY with its SVD and solvers
//! ([`linalg`]), the nearest neighbours of an embedding ([`index`]), the best of many scores
//! ([`ranking`]), early stopping ([`early_stopping`]). `liken` re-exports all of it; other languages, several machines and other devices
//! build on this crate directly.
//!
//! It prints nothing and builds no thread pool. Everything gives the same bits at any number of threads.

mod error;
mod run;

pub mod dense;
pub mod early_stopping;
pub mod file;
pub mod index;
pub mod linalg;
pub mod memory;
pub mod random;
pub mod ranking;
pub mod sparse;
pub mod special;
pub mod standardise;
pub mod top_k;

#[cfg(test)]
mod oracle;

pub use error::{Error, Result, excerpt, quoted};
pub use run::{Progress, Run};
