//! The search engine of liken: one index, its documents and models, and everything that can be
//! asked of them: retrieve → match → fuse → re-rank → diversify. It knows nothing of HTTP; all
//! functions block, and whoever calls them from asynchronous code hands them to a thread.
//!
//! Each module uses only those above it:
//!
//! ```text
//! error     why something was not done        types    what is asked and answered
//! system    what the operating system says
//! titles    a document in one line            snippet  fragments of its text
//! store     what must survive: SQLite         text     the text index: tantivy
//! limits    how much may be asked             checks   whether a request keeps to that
//! engine    the open index: [`Engine`]
//! ```

#![deny(unsafe_code)]

pub mod checks;
mod engine;
mod error;
mod limits;
pub mod snippet;
pub mod store;
pub mod system;
#[doc(hidden)]
pub mod testing;
pub mod text;
pub mod titles;
pub mod types;

pub use engine::{
    Building, Built, BuiltModel, Changed, Engine, IndexAbout, Layout, Reading, Served, Settings,
    Snapshot, bytes_of,
};
pub use error::{Error, Result};
pub use limits::Limits;
