//! What learning by samples in epochs shares: how it says where it is and how fast, and what it does
//! when the numbers run away.

use std::time::{Duration, Instant};

use super::{FitReport, Matcher, StepsReport};
use crate::{Error, Result, Run};

/// What is said where no document could be drawn beside a clicked one.
pub(super) const NOTHING_DRAWN: &str = "every document was clicked for every query, so none could be drawn beside them: nothing is learnt";
/// How often a rate is halved at which the numbers run away.
const HALVINGS: usize = 12;

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

/// Learns at `rate`; where the numbers run away, again at half of it, and a warning says so. How
/// high a rate may be depends on the data, and nobody knows beforehand.
pub(super) fn learn_at(
    rate: f64,
    fit: impl Fn(f64) -> Result<(Box<dyn Matcher>, StepsReport)>,
) -> Result<(Box<dyn Matcher>, FitReport)> {
    let diverged = match fit(rate) {
        Err(error @ Error::NotFinite { .. }) => error,
        learnt => return learnt.map(|(matcher, report)| (matcher, FitReport::Steps(report))),
    };
    let mut slower = rate;
    for _ in 0..HALVINGS {
        slower /= 2.0;
        match fit(slower) {
            Err(Error::NotFinite { .. }) => {}
            Err(error) => return Err(error),
            Ok((matcher, mut report)) => {
                report.warnings.push(format!(
                    "training diverged at rate = {rate} and was done again at {slower}: set `rate` to that to spare the time"
                ));
                return Ok((matcher, FitReport::Steps(report)));
            }
        }
    }
    Err(diverged)
}

/// `what` is no number any more after `epoch`, counted from one.
pub(super) fn diverged(what: &'static str, epoch: usize, rate: f64) -> Error {
    Error::NotFinite {
        what,
        step: epoch,
        advice: format!("training diverged in epoch {epoch} at rate = {rate}: lower `rate`"),
    }
}

/// How many `what` an epoch saw a second, in a line.
pub(super) fn speed(rates: &[f64], what: &str) -> Option<String> {
    let least = rates.iter().copied().reduce(f64::min)?;
    let most = rates.iter().copied().reduce(f64::max)?;
    Some(format!("{least:.0} to {most:.0} {what} a second, by epoch"))
}
