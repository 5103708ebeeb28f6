//! What stochastic training in epochs shares: progress, speed, and a lower rate after divergence.

use std::time::{Duration, Instant};

use super::{FitReport, Matcher, StepsReport};
use crate::{Error, Result, Run};

/// The warning where no negative could be drawn.
pub(super) const NOTHING_DRAWN: &str =
    "every document was clicked for every query, so no negatives could be drawn: nothing is learnt";
/// How often a rate is halved at which training diverges.
const HALVINGS: usize = 12;

/// Fewest samples per parallel task.
pub(super) const MIN_PER_THREAD: usize = 4;
/// Time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

/// Reports the progress of an epoch, and stops it if the run is cancelled.
pub(super) struct Progress<'a> {
    stage: String,
    all: u64,
    reported: Instant,
    run: &'a Run<'a>,
}

impl<'a> Progress<'a> {
    /// At the start of an epoch, counted from one, of `all` samples.
    pub fn start(epoch: usize, all: usize, run: &'a Run<'a>) -> Result<Self> {
        let progress = Progress {
            stage: format!("epoch {epoch}"),
            all: all as u64,
            reported: Instant::now(),
            run,
        };
        run.step(&progress.stage, 0, Some(progress.all))?;
        Ok(progress)
    }

    /// After `done` samples.
    pub fn at(&mut self, done: usize) -> Result<()> {
        if self.reported.elapsed() >= REPORT_INTERVAL {
            self.run.step(&self.stage, done as u64, Some(self.all))?;
            self.reported = Instant::now();
        }
        Ok(())
    }
}

/// Fits at `rate`; if training diverges, again at half of it, with a warning. The highest stable rate
/// depends on the data and is not known beforehand.
pub(super) fn learn_at(
    rate: f64,
    fit: impl Fn(f64) -> Result<(Box<dyn Matcher>, StepsReport)>,
) -> Result<(Box<dyn Matcher>, FitReport)> {
    let mut first = None;
    let mut slower = rate;
    for _ in 0..=HALVINGS {
        match fit(slower) {
            Err(error @ Error::NotFinite { .. }) => first = first.or(Some(error)),
            Err(error) => return Err(error),
            Ok((matcher, mut report)) => {
                if first.is_some() {
                    report.warnings.push(format!(
                        "training diverged at rate = {rate} and was repeated at {slower}: set `rate = {slower}` to save the time"
                    ));
                }
                return Ok((matcher, FitReport::Steps(report)));
            }
        }
        slower /= 2.0;
    }
    Err(first.expect("every rate diverged"))
}

/// The error of `what` not being finite after `epoch`, counted from one.
pub(super) fn diverged(what: &'static str, epoch: usize, rate: f64) -> Error {
    Error::NotFinite {
        what,
        step: epoch,
        advice: format!("training diverged in epoch {epoch} at rate = {rate}: lower `rate`"),
    }
}

/// The range of `rates` over the epochs, in `what` per second.
pub(super) fn speed(rates: &[f64], what: &str) -> Option<String> {
    let least = rates.iter().copied().reduce(f64::min)?;
    let most = rates.iter().copied().reduce(f64::max)?;
    Some(format!("{least:.0} to {most:.0} {what} per second, by epoch"))
}
