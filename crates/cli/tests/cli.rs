//! The command line through the real binary: one temporary folder a test, and one for the
//! models that many tests only read.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "cli/bound.rs"]
mod bound;
#[path = "cli/compare.rs"]
mod compare;
#[path = "cli/damaged.rs"]
mod damaged;
#[path = "cli/demo.rs"]
mod demo;
#[path = "cli/diversify.rs"]
mod diversify;
#[path = "cli/eval.rs"]
mod eval;
#[path = "cli/events.rs"]
mod events;
#[path = "cli/evidence.rs"]
mod evidence;
#[path = "cli/experiment.rs"]
mod experiment;
#[path = "cli/export.rs"]
mod export;
#[path = "cli/export_index.rs"]
mod export_index;
#[path = "cli/features.rs"]
mod features;
#[path = "cli/fuse.rs"]
mod fuse;
#[path = "cli/import.rs"]
mod import;
#[path = "cli/import_bad.rs"]
mod import_bad;
#[path = "cli/import_formats.rs"]
mod import_formats;
#[path = "cli/import_real.rs"]
mod import_real;
#[path = "cli/info.rs"]
mod info;
#[path = "cli/kill_writer.rs"]
mod kill_writer;
#[path = "cli/manners.rs"]
mod manners;
#[path = "cli/place.rs"]
mod place;
#[path = "cli/plan.rs"]
mod plan;
#[path = "cli/rank.rs"]
mod rank;
#[path = "cli/rankers.rs"]
mod rankers;
#[path = "cli/real.rs"]
mod real;
#[path = "cli/rerank.rs"]
mod rerank;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/scale.rs"]
mod scale;
#[path = "cli/search.rs"]
mod search;
#[path = "cli/serve.rs"]
mod serve;
#[path = "cli/serve_flags.rs"]
mod serve_flags;
#[path = "cli/serve_full.rs"]
mod serve_full;
#[path = "cli/serve_kill.rs"]
mod serve_kill;
#[path = "cli/serve_swap.rs"]
mod serve_swap;
#[path = "cli/service.rs"]
mod service;
#[path = "cli/shared.rs"]
mod shared;
#[path = "cli/similar.rs"]
mod similar;
#[path = "cli/square.rs"]
mod square;
#[path = "cli/synth.rs"]
mod synth;
#[path = "cli/task.rs"]
mod task;
#[path = "cli/topics.rs"]
mod topics;
#[path = "cli/train.rs"]
mod train;
#[path = "cli/translate.rs"]
mod translate;
#[path = "cli/tune.rs"]
mod tune;
