//! Probabilistic latent semantic indexing (Hofmann, 1999); `topic/plsi.rs` has the formulas.
//!
//! ```text
//! score = cos(θ_q, θ_d)
//! ```
//! θ of a text are the shares of topics that make its words most probable.

use super::bag::BagMatcher;
use super::params;
use super::plan::plan_bags;
use crate::features::Counts;
use crate::matchers::space::{TOPICS, Varied};
use crate::matchers::{FitReport, Fitting, Matcher, Method, SavedState};
use crate::params::check::{MOST, check_range, check_weight};
use crate::plan::{Fit, Plan};
use crate::topic::plsi::PlsiFit;
use crate::{Error, Result};

params! {
    /// Parameters of probabilistic latent semantic indexing.
    Plsi {
        /// Number of topics.
        dim: usize = 100,
        /// Maximum number of iterations of EM.
        iterations: usize = 50,
        /// Stop when the log-likelihood changes by less than this share of it in an iteration.
        tolerance: f64 = 1e-4,
        /// Exponent of p(topic | document, word) while learning and folding in: 1 for plain EM, less for softer topics.
        tempering: f64 = 0.9,
        /// Maximum number of iterations that fold a text in.
        fold_in: usize = 50,
        /// The one field of the documents that is read, such as title; all that were counted if not set.
        field: Option<String> = None,
        /// Seed of the initial topics of the words.
        seed: u64 = 1,
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
        // Below 0.1 all topics are alike.
        if !(0.1..=1.0).contains(&self.tempering) {
            return Err(Error::parameter("tempering", self.tempering, "a number from 0.1 to 1"));
        }
        Ok(())
    }

    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        let figure = match self.tempering {
            1.0 => "log-likelihood per word",
            _ => "tempered log-likelihood per word",
        };
        BagMatcher::fit(&fitting, self.field.as_deref(), ("iteration", &[figure]), |docs, run| {
            let fitted = self.trainer().fit(docs, run)?;
            let steps = fitted.objective.iter().map(|&log| vec![log]).collect();
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
        plan_bags(&fit, 1, 2.0 * self.iterations as f64)
    }

    fn search_space(&self) -> Vec<Varied> {
        vec![TOPICS, ("tempering", "{ min = 0.5, max = 1.0 }")]
    }
}
