//! Synthetic logs from a planted truth: a readable one for the demonstration, and ones with the size
//! and shape of the papers' web logs; and a corpus with planted topics.

pub mod concepts;
pub mod corpus;
pub mod demo;
pub mod engine;
mod raw;
mod synthetic;
pub mod weblog;
mod zipf;

pub use synthetic::{Synthetic, SyntheticLog, import};
