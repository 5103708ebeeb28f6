//! Probabilistic latent semantic indexing (Hofmann, 1999); `topic/plsi.rs` has the formulas.
//!
//! ```text
//! score = cos(θ_q, θ_d)
//! ```
//! θ of a text are the shares of topics that make its words most probable.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bag::{Bag, notes, training_documents};
use super::plan::plan_bags;
use crate::features::Counts;
use crate::linalg::Dense;
use crate::matchers::check::{MOST, check_range, check_weight};
use crate::matchers::pairs::text_of;
use crate::matchers::space::{DIM, Varied};
use crate::matchers::{FitReport, Fitting, Matcher, Method, SavedState, StepsReport};
use crate::plan::{Fit, Plan};
use crate::topic::BagTopics;
use crate::topic::plsi::PlsiFit;
use crate::{Error, Result};

/// Below this all topics are alike.
const LEAST_TEMPERING: f64 = 0.1;

fn check_tempering(value: f64) -> Result<()> {
    if (LEAST_TEMPERING..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::parameter("tempering", value, "a number from 0.1 to 1"))
}

/// Parameters of probabilistic latent semantic indexing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Plsi {
    /// Topics.
    pub dim: usize,
    /// Most iterations of EM.
    pub iterations: usize,
    /// Stop when the log-likelihood changes by less than this share of it in an iteration.
    pub tolerance: f64,
    /// Exponent of p(topic | document, word) while learning and folding in: 1 for plain EM, less for softer topics.
    pub tempering: f64,
    /// Most iterations that fold a text in.
    pub fold_in: usize,
    /// The one field of the documents that is read, such as title; all that were counted if not set.
    pub field: Option<String>,
    /// Seed of the words' first topics.
    pub seed: u64,
}

impl Default for Plsi {
    fn default() -> Self {
        Plsi {
            dim: 100,
            iterations: 50,
            tolerance: 1e-4,
            tempering: 0.9,
            fold_in: 50,
            field: None,
            seed: 1,
        }
    }
}

impl Plsi {
    fn trainer(&self) -> PlsiFit {
        let &Plsi { dim, iterations, tolerance, tempering, fold_in, seed, .. } = self;
        PlsiFit { dim, iterations, tolerance, tempering, fold_in, seed }
    }
}

impl Method for Plsi {
    fn check(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        check_range("iterations", self.iterations, 1, MOST)?;
        check_range("fold_in", self.fold_in, 1, MOST)?;
        check_weight("tolerance", self.tolerance)?;
        check_tempering(self.tempering)
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let Fitting { counts, run, .. } = fitting;
        let text = text_of(counts, self.field.as_deref())?;
        let docs = training_documents(counts, text)?;
        let fitted = self.trainer().fit(&docs, run)?;
        let topics: Arc<dyn BagTopics> = Arc::new(fitted.topics);
        let report = StepsReport {
            step: "iteration".into(),
            figures: vec![match self.tempering {
                1.0 => "log-likelihood a word".into(),
                _ => "tempered log-likelihood a word".into(),
            }],
            steps: fitted.objective.iter().map(|&log| vec![log]).collect(),
            notes: notes(&*topics, counts, (text, &docs), fitted.converged, run)?,
            ..StepsReport::default()
        };
        drop(docs);
        let matcher = Bag::new(topics, counts, self.field.as_deref(), run)?;
        Ok((Box::new(matcher), FitReport::Steps(report)))
    }

    fn restore(&self, counts: &Counts, kept: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let topics = |phi: Dense| Arc::new(self.trainer().topics(phi)) as Arc<dyn BagTopics>;
        Bag::restored(kept.tensors()?, counts, self.field.as_deref(), self.dim, topics)
    }

    fn weighs_clicks(&self) -> bool {
        false
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        plan_bags(&fit, 1, 2.0 * self.iterations as f64)
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![DIM, ("tempering", "{ min = 0.5, max = 1.0 }")]
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }
}
