//! The HTML pages: search, compare, judge, model, data, topics.
//!
//! The server renders every page, and all work without script; the script makes them quicker.
//! Nothing on a page comes from another site, and no page contains script or style (the content
//! security policy forbids both), so that a document's text can never become either. Each page
//! is a function from the engine's answers to markup, which tests call without a server.

pub mod charts;
pub mod compare;
pub mod data;
pub mod dataset_stats;
pub mod examples;
pub mod explain;
#[cfg(test)]
mod fixture;
pub mod format;
pub mod heat_map;
pub mod hits;
pub mod judge;
pub mod judged_queries;
pub mod layout;
pub mod model;
pub mod model_choice;
pub mod page_jobs;
pub mod page_params;
pub mod paging;
pub mod pool;
pub mod rank_changes;
pub mod reason;
mod respond;
pub mod routes;
mod run_uploads;
pub mod search;
pub mod search_params;
pub mod search_view;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod titles;
pub mod topics;

pub use routes::{assets, router};
