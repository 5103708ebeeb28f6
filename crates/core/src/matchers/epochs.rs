//! What learning by samples in epochs shares: how it says where it is, and what it says when the
//! numbers run away.

use std::time::{Duration, Instant};

use crate::{Error, Result, Run};

/// Fewest samples that a thread takes at once.
pub(super) const FEWEST_A_THREAD: usize = 4;
/// How often progress is said.
const OFTEN: Duration = Duration::from_millis(200);

/// Says how far an epoch has come, and stops where it is told to.
pub(super) struct Progress<'a> {
    stage: String,
    all: u64,
    said: Instant,
    run: &'a Run<'a>,
}

impl<'a> Progress<'a> {
    /// At the start of an epoch, counted from one, of `all` samples.
    pub fn start(epoch: usize, all: usize, run: &'a Run<'a>) -> Result<Self> {
        let progress = Progress {
            stage: format!("epoch {epoch}"),
            all: all as u64,
            said: Instant::now(),
            run,
        };
        run.step(&progress.stage, 0, Some(progress.all))?;
        Ok(progress)
    }

    /// After `done` samples.
    pub fn at(&mut self, done: usize) -> Result<()> {
        if self.said.elapsed() >= OFTEN {
            self.run.step(&self.stage, done as u64, Some(self.all))?;
            self.said = Instant::now();
        }
        Ok(())
    }
}

/// `what` is no number any more after `epoch`, counted from one; `also` says what else may help.
pub(super) fn diverged(what: &'static str, epoch: usize, rate: f64, also: &str) -> Error {
    Error::NotFinite {
        what,
        step: epoch,
        advice: format!("training diverged in epoch {epoch} at rate = {rate}: lower `rate`{also}"),
    }
}
