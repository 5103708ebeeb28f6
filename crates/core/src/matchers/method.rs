//! The two traits of a matcher: a [`Method`] is a set of parameters that can be fitted, and the fitted
//! [`Matcher`] scores documents and explains the scores.

use std::borrow::Cow;
use std::fmt::Debug;

use super::savings::usual_savings;
use super::sparse_vector::SparseVector;
use super::{Bilinear, Contribution, FitReport, Maps, TopicsView, TranslationTable, Varied};
use crate::features::{Counts, Features, QueryTerms, UnseenCounts};
use crate::file::{Tensors, TensorsWriter};
use crate::plan::{Fit, Plan};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// The parameters of a method. The command line, files and help texts derive from the struct.
pub trait Method: Debug + Send + Sync {
    /// Refuses invalid values.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Fits a matcher. By default it has no state besides the counts and is made by `restore`.
    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        Ok((self.restore(fitting.counts, SavedState(None))?, FitReport::Lexical))
    }

    /// Restores a matcher from the state that it saved ([`Matcher::save_state`]).
    fn restore(&self, counts: &Counts, state: SavedState<'_>) -> Result<Box<dyn Matcher>>;

    /// The matcher over unseen documents alone, if the `counts` of training are all it needs; `None`
    /// if it has learnt state ([`Matcher::fold_in`]).
    fn fold_in(&self, _counts: &Counts, _new: &UnseenCounts) -> Result<Option<Box<dyn Matcher>>> {
        Ok(None)
    }

    /// Whether fitting learns something, which takes time.
    fn learns(&self) -> bool {
        true
    }

    /// Whether it weights clicks, so that how they were weighted matters ([`Counts::evidence`](crate::features::StoredCounts::evidence)).
    fn weighs_clicks(&self) -> bool {
        true
    }

    /// Whether a fit depends on clicks, weighted or not.
    fn learns_from_clicks(&self) -> bool {
        self.weighs_clicks()
    }

    /// The features of a method that learns maps or weights of features.
    fn features(&self) -> Option<Features> {
        None
    }

    /// The latent dimensions of the learnt maps, if there are maps.
    fn dim(&self) -> Option<usize> {
        None
    }

    /// Whether a fit uses the validation score ([`Fitting::scorer`]), if there is one.
    fn validated(&self) -> bool {
        false
    }

    /// Whether it needs the positions of words ([`Counts::positions`](crate::features::StoredCounts::positions)).
    fn needs_positions(&self) -> bool {
        false
    }

    /// The field with the class of a document, if it learns by class ([`Counts::classes`](crate::features::StoredCounts::classes)).
    fn class_field(&self) -> Option<&str> {
        None
    }

    /// The memory, disk and time that a fit will take, from the parts in [`crate::plan`]. By default
    /// that of features and maps if it has both, else of counts and weights.
    fn plan(&self, fit: Fit<'_>) -> Plan {
        if self.dim().is_some() && self.features().is_some() {
            fit.maps_fit()
        } else {
            fit.lexical()
        }
    }

    /// Advice on a fit with less memory, the most effective first.
    fn savings(&self) -> Vec<String> {
        usual_savings(self.dim(), self.features())
    }

    /// The paper's own setting, key by key; empty if it has none of its own. It also names what is a
    /// default today, so that it stays the paper's if defaults change.
    fn published(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The default search space of tuning; empty if there is nothing to vary.
    fn search_space(&self) -> Vec<Varied> {
        Vec::new()
    }
}

/// The input of a fit.
pub struct Fitting<'a> {
    /// Everything counted.
    pub counts: &'a Counts,
    /// Earlier maps, aligned with the features of `counts`, for a warm start.
    pub init: Option<Maps>,
    /// Scores rankings on validation data, if there is any.
    pub scorer: Option<&'a ValidationScorer<'a>>,
    /// Progress, cancellation and memory.
    pub run: &'a Run<'a>,
}

/// The scores of the candidates of a query: of all documents for `None`.
pub type Score<'a> = dyn Fn(u32, Option<&[u32]>) -> Vec<f32> + Sync + 'a;

/// Scores the rankings of a matcher on validation data; higher is better. The caller of a fit
/// provides it, so that matchers do not depend on measures.
pub type ValidationScorer<'a> = dyn Fn(&Score<'_>) -> f64 + 'a;

/// The tensors that a matcher saved in the model folder, if any.
#[derive(Clone, Copy)]
pub struct SavedState<'a>(pub Option<&'a Tensors>);

impl<'a> SavedState<'a> {
    /// The tensors of a matcher that must have some.
    pub fn tensors(self) -> Result<&'a Tensors> {
        self.0.ok_or_else(|| Error::Structure { problem: "the learnt state is missing".into() })
    }
}

/// A fitted matcher over the documents of its counts.
pub trait Matcher: Send + Sync {
    /// Scores every document.
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]);

    /// Scores the documents `docs`, one score each; the same bits as [`Matcher::score_all`].
    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]);

    /// Contributions that add up to the score of `doc`, in any order.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution>;

    /// Adds the learnt state to the tensors of a model folder; what follows from the counts is
    /// recomputed on loading.
    fn save_state<'a>(&'a self, _tensors: &mut TensorsWriter<'a>) {}

    /// The same matcher for `counts` whose last `n_new` documents are unseen; `None` if it follows
    /// from the counts.
    fn with_documents(&self, _counts: &Counts, _n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        Ok(None)
    }

    /// The same matcher over the unseen documents `new` alone, which scores with the `counts` of
    /// training; nothing is recomputed or copied. `None`: [`Method::fold_in`] is asked next.
    fn fold_in(&self, _counts: &Counts, _new: &UnseenCounts) -> Result<Option<Box<dyn Matcher>>> {
        Ok(None)
    }

    /// The reason why every document scores 0 for a query.
    fn no_match(&self) -> &'static str;

    /// Whether a score of 0 means no match, so that search does not show the document.
    fn zero_is_none(&self) -> bool {
        true
    }

    /// Whether it matches words only.
    fn is_lexical(&self) -> bool {
        false
    }

    /// The latent space, if the scores are its dot products.
    fn bilinear(&self) -> Option<&Bilinear> {
        None
    }

    /// The sparse vectors that an inverted index finds candidates by, if it has some.
    fn sparse(&self) -> Option<&dyn SparseVectors> {
        None
    }

    /// The translation table that it learnt, if it is word translation.
    fn translations(&self) -> Option<&TranslationTable> {
        None
    }

    /// The topics that it learnt, if it is a topic model.
    fn topics(&self) -> Option<TopicsView<'_>> {
        None
    }

    /// The topics of a text that is folded in: its best class, and the weights of the shared topics
    /// and of those of that class; all 0 if the topics have none of its words.
    fn topics_of(&self, _counts: &Counts, _query: &QueryTerms) -> Option<(Option<u32>, Vec<f32>)> {
        None
    }

    /// Scores the candidates of a query: `docs`, or all documents.
    fn scores(&self, counts: &Counts, query: &QueryTerms, docs: Option<&[u32]>) -> Vec<f32> {
        let mut scores = vec![0.0; docs.map_or(counts.n_docs(), <[u32]>::len)];
        match docs {
            Some(docs) => self.score_some(counts, query, docs, &mut scores),
            None => self.score_all(counts, query, &mut scores),
        }
        scores
    }
}

/// Sparse vectors of queries and documents whose dot products order documents as the scores do, or nearly:
/// an inverted index finds the candidates of a search by them.
pub trait SparseVectors: Send + Sync {
    /// The documents' vectors, features × documents.
    fn lists(&self, counts: &Counts) -> Result<Cow<'_, Csr>>;

    /// The query's vector.
    fn weights(&self, counts: &Counts, query: &QueryTerms) -> SparseVector;
}
