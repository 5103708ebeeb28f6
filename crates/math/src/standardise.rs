//! Standardisation, which makes scores of different systems comparable.
//!
//! The caller chooses the documents for the statistics: a mix uses all training documents, a search
//! its candidates, the fusion of runs the results of a run.

/// A spread below this share of the scores' size is rounding.
const ROUNDING: f64 = 1e-6;

/// The location and scale of a set of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standard {
    /// Subtracted from a score.
    pub shift: f64,
    /// Divides a score; 0 if all scores are the same, which makes every score 0.
    pub scale: f64,
}

impl Standard {
    /// Mean and standard deviation: z-scores.
    pub fn z_score(scores: impl Iterator<Item = f64> + Clone) -> Self {
        let (sum, n) = scores.clone().fold((0.0, 0usize), |(sum, n), score| (sum + score, n + 1));
        let n = n.max(1) as f64;
        let mean = sum / n;
        let squares = scores.fold(0.0, |sum, score| sum + (score - mean).powi(2));
        Standard::new(mean, (squares / n).sqrt(), mean.abs())
    }

    /// Minimum and range: scores from 0 to 1.
    pub fn min_max(scores: impl Iterator<Item = f64>) -> Self {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (least, most) =
            scores.fold(ends, |(least, most), score| (least.min(score), most.max(score)));
        Standard::new(least, most - least, least.abs().max(most.abs()))
    }

    /// From `shift` and `scale` of scores whose magnitude is about `size`.
    pub fn new(shift: f64, scale: f64, size: f64) -> Self {
        let constant = !(scale > size * ROUNDING && scale > 0.0);
        Standard { shift, scale: if constant { 0.0 } else { scale } }
    }

    /// Whether all scores are the same.
    pub fn is_constant(&self) -> bool {
        self.scale == 0.0
    }

    /// The standardised score.
    pub fn apply(&self, score: f64) -> f64 {
        if self.is_constant() { 0.0 } else { (score - self.shift) / self.scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_differ_by_rounding_alone_are_constant() {
        let tiny = [1000.0, 1000.0 + 1e-5];
        for standard in [
            Standard::z_score([4.0; 3].into_iter()),
            Standard::min_max([4.0; 3].into_iter()),
            Standard::z_score(tiny.into_iter()),
            Standard::min_max(tiny.into_iter()),
            Standard::z_score(std::iter::empty()),
            Standard::min_max(std::iter::empty()),
        ] {
            assert!(standard.is_constant());
            assert_eq!(standard.apply(7.0), 0.0);
        }
    }

    #[test]
    fn z_scores_have_mean_zero_and_deviation_one() {
        let scores = [1.0, 3.0, -2.0, 6.0];
        let standard = Standard::z_score(scores.into_iter());
        let after = Standard::z_score(scores.into_iter().map(|score| standard.apply(score)));
        assert!(after.shift.abs() < 1e-15 && (after.scale - 1.0).abs() < 1e-15);
        let standard = Standard::min_max(scores.into_iter());
        assert_eq!(scores.map(|score| standard.apply(score)), [0.375, 0.625, 0.0, 1.0]);
    }
}
