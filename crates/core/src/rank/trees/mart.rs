//! MART: boosted trees for squared loss on the grades (Friedman, 2001; Li and others, 2014, §6.5).
//!
//! ```text
//! Σ_i c_i (f(x_i) − g_i)²/2,  gradient c_i (f − g_i), second derivative c_i
//! ```

use std::collections::BTreeMap;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::boost::{Bag, Boosting, Loss, boosted};
use crate::Result;
use crate::rank::{FeatureTable, RankMethod, RankReport, Scorer, Training};

boosted! {
    /// Boosted regression trees: least squares on the grades.
    pub struct Mart {}
}

impl RankMethod for Mart {
    fn check(&self) -> Result<()> {
        Boosting::from(self).check()
    }

    fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        let (trees, report) =
            Boosting::from(self).fit(training, &Squares { table: training.table })?;
        Ok((Scorer::Trees(trees), report))
    }

    fn is_linear(&self) -> bool {
        false
    }
}

/// Squared loss on the grades.
struct Squares<'a> {
    table: &'a FeatureTable,
}

impl Loss for Squares<'_> {
    fn base(&self) -> f64 {
        let (mut sum, mut all) = (0.0, 0.0);
        for (row, &grade) in self.table.grades().iter().enumerate() {
            sum += self.table.weight(row) * f64::from(grade);
            all += self.table.weight(row);
        }
        if all > 0.0 { sum / all } else { 0.0 }
    }

    fn gradients(&self, scores: &[f64], out: &mut [[f64; 2]]) {
        let rows = out.par_iter_mut().zip(scores).zip(self.table.grades()).enumerate();
        rows.with_min_len(1 << 14).for_each(|(row, ((out, score), &grade))| {
            let weight = self.table.weight(row);
            *out = [weight * (score - f64::from(grade)), weight];
        });
    }

    /// The mean of squared errors.
    fn value(&self, scores: &[f64]) -> Option<f64> {
        let (mut sum, mut all) = (0.0, 0.0);
        for (row, (&grade, score)) in self.table.grades().iter().zip(scores).enumerate() {
            sum += self.table.weight(row) * (score - f64::from(grade)).powi(2);
            all += self.table.weight(row);
        }
        (all > 0.0).then(|| sum / all)
    }
}

#[cfg(test)]
mod tests;
