//! What a long piece of work tells its caller, and how the caller stops it.

use crate::{Error, Result};

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
}

impl<'a> Run<'a> {
    /// A run that reports to `progress` and stops when `cancelled` says so.
    pub fn new(
        progress: &'a (dyn Fn(Progress<'_>) + Sync),
        cancelled: &'a (dyn Fn() -> bool + Sync),
    ) -> Self {
        Run { progress, cancelled }
    }

    /// A run that reports to nobody and is never stopped.
    pub fn silent() -> Run<'static> {
        Run { progress: &|_| {}, cancelled: &|| false }
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
