//! What a long piece of work tells its caller, how the caller stops it, and how much memory it
//! may take.

use std::path::{Path, PathBuf};

use crate::{Error, Result, memory};

/// How far a piece of work has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// What is being done, for people: "reading clicks.tsv", "sweep 3".
    pub stage: &'a str,
    /// How much is done, in units that suit the stage.
    pub done: u64,
    /// How much there is in all, where that is known.
    pub total: Option<u64>,
}

/// The line between long work and whoever waits for it: progress goes out, the wish to stop
/// comes in. Core never prints and never installs a signal handler; it calls these two.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
    cancelled: &'a (dyn Fn() -> bool + Sync),
    memory: Option<u64>,
    scratch: Option<&'a Path>,
}

impl<'a> Run<'a> {
    /// A run that reports to `progress` and stops when `cancelled` says so.
    pub fn new(
        progress: &'a (dyn Fn(Progress<'_>) + Sync),
        cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Run { progress, cancelled, memory: None, scratch: None }
    }

    /// A run that reports to nobody and is never stopped.
    pub fn silent() -> Run<'static> {
        Run::new(&|_| {}, &|| false)
    }

    /// A run with the memory and the scratch folder of this one that reports to `progress` and
    /// stops when `cancelled` says so.
    pub fn heard_by<'b>(
        &self,
        progress: &'b (dyn Fn(Progress<'_>) + Sync),
        cancelled: &'b (dyn Fn() -> bool + Sync),
    ) -> Run<'b>
    where
        'a: 'b,
    {
        Run { progress, cancelled, memory: self.memory, scratch: self.scratch }
    }

    /// The same, but the process may not take more than `memory` bytes in all.
    pub fn within(self, memory: u64) -> Self {
        Run { memory: Some(memory), ..self }
    }

    /// The same, but scratch files are made in `folder`.
    pub fn with_scratch(self, folder: &'a Path) -> Self {
        Run { scratch: Some(folder), ..self }
    }

    /// The bytes that the process may take in all: four fifths of what there is, unless the
    /// caller said otherwise.
    pub fn memory(&self) -> u64 {
        self.memory.unwrap_or_else(memory::allowed)
    }

    /// The bytes that the process may take beyond what it has already.
    pub fn memory_left(&self) -> u64 {
        self.memory().saturating_sub(memory::resident())
    }

    /// Where to make scratch files.
    pub fn scratch(&self) -> PathBuf {
        self.scratch.map_or_else(std::env::temp_dir, Path::to_owned)
    }

    /// Reports progress; an error if the caller wants to stop. Call it a few times a second,
    /// never in an inner loop.
    pub fn step(&self, stage: &str, done: u64, total: Option<u64>) -> Result<()> {
        (self.progress)(Progress { stage, done, total });
        self.check()
    }

    /// An error if the caller wants to stop.
    pub fn check(&self) -> Result<()> {
        if (self.cancelled)() { Err(Error::Cancelled) } else { Ok(()) }
    }
}
