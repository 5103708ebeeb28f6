//! Early stopping of a fit by its validation score.

/// The best step so far, its validation score and its saved state.
#[derive(Debug, Clone)]
pub struct EarlyStopping<T> {
    patience: usize,
    best: Option<(usize, f64, T)>,
}

impl<T> EarlyStopping<T> {
    /// Stops after `patience` steps without improvement; 0 never stops.
    pub fn new(patience: usize) -> Self {
        EarlyStopping { patience, best: None }
    }

    /// Records the validation score of a step (higher is better) and saves `state` if it is the best
    /// so far; of equal scores the first wins. Returns whether to stop.
    pub fn observe(&mut self, step: usize, score: f64, state: impl FnOnce() -> T) -> bool {
        if self.improves(score) {
            self.save(step, score, state());
        }
        self.is_over(step)
    }

    /// Whether no step improved within the patience.
    pub fn is_over(&self, step: usize) -> bool {
        self.patience > 0 && self.since_best(step) >= self.patience
    }

    /// Whether `score` is better than all earlier ones.
    pub fn improves(&self, score: f64) -> bool {
        self.best.as_ref().is_none_or(|&(_, best, _)| score > best)
    }

    /// Makes this step the best one, regardless of earlier scores.
    pub fn save(&mut self, step: usize, score: f64, state: T) {
        self.best = Some((step, score, state));
    }

    /// The number of steps since the best one; 0 if there is none.
    pub fn since_best(&self, step: usize) -> usize {
        self.best.as_ref().map_or(0, |&(best, ..)| step - best)
    }

    /// The best step, its score and its state.
    pub fn best(&self) -> Option<&(usize, f64, T)> {
        self.best.as_ref()
    }

    /// [`EarlyStopping::best`] by value.
    pub fn into_best(self) -> Option<(usize, f64, T)> {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_steps_is_kept() {
        let mut stopping = EarlyStopping::new(2);
        let scores = [0.1, 0.3, 0.3, 0.2, 0.9];
        let stopped =
            (1..).zip(scores).find(|&(step, score)| stopping.observe(step, score, || step));
        assert_eq!(stopped, Some((4, 0.2)));
        assert_eq!(stopping.into_best(), Some((2, 0.3, 2)));
    }

    #[test]
    fn without_patience_every_step_is_looked_at() {
        let mut stopping = EarlyStopping::new(0);
        assert!((1..100).all(|step| !stopping.observe(step, 1.0 / step as f64, || ())));
        assert_eq!(stopping.since_best(99), 98);
    }
}
