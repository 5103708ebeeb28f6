//! One file per matching method, and what they share: the traits of parameters and fitted matchers
//! (`method.rs`), the closed set of methods (`params.rs`) and the model folder (`model.rs`).

mod association;
mod bilinear;
mod bilinear_matcher;
mod bltm;
mod bm25;
mod by_words;
mod clicked;
mod dependence;
mod dictionary;
mod direct;
mod dots;
mod epochs;
mod expansion;
mod explain;
mod feedback;
mod first_ranking;
mod init;
mod knn;
mod lexical;
mod lm;
mod lsi;
mod map;
mod method;
mod mix;
mod model;
mod model_topics;
mod mpls;
mod neighbours;
mod pairs;
mod params;
mod planning;
mod pls;
mod ridge;
mod rm3;
mod rmls;
mod savings;
mod solver;
mod space;
mod sparse_vector;
mod square;
mod ssi;
mod svdfeature;
mod topics;
mod topics_view;
mod translation;
mod translation_table;
mod unclicked;
mod unseen;
mod validation;
mod vpcg;
mod vsm;
mod walk;

#[cfg(test)]
mod tests;

pub use association::{Association, Depth};
pub use bilinear::Bilinear;
pub use bltm::Bltm;
pub use bm25::{Bm25, Bm25Field};
pub use by_words::ByWords;
pub use clicked::Clicked;
pub use dependence::Dependence;
pub use dictionary::{Dictionary, DictionaryEntry};
pub use direct::Direct;
pub use expansion::Expansion;
pub use explain::{Contribution, Explanation, PartExplanation};
pub use feedback::{Feedback, FeedbackWeighting};
pub use first_ranking::FirstRanking;
pub use init::MatchedMaps;
pub use knn::Knn;
pub use lexical::Lexical;
pub use lm::{Lm, Smoothing};
pub use lsi::{Chosen, LsiDt, LsiQd, Similarity, TfidfWeight};
pub use map::{Map, Maps};
pub use method::{Fitting, Matcher, Method, SavedState, Score, SparseVectors, ValidationScorer};
pub use mix::{MixKind, Mixture, RRF_K, reciprocal_ranks, standardise, weight_grid};
pub use model::{KnownFeatures, Model, ModelAbout, Part, Trained};
pub use mpls::{Alpha, KindReport, Kinds, Mpls, MplsReport, Validate};
pub(crate) use neighbours::WHO_HAS_MAPS;
pub use neighbours::{Neighbour, Neighbours};
pub use params::{Params, methods, preparation_docs, published_methods};
pub use planning::{plan_all, plan_parts};
pub use pls::{Pls, PlsReport};
pub use ridge::{QueryFeatures, Ridge, RidgeReport};
pub use rm3::Rm3;
pub use rmls::{Origin, Penalty, Rmls, RmlsReport, RmlsStep, Start};
pub use space::{USUAL_SPACE, Varied};
pub use square::{Square, SquareReport};
pub use ssi::{Form, Negative, Ssi, SsiStart};
pub use svdfeature::{Loss, SvdFeature};
pub use topics::{
    ClassCosine, Cnmf, Crlsi, Gnmf, Grlsi, Lda, Nmf, Plsi, Rlsi, TextTopic, TextTopics, TopicClass,
    TopicDocument, TopicFigures, TopicSummary, TopicSummaryOptions, TopicWord, TopicsSummary,
};
pub use topics_view::TopicsView;
pub use translation::Translation;
pub use translation_table::TranslationTable;
pub use unseen::{Place, UnseenDocuments};
pub use vpcg::Vpcg;
pub use vsm::Vsm;
pub use walk::Walk;

use serde::{Deserialize, Serialize};

/// The report of a fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum FitReport {
    /// Nothing was learnt.
    Lexical,
    /// A fit in steps.
    Steps(StepsReport),
    /// PLS or LSI.
    Pls(PlsReport),
    /// PLS with several kinds of features.
    Mpls(MplsReport),
    /// RMLS, half-sweep by half-sweep.
    Rmls(RmlsReport),
    /// The square loss at rank d.
    Square(SquareReport),
    /// Ridge regression.
    Ridge(RidgeReport),
    /// A ranker over features of matchers, fold by fold.
    Ranker(StepsReport),
}

/// The report of a fit in steps (iterations, epochs) with figures for each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepsReport {
    /// The name of a step.
    pub step: String,
    /// The names of the figures.
    pub figures: Vec<String>,
    /// The figures of every step.
    pub steps: Vec<Vec<f64>>,
    /// The step that is the result, if it is not the last.
    pub kept: Option<usize>,
    /// Further remarks.
    pub notes: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Times and speeds. Never stored: a model's files do not depend on times.
    #[serde(skip)]
    pub times: Vec<String>,
}

impl FitReport {
    /// Warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            FitReport::Lexical => Vec::new(),
            FitReport::Steps(report) | FitReport::Ranker(report) => report.warnings.clone(),
            FitReport::Pls(report) => report.warnings(),
            FitReport::Mpls(report) => report.warnings(),
            FitReport::Rmls(report) => report.warnings(),
            FitReport::Square(report) => report.warnings(),
            FitReport::Ridge(report) => report.warnings(),
        }
    }
}
