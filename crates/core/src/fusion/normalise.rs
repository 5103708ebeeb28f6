//! Scores of one query made comparable with those of another engine.

use serde::{Deserialize, Serialize};

/// Scores beyond this are divided by the largest first, so that squares and sums of them stay
/// finite.
const HUGE: f64 = 1e100;

/// What is done to the scores of one query in one run. Denominators are at least 1e-9, so that
/// equal scores do not divide by zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// Nothing: for scores of one kind.
    None,
    /// (s − min) / (max − min): the best is 1, the last 0.
    #[default]
    MinMax,
    /// (s − mean) / standard deviation.
    ZScore,
    /// (s − min) / Σ (s − min): what is above the last adds up to 1.
    Sum,
    /// s / max: for scores above 0.
    Max,
    /// s / √Σ s².
    L2,
    /// 1 − (rank − 1) / n: the best is 1, the last 1/n, whatever the scores.
    Rank,
}

impl Normalise {
    /// The scores, best first, normalised.
    pub fn of(self, scores: &[f64]) -> Vec<f64> {
        let largest = scores.iter().fold(0.0f64, |largest, score| largest.max(score.abs()));
        if largest > HUGE && !matches!(self, Normalise::None) {
            let scores: Vec<f64> = scores.iter().map(|score| score / largest).collect();
            return self.with_least(&scores, 1e-9 / largest);
        }
        self.with_least(scores, 1e-9)
    }

    /// With denominators of at least `least_divisor`.
    fn with_least(self, scores: &[f64], least_divisor: f64) -> Vec<f64> {
        let n = scores.len().max(1) as f64;
        let sum = |terms: &mut dyn Iterator<Item = f64>| terms.fold(0.0, |sum, term| sum + term);
        let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let scaled = |from: f64, by: f64| {
            let by = by.max(least_divisor);
            scores.iter().map(|score| (score - from) / by).collect()
        };
        match self {
            Normalise::None => scores.to_vec(),
            Normalise::MinMax => scaled(least, most - least),
            Normalise::ZScore => {
                let mean = sum(&mut scores.iter().copied()) / n;
                let squares = sum(&mut scores.iter().map(|score| (score - mean).powi(2)));
                scaled(mean, (squares / n).sqrt())
            }
            Normalise::Sum => scaled(least, sum(&mut scores.iter().map(|score| score - least))),
            Normalise::Max => scaled(0.0, most),
            Normalise::L2 => scaled(0.0, sum(&mut scores.iter().map(|s| s * s)).sqrt()),
            Normalise::Rank => (0..scores.len()).map(|i| 1.0 - i as f64 / n).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_scores_are_normalised_like_small_ones() {
        let scores = [4.0, 3.0, 1.0, -2.0];
        for normalise in [
            Normalise::MinMax,
            Normalise::ZScore,
            Normalise::Sum,
            Normalise::Max,
            Normalise::L2,
            Normalise::Rank,
        ] {
            for factor in [1e99, 1e300, 4e307] {
                let huge = scores.map(|score| score * factor);
                for (found, expected) in normalise.of(&huge).iter().zip(normalise.of(&scores)) {
                    assert!((found - expected).abs() < 1e-12, "{normalise:?} {factor}: {found}");
                }
            }
            assert!(normalise.of(&[1e300; 3]).iter().all(|score| score.is_finite()));
        }
    }
}
