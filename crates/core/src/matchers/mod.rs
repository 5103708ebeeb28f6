//! One file per matcher, and what they have in common: parameters that are defined once, a
//! fitted form that scores, and an explanation.

mod bilinear;
mod bltm;
mod bm25;
mod check;
mod clicked;
mod dependence;
mod dictionary;
mod direct;
mod dots;
mod epochs;
mod expansion;
mod explain;
mod feedback;
mod feedback_docs;
mod init;
mod knn;
mod lexical;
mod lm;
mod lsi;
mod map;
mod method;
mod mix;
mod model;
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
mod square;
mod ssi;
mod svdfeature;
mod topics;
mod translation;
mod unclicked;
mod unseen;
mod validation;
mod vpcg;
mod vsm;
mod walk;

#[cfg(test)]
mod tests;

pub use bilinear::{Bilinear, Maps};
pub use bltm::Bltm;
pub use bm25::{Bm25, Bm25Field};
pub use clicked::Clicked;
pub use dependence::Dependence;
pub use dictionary::{Dictionary, DictionaryEntry};
pub use direct::Direct;
pub use expansion::Expansion;
pub use explain::{Contribution, Explanation, PartExplanation};
pub use feedback::{Feedback, FeedbackWeighting};
pub use feedback_docs::FeedbackDocs;
pub use init::{Known, MatchedMaps};
pub use knn::Knn;
pub use lexical::Lexical;
pub use lm::{Lm, Smoothing};
pub use lsi::{Chosen, LsiDt, LsiQd, Similarity, TfidfWeight};
pub use map::Map;
pub use method::{Fitting, Matcher, Method, SavedState, Score, ValidationScorer};
pub use mix::{MixKind, Mixture, reciprocal_ranks, standardise, weight_grid};
pub use model::{Model, ModelAbout, Part, Trained};
pub use mpls::{Alpha, KindReport, Kinds, Mpls, MplsReport, Validate};
pub(crate) use neighbours::WHO_HAS_MAPS;
pub use neighbours::{Neighbour, Neighbours};
pub use params::{Params, methods, preparation_docs};
pub use planning::{plan_all, plan_parts};
pub use pls::{Pls, PlsReport};
pub use ridge::{QueryFeatures, Ridge, RidgeReport};
pub use rm3::Rm3;
pub use rmls::{Penalty, Rmls, RmlsReport, RmlsStep, Start};
pub use space::{USUAL_SPACE, Varied};
pub use square::{Square, SquareReport};
pub use ssi::{Form, Negative, Ssi};
pub use svdfeature::{Loss, SvdFeature};
pub use topics::{
    Cnmf, Crlsi, Gnmf, Grlsi, Lda, Nmf, Plsi, Rlsi, TextTopic, TextTopics, TopicClass,
    TopicDocument, TopicFigures, TopicSummary, TopicWord, TopicsLook, TopicsSummary, TopicsView,
};
pub use translation::{Translation, Translator};
pub use unseen::{Place, UnseenDocuments};
pub use vpcg::Vpcg;
pub use vsm::Vsm;
pub use walk::Walk;

use serde::{Deserialize, Serialize};

/// What a fit says of itself.
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

/// A fit in steps (iterations, epochs), a few figures each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepsReport {
    /// What a step is called.
    pub step: String,
    /// What the figures are called.
    pub figures: Vec<String>,
    /// The figures of every step.
    pub steps: Vec<Vec<f64>>,
    /// The step that the matcher is of, if it is not the last.
    pub kept: Option<usize>,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// What a user should be warned of.
    pub warnings: Vec<String>,
    /// What took how long. Never stored: a model's files do not depend on times.
    #[serde(skip)]
    pub times: Vec<String>,
}

impl FitReport {
    /// What a user should be warned of.
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
