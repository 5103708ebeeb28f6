//! How the scores of several models come together: over the candidates of a search, which do not
//! depend on the page that is shown.

use liken::standardise::Standard;

use crate::types::{FusionMethod, FusionSpec};

/// The constant of reciprocal rank fusion, if nobody says otherwise.
const RANK_CONSTANT: f64 = 60.0;

/// One model's scores over the candidates, ready to be added up.
pub(crate) struct Column {
    weight: f64,
    how: How,
}

enum How {
    /// The score itself: there is only one model.
    Plain,
    /// (score − shift) / scale.
    Standardised { name: &'static str, standard: Standard },
    /// 1 / (constant + rank); the scores of all candidates that were found, best first.
    Ranked { constant: f64, sorted: Vec<f64>, zero_is_none: bool },
}

impl Column {
    /// The score as it is.
    pub fn plain() -> Self {
        Column { weight: 1.0, how: How::Plain }
    }

    /// How `scores` over the candidates are added up; `zero_is_none` where a score of 0 means
    /// that the model has not found the document.
    pub fn new(spec: &FusionSpec, weight: f64, scores: &[f32], zero_is_none: bool) -> Self {
        let known: Vec<f64> = scores
            .iter()
            .map(|&score| f64::from(score))
            .filter(|score| score.is_finite())
            .collect();
        let how = match spec.method {
            FusionMethod::ZScore => How::Standardised {
                name: "z-score",
                standard: Standard::z_score(known.into_iter()),
            },
            FusionMethod::MinMax => How::Standardised {
                name: "min-max",
                standard: Standard::min_max(known.into_iter()),
            },
            FusionMethod::Rrf => {
                let mut sorted = known;
                sorted.retain(|&score| !(zero_is_none && score == 0.0));
                sorted.sort_by(|a, b| b.total_cmp(a));
                let constant = spec.rank_constant.unwrap_or(RANK_CONSTANT);
                How::Ranked { constant, sorted, zero_is_none }
            }
        };
        Column { weight, how }
    }

    /// What `score` adds.
    pub fn adds(&self, score: f32) -> f64 {
        let score = f64::from(score);
        if !score.is_finite() {
            return 0.0;
        }
        match &self.how {
            How::Plain => score,
            How::Standardised { standard, .. } if standard.is_constant() => 0.0,
            How::Standardised { standard, .. } => {
                self.weight * (score - standard.shift) / standard.scale
            }
            How::Ranked { zero_is_none: true, .. } if score == 0.0 => 0.0,
            How::Ranked { constant, .. } => self.weight / (constant + self.rank(score) as f64),
        }
    }

    /// The rank of a score among the candidates; equal ones share the best of theirs.
    fn rank(&self, score: f64) -> usize {
        match &self.how {
            How::Ranked { sorted, .. } => 1 + sorted.partition_point(|&other| other > score),
            _ => 0,
        }
    }

    /// The same in words.
    pub fn how(&self, score: f32) -> String {
        let weight = self.weight;
        match &self.how {
            How::Plain => "the score as it is".into(),
            How::Standardised { name, standard } if standard.is_constant() => {
                format!("{name}: all candidates have {:.4}: no contribution", standard.shift)
            }
            How::Standardised { name, standard: Standard { shift, scale } } => {
                format!("{name}: {weight} × ({score:.4} − {shift:.4}) / {scale:.4}")
            }
            How::Ranked { zero_is_none: true, .. } if score == 0.0 => {
                "rrf: it was not found by this model".into()
            }
            How::Ranked { constant, .. } => {
                format!("rrf: {weight} / ({constant} + rank {})", self.rank(f64::from(score)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adds(method: FusionMethod, weight: f64, scores: &[f32], zero_is_none: bool) -> Vec<f64> {
        let spec = FusionSpec { method, ..FusionSpec::default() };
        let column = Column::new(&spec, weight, scores, zero_is_none);
        scores.iter().map(|&score| column.adds(score)).collect()
    }

    #[test]
    fn scores_are_made_comparable() {
        assert_eq!(adds(FusionMethod::ZScore, 2.0, &[1.0, 3.0], false), [-2.0, 2.0]);
        assert_eq!(adds(FusionMethod::MinMax, 1.0, &[1.0, 3.0, 2.0], false), [0.0, 1.0, 0.5]);
        assert_eq!(adds(FusionMethod::ZScore, 1.0, &[4.0; 3], false), [0.0; 3]);
        let rrf = adds(FusionMethod::Rrf, 1.0, &[5.0, 7.0, 5.0, 0.0], true);
        assert_eq!(rrf, [1.0 / 62.0, 1.0 / 61.0, 1.0 / 62.0, 0.0]);
        assert_eq!(adds(FusionMethod::Rrf, 1.0, &[0.0], false), [1.0 / 61.0]);
        // What is not there adds nothing and moves nobody.
        assert_eq!(adds(FusionMethod::MinMax, 1.0, &[1.0, f32::NAN, 3.0], false), [0.0, 0.0, 1.0]);
    }
}
