//! Latent Dirichlet allocation by variational Bayes (Blei, Ng and Jordan, 2003; Hoffman, Blei and
//! Bach, 2010); `topic/lda.rs` has the formulas.
//!
//! ```text
//! score = cos(θ_q, θ_d)
//! ```
//! θ of a text is the mean of the posterior of its shares of topics.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bag::{Bag, notes, training_documents};
use super::plan::plan_bags;
use crate::features::Counts;
use crate::linalg::Dense;
use crate::matchers::check::{MOST, check_positive, check_range, check_weight};
use crate::matchers::pairs::text_of;
use crate::matchers::space::{DIM, Varied};
use crate::matchers::{FitReport, Fitting, Matcher, Method, SavedState, StepsReport};
use crate::plan::{Fit, Plan};
use crate::topic::BagTopics;
use crate::topic::lda::LdaFit;
use crate::{Error, Result};

/// Parameters of latent Dirichlet allocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lda {
    /// Topics.
    pub dim: usize,
    /// Dirichlet parameter of the shares of topics in a document; 1/dim if not set.
    pub alpha: Option<f64>,
    /// Dirichlet parameter of the words of a topic; 1/dim if not set.
    pub eta: Option<f64>,
    /// Most passes over the documents.
    pub iterations: usize,
    /// Stop when the bound changes by less than this share of it in a pass; with batches it goes on to the last.
    pub tolerance: f64,
    /// Most rounds that a document takes in a pass; it goes on from where it was in the pass before.
    pub inner: usize,
    /// A document is at rest when its expected words by topic change by less than this on average.
    pub inner_tolerance: f64,
    /// Most rounds that fold a text in.
    pub fold_in: usize,
    /// Documents that the topics learn from at a time; 0 for all of them.
    pub batch: usize,
    /// With batches: batch t moves topics by (offset + t)^−decay.
    pub offset: f64,
    /// With batches: how fast topics come to rest, from 0.5 to 1.
    pub decay: f64,
    /// The one field of the documents that is read, such as title; all that were counted if not set.
    pub field: Option<String>,
    /// Seed of the words' first topics and of the batches.
    pub seed: u64,
}

impl Default for Lda {
    fn default() -> Self {
        Lda {
            dim: 100,
            alpha: None,
            eta: None,
            iterations: 20,
            tolerance: 1e-4,
            inner: 10,
            inner_tolerance: 1e-3,
            fold_in: 100,
            batch: 0,
            offset: 1.0,
            decay: 0.5,
            field: None,
            seed: 1,
        }
    }
}

impl Lda {
    fn trainer(&self) -> LdaFit {
        let &Lda { dim, iterations, tolerance, inner, inner_tolerance, fold_in, .. } = self;
        let &Lda { batch, offset, decay, seed, .. } = self;
        let even = 1.0 / dim as f64;
        let (alpha, eta) = (self.alpha.unwrap_or(even), self.eta.unwrap_or(even));
        LdaFit {
            dim,
            alpha,
            eta,
            iterations,
            tolerance,
            inner,
            inner_tolerance,
            fold_in,
            batch,
            offset,
            decay,
            seed,
        }
    }
}

impl Method for Lda {
    fn check(&self) -> Result<()> {
        check_range("dim", self.dim, 1, MOST)?;
        for (name, value) in
            [("iterations", self.iterations), ("inner", self.inner), ("fold_in", self.fold_in)]
        {
            check_range(name, value, 1, MOST)?;
        }
        for (name, value) in [("alpha", self.alpha), ("eta", self.eta)] {
            if let Some(value) = value {
                check_positive(name, value)?;
                if !(1e-6..=1e6).contains(&value) {
                    return Err(Error::parameter(name, value, "a number from 0.000001 to 1000000"));
                }
            }
        }
        check_weight("tolerance", self.tolerance)?;
        check_weight("inner_tolerance", self.inner_tolerance)?;
        check_weight("offset", self.offset)?;
        if !(0.0..=1.0).contains(&self.decay) {
            return Err(Error::parameter("decay", self.decay, "a number from 0 to 1"));
        }
        Ok(())
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let Fitting { counts, run, .. } = fitting;
        let text = text_of(counts, self.field.as_deref())?;
        let docs = training_documents(counts, text)?;
        let fitted = self.trainer().fit(&docs, run)?;
        let topics: Arc<dyn BagTopics> = Arc::new(fitted.topics);
        let steps = fitted.objective.iter().zip(&fitted.rounds);
        let report = StepsReport {
            step: "pass".into(),
            figures: vec!["bound a word".into(), "rounds a document".into()],
            steps: steps.map(|(&bound, &rounds)| vec![bound, rounds]).collect(),
            notes: notes(&*topics, counts, (text, &docs), fitted.converged, run)?,
            ..StepsReport::default()
        };
        drop(docs);
        let matcher = Bag::new(topics, counts, self.field.as_deref(), run)?;
        Ok((Box::new(matcher), FitReport::Steps(report)))
    }

    fn restore(&self, counts: &Counts, kept: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let topics = |lambda: Dense| Arc::new(self.trainer().topics(lambda)) as Arc<dyn BagTopics>;
        Bag::restored(kept.tensors()?, counts, self.field.as_deref(), self.dim, topics)
    }

    fn weighs_clicks(&self) -> bool {
        false
    }

    fn dim(&self) -> Option<usize> {
        Some(self.dim)
    }

    fn plan(&self, fit: Fit<'_>) -> Plan {
        plan_bags(&fit, 2, (self.iterations as f64) * (self.inner as f64))
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![
            DIM,
            ("alpha", "{ min = 0.003, max = 0.3, log = true }"),
            ("eta", "{ min = 0.003, max = 0.3, log = true }"),
        ]
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }
}
