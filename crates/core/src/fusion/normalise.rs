//! Normalisation of the scores of one query, to compare them with those of another engine.

use serde::{Deserialize, Serialize};

use crate::standardise::Standard;

/// Larger scores are divided by the largest first, so that their squares and sums stay finite.
const HUGE: f64 = 1e100;

/// The normalisation of the scores of one query in one run. If all scores are equal, those that are
/// shifted become 0; see [`Standard`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// None: for scores on the same scale.
    None,
    /// (s − min) / (max − min): the best is 1, the last 0.
    #[default]
    MinMax,
    /// (s − mean) / standard deviation.
    ZScore,
    /// (s − min) / Σ (s − min): the sum is 1.
    Sum,
    /// s / max: for scores above 0.
    Max,
    /// s / √Σ s².
    L2,
    /// 1 − (rank − 1) / n: the best is 1, the last 1/n, for any scores.
    Rank,
}

impl Normalise {
    /// Normalises scores, which are sorted, best first.
    pub fn of(self, scores: &[f64]) -> Vec<f64> {
        let largest = scores.iter().fold(0.0f64, |largest, score| largest.max(score.abs()));
        if largest > HUGE && !matches!(self, Normalise::None) {
            let scores: Vec<f64> = scores.iter().map(|score| score / largest).collect();
            return self.of(&scores);
        }
        let all = || scores.iter().copied();
        let sum = |terms: &mut dyn Iterator<Item = f64>| terms.fold(0.0, |sum, term| sum + term);
        let standard = match self {
            Normalise::None => return scores.to_vec(),
            Normalise::Rank => {
                return (0..scores.len()).map(|i| 1.0 - i as f64 / scores.len() as f64).collect();
            }
            Normalise::MinMax => Standard::min_max(all()),
            Normalise::ZScore => Standard::z_score(all()),
            Normalise::Sum => {
                let Standard { shift, scale } = Standard::min_max(all());
                // 0 where all are the same.
                let above = sum(&mut all().map(|score| score - shift));
                Standard { shift, scale: if scale > 0.0 { above } else { 0.0 } }
            }
            Normalise::Max => Standard::new(0.0, all().fold(f64::NEG_INFINITY, f64::max), 0.0),
            Normalise::L2 => Standard::new(0.0, sum(&mut all().map(|s| s * s)).sqrt(), 0.0),
        };
        scores.iter().map(|&score| standard.apply(score)).collect()
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
