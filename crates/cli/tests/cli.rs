//! The command line through the real binary: one temporary folder a test.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "cli/import.rs"]
mod import;
#[path = "cli/import_bad.rs"]
mod import_bad;
#[path = "cli/place.rs"]
mod place;
