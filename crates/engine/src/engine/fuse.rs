//! Fusion: the contribution of a model's score to the fused score. Statistics are those of the
//! candidates of a search, which do not depend on the page.

use liken::fusion::RunFusion;
use liken::standardise::Standard;

use crate::types::{FusionMethod, FusionSpec};

/// Turns the scores of one model into contributions to the fused score.
pub(crate) struct ScoreScale {
    weight: f64,
    scaling: Scaling,
}

enum Scaling {
    /// The score itself: there is only one model.
    Identity,
    /// (score − shift) / scale.
    Standardised { name: &'static str, standard: Standard },
    /// 1 / (constant + rank); `sorted` has the scores of all candidates that were found, best first.
    ReciprocalRank { constant: f64, sorted: Vec<f64>, zero_is_none: bool },
}

impl ScoreScale {
    /// The scale of a single model: its score is its contribution.
    pub fn identity() -> Self {
        ScoreScale { weight: 1.0, scaling: Scaling::Identity }
    }

    /// The scale of a model with these `scores` of the candidates; `zero_is_none` if a score of 0
    /// means that the model did not find the document.
    pub fn new(spec: &FusionSpec, weight: f64, scores: &[f32], zero_is_none: bool) -> Self {
        let known: Vec<f64> = scores
            .iter()
            .map(|&score| f64::from(score))
            .filter(|score| score.is_finite())
            .collect();
        let scaling = match spec.method {
            FusionMethod::ZScore => Scaling::Standardised {
                name: "z-score",
                standard: Standard::z_score(known.into_iter()),
            },
            FusionMethod::MinMax => Scaling::Standardised {
                name: "min-max",
                standard: Standard::min_max(known.into_iter()),
            },
            FusionMethod::Rrf => {
                let mut sorted = known;
                sorted.retain(|&score| !(zero_is_none && score == 0.0));
                sorted.sort_by(|a, b| b.total_cmp(a));
                let constant = spec.rank_constant;
                let constant = constant.unwrap_or_else(|| RunFusion::default().rank_constant);
                Scaling::ReciprocalRank { constant, sorted, zero_is_none }
            }
        };
        ScoreScale { weight, scaling }
    }

    /// The contribution of `score` to the fused score.
    pub fn contribution(&self, score: f32) -> f64 {
        let score = f64::from(score);
        if !score.is_finite() {
            return 0.0;
        }
        match &self.scaling {
            Scaling::Identity => score,
            Scaling::Standardised { standard, .. } if standard.is_constant() => 0.0,
            Scaling::Standardised { standard, .. } => {
                self.weight * (score - standard.shift) / standard.scale
            }
            Scaling::ReciprocalRank { zero_is_none: true, .. } if score == 0.0 => 0.0,
            Scaling::ReciprocalRank { constant, sorted, .. } => {
                self.weight / (constant + rank(score, sorted) as f64)
            }
        }
    }

    /// The formula of the contribution of `score`.
    pub fn formula(&self, score: f32) -> String {
        let weight = self.weight;
        match &self.scaling {
            Scaling::Identity => "the score itself".into(),
            Scaling::Standardised { name, standard } if standard.is_constant() => {
                format!("{name}: all candidates have {:.4}: no contribution", standard.shift)
            }
            Scaling::Standardised { name, standard: Standard { shift, scale } } => {
                format!("{name}: {weight} × ({score:.4} − {shift:.4}) / {scale:.4}")
            }
            Scaling::ReciprocalRank { zero_is_none: true, .. } if score == 0.0 => {
                "rrf: this model did not find it".into()
            }
            Scaling::ReciprocalRank { constant, sorted, .. } => {
                format!("rrf: {weight} / ({constant} + rank {})", rank(f64::from(score), sorted))
            }
        }
    }
}

/// The rank of a score among the `sorted` ones; equal scores share the best rank.
fn rank(score: f64, sorted: &[f64]) -> usize {
    1 + sorted.partition_point(|&other| other > score)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contribution(
        method: FusionMethod,
        weight: f64,
        scores: &[f32],
        zero_is_none: bool,
    ) -> Vec<f64> {
        let spec = FusionSpec { method, ..FusionSpec::default() };
        let scale = ScoreScale::new(&spec, weight, scores, zero_is_none);
        scores.iter().map(|&score| scale.contribution(score)).collect()
    }

    #[test]
    fn scores_are_made_comparable() {
        assert_eq!(contribution(FusionMethod::ZScore, 2.0, &[1.0, 3.0], false), [-2.0, 2.0]);
        assert_eq!(
            contribution(FusionMethod::MinMax, 1.0, &[1.0, 3.0, 2.0], false),
            [0.0, 1.0, 0.5]
        );
        assert_eq!(contribution(FusionMethod::ZScore, 1.0, &[4.0; 3], false), [0.0; 3]);
        let rrf = contribution(FusionMethod::Rrf, 1.0, &[5.0, 7.0, 5.0, 0.0], true);
        assert_eq!(rrf, [1.0 / 62.0, 1.0 / 61.0, 1.0 / 62.0, 0.0]);
        assert_eq!(contribution(FusionMethod::Rrf, 1.0, &[0.0], false), [1.0 / 61.0]);
        // A missing score contributes nothing and changes no statistic.
        assert_eq!(
            contribution(FusionMethod::MinMax, 1.0, &[1.0, f32::NAN, 3.0], false),
            [0.0, 0.0, 1.0]
        );
    }
}
