//! The command line through the real binary: one temporary folder a test, and one for the
//! models that many tests only read.

#![allow(missing_docs, clippy::unwrap_used)]

mod bound;
mod compare;
mod damaged;
mod demo;
mod diversify;
mod eval;
mod events;
mod evidence;
mod experiment;
mod export;
mod export_index;
mod features;
mod fuse;
mod import;
mod import_bad;
mod import_formats;
mod import_real;
mod info;
mod kill_writer;
mod manners;
mod place;
mod plan;
mod rank;
mod rankers;
mod real;
mod rerank;
mod run;
mod scale;
mod search;
mod serve;
mod serve_full;
mod serve_kill;
mod serve_swap;
mod service;
mod shared;
mod similar;
mod square;
mod synth;
mod task;
mod topics;
mod train;
mod translate;
mod tune;
