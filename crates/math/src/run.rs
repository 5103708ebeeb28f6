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
    /// Which step of the whole work this is, counted from one, and the number of steps, if known.
    pub step: Option<(usize, usize)>,
    /// What is worked on, such as the model that is fitted.
    pub subject: Option<&'a str>,
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
    step: Option<(usize, usize)>,
    subject: Option<&'a str>,
}

/// The steps of one piece of work, in order.
pub struct Steps<'a> {
    run: Run<'a>,
    number: usize,
    of: usize,
}

impl<'a> Steps<'a> {
    /// The run of all steps.
    pub fn run(&self) -> &Run<'a> {
        &self.run
    }

    /// The run of the next step. Steps within the step of a larger piece of work are not shown.
    pub fn next_step(&mut self) -> Run<'a> {
        self.number = (self.number + 1).min(self.of);
        self.run.in_step(self.number, self.of)
    }
}

impl<'a> Run<'a> {
    /// A run that reports to `progress` and stops when `cancelled` returns true.
    pub fn new(
        progress: &'a (dyn Fn(Progress<'_>) + Sync),
        cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Run { progress, cancelled, memory: None, scratch: None, step: None, subject: None }
    }

    /// A run that reports nothing and is never cancelled.
    pub fn silent() -> Run<'static> {
        Run::new(&|_| {}, &|| false)
    }

    /// Divides the work into `of` steps, so that progress says which one runs.
    pub fn steps(&self, of: usize) -> Steps<'a> {
        Steps { run: *self, number: 0, of }
    }

    /// This run as step `number` of `of`, counted from one, unless it is already a step of larger work.
    pub fn in_step(&self, number: usize, of: usize) -> Self {
        Run { step: self.step.or(Some((number, of))), ..*self }
    }

    /// This run for the work on `subject`, which progress names.
    pub fn on<'b>(&self, subject: &'b str) -> Run<'b>
    where
        'a: 'b,
    {
        Run { subject: Some(subject), ..*self }
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
        let Run { step, subject, .. } = *self;
        (self.progress)(Progress { stage, done, total, step, subject });
        self.check()
    }

    /// An error if the run is cancelled.
    pub fn check(&self) -> Result<()> {
        if (self.cancelled)() { Err(Error::Cancelled) } else { Ok(()) }
    }
}
