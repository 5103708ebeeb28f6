//! Compare, Model, Data and Topics over a made-up log with models trained on it.

#![allow(missing_docs, clippy::unwrap_used)]

mod compare;
mod looks;
mod measured;
mod runs;
mod world;
