//! The best step of a fit by what validation says, and when to stop looking for a better one.

/// What was best so far.
#[derive(Debug, Clone)]
pub struct Best<T> {
    patience: usize,
    best: Option<(usize, f64, T)>,
}

impl<T> Best<T> {
    /// Looks at `patience` more steps after the best one; 0 looks at all.
    pub fn new(patience: usize) -> Self {
        Best { patience, best: None }
    }

    /// Looks at the step `step`, whose merit on validation is `merit` (more is better); `what` is
    /// asked for what is to be kept if it is the best so far. Of equal steps the first is kept.
    /// Says whether to stop.
    pub fn look(&mut self, step: usize, merit: f64, what: impl FnOnce() -> T) -> bool {
        if self.best.as_ref().is_none_or(|(_, best, _)| merit > *best) {
            self.best = Some((step, merit, what()));
        }
        let since = self.best.as_ref().map_or(0, |(at, ..)| step - at);
        self.patience > 0 && since >= self.patience
    }

    /// The best step, its merit, and what was kept of it; nothing if there was no step.
    pub fn take(self) -> Option<(usize, f64, T)> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_steps_is_kept() {
        let mut best = Best::new(2);
        let merits = [0.1, 0.3, 0.3, 0.2, 0.9];
        let stopped = (1..).zip(merits).find(|&(step, merit)| best.look(step, merit, || step));
        assert_eq!(stopped, Some((4, 0.2)));
        assert_eq!(best.take(), Some((2, 0.3, 2)));
    }
}
