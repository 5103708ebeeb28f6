//! The closed set of ranking methods and their parameters.

use super::linear::{
    AdaRank, CoordinateAscent, IrSvm, ListMle, ListNet, Logistic, RankBoost, RankingSvm,
    Regression, SvmMap,
};
use super::trees::{LambdaMart, Mart};
use super::{RankMethod, RankReport, Scorer, Training};
use crate::Result;
use crate::params::{find_named, methods};

methods! {
    /// The parameters of one ranking method; it derefs to [`RankMethod`].
    RankParams as dyn RankMethod;
    "regression" Regression "pointwise regression: least squares on the grades"
    "logistic" Logistic "pointwise classification: relevant rows against the rest"
    "ranking_svm" RankingSvm "Ranking SVM: a margin between rows of different grade of a query"
    "ir_svm" IrSvm "IR-SVM: Ranking SVM in which the top of the list and small queries count more"
    "svm_map" SvmMap "SVM-MAP: a margin between lists as large as their difference in average precision"
    "adarank" AdaRank "AdaRank: boosting of a measure, one feature per round"
    "rankboost" RankBoost "RankBoost: boosting of thresholds on features, by pairs"
    "listnet" ListNet "ListNet: cross entropy of the probabilities of each row to be first"
    "listmle" ListMle "ListMLE: likelihood of the list in the order of the grades"
    "coordinate_ascent" CoordinateAscent "coordinate ascent: one weight at a time, on the measure itself"
    "mart" Mart "boosted regression trees: least squares on the grades"
    "lambdamart" LambdaMart "boosted regression trees that learn NDCG or MAP"
}

/// Every ranking method by name, with one sentence about it.
pub fn rank_methods() -> impl Iterator<Item = (&'static str, &'static str)> {
    RankParams::METHODS.iter().map(|&(name, about, _)| (name, about))
}

impl RankParams {
    /// The method called `name`, with its defaults.
    pub fn named(name: &str) -> Result<Self> {
        find_named("ranking method", name, Self::METHODS.iter())
    }

    /// The method's name.
    pub fn name(&self) -> &'static str {
        self.listed_name()
    }

    /// Checks the parameters and learns a scorer.
    pub fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
        self.check()?;
        (**self).fit(training)
    }
}
