//! Regularised mapping to latent structures (Wu, Lu and Li 2013):
//!
//! ```text
//! maximise tr(L_xᵀ C L_y) − β Σ_u |l_xu|₁ − γ Σ_v |l_yv|₁   with ‖l_xu‖₂ ≤ θ_x, ‖l_yv‖₂ ≤ θ_y
//! ```
//! alternately: Ω = C·L_y and l_xu ← θ_x·S_β(ω_u)/‖S_β(ω_u)‖, then the same for L_y with CᵀL_x.
//! Rows are independent, so every half-sweep is parallel over rows.
//!
//! On non-negative data the optimum itself is degenerate (all rows of a connected component are
//! parallel), so RMLS relies on early stopping: every half-sweep has a validation score, the best
//! one is returned, and training stops after `patience` sweeps without a better one (`fit.rs`). The
//! effective rank shows the collapse early. A start from the singular vectors of C (`spectral`) is
//! the other remedy. Which start is better depends on the log, so both are compared by default
//! (`choice.rs` chooses without validation data).

pub(super) mod bytes;
mod choice;
mod fit;
mod half;
mod params;
mod placement;
pub(super) mod plan;
mod report;
mod row;
mod sample_size;
#[cfg(test)]
mod tests;

use self::fit::Validate;
pub use self::params::{Penalty, Rmls, Start};
use self::placement::MemoryPlacement;
pub use self::report::{Origin, RmlsReport, RmlsStep};
use super::bilinear::Bilinear;
use super::map::Maps;
use super::method::{Fitting, Matcher, Method, SavedState};
use super::savings::usual_savings;
use super::space::{DIM, DOC_CLICKS, QUERY_CLICKS, RESPONSE, Varied, WEIGHTING};
use super::validation::score_panels;
use super::{ByWords, FitReport};
use crate::features::{Counts, Features, Featurizer, Weighted};
use crate::linalg::{Operator, Panels};
use crate::plan::{Fit, Plan};
use crate::sparse::Csr;
use crate::{Result, Run};

impl Method for Rmls {
    fn check(&self) -> Result<()> {
        self.check_values()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let Fitting { counts, init, scorer, run } = fitting;
        let featurizer = Featurizer::new(counts, &self.features)?;
        let data = Weighted::of(counts, &featurizer, self.weighting, self.response)?
            .with_negatives(&self.negatives, &counts.held_out_documents, self.seed)?;
        let n_words = counts.n_terms();
        let setting = self.by_words.among(&self.features);
        // By half-sweep, whether words alone are better.
        let mut choices = Vec::new();
        let (maps, mut report) = match scorer {
            Some(scorer) => {
                let x = featurizer.queries(counts)?;
                let all = (setting != ByWords::Always).then(|| data.y.clone());
                let words = setting != ByWords::Never;
                let words = words.then(|| featurizer.docs_by_words(counts)).transpose()?;
                let mut validate = |l_x: &Panels, l_y: &Panels| {
                    let score = |y: &Option<Csr>| {
                        let score = |y| score_panels(scorer, &x, y, l_x, l_y, run);
                        y.as_ref().map_or(Ok(f64::NEG_INFINITY), score)
                    };
                    let (all, words) = (score(&all)?, score(&words)?);
                    choices.push(words > all);
                    Ok(all.max(words))
                };
                self.fit_words(data, n_words, init, run, Some(&mut validate))?
            }
            None => self.fit_words(data, n_words, init, run, None)?,
        };
        let by_words = match choices.get(report.best) {
            Some(&choice) => choice,
            None => setting.unvalidated(counts),
        };
        report.by_words = by_words && setting == ByWords::Auto;
        // The maps may be in scratch files by now; so are the embeddings of the documents if they do
        // not fit into memory.
        let embeddings = 4 * (counts.n_docs() * self.dim) as u64;
        let scratch = run.scratch();
        let folder = (embeddings > run.memory_left()).then_some(scratch.as_path());
        let matcher = Bilinear::placed(counts, &self.features, maps, by_words, folder)?;
        Ok((Box::new(matcher), FitReport::Rmls(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Bilinear::restored(counts, &self.features, state)
    }

    fn features(&self) -> Option<Features> {
        Some(self.features.clone())
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn validated(&self) -> bool {
        true
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        self.planned(&fit.with_negatives(self.negatives.per_click))
    }

    fn savings(&self) -> Vec<String> {
        let mut advice = usual_savings(Some(self.dim), Some(self.features.clone()));
        if self.start() != Start::Random {
            advice
                .push("start from random rows, not singular vectors (`start = random`)".to_owned());
        }
        advice
    }

    fn published(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("start", "random"),
            ("penalty", "none"),
            ("weighting", "mean"),
            ("response", "raw"),
            ("features.query_clicks", "1.0"),
            ("features.doc_clicks", "1.0"),
            ("by_words", "never"),
        ]
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            QUERY_CLICKS,
            DOC_CLICKS,
            WEIGHTING,
            RESPONSE,
            DIM,
            ("start", "[\"auto\", \"random\", \"spectral\"]"),
            ("sweeps", "[1, 3, 10]"),
            ("penalty", "[\"none\", \"none\", \"relative\", \"absolute\", \"bound\"]"),
            ("rho_x", "{ min = 0.05, max = 0.6, when = { penalty = \"relative\" } }"),
            ("rho_y", "{ min = 0.05, max = 0.6, when = { penalty = \"relative\" } }"),
            // The papers have 0.001 to 10, in units of their clicks; mean weights are much smaller.
            ("beta", "{ min = 1e-6, max = 10.0, log = true, when = { penalty = \"absolute\" } }"),
            ("gamma", "{ min = 1e-6, max = 10.0, log = true, when = { penalty = \"absolute\" } }"),
            ("lambda_x", "{ min = 1.0, max = 20.0, log = true, when = { penalty = \"bound\" } }"),
            ("lambda_y", "{ min = 1.0, max = 20.0, log = true, when = { penalty = \"bound\" } }"),
            // Without a penalty the length of rows changes no ranking.
            ("theta_x", "{ min = 0.1, max = 10.0, log = true, when = { penalty = \"absolute\" } }"),
            ("theta_y", "{ min = 0.1, max = 10.0, log = true, when = { penalty = \"absolute\" } }"),
        ]
    }
}

impl Rmls {
    /// Learns the maps from `data`. With `validate`, the result is the half-sweep with the best
    /// validation score; without, the last.
    pub fn fit(
        &self,
        data: Weighted,
        run: &Run<'_>,
        validate: Option<&mut Validate<'_>>,
    ) -> Result<(Maps, RmlsReport)> {
        self.fit_from(data, None, run, validate)
    }

    /// Learns the maps from `data` with a warm start from `init`, whose maps are the first step. With
    /// a random start the sweeps continue from them; with a spectral start, from which more sweeps
    /// would only collapse, the singular vectors are computed anew, starting from the earlier L_y.
    pub fn fit_from(
        &self,
        data: Weighted,
        init: Option<Maps>,
        run: &Run<'_>,
        validate: Option<&mut Validate<'_>>,
    ) -> Result<(Maps, RmlsReport)> {
        self.fit_words(data, usize::MAX, init, run, validate)
    }

    /// The same for features of which the first `n_words` are words.
    fn fit_words(
        &self,
        data: Weighted,
        n_words: usize,
        init: Option<Maps>,
        run: &Run<'_>,
        validate: Option<&mut Validate<'_>>,
    ) -> Result<(Maps, RmlsReport)> {
        self.check()?;
        let ratio = match self.start() {
            Start::Auto => {
                run.step("spectrum of the clicks", 0, None)?;
                Some(choice::participation_ratio(&data, n_words, self.seed)?)
            }
            Start::Random | Start::Spectral => None,
        };
        let operator = Operator::new(data.x, data.r, data.y, self.centring)?;
        let (shape, left) = (operator.shape(), run.memory_left());
        let placement = MemoryPlacement::of(self, shape, validate.is_some(), left)?;
        fit::fit(placement, self, operator, ratio, init, validate, run)
    }
}
