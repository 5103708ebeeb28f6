//! The pages: search, compare, judge and look, in any browser.
//!
//! Everything is written by the server and works without script; the script makes it quicker.
//! Nothing on a page comes from elsewhere, and no page carries script or style of its own (the
//! content security policy forbids both), so that a document's text can never become either.
//! Each page is a function from the engine's answers to markup, so that it can be tested
//! without a server.

pub mod compare;
pub mod data;
pub mod examples;
pub mod explain;
#[cfg(test)]
mod fixture;
pub mod heat;
pub mod hits;
pub mod judge;
pub mod layout;
pub mod model;
pub mod moves;
pub mod page_jobs;
pub mod page_params;
pub mod pool;
pub mod reason;
pub mod routes;
pub mod search;
pub mod search_params;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod titles;
pub mod topics;
pub mod views;
pub mod wording;

pub use routes::{answer, assets, router};
