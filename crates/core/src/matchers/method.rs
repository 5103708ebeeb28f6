//! What a matcher is made of: a [`Method`], which is parameters that can be fitted, and what
//! fitting yields, a [`Matcher`], which scores documents and says why.

use std::fmt::Debug;

use super::savings::usual_savings;
use super::{Bilinear, Contribution, FitReport, Maps, TopicsView, Translator, Varied};
use crate::features::{Counts, Features, NewDocuments, QueryTerms};
use crate::file::{Tensors, TensorsWriter};
use crate::plan::{Fit, Plan};
use crate::{Error, Result, Run};

/// The parameters of a method. All that the command line, files and `--help` know of it is read
/// off the struct.
pub trait Method: Debug + Send + Sync {
    /// Refuses values that make no sense.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Fits a matcher. What follows from the counts alone is made as it is made again.
    fn fit_to(&self, fitting: Fitting<'_>) -> Result<(Box<dyn Matcher>, FitReport)> {
        self.check()?;
        Ok((self.restore(fitting.counts, SavedState(None))?, FitReport::Lexical))
    }

    /// Puts a matcher together again from what it kept ([`Matcher::keep`]).
    fn restore(&self, counts: &Counts, kept: SavedState<'_>) -> Result<Box<dyn Matcher>>;

    /// The matcher over `new` documents alone, if all that it knows of the collection is in the
    /// `counts` of training; `None` if it learnt something ([`Matcher::beside`]).
    fn beside(&self, _counts: &Counts, _new: &NewDocuments) -> Result<Option<Box<dyn Matcher>>> {
        Ok(None)
    }

    /// Whether fitting learns something, so that it takes its time.
    fn learns(&self) -> bool {
        true
    }

    /// Whether it weighs clicks, so that what was made of them counts ([`Counts::evidence`]).
    fn weighs_clicks(&self) -> bool {
        true
    }

    /// Whether what is fitted depends on clicks, weighed or as they are.
    fn learns_from_clicks(&self) -> bool {
        self.weighs_clicks()
    }

    /// The features of a method that learns maps or weights of features.
    fn features(&self) -> Option<Features> {
        None
    }

    /// The latent dimensions of the maps that are learnt, if there are maps.
    fn dim(&self) -> Option<usize> {
        None
    }

    /// Whether a fit chooses by what validation says ([`Fitting::scorer`]), where there is any.
    fn validated(&self) -> bool {
        false
    }

    /// Whether it looks at where words stand ([`Counts::positions`]).
    fn needs_positions(&self) -> bool {
        false
    }

    /// The field that the class of a document stands in, if it learns by class ([`Counts::classes`]).
    fn class_field(&self) -> Option<&str> {
        None
    }

    /// What a fit will take of memory, disk and time, from the pieces of [`crate::plan`]. Unless a
    /// method knows better: features and maps where it has both, else counts and weights.
    fn plan(&self, fit: Fit<'_>) -> Plan {
        if self.dim().is_some() && self.features().is_some() {
            fit.maps_fit()
        } else {
            fit.lexical()
        }
    }

    /// What would make a fit take less memory, for people, what helps most first.
    fn savings(&self) -> Vec<String> {
        usual_savings(self.dim(), self.features())
    }

    /// What tuning varies if nobody says otherwise; nothing where there is nothing to vary.
    fn search_space(&self) -> Vec<Varied> {
        Vec::new()
    }

    /// Sets the seed, where there is one.
    fn set_seed(&mut self, _seed: u64) {}
}

/// What a fit has at hand.
pub struct Fitting<'a> {
    /// Everything counted.
    pub counts: &'a Counts,
    /// Earlier maps in the place of today's features, to begin with.
    pub init: Option<Maps>,
    /// Who says how good scores are on validation data, where there is any.
    pub scorer: Option<&'a ValidationScorer<'a>>,
    /// Progress, cancellation and memory.
    pub run: &'a Run<'a>,
}

/// Scores the candidates of a query: all documents for `None`.
pub type Score<'a> = dyn Fn(u32, Option<&[u32]>) -> Vec<f32> + Sync + 'a;

/// Says how good scores are on validation data; higher is better. Whoever fits a matcher
/// brings the scorer, so that no matcher needs to know how rankings are measured.
pub type ValidationScorer<'a> = dyn Fn(&Score<'_>) -> f64 + 'a;

/// The tensors that a matcher kept in the model folder, if it kept any.
#[derive(Clone, Copy)]
pub struct SavedState<'a>(pub Option<&'a Tensors>);

impl<'a> SavedState<'a> {
    /// The tensors of a matcher that cannot do without.
    pub fn tensors(self) -> Result<&'a Tensors> {
        self.0.ok_or_else(|| Error::Structure { problem: "what was learnt is not there".into() })
    }
}

/// A fitted matcher over the documents of its counts.
pub trait Matcher: Send + Sync {
    /// Scores every document.
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]);

    /// Scores the documents `docs`, one score each; the same bits as [`Matcher::score_all`].
    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]);

    /// What adds up to the score of `doc`, in any order.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution>;

    /// Puts what was learnt where a model folder keeps it; what follows from the counts is
    /// made again on loading.
    fn keep<'a>(&'a self, _tensors: &mut TensorsWriter<'a>) {}

    /// The same matcher for `counts` whose last `n_new` documents training did not know; `None`
    /// if it follows from the counts.
    fn with_documents(&self, _counts: &Counts, _n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        Ok(None)
    }

    /// The same matcher over `new` documents alone, which scores with the `counts` of training;
    /// nothing of it is made again. `None` if there is no such short way.
    fn beside(&self, _counts: &Counts, _new: &NewDocuments) -> Result<Option<Box<dyn Matcher>>> {
        Ok(None)
    }

    /// What it means for a query that every document scores 0.
    fn nothing(&self) -> &'static str;

    /// Whether a score of 0 means that query and document have nothing to do with each other, so
    /// that search does not show the document.
    fn zero_is_none(&self) -> bool {
        true
    }

    /// Whether it only counts words.
    fn is_lexical(&self) -> bool {
        false
    }

    /// The latent space whose dot products are the scores, if that is what it is.
    fn bilinear(&self) -> Option<&Bilinear> {
        None
    }

    /// The table of translations that it learnt, if that is what it is.
    fn translator(&self) -> Option<&Translator> {
        None
    }

    /// The topics that it learnt, if that is what it is.
    fn topics(&self) -> Option<TopicsView<'_>> {
        None
    }

    /// A text folded in: the class that it fits best, and what the shared topics and those of that
    /// class weigh in it; all 0 where the topics know none of its words.
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
