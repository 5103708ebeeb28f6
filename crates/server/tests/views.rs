//! Compare, Model, Data and Topics over a made-up log with models trained on it.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "views/compare.rs"]
mod compare;
#[path = "views/looks.rs"]
mod looks;
#[path = "views/measured.rs"]
mod measured;
#[path = "views/runs.rs"]
mod runs;
#[path = "views/world.rs"]
mod world;
