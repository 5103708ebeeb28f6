//! The closed set of ways to learn to rank and their parameters.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::linear::{
    AdaRank, CoordinateAscent, IrSvm, ListMle, ListNet, Logistic, RankBoost, RankingSvm,
    Regression, SvmMap,
};
use super::trees::{LambdaMart, Mart};
use super::{RankMethod, RankReport, Scorer, Training};
use crate::params::{ParamDoc, docs, edited, merge, set_key};
use crate::{Error, Result};

/// A name, one sentence about it, and the parameters it stands for.
type Named = (&'static str, &'static str, fn() -> RankParams);

/// Makes the closed set from a line for each: its name, its struct, and one sentence.
macro_rules! methods {
    ($($name:literal $method:ident $about:literal)*) => {
        /// The parameters of one way to learn.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "method", content = "params")]
        pub enum RankParams {
            $(
                #[doc = $about]
                #[serde(rename = $name)]
                $method($method),
            )*
        }

        const METHODS: &[Named] =
            &[$(($name, $about, || RankParams::$method($method::default()))),*];

        impl RankParams {
            /// The method's name.
            pub fn name(&self) -> &'static str {
                match self { $(RankParams::$method(_) => $name,)* }
            }

            /// Refuses values that make no sense.
            pub fn check(&self) -> Result<()> {
                match self { $(RankParams::$method(params) => params.check(),)* }
            }

            /// Learns a scorer.
            pub fn fit(&self, training: &Training<'_>) -> Result<(Scorer, RankReport)> {
                self.check()?;
                match self { $(RankParams::$method(params) => params.fit(training),)* }
            }

            /// Whether it looks at weighted sums of features.
            pub fn is_linear(&self) -> bool {
                match self { $(RankParams::$method(params) => params.is_linear(),)* }
            }

            /// Sets the seed, where the method has one.
            pub fn seed(&mut self, seed: u64) {
                match self { $(RankParams::$method(params) => params.set_seed(seed),)* }
            }

            /// Every parameter of the method, with its default.
            pub fn docs(&self) -> Vec<ParamDoc> {
                match self { $(RankParams::$method(_) => docs::<$method>(),)* }
            }

            fn edit(&mut self, change: impl FnOnce(&mut Value) -> Result<()>) -> Result<()> {
                *self = match self {
                    $(RankParams::$method(params) => RankParams::$method(edited(params, change)?),)*
                };
                Ok(())
            }
        }
    };
}

methods! {
    "regression" Regression "pointwise regression: least squares on the grades"
    "logistic" Logistic "pointwise classification: relevant rows against the rest"
    "ranking_svm" RankingSvm "Ranking SVM: a margin between rows of unlike grade of a query"
    "ir_svm" IrSvm "IR-SVM: Ranking SVM in which the top of the list and small queries count more"
    "svm_map" SvmMap "SVM-MAP: a margin between lists, as wide as they differ in average precision"
    "adarank" AdaRank "AdaRank: boosting of a measure, a feature a round"
    "rankboost" RankBoost "RankBoost: boosting of thresholds on features, by pairs"
    "listnet" ListNet "ListNet: the chance of each row to be first, as the grades have it"
    "listmle" ListMle "ListMLE: the likelihood of the list in the order of the grades"
    "coordinate_ascent" CoordinateAscent "coordinate ascent: one weight at a time, by the measure itself"
    "mart" Mart "boosted regression trees: least squares on the grades"
    "lambdamart" LambdaMart "boosted regression trees that learn NDCG or MAP"
}

/// Every way to learn by name, with one sentence about it.
pub fn rank_methods() -> impl Iterator<Item = (&'static str, &'static str)> {
    METHODS.iter().map(|&(name, about, _)| (name, about))
}

impl RankParams {
    /// The method called `name`, with its defaults.
    pub fn named(name: &str) -> Result<Self> {
        let found = METHODS.iter().find(|(known, ..)| *known == name);
        found.map(|(_, _, make)| make()).ok_or_else(|| {
            let known: Vec<&str> = rank_methods().map(|(name, _)| name).collect();
            Error::Unknown {
                kind: "way to learn to rank",
                name: name.to_owned(),
                advice: format!("there are {}", known.join(", ")),
            }
        })
    }

    /// Sets the parameter `key` (dots lead into tables) to `value`, written as in TOML; a bare
    /// word is text.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        self.edit(|params| set_key(params, key, value))
    }

    /// Sets every parameter that `table` names.
    pub fn merge(&mut self, table: &Map<String, Value>) -> Result<()> {
        self.edit(|params| {
            merge(params, table);
            Ok(())
        })
    }
}
