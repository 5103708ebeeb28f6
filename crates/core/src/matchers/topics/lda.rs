//! Latent Dirichlet allocation by variational Bayes (Blei, Ng and Jordan, 2003; Hoffman, Blei and
//! Bach, 2010); `topic/lda.rs` has the formulas.
//!
//! ```text
//! score = cos(θ_q, θ_d)
//! ```
//! θ of a text is the mean of the posterior of its shares of topics.

use super::bag::BagMatcher;
use super::params;
use super::plan::plan_bags;
use crate::features::Counts;
use crate::matchers::space::{TOPICS, Varied};
use crate::matchers::{FitReport, Fitting, Matcher, Method, SavedState};
use crate::params::check::{MOST, check_positive, check_range, check_weight};
use crate::plan::{Fit, Plan};
use crate::topic::lda::LdaFit;
use crate::{Error, Result};

params! {
    /// Parameters of latent Dirichlet allocation.
    Lda {
        /// Number of topics.
        dim: usize = 100,
        /// Dirichlet parameter of the distribution of a document over topics; 1/dim if not set.
        alpha: Option<f64> = None,
        /// Dirichlet parameter of the distribution of a topic over words; 1/dim if not set.
        eta: Option<f64> = None,
        /// Maximum number of passes over the documents.
        iterations: usize = 20,
        /// Stop when the bound changes by less than this share of it in a pass; with batches it goes on to the last.
        tolerance: f64 = 1e-4,
        /// Maximum number of rounds per document in a pass; each pass starts from the state of the one before.
        inner: usize = 10,
        /// A document has converged when its expected words per topic change by less than this on average.
        inner_tolerance: f64 = 1e-3,
        /// Maximum number of rounds that fold a text in.
        fold_in: usize = 100,
        /// Documents per batch of online learning; 0 for all documents at once.
        batch: usize = 0,
        /// With batches: the learning rate of batch t is (offset + t)^−decay.
        offset: f64 = 1.0,
        /// With batches: the decay of the learning rate, from 0.5 to 1.
        decay: f64 = 0.5,
        /// The one field of the documents that is read, such as title; all that were counted if not set.
        field: Option<String> = None,
        /// Seed of the initial topics of the words and of the batches.
        seed: u64 = 1,
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
        let figures: &[&str] = &["bound per word", "rounds per document"];
        BagMatcher::fit(&fitting, self.field.as_deref(), ("pass", figures), |docs, run| {
            let fitted = self.trainer().fit(docs, run)?;
            let steps = fitted.objective.iter().zip(&fitted.rounds);
            let steps = steps.map(|(&bound, &rounds)| vec![bound, rounds]).collect();
            Ok((fitted.topics, fitted.converged, steps))
        })
    }

    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        let (tensors, field) = (state.tensors()?, self.field.as_deref());
        BagMatcher::restored(tensors, counts, field, self.dim, |phi| self.trainer().topics(phi))
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
            TOPICS,
            ("alpha", "{ min = 0.003, max = 0.3, log = true }"),
            ("eta", "{ min = 0.003, max = 0.3, log = true }"),
        ]
    }
}
