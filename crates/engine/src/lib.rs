//! The search engine of liken: one index, its documents and models, and all requests to them:
//! retrieve → match → fuse → re-rank → diversify. It knows nothing of HTTP; all functions block, and
//! asynchronous code calls them in a thread.
//!
//! Each module uses only those above it:
//!
//! ```text
//! error     errors                            types    requests and responses
//! system    calls of the operating system
//! titles    a document in one line            snippet  fragments of its text
//! store     the database: SQLite              text     the text index: tantivy
//! limits    limits of requests                checks   validation of requests
//! engine    the open index: [`Engine`]
//! ```

#![deny(unsafe_code)]

// `testing.rs`, which the server's tests include, names this crate.
#[cfg(test)]
extern crate self as liken_engine;

pub mod checks;
mod engine;
mod error;
mod limits;
pub mod snippet;
pub mod store;
pub mod system;
#[cfg(test)]
mod testing;
pub mod text;
pub mod titles;
pub mod types;

pub use engine::{
    BuildReport, BuiltModel, Changed, Engine, IndexAbout, IndexBuilder, Layout, ServedModel,
    Settings, Snapshot, TextReading, bytes_of,
};
pub use error::{Error, Result};
pub use limits::Limits;
