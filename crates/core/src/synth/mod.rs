//! Logs made up from a known truth: a readable one for the demonstration, and ones with the
//! size and shape of the papers' web logs.

pub mod concepts;
pub mod demo;
pub mod engine;
mod raw;
mod ready;
pub mod weblog;

pub use ready::{Log, Synthetic, import_of};
