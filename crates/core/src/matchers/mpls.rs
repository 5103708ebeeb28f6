//! PLS with several kinds of features (multi-view PLS).
//!
//! ```text
//! word    PLS on words alone
//! bipar   PLS on clicks alone: a query's documents, a document's queries
//! conca   PLS on both kinds side by side
//! com     word and bipar learnt separately, scores added: α_w·word + α_c·bipar
//! ```
//! In `com`, α_j = s_j/‖s‖ with s_j the sum of the singular values of kind j, or the best weights on
//! validation. The two models form one with both sets of dimensions: each kind's rows of the maps
//! are zero in the other's dimensions, and columns are scaled by √α.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FitReport;
use super::bilinear::Bilinear;
use super::map::{Map, Maps};
use super::method::{Fitting, Matcher, Method, SavedState};
use super::pls::{Pls, PlsReport};
use super::savings::usual_savings;
use super::space::{DIM, RESPONSE, Varied, WEIGHTING};
use super::validation::{best_tenths, score_maps};
use crate::features::{Counts, Features, Featurizer, Response, Weighted, Weighting};
use crate::linalg::{Centring, Dense};
use crate::plan::{Fit, Plan, SOUGHT};
use crate::{Error, Result, Run};

/// Kinds of features, and their combination.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kinds {
    /// Words alone.
    Word,
    /// Clicks alone: the bipartite graph of queries and documents.
    Bipar,
    /// Words and clicks side by side, as PLS has them.
    Conca,
    /// A model for each kind, their scores added.
    #[default]
    Com,
}

/// Weights of the kinds where their scores are added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Alpha {
    /// By the sum of their singular values.
    #[default]
    Sigma,
    /// The best weights on validation, in steps of a tenth.
    Tuned,
}

/// Parameters of PLS with several kinds of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mpls {
    /// Kinds of features, and their combination.
    pub kinds: Kinds,
    /// Weights of the kinds in `com`.
    pub alpha: Alpha,
    /// Latent dimensions, of each model in `com`.
    pub dim: usize,
    /// Features of queries and documents; the weights count in `conca` alone.
    pub features: Features,
    /// Relative weights of clicks.
    pub weighting: Weighting,
    /// Response: the value of a number of clicks.
    pub response: Response,
    /// Centring of C before the factorisation.
    pub centring: Centring,
    /// Scores use Σ to this power: 0 (the papers' PLS), 0.5 or 1.
    pub sigma: f64,
    /// Largest residual max(‖Cv − σu‖, ‖Cᵀu − σv‖)/σ₁ allowed.
    pub tolerance: f64,
    /// Most iterations of the solver.
    pub iterations: usize,
    /// Extra dimensions of the solver (a fifth of dim if not set); more of them mean fewer iterations, and more memory.
    pub oversample: Option<usize>,
    /// Seed of the solver's random start.
    pub seed: u64,
}

impl Default for Mpls {
    fn default() -> Self {
        let pls = Pls::default();
        Mpls {
            kinds: Kinds::default(),
            alpha: Alpha::default(),
            dim: pls.dim,
            features: pls.features,
            weighting: pls.weighting,
            response: pls.response,
            centring: pls.centring,
            sigma: pls.sigma,
            tolerance: pls.tolerance,
            iterations: pls.iterations,
            oversample: pls.oversample,
            seed: pls.seed,
        }
    }
}

/// Report of the solver for each kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MplsReport {
    /// One entry per model: `word`, `bipar` or `conca`.
    pub kinds: Vec<KindReport>,
}

/// The model of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindReport {
    /// `word`, `bipar` or `conca`.
    pub kind: String,
    /// The weight of its scores.
    pub alpha: f64,
    /// Report of the solver.
    pub pls: PlsReport,
}

impl MplsReport {
    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        let of = |kind: &KindReport| -> Vec<String> {
            kind.pls.warnings().iter().map(|text| format!("{}: {text}", kind.kind)).collect()
        };
        self.kinds.iter().flat_map(of).collect()
    }
}

/// Scores a pair of maps on validation data; higher is better.
pub type Validate<'a> = dyn Fn(&Maps) -> f64 + 'a;

impl Method for Mpls {
    fn check(&self) -> Result<()> {
        let com = self.kinds == Kinds::Com;
        if self.alpha == Alpha::Tuned && !com {
            return Err(Error::parameter("alpha", "tuned", "sigma, or kinds = \"com\""));
        }
        // Each kind of the fitted model's rows has norm one; the rows it learns from must match.
        if com && !self.features.unit_kinds && !self.features.unit_rows {
            let expected = "true, or kinds other than \"com\", whose rows have norm one";
            return Err(Error::parameter("features.unit_kinds", false, expected));
        }
        self.pls(self.kinds).check()
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        let Fitting { counts, scorer, run, .. } = fitting;
        let features = self.features();
        let (maps, report) = match scorer.filter(|_| self.alpha == Alpha::Tuned) {
            Some(scorer) => {
                let featurizer = Featurizer::new(counts, &features)?;
                let (x, y) = (featurizer.queries(counts)?, featurizer.docs(counts)?);
                let validate = |maps: &Maps| score_maps(scorer, &x, &y, maps);
                self.fit(counts, Some(&validate), run)?
            }
            None => self.fit(counts, None, run)?,
        };
        Ok((Box::new(Bilinear::new(counts, &features, maps)?), FitReport::Mpls(report)))
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Bilinear::restored(counts, &self.features(), state)
    }

    fn features(&self) -> Option<Features> {
        Some(self.features())
    }

    fn dim(&self) -> Option<usize> {
        Some(match self.kinds {
            // The dimensions of both kinds.
            Kinds::Com => self.dim.saturating_mul(2),
            _ => self.dim,
        })
    }

    fn validated(&self) -> bool {
        self.alpha == Alpha::Tuned
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        match self.kinds {
            Kinds::Com => self.plan_com(&fit),
            _ => fit.svd_fit(self.oversample),
        }
    }

    /// Click features are a choice of the user in `conca` alone.
    fn savings(&self) -> Vec<String> {
        let chosen = (self.kinds == Kinds::Conca).then(|| self.features());
        usual_savings(Some(self.dim), chosen)
    }

    /// Weights of features have no effect in `com`, so they do not vary.
    fn search_space(&self) -> Vec<Varied> {
        vec![
            WEIGHTING,
            RESPONSE,
            DIM,
            ("kinds", "[\"com\", \"conca\"]"),
            ("alpha", "{ values = [\"sigma\", \"tuned\"], when = { kinds = \"com\" } }"),
            ("sigma", "[0.0, 0.5, 1.0]"),
        ]
    }
}

impl Mpls {
    /// `com` fits the maps of both kinds one after the other and then joins them.
    fn plan_com(&self, fit: &Fit<'_>) -> Plan {
        let (bytes, seconds) = fit.svd((fit.dim / 2).max(1), self.oversample);
        let first = ("maps of the first kind", fit.maps() / 2);
        let sought = vec![fit.factors(), fit.between(), (SOUGHT, bytes), first];
        let mut joined = vec![("maps of each kind", fit.maps()), ("both together", fit.maps())];
        if self.alpha == Alpha::Tuned && fit.validation_scores > 0 {
            joined.push(fit.for_validation());
            joined.push(fit.embeddings());
        }
        fit.solved(vec![sought, joined], fit.maps(), seconds.map(|once| 2.0 * once))
    }

    /// The features that the fitted model has.
    pub(super) fn features(&self) -> Features {
        self.features_of(self.kinds)
    }

    fn features_of(&self, kinds: Kinds) -> Features {
        let of = |words: f64, clicks: f64| Features {
            query_words: words,
            query_clicks: clicks,
            doc_words: words,
            doc_clicks: clicks,
            ..self.features.clone()
        };
        match kinds {
            Kinds::Word => of(1.0, 0.0),
            Kinds::Bipar => of(0.0, 1.0),
            Kinds::Conca => self.features.clone(),
            // Each kind has norm one, as in a model of its own.
            Kinds::Com => Features { unit_kinds: true, unit_rows: false, ..of(1.0, 1.0) },
        }
    }

    fn pls(&self, kinds: Kinds) -> Pls {
        Pls {
            dim: self.dim,
            features: self.features_of(kinds),
            weighting: self.weighting,
            response: self.response,
            centring: self.centring,
            sigma: self.sigma,
            tolerance: self.tolerance,
            iterations: self.iterations,
            oversample: self.oversample,
            seed: self.seed,
            ..Pls::default()
        }
    }

    /// Learns the maps; `validate` is needed for weights that are to be tuned.
    pub fn fit(
        &self,
        counts: &Counts,
        validate: Option<&Validate<'_>>,
        run: &Run<'_>,
    ) -> Result<(Maps, MplsReport)> {
        self.check()?;
        if self.kinds != Kinds::Com {
            let (maps, pls) = self.fit_kind(self.kinds, counts, run)?;
            let kind = KindReport { kind: name(self.kinds).to_owned(), alpha: 1.0, pls };
            return Ok((maps, MplsReport { kinds: vec![kind] }));
        }
        let (word, word_report) = self.fit_kind(Kinds::Word, counts, run)?;
        let (bipar, bipar_report) = self.fit_kind(Kinds::Bipar, counts, run)?;
        let side_by_side = |[word_weight, click_weight]: [f64; 2]| {
            let side = |word: &Map, clicks: &Map| {
                let roots = [word_weight, click_weight].map(|alpha| alpha.sqrt() as f32);
                block_diagonal(word, clicks, counts.n_terms(), roots)
            };
            Maps { l_x: side(&word.l_x, &bipar.l_x), l_y: side(&word.l_y, &bipar.l_y) }
        };
        let alpha = match self.alpha {
            Alpha::Sigma => {
                let sums = [&word_report, &bipar_report].map(|report| report.sigma.iter().sum());
                by_size(sums)
            }
            Alpha::Tuned => {
                let validate = validate.ok_or_else(|| {
                    Error::parameter("alpha", "tuned", "sigma: there is no validation data")
                })?;
                let alpha = |tenths: u32| [tenths, 10 - tenths].map(|n| f64::from(n) / 10.0);
                let stage = "weights of the kinds";
                alpha(best_tenths(stage, run, |n| validate(&side_by_side(alpha(n))))?)
            }
        };
        let kind = |kinds, alpha, pls| KindReport { kind: name(kinds).to_owned(), alpha, pls };
        let kinds = vec![
            kind(Kinds::Word, alpha[0], word_report),
            kind(Kinds::Bipar, alpha[1], bipar_report),
        ];
        Ok((side_by_side(alpha), MplsReport { kinds }))
    }

    fn fit_kind(&self, kinds: Kinds, counts: &Counts, run: &Run<'_>) -> Result<(Maps, PlsReport)> {
        let pls = self.pls(kinds);
        let featurizer = Featurizer::new(counts, &pls.features)?;
        pls.fit(Weighted::of(counts, &featurizer, pls.weighting, pls.response)?, run)
    }
}

fn name(kinds: Kinds) -> &'static str {
    match kinds {
        Kinds::Word => "word",
        Kinds::Bipar => "bipar",
        Kinds::Conca => "conca",
        Kinds::Com => "com",
    }
}

/// s/‖s‖.
fn by_size(sums: [f64; 2]) -> [f64; 2] {
    let norm = sums.iter().map(|s| s * s).sum::<f64>().sqrt();
    sums.map(|s| s / norm)
}

/// The map of words in the first dimensions and that of clicks in the others, each times its
/// factor. Rows of `clicks` before the first `n_terms` are words without weight.
fn block_diagonal(word: &Map, clicks: &Map, n_terms: usize, factors: [f32; 2]) -> Map {
    let (first, second) = (word.n_cols(), clicks.n_cols());
    let mut both = Dense::zeros(clicks.n_rows(), first + second);
    both.block_mut(0..first + second).for_each_row(1024, |i, row| {
        let (here, from, factor) = if i < n_terms {
            (&mut row[..first], word.row(i), factors[0])
        } else {
            (&mut row[first..], clicks.row(i), factors[1])
        };
        here.iter_mut().zip(&*from).for_each(|(out, &value)| *out = value * factor);
    });
    both.into()
}
