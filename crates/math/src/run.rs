//! Progress, cancellation and memory limit of long work.

use std::path::{Path, PathBuf};

use crate::{Error, Result, memory};

/// The progress of long work.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The current stage, as shown to users: "reading clicks.tsv", "sweep 3".
    pub stage: &'a str,
    /// The completed amount, in units of the stage.
    pub done: u64,
    /// The total amount, if known.
    pub total: Option<u64>,
}

/// The connection between long work and its caller: progress out, cancellation in, and the limits
/// on memory and scratch files. Libraries never print and install no signal handler; they call the
/// two functions given here.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    progress: &'a (dyn Fn(Progress<'_>) + Sync),
    cancelled: &'a (dyn Fn() -> bool + Sync),
    memory: Option<u64>,
    scratch: Option<&'a Path>,
}

impl<'a> Run<'a> {
    /// A run that reports to `progress` and stops when `cancelled` returns true.
    pub fn new(
        progress: &'a (dyn Fn(Progress<'_>) + Sync),
        cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Run { progress, cancelled, memory: None, scratch: None }
    }

    /// A run that reports nothing and is never cancelled.
    pub fn silent() -> Run<'static> {
        Run::new(&|_| {}, &|| false)
    }

    /// A run with the memory limit and the scratch folder of this one that reports to `progress` and
    /// stops when `cancelled` returns true.
    pub fn with_callbacks<'b>(
        &self,
        progress: &'b (dyn Fn(Progress<'_>) + Sync),
        cancelled: &'b (dyn Fn() -> bool + Sync),
    ) -> Run<'b>
    where
        'a: 'b,
    {
        Run { progress, cancelled, memory: self.memory, scratch: self.scratch }
    }

    /// Limits the memory of the process to `memory` bytes.
    pub fn with_memory(self, memory: u64) -> Self {
        Run { memory: Some(memory), ..self }
    }

    /// Creates scratch files in `folder`.
    pub fn with_scratch(self, folder: &'a Path) -> Self {
        Run { scratch: Some(folder), ..self }
    }

    /// The most bytes of the process: four fifths of the available memory, unless the caller set a
    /// limit.
    pub fn memory(&self) -> u64 {
        self.memory.unwrap_or_else(memory::default_limit)
    }

    /// The bytes that the process may still allocate.
    pub fn memory_left(&self) -> u64 {
        self.memory().saturating_sub(memory::resident())
    }

    /// The folder for scratch files.
    pub fn scratch(&self) -> PathBuf {
        self.scratch.map_or_else(std::env::temp_dir, Path::to_owned)
    }

    /// Reports progress; an error if the run is cancelled. To be called a few times per second, never
    /// in an inner loop.
    pub fn step(&self, stage: &str, done: u64, total: Option<u64>) -> Result<()> {
        (self.progress)(Progress { stage, done, total });
        self.check()
    }

    /// An error if the run is cancelled.
    pub fn check(&self) -> Result<()> {
        if (self.cancelled)() { Err(Error::Cancelled) } else { Ok(()) }
    }
}
